#!/usr/bin/env python3
"""zklock ls, status, deadlocks, revoke, break; help and version."""

import json
import os
import pty
import re
import subprocess
import unittest

from command import PATIENCE_S, ZKLOCK, CommandTest

MANUAL = os.path.join(os.path.dirname(__file__), "../../command/man")


class Shows(CommandTest):
    def test_a_queue(self):
        self.start_holder()
        self.start("run", self.resource, "true")
        self.wait_for_queue(2)
        first, second = self.queue()
        self.assertEqual((first["holds"], second["holds"]), (True, False))
        self.assertEqual((first["kind"], first["label"]), ("exclusive", "sh"))
        self.assertEqual(second["waits_for"], first["node"])
        self.assertGreater(second["token"], first["token"])
        self.assertRegex(first["session"], "^0x[0-9a-f]+$")
        out, _ = self.run_it(0, "status", self.resource)
        self.assertIn(f"{self.resource}: 1 holds, 1 waits", out)
        self.assertIn(f"pid {first['process_id']} (sh)", out)
        self.assertIn(first["node"], out)

    def test_what_is_free(self):
        self.assertEqual(self.run_it(0, "status", self.resource)[0], f"{self.resource}: free\n")
        self.assertEqual(self.queue(), [])

    def test_all_resources(self):
        self.start_holder()
        out, _ = self.run_it(0, "ls", "--json")
        self.assertIn({"resource": self.resource, "contenders": 1}, json.loads(out))
        self.assertRegex(self.run_it(0, "ls")[0], rf"(?m)^ +1  {self.resource}$")

    def test_no_deadlocks(self):
        self.assertEqual(self.run_it(0, "deadlocks")[0], "no deadlocks\n")
        self.assertEqual(json.loads(self.run_it(0, "deadlocks", "--json")[0]), {"deadlocks": [], "are_more": False})

    def test_no_colour_but_on_a_terminal_that_wants_it(self):
        self.start_holder()
        self.assertNotIn("\x1b", self.run_it(0, "status", self.resource)[0])
        for environment, has_colour in ({}, True), ({"NO_COLOR": "1"}, False):
            ours, theirs = pty.openpty()
            subprocess.run([ZKLOCK, "status", self.resource], stdout=theirs, check=True,
                           env={**os.environ, **environment})
            os.close(theirs)
            self.assertEqual("\x1b" in os.read(ours, 65536).decode(), has_colour)
            os.close(ours)

    def test_into_a_pipe_that_is_closed_early(self):
        shown = subprocess.run(["bash", "-c", f"{ZKLOCK} help settings | head -n 1; exit ${{PIPESTATUS[0]}}"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
        self.assertEqual(shown.stderr, b"")


class Acts(CommandTest):
    def test_a_break_says_whose_it_is_and_asks(self):
        process, _ = self.start_holder()
        node = self.queue()[0]["node"]
        for answer, status in ("no\n", 1), ("", 1), ("yes\n", 0):
            broken = subprocess.run([ZKLOCK, "break", self.resource, node], input=answer, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
            self.assertEqual(broken.returncode, status, broken.stderr)
            self.assertRegex(broken.stderr, r"belongs to \S+ pid \d+ \(sh\), for .*; it holds the lock")
        self.end(process, 75)

    def test_what_is_not_there(self):
        node = "_c_00000000-0000-0000-0000-000000000000-lock-0000000007"
        self.assertIn("does not exist", self.run_it(70, "break", "--yes", self.resource, node)[1])
        self.assertIn("does not exist", self.run_it(70, "revoke", self.resource, node)[1])
        self.run_it(64, "break", "--yes", self.resource, "not-a-contender")
        self.run_it(64, "break", self.resource)

    def test_a_protected_lock_cannot_be_asked_for(self):
        self.start_holder()
        _, err = self.run_it(77, "revoke", self.resource, self.queue()[0]["node"])
        self.assertIn("revocable", err)


class Helps(CommandTest):
    def test_on_one_screen_with_two_examples(self):
        for name in "run", "once", "ls", "status", "deadlocks", "revoke", "break":
            with self.subTest(name):
                out, _ = self.run_it(0, name, "--help")
                self.assertLessEqual(len(out.splitlines()), 30)
                self.assertTrue(all(len(line) <= 80 for line in out.splitlines()), out)
                examples = out.split("Examples:\n")[1].split("\n\n")[0]
                self.assertGreaterEqual(len(examples.splitlines()), 2)
                self.assertEqual(out, self.run_it(0, "help", name)[0])
        self.assertIn("zklock run", self.run_it(0, "--help")[0])

    def test_as_the_manual_does(self):
        """Every option of --help, and every setting, is in the page of the manual."""
        for name in "run", "once", "ls", "status", "deadlocks", "revoke", "break":
            with open(f"{MANUAL}/zklock-{name}.1", encoding="utf-8") as file:
                page = file.read()
            for option in re.findall(r"--([a-z-]+) ", self.run_it(0, name, "--help")[0].split("Examples")[0]):
                self.assertIn(f"Fl Fl {option}", page, name)
        with open(f"{MANUAL}/zklock.1", encoding="utf-8") as file:
            page = file.read()
        for setting in re.findall(r"^ +--([a-z-]+) ", self.run_it(0, "help", "settings")[0], re.M):
            self.assertRegex(page, rf"(?m)^\.It Cm .*\b{setting}\b")

    def test_by_the_version(self):
        self.assertRegex(self.run_it(0, "--version")[0], r"^zklock \d+\.\d+\.\d+\n$")

    def test_who_types_it_wrong(self):
        self.assertIn("'rnu' is not a subcommand", self.run_it(64, "rnu")[1])
        self.assertIn("no subcommand", self.run_it(64)[1])
        self.assertIn("one RESOURCE", self.run_it(64, "status")[1])


if __name__ == "__main__":
    unittest.main()
