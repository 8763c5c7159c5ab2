"""First come, first served."""
from .. import bounds
from ..contenders import ACQUIRES
from ..judge import note, rule
from ..names import EXHAUSTED_FROM, READ, conflict
from ..servers import BY_ITSELF
from .losses import timeout_of

AGAIN = bounds.S  # so often is looked whether a lent node has come back
# Handles that share a place have the same of these (lending.h).
SHARED = ("hand_offs", "hand_off_ms", "retain_ms", "fail_on_session_expiry")


@rule("entitled", "A release wakes one waiter.")
def turn_not_told(world, node):
    def look(now):
        call = node.request
        if node.died is not None or node.hold is not None or call is None or call.answered is not None:
            return
        process = call.handle.process
        turns = [other.entitled_at for other in call.handle.nodes.values() if other.request is call]
        if process.gone is not None or None in turns:
            return  # of a set, another is still waited for
        # Where a lease has to be earned first that takes a probe and two writes.
        bound = bounds.NEWS + (call.handle.timeout if call.handle.option_ns("lease_tick_ms") else 0)
        yield from world.overdue(process, max(turns, default=node.entitled_at), bound, now,
                                 f"nobody is in the way of {node.path} of {call.handle.who},"
                                 f" for {(now - node.entitled_at) / bounds.MS:.0f} ms, and {call} waits")

    if node.who:
        yield node.entitled_at + bounds.NEWS, look


@rule("called", "It then joins again at the tail")
def waits_without_a_place(world, call):
    """Each waiter has a node, but for a moment: when it has just come, or its session has expired."""
    handle = call.handle
    if call.what not in ACQUIRES or call.is_try or handle.lends or handle.hold is not None or handle.library != "zklock":
        return
    without = None  # since when it has none

    def look(now):
        nonlocal without
        if call.answered is not None or handle.process.gone is not None:
            return
        if handle.nodes or not handle.names_its_nodes:
            without = None
        elif without is None:
            without = now
        if without is None:
            yield now + bounds.S
        else:
            yield from world.overdue(handle.process, without, bounds.NEWS, now,
                                     f"{call} waits, and has had no node for {(now - without) / bounds.MS:.0f} ms")

    yield call.at + bounds.S, look


@rule("born", "First come, first served, by the sequence numbers that ZooKeeper gives")
def joined_in_front(world, node):
    """By a number that it has made up. A reader's node takes its writer's number, and the same transaction deletes
    that."""
    nodes = world.servers.queues[node.resource].nodes
    if nodes[-1] is node or node.sequence < 0:
        return
    last = nodes[-1]
    is_downgrade = any(other.uuid == node.uuid and other.sequence == node.sequence and other.session == node.session
                       for other in nodes if other is not node)
    if last.sequence > node.sequence and not is_downgrade:
        yield f"{node.path} of {node.who or node.session} came after {last.path}, and is before it"


@rule("entitled", "the client keeps the node, and lends it to one of them after the other")
def turn_not_lent(world, node):
    """To the first, or given up when nobody waits."""
    if not node.is_lent:
        return
    bound = bounds.NEWS + bounds.DELETION + timeout_of(world, node)

    def look(now):
        process = process_of(world, node)
        if node.died is None and node.hold is None and process is not None and process.gone is None:
            yield from world.overdue(process, node.entitled_at, bound, now,
                                     f"nobody is in the way of {node.path}, for"
                                     f" {(now - node.entitled_at) / bounds.MS:.0f} ms, and nobody was lent it")

    yield node.entitled_at + bound, look


def share(one, other):
    return one.client == other.client and all(one.options.get(name) == other.options.get(name) for name in SHARED)


@rule("release answered", "the client keeps the node, and lends it to one of them after the other")
def not_lent_to_the_next(world, call):
    hold = call.hold
    if hold is None or not hold.is_lent or hold.ended != call.at or hold.only_reads:
        return
    node, handle = hold.nodes[0], call.handle
    waiting = [other.acquire for other in handle.process.handles if other.acquire is not None and share(other, handle) and
               other.acquire.line.get("resource") == node.resource and other.acquire.line.get("mode") == node.mode]
    bound = bounds.NEWS + handle.timeout

    def look(now):
        still = [one for one in waiting if one.answered is None]
        if still and node.hold is hold and node.died is None and handle.process.gone is None:
            yield from world.overdue(handle.process, call.at, bound, now,
                                     f"{still[0]} waits, and nobody was lent {node.path} for"
                                     f" {(now - call.at) / bounds.MS:.0f} ms")

    if waiting:
        yield call.at + bound, look


@rule("born", "Somebody of another client who comes ends this at once")
def kept_from_others(world, node):
    """A node that is kept for nobody, when somebody waits for it."""
    nodes = world.servers.queues[node.resource].nodes
    first = nodes[0]
    if not first.is_lent or first.session == node.session or not conflict(first.mode, node.mode):
        return
    bound = bounds.NEWS + bounds.DELETION + timeout_of(world, first)

    def look(now):
        process, hold = process_of(world, first), first.hold
        if first.died is not None or node.died is not None or process is None or process.gone is not None or \
                hold is None or hold.lost is not None:
            return
        if hold.ended is None:
            yield now + AGAIN
            return
        yield from world.overdue(process, max(node.born, hold.ended), bound, now,
                                 f"{first.path} is kept for nobody, and {node.path} waits for"
                                 f" {(now - node.born) / bounds.MS:.0f} ms")

    yield node.born + bound, look


def process_of(world, node):
    session = world.servers.sessions.get(node.session)
    return session.process if session is not None else None


