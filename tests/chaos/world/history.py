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
    def __init__(self, path, who, process):
        self.path = path
        self.own = {"process": process, "who": who}
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, event, at=None, **more):
        """Returns the time that it says: now, or when it was."""
        at = at or now()
        line = {"at": at, **self.own, "event": event, **{key: value for key, value in more.items() if value is not None}}
        os.write(self.file, (json.dumps(line) + "\n").encode())
        return at


class Follower:
    """Reads a history while it is written, and knows when who waited and held. Old spans are forgotten."""

    def __init__(self, path):
        self.path = path
        self.offset = 0
        self.waits_since = {}  # by who
        self.holds_since = {}
        self.waited, self.held = [], []

    def read(self):
        """What has come since; a line that is not whole yet is left for the next time."""
        if not os.path.exists(self.path):
            return
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self.offset += len(line)
                self.take(json.loads(line))

    def take(self, line):
        at, who, what, event = line["at"], line["who"], line.get("what"), line["event"]
        if what == "acquire" and event == "call":
            self.waits_since[who] = at
        elif what == "acquire" and event == "return":
            self.close(self.waits_since, self.waited, who, at)
            if line["status"] == "ZKL_OK":
                self.holds_since[who] = at
        elif event == "end" or what == "release" and event == "call":
            self.close(self.waits_since, self.waited, who, at)
            self.close(self.holds_since, self.held, who, at)

    @staticmethod
    def close(since, spans, who, at):
        if who in since:
            spans.append((since.pop(who), at))

    def meeting(self, began, ended):
        """How many held, and how many waited, at some time between; what was over before is forgotten."""
        self.waited, self.held = ([one for one in spans if one[1] >= began] for spans in (self.waited, self.held))
        return tuple(sum(one[0] <= ended for one in spans) + sum(one <= ended for one in since.values())
                     for spans, since in ((self.held, self.holds_since), (self.waited, self.waits_since)))
