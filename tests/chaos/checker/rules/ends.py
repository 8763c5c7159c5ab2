"""No node outlives its request."""
from .. import bounds
from ..contenders import RELEASED
from ..judge import rule
from ..servers import BY_HAND, BY_ITSELF

SENTENCE = "Its node is deleted in the background, with retries, until a server confirms it or the session ends."


def gone_in_time(world, handle, node, since):
    """Looks whether a node that nobody wants is gone, once its client had the time for it in peace."""
    bound = bounds.DELETION + handle.timeout

    def look(now):
        newest = node.newest()
        if newest.died is not None or handle.process.gone is not None:
            return
        yield from world.overdue(handle.process, since, bound, now,
                                 f"{newest.path} of {handle.who} lives {(now - since) / bounds.MS:.0f} ms after it was"
                                 " given up")

    yield since + bound, look


def unwanted(handle):
    """The nodes of a handle that nothing rests on."""
    hold, acquire = handle.hold, handle.acquire
    wanted = {node.newest().path for node in hold.nodes} if hold is not None else set()
    return [node for path, node in handle.nodes.items() if path not in wanted and
            (acquire is None or node.request is not acquire)]


@rule("acquire answered", "**A waiter gives up** (deadline, cancel, close): the call returns at once. " + SENTENCE)
def node_outlives_its_acquire(world, call):
    for node in unwanted(call.handle):
        yield from gone_in_time(world, call.handle, node, call.answered)


@rule("attributed", "and never leaves a second node behind.")
def node_without_a_request(world, handle, node):
    if node.request is None and node.died is None and node.hold is None and node.cause is None:
        if handle.hold is None or node not in [one.newest() for one in handle.hold.nodes]:
            yield from gone_in_time(world, handle, node, node.born)


@rule("release answered", "deleted, or the servers reported that the session is over, which deletes it")
def released_and_still_there(world, call):
    hold = call.hold
    if call.status != "ZKL_OK" or call.deadline == call.at or hold is None or hold.ended is None or hold.is_lent:
        return
    for node in hold.nodes:
        if node.newest().died is None:
            yield f"{call} returned ZKL_OK, and {node.newest().path} lives"


@rule("release answered", "deletes its node, with retries, until the servers confirm it or the session ends.")
def node_outlives_its_release(world, call):
    hold = call.hold
    if call.status in RELEASED and hold is not None and hold.ended is not None and not hold.is_lent:
        for node in hold.nodes:
            if node.newest().died is None:
                yield from gone_in_time(world, call.handle, node, call.answered)


@rule("close answered", "releases a held lock as zkl_lock_release(lock, 0) does")
def node_outlives_its_handle(world, call):
    for node in list(call.handle.nodes.values()):
        yield from gone_in_time(world, call.handle, node, call.answered)


@rule("close_client answered", "the servers confirmed that all nodes of this client are gone")
def client_closed_and_nodes_there(world, call):
    if call.status != "ZKL_OK":
        return
    for handle in call.handle.process.handles:
        if handle.client == call.handle.client:
            for path, node in handle.nodes.items():
                if node.born + bounds.CLOCK < call.answered:
                    yield f"{call} returned ZKL_OK, and {path} lives"


@rule("lost", "ZKL_LOST, reason ZKL_HOLD_LIMIT; the node is deleted")
def node_outlives_its_limit(world, hold):
    if hold.reason == "ZKL_HOLD_LIMIT" and not hold.is_lent:
        for node in hold.nodes:
            yield from gone_in_time(world, hold.handle, node, hold.lost)


@rule("gone", "its lock passes on after its negotiated session timeout, plus at most about a tick of the servers")
def node_outlives_its_process(world, process):
    for number in process.sessions:
        session = world.servers.sessions.get(number)
        if session is not None and session.closed is None:
            yield from expired_in_time(world, process, session)


def expired_in_time(world, process, session):
    bound = session.timeout + bounds.EXPIRY

    def look(now):
        if session.closed is not None or not session.nodes:
            return
        quiet = world.nemesis.servers_quiet_since()
        due = now + bounds.S if quiet is None else max(quiet, process.gone) + bound
        if due > now:
            yield due
        else:
            yield f"{', '.join(session.nodes)} of process {process.number} outlives it by" \
                f" {(now - process.gone) / bounds.MS:.0f} ms"

    yield process.gone + bound, look


@rule("died", "a handle can release only its own lock")
def anothers_node_deleted(world, node):
    if node.cause != BY_HAND:
        return

    def look(_):
        session = world.servers.sessions.get(node.deleter)
        if session is not None and session.process is not None and not session.process.breaks:
            yield f"{node.path} of {node.session} was deleted by process {session.process.number}, in {node.deleter}"

    yield node.died + bounds.CLOCK, look


@rule("release answered", "Otherwise it stays for this long, as long as nobody else comes")
def kept_for_too_long(world, call):
    hold, handle = call.hold, call.handle
    if hold is None or not hold.is_lent or hold.ended is None:
        return
    node = hold.nodes[0]

    def is_used(now):
        return node.hold is not hold or any(
            other.acquire is not None and other.acquire.line.get("resource") == node.resource
            for other in handle.process.handles)

    def look(now):
        if node.died is not None or handle.process.gone is not None or is_used(now):
            return
        bound = handle.option_ns("retain_ms") + bounds.DELETION + handle.timeout
        yield from world.overdue(handle.process, call.answered, bound, now,
                                 f"{node.path} is kept for nobody, for {(now - call.answered) / bounds.MS:.0f} ms")

    yield call.answered + handle.option_ns("retain_ms") + bounds.DELETION + handle.timeout, look


@rule("died", "may acquire it again, at once, and must release it as often.")
def deleted_while_it_is_held(world, node):
    """By its own session, and not in the course of a release."""
    if node.cause != BY_ITSELF:
        return

    def look(now):
        hold = node.hold
        if hold is None or not hold.believes or hold.handle.process.gone is not None:
            return
        yield from world.overdue(hold.handle.process, node.died, bounds.NEWS, now,
                                 f"{hold} holds {node.path}, {hold.depth} times, and its own session has deleted it")

    yield node.died + bounds.NEWS, look


@rule("closed", "Its sessions, locks and requests stay.")
def session_ended_without_cause(world, session):
    """Neither a fault did it nor its client, which may have changed its servers or its credentials."""
    process, closed = session.process, world.servers.now

    def look(_):
        owner = process or session.process
        if owner is None or owner.is_closing or session.is_hurt or owner.gone is not None:
            return
        quiet = world.undisturbed_since(owner)
        if quiet is not None and quiet + 2 * session.timeout + bounds.NEWS < closed:
            yield f"session {session.number} of process {owner.number} is over, and nothing had happened"

    yield closed + bounds.NEWS, look
