"""Members of other make, in the queues of zklock's contenders: Curator, kazoo, and the command `zklock`.

docs/interoperability.md has which locks see one another. How their processes end is not judged: whatever goes wrong, and
whenever the connection was gone, another one comes, so that what their libraries leave behind goes with its session.
"""
import os
import random
import signal
import subprocess
import sys
import threading
import time

from world.history import History
from world.servers import TOP
from .member import Member

sys.path.insert(0, f"{TOP}/tests/interop")
from matrix.programs import programs  # noqa: E402  pylint: disable=wrong-import-position

RESOURCES = 4  # of a family, as contender/lock.c has it
STARTED_WITHIN_S = 60
ACQUIRE_S = 15
ANSWERED_WITHIN_S = 10  # beyond that
LEFT_WITHIN_S = 15
HOLD_S = 0.02
UINT64 = (1 << 64) - 1


class Other(Member):
    """What the fleet can tell a contender it cannot tell these: those that begin from now on know."""

    def finish(self):
        self.is_finishing = True

    def set_hosts(self, hosts):
        pass

    def set_credentials(self, text):
        pass

    def draw(self, kinds):
        """Of what kind the next process is, and where it contends."""
        self.chance = random.Random(self.fleet.number_of(self.called))
        kind = self.chance.choice(list(kinds))
        family, self.mode = kinds[kind]
        self.resource = f"/locks/chaos/{family}-{self.chance.randrange(RESOURCES)}"
        return kind

    def bury(self):
        super().bury()
        self.fallen.clear()

    def wait(self, within_s):
        """For the end of its process, which is killed then. Its status."""
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def attempt(self, do, within_s):
        """It is killed when that takes too long."""
        watchdog = threading.Timer(within_s, self.process.kill)
        watchdog.start()
        try:
            return do()
        finally:
            watchdog.cancel()

    def introduce(self, **options):
        self.history = History(self.path, f"{self.called}-h0", self.process.pid)
        self.history.write("start", host=self.host.name)
        self.history.write("call", what="open", call=0)
        self.history.write("return", what="open", call=0, status="ZKL_OK", options={
            "client": self.called, "session_timeout_ms": self.fleet.session_ms, **options})


# ---- Other libraries -------------------------------------------------------------------------


class Driven(Other):
    """A program that speaks the lines of tests/interop/contenders/protocol.md, and is told what to do."""

    library = None
    kinds = {}  # its own name of each: the family of resources, and the mode

    def command(self):
        kind = self.draw(self.kinds)
        return (*programs(self.fleet.build)[self.library], self.fleet.hosts, self.resource, str(self.fleet.session_ms), kind,
                self.called)

    def drive(self):
        self.introduce(library=self.library)
        try:
            if self.begin_session():
                while not self.is_finishing and self.lock() and self.was_connected():
                    time.sleep(self.chance.uniform(0, 2 * self.fleet.pace_ms / 1000))
        finally:
            self.leave()

    def begin_session(self):
        status, text = self.attempt(self.answer, STARTED_WITHIN_S)
        if status != "ok":
            return False
        self.history.write("session", session=f"{int(text.split()[0]) & UINT64:#x}")
        self.calls = 0
        return True

    def lock(self):
        """A round; False: it came to nothing."""
        status, text = self.call("acquire", f"acquire {ACQUIRE_S * 1000}", mode=self.mode)
        if status != "ok":
            return False
        time.sleep(self.chance.uniform(0, HOLD_S))
        return self.call("release", "release")[0] == "ok"

    def was_connected(self):
        """All the time since it began."""
        return all(self.ask(f"told {what}")[1] == "0" for what in ("suspended", "lost"))

    def call(self, what, command, **more):
        """A command whose begin and end are written down. A release that failed goes on in the background."""
        self.calls += 1
        its = {"what": what, "call": self.calls, "resource": self.resource, **more}
        self.history.write("call", **its)
        status, text = self.ask(command)
        if status == "ok" and what == "acquire":
            its["node"] = text
        told = "ZKL_OK" if status == "ok" else "ZKL_PENDING" if what == "release" else status
        self.history.write("return", status=told, **its)
        return status, text

    def ask(self, command):
        def do():
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            return self.answer()
        return self.attempt(do, ACQUIRE_S + ANSWERED_WITHIN_S)

    def answer(self):
        """Its status, and the rest."""
        line = self.process.stdout.readline()
        if not line.endswith("\n"):
            raise EOFError
        _, status, text = (line.rstrip("\n") + "  ").split(" ", 2)
        return status, text.strip()

    def leave(self):
        """In the library's own way, within a while."""
        try:
            self.process.stdin.close()
        except OSError:
            pass  # it is gone
        if self.wait(LEFT_WITHIN_S) == 0:
            self.history.write("end", exit=0)
        self.history.close()


