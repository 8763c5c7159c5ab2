"""The transactions that the ensemble has committed: the union of what its servers wrote down (TransactionLog.java)."""
import bisect
import collections
import itertools

from . import names
from .history import LINES_AT_ONCE, Malformed, decoded

# A transaction that fewer than a quorum wrote down is committed if a later one builds on it. So far is looked for that.
TRANSACTIONS_AHEAD = 20000
SNAPSHOTS = ".snapshots"
FIRST = '{"zxid":'  # what each line begins with


class ServersDisagree(Exception):
    """The same zxid is another transaction on another server."""


class Clock:
    """Takes the servers' CLOCK_REALTIME to CLOCK_BOOTTIME, by the pairs that the nemesis noted."""

    def __init__(self, pairs):
        ordered = sorted(pairs)
        self.real = [real for _, real in ordered]
        self.ahead = [real - at for at, real in ordered]

    def boottime(self, real_ns):
        if not self.real:
            raise ValueError("the nemesis has noted no pair of clocks (history.md, \"clock\")")
        return real_ns - self.ahead[max(0, bisect.bisect_right(self.real, real_ns) - 1)]


def zxid_of(text):
    if not text.startswith(FIRST) or "," not in text:
        raise Malformed(f"a transaction that does not begin with {FIRST}: {text}")
    return int(text[len(FIRST):text.index(",")])


class Log:
    """The lines of a file, in the order of their zxids."""

    def __init__(self, server, path):
        self.server = server
        self.file = open(path, encoding="utf-8")  # until all of it is read
        self.texts = []
        self.fill()

    def fill(self):
        self.texts = list(itertools.islice(self.file, LINES_AT_ONCE))
        if not self.texts:
            self.file.close()

    def take(self, until):
        """Those up to that zxid, of what it has read."""
        count = bisect.bisect_right(self.texts, until, key=zxid_of)
        taken = self.texts[:count]
        del self.texts[:count]
        if not self.texts:
            self.fill()
        return taken


def snapshots_of(files):
    """(zxid of its last transaction, server, czxids of its ephemeral nodes by path) of each snapshot, in order: beside the
    lines of each file."""
    found = []
    for server, path in files:
        beside = path.with_suffix(SNAPSHOTS)
        try:
            lines = decoded(beside.read_text(encoding="utf-8").splitlines(), "ephemerals") if beside.exists() else ()
        except ValueError as error:
            raise Malformed(f"{beside} has not a snapshot in each line; remove {beside.parent}, to read all anew") from error
        found += ((one["zxid"], server, one["ephemerals"]) for one in lines)
    return sorted(found, key=lambda one: one[:2])


def is_in_one(zxids, zxid):
    """A snapshot has what came before its last transaction in the same epoch."""
    place = bisect.bisect_left(zxids, zxid)
    return place < len(zxids) and zxids[place] >> 32 == zxid >> 32


def by_zxid(files, snapshots):
    """(transaction, how many servers have it), in the order of zxids: in their logs, or because another server gave them
    all that it had. files: (server, path)."""
    zxids = collections.defaultdict(list)  # of the snapshots of each server
    for zxid, server, _ in snapshots:
        zxids[server].append(zxid)
    logs = [Log(server, path) for server, path in files]
    while logs := [log for log in logs if log.texts]:
        until = min(zxid_of(log.texts[-1]) for log in logs)
        written = {}  # server: its lines, each once
        for log in logs:
            written.setdefault(log.server, set()).update(log.take(until))
        yield from counted(written, zxids)


def counted(written, snapshots):
    """The same of so many lines."""
    counts = collections.Counter(itertools.chain.from_iterable(written.values()))
    for text, count in counts.items():
        if count == 1:
            counts[text] += sum(is_in_one(zxids, zxid_of(text)) for server, zxids in snapshots.items()
                                if text not in written.get(server, ()))
    try:
        found = sorted(zip(decoded(counts, "zxid"), counts.values()), key=lambda one: one[0]["zxid"])
    except ValueError as error:
        raise Malformed(f"not each of these is a transaction: {next(iter(counts))}...") from error
    before = {"zxid": None}
    for one, servers in found:
        if one["zxid"] == before["zxid"]:
            raise ServersDisagree(f"zxid {one['zxid']:#x}: {before} and, on another server, {one}")
        yield one, servers
        before = one


def epoch_of(transaction):
    return transaction["zxid"] >> 32


def place_of(transaction):
    """(parent, number) of an ephemeral node that ZooKeeper has numbered, made alone; None: it makes none. In a multi a
    number may be the one of a node that is replaced."""
    parts = transaction["parts"]
    if len(parts) != 1 or parts[0][0] != "create" or not parts[0][2]:
        return None
    parent, last = names.split(parts[0][1])
    name = names.parse(last)
    return name and (parent, name.sequence)