@rule("granted", "A request loses its place when its session expires while it waits.")
def place_lost_without_cause(world, hold):
    first = hold.call.first_node
    if hold.call.what not in ACQUIRES or first is None or not hold.nodes or first in hold.nodes:
        return
    if hold.call.is_after_one_given_up or hold.call.line.get("stripe") == "any":
        return  # it may be of the acquire before, or of a stripe that was tried first
    # Times of servers are cut off: one made a moment before is of the call before.
    is_its_own = hold.call.at <= first.born and first.zxid < hold.nodes[0].zxid
    if is_its_own and first.cause == BY_ITSELF and first.session == hold.nodes[0].session and \
            0 <= first.sequence < EXHAUSTED_FROM and world.was_quiet(hold.handle.process, hold.call.at) and \
            not (hold.call.takes_all and world.is_served_slowly(hold.handle.process, hold.call.at, hold.at)):
        yield f"{hold} gave {first.path} up, and joined again behind others"


def is_busy(world, call, resource):
    """Whether another contender is there, or was a short while ago. For a try also one that this handle had given up
    just before, as its list may be older than the deletion."""

    reads = call.line.get("mode") == READ and call.what in ACQUIRES  # among readers it has no reason to wait

    def counts(node):
        if reads and node.mode == READ:
            return False
        return node.who != call.handle.who or node.who == "" or (call.is_try and node.born < call.at)

    queue = world.servers.queues.get(resource)
    dead = world.notes["busy_without_a_reason"].get(resource, {}).values()
    return any(counts(node) for node in (queue.nodes if queue is not None else ())) or \
        any(counts(node) and node.died > call.at - bounds.STALE for node in dead)


@rule("acquire answered", "if another contender is in the way it returns ZKL_BUSY")
def busy_without_a_reason(world, call):
    if not call.is_try or call.status != "ZKL_BUSY":
        return
    busy = [is_busy(world, call, resource) for resource in call.resources]
    if busy and not (all(busy) if call.line.get("stripe") == "any" else any(busy)):
        yield f"{call} returned ZKL_BUSY, and nobody else was there for {bounds.STALE / bounds.S:.0f} s"


@rule("acquire answered", "Upgrades a read lock to a write lock, if nobody else holds the resource or waits for it.")
def upgrade_refused_without_a_reason(world, call):
    if call.what == "upgrade" and call.status == "ZKL_BUSY" and call.hold is not None:
        if not any(is_busy(world, call, node.resource) for node in call.hold.nodes):
            yield f"{call} returned ZKL_BUSY, and nobody else was there for {bounds.STALE / bounds.S:.0f} s"


@note("died")
def remember_the_last_deaths(world, node):
    notes = world.notes["busy_without_a_reason"]
    deaths = notes.setdefault(node.resource, {})
    deaths[node.who, node.mode == READ] = node
    if len(deaths) > 4:
        del deaths[min(deaths, key=lambda one: deaths[one].died)]


def heard_of(node, other):
    """Since when this node's client may hear of another behind it: of those that came while it waited itself, when that
    is over."""
    return max(other.born, node.entitled_at or 0)


def waiter_behind(world, node, hold):
    """The first of another session that must wait for this node, and has for so long that the news are there."""
    queue = world.servers.queues.get(node.resource)
    for other in queue.nodes if queue is not None else ():
        if other.key > node.key and other.session != node.session and conflict(other.mode, node.mode) and \
                heard_of(node, other) + bounds.NEWS < hold.at:
            return other
    return None


@note("told")
def remember_the_news(world, _, __, line):
    """Who tells its application of a waiter has heard of it."""
    if line["state"] == "CONTENDED":
        for node in world.servers.births.get(line["token"][0], ()):
            if node.resource == line["resource"] and node.is_lent and node.news is None:
                node.news = (line["token"][1], line["at"])


@rule("granted", "it lets at most `hand_offs` more of its own in (none, by default), and none later than `hand_off_ms`"
      " after the news")
def handed_on_too_often(world, hold):
    if not hold.is_lent or hold.token[1] == 1:  # the first is its own place in the queue
        return
    node, handle = hold.nodes[0], hold.handle
    limit = handle.options.get("hand_offs", 0)
    if node.news is not None and not hold.only_reads and hold.token[1] > node.news[0] + limit:
        yield f"{hold} came after grant {node.news[0]} had been told of a waiter, and {limit} may"
        return
    waiter = waiter_behind(world, node, hold)
    if waiter is None or not world.was_quiet(handle.process, waiter.born):
        node.lent_since = None
        return
    count = node.lent_since[1] + 1 if node.lent_since is not None and node.lent_since[0] is waiter else 1
    node.lent_since = (waiter, count)
    if count > limit:
        yield f"{hold} is grant {count} before {waiter.path}, of {limit} at most"


@rule("granted", "the lock is not passed on any more when this time has passed since somebody else may have begun to"
      " wait.")
def handed_on_too_late(world, hold):
    late = hold.handle.option_ns("hand_off_ms")
    if not late or not hold.is_lent or hold.token[1] == 1:
        return
    node, process = hold.nodes[0], hold.handle.process
    if node.news is not None and hold.at > node.news[1] + late + bounds.CALL and \
            not process.was_stopped_within(node.news[1], hold.at):
        yield f"{hold} came {(hold.at - node.news[1]) / bounds.MS:.0f} ms after grant {node.news[0]} had been told of a waiter"
        return
    waiter = waiter_behind(world, node, hold)
    if waiter is not None and world.was_quiet(process, waiter.born):
        heard = heard_of(node, waiter)
        if hold.at > heard + late + bounds.NEWS:
            yield f"{hold} came {(hold.at - heard) / bounds.MS:.0f} ms after it could hear of {waiter.path}, before it"
