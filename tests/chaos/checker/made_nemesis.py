"""Faults that are made up, and a whole run: a fleet, its faults, its end."""
from .bounds import MS, S
from .made_contender import MadeContender
from .made_fleet import TIMEOUT, Fleet, Task
from .made_lender import MadeLender
from .made_others import MadeCandidate, MadeJob, MadeObserver, MadeStriped

KINDS = ("plain", "lease", "reader", "permit", "set", "limited", "reentrant", "plain", "reader", "permit",
         "candidate", "striped")
MADE = {"candidate": MadeCandidate, "striped": MadeStriped}
BOUND_MS = 20000


class MadeRun:
    """Everything that a run leaves behind: its lines, and its transactions."""

    def __init__(self, seed, grants=400, processes=4, handles=3, write_line=None, write_transaction=None, faults=True,
                 pause=0):
        self.lines, self.transactions = [], []
        self.fleet = Fleet(seed, write_line or self.lines.append, write_transaction or self.transactions.append)
        self.fleet.pause = pause
        self.grants, self.faults = grants, 0
        self.handles = handles
        self.fleet.clock_line()
        for number in range(processes):
            self.start(f"host{number}")
        Task(self.fleet, None, self.story(faults))
        self.fleet.run()

    def start(self, host):
        process = self.fleet.start_process(host)
        first = self.fleet.random.randrange(len(KINDS))
        for number in range(self.handles):
            kind = KINDS[(first + number) % len(KINDS)]
            MADE.get(kind, MadeContender)(self.fleet, process, kind, number)
        MadeLender(self.fleet, process, self.handles)
        MadeObserver(self.fleet, process, "observer", self.handles + 2)
        MadeJob(self.fleet, process, "job", self.handles + 3)
        return process

    def story(self, faults):
        fleet = self.fleet
        while fleet.grants < self.grants:
            yield fleet.random.randint(200 * MS, 3 * S)
            fleet.clock_line()
            if faults:
                yield from self.fault()
        yield S
        fleet.line("nemesis", "rest", what="healed", bound_ms=BOUND_MS)
        yield 6 * S
        fleet.is_ending = True
        for process in fleet.processes:
            Task(fleet, process, self.end(process))
        while any(not (process.is_over or process.is_dead) for process in fleet.processes):
            yield S
        yield TIMEOUT + 30 * S
        for key, (_, value) in fleet.stock.items():
            fleet.line("store", "held", key=key, value=value)
        fleet.line("nemesis", "rest", what="empty", left={"watches": 0, "connections": 0, "descriptors": 0})

    def end(self, process):
        while not all(handle.is_closed for handle in process.handles):
            yield 100 * MS
        yield S  # for deletions that are under way
        line = {"process": process.number, "what": "close_client", "call": 1000000}
        who = process.handles[0].who
        self.fleet.line(who, "call", **line)
        yield self.fleet.latency()
        if process.session.is_open:
            self.fleet.servers.close(process.session)
        yield self.fleet.latency()
        self.fleet.line(who, "return", status="ZKL_OK", **line)
        self.fleet.line(f"c{process.number}", "end", process=process.number)
        process.is_over = True

    # ---- Faults ---------------------------------------------------------------------------

    def fault(self):
        alive = [process for process in self.fleet.processes if not process.is_dead]
        process = self.fleet.random.choice(alive)
        kind = self.fleet.random.choice((self.stop, self.stop, self.cut, self.cut, self.kill, self.break_node,
                                         self.outage))
        self.faults += 1
        more = {} if kind == self.outage else {"touches": [process.host]}
        if kind == self.cut:
            more["silences"] = [process.host]
        self.fault_line("begin", kind=kind.__name__, **more)
        yield from kind(process)
        self.fault_line("healed")

    def fault_line(self, what, **more):
        self.fleet.line("nemesis", "fault", what=what, fault=self.faults, **more)

    def length(self):
        return self.fleet.random.choice((50 * MS, S, 2 * S, TIMEOUT + S, 3 * TIMEOUT))

    def process_line(self, what, process):
        self.fleet.line("nemesis", "process", what=what, process=process.number)

    def stop(self, process):
        self.process_line("stop", process)
        process.is_stopped = True
        self.fault_line("proven")
        yield self.length()
        self.fleet.resume(process)
        self.process_line("resume", process)

    def cut(self, process):
        process.is_cut, process.cut_since = True, self.fleet.now
        self.fault_line("proven")
        yield self.length()
        process.is_cut = False
        self.fault_line("end")
        self.fleet.renew(process)
        yield 100 * MS

    def kill(self, process):
        process.is_dead = True
        self.process_line("kill", process)
        self.fault_line("proven")
        yield 500 * MS
        self.start(process.host)

    def break_node(self, process):
        """Deletes a node by hand."""
        nodes = [node for node in process.session.nodes if node.request is not None]
        if nodes:
            node = self.fleet.random.choice(nodes)
            self.fleet.servers.delete(self.fleet.stranger, node)
            self.fault_line("proven")
            node.request.signal.send("deleted")
        yield TIMEOUT

    def outage(self, _):
        self.fleet.is_blocked_until = self.fleet.now + self.fleet.random.choice((S // 2, 3 * S // 2))
        self.fault_line("proven")
        yield self.fleet.is_blocked_until - self.fleet.now + S
