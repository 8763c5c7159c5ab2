"""Writes blocks as mdoc: each sentence on a line of its own, and what is named marked as what it is."""
import re
import textwrap

from blocks import Heading, Items, Literal, Terms, Text

# Of a sentence: behind a mark and what closes it, before what can begin the next one.
BEGINS = r"[A-Z0-9]|zkl_|zklock\b|[a-z_]+`|\w+_ms\b|[a-z_]+: |[a-z_]+(?:, [a-z_]+)* (?:and the statuses|receives)"
SENTENCE_END = re.compile(rf"""(?<=[.!?])((?:["')]|`)*)\s+(?=["'(`]*(?:{BEGINS}))""")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|etc)\.$")
CALL = re.compile(r"(zkl_\w+)\(([\w&>*+\- ,.]*)\)")
TOKEN = re.compile(r"""[(\[]*(?:`[^`]+`|zkl_\w+\([\w&>*+\- ,.]*\))[),.:;!?\]]*|\S+""")
NAME = re.compile(r"\w+")
LINE = 78
OPENING, CLOSING = "([", ".,:;)]?!"


def escaped(text):
    text = text.replace("\\", r"\e")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def escaped_code(text):
    text = escaped(text).replace("-", r"\-").replace("`", r"\(ga").replace("^", r"\(ha").replace("~", r"\(ti")
    return re.sub(r"(?<!\\&)'", r"\\(aq", text)


def argument(text):
    """As one argument of a macro."""
    text = escaped(text).replace('"', r"\(dq")
    text = rf"\&{text}" if text in OPENING + CLOSING or re.fullmatch(r"[A-Z][a-z]", text) else text
    return f'"{text}"' if " " in text or not text else text


def sentences(text):
    """Splits a text where a sentence ends, outside of parentheses."""
    found, begin = [], 0
    for end in SENTENCE_END.finditer(text):
        part = text[begin:end.end(1)]
        if part.count("(") <= part.count(")") and not ABBREVIATION.search(part):
            found.append(part)
            begin = end.end()
    return [part for part in found + [text[begin:]] if part.strip()]


class Names:
    """What the words of a page may be: functions, types, fields, and other pages."""

    def __init__(self, functions, types, fields, pages):
        self.functions, self.types, self.fields, self.pages = functions, types, fields, pages
        self.mentioned = set()

    def macro(self, word):
        """The macro and its arguments for a word, or None: it is plain."""
        name = word.removesuffix("()")
        if name in self.functions:
            self.mentioned.add(name)
            return f"Fn {name}"
        if name in self.types:
            self.mentioned.add(name)
            return f"Vt {name}"
        if re.fullmatch(r"ZKL_[A-Z0-9_]+|NULL|EINTR|SIG[A-Z]+", name):
            self.mentioned.add(name)
            return f"Dv {name}"
        if "_" in name and name in self.fields:
            return f"Va {name}"
        if name in self.pages:
            page, section = self.pages[name]
            if not section:
                return f"Sx {page}"
            self.mentioned.add((page, section))
            return f"Xr {page} {section}"
        if re.fullmatch(r"(?:docs|examples|tests|lib|include|tools|ensemble|bench)/\S+", name):
            return f"Pa {argument(name)}"
        if re.fullmatch(r"\w+\(\)", word):
            return f"Fn {name}"
        return None


def quoted(text, names):
    """What stands in `quotes`."""
    is_variable = re.fullmatch(r"\w+(?:\.\w+)*", text)
    return names.macro(text) or (f"Va {text}" if is_variable else f"Ql {argument(text)}")


def call(found, names):
    given = [one.strip() for one in found[2].split(",") if one.strip()]
    if found[1] not in names.functions:
        return None
    names.mentioned.add(found[1])
    return " ".join([f"Fn {found[1]}"] + [argument(one) for one in given])


