"""First come, first served."""
from .. import bounds
from ..contenders import ACQUIRES
from ..judge import note, rule
from ..names import EXHAUSTED_FROM, conflict
from ..servers import BY_ITSELF


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
    without = call.at  # since when; None: it has a node

    def look(now):
        nonlocal without
        if call.answered is not None or handle.process.gone is not None:
            return
        if handle.nodes or not handle.process.names_its_nodes:
            without = None
        elif without is None:
            without = now
        if without is None:
            yield now + bounds.S
        else:
            yield from world.overdue(handle.process, without, bounds.NEWS, now,
                                     f"{call} waits, and has had no node for {(now - without) / bounds.MS:.0f} ms")

    yield call.at + bounds.NEWS, look


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

    def counts(node):
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
    deaths[node.who] = node
    if len(deaths) > 2:
        del deaths[min(deaths, key=lambda who: deaths[who].died)]


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


@rule("granted", "it lets at most `hand_offs` more of its own in (none, by default), and none later than `hand_off_ms`"
      " after the news")
def handed_on_too_often(world, hold):
    if not hold.is_lent or hold.token[1] == 1:  # the first is its own place in the queue
        return
    node, handle = hold.nodes[0], hold.handle
    waiter = waiter_behind(world, node, hold)
    if waiter is None or not world.was_quiet(handle.process, waiter.born):
        node.lent_since = None
        return
    count = node.lent_since[1] + 1 if node.lent_since is not None and node.lent_since[0] is waiter else 1
    node.lent_since = (waiter, count)
    limit, late = handle.options.get("hand_offs", 0), handle.option_ns("hand_off_ms")
    if count > limit:
        yield f"{hold} is grant {count} before {waiter.path}, of {limit} at most"
        return
    heard = heard_of(node, waiter)
    if late and hold.at > heard + late + bounds.NEWS:
        yield f"{hold} came {(hold.at - heard) / bounds.MS:.0f} ms after it could hear of {waiter.path}, before it"

