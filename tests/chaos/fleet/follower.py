"""Reads a history (../history.md) while it is written, and knows who waits and who holds, since when, and for what."""
import collections
import json
import os
import threading

ASKS = frozenset(("acquire", "try", "upgrade"))
# What of a line says that it is none of those below, without its being parsed: most lines are such.
TOLD = (b'acquire', b'try', b'upgrade', b'release', b'state', b'"start"', b'"end"', b'"once"',
        b'write_record')
WRITES_KEPT = 64


class Span:
    """Somebody waited for, or held, something for some time: one resource, or those of a set."""

    __slots__ = ("who", "resources", "began", "ended")

    def __init__(self, who, asked, began, ended=None):
        self.who = who
        self.resources = frozenset(asked.get("resources") or (asked.get("resource", ""),))
        self.began = began
        self.ended = ended

    def meets(self, began, ended):
        return self.began <= ended and (self.ended is None or self.ended >= began)


# A record that was written to the disk, or refused: from when to when, with its status and message.
Write = collections.namedtuple("Write", "began ended status message")


class Follower:
    """Of one member's history. Spans that are over are kept until somebody asks for later ones."""

    def __init__(self, path):
        self.path = path
        self.offset = 0
        self.grants = 0
        self.waits, self.holds = {}, {}  # by who: the span that lasts
        self.depths = {}  # by who: how often it holds, where that is more than once
        self.asked = {}   # by who and call: the line of the call
        self.waited, self.held = [], []
        self.writes = collections.deque(maxlen=WRITES_KEPT)  # the last ones
        self.lock = threading.RLock()

    def read(self):
        """What has come since; a line that is not whole yet is left for the next time."""
        with self.lock:
            if not os.path.exists(self.path):
                return
            with open(self.path, "rb") as file:
                file.seek(self.offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self.offset += len(line)
                    if any(word in line for word in TOLD):
                        self.take(json.loads(line))

    def take(self, line):
        event, what = line["event"], line.get("what")
        if event in ("start", "end"):
            self.end_all(line["at"])
        elif what in ASKS and event == "call":
            self.ask(line)
        elif what in ASKS:
            self.answer(line)
        elif what == "once" and event == "return":
            self.grants += line["status"] == "ZKL_OK"
        elif what == "release" and event == "call":
            self.release(line["who"], line["at"])
        elif what == "write_record":
            self.write(event, line)
        elif what == "state" and line.get("state") == "LOST":
            self.close(self.holds, self.held, line["who"], line["at"])

    def write(self, event, line):
        key = line["who"], line["call"]
        if event == "call":
            self.asked[key] = line
        elif key in self.asked:
            self.writes.append(Write(self.asked.pop(key)["at"], line["at"], line["status"], line.get("message", "")))

    def ask(self, line):
        who = line["who"]
        self.asked[who, line.get("call")] = line
        if line["what"] == "acquire" and line.get("deadline_ms") != 0:  # a try does not wait
            self.waits[who] = Span(who, line, line["at"])

    def answer(self, line):
        """By the call's return, or by its callback where it is asynchronous."""
        who, at = line["who"], line["at"]
        asked = self.asked.get((who, line.get("call")))
        if asked is None or (asked.get("async") and line["event"] == "return" and line["status"] == "ZKL_OK"):
            return
        del self.asked[who, line.get("call")]
        self.close(self.waits, self.waited, who, at)
        if line["status"] == "ZKL_OK":
            self.grants += 1
            if who in self.holds:
                self.depths[who] = self.depths.get(who, 1) + (line["what"] != "upgrade")
            else:
                self.holds[who] = Span(who, asked, at)

    def release(self, who, at):
        depth = self.depths.pop(who, 1)
        if depth > 2:
            self.depths[who] = depth - 1
        elif depth == 1:
            self.close(self.holds, self.held, who, at)

    @staticmethod
    def close(lasting, over, who, at):
        span = lasting.pop(who, None)
        if span is not None:
            span.ended = at
            over.append(span)

    def end_all(self, at):
        """The process is gone, or another has begun."""
        with self.lock:
            for lasting, over in ((self.waits, self.waited), (self.holds, self.held)):
                for who in list(lasting):
                    self.close(lasting, over, who, at)
            self.depths.clear()
            self.asked.clear()

    def meeting(self, began, ended):
        """The spans of those who held, and of those who waited, at some time between; what was over before is forgotten."""
        with self.lock:
            self.waited, self.held = ([one for one in spans if one.ended >= began] for spans in (self.waited, self.held))
            return [[one for one in (*over, *lasting.values()) if one.meets(began, ended)]
                    for over, lasting in ((self.held, self.holds), (self.waited, self.waits))]


def busiest(held, waited):
    """How many held, and how many waited, of the one thing that most did both for."""
    counts = {}
    for place, spans in enumerate((held, waited)):
        for one in spans:
            for resource in one.resources:
                counts.setdefault(resource, (set(), set()))[place].add(one.who)
    return max(((len(some), len(others)) for some, others in counts.values()),
               key=lambda both: (min(both), sum(both)), default=(0, 0))
