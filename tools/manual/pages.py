"""Makes the pages of section 3: one for each function, struct, enum, callback and handle of the public headers."""
import re
import textwrap

import blocks
import examples
import mdoc
import statuses
from blocks import Terms, Text
from book import OVERVIEWS, overview_name
from comments import as_sentence

LEADS = re.compile(r"Returns|Each returns|The statuses are as in|Or |.*:$")
BEGINS = re.compile(r"(?:Returns )?ZKL_\w+: ")
OUR_RULE = re.compile(r';? ?docs/[^;.]*\.md(?:, "[^"]*")?\.?')
COMMON = "a status named at the top of this header"
OF_ALL = ("ZKL_INVALID_ARGUMENT", "ZKL_FORKED", "ZKL_CLOSED", "ZKL_NO_MEMORY", "ZKL_SYSTEM")


def head(book, name, section="3"):
    return [f".Dd {book.date}", f".Dt {name.upper()} {section}", ".Os"]


def name_section(names, summary):
    lines = [".Sh NAME"] + [f".Nm {name} ," for name in names[:-1]] + [f".Nm {names[-1]}"]
    return lines + [f".Nd {mdoc.escaped(summary)}"]


def library_section(one):
    library = "zklock_testing" if one.header == "testing" else "zklock"
    what = "simulated servers for tests of programs that use zklock" if one.header == "testing" else \
        "distributed locks on Apache ZooKeeper"
    return [".Sh LIBRARY", f"{what[0].upper()}{what[1:]}", f".Pq lib{library}, Fl l Ns Cm {library}"]


def include_of(header):
    own = ("zklock", "election", "striped_lock", "administration", "testing")
    return f"zklock/{header if header in own else 'zklock'}.h"


def prototype(one, is_callback=False):
    result = f"typedef {one.result}" if is_callback else one.result
    lines = [f".Ft {mdoc.argument(result)}", f".Fo {one.name}"]
    return lines + [f".Fa {mdoc.argument(parameter)}" for parameter in one.parameters or ["void"]] + [".Fc"]


def struct_text(one):
    fields = [f"    {member.declaration}" for member in one.members]
    return "\n".join([f"typedef struct {one.name} {{"] + fields + [f"}} {one.name};"])


def enum_text(one):
    values = [f"    {member.name} = {member.declaration}" for member in one.members]
    return "\n".join([f"typedef enum {one.name} {{" if one.name else "enum {", ",\n".join(values),
                      f"}} {one.name};" if one.name else "};"])


def synopsis(book, one, group):
    lines = [".Sh SYNOPSIS", f".In {include_of(one.header)}"]
    for member in group:
        if member.kind == "function":
            lines += prototype(member)
        elif member.kind == "callback":
            lines += prototype(member, is_callback=True)
        elif member.kind == "alias":
            lines += [f".Vt typedef {member.result} {member.name} ;"]
        elif member.kind == "handle":
            lines += [f".Vt typedef struct {member.name} {member.name} ;"]
        elif member.kind in ("struct", "enum") and member.members:
            text = struct_text(member) if member.kind == "struct" else enum_text(member)
            lines += [".Bd -literal"] + mdoc.escaped_code(text).split("\n") + [".Ed"]
        elif member.kind == "macro":
            lines += [f".Fd #define {member.name}{''.join(member.parameters)}"]
    initial = f"{one.name.upper()}_INIT"
    if initial in book.macros:
        lines += [".Pp", f".Vt {one.name}", f".Va name No = Dv {initial} ;"]
    return lines


def threads_text(one, parts):
    """When it blocks, and who may call it where. testing.h and administration.h say so at the top."""
    said = list(parts.threads)
    text = " ".join(said)
    if one.header == "administration" and "block" not in text and one.name != "zkl_report_free":
        said.append("Blocks until it is done or `timeout_ms` has passed.")
    blocks_now = any(sentence.startswith("Blocks") for sentence in said)
    if one.header == "testing":
        return said
    if "hread" not in text:
        said.append("Any thread may call it.")
    if blocks_now and "IN_CALLBACK" not in text:
        said.append("In a zklock callback it returns ZKL_IN_CALLBACK.")
    elif "callback" not in text and re.search(r"not block|No I/O", text):
        said.append("It may be called in a zklock callback.")
    return said


def returns_section(book, one, parts):
    written = inherited_returns(book, one, parts)
    for block in [] if written else parts.returns:
        if isinstance(block, Terms):
            written.append(book.status_terms(book.pairs_in(block), one.name))
        else:
            written += returned_by_sentence(book, one, block)
    return merged(written)


