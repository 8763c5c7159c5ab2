"""Who holds, by the servers' order."""
import collections

from .. import bounds
from ..judge import rule
from ..names import EXHAUSTED_FROM, PERMIT, conflict
from ..servers import BY_ITSELF

CONFIRMED = frozenset(("ZKL_OK", "ZKL_PENDING"))


def stated(hold):
    """How many nodes the grant is said to rest on."""
    if hold.call.takes_all:
        return len(hold.call.resources)
    return len(hold.call.answer.get("nodes") or (1,))


def session_timeout(world, hold):
    session = world.servers.sessions.get(hold.nodes[0].session) if hold.nodes else None
    return (session.timeout if session is not None else 0) or hold.handle.timeout


def others(world, hold):
    """(own node, other hold, its node) of all who believe that they hold what this one was granted."""
    for node in hold.nodes:
        for other in world.holders.get(node.resource, ()):
            if other.handle is not hold.handle and other.believes:
                for its in other.nodes:
                    if its.resource == node.resource:
                        yield node, other, its.newest()


@rule("granted", "a list counts only if it contains our own node")
def grant_without_a_node(world, hold):
    if len(hold.nodes) < stated(hold) and hold.handle.library == "zklock":
        yield f"{hold} was granted by a node that no server has known: {hold.call.answer.get('node')}"


@rule("granted", "Its node is a child of the resource's node, named by its number with four digits")
def granted_another_resource(world, hold):
    asked = hold.call.resources
    for node in hold.nodes:
        if asked and node.resource not in asked:
            yield f"{hold} asked for {' or '.join(asked)}, and holds by {node.path}"


@rule("granted", "It is the czxid of the lock's node.")
def token_is_not_of_the_node(world, hold):
    for node in hold.nodes:
        if hold.token[0] != node.zxid:
            yield f"{hold}: {node.path} was made by the transaction {node.zxid}"


@rule("granted", "a node found by name counts as ours only if our session owns it")
def node_of_another_session(world, hold):
    for node in hold.nodes:
        if node.session != hold.call.answer.get("session", node.session):
            yield f"{hold}: {node.path} is of the session {node.session}, not {hold.call.answer['session']}"
        session = world.servers.sessions.get(node.session)
        if session is not None and session.process not in (None, hold.handle.process):
            yield f"{hold}: {node.path} is of the session {node.session}, of process {session.process.number}"


@rule("granted", "A `zkl_lock` is one contender.")
def granted_by_anothers_node(world, hold):
    for node in hold.nodes:
        if world.handles.get(node.who, hold.handle) is not hold.handle:
            yield f"{hold} holds by {node.path}, which is of {node.who}"


@rule("granted", "An exclusive or write request waits for every earlier request. A read request waits for earlier ones"
      " that are not reads.")
def granted_in_another_mode(world, hold):
    asked = hold.call.line.get("mode", hold.mode)
    if hold.call.what != "upgrade" and asked != hold.mode:
        yield f"{hold} asked for {asked}, and holds as {hold.mode}"
    if len(hold.nodes) != 1 or hold.mode is None:
        return
    node = hold.nodes[0]
    if node.mode != hold.mode:
        yield f"{hold} holds as {hold.mode} by {node.path}"


@rule("granted", "At most one session owns the lowest conflicting node of a resource.")
def granted_out_of_turn(world, hold):
    for node in hold.nodes:
        if hold.companion is not None and node.behind_reader is hold.companion.newest():
            continue  # its own reader's node was before it, and nobody else
        if node.entitled is not None:
            if node.entitled_at > hold.at + bounds.CLOCK:
                yield f"{hold} was granted before its turn, by {(node.entitled_at - hold.at) / bounds.MS:.0f} ms"
        else:
            yield f"{hold} was granted, and somebody was always before {node.path}"


@rule("granted", "At most one session owns the lowest conflicting node of a resource.")
def two_holders(world, hold):
    for node, other, its in others(world, hold):
        if its is not node and conflict(hold.mode_at(node), other.mode_at(its)) and \
                node.lives_at(hold.at) and its.lives_at(hold.at):
            yield f"{hold} and {other} hold {node.resource} at once"


