"""What happened, as lines of JSON (../history.md): each is one write of its own, so a process that is killed leaves
whole lines."""
import json
import os
import time


# Two clocks that are read further apart than this say nothing of one another.
READ_TOGETHER_NS = 1000000


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def both_clocks():
    """The time as above, and the one on the wall. On a machine that is busy another may run between the two."""
    while True:
        before, real_ns, after = now(), time.time_ns(), now()
        if after - before < READ_TOGETHER_NS:
            return before, real_ns


class History:
    def __init__(self, path, who, process=None):
        self.path = path
        self.own = {"process": process, "who": who} if process else {"who": who}
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, event, at=None, **more):
        """Returns the time that it says: now, or when it was."""
        at = at or now()
        line = {"at": at, **self.own, "event": event, **{key: value for key, value in more.items() if value is not None}}
        os.write(self.file, (json.dumps(line) + "\n").encode())
        return at

    def close(self):
        os.close(self.file)
