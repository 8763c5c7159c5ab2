"""Writes to the servers behind a check of the lock's node."""
from .. import bounds
from ..contenders import DOWNGRADED
from ..judge import note, rule
from ..names import WRITE

# What a commit can return and be applied.
OPEN = frozenset(("ZKL_OK", "ZKL_UNKNOWN"))
MARKS = 50000  # are remembered: those of the last minutes


@rule("guarded", "The next holder can be granted the lock only after that node is gone, and from then on the check"
      " fails.")
def guarded_write_out_of_turn(world, transaction):
    for path in transaction.checked:
        node = world.servers.nodes.get(path)
        if node is None:
            continue
        if node.died is not None and node.death < transaction.zxid:
            yield f"transaction {transaction.zxid} was applied behind {path}, which is {node.cause}"
        elif node.entitled is None and node.behind_reader is None:
            yield f"transaction {transaction.zxid} was applied behind {path}, which had to wait"


@rule("guarded", "put your own creates, sets, deletes and checks behind the check of the lock's node.")
def guarded_by_anothers_node(world, transaction):
    for path in transaction.checked:
        node = world.servers.nodes.get(path)
        if node is not None and node.session != transaction.session:
            yield f"transaction {transaction.zxid} of {transaction.session} was applied behind {path}, which is" \
                f" of {node.session}"


def marks(transaction):
    for written in transaction.written:
        if len(written) > 1 and written[-1].startswith("mark="):
            yield written[-1]


@rule("guarded", "all of them or none")
def commit_applied_twice(world, transaction):
    for mark in marks(transaction):
        if mark in world.notes["applied"]:
            yield f"{mark} was applied by transaction {world.notes['applied'][mark][0]}, and by {transaction.zxid}"


@rule("guarded", "the check of the lock's node failed, or the loss was known before.")
def refused_commit_applied(world, transaction):
    for mark in marks(transaction):
        told = world.notes["refused commits"].get(mark)
        if told is not None:
            yield f"{mark} was applied by transaction {transaction.zxid}, after its commit was told {told}"


def remember(notes, mark, what):
    """Forgets the oldest for it."""
    notes[mark] = what
    if len(notes) > MARKS:
        del notes[next(iter(notes))]


@note("guarded")
def remember_what_was_applied(world, transaction):
    for mark in marks(transaction):
        remember(world.notes["applied"], mark, (transaction.zxid, transaction.checked))


@rule("commit answered", "the lock was held when it was applied")
def commit_told_otherwise(world, call):
    mark = call.line["mark"]
    was_applied = mark in world.notes["applied"]
    if call.status == "ZKL_OK" and not was_applied:
        yield f"{call} returned ZKL_OK, and no server has {mark}"
    elif call.status not in OPEN and was_applied:
        yield f"{call} returned {call.status}, and the servers applied {mark}"


@rule("commit answered", "put your own creates, sets, deletes and checks behind the check of the lock's node.")
def commit_behind_another_node(world, call):
    hold, (zxid, checked) = call.hold, world.notes["applied"].get(call.line["mark"], (0, ()))
    if not zxid or hold is None or not hold.nodes:
        return
    for node in hold.nodes:
        if node.path not in checked and node.newest().path not in checked:
            yield f"{call} of {hold} was applied by transaction {zxid}, which does not check {node.newest().path}"


@note("commit answered")
def remember_what_was_refused(world, call):
    if call.status not in OPEN:
        remember(world.notes["refused commits"], call.line["mark"], call.status)


@rule("downgrade answered", "One transaction replaces the writer's node by a reader's in the same place of the queue")
def downgraded_with_a_gap(world, call):
    hold = call.hold
    if call.status != "ZKL_OK" or hold is None or not hold.nodes:
        return
    node = hold.nodes[0]
    if node.mode == WRITE and node.became is None:
        yield f"{call} returned ZKL_OK, and no reader's node took the place of {node.path}"


@rule("downgrade answered", "(still held for writing)")
def downgrade_refused_and_done(world, call):
    if call.status in DOWNGRADED or call.hold is None:
        return
    for node in call.hold.nodes:
        if node.became is not None and node.became.born > call.at - bounds.CLOCK:
            yield f"{call} returned {call.status}, and a reader's node took the place of {node.path}"
