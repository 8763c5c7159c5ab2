"""A waiter whose session ends joins again, or fails if it was to."""
from .. import bounds
from ..contenders import ACQUIRES
from ..judge import rule
from ..servers import BY_SESSION

EXPIRED = "ZKL_SESSION_EXPIRED"


def is_to_fail(call):
    return bool(call.handle.options.get("fail_on_session_expiry"))


def has_one_place(call):
    """Of any stripe it asks for one after the other, perhaps each in another session; and what an acquire before has left
    may be taken for its own."""
    return call.line.get("stripe") != "any" and not call.is_after_one_given_up


@rule("attributed", "(or returns ZKL_SESSION_EXPIRED, with `fail_on_session_expiry`)")
def joined_again_though_it_was_to_fail(world, handle, node):
    call = node.request
    if call is None or call.answered is not None or not is_to_fail(call) or not has_one_place(call):
        return
    first = call.first_node
    if first.session != node.session and first.cause == BY_SESSION:
        yield f"{call} had {first.path} in {first.session}, and then {node.path} in {node.session}"


@rule("died", "(or returns ZKL_SESSION_EXPIRED, with `fail_on_session_expiry`)")
def waits_after_its_session(world, node):
    call, handle = node.request, world.handles.get(node.who)
    if node.cause != BY_SESSION or handle is None or not handle.options.get("fail_on_session_expiry"):
        return
    bound = bounds.NEWS + handle.timeout

    def look(now):
        nonlocal call
        call = node.request or call
        if call is not None and call.answered is None and has_one_place(call) and handle.process.gone is None:
            yield from world.overdue(handle.process, node.died, bound, now,
                                     f"{call} waits, and its session has been over for"
                                     f" {(now - node.died) / bounds.MS:.0f} ms")

    yield node.died + bound, look


def session_has_ended(world, process):
    """One that no server knows may have ended long ago."""
    sessions = [world.servers.sessions.get(number) for number in process.sessions]
    return any(session is None or session.closed is not None for session in sessions)


@rule("acquire answered", "with fail_on_session_expiry, from a try, or if the session expired between the grant and the return"
      " of this call")
def expired_without_cause(world, call):
    if call.what not in ACQUIRES or call.status != EXPIRED:
        return
    last = call.last_node
    if not session_has_ended(world, call.handle.process):
        yield f"{call} returned {EXPIRED}, and no session of its process has ended"
    elif not is_to_fail(call) and not call.is_try and last is not None and last.entitled is None:
        yield f"{call} returned {EXPIRED}, and was to join again behind {last.path}"
