"""Who leads, as candidates and observers are told."""
from .. import bounds
from ..judge import note, rule
from ..names import EXCLUSIVE, WRITE

PAUSE = bounds.S  # ZKL_LEADER_PAUSE_MS
LEADS = frozenset((EXCLUSIVE, WRITE))  # nobody leads who shares


class Observer:
    """What one of them was told."""

    def __init__(self, handle, since):
        self.handle = handle
        self.since = since
        self.term = None  # the latest that it was told; 0: nobody leads


def observers_of(world, resource):
    return world.notes["observers"].get(resource, {})


@note("called")
def remember_who_observes(world, call):
    if call.what == "observe":
        observers = world.notes["observers"].setdefault(call.line["resource"], {})
        observers[call.handle.who] = Observer(call.handle, call.at)
        world.notes["observed"][call.handle.who] = call.line["resource"]
        world.notes["terms"].pop(call.handle.who, None)  # of what it observed before
    elif call.what == "close":
        forget(world, call.handle)
    elif call.what == "close_client":
        for handle in call.handle.process.handles:
            if handle.client == call.handle.client:
                forget(world, handle)


@note("gone")
def forget_those_of_a_process(world, process):
    for handle in process.handles:
        forget(world, handle)


def forget(world, handle):
    resource = world.notes["observed"].pop(handle.who, None)
    if resource is not None:
        del world.notes["observers"][resource][handle.who]


def observer(world, handle):
    return observers_of(world, world.notes["observed"].get(handle.who)).get(handle.who)


@rule("leader told", "No server that lags makes it report a lower term after a higher one.")
def lower_term_after_a_higher(world, handle, line):
    term, highest = line.get("term", 0), world.notes["terms"].get(handle.who, 0)
    if 0 < term < highest:
        yield f"{handle.who} was told that {term} leads, and {highest} before"


@rule("leader told", "Who leads: the contender that is first in the queue, according to the servers.")
def leader_that_did_not_lead(world, handle, line):
    if not line.get("term"):
        return
    node = world.servers.nodes.get(line["node"])
    if node is None:
        yield f"{handle.who} was told that {line['node']} leads, which no server has known"
    elif node.mode not in LEADS or node.entitled is None or node.entitled_at > line["at"] + bounds.CLOCK:
        yield f"{handle.who} was told that {node.path} leads, and it was not its turn"
    elif (node.token, node.session) != (line["term"], line.get("session", node.session)):
        yield f"{handle.who} was told that the term of {node.path} is {line['term']}, of {line.get('session')}"


@note("leader told")
def remember_who_leads(world, handle, line):
    told = observer(world, handle)
    if told is not None and line.get("status", "ZKL_OK") == "ZKL_OK":
        told.term = line.get("term", 0)
        world.notes["terms"][handle.who] = max(told.term, world.notes["terms"].get(handle.who, 0))


def told_in_time(world, told, since, is_wrong, text):
    """Looks whether an observer knows, once it had the time for it in peace."""
    bound = PAUSE + bounds.NEWS

    def look(now):
        if observer(world, told.handle) is not told or not is_wrong():
            return
        yield from world.overdue(told.handle.process, max(since, told.since), bound, now,
                                 f"{told.handle.who} was not told {text}, {(now - since) / bounds.MS:.0f} ms ago")

    yield since + bound, look


@rule("entitled", "so a new leader may be reported that much later.")
def leader_not_told(world, node):
    for told in list(observers_of(world, node.resource).values()) if node.mode in LEADS else ():
        yield from told_in_time(world, told, node.entitled_at, lambda told=told: node.died is None and
                                told.term != node.token, f"that {node.path} leads")


@rule("died", "Reports who leads, or that nobody does, as soon as that is known, and then each change.")
def end_of_a_leader_not_told(world, node):
    for told in list(observers_of(world, node.resource).values()) if node.entitled is not None else ():
        yield from told_in_time(world, told, node.died, lambda told=told: told.term == node.token,
                                f"that {node.path} is gone")


@rule("told", "elected comes exactly once for each term")
def elected_twice(world, handle, hold, line):
    if handle.options.get("election") and line["state"] == "HELD" and \
            world.notes["elected"].get(handle.who) == line["token"]:
        yield f"{handle.who} was told twice that it is elected, with {line['token'][0]}"


@note("told")
def remember_who_was_elected(world, handle, hold, line):
    if handle.options.get("election") and line["state"] == "HELD":
        world.notes["elected"][handle.who] = line["token"]


@rule("granted", "elected comes exactly once for each term")
def elected_not_told(world, hold):
    handle = hold.handle
    if not handle.options.get("election"):
        return

    def look(now):
        if not hold.believes or world.notes["elected"].get(handle.who) == list(hold.token):
            return
        yield from world.overdue(handle.process, hold.at, bounds.NEWS, now,
                                 f"{hold} leads, and was not told for {(now - hold.at) / bounds.MS:.0f} ms")

    yield hold.at + bounds.NEWS, look