def returned_by_sentence(book, one, block):
    """A list, if the sentence is one; with what stands before and behind it."""
    pairs = list(book.pairs_in(block))
    lead, listed, tail = statuses.list_in(block.text)
    if len(pairs) == 1 and pairs[0][1] and BEGINS.match(block.text):
        return [book.status_terms(pairs, one.name)]
    if COMMON in block.text:
        common = [(status, "") for status in book.common_statuses(one.header) if status not in dict(pairs)]
        return lead_in(lead) + [book.status_terms(pairs + common, one.name)] + rest(tail.replace(f", or {COMMON}", ""))
    is_list = len(listed) > 1 or (listed and block.text.endswith(f"{listed[-1][0]}."))
    if is_list and LEADS.match(lead):
        return lead_in(lead) + [book.status_terms(listed, one.name)] + rest(tail)
    return [block] if block.text != "Returns" else []


def rest(tail):
    tail = tail.strip(" .;,")
    return [Text(as_sentence(tail))] if tail else []


def inherited_returns(book, one, parts):
    """Of a function that returns what another does, without a list of its own."""
    if any(statuses.STATUS.search(block.text) if isinstance(block, Text) else True for block in parts.returns):
        return []
    for other in book.inherited_from(one):
        its = book.parts_of(book.functions[other])
        pairs = [pair for block in its.returns for pair in book.pairs_in(block)]
        return [book.status_terms(pairs, other)]
    return []


def lead_in(lead):
    lead = lead.strip()
    if re.fullmatch(r"(?:Each r|R)eturns(?: ZKL_OK, or)?|The statuses are as in \w+\(\):", lead):
        return []
    return [Text(lead if lead.endswith(":") else f"{lead}:")]


def merged(written):
    """Texts that follow each other are one, and so are lists."""
    found = []
    for block in written:
        if found and isinstance(block, Terms) and isinstance(found[-1], Terms):
            found[-1] = Terms(found[-1].terms + block.terms)
        elif found and isinstance(block, Text) and isinstance(found[-1], Text):
            found[-1] = Text(f"{found[-1].text} {block.text}")
        else:
            found.append(block)
    return found


def constants_section(book, names, shown):
    """Those that the page names, with their values. A smallest and a largest value are told of together."""
    together = {}
    for one in book.macros.values():
        if one.name not in shown and not one.name.endswith(("_INIT", "_LIST")) and not one.parameters:
            name = re.sub(r"_(?:MIN|MAX)(?=_|$)", "_", one.name) if is_bound(book, one) else one.name
            together.setdefault(name, []).append(one)
    terms = [(", ".join(one.name for one in found),
              [Text(f"{' and '.join(map(value_of, found))}. {' '.join(book.comment_of(found[0]).split())}")])
             for _, found in sorted(together.items()) if any(one.name in names.mentioned for one in found)]
    return [".Sh CONSTANTS"] + mdoc.write([Terms(terms)], book.names(), is_first=True) if terms else []


def is_bound(book, one):
    return book.comment_of(one).startswith(("Smallest and largest", "Shortest and longest"))


def value_of(one):
    value = one.value.strip("()")
    return f"{int(value):,}" if value.isdigit() else value


def names_in_examples(book, one):
    """The name; or what has it in programs: the values of an enum, and what takes or gives an object of the type."""
    has = re.compile(rf"\b{one.name} \*")
    functions = [other.name for other in book.functions.values()
                 if has.search(other.result + " ") or any(map(has.search, other.parameters))]
    fields = [f".{member.name}" for other in book.all for member in other.members if has.search(member.declaration)]
    values = [member.name for member in one.members if one.kind == "enum"]
    return [one.name] + values + (functions + fields if one.kind not in ("function", "struct") else [])


def example_section(book, group):
    for name in [name for one in group for name in names_in_examples(book, one)]:
        found = examples.example_for(book.sources, name)
        if found:
            return [".Sh EXAMPLES"] + mdoc.write_literal(found)
    return []


def list_of_references(pairs):
    ordered = sorted(pairs, key=lambda pair: (pair[1], pair[0].lower()))
    lines = [f".Xr {name} {section} ," for name, section in ordered]
    return [".Sh SEE ALSO"] + lines[:-1] + [lines[-1].removesuffix(" ,")]


def types_of(book, one):
    """What is in the prototype of a function or callback, and so has a page that its caller needs."""
    return {word for text in [one.result, *one.parameters] for word in re.findall(r"\w+", text) if word in book.types}


def takers_of(book, one):
    """The functions that take or give an object of the type, and the structs that have one."""
    has = re.compile(rf"\b{one.name}\b")
    return {other.name for other in book.functions.values() if one.name in types_of(book, other)} | \
        {other.name for other in book.all if any(has.search(member.declaration) for member in other.members)}


