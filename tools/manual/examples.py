"""Takes a part of an example: a function, and everything of its file that it needs, so that it compiles by itself."""
import glob
import os
import re
from dataclasses import dataclass

# Of examples/: those that tests/install compiles by themselves.
ROOMS = ("", "features", "loops", "metrics", "nightly_job", "manual")
LONGEST = 64  # lines of an example
# The examples of pages for which the shortest one says too little.
CHOSEN = {
    ("ten_lines.c", "main"): "zkl_client zkl_client_open zkl_client_close zkl_lock zkl_lock_open zkl_lock_acquire "
                             "zkl_lock_close zkl_grant",
    ("start_here.c", "run_job"): "zkl_lock_release",
    ("start_here.c", "report"): "zkl_strerror",
    ("guarded_transaction.c", "write_run"): "zkl_transaction zkl_transaction_begin zkl_transaction_create "
                                            "zkl_transaction_commit zkl_transaction_free",
    ("clients.c", "open_with_lease"): "zkl_client_options",
    ("semaphore.c", "convert"): "zkl_lock_options",
    ("holders.c", "work_in_steps"): "zkl_lock_check",
    ("holders.c", "on_state"): "zkl_lock_event zkl_lock_state",
    ("holders.c", "read_or_write"): "zkl_mode",
    ("elections.c", "lead_once"): "zkl_election_resign",
    ("elections.c", "run_candidate"): "zkl_election",
    ("operators.c", "use_stripes"): "zkl_striped_lock",
    ("operators.c", "print_queue"): "zkl_report_free",
}
COMMENT = re.compile(r"/\*.*?\*/", re.S)
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
INCLUDE = re.compile(r'#include (?:<([\w/]+\.h)>|"([\w./]+)")')
FEATURES = "#define _POSIX_C_SOURCE 200809L /* -std=c11 alone hides POSIX functions */"
# Which words need a header: one that is not here is always kept.
NEEDED_FOR = {
    "inttypes.h": r"PRI\w+", "pthread.h": r"pthread_\w+", "signal.h": r"sig\w+|SIG\w+",
    "stdatomic.h": r"atomic_\w+|_Atomic", "stdbool.h": r"bool|true|false",
    "stdio.h": r"printf|fprintf|puts|fputs|snprintf|stderr|stdout", "stdlib.h": r"malloc|free|strto\w+|exit|abort",
    "string.h": r"str(?:len|n?cmp|r?chr|dup|str)|mem\w+", "sys/epoll.h": r"epoll_\w+|EPOLL\w+", "sys/timerfd.h": r"timerfd_\w+",
    "time.h": r"timespec|nanosleep|clock_gettime|time", "unistd.h": r"close|read|write|sleep",
    "uv.h": r"uv_\w+", "sqlite3.h": r"sqlite3\w*",
    "zklock/election.h": r"zkl_(?:election|observer|leader)\w*", "zklock/striped_lock.h": r"zkl_stripe\w*",
    "zklock/administration.h": r"zkl_(?:queue|contender|resource|deadlock|node|parents|report|identity)\w*",
}
OF_POSIX = r"pthread_\w+|sig\w+|timespec|nanosleep|clock_gettime|timerfd_\w+"


@dataclass
class Chunk:
    """One definition at file scope, with the comment before it."""
    text: str
    names: set
    is_function: bool

    def code(self):
        return COMMENT.sub(" ", self.text)

    def words(self):
        """And its fields, with the point before them."""
        code = TEXT.sub(" ", self.code())
        return set(re.findall(r"\w+", code)) | set(re.findall(r"\.[a-z]\w*", code))


@dataclass
class Source:
    path: str
    chunks: list
    includes: list


def defined_by(code):
    """The names that a definition gives to its file."""
    if code.startswith("#define"):
        return {re.split(r"\W", code.split()[1])[0]}
    if code.startswith(("enum", "typedef enum")):
        return set(re.findall(r"\b[A-Z][A-Z_]+\b", code)) | set(re.findall(r"\} (\w+);", code))
    if code.startswith(("typedef", "struct")):
        return set(re.findall(r"\} (\w+);", code)) | set(re.findall(r"^(?:typedef )?struct (\w+)", code))
    if is_function(code):
        return {re.match(r"[^(]*?(\w+)\(", code)[1]}
    return set(re.findall(r"(\w+)(?:\[[^]]*\])*(?:;| =|,)", code.split("{")[-1 if code.startswith("static struct") else 0]))


def is_function(code):
    return bool(re.match(r"(?:[\w*]+[ *]+)+\w+\([^;]*$", code.split("{")[0])) and "{" in code


