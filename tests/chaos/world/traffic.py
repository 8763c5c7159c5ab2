"""Who locks while the faults come: processes of tests/ensemble/support/contender.c, each driven by a thread, which writes
the history. (The fleet of tests/chaos takes its place: it needs but the methods that the faults call.)"""
import os
import re
import signal
import struct
import subprocess
import threading

from .history import History
from .servers import TICK_MS, TOP

SESSION_MS = 4000
ACQUIRE_MS = 30000
HOLD_S = 0.15
EXCLUSIVE = 0
RESOURCE = "chaos"
QUEUE = f"/locks/{RESOURCE}"


def statuses():
    """Their names by number, from the header."""
    with open(f"{TOP}/include/zklock/zklock.h", encoding="utf-8") as file:
        return {int(number): name for name, number in re.findall(r"X\((ZKL_\w+), (-?\d+),", file.read())}


class Contender:
    """Locks, holds, releases, in a process on a machine; a process that has ended is followed by another."""

    names = statuses()

    def __init__(self, traffic, number, host):
        self.traffic = traffic
        self.number = number
        self.host = host
        self.path = os.path.join(traffic.histories_in, f"contender-{number}.jsonl")
        self.disk = os.path.join(traffic.place, f"disk-of-contender-{number}")
        self.clock = os.path.join(traffic.place, f"clock-of-contender-{number}")
        os.mkdir(self.disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", self.disk], check=True)
        self.step_clock(0)
        self.process = None
        self.doing = None  # what it waits for, or "hold"
        self.grants = 0
        self.calls = 0
        self.begun = 0
        self.history = None
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    # ---- Its process -----------------------------------------------------------------------------

    def begin(self):
        environment = {**os.environ, "LD_PRELOAD": f"{self.traffic.build}/chaos_clock.so {self.traffic.build}/chaos_fork.so",
                       "COMPARISON_CLOCK": self.clock, "ZKLOCK_RECORDS": self.disk}
        command = self.host.inside(f"{self.traffic.build}/../ensemble/ensemble_contender", self.traffic.hosts,
                                   str(SESSION_MS), RESOURCE, "0", str(TICK_MS), "0")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.traffic.log,
                                        env=environment, text=True, bufsize=1)
        self.begun += 1
        self.history = History(self.path, f"c{self.number}-{self.begun}", self.process.pid)
        self.history.write("start", host=self.host.name)
        self.history.write("call", what="open", call=0)
        status, session, timeout_ms = map(int, self.answer())
        self.history.write("session", session=f"{session & (1 << 64) - 1:#x}")
        self.history.write("return", what="open", call=0, status=self.names[status], options={
            "client": "only", "session_timeout_ms": timeout_ms, "lease_tick_ms": TICK_MS})
        return status == 0

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise EOFError
        return line.split()

    def ask(self, what, command, **more):
        self.calls += 1
        self.history.write("call", what=what, call=self.calls, resource=QUEUE, **more)
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        status, *words = self.answer()
        token = {"token": [int(words[0]), 0], "node": words[1]} if len(words) == 2 and int(status) == 0 else {}
        self.history.write("return", what=what, call=self.calls, resource=QUEUE, status=self.names[int(status)], **token)
        return int(status)

    def run(self):
        while not self.is_over.is_set():
            try:
                if self.begin():
                    self.lock_again_and_again()
            except (EOFError, OSError, ValueError):
                pass
            self.doing = None
            self.end_process()

    def end_process(self):
        if self.process is not None:
            self.process.kill()
            status = self.process.wait()
            self.history.write("end", exit=status)

    def lock_again_and_again(self):
        while not self.is_over.is_set():
            self.doing = "acquire"
            status = self.ask("acquire", f"acquire {EXCLUSIVE} {ACQUIRE_MS}", mode="exclusive", deadline_ms=ACQUIRE_MS)
            if status == 0:
                self.grants += 1
                self.doing = "hold"
                self.is_over.wait(HOLD_S)
                self.doing = "release"
                self.ask("release", "release")
            else:
                self.doing = None
                self.is_over.wait(HOLD_S)

    def end(self):
        self.is_over.set()
        if self.process is not None:
            self.process.kill()
        self.thread.join(10)

    # ---- What is done to it ----------------------------------------------------------------------

    def signal(self, number):
        os.kill(self.process.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)

    def step_clock(self, seconds):
        """Of bench/comparison/step_clock.c: its clock on the wall is so far ahead from now on."""
        with open(self.clock, "r+b" if os.path.exists(self.clock) else "wb") as file:
            file.write(struct.pack("=q", seconds))

    def kernel_state(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0]


class Traffic:
    queue = QUEUE

    def __init__(self, place, histories, build, machines, hosts, count=4):
        self.place = place
        self.histories_in = histories
        self.build = build
        self.hosts = hosts
        self.log = open(os.path.join(place, "contenders.log"), "ab")  # their own end, when the run ends
        self.machines = machines
        self.all = [Contender(self, number, machines[number % len(machines)]) for number in range(count)]

    @property
    def histories(self):
        return [one.path for one in self.all]

    def holders(self):
        return [one for one in self.all if one.doing == "hold"]

    def waiters(self):
        return [one for one in self.all if one.doing == "acquire"]

    def set_hosts(self, hosts):
        """This contender cannot be told; those that begin from now on know."""
        self.hosts = hosts

    def grants(self):
        return [one.grants for one in self.all]

    def all_granted_since(self, before):
        return all(now > then for now, then in zip(self.grants(), before))

    def end(self):
        for one in self.all:
            one.is_over.set()
        for one in self.all:
            one.end()
