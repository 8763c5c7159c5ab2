"""All that the pages are made from, and what is told of each status."""
import re

import blocks
import mdoc
import statuses
from blocks import Terms, Text
from comments import Parts, as_sentence, summary_of
from declarations import Unreadable

INHERITS = re.compile(r"(?:(?:statuses|rules) are as in|Returns what|or as in) (zkl_\w+)|statuses are as (there)")
MACROS_WITH_A_PAGE = ("ZKL_CLOSE_AT_SCOPE_END", "ZKL_RELEASE_AT_SCOPE_END", "ZKL_TESTING_EXPECT")
# Headers with rules of their own, which have a page of section 7.
OVERVIEWS = {
    "administration": "look at queues from outside, and act on the locks of others",
    "asynchronous": "calls of zklock that do not block",
    "election": "leader election",
    "striped_lock": "a lock of several stripes, for one resource in great demand",
    "testing": "tests of applications that use zklock, without a server",
}
# Of the other headers the page that says most.
PAGE_OF_HEADER = {"events": "zkl_lock_state_callback", "lending": "zkl_lending", "modes": "zkl_mode",
                  "observability": "zkl_client_write_record", "security": "zkl_security", "sets": "zkl_lock_open_set",
                  "transactions": "zkl_transaction"}


def overview_name(header):
    return f"zklock-{header.replace('_', '-')}"


def parameter_name(parameter):
    found = re.search(r"\(\*(\w+)\)|(\w+)(?:\[\w+\])?$", parameter)
    return (found[1] or found[2]) if found else parameter


class Book:
    """All that the pages are made from."""

    def __init__(self, headers, advice, sources, date):
        self.headers, self.advice, self.sources, self.date = headers, advice, sources, date
        structs = {one.name for header in headers.values() for one in header.declarations if one.kind == "struct"}
        self.all = [one for header in headers.values() for one in header.declarations
                    if one.kind != "handle" or one.name not in structs]
        self.functions = {one.name: one for one in self.all if one.kind == "function"}
        self.macros = {one.name: one for one in self.all if one.kind == "macro"}
        self.statuses = set(re.findall(r"X\((ZKL_\w+)", self.macros["ZKL_STATUS_LIST"].value))
        self.types = {one.name for one in self.all if one.kind not in ("function", "macro") and one.name}
        self.fields = {member.name for one in self.all for member in one.members if one.kind == "struct"}
        self.wanted = [one for one in self.all if self.has_page(one)]
        self.summaries = {one.name: summary_of(self.comment_of(one), one.kind in ("function", "macro"))
                          for one in self.all if self.comment_of(one)}
        # The name of the page of each name; some share one.
        self.page_of = {one.name: one.leads or one.name for one in self.all
                        if one in self.wanted or one.leads and one.kind == "function"}
        self.pages = self.pages_of_files()

    @staticmethod
    def has_page(one):
        is_shown = one.kind != "macro" or one.name in MACROS_WITH_A_PAGE
        return bool(one.name) and not one.leads and is_shown and one.name != "zkl_status"

    @staticmethod
    def pages_of_files():
        """The pages of files that comments name, with their sections."""
        pages = {"zklock.h": ("zklock", "7"), "docs/guarantees.md": ("zklock", "7"),
                 "docs/statuses.md": ("zklock-statuses", "7"), "zklock-statuses(7)": ("zklock-statuses", "7")}
        pages.update({f"{header}.h": (overview_name(header), "7") for header in OVERVIEWS})
        pages.update({f"{header}.h": (page, "3") for header, page in PAGE_OF_HEADER.items()})
        return pages

    def group_of(self, one):
        """Those that share its page, itself first."""
        group = [one] + [other for other in self.all if other.leads == one.name and other.kind == one.kind]
        flags = [other for other in self.all if other.kind == "enum" and not other.name]
        return group + (flags if one.name == "zkl_transaction_create" else [])

    def names(self):
        return mdoc.Names(self.functions, self.types, self.fields, self.pages)

    def comment_of(self, one):
        return one.comment if not one.leads else next(lead.comment for lead in self.all if lead.name == one.leads)

    def common_statuses(self, header):
        found = re.search(r"function can\s+return ((?:ZKL_\w+(?:,| and|\s)*)+)", self.headers[header].comment)
        return statuses.STATUS.findall(found[1]) if found else []

    def parts_of(self, one):
        names = [parameter_name(parameter) for parameter in one.parameters] + ["members", "count"]
        group = [other for other in self.all if other.leads == one.name]
        names += [parameter_name(parameter) for other in group for parameter in other.parameters]
        return Parts(blocks.parse(self.comment_of(one).split("\n"), names))

    # ---- Statuses

    def notes_of(self, name, seen=()):
        """What the comment of a function says of each status, and that of the function that it refers to."""
        if name not in self.functions or name in seen:
            return {}
        one = self.functions[name]
        notes = self.inherited_notes(name, seen)
        for block in self.parts_of(one).returns:
            for status, note in self.pairs_in(block):
                if note or status not in notes:
                    notes[status] = note
        return notes

    def inherited_notes(self, name, seen=()):
        notes = {}
        for other in self.inherited_from(self.functions[name]):
            notes.update(self.notes_of(other, seen + (name,)))
        return notes

    def inherited_from(self, one):
        comment = " ".join(self.comment_of(one).split())
        found = INHERITS.search(comment)
        if not found:
            return []
        other = found[1] or found[2] and re.search(r"as (zkl_\w+)\(\) does", comment)[1]
        if other not in self.functions or other == one.name:
            raise Unreadable(f"include/zklock/{one.header}.h: {one.name} has the statuses of {other}, which is no other "
                             "function")
        return [other]

    @staticmethod
    def pairs_in(block):
        if isinstance(block, Terms):
            for term, text in block.terms:
                for status in statuses.STATUS.findall(term):
                    yield status, text[0].text
        else:
            single = re.match(r"(?:Returns )?(ZKL_\w+): (.*)", block.text)
            _, listed, _ = statuses.list_in(block.text)
            if single and len(listed) < 3 and "callback will be called" not in block.text:
                yield single[1], single[2]
            else:
                yield from listed

    def advice_for(self, status, function):
        rows = self.advice.get(status, [])
        names = {function, function.removesuffix("_async"), f"{self.functions[function].header}.h"}
        return next((row for row in rows if row.only_from & names), None) or \
            next((row for row in rows if not row.only_from), None) or statuses.Advice("", "", set())

    def told_of(self, status, note, function):
        """What a status of a function means, and what to do."""
        if status not in self.statuses:
            header = self.functions[function].header
            raise Unreadable(f"include/zklock/{header}.h: {function} returns {status}, which is no status")
        advice = self.advice_for(status, function)
        inherited = self.inherited_notes(function).get(status, "")
        for before in (inherited, advice.meaning):
            if not note or note.startswith("also"):
                note = "; ".join(part for part in dict.fromkeys((before, note)) if part)
        action = "" if status == "ZKL_OK" else advice.action
        return " ".join(part for part in (as_sentence(note), as_sentence(action)) if part)

    def status_terms(self, pairs, function):
        told = {}
        for status, note in pairs:
            text = self.told_of(status, note, function) or "Success."
            told.setdefault(text, []).append(status)
        return Terms([(", ".join(names), [Text(text)]) for text, names in told.items()])