def chunk_end(lines, begin):
    is_open = False
    for end in range(begin, len(lines)):
        is_open = is_open or "{" in lines[end]
        if lines[begin].startswith("#"):
            is_last = not lines[end].endswith("\\")
        elif is_open:
            is_last = lines[end].startswith("}") or (end == begin and lines[end].endswith("};"))
        else:
            is_last = lines[end].endswith(";")
        if is_last or (end == begin and re.search(r"\{.*\};?( /\*.*\*/)?$", lines[end])):
            return end + 1
    return len(lines)


def chunks_of(text):
    lines, found, begin, place = text.split("\n"), [], None, 0
    while place < len(lines):
        line = lines[place]
        if line.startswith("/*"):
            begin = place
            while "*/" not in lines[place]:
                place += 1
            place += 1
            if lines[place:place + 1] == [""]:
                begin = None  # of the file, or a heading
        elif not line or line.startswith(("#include", "#pragma", "#if", "#endif", "#define _")):
            begin, place = None, place + 1
        else:
            end = chunk_end(lines, place)
            code = "\n".join(lines[place:end])
            names = defined_by(COMMENT.sub(" ", code).strip())
            found.append(Chunk("\n".join(lines[begin if begin is not None else place:end]), names, is_function(code)))
            begin, place = None, end
    return found


def read(path):
    """A file, with what the files beside it that it includes define."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    source = Source(path, [], [])
    for found in INCLUDE.finditer(text):
        if found[1]:
            source.includes.append(found[1])
        else:
            other = read(os.path.normpath(os.path.join(os.path.dirname(path), found[2])))
            source.chunks += other.chunks
            source.includes += other.includes
    source.chunks += chunks_of(text)
    return source


def needed(source, chunk):
    """The chunks that a chunk needs, and it, as they stand in the file."""
    wanted, open_ones = set(), [chunk]
    while open_ones:
        one = open_ones.pop()
        if id(one) in wanted:
            continue
        wanted.add(id(one))
        words = one.words()
        open_ones += [other for other in source.chunks if other.names & words and other is not one]
    return [one for one in source.chunks if id(one) in wanted]


def includes_for(source, code):
    found = []
    for name in dict.fromkeys(source.includes):
        words = NEEDED_FOR.get(name)
        if name != "zklock/zklock.h" and (not words or re.search(rf"\b(?:{words})\b", code)):
            found.append(name)
    own = [name for name in found if name.startswith("zklock/")] or ["zklock/zklock.h"]
    return sorted(name for name in found if name not in own) + own


def with_used_constants(text, words):
    """Of the constants of a nameless enum those that are used."""
    if found := re.fullmatch(r"enum \{ (.*) \};", text):
        used = [one for one in found[1].split(", ") if one.split(" = ")[0] in words]
        return f"enum {{ {', '.join(used)} }};"
    if text.startswith("enum {\n"):
        named = [(re.match(r" +([A-Z_]+) = ", line), line) for line in text.split("\n")]
        return "\n".join(line for name, line in named if not name or name[1] in words)
    return text


def part(source, chunk):
    """The text of a program, or of a part of one, that compiles by itself."""
    chunks = needed(source, chunk)
    code = "\n".join(one.code() for one in chunks)
    head = [f"#include <{name}>" for name in includes_for(source, code)]
    if re.search(rf"\b(?:{OF_POSIX})\b", code):
        head = [FEATURES] + head
    words = {word for one in chunks if not one.code().startswith("enum") for word in one.words()}
    return "\n".join(head) + "\n\n" + "\n\n".join(with_used_constants(one.text, words) for one in chunks)


def read_all(directory):
    paths = [path for room in ROOMS for path in glob.glob(os.path.join(directory, room, "*.c"))]
    return [read(path) for path in sorted(paths) if not path.endswith(("in_simulation.c", "simulated_waits.c"))]


def chosen(sources, name):
    for (file, function), names in CHOSEN.items():
        if name in names.split():
            return next(part(source, chunk) for source in sources if os.path.basename(source.path) == file
                        for chunk in source.chunks if function in chunk.names)
    return None


def example_for(sources, name):
    """The part that is chosen for a page; or that has the name in the fewest lines, of examples/manual/ if that has one,
    and of a test only where the page is about tests; or None."""
    is_for_tests = "testing" in name.lower()
    parts = [("/manual/" not in source.path, text.count("\n"), text) for source in sources for chunk in source.chunks
             if chunk.is_function and name in chunk.words() and ("zklock/testing.h" in source.includes) == is_for_tests
             for text in [part(source, chunk)]]
    found = chosen(sources, name) or (min(parts)[-1] if parts else None)
    return found if found and found.count("\n") < LONGEST else None
