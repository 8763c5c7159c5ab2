#!/usr/bin/env python3
"""All servers are down: what zklock run and once do that are started meanwhile, that wait, and that hold; and when the
servers are back. docs/operations.md, "ZooKeeper is down for an hour"."""

import os
import signal
import subprocess
import time
import unittest

from command import QUICK, CommandTest, is_alive, wait_until

ENSEMBLE = os.environ["ZKLOCK_ENSEMBLE"]
SESSION_S = 4  # that of QUICK
LONG = ["--tick-time", "500ms", "--session-timeout", "20s"]
SOON_S = 5  # sooner than a session of LONG times out


def ensemble(verb):
    subprocess.run(f"{ENSEMBLE} {verb} 1 2 3", shell=True, check=True, stderr=subprocess.DEVNULL)


class Outage(CommandTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(ensemble, "start")

    def ran(self):
        return self.text_of("ran").splitlines()

    def go_on(self):
        with open(self.path("go"), "w", encoding="ascii"):
            pass

    def nodes(self, resource=None):
        return [one["node"] for one in self.queue(resource)]

    def test_what_is_started_meanwhile_ends_with_69_or_waits_for_as_long_as_it_is_told(self):
        line = [self.resource, "-c", "echo ran >>ran"]
        ensemble("kill")
        for subcommand in "run", "once":
            for options in ["--connect-timeout", "1"], ["-n", "--connect-timeout", "1"], ["-w", "1"]:
                began = time.monotonic()
                _, err = self.run_it(69, subcommand, *options, *line)
                self.assertRegex(err, r"not connected for 1\d\d\d ms; last: 127\.0\.0\.1:\d+: ")
                self.assertLess(time.monotonic() - began, SOON_S)
        self.run_it(69, "hold", "--connect-timeout", "1", self.resource)
        self.run_it(69, "status", "--connect-timeout", "1", self.resource)
        patient = self.start("once", "--connect-timeout", "2h", *line)
        ensemble("start")
        began = time.monotonic()
        self.end(patient, 0)
        self.assertLess(time.monotonic() - began, SOON_S)
        self.assertEqual(self.ran(), ["ran"])

    def test_who_waits_keeps_its_place_however_long_it_takes_or_leaves_when_its_time_is_over(self):
        holder, child = self.start_holder("--on-lost", "ignore", command="echo $$ >pid; while [ ! -e go ]; do sleep 0.05; done")
        hasty = self.start("run", *QUICK, "-w", "6", self.resource, "-c", "echo hasty >>ran")
        self.wait_for_queue(2)
        waiter = self.start("run", *QUICK, "-v", self.resource, "-c", "echo waiter >>ran")
        self.wait_for_queue(3)
        first, _, third = self.nodes()
        ensemble("kill")
        began = time.monotonic()
        _, err = self.end(hasty, 69)
        self.assertLess(time.monotonic() - began, 6 + SOON_S)
        self.assertRegex(err, r"no connection to ZooKeeper.*: not connected for \d+ ms")
        time.sleep(4 * SESSION_S)  # a session that is only silent is given up after three timeouts
        ensemble("start")
        wait_until(lambda: self.nodes() == [first, third], "the hasty one's node is deleted, and the others are kept")
        self.assertTrue(is_alive(child))
        self.go_on()
        _, err = self.end(holder, 75)
        self.assertIn("the command goes on without it", err)
        _, err = self.end(waiter, 0)
        self.assertIn("not connected to the servers at the moment", err)
        self.assertEqual(self.ran(), ["waiter"])

    def test_a_command_is_ended_and_its_lock_is_free_as_soon_as_they_are_back(self):
        process = self.start("run", *LONG, self.resource, "-c", "trap 'echo told >>ran; exit 3' TERM; echo $$ >pid; "
                                                                "while :; do sleep 0.05; done")
        wait_until(lambda: self.text_of("pid"), "it runs")
        ensemble("kill")
        _, err = self.end(process, 75)
        self.assertIn("the lock is about to end: no answer from the servers", err)
        self.assertEqual(self.ran(), ["told"])
        ensemble("start")
        wait_until(lambda: self.nodes() == [], "it is released", SOON_S)

    def test_the_lock_of_one_that_is_killed_meanwhile_stays_for_its_session_timeout(self):
        """The servers count it from their return. (How long they take to return is theirs: a busy machine may need more
        than the session timeout, and then the lock is free when the first answer comes.)"""
        process, child = self.start_holder("--on-lost", "ignore")
        holder = self.holder_process_of(process, child)
        ensemble("kill")
        for pid in holder, process.pid:
            self.signal(pid, signal.SIGKILL)
        time.sleep(2 * SESSION_S)
        began = time.monotonic()
        ensemble("start")
        wait_until(lambda: self.nodes() == [], "the session times out", SESSION_S + SOON_S)
        self.assertGreaterEqual(time.monotonic() - began, SESSION_S)

    def test_a_success_that_cannot_be_marked_is_repeated(self):
        job = ["once", *QUICK, "--period", "100d", self.resource, "-c", "echo ran >>ran; sleep 0.5"]
        process = self.start(*job)
        wait_until(self.ran, "it runs")
        ensemble("kill")
        _, err = self.end(process, 75)
        self.assertIn("it has succeeded, and that could not be marked", err)
        ensemble("start")
        for _ in range(2):
            self.run_it(0, *job)
        self.assertEqual(self.ran(), ["ran"] * 2)


if __name__ == "__main__":
    unittest.main()
