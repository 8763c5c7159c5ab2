"""When the nemesis has healed all, everybody is granted within the bound that it states, and nothing is left."""
from .. import bounds
from ..contenders import ACQUIRES
from ..judge import rule


def granted_in_time(world, call, bound):
    """Looks whether an acquire has ended, once nothing has disturbed it for so long."""
    healed = world.healed

    def look(now):
        if world.healed == healed and call.answered is None and call.handle.process.runs:
            yield f"{call} waits, {(now - healed) / bounds.MS:.0f} ms after all was healed"

    yield max(call.at, healed) + bound, look


@rule("rest", "writers do not starve.")
def not_granted_after_healing(world, line):
    if line["what"] != "healed":
        return
    for handle in world.handles.values():
        if handle.acquire is not None:
            yield from granted_in_time(world, handle.acquire, world.bound)


@rule("called", "writers do not starve.")
def not_granted_in_peace(world, call):
    if world.healed is not None and call.what in ACQUIRES:
        yield from granted_in_time(world, call, world.bound)


@rule("acquire answered", "writers do not starve.")
def timed_out_in_peace(world, call):
    if world.healed is None or call.what not in ACQUIRES or call.status not in ("ZKL_TIMEOUT", "ZKL_DISCONNECTED"):
        return
    if call.answered - max(call.at, world.healed) > world.bound:
        yield f"{call} ended with {call.status} after all was healed"


@rule("rest", "a lock held for ever after a crash")
def node_left(world, line):
    if line["what"] == "empty":
        for queue in world.servers.queues.values():
            for node in queue.nodes:
                if node.born + bounds.CLOCK < line["at"]:
                    yield f"{node.path} of {node.who or node.session} is left"


@rule("rest", "and the session is ended, which deletes every node of the client.")
def session_left(world, line):
    if line["what"] == "empty":
        for session in world.servers.sessions.values():
            if session.process is not None and session.closed is None:
                yield f"session {session.number} of process {session.process.number} is left"


@rule("rest", "On any status but ZKL_OK nothing is left running.")
def something_left(world, line):
    if line["what"] == "empty":
        for what, count in (line.get("left") or {"things that nobody has counted": 1}).items():
            if count:
                yield f"{count} {what} are left"