class Tail:
    """The last transactions of an epoch, which no quorum wrote down: committed, if a later one builds on them, but for those
    whose number is given again, and all behind them."""

    def __init__(self):
        self.transactions = []
        self.made = {}  # path or session: which of them made it
        self.numbered = {}  # parent: (number, which of them gave it to its node) of each
        self.deleted = {}  # path: (session, which of them deleted it)
        self.committed = 0  # so many of them
        self.most = 0  # so many can be

    def add(self, transaction):
        self.transactions.append(transaction)
        self.most = number = len(self.transactions)
        place = place_of(transaction)
        if place is not None:
            self.numbered.setdefault(place[0], []).append((place[1], number))
        for part in transaction["parts"]:
            if part[0] == "create":
                self.made[part[1]] = number
            elif part[0] == "open":
                self.made[transaction["session"]] = number
            elif part[0] == "delete":
                self.deleted[part[1]] = (transaction["session"], number)
                self.numbered.pop(part[1], None)

    def refute(self, later):
        """Sees whether a later transaction, which is committed, has a number that one of these has given, or a lower one."""
        place = place_of(later)
        for given, number in self.numbered.get(place[0], ()) if place is not None else ():
            if given >= place[1]:
                self.most = min(self.most, number - 1)

    def learn(self, later):
        """Sees what a later transaction, which is committed, builds on."""
        self.refute(later)
        built_on = [self.made.get(later["session"], 0)]
        for part in later["parts"]:
            if part[0] == "create":
                # A waiter whose reply was lost makes the same name again, if the first is not there.
                self.made.pop(part[1], None)
                self.deleted.pop(part[1], None)
            elif part[0] in ("delete", "set", "check"):
                built_on.append(self.made.pop(part[1], 0))
                if part[0] == "delete":
                    self.deleted.pop(part[1], None)
                    self.numbered.pop(part[1], None)  # numbers of a parent that is made anew begin anew
            elif part[0] == "close":
                built_on.extend(self.of_close(later["session"], part[1] or ()))
        self.committed = max([self.committed, *(number for number in built_on if number <= self.most)])

    def of_close(self, session, paths):
        """What its session still had, and what it had no more."""
        for path in paths:
            self.deleted.pop(path, None)
            yield self.made.pop(path, 0)
        for path, (deleter, number) in list(self.deleted.items()):
            if deleter == session:
                del self.deleted[path]
                yield number

    def is_settled(self):
        return self.committed >= self.most


class Ahead:
    """A stream of which some can be looked at and put back."""

    def __init__(self, stream):
        self.stream = iter(stream)
        self.put_back = collections.deque()

    def __iter__(self):
        return self

    def __next__(self):
        return self.put_back.popleft() if self.put_back else next(self.stream)


def read_tail(stream, first, quorum):
    """The transactions from `first` on to the end of its epoch, or to the next one that a quorum wrote down."""
    tail, epoch = Tail(), epoch_of(first)
    tail.add(first)
    for transaction, servers in stream:
        if epoch_of(transaction) != epoch:
            stream.put_back.appendleft((transaction, servers))
            break
        tail.add(transaction)
        if servers >= quorum:
            tail.committed = len(tail.transactions)
            break
    return tail


def look_ahead(stream, tail):
    """Sees what later epochs build on."""
    later = []
    while not tail.is_settled() and len(later) < TRANSACTIONS_AHEAD:
        entry = next(stream, None)
        if entry is None:
            break
        later.append(entry)
        tail.learn(entry[0])
    if not later:
        tail.committed = len(tail.transactions)  # the last of all: nobody can have been told otherwise
    stream.put_back.extendleft(reversed(later))


class LeftOut:
    """What was not committed. The server that wrote it down can bring it back (docs/operations.md, "What was not committed
    comes back"): it is back when a quorum has it, in snapshots of a later epoch."""

    def __init__(self, snapshots, quorum):
        self.snapshots = collections.deque(snapshots)
        self.quorum = quorum
        self.changes = {}  # (path, czxid; None of a node that was deleted): (transaction, servers whose snapshots show it)

    def add(self, transaction):
        for part in transaction["parts"]:
            if part[0] == "create":
                self.changes[part[1], transaction["zxid"]] = (transaction, set())
            elif part[0] == "delete":
                self.changes[part[1], None] = (transaction, set())

    def back_before(self, later):
        """What the snapshots up to a later transaction have brought back."""
        while self.snapshots and self.snapshots[0][0] < later["zxid"]:
            zxid, server, ephemerals = self.snapshots.popleft()
            for change, (transaction, servers) in list(self.changes.items()):
                path, czxid = change
                if epoch_of(transaction) < zxid >> 32 and ephemerals.get(path) == czxid:
                    servers.add(server)
                    if len(servers) == self.quorum:
                        del self.changes[change]
                        part = ["delete", path] if czxid is None else ["risen", path, czxid]
                        yield {**transaction, "zxid": zxid, "time_ms": later["time_ms"], "parts": [part]}


def committed(stream, quorum, snapshots=()):
    """Those that are committed. What a quorum wrote down is, and so is all before it in its epoch. Among them is what comes
    back of the others."""
    stream, left_out = Ahead(stream), LeftOut(snapshots, quorum)
    for transaction, servers in stream:
        those = [transaction]
        if servers < quorum:
            tail = read_tail(stream, transaction, quorum)
            look_ahead(stream, tail)
            those = tail.transactions[:tail.committed]
            for one in tail.transactions[tail.committed:]:
                left_out.add(one)
        for one in those:
            yield from left_out.back_before(one)
            yield one


def read_one(stream, clock):
    """(CLOCK_BOOTTIME of its preparation, transaction) of each. It is committed later than that."""
    at = 0
    for transaction in stream:
        at = max(at, clock.boottime(transaction["time_ms"] * 1000000))
        yield at, transaction


def read(files, quorum, clock):
    """The same of what the servers have committed."""
    snapshots = snapshots_of(files)
    return read_one(committed(by_zxid(files, snapshots), quorum, snapshots), clock)
