"""Who holds is told of a doubt and of a loss when that is due, and never without cause."""
from .. import bounds
from ..judge import rule
from ..servers import BY_HAND, BY_OTHERS, BY_SESSION
from .exclusion import session_timeout


def has_cause(world, hold, at):
    """Whether a loss of that reason could be known at that time."""
    nodes = [node.newest() for node in hold.nodes]
    dead = [node for node in nodes if node.died is not None and node.died <= at + bounds.CLOCK]
    handle, reason = hold.handle, hold.reason
    if reason == "ZKL_SESSION_EXPIRED":
        return any(is_over(world, node.session) for node in nodes) or not nodes
    if reason == "ZKL_NODE_DELETED":
        return any(node.cause in BY_OTHERS for node in dead)
    limit = handle.option_ns("max_hold_ms")
    is_over_the_limit = limit > 0 and at + bounds.CLOCK >= hold.call.at + limit
    if reason == "ZKL_HOLD_LIMIT":
        return is_over_the_limit
    lease_may_have_ended = handle.option_ns("lease_tick_ms") > 0 and was_disturbed(world, hold, at)
    if reason == "ZKL_LEASE_ENDED":
        return lease_may_have_ended
    return bool(dead) or is_over_the_limit or lease_may_have_ended


def is_over(world, number):
    session = world.servers.sessions.get(number)
    return session is None or session.closed is not None


def was_disturbed(world, hold, at):
    """By a fault, or by servers that take so long for their answers that a lease may end."""
    process, begin = hold.handle.process, at - 2 * session_timeout(world, hold) - bounds.NEWS
    return not world.was_quiet(process, begin) or world.is_served_slowly(process, begin, at)


@rule("lost", "LOST is final for that grant.")
def lost_without_cause(world, hold):
    if not has_cause(world, hold, hold.lost):
        yield f"{hold} was told that it is lost ({hold.reason}), and nothing had happened"


@rule("told", "the connection is gone, or nothing was answered for two thirds of the session timeout")
def suspect_without_cause(world, handle, hold, line):
    if line["state"] == "SUSPECT" and hold is not None and not was_disturbed(world, hold, line["at"]):
        yield f"{hold} was told ZKL_SUSPECT, and nothing disturbed it"


@rule("check answered", "the connection is gone, or nothing was answered for two thirds of the session timeout")
def check_suspects_without_cause(world, call):
    hold = call.hold
    if call.status == "ZKL_SUSPECT" and hold is not None and not was_disturbed(world, hold, call.answered):
        yield f"{call} found {hold} ZKL_SUSPECT, and nothing disturbed it"


@rule("check answered", "Whatever happens later, the handle reports LOST until `zkl_lock_release`")
def held_after_the_loss(world, call):
    hold = call.hold
    if call.status in ("ZKL_OK", "ZKL_SUSPECT") and hold is not None and hold.lost is not None and \
             hold.lost < call.at and call.handle.hold is hold:
        yield f"{call} returned {call.status} after {hold} was told that it is lost"


@rule("told", "LOST is final for that grant.")
def told_held_after_the_loss(world, handle, hold, line):
    if hold is not None and hold.lost is not None and hold.lost < line["at"] and line["state"] in ("HELD", "SUSPECT"):
        yield f"{hold} was told {line['state']} after LOST"


@rule("told", "LOST, the last one of a grant")
def told_of_the_loss_twice(world, handle, hold, line):
    if line["state"] == "LOST" and tuple(line["token"]) in handle.told_lost:
        yield f"{handle.who} was told twice that {line['token']} is lost"


@rule("told", "Receives the changes in the state of a lock that is held")
def told_of_what_it_never_held(world, handle, hold, line):
    """A callback may come before the return of the acquire, or after a release."""
    token = tuple(line["token"])
    if hold is not None or line["state"] == "HELD" or token in handle.tokens:
        return
    handle.told_before.add(token)

    def look(_):
        if token in handle.told_before and handle.process.gone is None:
            yield f"{handle.who} was told {line['state']} of the token {line['token']}, which it was never granted"

    yield line["at"] + bounds.NEWS, look


@rule("told", "connected again, session alive")
def end_of_a_doubt_not_told(world, handle, hold, line):
    if line["state"] != "SUSPECT" or hold is None:
        return
    bound = session_timeout(world, hold) + bounds.NEWS

    def look(now):
        if hold.believes and hold.told == "SUSPECT" and handle.process.gone is None:
            yield from world.overdue(handle.process, line["at"], bound, now,
                                     f"{hold} was told SUSPECT, and nothing since, {(now - line['at']) / bounds.MS:.0f}"
                                     " ms ago")

    yield line["at"] + bound, look


@rule("check answered", "LOST, and the HELD of tell_granted, are always reported")
def loss_not_called_back(world, call):
    hold, handle = call.hold, call.handle
    if call.status != "ZKL_LOST" or hold is None or hold.token in handle.told_lost or "stripes" in hold.call.line:
        return  # or it is of a striped lock, which takes no callback

    def look(now):
        is_closed = handle.last_close > call.answered  # nothing is told after that
        if hold.token not in handle.told_lost and handle.process.gone is None and not is_closed:
            yield from world.overdue(handle.process, call.answered, bounds.NEWS, now,
                                     f"{call} found {hold} lost, and no callback told it for"
                                     f" {(now - call.answered) / bounds.MS:.0f} ms")

    yield call.answered + bounds.NEWS, look


