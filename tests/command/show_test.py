#!/usr/bin/env python3
"""zklock ls, status, deadlocks, revoke, break, secure; help and version."""

import ctypes
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

from command import (CHILDREN, DELETE, GET_ACL, GET_DATA, HOSTS, INVALID_ACL, NO_AUTH, NO_SASL, PATIENCE_S, SET_DATA, SYSTEM_ERROR,
                     ZKLOCK, Between, CommandTest, Listener, create, delete, set_data, wait_until, with_error)

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

    def test_with_options_behind_the_name_too(self):
        self.start_holder()
        for options in (["--json", self.resource], [self.resource, "--json"], [self.resource, "--hosts", HOSTS, "--json"],
                        ["--json", "--", self.resource]):
            self.assertEqual(len(json.loads(self.run_it(0, "status", *options)[0])["contenders"]), 1, options)
        self.run_it(1, "wait", self.resource, "-n")
        self.run_it(64, "status", self.resource, "--no-such-option")
        self.run_it(64, "status", "--json", "--", self.resource, "--json")

    def test_all_resources(self):
        self.start_holder()
        out, _ = self.run_it(0, "ls", "--json")
        self.assertIn({"resource": self.resource, "contenders": 1}, json.loads(out))
        self.assertRegex(self.run_it(0, "ls")[0], rf"(?m)^ +1  {self.resource}$")

    def test_only_busy_resources(self):
        self.run_it(0, "run", self.resource + "-idle", "true")
        self.start_holder()
        out, _ = self.run_it(0, "ls", "--busy")
        self.assertRegex(out, rf"(?m)^ +1  {self.resource}$")
        self.assertNotIn("-idle", out)
        names = [one["resource"] for one in json.loads(self.run_it(0, "ls", "--json", "--busy")[0])]
        self.assertIn(self.resource, names)
        self.assertNotIn(self.resource + "-idle", names)
        self.assertNotIn(self.resource + "-idle", self.run_it(0, "ls", "-0", "--busy")[0].split("\0"))

    def test_cleans_what_nobody_uses(self):
        root = f"/{self.resource}"
        options = ["--lock-root", root]
        for name in "idle", "used":
            self.run_it(0, "run", *options, name, "true")
        self.run_it(0, "run", *options, "--semaphore", "2", "permits", "true")
        self.run_it(0, "once", *options, "job", "true")
        self.resource = "used"
        self.start_holder(*options)
        idle = ["idle", "permits", "permits/stripe-0000"]
        out, _ = self.run_it(0, "clean", *options, "--dry-run", "--idle", "200ms")
        self.assertEqual(sorted(out.split()), idle)
        self.assertEqual(len(json.loads(self.run_it(0, "ls", *options, "--json")[0])), 5)
        out, _ = self.run_it(0, "clean", *options, "--idle", "200ms")
        self.assertEqual(sorted(out.split()), idle)
        names = [one["resource"] for one in json.loads(self.run_it(0, "ls", *options, "--json")[0])]
        self.assertEqual(names, ["job", "used"])
        self.assertEqual(self.run_it(0, "clean", *options, "--idle", "0")[0], "")
        self.run_it(64, "clean", "x")
        self.run_it(64, "clean", "--idle", "x")

    def test_only_names_as_they_are(self):
        self.resource += " it's $(x)"
        self.start_holder()
        self.assertIn(self.resource, self.run_it(0, "ls", "-0")[0].split("\0"))
        self.assertEqual(self.run_it(0, "status", "--null", self.resource)[0], self.queue()[0]["node"] + "\0")

    def test_no_deadlocks(self):
        self.assertEqual(self.run_it(0, "deadlocks")[0], "no deadlocks\n")
        self.assertEqual(json.loads(self.run_it(0, "deadlocks", "--json")[0]),
                         {"deadlocks": [], "are_more": False, "skipped": []})

    def test_a_deadlock_of_commands_that_run_each_other(self):
        """Each has two sessions: the owner passes through the environment."""
        ours, other = self.resource, self.resource + "-other"
        line = "touch at-{0}; while [ ! -e go ]; do sleep 0.05; done; exec {1} run {0} true"
        one = self.start("run", ours, "-c", line.format(other, ZKLOCK))
        two = self.start("run", other, "-c", line.format(ours, ZKLOCK))
        wait_until(lambda: {f"at-{ours}", f"at-{other}"} <= set(os.listdir(self.directory)), "both hold a lock")
        self.assertEqual(self.run_it(0, "deadlocks")[0], "no deadlocks\n")
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        wait_until(lambda: "deadlock 1" in self.run_it(0, "deadlocks")[0], "a deadlock")
        circle, = json.loads(self.run_it(0, "deadlocks", "--json")[0])["deadlocks"]
        self.assertEqual({wait["resource"] for wait in circle}, {ours, other})
        self.signal(one, signal.SIGTERM)
        self.end(one, 128 + signal.SIGTERM)
        self.end(two, 0)  # it is granted the lock of the other now

    def test_a_command_that_waits_for_itself(self):
        process = self.start("run", self.resource, ZKLOCK, "run", self.resource, "true")
        wait_until(lambda: "deadlock 1" in self.run_it(0, "deadlocks")[0], "a deadlock")
        self.signal(process, signal.SIGTERM)
        self.end(process, 128 + signal.SIGTERM)

    def test_no_deadlock_of_commands_that_one_runs_side_by_side(self):
        inner = self.resource + "-inner"
        line = (f"{ZKLOCK} run {inner} -c 'while [ ! -e go ]; do sleep 0.05; done' & "
                f"{ZKLOCK} run {inner} -c 'while [ ! -e go ]; do sleep 0.05; done'; wait")
        process = self.start("run", self.resource, "-c", line)
        wait_until(lambda: len(self.queue(inner)) == 2, "one of them waits for the other")
        self.assertEqual(self.run_it(0, "deadlocks")[0], "no deadlocks\n")
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        self.end(process, 0)

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

    def shown_on_a_terminal(self, *arguments):
        """Reads while it writes: a terminal takes little at a time."""
        ours, theirs = pty.openpty()
        seen = b""
        with subprocess.Popen([ZKLOCK, *arguments], stdout=theirs, stdin=subprocess.DEVNULL) as process:
            os.close(theirs)
            try:
                while piece := os.read(ours, 65536):
                    seen += piece
            except OSError:  # the end
                pass
        os.close(ours)
        self.assertEqual(process.returncode, 0)
        return seen.decode()

    def test_nothing_of_others_that_turns_text_around(self):
        self.resource += "\u202e\u2028x"
        self.start_holder("--revocable")
        node = self.queue()[0]["node"]
        set_data(f"/locks/{self.resource}/{node}", "a\u2066b\u2029c\u061cd\u00fc".encode())
        shown = self.resource.replace("\u202e", "?").replace("\u2028", "?")
        out, _ = self.run_it(0, "status", self.resource)
        self.assertIn(f"{shown}: 1 holds", out)
        self.assertIn("a?b?c?d\u00fc", out)
        for arguments in ("ls",), ("top",), ("status", "--json", self.resource):
            self.assertIn("??x" if len(arguments) < 3 else "\\u202E\\u2028x", self.shown_on_a_terminal(*arguments))
        _, err = self.run_it(1, "run", "-n", self.resource, "true")
        self.assertIn(shown, err)
        strangers = f"/locks/{self.resource}/\u202ex-lock-0000000009"
        create([strangers])
        self.addCleanup(delete, [strangers])
        self.assertIn("\n          ?x-lock-0000000009\n", self.run_it(0, "status", self.resource)[0])

    def test_a_node_that_no_session_owns(self):
        self.start_holder()
        stray = f"/locks/{self.resource}/lock-0000000009"
        create([stray])
        self.addCleanup(delete, [stray])
        self.assertIn(", no session: it stays until somebody deletes it\n          lock-0000000009\n",
                      self.run_it(0, "status", self.resource)[0])
        self.assertIsNone(self.queue()[1]["session"])

    def test_that_there_is_no_such_root(self):
        """As with a chroot that is typed wrong: then nothing is locked that should be."""
        hosts = ["--hosts", f"{HOSTS}/{self.resource}"]
        message = f"/{self.resource}/locks: does not exist"
        for arguments in ("ls",), ("status", "x"), ("deadlocks",), ("top",):
            self.assertIn(message, self.run_it(0, arguments[0], *hosts, *arguments[1:])[1])
        self.assertEqual(self.run_it(0, "run", "-q", *hosts, "/elsewhere/x", "true")[1], "")
        self.assertEqual(self.run_it(0, "run", *hosts, "/elsewhere/y", "true")[1], "")
        made = f"/{self.resource}/locks: did not exist: nothing was ever locked there."
        self.assertIn(made, self.run_it(0, "run", *hosts, "x", "true")[1])
        self.assertEqual(self.run_it(0, "run", *hosts, "y", "true")[1], "")
        for arguments in ("ls",), ("status", "x"), ("deadlocks",), ("top",), ("run", "x", "true"):
            self.assertEqual(self.run_it(0, arguments[0], *hosts, *arguments[1:])[1], "")

    def test_all_that_it_reads_in_a_short_session(self):
        asked = []

        def note(opcode, request, reply):
            if opcode is None:
                asked.append(struct.unpack(">i", request[12:16])[0])
            return reply

        hosts = ["--hosts", Between(note).address]
        for what, *arguments in ["ls"], ["status", self.resource], ["deadlocks"], ["top"], ["ls", "--session-timeout", "8s"]:
            self.run_it(0, what, *hosts, *arguments)
        self.run_it(0, "run", *hosts, self.resource, "--", "true")
        self.assertEqual(asked, [10000] * 4 + [8000, 30000])

    def test_nothing_of_the_lock_root_where_the_resource_was_locked_before(self):
        asked = []

        def note(opcode, _, reply):
            asked.append(opcode)
            return reply

        hosts = ["--hosts", Between(note).address]
        for reads in True, False:
            asked.clear()
            self.run_it(0, "run", *hosts, self.resource, "true")
            self.assertEqual(GET_DATA in asked or GET_ACL in asked, reads)

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