class Line:
    """A sentence that is being written: text, and lines of macros in it."""

    def __init__(self):
        self.lines, self.text = [], []

    def end_text(self):
        if self.text:
            wrapped = textwrap.wrap(" ".join(self.text), LINE, break_long_words=False, break_on_hyphens=False)
            self.lines += [escaped(line) for line in wrapped]
            self.text = []

    def add(self, word):
        self.text.append(word)

    def add_macro(self, before, macro, after):
        self.end_text()
        name, *rest = macro.split(" ", 1)
        opening = "".join(f"{one} " for one in before)
        closing = "".join(f" {one}" for one in after)
        self.lines.append(f".{name} {opening}{''.join(rest)}{closing}")




def taken_apart(token, names):
    """What stands before a name, its macro, and what stands behind it; or None: there is no name."""
    start = len(token) - len(token.lstrip(OPENING))
    before, rest = token[:start], token[start:]
    if rest.startswith("`") and (inner := re.match(r"`([^`]+)`", rest)):
        macro, end = quoted(inner[1], names), inner.end()
    elif as_call := CALL.match(rest):
        macro, end = call(as_call, names), as_call.end()
    else:
        word = rest.rstrip(CLOSING)
        if whole := re.match(r"\w+\(\)|[\w-]+\(\d\)", rest):
            word = whole[0]
        macro, end = names.macro(word), len(word)
    after = rest[end:]
    return (before, macro, after) if macro and not after.strip(CLOSING) else None


def write_sentence(text, names):
    line = Line()
    for found in TOKEN.finditer(text):
        parts = taken_apart(found[0], names)
        if parts:
            line.add_macro(*parts)
        else:
            line.add(found[0].replace("`", ""))
    line.end_text()
    return line.lines


def write_text(text, names):
    """Each sentence on lines of its own, those in parentheses too."""
    parts = SENTENCE_END.sub(lambda found: f"{found[1]}\n", text).split("\n")
    return [line for one in parts for line in write_sentence(one, names)]


def write_literal(text):
    return [".Bd -literal -offset indent"] + [escaped_code(line) for line in text.split("\n")] + [".Ed"]


def write_term(term, names):
    """A term, or several with commas between."""
    parts = re.split(r", | or ", term)
    macros = [names.macro(part) for part in parts]
    if all(macros):
        return ".It " + " , ".join(macros)
    if all(NAME.fullmatch(part) for part in parts):
        return ".It " + " , ".join(f"Fa {part}" for part in parts)
    return f".It {named_term(term, names)}"


def named_term(term, names):
    """A phrase, with what is named in it marked."""
    taken = [(found[0], taken_apart(found[0], names)) for found in TOKEN.finditer(term)]
    if not any(parts for _, parts in taken):
        return plain_term(term)
    written, is_plain = [], False
    for word, parts in taken:
        if parts:
            before, macro, after = parts
            name, *rest = macro.split(" ", 1)
            written += [f"{name} " + "".join(f"{one} " for one in before) + "".join(rest)] + list(after)
        else:
            written += [] if is_plain else ["No"]
            written.append(plain_term(word))
        is_plain = not parts
    return " ".join(written)


def plain_term(term):
    words = term.replace("`", "").split()
    return " ".join(rf"\&{word}" if re.fullmatch(r"[A-Z][a-z]", word) else escaped(word).replace('"', r"\(dq")
                    for word in words)


def write_items(block, names):
    kind = "-enum -width 8." if block.is_numbered else "-bullet"
    lines = [f".Bl {kind}"]
    for item in block.items:
        lines += [".It"] + write(item, names, is_first=True)
    return lines + [".El"]


def write_terms(block, names):
    lines = [".Bl -tag -width Ds"]
    for term, text in block.terms:
        lines += [write_term(term, names)] + write(text, names, is_first=True)
    return lines + [".El"]


def write(blocks, names, is_first=False):
    """Blocks, with paragraphs between."""
    lines = []
    for block in blocks:
        if isinstance(block, Heading):
            lines.append(f".Ss {plain_term(block.text)}")
            is_first = True
            continue
        if isinstance(block, Text):
            lines += [] if is_first else [".Pp"]
            lines += write_text(block.text, names)
        elif isinstance(block, Literal):
            lines += write_literal(block.text)
        elif isinstance(block, Items):
            lines += write_items(block, names)
        elif isinstance(block, Terms):
            lines += write_terms(block, names)
        is_first = False
    return lines