def see_also(book, names, one, group):
    own = {member.name for member in group}
    twin = f"{one.name}_async" if f"{one.name}_async" in book.functions else one.name.removesuffix("_async")
    near = {twin, re.sub(r"_open(?:_set)?$", "_close", one.name), re.sub(r"_close$", "_open", one.name),
            re.sub(r"_callback$", "", one.name), f"{one.name}_options"}
    near |= takers_of(book, one) if one.kind in ("struct", "enum", "callback", "alias") else types_of(book, one)
    named = {(name, "3") for name in (names.mentioned | near) if isinstance(name, str) and name in book.page_of}
    named = {(book.page_of[name], section) for name, section in named}
    named = {pair for pair in named if pair[0] not in own} | {pair for pair in names.mentioned if isinstance(pair, tuple)}
    if one.header in OVERVIEWS:
        named.add((overview_name(one.header), "7"))
    named |= {("zklock", "7")} | ({("zklock-statuses", "7")} if one.result == "int" and one.kind == "function" else set())
    return list_of_references(named)


def standards(parts):
    """Rules of others: those of zklock are for who changes it."""
    texts = [OUR_RULE.sub("", rule.removeprefix("Rule: ")).strip(" .;") for rule in parts.rules]
    texts = [text for text in texts if text]
    return [".Sh STANDARDS", mdoc.escaped(f"{texts[0]}.")] if texts else []


def members_terms(one):
    terms = []
    for member in one.members:
        comment = member.comment
        if member.name == "struct_size" and ("see ZKL" in comment or not comment):
            comment = f"Set by {one.name.upper()}_INIT."
        parsed = blocks.parse(comment.split("\n")) if comment else []
        if parsed and isinstance(parsed[0], Text):
            parsed[0] = Text(as_sentence(parsed[0].text))
        terms.append((member, parsed))
    return terms


def write_members(one, names):
    lines = [".Bl -tag -width Ds"]
    for member, text in members_terms(one):
        if one.kind == "enum":
            lines.append(f".It Dv {member.name}")
        else:
            kind = re.sub(r"\s*\w+(\[\w+\])?;$", "", member.declaration)
            array = re.search(r"\[\w+\]", member.declaration)
            star = " Ns" if kind.endswith("*") else ""
            lines.append(f".It Vt {mdoc.argument(kind)}{star} Va {member.name}{array[0] if array else ''}")
        lines += mdoc.write(text, names, is_first=True)
    return lines + [".El"]


def users_of(book, one):
    """The functions of a handle."""
    pattern = re.compile(rf"(?:const )?{one.name} \*\*?\w+$")
    found = [function for function in book.functions.values()
             if any(pattern.fullmatch(parameter) for parameter in function.parameters)]
    return [(function.name, book.summaries[function.name]) for function in found
            if function.header != "testing" or one.header == "testing"]


def description(book, one, group, parts, names):
    lines = [".Sh DESCRIPTION"] + mdoc.write(parts.description, names, is_first=True)
    for member in group:
        if member.kind == "enum" and not member.name:  # flags of the function
            lines += [".Pp"] + mdoc.write_text(" ".join(member.comment.split()), names)
        elif member.members:
            lines += write_members(member, names)
    if one.kind == "handle" and users_of(book, one):
        lines += [".Sh FUNCTIONS"] + list_of_pages(users_of(book, one))
    return lines


def list_of_pages(named):
    """From pairs of a name and what it is for."""
    lines = [".Bl -tag -width Ds"]
    for name, summary in named:
        lines += [f".It Xr {name} 3"] + textwrap.wrap(mdoc.escaped(as_sentence(summary)), mdoc.LINE)
    return lines + [".El"]


def threads_section(threads, names):
    return [".Sh THREADS"] + mdoc.write([Text(" ".join(threads))], names, is_first=True) if threads else []


def page(book, one):
    group, names, parts = book.group_of(one), book.names(), book.parts_of(one)
    threads = threads_text(one, parts) if one.kind == "function" else parts.threads
    returned = returns_section(book, one, parts)
    lines = head(book, one.name) + name_section([member.name for member in group if member.name], book.summaries[one.name])
    lines += library_section(one) + synopsis(book, one, group) + description(book, one, group, parts, names)
    lines += threads_section(threads, names)
    if returned:
        lines += [".Sh RETURN VALUES"] + mdoc.write(returned, names, is_first=True)
        lines += of_every_function(one, threads, returned, names)
    lines += constants_section(book, names, {member.name for member in group}) + example_section(book, group)
    return lines + see_also(book, names, one, group) + standards(parts)


def of_every_function(one, threads, returned, names):
    """What every function that returns a status can, and this page has not named yet."""
    if one.result != "int" or one.header == "testing":
        return []
    named = {status for block in returned if isinstance(block, Terms) for term, _ in block.terms
             for status in statuses.STATUS.findall(term)}
    others = [status for status in OF_ALL if status not in named]
    if not others:
        return []
    listed = " and ".join(part for part in (", ".join(others[:-1]), others[-1]) if part)
    if "Blocks" in " ".join(threads) and "ZKL_IN_CALLBACK" not in named:
        listed += ", and because it blocks ZKL_IN_CALLBACK"
    return [".Pp"] + mdoc.write_text(f"Like every function that returns a status it can also return {listed}: "
                                     "see zklock-statuses(7).", names)