@rule("granted", "A semaphore never has more holders than permits.")
def too_many_permits(world, hold):
    holders = collections.Counter(node.resource for node, _, its in others(world, hold) if its.lives_at(hold.at))
    for node in hold.nodes:
        if node.mode == PERMIT and node.lives_at(hold.at) and holders[node.resource] >= node.permits:
            yield f"{hold}: {holders[node.resource] + 1} hold one of {node.permits} permits of {node.resource}"


@rule("granted", "An acquire that finds an earlier request with another value, or for a plain lock, fails with"
      " ZKL_USED_DIFFERENTLY.")
def permits_of_another_number(world, hold):
    for node in hold.nodes:
        if node.mode == PERMIT and node.entitled is not None:
            values = {other.permits for other in earlier_in_queue(world, node) if other.mode == PERMIT}
            values.add(hold.handle.options.get("permits", node.permits))
            if values != {node.permits}:
                yield f"{hold} holds one of {node.permits} permits by {node.path}, and others take them for" \
                    f" {', '.join(map(str, sorted(values - {node.permits})))}"


def earlier_in_queue(world, node):
    queue = world.servers.queues.get(node.resource)
    return [other for other in queue.nodes if other.key < node.key] if queue is not None else ()


@rule("granted", "A later grant is given back")
def granted_after_its_deletion(world, hold):
    """By its own session: only who was not granted gives a node up."""
    handle = hold.handle
    if hold.call.is_async or "max_hold_ms" in handle.options or handle.process.breaks:
        return  # its callback may come late, when the hold is over already
    for node in hold.nodes:
        if node.cause == BY_ITSELF and node.died + bounds.CLOCK < hold.at and \
                not handle.process.was_stopped_within(node.died, hold.at):
            yield f"{hold} was granted {(hold.at - node.died) / bounds.MS:.0f} ms after {node.path} was {node.cause}"


@rule("release answered", "release returns ZKL_OK and no loss is reported, or it returns ZKL_LOST")
def released_what_was_gone(world, call):
    """Its own session had deleted the node, and somebody else may have held since."""
    hold = call.hold
    if call.status not in CONFIRMED or hold is None or hold.ended != call.at or call.handle.process.breaks:
        return
    for node in hold.nodes:
        node = node.newest()
        if node.cause == BY_ITSELF and node.died + bounds.CLOCK < hold.ended:
            yield f"{call} returned {call.status}, and its own session had deleted {node.path}" \
                f" {(hold.ended - node.died) / bounds.MS:.0f} ms before"


@rule("granted", "If the session ended before the answer came, the news of the loss follows at once.")
def granted_long_after_its_node(world, hold):
    old = session_timeout(world, hold) * 2 // 3 + bounds.NEWS
    for node in hold.nodes:
        if node.died is not None and node.newest().died is not None and node.died + old < hold.at and \
                not hold.handle.process.was_stopped_within(node.died, hold.at):
            yield f"{hold} was granted {(hold.at - node.died) / bounds.MS:.0f} ms after {node.path} was {node.cause}"


@rule("granted", "is never granted.")
def exhausted_number_granted(world, hold):
    for node in hold.nodes:
        if not 0 <= node.sequence < EXHAUSTED_FROM:
            yield f"{hold} holds by the number {node.sequence}"


@rule("granted", "A `zkl_lock` is one contender.")
def granted_while_it_held(world, hold):
    former = hold.handle.hold
    if former is not None and former.ended is None and hold.handle.library == "zklock":
        yield f"{hold} was granted while it had the token {former.token[0]}.{former.token[1]}"


@rule("granted", "Its token is greater than the reader's, because it is another place in the queue.")
def upgraded_by_an_old_place(world, hold):
    former = hold.handle.hold
    if hold.call.what == "upgrade" and former is not None and hold.token <= former.token:
        yield f"{hold} had read with the token {former.token[0]}.{former.token[1]}"


@rule("granted", "Handles of one client with the same resource")
def lent_to_two(world, hold):
    for node, other, its in others(world, hold):
        if its is node and conflict(hold.mode, other.mode):
            yield f"{hold} was lent {node.path} while {other} had it"


@rule("granted", "One ZooKeeper transaction makes all nodes.")
def set_not_at_once(world, hold):
    if len({node.zxid for node in hold.nodes}) > 1:
        yield f"{hold} holds by nodes of the transactions {sorted(node.zxid for node in hold.nodes)}"
