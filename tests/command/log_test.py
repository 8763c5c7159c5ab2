#!/usr/bin/env python3
"""--log: what is said, and what happens to locks, in the journal, in syslog, or in a file."""

import json
import os
import subprocess
import sys
import unittest

from command import HOSTS, PATIENCE_S, QUICK, ZKLOCK, CommandTest, wait_until

# A machine of its own for the sockets of the journal and of syslog: a mount namespace. Prints what each datagram had.
MACHINE = """
import ctypes, json, os, socket, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: whoever holds the lock may outlive the command
path, reads, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
os.makedirs(os.path.dirname(path), exist_ok=True)
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(path)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
filler = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
filler.setblocking(False)
try:
    while not reads:
        filler.sendto(b"filler", path)
except BlockingIOError:
    pass
status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode
try:
    while True:
        os.wait()
except ChildProcessError:
    listener.setblocking(False)
heard = []
try:
    while True:
        heard.append(listener.recv(65536).decode("latin-1"))
except BlockingIOError:
    print(json.dumps([status, heard]))
"""
MOUNTS = {
    "journal": "mount -t tmpfs none /run/systemd",
    # /dev with nothing but what the command needs
    "syslog": "mkdir $0/dev && for one in null full random urandom zero; do touch $0/dev/$one && mount --bind /dev/$one"
              " $0/dev/$one; done && mount --rbind $0/dev /dev",
}
SOCKETS = {"journal": "/run/systemd/journal/socket", "syslog": "/dev/log"}


def fields_of(datagram):
    """Those of the journal's native protocol: each has its length."""
    fields = {}
    while datagram:
        name, rest = datagram.split("\n", 1)
        length = int.from_bytes(rest[:8].encode("latin-1"), "little")
        fields[name] = rest[8:8 + length]
        assert rest[8 + length] == "\n", rest
        datagram = rest[9 + length:]
    return fields


