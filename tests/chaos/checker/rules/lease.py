"""Until when nobody else can have been granted the lock. Nothing is promised where somebody else acted on the session,
or deleted the node."""
import functools

from .. import bounds
from ..judge import note, rule
from ..names import conflict
from ..servers import BY_OTHERS, BY_SESSION

KNOWN = frozenset(("ZKL_OK", "ZKL_SUSPECT"))  # what a check returns, with a lease, while it is held


def is_promised(world, node):
    session = world.servers.sessions.get(node.session)
    return node.cause not in BY_OTHERS and (session is None or not session.is_hurt)


def over(hold, until, at):
    return f"{hold} believed in its lease for {(until - at) / bounds.MS:.0f} ms longer than"


@rule("died", "before which the servers cannot expire")
def lease_outlived_the_session(world, node):
    if node.cause != BY_SESSION or not is_promised(world, node):
        return

    def look(_):
        hold = node.hold
        if hold is None:
            return
        gave_up = [at for at in (hold.ended, hold.lost) if at is not None and at <= node.died + bounds.CLOCK]
        if not gave_up and hold.believes_until > node.died + bounds.CLOCK:
            yield f"{over(hold, hold.believes_until, node.died)} its session lasted"

    yield node.died + bounds.CLOCK, look


def lease_of(call):
    """(hold, until when it believes), as a check has told; (None, 0): it told nothing."""
    hold, left = call.hold, call.answer.get("lease_left_ms", -1)
    is_told = call.status in KNOWN and hold is not None and left >= 0
    return (hold, call.at + left * bounds.MS) if is_told else (None, 0)


@rule("check answered", "before which the servers cannot expire")
def lease_of_a_session_that_is_over(world, call):
    hold, until = lease_of(call)
    if hold is None:
        return
    for node in hold.nodes:
        node = node.newest()
        if node.cause == BY_SESSION and is_promised(world, node) and until > node.died + bounds.CLOCK:
            yield f"{over(hold, until, node.died)} its session had lasted"


@rule("check answered", "before which the servers cannot expire")
def lease_longer_than_the_session(world, call):
    hold, until = lease_of(call)
    timeout = call.handle.timeout
    if hold is not None and timeout and until - call.at > timeout:
        yield f"{call} told of a lease of {(until - call.at) / bounds.MS:.0f} ms, in a session of" \
            f" {timeout / bounds.MS:.0f} ms"


@rule("check answered", "or -1 if the client keeps no lease")
def lease_that_is_not_told(world, call):
    is_kept = call.handle.option_ns("lease_tick_ms") > 0
    if is_kept and call.status in KNOWN and call.hold is not None and call.answer.get("lease_left_ms", -1) < 0:
        yield f"{call} told of no lease, and its client keeps one"


@rule("granted", "A lock is granted only while a lease runs")
def granted_after_its_session(world, hold):
    """A lease is over before that."""
    if not hold.handle.option_ns("lease_tick_ms"):
        return
    for node in hold.nodes:
        if node.cause == BY_SESSION and is_promised(world, node) and node.died + bounds.CALL < hold.at and \
                not hold.handle.process.was_stopped_within(node.died, hold.at):
            yield f"{hold} was granted {(hold.at - node.died) / bounds.MS:.0f} ms after its session was over"


def beaten_by(world, hold):
    """Those who believe that they hold what this one was granted."""
    for node in hold.nodes:
        for other in world.holders.get(node.resource, ()):
            if other.handle is not hold.handle and other.believes and \
                    any(its.resource == node.resource and conflict(hold.mode_at(node), other.mode_at(its))
                        for its in other.nodes) and node not in other.nodes and node.lives_at(hold.at):
                yield other


@rule("granted", "**until when nobody else can have been granted**")
def lease_beyond_the_successor(world, hold):
    for other in beaten_by(world, hold):
        if other.believes_until > hold.at and all(is_promised(world, its.newest()) for its in other.nodes):
            yield f"{over(other, other.believes_until, hold.at)} until {hold} was granted"


@rule("granted", "and a lock is ZKL_LOST when it has run out, even if nothing else is known.")
def end_of_a_lease_not_told(world, hold):
    """Its holder needs no server to know it, but has to run."""
    for other in beaten_by(world, hold):
        if other.handle.option_ns("lease_tick_ms") and all(is_promised(world, its.newest()) for its in other.nodes):
            yield hold.at + bounds.NEWS, functools.partial(lost_by_now, other, hold, hold.at)


def lost_by_now(other, hold, since, now):
    process = other.handle.process
    if other.believes and process.runs and not process.was_stopped_within(since, now):
        yield f"{other} does not know that its lease is over, {(now - since) / bounds.MS:.0f} ms after {hold} was" \
            " granted"


@note("granted")
def remember_who_was_beaten(world, hold):
    for other in beaten_by(world, hold):
        other.beaten = other.beaten or hold.at


@rule("check answered", "**until when nobody else can have been granted**")
def lease_after_the_successor(world, call):
    hold, until = lease_of(call)
    if hold is not None and hold.beaten is not None and until > hold.beaten and \
            all(is_promised(world, node.newest()) for node in hold.nodes):
        yield f"{over(hold, until, hold.beaten)} until somebody else was granted"
