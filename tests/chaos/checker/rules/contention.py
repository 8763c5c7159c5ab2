"""Who asked for it is told that somebody waits behind it."""
import collections

from .. import bounds
from ..judge import note, rule
from ..names import PERMIT, conflict

BIRTHS = 64  # of a resource's nodes, are remembered


@note("born")
def remember_who_came(world, node):
    births = world.notes["births"].get(node.resource)
    if births is None:
        births = world.notes["births"][node.resource] = collections.deque(maxlen=BIRTHS)
    births.append(node)


def must_wait(other, node):
    """Whether one that is behind this node has to wait for it, or for the last of those that hold beside it."""
    if other.mode == PERMIT and node.mode == PERMIT:
        return other.entitled != other.zxid
    return conflict(other.mode, node.mode)


def is_behind(other, node):
    """Nobody waits for its own upgrade."""
    return other.key > node.key and must_wait(other, node) and (not other.who or other.who != node.who)


def has_waited_behind(other, node):
    were_there_at_once = (node.death is None or other.zxid < node.death) and \
        (other.death is None or other.death > node.zxid)
    return were_there_at_once and is_behind(other, node)


def nodes_of(world, hold, line):
    """Of the grant that is told of, in this resource: its node, and what a downgrade has made of it."""
    nodes = hold.nodes if hold is not None else world.servers.births.get(line["token"][0], ())
    return [one for node in nodes if node.resource == line["resource"] for one in (node, node.newest())]


def is_restored(world, node):
    """Then nobody knows who was behind it."""
    session = world.servers.sessions.get(node.session)
    return session is None or session.is_hurt


@rule("told", "It comes only for handles with the option tell_contended, and at most once for each grant")
def told_of_a_waiter_unasked(world, handle, hold, line):
    if line["state"] == "CONTENDED" and not handle.options.get("tell_contended"):
        yield f"{handle.who} was told that somebody waits behind the token {line['token']}, and did not ask for it"


@rule("told", "It comes only for handles with the option tell_contended, and at most once for each grant")
def told_of_a_waiter_twice(world, handle, hold, line):
    """For each resource."""
    if line["state"] == "CONTENDED" and (tuple(line["token"]), line["resource"]) in handle.told_contended:
        yield f"{handle.who} was told twice that somebody waits for {line['resource']}, behind the token {line['token']}"


@rule("told", "the first time that the queue has a request which must wait for this one")
def told_of_a_waiter_that_was_not(world, handle, hold, line):
    if line["state"] != "CONTENDED":
        return
    nodes, births = nodes_of(world, hold, line), world.notes["births"].get(line["resource"], ())
    if not nodes or is_restored(world, nodes[0]):
        return
    is_known = len(births) < BIRTHS or births[0].zxid < nodes[0].zxid
    if is_known and not any(has_waited_behind(other, node) for other in births for node in nodes):
        yield f"{handle.who} was told that somebody waits for {line['resource']}, behind {nodes[0].path}, and nobody did"


def longest_behind(world, node):
    """Who waits behind it and has been there for the longest time, or None."""
    queue = world.servers.queues.get(node.resource)
    behind = [other for other in queue.nodes if is_behind(other, node)] if queue is not None else ()
    return min(behind, key=lambda other: other.zxid, default=None)


@rule("granted", "and eventually to every holder that has somebody behind it and is connected.")
def waiter_not_told(world, hold):
    """In peace: it may be omitted while memory is short, and then is."""
    handle = hold.handle

    def look(now):
        if not hold.believes or handle.process.gone is not None or not world.was_quiet(handle.process, hold.at):
            return
        for node in hold.nodes:
            other = longest_behind(world, node.newest())
            is_told = (hold.token, node.resource) in handle.told_contended
            if other is not None and not is_told and max(other.born, hold.at) + bounds.NEWS <= now:
                yield f"{hold} was not told of {other.path}, which waits behind {node.newest().path} for" \
                    f" {(now - other.born) / bounds.MS:.0f} ms"
                return
        yield now + bounds.S

    if handle.options.get("tell_contended"):
        yield hold.at + bounds.NEWS, look