class Logs(CommandTest):
    def on_a_machine(self, kind, *arguments, reads=True):
        """Returns the exit status, and what was sent to the socket; or somebody else has filled that."""
        os.makedirs("/run/systemd", exist_ok=True)
        line = f"{MOUNTS[kind]} && exec \"$@\""
        ran = subprocess.run(["unshare", "--mount", "sh", "-c", line, self.directory, sys.executable, "-c", MACHINE, SOCKETS[kind],
                              str(int(reads)), ZKLOCK, *arguments], stdout=subprocess.PIPE, check=True, timeout=PATIENCE_S)
        return json.loads(ran.stdout)

    def lines(self, name="log"):
        return [json.loads(line) for line in self.text_of(name).splitlines()]

    def events(self, name="log"):
        return {line["event"]: line for line in self.lines(name)}

    def event(self, event, name="log"):
        """The command may end before the servers have confirmed what is told."""
        wait_until(lambda: event in self.events(name), f"'{event}' in {name}")
        return self.events(name)[event]

    def test_a_lock_from_its_grant_to_its_release_in_a_file(self):
        self.run_it(3, "run", *QUICK, "--log", "log", self.resource, "-c", "exit 3")
        self.event("released")
        events = self.events()
        for event in "acquired", "child_started", "child_ended", "released":
            self.assertEqual(events[event]["resource"], self.resource, event)
            self.assertEqual(events[event]["token"], events["acquired"]["token"])
        self.assertEqual(events["child_ended"]["exit_status"], 3)
        self.assertNotIn("exit_status", events["child_started"])
        self.assertGreaterEqual(events["released"]["held_ms"], 0)
        self.assertRegex(events["acquired"]["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(events["acquired"]["level"], "info")

    def test_what_is_said_is_in_both(self):
        self.start_holder()
        _, err = self.run_it(1, "run", *QUICK, "--log", "log", "-n", self.resource, "true")
        message = self.event("message")
        self.assertEqual(err, f"zklock run: {message['message']}\n")
        self.assertEqual(message["level"], "notice")
        self.assertEqual(self.event("not_acquired")["resource"], self.resource)

    def test_a_file_that_logrotate_has_moved_away(self):
        process, _ = self.start_holder("--log", "log")
        self.event("acquired")  # the command may be told of it later than its child begins
        os.rename(self.path("log"), self.path("log.1"))
        self.signal(process, 15)
        self.end(process, 143)
        self.assertIn("acquired", self.events("log.1"))
        self.assertNotIn("released", self.events("log.1"))
        self.event("released")

    def test_a_loss_with_its_reason_for_nobody_else_to_read(self):
        process, _ = self.start_holder("--log", "log")
        self.run_it(0, "break", "--yes", self.resource, self.queue()[0]["node"])
        self.end(process, 75)
        lost = self.event("lost")
        self.assertEqual((lost["resource"], lost["level"]), (self.resource, "error"))
        self.assertIn("deleted", lost["status"])
        self.assertEqual(os.stat(self.path("log")).st_mode & 0o027, 0)

    def test_whole_lines_of_many_at_once(self):
        processes = [self.start("run", *QUICK, "--log", "log", self.resource, "true") for _ in range(10)]
        for process in processes:
            self.end(process, 0)
        wait_until(lambda: sum(line["event"] == "released" for line in self.lines()) == 10, "ten are released")

    def test_nothing_is_run_without_it(self):
        _, err = self.run_it(64, "run", "--log", "no/such/file", self.resource, "touch", "ran")
        self.assertIn("log 'no/such/file': No such file or directory", err)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_as_any_setting(self):
        self.run_it(0, "run", *QUICK, self.resource, "true", env={**os.environ, "ZKLOCK_LOG": self.path("other")})
        self.event("released", "other")
        self.run_it(0, "run", *QUICK, "--log", "none", self.resource, "true", env={**os.environ, "ZKLOCK_LOG": self.path("third")})
        self.assertFalse(os.path.exists(self.path("third")))

    def test_hostile_text_in_a_file(self):
        self.run_it(0, "run", *QUICK, "--log", "log", self.resource + ' "\\u\u202e', "true")
        self.assertTrue(self.text_of("log").isascii())  # whoever reads it with tail -f has a terminal
        self.assertEqual(self.event("released")["resource"], self.resource + ' "\\u\u202e')

    def test_the_fields_in_the_journal(self):
        status, heard = self.on_a_machine("journal", "run", *QUICK, "--log", "journal", self.resource, "true")
        self.assertEqual(status, 0)
        events = {record["ZKLOCK_EVENT"]: record for record in map(fields_of, heard)}
        released = events["released"]
        self.assertEqual((released["SYSLOG_IDENTIFIER"], released["PRIORITY"], released["ZKLOCK_RESOURCE"]),
                         ("zklock", "6", self.resource))
        self.assertEqual(released["ZKLOCK_TOKEN"], events["child_ended"]["ZKLOCK_TOKEN"])
        self.assertIn("ZKLOCK_HELD_MS", released)

    def test_lines_in_syslog(self):
        status, heard = self.on_a_machine("syslog", "run", *QUICK, "--log", "syslog", self.resource, "true")
        self.assertEqual(status, 0)
        released, = [line for line in heard if "released: " in line]
        self.assertRegex(released, rf"^<30>.* zklock\[\d+\]: released: .*resource={self.resource} .*token=\d+")

    def test_no_lock_waits_for_a_log_that_nobody_reads(self):
        for kind in "journal", "syslog":
            status, heard = self.on_a_machine(kind, "run", *QUICK, "--log", kind, self.resource, "true", reads=False)
            self.assertEqual(status, 0)
            self.assertEqual(heard[0], "filler")  # and the last records, as it is read in the end

    def test_no_lock_waits_for_a_pipe_that_nobody_reads(self):
        os.mkfifo(self.path("log"))
        _, err = self.run_it(64, "run", "--log", "log", self.resource, "touch", "ran")
        self.assertIn("log 'log': No such device or address", err)
        reader = os.open(self.path("log"), os.O_RDONLY | os.O_NONBLOCK)
        process, _ = self.start_holder("--log", "log")
        os.close(reader)
        self.signal(process, 15)
        self.end(process, 143)

    def test_nothing_is_run_without_a_journal(self):
        if not os.path.exists(SOCKETS["journal"]):
            _, err = self.run_it(64, "run", "--log", "journal", self.resource, "touch", "ran")
            self.assertIn("log 'journal'", err)
            self.assertFalse(os.path.exists(self.path("ran")))


if __name__ == "__main__":
    unittest.main()
