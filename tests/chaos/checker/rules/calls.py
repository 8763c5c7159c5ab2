"""Each call ends once, and in time."""
from .. import bounds
from ..contenders import ACQUIRES
from ..judge import rule


@rule("called_twice", "Whichever of grant, cancel and timeout comes first wins.")
def call_begun_twice(world, call):
    yield f"{call} has begun, and not ended"


@rule("returned_without_call", "its callback is called exactly once, whatever happens")
def call_ended_twice(world, handle, line):
    yield f"{line['what']} {line['call']} of {handle.who} returned once more, or had not begun"


@rule("called_back_without_call", "its callback is called exactly once, whatever happens")
def callback_not_owed(world, handle, line):
    yield f"a callback of {line['what']} {line['call']} of {handle.who} came, and none was owed"


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
    """When it has to be over; a try waits for its answers, or until its connection ends, and may wait for a lease."""
    return call.at + 2 * call.handle.timeout if call.is_try else call.deadline


def too_late(call, now):
    """Whether it is not over in time; who was stopped has its time from the end of that on."""
    if call.deadline is None:
        return False
    stops = call.handle.process.stops
    return max(latest(call), stops[-1][1] if stops else 0) + bounds.CALL < now


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
    if call.what in ACQUIRES and call.status == "ZKL_TIMEOUT" and not call.is_try:
        if call.deadline is None or call.answered + bounds.CLOCK < call.deadline:
            yield f"{call} ended with ZKL_TIMEOUT before its deadline"


@rule("granted", "the first one wins: cancel returns ZKL_OK and the acquire ZKL_CANCELLED")
def granted_though_cancelled(world, hold):
    if hold.call.cancelled is not None:
        yield f"{hold.call} was granted after a cancel that returned ZKL_OK"


@rule("told", "close waits for one that is running (but not for itself, when called there); none begins afterwards")
def callback_after_close(world, handle, _, line):
    if handle.closed is not None and line["at"] > handle.closed:
        yield f"a state callback of {handle.who} began after its close had returned"
