"""Reads a page of docs/ as blocks: headings, paragraphs, lists, code and tables."""
import re

from blocks import Heading, Items, Literal, Terms, Text, joined
from statuses import plain

LONGEST_CELL = 30
UNNAMED = ("", "meaning", "what you do")  # columns that need no name
ITEM = re.compile(r"(?:-|(\d+)\.) +(?=\S)")
CELLS = re.compile(r"(?<!\\)\|")


def cells_of(line):
    return [plain(cell.strip()) for cell in CELLS.split(line.strip().strip("|"))]


def as_sentence(text):
    begins = text if text.startswith(("docs/", "`")) else text[:1].upper() + text[1:]
    return begins + ("" if text.endswith((".", "?", ":")) else ".")


def columns(rows):
    """A table of numbers and words, as it stands."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return Literal("\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows))


def table(lines):
    """The first column has the terms, the others what is said of them."""
    head, _, *rows = [cells_of(line) for line in lines]
    if all(len(cell) <= LONGEST_CELL for row in rows for cell in row) and len(head) > 2:
        return columns(rows if max(map(len, head)) > LONGEST_CELL else [head] + rows)
    terms = []
    for row in rows:
        told = [as_sentence(cell if len(row) == 2 or name in UNNAMED else f"{name}: {cell}")
                for name, cell in zip(head[1:], row[1:]) if cell]
        terms.append((row[0], [Text(" ".join(told))]))
    return Terms(terms)


def take(lines, fits):
    taken = []
    while lines and fits(lines[0]):
        taken.append(lines.pop(0))
    return taken


def items(lines):
    found, is_numbered = [], bool(ITEM.match(lines[0])[1])
    while lines and (item := ITEM.match(lines[0])):
        width = item.end()
        first = lines.pop(0)[width:]
        rest = take(lines, lambda line: not line or line.startswith("  "))
        while rest and not rest[-1]:
            lines.insert(0, rest.pop())
        found.append(parse([first] + [line[min(width, len(line) - len(line.lstrip())):] for line in rest]))
        while len(lines) > 1 and not lines[0] and ITEM.match(lines[1]):
            lines.pop(0)
    return Items(found, is_numbered)


def parse(lines):
    blocks, lines = [], list(lines)
    while lines:
        line = lines[0]
        if not line or line.startswith("<!--"):
            lines.pop(0)
        elif line.startswith("#"):
            blocks.append(Heading(plain(lines.pop(0).lstrip("# "))))
        elif line.startswith("```"):
            lines.pop(0)
            blocks.append(Literal("\n".join(take(lines, lambda one: not one.startswith("```")))))
            lines.pop(0)
        elif line.startswith("|"):
            blocks.append(table(take(lines, lambda one: one.startswith("|"))))
        elif ITEM.match(line):
            blocks.append(items(lines))
        else:
            first = lines.pop(0)
            rest = take(lines, lambda one: one and not one.startswith(("|", "```", "#")) and not ITEM.match(one))
            blocks.append(Text(plain(joined([first] + rest))))
    return blocks


def sections(text):
    """Pairs of a heading of level 2 and the blocks under it; the first one without a heading."""
    parts = re.split(r"(?m)^## (.*)$", text)
    return [(plain(title), parse(body.split("\n"))) for title, body in zip([""] + parts[1::2], parts[::2])]
