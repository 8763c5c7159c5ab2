"""Reads histories (../history.md) as one stream in the order of time, with little of it in memory."""
import bisect
import heapq
import itertools
import json
import operator

# A thread may be late between its look at the clock and its write; each thread has one such line at most.
LATE_LINES = 256
LINES_AT_ONCE = 1024
DECODE = json.JSONDecoder().raw_decode  # without a look at what is behind the line


class Malformed(Exception):
    """A line that is not as history.md says."""


def lines_of(path):
    """Each line as it stands in the file. What a full disk has cut off at its very end is left out."""
    with open(path, encoding="utf-8") as file:
        number = 0
        while texts := list(itertools.islice(file, LINES_AT_ONCE)):
            try:
                lines = decoded(texts)
            except ValueError:
                lines = one_by_one(path, number, texts)
            yield from lines
            number += len(texts)


def decoded(texts, field="at"):
    """What so many lines say, decoded at once. ValueError: not each of them is one object with this field."""
    lines, _ = DECODE(f"[{','.join(texts)}]")
    if len(lines) != len(texts) or not all(type(line) is dict and field in line for line in lines):
        raise ValueError
    return lines


def one_by_one(path, number, texts):
    """Tells which of them cannot be read. number: of the lines before."""
    for number, text in enumerate(texts, number + 1):
        try:
            line, _ = DECODE(text)
        except ValueError as error:
            if not text.endswith("\n"):
                return
            raise Malformed(f"{path}:{number}: {error}") from error
        if not isinstance(line, dict):
            raise Malformed(f"{path}:{number}: is no object")
        if "at" not in line:
            raise Malformed(f"{path}:{number}: without a time")
        yield line


time_of = operator.itemgetter("at")


class Ordered:
    """The lines of a file in the order of their times. What is out of order by less than LATE_LINES is put right."""

    def __init__(self, path):
        self.lines = lines_of(path)
        self.read = []  # in order
        self.sure = 0  # so many of them; none that is earlier can follow
        self.fill()

    def fill(self):
        more = list(itertools.islice(self.lines, LINES_AT_ONCE))
        self.read += more
        self.read.sort(key=time_of)
        self.sure = len(self.read) - (LATE_LINES if len(more) == LINES_AT_ONCE else 0)

    @property
    def until(self):
        return self.read[self.sure - 1]["at"]

    def take(self, until):
        """Those up to that time, which is no later than its own."""
        count = bisect.bisect_right(self.read, until, 0, self.sure, key=time_of)
        taken = self.read[:count]
        del self.read[:count]
        self.sure -= count
        if self.sure == 0:
            self.fill()
        return taken


def merged(paths):
    """The lines of all these files, in the order of their times. A file is open only while its process wrote: a run has
    more processes one after the other than a process may have files."""
    firsts = ((next(lines_of(path), None), path) for path in paths)
    closed = [(time_of(first), number, path) for number, (first, path) in enumerate(firsts) if first is not None]
    heapq.heapify(closed)
    read = []
    while closed or read:
        until = min((one.until for one in read), default=None)
        while closed and (until is None or closed[0][0] <= until):
            read.append(Ordered(heapq.heappop(closed)[2]))
            until = min(one.until for one in read)
        lines = [line for one in read for line in one.take(until)]
        lines.sort(key=time_of)
        yield from lines
        read = [one for one in read if one.sure]
