"""Reads histories (../history.md) as one stream in the order of time, with little of it in memory."""
import heapq
import json

# A thread may be late between its look at the clock and its write; each thread has one such line at most.
LATE_LINES = 256
DECODE = json.JSONDecoder().raw_decode  # without a look at what is behind the line


class Malformed(Exception):
    """A line that is not as history.md says."""


def lines_of(path):
    """Each line as it stands in the file. What a full disk has cut off at its very end is left out."""
    with open(path, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            try:
                line, _ = DECODE(text)
            except ValueError as error:
                if not text.endswith("\n"):
                    return
                raise Malformed(f"{path}:{number}: {error}") from error
            if not isinstance(line, dict):
                raise Malformed(f"{path}:{number}: is no object")
            yield line


def in_order(lines, key):
    """Puts right what is out of order by less than LATE_LINES lines."""
    waiting = []
    for number, line in enumerate(lines):
        entry = (key(line), number, line)
        if len(waiting) < LATE_LINES:
            heapq.heappush(waiting, entry)
        else:
            yield heapq.heappushpop(waiting, entry)[2]
    while waiting:
        yield heapq.heappop(waiting)[2]


def time_of(line):
    try:
        return line["at"]
    except KeyError as error:
        raise Malformed(f"without a time: {line}") from error


def ordered(path):
    return in_order(lines_of(path), time_of)


def merged(paths):
    """The lines of all these files, in the order of their times. A file is open only while its process wrote: a run has
    more processes one after the other than a process may have files."""
    waiting = []  # (time, number, the line or None where the file is not open yet, the lines behind it)
    for number, path in enumerate(paths):
        first = next(lines_of(path), None)
        if first is not None:
            waiting.append((time_of(first), number, None, ordered(path)))
    heapq.heapify(waiting)
    while waiting:
        _, number, line, behind = waiting[0]
        if line is not None:
            yield line
        following = next(behind, None)
        if following is None:
            heapq.heappop(waiting)
        else:
            heapq.heapreplace(waiting, (following["at"], number, following, behind))
