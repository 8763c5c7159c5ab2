"""What `zklock once` has marked (command/mark.h): judged by the servers' transactions."""
from .. import bounds
from ..judge import note, rule
from ..names import split

DAY_MS, FIRST_MONDAY_MS = 86400000, -3 * 86400000
REMEMBERED = 20000  # marks, each with its time


class Success:
    """A mark of a success."""

    def __init__(self, path, data, transaction):
        lines = dict(line.partition("=")[::2] for line in data.split("\n"))
        self.path, self.zxid, self.at = path, transaction.zxid, transaction.at
        self.token = int(lines["token"])
        self.text = lines.get("text")
        length = int(lines.get("period_ms", DAY_MS))
        first = FIRST_MONDAY_MS if length % (7 * DAY_MS) == 0 else 0
        self.period = (int(lines["asked_ms"]) - first) // length

    def is_repeated_by(self, later):
        return self.text == later.text if later.text is not None else self.text is None and later.period <= self.period


def successes(transaction):
    """Those that it marks. (A mark with its own end is that of an earlier success, beside a failure.)"""
    for written in transaction.written:
        data = written[-1] if len(written) > 2 and written[0].endswith("/done") else ""
        if data.startswith("asked_ms=") and "\nended_ms=" not in data:
            yield Success(written[0], data, transaction)


def standing(world):
    """path: the success that is marked."""
    return world.notes["marks"]


@rule("guarded", "**At most one success in each period, in the whole fleet.**")
def success_marked_twice(world, transaction):
    for mark in successes(transaction):
        before = standing(world).get(mark.path)
        if before is not None and before.is_repeated_by(mark):
            yield f"{mark.path} was marked by {before.zxid}, and for the same by {mark.zxid}"


@rule("guarded", "The mark is written in a transaction that the servers carry out only while the lock is held.")
def marked_by_another(world, transaction):
    for mark in successes(transaction):
        checked = [world.servers.nodes.get(path) for path in transaction.checked
                   if split(path)[0] == split(mark.path)[0]]
        if mark.token not in [node.token for node in checked if node is not None]:
            yield f"{mark.path} has the token {mark.token}, and was written behind {', '.join(transaction.checked)}"


@note("guarded")
def remember_the_marks(world, transaction):
    marked = {mark.path: mark for mark in successes(transaction)}
    for written in transaction.written:
        if written[0].endswith("/done") and len(written) == 1 and all(
                made[0] != written[0] or made is written for made in transaction.written):
            standing(world).pop(written[0], None)  # reset
    for path, mark in marked.items():
        standing(world)[path] = mark
        seen = world.notes["marked"]
        seen[path, mark.text] = mark.at
        if len(seen) > REMEMBERED:
            del seen[next(iter(seen))]


def path_of(call):
    return f"{call.line['resource']}/done"


@rule("once answered", "A success that cannot be marked, because the lock was lost, ends with 75.")
def success_that_is_not_marked(world, call):
    if call.status == "ZKL_OK" and "text" in call.line:
        if (path_of(call), call.line["text"]) not in world.notes["marked"]:
            yield f"{call} ended with 0, and no server has the mark of {call.line['text']}"


@rule("once answered", "so one that waits behind the other machine's for an hour finds it done.")
def job_run_again(world, call):
    mark = standing(world).get(path_of(call))
    if call.answer.get("ran") and "text" in call.line and mark is not None and mark.text == call.line["text"] and \
            mark.at + bounds.CLOCK < call.at:
        yield f"{call} ran, and {mark.text} had been marked {(call.at - mark.at) / bounds.MS:.0f} ms before"
