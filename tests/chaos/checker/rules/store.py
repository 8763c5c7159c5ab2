"""The store that is fenced by tokens: what it accepted and refused."""
from ..judge import note, rule


class Fence:
    def __init__(self):
        self.token = (0, 0)
        self.value = None
        self.has_value = False
        self.is_held = False  # its value was told at the end


def fence_of(world, line):
    return world.notes["store"].setdefault(line["key"], Fence())


@rule("stored", "No row changed: a later holder is here; stop.")
def stale_claim_accepted(world, line):
    if line["event"] == "claimed":
        fence, token = fence_of(world, line), tuple(line["token"])
        if token < fence.token:
            yield f"{line['by']} claimed {line['key']} with {token} behind {fence.token}"


@rule("stored", "Every write requires that very token. No row changed: fenced off; stop.")
def stale_write_accepted(world, line):
    if line["event"] == "written" and tuple(line["token"]) != fence_of(world, line).token:
        yield f"{line['by']} wrote {line['key']} with {line['token']}, claimed with {fence_of(world, line).token}"


@rule("stored", "The fence does not rest on sessions or ACLs.")
def valid_write_refused(world, line):
    if line["event"] == "refused":
        fence, token = fence_of(world, line), tuple(line["token"])
        if token == fence.token if line["what"] == "write" else token >= fence.token:
            yield f"{line['by']} was refused its {line['what']} of {line['key']} with {token}, behind {fence.token}"


@rule("stored", "**loses updates**")
def accepted_write_lost(world, line):
    fence = fence_of(world, line)
    seen = {"written": line.get("read"), "held": line.get("value")}.get(line["event"])
    if line["event"] in ("written", "held") and fence.has_value and seen != fence.value:
        yield f"{line['key']} was {fence.value}, and then {seen}"


@rule("finished", "**loses updates**")
def row_lost(world):
    for key, fence in world.notes["store"].items():
        if fence.has_value and not fence.is_held:
            yield f"{key} was {fence.value}, and is not there at the end"


@rule("stored", "**loses updates**")
def written_twice(world, line):
    if line["event"] == "written" and (line["by"], line["call"]) in world.notes["accepted"]:
        yield f"store_write {line['call']} of {line['by']} was carried out twice"


@rule("stored", "gives each grant a number by which your data can tell an old holder from a new one.")
def write_without_a_grant(world, line):
    if line["event"] not in ("claimed", "written"):
        return
    handle, token = world.handles.get(line["by"]), tuple(line["token"])
    if handle is not None and (handle.hold is None or handle.hold.token != token) and handle.library == "zklock":
        yield f"{line['by']} used the token {token} at {line['key']}, and holds" \
            f" {handle.hold.token if handle.hold is not None else 'nothing'}"


@note("stored")
def follow_the_store(world, line):
    fence = fence_of(world, line)
    if line["event"] == "claimed":
        fence.token = max(fence.token, tuple(line["token"]))
    elif line["event"] == "written":
        fence.value, fence.has_value = line["value"], True
        world.notes["accepted"][line["by"], line["call"]] = line["at"]
    elif line["event"] == "held":
        fence.value, fence.has_value, fence.is_held = line["value"], True, True


@rule("store_write answered", "Every write requires that very token. No row changed: fenced off; stop.")
def write_told_otherwise(world, call):
    was_accepted = world.notes["accepted"].pop((call.handle.who, call.number), None) is not None
    if was_accepted != (call.status == "ZKL_OK") and call.status != "ZKL_UNKNOWN":
        yield f"{call} was told {call.status}, and the store {'accepted' if was_accepted else 'did not accept'} it"