@rule(("verify answered", "commit answered", "downgrade answered"),
      "Whatever happens later, the handle reports LOST until `zkl_lock_release`")
def proven_after_the_loss(world, call):
    hold = call.hold
    if call.status == "ZKL_OK" and hold is not None and hold.told_lost is not None and hold.told_lost < call.at:
        yield f"{call} returned ZKL_OK after {hold} was told that it is lost"


@rule("release answered", "LOST until `zkl_lock_release`, which also returns it")
def release_that_forgets_the_loss(world, call):
    hold = call.hold
    if call.status in ("ZKL_OK", "ZKL_PENDING") and hold is not None and hold.told_lost is not None and \
            hold.told_lost < call.at:
        yield f"{call} returned {call.status} after {hold} was told that it is lost"


def timeout_of(world, node):
    session = world.servers.sessions.get(node.session)
    return session.timeout if session is not None else 0


def told_in_time(world, node, since, bound):
    """Looks whether who holds by a node that is gone knows it, once it had so long in peace. That may be when the node
    is forgotten."""
    hold = node.hold

    def look(now):
        nonlocal hold
        hold = node.hold or hold
        if hold is None or not hold.believes or hold.handle.process.gone is not None or \
                hold.handle.library != "zklock":
            return
        yield from world.overdue(hold.handle.process, since, bound, now,
                                 f"{hold} does not know that {node.path} is {node.cause or 'of a session that is over'},"
                                 f" {(now - since) / bounds.MS:.0f} ms ago")

    yield since + bound, look


@rule("died", "ZKL_LOST, reason ZKL_NODE_DELETED, within a third of the session timeout")
def deletion_not_told(world, node):
    if node.cause == BY_HAND:
        yield from told_in_time(world, node, node.died, timeout_of(world, node) // 3 + bounds.NEWS)


@rule("died", "ZKL_LOST, reason ZKL_SESSION_EXPIRED")
def expiry_not_told(world, node):
    if node.cause == BY_SESSION:
        yield from told_in_time(world, node, node.died, timeout_of(world, node) + bounds.NEWS)


@rule("session begun", "ZKL_LOST, reason ZKL_SESSION_EXPIRED")
def expiry_not_told_by_a_new_session(world, process, client, number):
    """A client that has another session knows that the one before is over."""
    for handle in process.handles:
        hold = handle.hold
        if handle.client == client and hold is not None:
            for node in hold.nodes:
                if node.session != number:
                    yield from told_in_time(world, node, world.now, bounds.NEWS)


@rule("granted", "held for longer than `max_hold_ms` (if set)")
def held_beyond_the_limit(world, hold):
    limit = hold.handle.option_ns("max_hold_ms")
    if limit <= 0:
        return
    process = hold.handle.process

    def look(now):
        if not hold.believes or process.gone is not None:
            return
        due = max(hold.at + limit, process.stops[-1][1] if process.stops else 0) + bounds.NEWS
        if process.stopped is not None or due > now:
            yield max(due, now + bounds.S)
        else:
            yield f"{hold} still holds {(now - hold.at) / bounds.MS:.0f} ms after its grant"

    yield hold.at + limit + bounds.NEWS, look


def is_told_not_held(call):
    hold = call.hold
    return call.status == "ZKL_NOT_HELD" and hold is not None and hold.ended in (None, call.at) and hold.lost is None


@rule("release answered", "On any other status nothing has changed: a held lock is still held.")
def release_finds_nothing(world, call):
    if is_told_not_held(call):
        yield f"{call} returned ZKL_NOT_HELD, and it was {call.hold}"


@rule("check answered", "On any other status nothing has changed: a held lock is still held.")
def check_finds_nothing(world, call):
    if is_told_not_held(call):
        yield f"{call} returned ZKL_NOT_HELD, and it was {call.hold}"


@rule("check answered", "the connection is gone, or nothing was answered for two thirds of the session timeout")
def certain_while_cut_off(world, call):
    hold = call.hold
    if call.status != "ZKL_OK" or hold is None:
        return
    silent = world.nemesis.silent_since(call.handle.process.host)
    if silent is not None and silent + session_timeout(world, hold) * 2 // 3 + bounds.CLOCK < call.at:
        yield f"{call} returned ZKL_OK, {(call.at - silent) / bounds.MS:.0f} ms after the last server was heard"


@rule("verify answered", "ZKL_OK proves that the lock was held at some moment between call and return.")
def verified_a_dead_node(world, call):
    if call.status != "ZKL_OK" or call.hold is None:
        return
    for node in call.hold.nodes:
        node = node.newest()
        if node.died is not None and node.died + bounds.CLOCK < call.at:
            yield f"{call} returned ZKL_OK, and {node.path} had been {node.cause}"
