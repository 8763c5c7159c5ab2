"""What the contenders say of themselves: processes, handles, calls and holds."""
import collections

from .names import READ

TOKENS = 8  # a handle's last grants are remembered: a callback may come late
LOSSES = 500  # more than it can have before a callback is late
# After these a handle no longer holds from the moment of the call (zklock.h, zkl_lock_release).
RELEASED = frozenset(("ZKL_OK", "ZKL_PENDING", "ZKL_LOST", "ZKL_CLOSED"))
# One request to the servers, and its answer; without a deadline, that of a release is not waited for.
ROUND_TRIPS = frozenset(("verify", "release", "commit"))
# After any other a downgrade has not been done (modes.h).
DOWNGRADED = frozenset(("ZKL_OK", "ZKL_PENDING", "ZKL_LOST", "ZKL_NOT_HELD"))
ACQUIRES = frozenset(("acquire", "try"))
PLACES = ACQUIRES | {"upgrade"}  # what asks for a place in a queue


class Process:
    def __init__(self, number, host, at):
        self.number = number
        self.host = host
        self.begun = at
        self.handles = []
        self.waited_long = 0  # when servers last answered to it after longer than bounds.SLOW
        self.sessions = set()
        self.stopped = None  # since when
        self.stops = []  # (from, to)
        self.changed = 0  # when it last changed its servers or its credentials
        self.gone = None  # killed, or ended
        self.was_killed = False
        self.is_closing = False  # one of its clients is being closed, or is
        self.breaks = False  # it deletes the nodes of others, and says so

    def was_stopped_within(self, begin, end):
        if self.stopped is not None and self.stopped <= end:
            return True
        return any(stop[0] <= end and stop[1] >= begin for stop in self.stops)

    @property
    def runs(self):
        return self.gone is None and self.stopped is None


class Handle:
    def __init__(self, who, process, options):
        self.who = who
        self.process = process
        self.options = options
        self.library = options.get("library", "zklock")
        self.client = options.get("client", who)
        self.calls = {}
        self.acquire = None  # the one that waits
        self.hold = None
        self.nodes = {}  # that say that they are its own, and live
        self.names_its_nodes = False  # there was one
        self.closed = None
        self.last_acquire = None
        self.last_cancel = 0  # when it returned
        self.last_close = 0  # when it began
        self.tokens = collections.deque(maxlen=TOKENS)  # of its last grants
        self.told_before = set()  # tokens of which a callback told before the acquire has returned
        self.told_lost = collections.deque(maxlen=LOSSES)  # of those that a callback has told to be lost
        self.told_contended = collections.deque(maxlen=TOKENS)  # (token, resource), of those told that somebody waits

    def option_ns(self, name):
        return int(self.options.get(name, 0) * 1000000)

    @property
    def timeout(self):
        return self.option_ns("session_timeout_ms")

    @property
    def lends(self):
        return "hand_offs" in self.options or "retain_ms" in self.options


class Call:
    __slots__ = ("handle", "what", "number", "at", "line", "returned", "answer", "status", "is_async", "answered",
                 "cancelled", "hold", "first_node", "last_node", "is_after_one_given_up", "is_late")

    def __init__(self, handle, line):
        self.handle = handle
        self.what = line["what"]
        self.number = line.get("call", 0)  # an open needs none
        self.at = line["at"]
        self.line = line
        self.is_async = line.get("async", False)
        self.returned = None  # when the function returned
        self.answered = None  # when the caller learnt how it ended: the same, or in the callback
        self.answer = None
        self.status = None
        self.cancelled = None  # when a cancel said that it had ended this call
        self.hold = handle.hold
        self.first_node = self.last_node = None
        last = handle.last_acquire  # whose node may come yet, if none was seen, or one of an earlier one
        self.is_after_one_given_up = last is not None and last.status != "ZKL_OK" and \
            (last.first_node is None or last.is_after_one_given_up)
        self.is_late = False  # a rule has told so

    @property
    def deadline(self):
        """None: it has none."""
        if self.what == "try":
            return self.at
        limit = self.line.get("deadline_ms")
        return None if limit is None or limit < 0 else self.at + limit * 1000000

    @property
    def resources(self):
        """All that it asks for; of any stripe, each that it may get."""
        line, stripe = self.line, self.line.get("stripe")
        if stripe is None:
            return line.get("resources") or [line[name] for name in ("resource",) if name in line]
        numbers = range(line["stripes"]) if stripe in ("any", "all") else (stripe,)
        return [f"{line['resource']}/stripe-{number:04d}" for number in numbers]

    @property
    def takes_all(self):
        """It is granted all of its resources at once."""
        return "resources" in self.line or self.line.get("stripe") == "all"

    @property
    def is_try(self):
        return self.what == "try" or (self.what == "acquire" and self.line.get("deadline_ms") == 0)

    @property
    def is_round_trip(self):
        return self.what in ROUND_TRIPS and self.line.get("deadline_ms") != 0

    def __str__(self):
        return f"{self.what} {self.number} of {self.handle.who}"


class Hold:
    """A grant, from the moment at which its holder learnt of it."""

    __slots__ = ("handle", "call", "token", "mode", "nodes", "at", "depth", "ended", "left", "lost", "reason",
                 "believes_until", "beaten", "is_lent", "companion", "told", "told_lost")

    def __init__(self, call, line, token, nodes):
        self.handle = call.handle
        self.call = call
        self.token = token
        self.mode = line.get("mode") or call.line.get("mode")
        self.nodes = nodes
        self.at = line["at"]
        self.depth = 1
        self.ended = None  # when it was given up
        self.left = None  # the state before the release that is under way
        self.lost = None  # when its holder was told
        self.reason = None
        self.told = None  # the state that a callback has told last
        self.told_lost = None  # when a callback told that it is lost
        self.believes_until = 0  # by what it was told of its lease
        self.beaten = None  # when somebody else was granted a conflicting lock
        self.is_lent = bool(nodes and nodes[0].is_lent)
        self.companion = None  # an upgrade's: the reader's node

    @property
    def believes(self):
        return self.ended is None and self.lost is None

    @property
    def only_reads(self):
        return self.mode == READ

    def mode_at(self, node):
        """In which mode it has this one of its resources."""
        return self.mode if self.mode is not None and len(self.nodes) == 1 else node.mode

    def __str__(self):
        return f"{self.handle.who} with the token {self.token[0]}.{self.token[1]}"
