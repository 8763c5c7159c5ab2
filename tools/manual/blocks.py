"""The text of a comment, or of a page of Markdown, as blocks: what a page of the manual is written from."""
import re
import textwrap
from dataclasses import dataclass, field


@dataclass
class Text:
    text: str


@dataclass
class Literal:
    text: str


@dataclass
class Heading:
    text: str


@dataclass
class Items:
    """Each item is a list of blocks."""
    items: list
    is_numbered: bool = False


@dataclass
class Terms:
    """Pairs of a term and a list of blocks."""
    terms: list = field(default_factory=list)


CODE_INDENT = 2
ITEM = re.compile(r"(?:- |(\d+)\. )(?=\S)")
TERM = re.compile(r"([\w.]+(?:, [\w.]+)*)  +(?=\S)")
STATUS_ROW = re.compile(r" {1,3}((?:ZKL_\w+(?:, | or )?)+)(?:  +(?=\S)|$)")
GAP = re.compile(r"(?<=\S) {2,}(?=\S)")


def indent_of(line):
    return len(line) - len(line.lstrip())


def take_while(lines, fits):
    taken = []
    while lines and fits(lines[0]):
        taken.append(lines.pop(0))
    return taken


def is_indented(by):
    return lambda line: not line or indent_of(line) >= by


def without_empty_end(lines, rest):
    """Gives empty lines at the end back."""
    while lines and not lines[-1]:
        rest.insert(0, lines.pop())
    return lines


def column_of(lines):
    """Where the second column of a table of two begins, or None: it is none."""
    begins = [found.end() for found in (GAP.search(line) for line in lines) if found]
    is_code = any(line.rstrip().endswith((";", "{", "}")) for line in lines)
    is_wide = all(len(GAP.findall(line)) > 1 for line in lines)
    return None if is_code or is_wide or not begins or max(begins) != min(begins) else begins[0]


def parse_table(lines, column):
    """Rows of two columns. A term that ends with a comma goes on in the next line."""
    terms = []
    for line in lines:
        term, text = line[:column].strip(), line[column:].strip()
        if term and not (terms and terms[-1][0].endswith(",")):
            terms.append([term, text])
        else:
            terms[-1][0] = f"{terms[-1][0]} {term}".strip()
            terms[-1][1] += f" {text}"
    return Terms([(term, [Text(text)]) for term, text in terms])


def parse_indented(lines):
    taken = without_empty_end(take_while(lines, is_indented(CODE_INDENT)), lines)
    taken = textwrap.dedent("\n".join(taken)).split("\n")
    column = column_of(taken)
    return parse_table(taken, column) if column else Literal("\n".join(taken))


def parse_items(lines):
    items, is_numbered = [], bool(ITEM.match(lines[0])[1])
    while lines and (found := ITEM.match(lines[0])):
        width = found.end()
        first = lines.pop(0)[width:]
        rest = without_empty_end(take_while(lines, is_indented(min(width, 2))), lines)
        items.append(parse([first] + [line[width:] for line in rest]))
        while len(lines) > 1 and not lines[0] and ITEM.match(lines[1]):
            lines.pop(0)
    return Items(items, is_numbered)


def parse_terms(lines):
    terms = []
    while lines and (found := TERM.match(lines[0])):
        first = lines.pop(0)[found.end():]
        rest = take_while(lines, lambda line: line.startswith("  "))
        terms.append((found[1], [Text(joined([first] + rest))]))
    return Terms(terms)


def parse_statuses(lines):
    terms = []
    while lines and (found := STATUS_ROW.match(lines[0])):
        first = lines.pop(0)[found.end():]
        indent = indent_of(found[0])
        rest = take_while(lines, lambda line: indent_of(line) > indent)
        terms.append((found[1], [Text(joined([first] + rest))]))
    return Terms(terms)


def joined(lines):
    return " ".join(line.strip() for line in lines).strip()


def is_term(line, names):
    found = TERM.match(line)
    return found and all(name in names for name in found[1].split(", "))


def parse(lines, names=()):
    """names: what may be the term of a parameter."""
    blocks, lines = [], list(lines)
    while lines:
        if not lines[0]:
            lines.pop(0)
        elif len(lines) > 1 and re.fullmatch(r"-{3,}", lines[1]):
            blocks.append(Heading(lines[0]))
            del lines[:2]
        elif ITEM.match(lines[0]):
            blocks.append(parse_items(lines))
        elif STATUS_ROW.match(lines[0]):
            blocks.append(parse_statuses(lines))
        elif indent_of(lines[0]) >= CODE_INDENT:
            blocks.append(parse_indented(lines))
        elif is_term(lines[0], names):
            blocks.append(parse_terms(lines))
        else:
            begins_other = lambda line: not line or ITEM.match(line) or STATUS_ROW.match(line) or is_term(line, names)
            first = lines.pop(0)
            blocks.append(Text(joined([first] + take_while(lines, lambda line: not begins_other(line)))))
    return blocks
