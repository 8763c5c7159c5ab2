#!/usr/bin/env python3
"""zklock once: at most one success in a period, or for a text; and no success is marked that was none."""

import random
import signal
import time
import unittest

from command import MULTI, PATIENCE_S, QUICK, Between, CommandTest, set_data, wait_until

JOB = "echo run >>runs"
LONG = "100d"  # a period that does not end while a test runs, but for once in a hundred days


class Once(CommandTest):
    def once(self, status, *options, line=JOB):
        return self.run_it(status, "once", *QUICK, *options, self.resource, "-c", line)

    def runs(self):
        return len(self.text_of("runs").splitlines())

    def test_a_success_is_not_repeated(self):
        self.once(0, "--period", LONG)
        _, err = self.once(0, "--period", LONG, "-v")
        self.assertIn("done already", err)
        self.assertEqual(self.runs(), 1)

    def test_a_failure_is(self):
        self.once(3, "--period", LONG, line=JOB + "; exit 3")
        self.once(0, "--period", LONG)
        self.assertEqual(self.runs(), 2)

    def test_in_the_next_period_it_is_due_again(self):
        def has_run_twice():
            self.once(0, "--period", "1s")
            return self.runs() == 2

        wait_until(has_run_twice, "it runs in the next period")

    def test_a_new_text_makes_it_due_and_an_old_one_too(self):
        for text, runs in ("a", 1), ("a", 1), ("b", 2), ("a", 3), ("a b=c", 4), ("a b=c", 4), \
                ("1.10", 5), ("1.1", 6), ("1.10", 7):
            self.once(0, "--until-changed", text)
            self.assertEqual(self.runs(), runs, text)

    def test_a_success_whose_mark_did_not_reach_the_servers_is_marked_again(self):
        """The reply to the commit is lost, and the commit as well: the mark that is there is an older one."""
        lost = []

        def is_lost(opcode, request):
            is_first = opcode == MULTI and b"/done" in request and not lost
            lost.extend([1] if is_first else [])
            return is_first

        between = Between(lambda opcode, request, reply: reply, is_lost)
        self.once(0, "--until-changed", "a")
        self.once(0, "--until-changed", "b", "--hosts", between.address)
        self.assertEqual(len(lost), 1)
        self.once(0, "--until-changed", "b")
        self.assertEqual(self.runs(), 2)

    def test_a_mark_of_a_clock_that_was_ahead_is_told(self):
        self.once(0, "--period", LONG)
        set_data(f"/locks/{self.resource}/done", b"asked_ms=99999999999999\ntoken=1\n")
        _, err = self.once(0, "--period", LONG)
        self.assertIn(f"delete /locks/{self.resource}/done", err)
        self.assertEqual(self.runs(), 1)

    def test_wrong_use(self):
        for options in ("--period", "0"), ("--period", "1d", "--until-changed", "x"), ("--shared",):
            self.once(64, *options)
        self.once(64, "--until-changed", "two\nlines")

    def test_ten_machines_at_the_same_time(self):
        machines = [self.start("once", "--period", LONG, self.resource, "-c", JOB + "; sleep 0.2") for _ in range(10)]
        for machine in machines:
            self.end(machine, 0)
        self.assertEqual(self.runs(), 1)

    def test_ten_machines_of_which_most_fail(self):
        line = JOB + "; [ $(wc -l <runs) -ge 4 ]"
        machines = [self.start("once", "--period", LONG, self.resource, "-c", line) for _ in range(10)]
        statuses = []
        for machine in machines:
            machine.communicate(timeout=PATIENCE_S)
            statuses.append(machine.returncode)
        self.assertEqual(sorted(statuses), [0] * 7 + [1] * 3)
        self.assertEqual(self.runs(), 4)

    def test_killed_at_any_moment(self):
        """Whatever is killed, and when: a job that has said so has succeeded once at most, and in the end once."""
        chance = random.Random(7)
        line = "echo begin >>begins; sleep 0.1; echo end >>ends"
        for _ in range(12):
            process = self.start("once", *QUICK, "--period", LONG, self.resource, "-c", line)
            time.sleep(chance.uniform(0, 0.35))
            self.kill(process)
            process.communicate()
        marked = self.run_it(0, "once", "--period", LONG, self.resource, "-c", line)
        ends = len(self.text_of("ends").splitlines())
        self.assertGreaterEqual(ends, 1, marked)
        self.once(0, "--period", LONG)
        self.assertEqual(self.runs(), 0)

    def test_who_lost_the_lock_marks_nothing(self):
        process = self.start("once", *QUICK, "--period", LONG, "--on-lost", "ignore", self.resource, "-c",
                             "echo run >>runs; sleep 1")
        self.wait_for_queue(1)
        wait_until(lambda: self.runs() == 1, "it runs")
        self.run_it(0, "break", "--yes", self.resource, self.queue()[0]["node"])
        self.end(process, 75)
        self.once(0, "--period", LONG)
        self.assertEqual(self.runs(), 2)

    def test_a_failure_whose_lock_was_broken_unheard_says_so(self):
        """News of a deletion come after a third of the session timeout, which is 10 s here."""
        process = self.start("once", "--period", LONG, self.resource, "-c",
                             JOB + "; while [ ! -e go ]; do sleep 0.02; done; exit 3")
        wait_until(lambda: self.runs() == 1, "it runs")
        self.run_it(0, "break", "--yes", self.resource, self.queue()[0]["node"])
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        self.end(process, 75)

    def test_a_holder_that_was_stopped_marks_nothing_late(self):
        process = self.start("once", *QUICK, "--period", LONG, self.resource, "-c", "echo run >>runs; sleep 1")
        wait_until(lambda: self.runs() == 1, "it runs")
        holder = int(self.queue()[0]["process_id"])
        self.signal(holder, signal.SIGSTOP)
        self.once(0, "--period", LONG)
        self.signal(holder, signal.SIGCONT)
        self.end(process, 75)
        self.assertEqual(self.runs(), 2)

    def test_an_interrupt_while_it_waits_marks_nothing(self):
        first = self.start("once", "--period", LONG, self.resource, "-c", "echo run >>runs; sleep 1; exit 1")
        wait_until(lambda: self.runs() == 1, "the first runs")
        second = self.start("once", "--period", LONG, self.resource, "-c", JOB)
        self.wait_for_queue(2)
        self.signal(second, signal.SIGTERM)
        self.end(second, 128 + signal.SIGTERM)
        self.end(first, 1)
        self.once(0, "--period", LONG)
        self.assertEqual(self.runs(), 2)


if __name__ == "__main__":
    unittest.main()