class Curator(Driven):
    library = "curator"
    kinds = {"mutex": ("plain", "exclusive"), "reader": ("read-write", "read"), "writer": ("read-write", "write")}


class Kazoo(Driven):
    """With the subclasses of docs/interoperability.md."""

    library = "kazoo"
    kinds = {"shared-lock": ("plain", "exclusive"), "shared-read": ("read-write", "read"),
             "shared-write": ("read-write", "write")}


# ---- The command -----------------------------------------------------------------------------


class Command(Other):
    """`zklock`, a process for each round, of which one of its two is killed now and then."""

    is_hit = False  # by faults of clients: they know one process of a member
    KILLED_ONE_IN = 8
    PAUSE_S = 0.5

    def words(self):
        """What zklock is asked to do; sets `its`, the call as the history has it."""
        raise NotImplementedError

    def conclude(self, told, status):
        """Writes down how the call ended, by the words that the child has said and the exit status."""
        raise NotImplementedError

    def command(self):
        """It begins when its call is written down."""
        return ("sh", "-c", 'read -r _ && exec "$@"', "sh", f"{self.fleet.build}/command/zklock", *self.words())

    def options(self):
        fleet = self.fleet
        return ("-q", "--grace", "200ms", "-w", f"{ACQUIRE_S}s", "--hosts", fleet.hosts, "--session-timeout",
                f"{fleet.session_ms}ms", "--tick-time", f"{fleet.tick_ms}ms")

    def drive(self):
        self.introduce(lease_tick_ms=self.fleet.tick_ms)
        self.history.write("call", **self.its)
        self.say("go")
        told, status = self.attempt(self.listen, ACQUIRE_S + ANSWERED_WITHIN_S + LEFT_WITHIN_S)
        self.conclude(told, status)
        if status >= 0:
            self.history.write("end", exit=status)
        self.history.close()
        time.sleep(self.chance.uniform(0, 2 * self.PAUSE_S))

    def listen(self):
        """The words that the child has said, and the status."""
        told = set()
        for line in self.process.stdout:
            word, _, child = line.strip().partition(" ")
            told.add(word)
            if word == "granted" and self.chance.randrange(self.KILLED_ONE_IN) == 0:
                time.sleep(self.chance.uniform(0, self.hold_s))
                self.kill_one(int(child))
        return told, self.process.wait()

    def kill_one(self, child):
        """The process that was started, or the one that keeps the session."""
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            keepers = [one for one in map(int, file.read().split()) if one != child]
        os.kill(self.chance.choice([pid, *keepers]), signal.SIGKILL)


class Run(Command):
    """`zklock run`. Its child writes down that it holds, again and again for as long as it lives: it must be dead before
    anybody else can be granted the lock."""

    kinds = {"exclusive": ("plain", "exclusive"), "shared": ("read-write", "read")}
    child = os.path.join(os.path.dirname(os.path.abspath(__file__)), "command_child.py")
    HELD_S = 0.3

    def words(self):
        kind = self.draw(self.kinds)
        self.hold_s = self.chance.uniform(0, self.HELD_S)
        self.its = {"what": "acquire", "call": 1, "resource": self.resource, "mode": self.mode}
        return ("run", *(["-s"] if kind == "shared" else []), *self.options(), self.resource, "--",
                sys.executable, "-S", "-E", self.child, self.path, f"{self.called}-h0", str(self.hold_s))

    def conclude(self, told, status):
        """75: it was lost while the child ran. Else the release may go on when the command has ended."""
        if "granted" not in told:
            self.history.write("return", status=f"exit {status}", **self.its)
        elif "released" in told:
            released = {0: "ZKL_PENDING", 75: "ZKL_LOST"}.get(status, f"exit {status}")
            self.history.write("return", what="release", call=2, status=released)


class Once(Command):
    """`zklock once`. All of its kind try the same at the same time: some seconds later there is something else to do."""

    RESOURCE = "/locks/chaos/once"
    NEXT_S = 5
    hold_s = 0.1

    def words(self):
        self.chance = random.Random(self.fleet.number_of(self.called))
        text = f"version-{int(time.monotonic() / self.NEXT_S)}"
        self.its = {"what": "once", "call": 1, "resource": self.RESOURCE, "text": text}
        return ("once", *self.options(), "--until-changed", text, self.RESOURCE, "--",
                "sh", "-c", f'echo granted $$; sleep {self.hold_s}')

    def conclude(self, told, status):
        called = {0: "ZKL_OK", 75: "ZKL_LOST"}.get(status, "failed")
        self.history.write("return", status=called, ran="granted" in told, **self.its)


OTHERS = (Curator, Kazoo, Run, Once, Once)
