"""Reads the public headers: what each declares, with the comment that belongs to it."""
import os
import re
from dataclasses import dataclass, field

HEADERS = ("zklock", "asynchronous", "base", "events", "lending", "modes", "observability", "security", "sets",
           "transactions", "election", "striped_lock", "administration", "testing")

COMMENT = re.compile(r"/\*.*?\*/\n?", re.S)
FUNCTION = re.compile(r"ZKL_(?:CHECKED_)?API\s+([\w ]+?[ *\n]+)(zkl_\w+)\((.*)\);", re.S)
CALLBACK = re.compile(r"typedef (\w+) (zkl_\w+)\((.*)\);", re.S)
ALIAS = re.compile(r"typedef (zkl_\w+) (zkl_\w+);")
OPAQUE = re.compile(r"typedef struct (zkl_\w+) \1;")
STRUCT = re.compile(r"typedef struct (zkl_\w+) \{\n(.*)\} \1;", re.S)
ENUM = re.compile(r"(?:typedef )?enum (?:(zkl_\w+) )?\{(.*)\}(?: \1)?;", re.S)
ATTRIBUTE = re.compile(r'\s*__attribute__\(\((?:"[^"]*"|[^()"]|\((?:"[^"]*"|[^()"])*\))*\)\)')
VALUES = re.compile(r"(?:\s*ZKL_\w+ = -?\d+,?)*\s*|\s*ZKL_\w+_LIST\(\w+\)\s*")
MACRO = re.compile(r"#define (ZKL_\w+)(\(\w+\))?((?:.*\\\n)*.*)\n")


class Unreadable(Exception):
    """A header, or a comment in it, of which no page can be made. It says which, and why."""


@dataclass
class Member:
    """A field of a struct, or a value of an enum."""
    name: str
    declaration: str
    comment: str


@dataclass
class Declaration:
    kind: str  # function, callback, alias, handle, struct, enum, macro
    name: str
    comment: str
    header: str
    result: str = ""
    parameters: list = field(default_factory=list)
    members: list = field(default_factory=list)
    value: str = ""
    leads: str = ""  # of one without a comment: the name of the one before it, whose comment is for both


@dataclass
class Header:
    name: str
    comment: str
    declarations: list


def text_of(comment):
    """Without the stars, as lines that keep their indentation."""
    inner = re.sub(r"^/\*+|\*+/\s*$", "", comment.strip())
    lines = [re.sub(r"^\s*\* ?", "", line) if i else line.lstrip() for i, line in enumerate(inner.split("\n"))]
    return "\n".join(line.rstrip() for line in lines).strip("\n").rstrip()


def for_c(text):
    """What a C compiler sees that is GCC's like."""
    kept, is_left_out = [], False
    for line in text.split("\n"):
        if line.startswith(("#ifdef __cplusplus", "#else")):
            is_left_out = True
        elif line.startswith(("#endif", "#if")):
            is_left_out = False
        elif not is_left_out and not line.startswith(("#include", "#undef", "#ifndef", "#define ZKLOCK_")):
            kept.append(line)
    return "\n".join(kept)


def pieces(text):
    """Pairs of a comment, or "", and what stands behind it up to its end; None: an empty line."""
    place, comment = 0, ""
    while place < len(text):
        if text[place] == "\n":
            place, comment = place + 1, ""
            yield "", None
            continue
        found = COMMENT.match(text, place)
        if found:
            comment, place = found[0], found.end()
            continue
        end = end_of(text, place)
        yield comment, text[place:end]
        place, comment = end, ""


def end_of(text, begin):
    """Behind the declaration or macro at begin, and the end of its line."""
    if text[begin] == "#":
        found = MACRO.match(text, begin)
        return found.end() if found else text.index("\n", begin) + 1
    depth, place = 0, begin
    while place < len(text):
        comment = COMMENT.match(text, place)
        if comment:
            place = comment.end()
            continue
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        is_body = text[place] == "}" and text.startswith("static inline", begin)
        if depth == 0 and (text[place] == ";" or is_body):
            return text.index("\n", place) + 1
        place += 1
    return len(text)


def split_parameters(text):
    text = " ".join(text.split())
    return [] if text == "void" else re.split(r"\s*,\s*(?![^(]*\))", text)


