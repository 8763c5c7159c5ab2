"""A fleet that is made up: what correct contenders share, and the time that passes for them.

Contenders are generators: they yield how long they sleep, or a Signal that they wait for."""
import heapq
import random

from .bounds import MS, S
from .made_servers import REAL_AHEAD, MadeServers

TIMEOUT = 4 * S
PROBE = TIMEOUT // 3
FOREVER = 10**18


class Signal:
    """Somebody waits for it, until a time at most."""

    def __init__(self):
        self.value = None
        self.task = None

    def send(self, value):
        if self.value is None:
            self.value = value
            if self.task is not None:
                self.task.fleet.at(self.task.fleet.now, self.task.step)


class Wait:
    def __init__(self, signal, until):
        self.signal, self.until = signal, until


class Task:
    """Runs a generator in a process: not while that is stopped, and never again once it is killed."""

    def __init__(self, fleet, process, body):
        self.fleet, self.process, self.body = fleet, process, body
        self.waits = None
        fleet.at(fleet.now, self.step)

    def step(self):
        if self.body is None or (self.process is not None and self.process.is_dead):
            self.body = None
            return
        if self.process is not None and self.process.is_stopped:
            self.process.parked.append(self)
            return
        waits = self.waits
        if waits is not None and waits.signal.value is None and self.fleet.now < waits.until:
            return  # woken for nothing
        self.waits = None
        try:
            asked = self.body.send(None)
        except StopIteration:
            self.body = None
            return
        if isinstance(asked, Wait):
            self.waits = asked
            asked.signal.task = self
            if asked.signal.value is not None:
                self.fleet.at(self.fleet.now, self.step)
            elif asked.until < FOREVER:
                self.fleet.at(asked.until, self.step)
        else:
            # A sleep is a wait for what never comes.
            self.waits = Wait(Signal(), self.fleet.now + asked)
            self.fleet.at(self.waits.until, self.step)


class MadeProcess:
    def __init__(self, number, host):
        self.number, self.host = number, host
        self.is_stopped = self.is_dead = self.is_cut = self.is_over = False
        self.parked = []
        self.session = None
        self.handles = []
        self.cut_since = 0


class Request:
    def __init__(self, nodes):
        self.nodes = nodes
        self.signal = Signal()


class Fleet:
    def __init__(self, seed, write_line, write_transaction, resources=4):
        self.random = random.Random(seed)
        self.now = 1000 * S
        self.events = []
        self.number = 0
        self.write_line = write_line
        self.servers = MadeServers(lambda: self.now, write_transaction, self.wake)
        self.processes = []
        self.resources = resources
        self.grants = 0
        self.is_ending = False
        self.is_blocked_until = 0
        self.numbers = 0
        self.pause = 0  # of each contender between two turns
        self.stranger = self.servers.open(None, 30 * S)  # deletes nodes by hand
        self.stock = {}  # key: (fence, value)
        self.due, self.done = "v0", None  # of a job that is to succeed once

    # ---- Time -----------------------------------------------------------------------------

    def at(self, when, call):
        self.number += 1
        heapq.heappush(self.events, (when, self.number, call))

    def run(self, until=None):
        while self.events and (until is None or self.events[0][0] <= until):
            when, _, call = heapq.heappop(self.events)
            self.now = max(self.now, when)
            call()

    def latency(self):
        return max(self.random.randint(100000, 2 * MS), self.is_blocked_until - self.now)

    def next_number(self):
        self.numbers += 1
        return self.numbers

    # ---- Lines ----------------------------------------------------------------------------

    def line(self, who, event, **fields):
        self.now += 1000  # no two at once
        self.write_line({"at": self.now, "who": who, "event": event, **fields})

    def clock_line(self):
        self.line("nemesis", "clock", real_ns=self.now + 1000 + REAL_AHEAD)

    def wake(self, node):
        request = node.request
        if all(not self.servers.in_the_way(one) for one in request.nodes if one.lives):
            self.at(self.now + self.latency(), lambda: request.signal.send("turn"))

    # ---- Processes ------------------------------------------------------------------------

    def start_process(self, host):
        process = MadeProcess(1000 + len(self.processes), host)
        self.processes.append(process)
        self.line(f"c{process.number}", "start", process=process.number, host=host)
        self.open_session(process)
        return process

    def open_session(self, process):
        process.session = self.servers.open(process, TIMEOUT)
        self.line(f"c{process.number}", "session", process=process.number, session=process.session.number)
        self.watch_session(process.session)

    def is_heard(self, process):
        return not (process.is_stopped or process.is_dead or process.is_cut)

    def watch_session(self, session):
        """Ends it when its client has been silent for too long."""
        def look():
            if not session.is_open:
                return
            if self.is_heard(session.process) or self.now < self.is_blocked_until:
                session.heard = self.now
            if self.now - session.heard >= session.timeout + 500 * MS:
                self.expire(session)
            else:
                self.at(self.now + PROBE // 4, look)
        self.at(self.now + PROBE // 4, look)

    def expire(self, session):
        requests = list(dict.fromkeys(node.request for node in session.nodes if node.request is not None))
        self.servers.close(session)
        for request in requests:
            self.at(self.now + self.latency(), lambda request=request: request.signal.send("expired"))

    def resume(self, process):
        process.is_stopped = False
        parked, process.parked = process.parked, []
        for task in parked:
            self.at(self.now, task.step)

    def renew(self, process):
        """A process that runs and is connected hears of the end of its session, and opens another."""
        if not process.session.is_open and self.is_heard(process):
            self.open_session(process)
