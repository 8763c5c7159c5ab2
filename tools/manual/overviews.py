"""Makes the pages of section 7: the library, its statuses, and headers with rules of their own."""
import re

import blocks
import examples
import markdown
import mdoc
from blocks import Heading, Literal, Text
from book import OVERVIEWS, overview_name
from comments import as_sentence
from pages import head, include_of, list_of_pages, list_of_references, name_section

COPYRIGHT = re.compile(r"Copyright \d+ the zklock authors")
STATUS_ROW = re.compile(r'X\((ZKL_\w+), (-?\d+), "(.*?)"\)')


def without_copyright(parsed):
    return [block for block in parsed if not (isinstance(block, Text) and COPYRIGHT.match(block.text))]


def index_of(book, header):
    """What a header has, with what each is for."""
    return list_of_pages([(one.name, book.summaries[one.name]) for one in book.wanted
                          if one.header == header and (one.kind != "enum" or one.members)])


def in_sections(parsed):
    """The blocks before the first heading, and pairs of a heading and its blocks."""
    before, found = [], []
    for block in parsed:
        if isinstance(block, Heading):
            found.append((block.text, []))
        else:
            (found[-1][1] if found else before).append(block)
    return before, found


def overview(book, header):
    """Of a header that has rules of its own."""
    name = overview_name(header)
    names = book.names()
    parsed = without_copyright(blocks.parse(book.headers[header].comment.split("\n")))
    parsed[0] = Text(re.sub(r"^zklock: ", "", parsed[0].text))
    summary = OVERVIEWS[header]
    before, sections = in_sections(parsed)
    lines = head(book, name, "7") + name_section([name], summary)
    lines += [".Sh SYNOPSIS", f".In {include_of(header)}", ".Sh DESCRIPTION"]
    before[0] = Text(before[0].text[0].upper() + before[0].text[1:])
    lines += mdoc.write(before, names, is_first=True)
    for title, body in sections:
        lines += [f".Sh {title.upper()}"] + mdoc.write(body, names, is_first=True)
    lines += [".Sh FUNCTIONS AND TYPES"] + index_of(book, header)
    also = {pair for pair in names.mentioned if isinstance(pair, tuple)} | {("zklock", "7"), ("zklock-statuses", "7")}
    also.discard((name, "7"))
    return lines + list_of_references(also)


def statuses_page(book, sections):
    """All statuses in their groups, with text and number, from the list of the header; and docs/statuses.md."""
    names = book.names()
    names.pages = {**book.pages, "zklock.h": ("NUMBERS", "")}
    listed = STATUS_ROW.findall(book.macros["ZKL_STATUS_LIST"].value)
    lines = head(book, "zklock-statuses", "7")
    lines += name_section(["zklock-statuses"], "what each status means, and what a program does about it")
    lines += [".Sh SYNOPSIS", ".In zklock/zklock.h", ".Sh DESCRIPTION"]
    lines += written_sections(sections, names)
    lines += [".Sh NUMBERS", "What", ".Fn zkl_strerror", "says of each, by number:", ".Bl -tag -width Ds"]
    for name, value, text in listed:
        lines += [f".It Dv {name} Pq {value}"] + mdoc.write_text(as_sentence(text), names)
    lines += [".El"]
    return lines + list_of_references({("zkl_error_message", "3"), ("zkl_status_name", "3"), ("zkl_strerror", "3"),
                                       ("zklock", "7")})


def written_sections(sections, names):
    """Those of a page of docs/, without its title."""
    lines = []
    for title, parsed in sections:
        lines += [f".Ss {mdoc.plain_term(title)}"] if title else []
        lines += mdoc.write([block for block in parsed if not isinstance(block, Heading)], names, is_first=True)
    return lines


TITLES = {"What you must know before you bet data on it": "IMPORTANT CAVEATS"}  # CAVEATS stands elsewhere
SUMMARY = "distributed locks on Apache ZooKeeper in C: mutex, read/write lock, semaphore, leader election, fencing token"
START = """\
zklock is a library for locks that many machines share by way of an Apache ZooKeeper ensemble:
exclusive, read and write locks, semaphores, sets of locks that are taken at once, leader election.
A program opens one client, opens a handle for each contender, acquires, works, and releases:"""
INTERFACE = (
    ("Clients and locks", "zklock"), ("Modes, downgrade and upgrade", "modes"), ("What becomes of a held lock", "events"),
    ("Several resources at once", "sets"), ("Writes that are applied only under the lock", "transactions"),
    ("Calls that do not block", "asynchronous"), ("Handles that share a place in the queue", "lending"),
    ("Credentials, ACLs, TLS, SASL", "security"), ("Log, record, metrics", "observability"), ("Leader election", "election"),
    ("Striped locks", "striped_lock"), ("Queues, deadlocks, breaking a lock", "administration"), ("Handles", "base"))


def introduction(book, names):
    program = Literal(examples.example_for(book.sources, "zkl_lock_acquire"))
    lines = [".Sh SYNOPSIS", ".In zklock/zklock.h", ".Pp"]
    lines += [r".Dl cc \-o program program.c $(pkg\-config \-\-cflags \-\-libs zklock)"]
    lines += [".Sh DESCRIPTION"] + mdoc.write([Text(START.replace("\n", " ")), program], names, is_first=True)
    return lines + [".Pp", ".Sx TASKS", "says which functions and options are for what.",
                    "Paths that begin with", ".Pa docs/", "or", ".Pa examples/", "are those of zklock's source.",
                    "Debian's package zklock\\-doc has them below", ".Pa /usr/share/doc/zklock ."]


def tasks(readme, names):
    """README's table of tasks."""
    table = re.search(r"(?s)\n## What you can do with it\n+(.*?)\n\n## ", readme)[1]
    with_paths = re.sub(r"\[[^]]*\]\(([^)#]*)(?:#[^)]*)?\)", r"\1", table).replace("| function |", "| |", 1)
    lead = Text("Options are fields of zkl_lock_options and zkl_client_options.")
    return [".Sh TASKS"] + mdoc.write([lead] + markdown.parse(with_paths.split("\n")), names, is_first=True)


def main_page(book, guarantees, readme):
    """zklock(7): what the top of zklock.h says, what docs/guarantees.md does, and what each function is for."""
    names = book.names()
    names.pages = {**book.pages, "docs/guarantees.md": ("GUARANTEES", ""), "zklock.h": ("IMPORTANT CAVEATS", "")}
    lines = head(book, "zklock", "7") + name_section(["zklock"], SUMMARY)
    lines += introduction(book, names)
    _, sections = in_sections(without_copyright(blocks.parse(book.headers["zklock"].comment.split("\n"))))
    for title, body in sections:
        lines += [f".Sh {TITLES.get(title, title).upper()}"] + mdoc.write(body, names, is_first=True)
    lines += [".Sh GUARANTEES"] + written_sections(guarantees, names) + tasks(readme, names) + [".Sh FUNCTIONS AND TYPES"]
    for title, header in INTERFACE:
        lines += [f".Ss {title}"] + index_of(book, header)
    also = {(overview_name(header), "7") for header in OVERVIEWS} | {("zklock-statuses", "7"), ("zklock", "1")}
    return lines + list_of_references(also)
