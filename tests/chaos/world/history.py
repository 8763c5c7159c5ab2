"""What happened, as lines of JSON (../history.md): each is one write of its own, so a process that is killed leaves
whole lines."""
import json
import os
import time


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class History:
    def __init__(self, path, who, process):
        self.path = path
        self.own = {"process": process, "who": who}
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, event, **more):
        """Returns the time that it says."""
        at = now()
        line = {"at": at, **self.own, "event": event, **{key: value for key, value in more.items() if value is not None}}
        os.write(self.file, (json.dumps(line) + "\n").encode())
        return at


def read(path):
    """Its lines; the last one may be torn while its process runs."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)


def spans(paths):
    """Of all acquires, when each waited, and when it held: (began, ended), ended None: not yet."""
    waited, held = [], []
    for path in paths:
        waits_since, holds_since = None, None
        for line in read(path):
            at, what, event = line["at"], line.get("what"), line["event"]
            if what == "acquire" and event == "call":
                waits_since = at
            elif what == "acquire" and event == "return":
                waited.append((waits_since, at))
                waits_since, holds_since = None, at if line["status"] == "ZKL_OK" else None
            elif what in ("release", "ended") and holds_since is not None:
                held.append((holds_since, at))
                holds_since = None
            elif what == "ended" and waits_since is not None:
                waited.append((waits_since, at))
                waits_since = None
        if waits_since is not None:
            waited.append((waits_since, None))
        if holds_since is not None:
            held.append((holds_since, None))
    return waited, held


def meets(span, began, ended):
    return span[0] <= ended and (span[1] is None or span[1] >= began)