class ShowsBesideStrangers(CommandTest):
    """A resource below the lock root may not be read, and neither may the holder of the other."""

    def setUp(self):
        super().setUp()
        self.write_secret("key", "digest:stranger:secret")
        self.root = ["--lock-root", f"/root-{self.resource}"]
        strangers = [*self.root, "--credentials-file", self.path("key"), "--node-acl", "auth::cdrwa"]
        self.run_it(0, "run", *self.root, self.resource, "true")
        self.run_it(0, "run", *strangers, "--parent-acl", "auth::cdrwa", "theirs", "true")
        self.start("run", *strangers, self.resource, "sleep", "60")
        wait_until(lambda: f" 1  {self.resource}\n" in self.run_it(77, "ls", *self.root)[0], "it holds")

    def test_all_resources(self):
        out, err = self.run_it(77, "ls", *self.root)
        self.assertEqual(sorted(out.splitlines()), sorted([f"     1  {self.resource}", "     ?  theirs"]))
        self.assertIn("/theirs", err)
        out, _ = self.run_it(77, "ls", "--json", *self.root)
        self.assertIn({"resource": "theirs", "contenders": None}, json.loads(out))

    def test_a_queue(self):
        out, err = self.run_it(77, "status", *self.root, self.resource)
        self.assertIn("somebody whose node may not be read", out)
        out, _ = self.run_it(77, "status", "--json", *self.root, self.resource)
        holder, = json.loads(out)["contenders"]
        self.assertEqual((holder["holds"], holder["readable"]), (True, False))
        self.assertIn(holder["node"], err)

    def test_the_busiest(self):
        out, _ = self.run_it(77, "top", *self.root)
        self.assertIn("1 of 2 resources in use; 1 may not be read", out)
        self.assertIn("held by somebody whose node may not be read", out)

    def test_deadlocks(self):
        out, err = self.run_it(77, "deadlocks", *self.root)
        self.assertEqual(out, "no deadlocks\nnot looked at: theirs\n")
        self.assertIn("/theirs", err)
        self.assertEqual(json.loads(self.run_it(77, "deadlocks", "--json", *self.root)[0])["skipped"], ["theirs"])

    def test_a_break_after_a_question(self):
        out, _ = self.run_it(77, "status", "-0", *self.root, self.resource)
        broken = subprocess.run([ZKLOCK, "break", *self.root, self.resource, out.rstrip("\0")], input="yes\n",
                                capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(broken.returncode, 0, broken.stderr)
        self.assertIn("belongs to somebody whose node may not be read", broken.stderr)


WELL = ("Zookeeper version: 3.9.4-x, built on y\nLatency min/avg/max: 0/0.1/2\nOutstanding: 0\n"
        "Mode: follower\n")


class Doctor(CommandTest):
    def setUp(self):
        super().setUp()
        self.run_it(0, "run", self.resource, "true")  # the lock root is there

    def findings(self, status, *options):
        return json.loads(self.run_it(status, "doctor", "--json", *options)[0])

    def assert_finds(self, level, about, text, found):
        self.assertTrue([one for one in found
                         if one["level"] == level and one["about"] == about and re.search(text, one["text"])],
                        (level, about, text, found))

    @staticmethod
    def listen(answer, conf="tickTime=500\n"):
        """The address of a server more, which says that when it is asked."""
        def serve(connection):
            with connection:
                connection.sendall({b"srvr": answer, b"conf": conf}.get(connection.recv(4), "").encode())

        return Listener(serve).address

    def assert_finds_beside(self, level, text, answer, status=0, conf="tickTime=500\n"):
        address = self.listen(answer, conf)
        self.assert_finds(level, address, text, self.findings(status, "--hosts", f"{HOSTS},{address}"))

    def findings_between(self, alter, status=0, *options):
        """At a server whose replies `alter` changes."""
        return self.findings(status, "--hosts", Between(alter).address, *options)

    # ---- What is well

    def test_finds_three_servers_well(self):
        found = self.findings(0)
        for server in HOSTS.split(","):
            self.assertTrue([one for one in found if one["about"] == server and re.search("^version 3", one["text"])], found)
            for text in "^latency .* \\d+ requests outstanding$", "^(leader|follower)$", "^tickTime 500 ms, tick-time 2 s$":
                self.assert_finds("ok", server, text, found)
        self.assertEqual(sum(one["text"] == "leader" for one in found), 1)
        self.assert_finds("ok", "ensemble", "^3 of 3 servers serve$", found)
        self.assert_finds("ok", "session", "^timeout of 30 s$", found)
        self.assert_finds("ok", "clock", "", found)
        self.assert_finds("ok", "protection", "could set", found)
        self.assert_finds("ok", "protection", "know our identity", found)
        self.assert_finds("ok", "resources", "none with a queue that is too long", found)
        self.assert_finds("warning", "permissions", "a stranger could delete our node", found)  # the root is open
        self.assert_finds("warning", "strangers", "a stranger gets a session.*end, shorten or prolong", found)
        self.assertEqual(self.run_it(0, "doctor")[0].count("\n"), len(found))

    def test_says_what_the_library_has(self):
        linked = subprocess.run(["ldd", ZKLOCK], stdout=subprocess.PIPE, text=True, check=True).stdout
        library = ctypes.CDLL(re.search(r"libzookeeper_mt\S* => (\S+)", linked)[1])
        has = ["" if hasattr(library, name) else "no " for name in ("zookeeper_init_ssl", "zookeeper_init_sasl")]
        self.assert_finds("ok", "library", f" has {has[0]}TLS and {has[1]}SASL$", self.findings(0))

    # ---- Servers

    def test_finds_a_server_that_is_not_there(self):
        self.assert_finds("bad", "127.0.0.1:1", "^does not answer: Connection refused$",
                          self.findings(1, "--hosts", HOSTS + ",127.0.0.1:1"))

    def test_finds_half_of_an_ensemble_to_be_no_quorum(self):
        dead = ",127.0.0.1:1,127.0.0.1:2"
        self.assert_finds("ok", "ensemble", "^3 of 5 servers serve$", self.findings(1, "--hosts", HOSTS + dead))
        self.assert_finds("bad", "ensemble", "^3 of 6 servers serve: that is no quorum$",
                          self.findings(1, "--hosts", HOSTS + dead + ",127.0.0.1:3"))

    def test_finds_a_server_that_is_of_another_ensemble(self):
        found = self.findings(1, "--hosts", HOSTS + "," + self.listen(WELL.replace("follower", "leader")))
        self.assert_finds("bad", "ensemble", "^2 of the servers lead", found)

    def test_finds_too_few_servers(self):
        self.assert_finds("warning", "ensemble", "^1 server in the host list", self.findings(0, "--hosts", HOSTS.split(",")[0]))

    def test_finds_a_server_that_does_not_serve(self):
        self.assert_finds_beside("bad", "^is not serving", "This ZooKeeper instance is not currently serving requests\n", 1)

    def test_finds_versions_with_defects(self):
        for level, version in (("bad", "3.5.0"), ("bad", "3.6.3"), ("bad", "3.7.1"), ("bad", "3.8.0"), ("warning", "3.6.4"),
                               ("warning", "3.8.4"), ("ok", "3.9.0"), ("ok", "3.9.2"), ("warning", "3.9.3"), ("ok", "3.9.4"),
                               ("ok", "4.0.0")):
            with self.subTest(version):
                self.assert_finds_beside(level, f"^version {version}", WELL.replace("3.9.4", version), level == "bad")

    def test_names_the_setting_that_keeps_commits(self):
        self.assert_finds_beside("warning", "ZOOKEEPER-4925.*-Dzookeeper.forceSnapshotSync=true", WELL.replace("3.9.4", "3.9.3"))

    def test_shows_nothing_of_a_server_that_a_terminal_would_obey(self):
        address = self.listen(WELL.replace("follower", "\x1b]0;owned\x07follower\u202e"))
        out, _ = self.run_it(0, "doctor", "--hosts", f"{HOSTS},{address}")
        self.assertIn(f"{address}: ?]0;owned?follower?\n", out)

    def test_finds_a_slow_server(self):
        self.assert_finds_beside("warning", "overloaded", WELL.replace("0.1", "101"))
        self.assert_finds_beside("warning", "overloaded", WELL.replace("Outstanding: 0", "Outstanding: 101"))

    def test_does_not_call_well_what_a_server_does_not_tell(self):
        self.assert_finds_beside("not tested", "^latency", WELL.replace("Latency", "Lateness"))
        self.assert_finds_beside("not tested", "^role", WELL.replace("Mode", "Mood"))
        for closed in "srvr is not executed because it is not in the whitelist.\n", "":
            self.assert_finds_beside("not tested", "^version, latency, role: srvr is not in 4lw", closed)

    def test_does_not_call_well_an_ensemble_that_does_not_tell(self):
        closed = [Between(lambda opcode, request, reply: b"" if opcode in ("srvr", "conf") else reply).address
                  for _ in range(3)]
        found = self.findings(0, "--hosts", ",".join(closed))
        self.assert_finds("not tested", "ensemble", "^3 of 3 servers do not say", found)

    def test_finds_a_tick_that_is_longer_than_leases_count_on(self):
        self.assert_finds_beside("bad", "^tickTime 2001 ms, tick-time 2 s: a lease can outlast", WELL, 1, "tickTime=2001\n")
        self.assert_finds_beside("ok", "^tickTime 2000 ms", WELL, 0, "clientPort=1\ntickTime=2000\n")
        for closed in "conf is not executed because it is not in the whitelist.\n", "", "x=1\n":
            self.assert_finds_beside("not tested", "^tickTime: .*zoo.cfg", WELL, 0, closed)
        self.assert_finds("bad", HOSTS.split(",")[0], "^tickTime 500 ms, tick-time 400 ms",
                          self.findings(1, "--tick-time", "400ms"))

    def test_does_not_ask_ports_with_TLS(self):
        out, _ = self.start("doctor", "--tls-ca-file", "/dev/null", "--tls-certificate-file", "/dev/null",
                            "--tls-key-file", "/dev/null").communicate(timeout=PATIENCE_S)
        self.assertRegex(out, "(?m)^not tested +servers: version, latency, role, tickTime: ")

    # ---- The session

    def test_finds_a_session_timeout_that_servers_do_not_allow(self):
        self.assert_finds("warning", "session", "do not allow", self.findings(0, "--session-timeout", "30min"))

    def test_finds_a_session_timeout_of_too_few_ticks(self):
        self.assert_finds("bad", "session", "five ticks", self.findings(1, "--session-timeout", "4s", "--tick-time", "1s"))

    def test_finds_servers_that_are_not_Apache_ZooKeeper(self):
        found = self.findings_between(lambda opcode, request, reply: reply[:20] + bytes(len(reply) - 20)
                                      if opcode is None else reply, 1)
        self.assert_finds("bad", "servers", "not Apache ZooKeeper", found)

    def test_does_not_call_well_strangers_that_it_could_not_play(self):
        sessions = []

        def alter(opcode, _, reply):
            sessions.extend([1] if opcode is None else [])
            return reply if opcode is not None or len(sessions) == 1 else None

        found = self.findings_between(alter, 0, "--connect-timeout", "1s")
        self.assert_finds("not tested", "strangers", "gets a session", found)
        self.assert_finds("not tested", "permissions", "could not be opened", found)

    # ---- The lock root, the clock

    def test_finds_a_root_that_is_not_there_and_makes_none(self):
        for _ in range(2):
            found = self.findings(0, "--lock-root", f"/{self.resource}")
            self.assert_finds("warning", f"/{self.resource}", "does not exist", found)
            self.assert_finds("not tested", "permissions", "nothing is made", found)

    @staticmethod
    def made_later_by(difference_ms):
        def alter(opcode, _, reply):
            if opcode != GET_DATA or len(reply) < 16 + 4 + 68:
                return reply
            made = len(reply) - 68 + 16
            made_ms, = struct.unpack(">q", reply[made:made + 8])
            return reply[:made] + struct.pack(">q", made_ms + difference_ms) + reply[made + 8:]

        return alter

    def test_finds_a_clock_that_is_ahead(self):
        self.assert_finds("warning", "clock", "^this machine's is 5.* ahead of the servers': ages are wrong",
                          self.findings_between(self.made_later_by(-5000)))

    def test_finds_a_clock_that_is_behind(self):
        self.assert_finds("warning", "clock", "^this machine's is [45].* s behind the servers': ages are wrong",
                          self.findings_between(self.made_later_by(5000)))
        self.assert_finds("ok", "clock", "^this machine's is .* ms behind the servers'$",
                          self.findings_between(self.made_later_by(1000)))

    def test_does_not_call_well_a_clock_and_an_identity_that_it_cannot_read(self):
        found = self.findings_between(lambda opcode, request, reply: with_error(reply, NO_AUTH)
                                      if opcode == GET_DATA and b"zklock-doctor" in request else reply)
        self.assert_finds("not tested", "clock", "cannot be read", found)
        self.assert_finds("not tested", "protection", "cannot be read", found)

    # ---- Protection

    def answer_to_writes(self, answer):
        return lambda opcode, request, reply: answer(reply) if opcode == SET_DATA else reply

    def test_finds_servers_that_do_not_check_ACLs(self):
        found = self.findings_between(self.answer_to_writes(lambda reply: with_error(reply, 0) + bytes(68)), 1)
        self.assert_finds("bad", "protection", "skipACL", found)

    def test_does_not_call_checked_what_was_refused_for_another_reason(self):
        found = self.findings_between(self.answer_to_writes(lambda reply: with_error(reply, SYSTEM_ERROR)))
        self.assert_finds("not tested", "protection", "whether ACLs are checked", found)

    def test_finds_servers_without_digests(self):
        found = self.findings_between(lambda opcode, request, reply: with_error(reply, INVALID_ACL)
                                      if b"zklock-doctor:nobody" in request else reply)
        self.assert_finds("warning", "protection", "no ACL of the scheme digest", found)

    def test_finds_servers_that_hash_digests_in_another_way(self):
        def redact(opcode, _, reply):
            at = reply.find(b"zklock:")
            return reply if opcode != GET_ACL or at < 0 else (
                reply[:at - 4] + struct.pack(">i", 8) + b"zklock:x" + reply[at + 35:])

        self.assert_finds("bad", "protection", "digestAlg", self.findings_between(redact, 1))

    def test_finds_nodes_that_are_not_protected(self):
        ours = ["--lock-root", f"/{self.resource}", "--credentials-file", self.write_secret("key", "digest:\u00fc:x"),
                "--parent-acl", "auth::cdrwa"]
        self.run_it(0, "run", *ours, "x", "true")
        self.assert_finds("warning", "protection", "not protected", self.findings(0, *ours))

    # ---- Permissions

    def test_finds_a_closed_root_closed(self):
        ours = ["--lock-root", f"/{self.resource}", "--credentials-file", self.write_secret("key", "digest:ops:secret"),
                "--parent-acl", "auth::cdrwa"]
        self.run_it(0, "run", *ours, "x", "true")
        self.assert_finds("ok", "permissions", "could not delete our node: .*permission", self.findings(0, *ours))
        found = self.findings(1, "--lock-root", f"/{self.resource}")
        self.assert_finds("bad", "locks", "none could be acquired: .*permission", found)

    def findings_where_the_strangers_deletion(self, answer):
        deletions = []

        def alter(opcode, request, reply):
            deletions.extend([1] if opcode == DELETE and b"zklock-doctor" in request else [])
            return answer(reply) if opcode == DELETE and len(deletions) >= 2 else reply

        return self.findings_between(alter)

    def test_does_not_call_closed_what_gave_no_answer(self):
        found = self.findings_where_the_strangers_deletion(lambda reply: None)
        self.assert_finds("not tested", "permissions", "whether a stranger can delete", found)

    def test_finds_servers_closed_that_refuse_who_has_not_logged_in(self):
        """They grant the session, and end it at its first request."""
        found = self.findings_where_the_strangers_deletion(lambda reply: with_error(reply, NO_SASL))
        self.assert_finds("ok", "permissions", "could not delete our node: .*authentication", found)

    # ---- Queues

    def names(self, reply):
        names = [f"_c_00000000-0000-4000-8000-000000000000-lock-{number:010d}".encode() for number in range(15626)]
        return with_error(reply, 0) + struct.pack(">i", len(names)) + b"".join(
            struct.pack(">i", len(name)) + name for name in names)

    def test_finds_a_queue_that_is_too_long_for_others(self):
        found = self.findings_between(lambda opcode, request, reply: self.names(reply)
                                      if opcode == CHILDREN and f"/locks/{self.resource}".encode() in request else reply)
        self.assert_finds("warning", self.resource, "^15626 contenders", found)

    def test_finds_resources_that_cannot_be_listed(self):
        found = self.findings_between(lambda opcode, request, reply: with_error(reply, NO_AUTH)
                                      if opcode == CHILDREN and b"zklock-doctor" not in request else reply, 1)
        self.assert_finds("bad", "resources", "^cannot be listed: ", found)

    def test_finds_a_resource_that_cannot_be_read(self):
        found = self.findings_between(lambda opcode, request, reply: with_error(reply, NO_AUTH)
                                      if opcode == CHILDREN and f"/locks/{self.resource}".encode() in request else reply)
        self.assert_finds("warning", "resources", "^cannot be listed, some of them: ", found)


class Top(CommandTest):
    def test_looks_once_off_a_terminal(self):
        self.start_holder()
        self.assertRegex(self.run_it(0, "top")[0], rf"(?m)^ +1  .*  {self.resource}  held by \S+ pid \d+ \(sh\)$")

    def test_who_holds_a_lock_for_which_many_wait(self):
        self.start_holder("--session-timeout", "30s")  # to create thousands of nodes takes a while
        waiting = [f"/locks/{self.resource}/lock-{i:010d}" for i in range(1, 301)]
        create(waiting)
        self.addCleanup(delete, waiting)
        self.assertRegex(self.run_it(0, "top")[0], rf"(?m)^ +301  .*  {self.resource}  held by \S+ pid \d+ \(sh\)$")
        more = [f"/locks/{self.resource}/lock-{i:010d}" for i in range(301, 4001)]
        create(more)
        self.addCleanup(delete, more)
        self.assertRegex(self.run_it(0, "top")[0], rf"(?m)^ +4001  .*  {self.resource}  too long ")

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
        self.write_secret("key", "digest:ops:secret")
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

    def test_a_parent_in_which_everybody_may_do_anything_but_read(self):
        for permissions, action in ("r", "none"), ("c", "close"), ("d", "close"), ("w", "close"), ("ra", "close"), \
                ("r,world:anyone:a", "close"):
            acl = f"auth::cdrwa,world:anyone:{permissions}"
            self.run_it(0, "run", *self.root, "--credentials-file", self.path("key"), "--parent-acl", acl,
                        f"open-{permissions}", "true")
            nodes = self.plan(1 if action == "close" else 0)["nodes"]
            self.assertEqual([node["action"] for node in nodes if node["path"].endswith(f"/open-{permissions}")], [action])

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

    def test_the_rest_beside_what_is_a_strangers(self):
        """One parent may not be read; another is open, but may not be closed."""
        self.make_open()
        self.write_secret("strangers", "digest:stranger:secret")
        for name, acl in ("hidden", "auth::cdrwa"), ("kept", "auth::cdrwa,world:anyone:cdrw"):
            self.run_it(0, "run", *self.root, "--credentials-file", self.path("strangers"), "--parent-acl", acl, name, "true")
        out, err = self.run_it(77, "secure", "--yes", *self.ours)
        self.assertEqual(out.count("\nclosed "), 6)
        for name in "hidden", "kept":
            self.assertEqual(err.count(f"/{name}: "), 1, err)
        again = self.plan(77, "--yes")
        self.assertEqual([path.rsplit("/", 1)[1] for path in again["skipped"]], ["hidden", "kept"])
        self.assertEqual(again["to_do"], 0)
        self.assertEqual([node["path"].rsplit("/", 1)[1] for node in again["nodes"] if node["action"] == "refused"], ["kept"])

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
        for name in "run", "once", "hold", "wait", "observe", "ls", "status", "top", "deadlocks", "revoke", "break", "clean", "doctor", "secure":
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
        for name in "run", "once", "hold", "wait", "observe", "ls", "status", "top", "deadlocks", "revoke", "break", "clean", "doctor", "secure":
            with open(f"{MANUAL}/zklock-{name}.1", encoding="utf-8") as file:
                page = file.read()
            for option in re.findall(r"--([a-z-]+) ", self.run_it(0, name, "--help")[0].split("Examples")[0]):
                self.assertIn(f"Fl Fl {option}", page, name)
        with open(f"{MANUAL}/zklock.1", encoding="utf-8") as file:
            page = file.read()
        for setting in re.findall(r"^ +--([a-z-]+) ", self.run_it(0, "help", "settings")[0], re.M):
            self.assertRegex(page, rf"(?m)^\.It Cm .*\b{setting}\b")

    def test_with_no_function_that_a_library_could_call_in_place_of_its_own(self):
        """One called log_message was called by libzookeeper."""
        listed = subprocess.run(["nm", "--dynamic", "--defined-only", ZKLOCK], stdout=subprocess.PIPE, text=True, check=True)
        ours = [line.split()[-1] for line in listed.stdout.splitlines() if line.split()[-2] == "T"]
        self.assertEqual([name for name in ours if name not in ("_init", "_fini", "_start", "main")], [])

    def test_by_the_version(self):
        self.assertRegex(self.run_it(0, "--version")[0], r"^zklock \d+\.\d+\.\d+\n$")

    def test_who_types_it_wrong(self):
        self.assertIn("'rnu' is not a subcommand", self.run_it(64, "rnu")[1])
        self.assertIn("no subcommand", self.run_it(64)[1])
        self.assertIn("one RESOURCE", self.run_it(64, "status")[1])


if __name__ == "__main__":
    unittest.main()
