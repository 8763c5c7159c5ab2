"""The manual's pages on the library: each name has one, each says what a caller asks, and each example compiles.

    python3 tests/manual/manual_test.py
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
BUILD = os.path.join(ROOT, "tools/build-manual")
COMPILE = [os.environ.get("CC", "cc"), "-x", "c", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
           "-fsyntax-only", f"-I{ROOT}/include", "-"]
ESCAPES = ((r"\(aq", "'"), (r"\(ga", "`"), (r"\(ha", "^"), (r"\(ti", "~"), (r"\-", "-"), (r"\&", ""), (r"\e", "\\"))
OF_OTHERS = {("flock", "1"), ("sudo", "8")}
WITHOUT_EXAMPLE = {"zkl_log_event", "zkl_testing_expectation_failed"}
HEADER_WORDS = {"election": "(?:election|observer|leader)", "striped_lock": "stripe",
                "administration": "(?:queue|contender|resource|deadlock|node|parents|report|identity)"}
FUNCTION = re.compile(r"(?m)^ZKL_(?:CHECKED_)?API\s+([\w ]+?[ *\n]+)(zkl_\w+)\(")
TYPE = re.compile(r"(?m)^typedef (?:struct|enum) (zkl_\w+) |^typedef \w+ (zkl_\w+)[(;]")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def headers():
    directory = os.path.join(ROOT, "include/zklock")
    return {name: re.sub(r"/\*.*?\*/", "", read(os.path.join(directory, name)), flags=re.S) for name in os.listdir(directory)}


def section(page, title):
    found = re.search(rf"(?ms)^\.Sh {title}\n(.*?)(?=^\.Sh |\Z)", page)
    return found[1] if found else ""


def example_of(page):
    found = re.search(r"(?s)\.Bd -literal -offset indent\n(.*?)\n\.Ed", section(page, "EXAMPLES"))
    if not found:
        return None
    code = found[1]
    for escape, text in ESCAPES:
        code = code.replace(escape, text)
    return code


def compile_error(code):
    return subprocess.run(COMPILE, input=code, text=True, capture_output=True).stderr


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        subprocess.run([BUILD, cls.directory.name], check=True)
        cls.pages = cls.written()

    @classmethod
    def written(cls):
        pages = {}
        for folder in "man3", "man7":
            for name in os.listdir(os.path.join(cls.directory.name, folder)):
                pages[tuple(name.rsplit(".", 1))] = read(os.path.join(cls.directory.name, folder, name))
        return pages

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def page(self, name):
        self.assertIn((name, "3"), self.pages)
        return self.pages[name, "3"]

    def test_they_can_be_written_again_where_they_are(self):
        subprocess.run([BUILD, self.directory.name], check=True)
        self.assertEqual(self.written(), self.pages)

    def test_each_has_the_date_of_the_command_s(self):
        date = re.search(r"(?m)^\.Dd .*\n", read(os.path.join(ROOT, "command/man/zklock.1")))[0]
        for name, page in self.pages.items():
            self.assertIn(date, page, name)

    def test_a_wrong_command_line_has_a_status_of_its_own(self):
        for arguments, status in ([], 2), (["--all"], 2), (["a", "b"], 2), (["--help"], 0), (["-h"], 0):
            done = subprocess.run([BUILD, *arguments], text=True, capture_output=True, cwd=self.directory.name)
            self.assertEqual(done.returncode, status, arguments)
            self.assertIn("usage: tools/build-manual DIRECTORY", done.stderr if status else done.stdout)

    def test_each_function_and_type_has_a_page(self):
        for text in headers().values():
            for name in [found[2] for found in FUNCTION.finditer(text)] + [one or other for one, other in TYPE.findall(text)]:
                with self.subTest(name):
                    page = self.page(name)
                    self.assertIn(name, section(page, "NAME") if name != "zkl_status" else page)
                    self.assertRegex(section(page, "NAME"), r"\n\.Nd \w.{4,}")
                    self.assertNotIn(". ", section(page, "NAME"))  # one sentence
                    for title in "DESCRIPTION", "SEE ALSO":
                        self.assertTrue(section(page, title), title)

    def test_each_field_and_value_is_described(self):
        for (name, number), page in self.pages.items():
            self.assertNotRegex(section(page, "DESCRIPTION"), r"(?m)^\.It .*\n\.(?:It|El)", name)

    def test_each_function_says_what_it_returns_and_who_may_call_it(self):
        for header, text in headers().items():
            for found in FUNCTION.finditer(text):
                with self.subTest(found[2]):
                    page = self.page(found[2])
                    self.assertIn(f".Fo {found[2]}", section(page, "SYNOPSIS"))
                    self.assertTrue(section(page, "THREADS") or header == "testing.h")
                    if found[1].strip() == "int" and header != "testing.h":
                        self.assertRegex(section(page, "RETURN VALUES"), r"Dv ZKL_OK\b")

    def test_each_status_that_a_comment_names_is_explained(self):
        """Of those whose lists are hardest to read."""
        for name, statuses in (("zkl_lock_check", "OK SUSPECT LOST NOT_HELD"),
                               ("zkl_lock_acquire_async", "OK BUSY TIMEOUT CANCELLED CLOSED LOST HANDLE_IN_USE ALREADY_HELD"),
                               ("zkl_transaction_commit", "OK LOST OPERATION_FAILED TIMEOUT UNKNOWN CLOSED"),
                               ("zkl_striped_lock_acquire", "OK BUSY TIMEOUT QUEUE_FULL LEASE_IMPOSSIBLE"),
                               ("zkl_lock_verify", "OK LOST SUSPECT NOT_HELD NO_PERMISSION CANCELLED"),
                               ("zkl_node_read", "OK NO_NODE TIMEOUT AUTH_FAILED SERVER_REFUSED"),
                               ("zkl_client_close", "OK PENDING")):
            returned = section(self.page(name), "RETURN VALUES")
            for status in statuses.split():
                self.assertRegex(returned, rf"(?m)^\.It (?:.* )?Dv ZKL_{status}\b.*\n\S", f"{name}: {status}")

    def test_each_type_of_a_prototype_has_its_page_among_the_references(self):
        for name, types in (("zkl_client_open", "client_options"), ("zkl_lock_open", "lock_options"),
                            ("zkl_lock_acquire", "grant mode"), ("zkl_lock_acquire_async", "acquire_callback"),
                            ("zkl_transaction_free", "transaction"), ("zkl_mode", "lock_acquire"),
                            ("zkl_leadership_lost_callback", "election_options")):
            for other in types.split():
                self.assertIn(f".Xr zkl_{other} 3", section(self.page(name), "SEE ALSO"), name)

    def test_what_every_function_returns_is_told_once(self):
        for (name, number), page in self.pages.items():
            listed, _, common = section(page, "RETURN VALUES").partition("Like every function")
            named = set(re.findall(r"Dv (ZKL_\w+)", "".join(re.findall(r"(?m)^\.It .*$", listed))))
            self.assertFalse(named & set(re.findall(r"Dv (ZKL_\w+)", common)), name)

    def test_bounds_are_told_together(self):
        for name in "zkl_client_options", "zkl_client_write_record":  # the second names the largest alone
            self.assertIn(".It Dv ZKL_RECORDED_EVENTS_MIN , Dv ZKL_RECORDED_EVENTS_MAX\n64 and 65,536.\n",
                          section(self.page(name), "CONSTANTS"), name)

    def test_each_task_of_the_readme_has_its_functions(self):
        tasks = section(self.pages["zklock", "7"], "TASKS")
        rows = re.search(r"(?s)\n## What you can do with it\n(.*?)\n## ", read(os.path.join(ROOT, "README.md")))[1].count("\n| ")
        self.assertEqual(tasks.count("\n.It "), rows - 2)  # the head, and the line below it
        self.assertRegex(tasks, r"(?s)let n in at a time \(a semaphore\)\n.*?Va permits \.\n.*?Pa examples/features/semaphore.c")

    def test_a_table_of_several_columns_stays_one(self):
        self.assertRegex(section(self.pages["zklock", "7"], "IMPORTANT CAVEATS"), r"\n +its LeaderLatch +NO +NO ")

    def test_suspect_is_answered(self):
        self.assertIn("stop at the next safe point", " ".join(section(self.page("zkl_lock_check"), "RETURN VALUES").split()))

    def test_each_status_leads_to_its_explanation(self):
        for status in re.findall(r"X\((ZKL_\w+), ", headers()["zklock.h"]):
            self.assertIn(f".It Dv {status} Pq", self.page(status))

    def test_each_example_compiles(self):
        missing = {name for (name, number), page in self.pages.items()
                   if number == "3" and name.startswith("zkl_") and not example_of(page)}
        self.assertEqual(missing, WITHOUT_EXAMPLE | {"zkl_status"})
        for code in filter(None, map(example_of, self.pages.values())):
            for name in re.findall(r"\b([A-Z][A-Z_]+) = ", "".join(re.findall(r"(?s)enum \{.*?\};", code))):
                self.assertGreater(len(re.findall(rf"\b{name}\b", code)), 1, name)
            others = [header for header in re.findall(r"<zklock/(\w+)\.h>", code) if header not in ("zklock", "testing")]
            self.assertTrue(all(re.search(rf"zkl_{HEADER_WORDS[header]}", code) for header in others), code)
        codes = sorted({code for code in map(example_of, self.pages.values()) if code})
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for code, error in zip(codes, pool.map(compile_error, codes)):
                self.assertEqual(error, "", code)

    def test_each_reference_leads_to_a_page(self):
        commands = {(name[:-2], "1") for name in os.listdir(os.path.join(ROOT, "command/man"))}
        known = commands | set(self.pages) | OF_OTHERS
        pages = list(self.pages.values()) + [read(os.path.join(ROOT, "command/man", f"{name}.1")) for name, _ in commands]
        for page in pages:
            for name, number in re.findall(r"\bXr (\S+) (\d)", page):
                self.assertIn((name, number), known)


class Hostile(unittest.TestCase):
    """Comments and declarations that no page can be made of are named, and others are written as they are."""

    def built(self, text):
        """The page of zkl_hostile, which stands at the end of a header; or what is said instead of writing any."""
        with tempfile.TemporaryDirectory() as place:
            for path in ("include", "tools/manual", "tools/build-manual", "docs/statuses.md", "docs/guarantees.md",
                         "command/man", "README.md"):
                source, target = os.path.join(ROOT, path), os.path.join(place, path)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, target)
            os.symlink(os.path.join(os.path.abspath(ROOT), "examples"), os.path.join(place, "examples"))
            with open(os.path.join(place, "include/zklock/sets.h"), "a", encoding="utf-8") as file:
                file.write(f"\n{text}\n")
            pages = os.path.join(place, "pages")
            done = subprocess.run([os.path.join(place, "tools/build-manual"), pages], text=True, capture_output=True)
            self.assertNotIn("Traceback", done.stderr)
            if done.returncode != 0:
                self.assertFalse(os.path.exists(pages))
                return done.stderr
            return read(os.path.join(pages, "man3/zkl_hostile.3"))

    def test_what_cannot_be_read_is_named(self):
        of = "int zkl_hostile(zkl_lock *lock);"
        for text, words in ((f"ZKL_API {of}", "zkl_hostile has no comment"),
                            (f"/** */\nZKL_API {of}", "zkl_hostile has no comment"),
                            (f"// Resets it.\nZKL_API {of}", "is not as 'ZKL_API type zkl_name(parameters);'"),
                            (f"/** Resets it. */\n{of}", "is not as 'ZKL_API type zkl_name(parameters);'"),
                            ("/** Is it. */\nZKL_API extern int zkl_hostile;", "is not as 'ZKL_API type"),
                            (f"/** Resets it. */\nZKL_API {of}\n\n/** Does. */\nZKL_API {of}", "zkl_hostile is declared twice"),
                            ("/** Does. */\nZKL_API int zkl_lock_verify(int x);", "zkl_lock_verify is declared twice"),
                            (f"/** Resets it. Returns ZKL_OK or ZKL_NOPE. */\nZKL_API {of}", "ZKL_NOPE, which is no status"),
                            (f"/** Does. The statuses are as in zkl_none(). */\nZKL_API {of}", "the statuses of zkl_none"),
                            (f"/** Does. The statuses are as in zkl_hostile(). */\nZKL_API {of}", "which is no other"),
                            ("/** A. */\ntypedef struct zkl_x {\n    int (*call)(void);\n} zkl_x;", "the field 'int (*call)(void);'"),
                            ("/** A. */\ntypedef enum zkl_x {\n    ZKL_A,\n    ZKL_B = 1\n} zkl_x;", "the values of an enum")):
            with self.subTest(text):
                self.assertIn(words, self.built(text))

    def test_what_mdoc_would_take_for_its_own_is_written_as_it_is(self):
        page = self.built(r"""/**
 * Resets	it, and \fBbold\fR:
 *
 * .Sh begins a line, and
 * .Pp another.
 *
 * 'br and `.TH` too.
 *
 *     .TH in code; '\n'
 *
 * Returns ZKL_OK, or ZKL_TIMEOUT.
 */
ZKL_API __attribute__((deprecated("use zkl_x() (soon)"))) int zkl_hostile(zkl_lock *lock /* ; */, int x)
    __attribute__((nonnull(1)));""".replace(r"\t", "\t"))
        own = {line for line in page.split("\n") if re.match(r"\.(?:Sh|Pp|TH|br) ?", line)}
        self.assertFalse(own - {".Pp"} - {f".Sh {title}" for title in (
            "NAME", "LIBRARY", "SYNOPSIS", "DESCRIPTION", "THREADS", '"RETURN VALUES"', "RETURN VALUES", "EXAMPLES", "SEE ALSO")})
        self.assertNotRegex(page, r"(?m)^'|\\f|\t|__attribute__|/\*")
        for words in r"\efBbold\efR", r"\&.Sh begins", r"\&'br", r"\&.TH in code; \(aq\en\(aq":
            self.assertIn(words, page)
        self.assertIn('.Ft int\n.Fo zkl_hostile\n.Fa "zkl_lock *lock"\n.Fa "int x"\n.Fc\n', page)


if __name__ == "__main__":
    unittest.main()