def members_of(body):
    """The fields: a comment stands before the field, or behind it on its line."""
    place, before, found = 0, "", []
    for part in re.finditer(r"/\*.*?\*/|[^/;]+;", body, re.S):
        text = part[0].strip()
        if text.startswith("/*"):
            is_behind = found and "\n" not in body[place:part.start()]
            if is_behind:
                found[-1].comment = text_of(text)
            before = "" if is_behind else text_of(text)
        else:
            declaration = " ".join(text.split())
            name = re.fullmatch(r"[\w *]+?(\w+)(?:\[\w+\])?;", declaration)
            if not name:
                raise Unreadable(f"the field '{declaration}' is not as 'type name;'")
            found.append(Member(name[1], declaration, before))
            before = ""
        place = part.end()
    return found


def values_of(body):
    if not VALUES.fullmatch(re.sub(r"(?m)^#.*$", "", COMMENT.sub("", body))):
        raise Unreadable(f"the values of an enum are not as 'ZKL_NAME = 1,': {' '.join(body.split())}")
    place, before, found = 0, "", []
    for part in re.finditer(r"/\*.*?\*/|(ZKL_\w+) = (-?\d+)(,?)", body, re.S):
        if part[1]:
            found.append(Member(part[1], part[2], before))
            before = ""
        else:
            is_behind = found and "\n" not in body[place:part.start()]
            if is_behind:
                found[-1].comment = text_of(part[0])
            else:
                before = text_of(part[0])
        place = part.end()
    return found


def declared(header, comment, text):
    """None for what no program uses by itself. What is declared for programs must be read."""
    make = lambda kind, name, **more: Declaration(kind, name, text_of(comment), header, **more)
    if found := MACRO.match(text):
        return make("macro", found[1], value=found[3].strip(), parameters=[found[2]] if found[2] else [])
    code = ATTRIBUTE.sub("", COMMENT.sub("", text)).strip()
    if found := FUNCTION.fullmatch(code):
        return make("function", found[2], result=" ".join(found[1].split()), parameters=split_parameters(found[3]))
    if found := OPAQUE.match(text):
        return make("handle", found[1])
    if found := STRUCT.match(text):
        return make("struct", found[1], members=members_of(found[2]))
    if found := CALLBACK.match(text):
        return make("callback", found[2], result=found[1], parameters=split_parameters(found[3]))
    if found := ALIAS.match(text):
        return make("alias", found[2], result=found[1])
    if found := ENUM.match(text):
        return make("enum", found[1] or "", members=values_of(found[2]))
    if re.search(r"\bzkl_\w+\(|\bZKL_\w*API\b", code) and not code.startswith("static inline"):
        raise Unreadable(f"'{' '.join(text.split())}' is not as 'ZKL_API type zkl_name(parameters);'")
    return None


def with_listed_values(declarations):
    """An enum that is made from a list of X has the list's names, with their texts."""
    lists = {re.sub(r"_LIST$", "", one.name).lower(): one for one in declarations if one.name.endswith("_LIST")}
    for one in declarations:
        if one.kind == "enum" and one.name in lists:
            texts = re.findall(r'X\((ZKL_\w+), "(\w+)"\)', lists[one.name].value)
            one.members = [Member(name, str(i), f'"{text}"') for i, (name, text) in enumerate(texts)]
            one.comment = lists[one.name].comment
    return declarations


def read(directory, name):
    try:
        return header_of(directory, name)
    except Unreadable as why:
        raise Unreadable(f"include/zklock/{name}.h: {why}") from why


def header_of(directory, name):
    with open(os.path.join(directory, "zklock", f"{name}.h"), encoding="utf-8") as file:
        text = file.read()
    first = COMMENT.match(text)
    header = Header(name, text_of(first[0]), [])
    before = None  # directly, without an empty line between
    for comment, piece in pieces(for_c(text[first.end():])):
        one = declared(name, comment, piece) if piece else None
        if one and not one.comment and before:
            one.leads = before.leads or before.name
        if one and one.kind == "function" and not (one.comment or one.leads):
            raise Unreadable(f"{one.name} has no comment")
        before = one
        if one:
            header.declarations.append(one)
    with_listed_values(header.declarations)
    return header


def read_all(directory):
    headers = {name: read(directory, name) for name in HEADERS}
    seen = {}
    for name, header in headers.items():
        for one in header.declarations:
            if one.kind == "function" and seen.setdefault(one.name, one) is not one:
                raise Unreadable(f"include/zklock/{name}.h: {one.name} is declared twice")
    return headers
