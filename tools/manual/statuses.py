"""What a program does about each status: the tables of docs/statuses.md, and what a function's comment says of it."""
import posixpath
import re
from dataclasses import dataclass

STATUS = re.compile(r"ZKL_[A-Z_]+")
SEPARATOR = re.compile(r"(?:,|;)?\s+(?:or|and)\s+|,\s+|;\s+")
ROW = re.compile(r"^\| (.*) \|$", re.M)
LINK = re.compile(r"\[([^\]]*)\]\(([\w./-]*?)(\w[\w-]*\.md)?(#[^)]*)?\)")
EMPHASIS = re.compile(r"(\*\*?)(?=\w)([^*`]*)\1")
ONLY_FROM = re.compile(r", from (.*)")


@dataclass
class Advice:
    meaning: str
    action: str
    only_from: set  # the functions and headers that it is for; none: all


def plain(markdown):
    """Without links and emphasis. The file that a link leads to is named, unless it is the page on the guarantees."""
    def of_link(found):
        text, place, page = found.groups()[:3]
        path = posixpath.normpath(posixpath.join("docs", place, page)) if page else ""
        if not page or page == "guarantees.md":
            return text if text != page else path
        return path if text.endswith(page) else f"{text} ({path})"
    return EMPHASIS.sub(r"\2", LINK.sub(of_link, markdown))


def read_advice(text):
    """For each status its rows, the first one first. A table says in its head what its columns are."""
    advice, head = {}, []
    for row in ROW.findall(text):
        cells = [plain(cell.strip()) for cell in re.split(r"(?<!\\) \| ", row)]
        if "what you do" in cells or "meaning" in cells:
            head = cells
            continue
        told = dict(zip(head, cells))
        only = ONLY_FROM.search(cells[0])
        for status in re.findall(r"`(ZKL_\w+)`", cells[0]):
            one = Advice(told.get("meaning", ""), told.get("what you do", ""),
                         set(re.findall(r"`([^`]+)`", only[1])) if only else set())
            advice.setdefault(status, []).append(one)
    return advice


def balanced(text, begin):
    """Behind the parenthesis that is opened at begin."""
    depth = 0
    for place in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return len(text)


def run_at(text, place):
    """The list of statuses that begins at place: pairs of a status and what is said of it; and its end."""
    found = []
    while status := STATUS.match(text, place):
        place = status.end()
        note = ""
        if text.startswith(" (", place):
            end = balanced(text, place + 1)
            note, place = text[place + 2:end - 1], end
        found.append((status[0], note))
        separator = SEPARATOR.match(text, place)
        if not separator or not STATUS.match(text, separator.end()):
            break
        place = separator.end()
    return found, place


def list_in(sentence):
    """The text before the longest list of statuses, the list, and the text behind it."""
    best, place = ("", [], sentence), 0
    while status := re.compile(r"ZKL_[A-Z_]+|\(").search(sentence, place):
        if status[0] == "(":
            place = balanced(sentence, status.start())
            continue
        found, end = run_at(sentence, status.start())
        if len(found) > len(best[1]):
            best = sentence[:status.start()], found, sentence[end:]
        place = max(end, status.end())
    return best
