"""What the nemesis did, and so: who was disturbed, and when."""
EVERYBODY = None


class Fault:
    def __init__(self, line):
        self.number = line["fault"]
        self.kind = line["kind"]
        self.begun = line["at"]
        self.touches = line.get("touches", EVERYBODY)  # hosts
        self.processes = line.get("processes")  # only these of them, if it says so
        self.silences = frozenset(line.get("silences", ()))  # hosts that no server answers any more
        self.silent_since = None
        self.is_proven = False
        self.grants = self.losses = 0
        self.somebody_held = self.somebody_waited = False
        self.last_grant = self.begun
        self.longest_without_grant = 0

    @property
    def reach(self):
        """Hosts, or numbers of processes, or EVERYBODY."""
        if self.processes is not None:
            return self.processes
        return self.touches if self.touches is not EVERYBODY else (EVERYBODY,)

    def note_grant(self, at):
        self.grants += 1
        self.note_pause(at)
        self.last_grant = at

    def note_pause(self, at):
        self.longest_without_grant = max(self.longest_without_grant, at - self.last_grant)


class Nemesis:
    def __init__(self):
        self.active = {}
        self.healed_for = {EVERYBODY: 0}  # host, or number of a process: since when no fault reaches it
        self.counts = {}  # kind: what is told of its faults

    def begin(self, line):
        self.active[line["fault"]] = Fault(line)

    def prove(self, line):
        fault = self.active.get(line["fault"])
        if fault is not None:
            fault.is_proven = True
            if fault.silences:
                fault.silent_since = line["at"]

    def end(self, line):
        """It is taken back. Those that it silenced are heard again; it is not healed yet."""
        fault = self.active.get(line["fault"])
        if fault is not None:
            fault.silent_since = None

    def heal(self, line):
        fault = self.active.pop(line["fault"], None)
        if fault is None:
            return
        for one in fault.reach:
            self.healed_for[one] = line["at"]
        fault.note_pause(line["at"])
        self.count(fault)

    def count(self, fault):
        """A fault counts if it took effect while somebody held and somebody waited."""
        counts = self.counts.setdefault(fault.kind, {"begun": 0, "proven": 0, "counted": 0, "grants": 0, "losses": 0,
                                                     "longest_without_grant_ms": 0})
        counts["begun"] += 1
        counts["proven"] += fault.is_proven
        counts["counted"] += fault.is_proven and fault.somebody_held and fault.somebody_waited
        counts["grants"] += fault.grants
        counts["losses"] += fault.losses
        counts["longest_without_grant_ms"] = max(counts["longest_without_grant_ms"],
                                                 fault.longest_without_grant // 1000000)

    def quiet_since(self, process):
        """None: it is disturbed."""
        names = (EVERYBODY, process.host, process.number)
        for fault in self.active.values():
            if any(name in fault.reach for name in names):
                return None
        return max(self.healed_for.get(name, 0) for name in names)

    def servers_quiet_since(self):
        """None: a fault reaches everybody."""
        return None if any(EVERYBODY in fault.reach for fault in self.active.values()) else self.healed_for[EVERYBODY]

    def silent_since(self, host):
        """Since when no server answers this host, or None."""
        return min((fault.silent_since for fault in self.active.values()
                    if fault.silent_since is not None and host in fault.silences), default=None)
