"""One process that locks, on a machine; when it has been killed, another comes in its place."""
import contextlib
import os
import signal
import struct
import subprocess
import threading
import time

from world.history import now
from .follower import Follower

PROGRAM = "tests/chaos/contender/chaos_contender"  # below the build
# Of contenders; their processes refuse to begin without one. All others have none, which is the default of the library.
NEED_A_LEASE = {"lease", "retained"}
# A process that could not even begin is not begun again at once.
PAUSE_S = 0.2


def state_of(pid):
    """What the kernel says of a process: one letter."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


class Member:
    """What the faults of world/ and the fleet need of it. A process is begun with the name NAME-N, which is used once; all
    of them write one history."""

    is_contender = False  # a chaos_contender
    is_hit = True  # by faults of clients
    DISK_BYTES = 64 << 20

    def __init__(self, fleet, number, host):
        self.fleet = fleet
        self.number = number
        self.name = f"c{number}"
        self.host = host
        self.path = os.path.join(fleet.histories_in, f"{self.name}.jsonl")
        self.follower = Follower(self.path)
        self.disk = os.path.join(fleet.place, f"disk-of-{self.name}")
        self.clock = os.path.join(fleet.place, f"clock-of-{self.name}")
        os.mkdir(self.disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.DISK_BYTES}", "tmpfs", self.disk], check=True)
        self.step_clock(0)
        self.process = None
        self.begun = 0
        self.fallen = []  # (name, status) of those that ended, and nobody had killed them
        self.is_finishing = False
        self.thread = threading.Thread(target=self.live, daemon=True)

    # ---- Its process -----------------------------------------------------------------------------

    @property
    def make(self):
        """Of what kind it is, for the result."""
        return type(self).__name__.lower()

    @property
    def called(self):
        """The name of the process."""
        return f"{self.name}-{self.begun}"

    def command(self):
        """What is run there, as words."""
        raise NotImplementedError

    def begin(self):
        """Starts the next process."""
        self.begun += 1
        build = f"{self.fleet.build}/tests/chaos"
        environment = {**os.environ, "LD_PRELOAD": f"{build}/chaos_clock.so {build}/chaos_fork.so",
                       "COMPARISON_CLOCK": self.clock, "TMPDIR": self.disk}
        self.process = subprocess.Popen(self.host.with_name(*self.command()), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.fleet.log, env=environment, cwd=self.disk, text=True, bufsize=1)

    def drive(self):
        """Has the process do its work, until it has ended."""
        self.process.wait()

    def live(self):
        while not self.is_finishing:
            self.begin()
            with contextlib.suppress(OSError, EOFError, ValueError):  # it was killed in the middle of a line
                self.drive()
            self.bury()

    def bury(self):
        """It has ended, or is of no use any more."""
        with contextlib.suppress(OSError):  # it has not read all
            self.process.stdin.close()
        status = self.process.wait()
        self.process.stdout.close()
        if status != 0 or not self.is_finishing:
            self.fleet.world.history.write("process", what="kill", process=self.process.pid)
            self.follower.read()
            self.follower.end_all(now())
            if status != -signal.SIGKILL:
                self.fallen.append((self.called, status))
            time.sleep(PAUSE_S)

    def start(self):
        self.thread.start()

    def say(self, line):
        """To the process, if it listens."""
        with contextlib.suppress(AttributeError, OSError, ValueError):  # it is gone; the next one knows when it begins
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()

    def finish(self):
        """It ends its round, closes all, and no other comes."""
        self.is_finishing = True
        self.say("finish")

    def has_ended(self):
        return not self.thread.is_alive()

    # ---- What it does ----------------------------------------------------------------------------

    @property
    def doing(self):
        return "holds" if self.follower.holds else "waits" if self.follower.waits else "rests"

    def writes(self, since):
        """Of records, to its machine's disk, begun since then."""
        self.follower.read()
        return [one for one in list(self.follower.writes) if one.began >= since]

    # ---- What is done to it ----------------------------------------------------------------------

    def signal(self, number):
        os.kill(self.process.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)

    def set_hosts(self, hosts):
        self.say(f"hosts {hosts}")

    def set_credentials(self, text):
        self.say(f"credentials {text}")

    def step_clock(self, seconds):
        """Of bench/comparison/step_clock.c: its clock on the wall is so far ahead from now on."""
        with open(self.clock, "r+b" if os.path.exists(self.clock) else "wb") as file:
            file.write(struct.pack("=q", seconds))

    def kernel_state(self):
        return state_of(self.process.pid)


class Contender(Member):
    """A chaos_contender, which draws what it does, and writes its own history."""

    is_contender = True

    def __init__(self, fleet, number, host, kinds):
        self.kinds = kinds
        self.tick_ms = fleet.tick_ms if NEED_A_LEASE & set(kinds) else 0
        super().__init__(fleet, number, host)

    def command(self):
        fleet = self.fleet
        return (f"{fleet.build}/{PROGRAM}", "--hosts", fleet.hosts, "--history", self.path,
                "--name", self.called, "--seed", str(fleet.number_of(self.called)), "--kinds", ",".join(self.kinds),
                "--credentials", "chaos:0", "--handles", str(len(self.kinds)), "--session-timeout-ms", str(fleet.session_ms),
                "--lease-tick-ms", str(self.tick_ms), "--pace-ms", str(fleet.pace_ms), "--store", fleet.store.address,
                "--records", self.disk)
