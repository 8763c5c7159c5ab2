"""Each call ends once, and in time."""
from .. import bounds
from ..contenders import ACQUIRES, PLACES
from ..judge import rule

LOCAL = frozenset(("check", "cancel"))  # do not block


@rule("called_twice", "Whichever of grant, cancel and timeout comes first wins.")
def call_begun_twice(world, call):
    yield f"{call} has begun, and not ended"


@rule("returned_without_call", "its callback is called exactly once, whatever happens")
def call_ended_twice(world, handle, line):
    yield f"{line['what']} {line['call']} of {handle.who} returned once more, or had not begun"


@rule("called_back_without_call", "its callback is called exactly once, whatever happens")
def callback_not_owed(world, handle, line):
    yield f"a callback of {line['what']} {line['call']} of {handle.who} came, and none was owed"


@rule("write_record answered", "Returns ZKL_OK, ZKL_SYSTEM (the file could not be written; zkl_error_message says why) or"
      " ZKL_INVALID_ARGUMENT")
def record_refused_without_a_reason(world, call):
    """Whatever its disk does; and there may be no memory."""
    is_told = call.status == "ZKL_SYSTEM" and call.answer.get("message")
    if call.status not in ("ZKL_OK", "ZKL_NO_MEMORY") and not is_told:
        yield f"{call} ended with {call.status}: {call.answer.get('message')}"


@rule("gone", "Blocks until granted, cancelled or past the deadline.")
def call_never_ended(world, process):
    if process.was_killed:
        return
    for handle in process.handles:
        for call in handle.calls.values():
            yield f"{call} has not ended, and its process has" + \
                (": a callback is owed" if call.returned is not None else "")


@rule("finished", "Blocks until granted, cancelled or past the deadline.")
def call_left_open(world):
    for handle in world.handles.values():
        for call in handle.calls.values():
            yield f"{call} has not ended"


def latest(call):
    """When it has to be over; None: it may wait for ever. A try waits for its answers, or until its connection ends,
    and may wait for a lease."""
    if call.cancelled is not None:
        return call.cancelled
    if call.what in LOCAL:
        return call.at
    return call.at + 2 * call.handle.timeout if call.is_try or call.what == "upgrade" else call.deadline


def too_late(call, now):
    """Whether it is not over in time; who was stopped has its time from the end of that on, which is told a little later."""
    due = latest(call)
    if due is None or due + bounds.CALL >= now:
        return False
    process = call.handle.process
    return process.runs and (not process.stops or process.stops[-1][1] + bounds.CALL < now)


@rule("answered", "one deadline for everything")
def call_too_late(world, call):
    if too_late(call, call.answered):
        yield f"{call} ended {(call.answered - latest(call)) / bounds.MS:.0f} ms after its deadline"


@rule("second", "one deadline for everything")
def call_ends_too_late(world):
    for handle in world.handles.values():
        for call in handle.calls.values() if handle.process.runs else ():
            if call.answered is None and not call.is_late and too_late(call, world.now):
                call.is_late = True
                yield f"{call} has not ended {(world.now - latest(call)) / bounds.MS:.0f} ms after its deadline"


@rule("acquire answered", "not granted in time")
def timed_out_too_early(world, call):
    if call.what in ACQUIRES and call.status in ("ZKL_TIMEOUT", "ZKL_DISCONNECTED") and not call.is_try:
        if call.deadline is None or call.answered + bounds.CLOCK < call.deadline:
            yield f"{call} ended with {call.status} before its deadline"


@rule("acquire answered", "ZKL_BUSY only a try")
def busy_though_it_may_wait(world, call):
    if call.what in ACQUIRES and call.status == "ZKL_BUSY" and not call.is_try and call.handle.library == "zklock":
        yield f"{call} returned ZKL_BUSY, and had until {call.line.get('deadline_ms')} ms"


@rule("acquire answered", "there was no connection when the deadline passed; for a try: there was none, or it was lost"
      " before the answer")
def disconnected_in_peace(world, call):
    begin = call.at - 2 * call.handle.timeout - bounds.NEWS
    if call.what in PLACES and call.status == "ZKL_DISCONNECTED" and world.was_quiet(call.handle.process, begin):
        yield f"{call} returned ZKL_DISCONNECTED, and nothing disturbed it"


@rule("acquire answered", "the first one wins: cancel returns ZKL_OK and the acquire ZKL_CANCELLED")
def cancelled_and_told_otherwise(world, call):
    if call.cancelled is not None and call.status not in ("ZKL_CANCELLED", "ZKL_OK"):
        yield f"{call} returned {call.status} after a cancel that returned ZKL_OK"


@rule("acquire answered", "by zkl_lock_cancel or a close")
def cancelled_by_nobody(world, call):
    """Nor closed the handle, since it began or a moment before."""
    handle = call.handle
    if call.status == "ZKL_CANCELLED" and handle.last_cancel < call.at and handle.closed is None and \
            not handle.process.is_closing and \
            not any(other.what in ("cancel", "close") for other in handle.calls.values()):
        yield f"{call} returned ZKL_CANCELLED, and nobody had cancelled it"


@rule("cancel answered", "Returns ZKL_OK or ZKL_NOT_WAITING (none waits; perhaps it has just been granted).")
def cancel_that_finds_nothing(world, call):
    acquire = call.handle.acquire
    if call.status != "ZKL_NOT_WAITING" or acquire is None or acquire.at + bounds.CALL > call.at:
        return

    def look(_):
        if acquire.answered is None or acquire.answered > call.answered + bounds.CALL:
            yield f"{call} returned ZKL_NOT_WAITING, and {acquire} waited"

    yield call.answered + bounds.CALL, look


def is_unheld(call):
    """Nothing was held when it began, and nobody has asked for anything since."""
    handle = call.handle
    last = handle.last_acquire
    return call.hold is None and handle.hold is None and handle.acquire is None and \
        (last is None or last.answered < call.at)


@rule(("check answered", "verify answered", "commit answered"), "this handle holds no lock")
def held_by_nobody(world, call):
    if call.status in ("ZKL_OK", "ZKL_SUSPECT") and is_unheld(call):
        yield f"{call} returned {call.status}, and {call.handle.who} holds nothing"


@rule("granted", "the first one wins: cancel returns ZKL_OK and the acquire ZKL_CANCELLED")
def granted_though_cancelled(world, hold):
    if hold.call.cancelled is not None:
        yield f"{hold.call} was granted after a cancel that returned ZKL_OK"


@rule("told", "close waits for one that is running (but not for itself, when called there); none begins afterwards")
def callback_after_close(world, handle, _, line):
    if handle.closed is not None and line["at"] > handle.closed:
        yield f"a state callback of {handle.who} began after its close had returned"
