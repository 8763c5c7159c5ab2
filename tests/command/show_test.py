#!/usr/bin/env python3
"""zklock ls, status, deadlocks, revoke, break, secure; help and version."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import unittest

from command import HOSTS, PATIENCE_S, ZKLOCK, CommandTest, Listener, set_data, wait_until

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

    def test_only_names_as_they_are(self):
        self.resource += " it's $(x)"
        self.start_holder()
        self.assertIn(self.resource, self.run_it(0, "ls", "-0")[0].split("\0"))
        self.assertEqual(self.run_it(0, "status", "--null", self.resource)[0], self.queue()[0]["node"] + "\0")

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

    def test_nothing_of_others_that_a_terminal_would_obey(self):
        """A node's data are whatever its maker has written."""
        self.start_holder("--revocable")
        node = self.queue()[0]["node"]
        set_data(f"/locks/{self.resource}/{node}", b"\x1b]0;owned\x07\xc2\x9b31m\xff ok")
        out, _ = self.run_it(0, "status", self.resource)
        self.assertIn("?]0;owned???31m? ok", out)
        self.assertNotIn("\x1b", out)
        self.assertNotIn("\x07", out)

    def test_nothing_as_well_if_it_cannot_be_written(self):
        for arguments in ("ls",), ("ls", "--json"), ("--help",):
            with open("/dev/full", "w", encoding="ascii") as full:
                shown = subprocess.run([ZKLOCK, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(shown.returncode, 70)
            self.assertIn("No space left", shown.stderr)

    def test_into_a_pipe_that_is_closed_early(self):
        shown = subprocess.run(["bash", "-c", f"{ZKLOCK} help settings | head -n 1; exit ${{PIPESTATUS[0]}}"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
        self.assertEqual(shown.stderr, b"")


class Doctor(CommandTest):
    def findings(self, status, *options):
        return json.loads(self.run_it(status, "doctor", "--json", *options)[0])

    def test_finds_three_servers_well(self):
        self.run_it(0, "run", self.resource, "true")
        findings = self.findings(0)
        levels = {one["about"]: one["level"] for one in findings}
        self.assertEqual(levels["protection"], "ok")
        self.assertEqual(levels["permissions"], "warning")  # the root is open
        self.assertEqual(levels["clock"], "ok")
        texts = [one["text"] for one in findings if one["about"] in HOSTS.split(",")]
        self.assertEqual(sorted(text for text in texts if text in ("leader", "follower")),
                         ["follower", "follower", "leader"])
        self.assertEqual(self.run_it(0, "doctor")[0].count("\n"), len(findings))

    def test_finds_a_server_that_is_not_there(self):
        findings = self.findings(1, "--hosts", HOSTS + ",127.0.0.1:1")
        self.assertIn({"level": "bad", "about": "127.0.0.1:1", "text": "does not answer: Connection refused"}, findings)

    def test_finds_a_server_that_is_of_another_ensemble(self):
        answer = b"Zookeeper version: 3.9.3-x, built on y\nLatency min/avg/max: 0/0.1/2\nOutstanding: 0\nMode: leader\n"
        texts = [one["text"] for one in self.findings_beside(answer, 1) if one["about"] == "ensemble"]
        self.assertEqual(texts, ["2 of the servers lead: the host list has those of more than one ensemble"])

    def test_cannot_ask_a_server_that_does_not_know_the_word(self):
        answer = b"srvr is not executed because it is not in the whitelist.\n"
        findings = self.findings_beside(answer, 0)
        self.assertTrue(any(one["level"] == "warning" and "4lw.commands.whitelist" in one["text"] for one in findings))

    def findings_beside(self, answer, status):
        """With a server more in the list, which says that when it is asked."""
        def serve(connection):
            with connection:
                if connection.recv(4) == b"srvr":
                    connection.sendall(answer)

        return self.findings(status, "--hosts", HOSTS + "," + Listener(serve).address)

    def test_finds_a_root_that_is_not_there_and_makes_none(self):
        for _ in range(2):
            findings = self.findings(0, "--lock-root", f"/{self.resource}")
            self.assertEqual([one["level"] for one in findings if one["about"] == f"/{self.resource}"], ["warning"])

    def test_finds_a_session_timeout_that_servers_do_not_allow(self):
        findings = self.findings(0, "--session-timeout", "30min")
        self.assertTrue(any(one["about"] == "session" and one["level"] == "warning" for one in findings))


class Top(CommandTest):
    def test_looks_once_off_a_terminal(self):
        self.start_holder()
        self.assertRegex(self.run_it(0, "top")[0], rf"(?m)^ +1  .*  {self.resource}  held by \S+ pid \d+ \(sh\)$")

    def test_on_a_terminal_until_q(self):
        self.start_holder()
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(ZKLOCK, [ZKLOCK, "top", "--interval", "200ms"])
        try:
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 50, 0, 0))
            os.kill(pid, signal.SIGWINCH)
            seen = ""
            while seen.count(f"  {self.resource}  ") < 3:
                seen += os.read(terminal, 65536).decode()
            self.assertIn("\x1b[?1049h", seen)
            os.write(terminal, b"q")
            while "\x1b[?1049l" not in seen:
                seen += os.read(terminal, 65536).decode()
            widths = [len(re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", line)) for line in seen.split("\r\n")[-4:]]
            self.assertLessEqual(max(widths), 50)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        finally:
            os.close(terminal)


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

    def test_a_break_asks_again_if_a_waiter_was_granted_the_lock_meanwhile(self):
        first, _ = self.start_holder()
        waiter = self.start("run", self.resource, "sleep", "60")
        self.wait_for_queue(2)
        node = self.queue()[1]["node"]
        with subprocess.Popen([ZKLOCK, "break", self.resource, node], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as breaking:
            self.assertIn(" it waits", breaking.stderr.readline() + breaking.stderr.readline())
            self.signal(first, signal.SIGTERM)
            self.wait_for_queue(1)
            _, err = breaking.communicate("yes\n", timeout=PATIENCE_S)
        self.assertEqual(breaking.returncode, 1, err)
        self.assertIn("it holds the lock", err)
        self.assertIn("nothing was done", err)
        self.assertIsNone(waiter.poll())

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


class Secures(CommandTest):
    """Each test has a lock root of its own."""

    def setUp(self):
        super().setUp()
        with open(self.path("key"), "w", encoding="ascii") as file:
            file.write("digest:ops:secret\n")
        os.chmod(self.path("key"), 0o600)
        self.root = ["--lock-root", f"/above-{self.resource}/{self.resource}"]
        self.ours = [*self.root, "--credentials-file", self.path("key"), "--parent-acl", "auth::cdrwa"]
        self.closed = [*self.ours, "--node-acl", "auth::cdrwa"]

    def plan(self, status, *options):
        out, _ = self.run_it(status, "secure", "--json", *self.ours, *options)
        return json.loads(out)

    def make_open(self):
        self.run_it(0, "run", *self.root, self.resource, "true")
        self.run_it(0, "once", *self.root, "job", "true")
        self.run_it(0, "run", "--semaphore", "2", *self.root, "hot", "true")

    def test_nothing_until_it_is_told_to(self):
        self.make_open()
        for _ in range(2):
            plan = self.plan(1)
            self.assertEqual((plan["to_do"], plan["done"]), (6, 0))
            self.assertEqual({node["action"] for node in plan["nodes"]}, {"close"})
        _, err = self.run_it(1, "secure", *self.ours)
        self.assertIn("nothing was done: --yes", err)
        self.run_it(0, "run", "-n", *self.root, self.resource, "true")

    def test_what_is_open_while_locks_are_in_use(self):
        self.make_open()
        holder = self.start("run", *self.closed, self.resource, "sleep", "3")
        wait_until(lambda: f" 1  {self.resource}\n" in self.run_it(0, "ls", *self.closed)[0], "it holds")
        waiter = self.start("run", *self.closed, self.resource, "true")
        wait_until(lambda: f" 2  {self.resource}\n" in self.run_it(0, "ls", *self.closed)[0], "two of them")
        out, _ = self.run_it(0, "secure", "--yes", *self.ours)
        self.assertEqual(out.count("\nclosed "), 6)
        self.end(holder, 0)
        self.end(waiter, 0)
        self.run_it(77, "run", "-n", *self.root, self.resource, "true")
        self.run_it(0, "run", "-n", *self.closed, self.resource, "true")
        self.run_it(0, "once", *self.closed, "job", "false")  # it is marked
        again = self.plan(0, "--yes")
        self.assertEqual((again["to_do"], again["done"], again["open_contenders"]), (0, 0, []))
        self.assertNotIn("secret", json.dumps(again))
        self.assertEqual({node["acl"] for node in again["nodes"]}, {"digest:ops:*:cdrwa"})
        self.assertIn("nothing is open", self.run_it(0, "secure", *self.ours)[0])

    def test_not_what_a_program_without_an_acl_uses(self):
        holder = self.start("run", *self.root, self.resource, "sleep", "60")
        wait_until(lambda: f" 1  {self.resource}\n" in self.run_it(0, "ls", *self.ours)[0], "it holds")
        out, err = self.run_it(1, "secure", "--yes", *self.ours)
        self.assertIn(f"open   {self.resource}/", out)
        self.assertIn("(sleep)", out)
        self.assertIn("--force", err)
        self.run_it(0, "secure", "--yes", "--force", *self.ours)
        self.signal(holder, signal.SIGTERM)
        self.end(holder, 128 + signal.SIGTERM)

    def test_nobody_out_who_asks_for_it(self):
        self.make_open()
        of_others = ["--parent-acl", "digest:nobody:sm9xe5UnAq7eVVAkBhMPIPuPbV0=:cdrwa"]
        _, err = self.run_it(77, "secure", "--yes", *self.root, *of_others)
        self.assertIn("nothing was done", err)
        self.run_it(77, "secure", "--yes", *self.root, "--parent-acl", "auth::cdrwa")  # nobody
        self.run_it(0, "run", "-n", *self.root, self.resource, "true")
        self.run_it(64, "secure", "--yes", *self.root)
        self.run_it(64, "secure", "--yes", *self.root, "--parent-acl", "world:anyone:cr")

    def test_a_lock_root_that_is_not_there_is_made(self):
        self.assertEqual(self.plan(1)["nodes"][0]["action"], "make")
        self.assertEqual(self.plan(1)["nodes"][0]["action"], "make")
        self.run_it(0, "secure", "--yes", *self.ours)
        self.run_it(77, "run", "-n", *self.root, self.resource, "true")
        self.run_it(0, "run", "-n", *self.closed, self.resource, "true")

    def test_only_if_whoever_is_asked_says_yes(self):
        self.make_open()
        for answer, status in ("no\n", 1), ("yes\n", 0):
            pid, terminal = pty.fork()
            if pid == 0:
                os.execv(ZKLOCK, [ZKLOCK, "secure", *self.ours])
            seen = b""
            while b"Type yes: " not in seen:
                seen += os.read(terminal, 1024)
            os.write(terminal, answer.encode())
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), status)
            os.close(terminal)

    def test_what_is_above(self):
        chroot = f"{HOSTS}/chroot-{self.resource}"
        self.make_open()
        self.run_it(0, "run", "--hosts", chroot, *self.root, self.resource, "true")
        self.run_it(0, "secure", "--yes", "--above", "--hosts", chroot, *self.ours)
        paths = [node["path"] for node in self.plan(0, "--above", "--hosts", chroot)["nodes"]]
        self.assertEqual(paths[-2:], [f"/above-{self.resource}", "/"])
        self.run_it(77, "run", "--hosts", chroot, "--lock-root", "/other", self.resource, "true")
        self.assertEqual(self.plan(1)["to_do"], 6)  # outside the chroot


class Helps(CommandTest):
    def test_on_one_screen_with_two_examples(self):
        for name in "run", "once", "ls", "status", "top", "deadlocks", "revoke", "break", "doctor", "secure":
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
        for name in "run", "once", "ls", "status", "top", "deadlocks", "revoke", "break", "doctor", "secure":
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
