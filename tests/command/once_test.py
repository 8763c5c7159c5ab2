#!/usr/bin/env python3
"""zklock once: at most one success in a period, or for a text; and no success is marked that was none."""

import json
import random
import signal
import socket
import time
import unittest

from command import GET_DATA, MULTI, PATIENCE_S, QUICK, Between, Cable, CommandTest, children_of, create, set_data, wait_until

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
        self.assertIn(f"to run it anew: zklock once --reset {self.resource}", err)
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

    def test_a_job_is_not_ended_for_its_grant_between_two_probes(self):
        """The mark is read at the grant, more than half a period after the session's probe."""
        options = ["--tick-time", "500ms", "--session-timeout", "6s"]  # a period of 2 s
        first = self.start("run", self.resource, "-c", "echo run >>runs; sleep 60")
        wait_until(lambda: self.runs() == 1, "the first runs")
        job = self.start("once", *options, self.resource, "-c", "sleep 5")
        self.wait_for_queue(2)
        time.sleep(1.2)
        self.signal(first, signal.SIGTERM)
        self.end(job, 0)

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

    def begin(self, *options):
        """Returns the process and that which keeps the session, as the job runs until there is a file `go`."""
        process = self.start("once", *QUICK, *options, self.resource, "-c", JOB + "; while [ ! -e go ]; do sleep 0.02; done")
        wait_until(lambda: self.runs() == 1, "it runs")
        return process, int(self.queue()[0]["process_id"])

    def let_it_succeed(self, process):
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        wait_until(lambda: len(children_of(process.pid)) == 1, "the job has ended")
        time.sleep(0.2)

    def test_a_success_is_marked_whatever_signal_comes_after_it(self):
        process, holder = self.begin("--period", LONG)
        self.signal(holder, signal.SIGSTOP)
        self.let_it_succeed(process)
        self.signal(process, signal.SIGTERM)
        time.sleep(0.2)
        self.signal(holder, signal.SIGCONT)
        self.end(process, 0)
        self.assertEqual(self.mark()["success"]["status"], 0)

    def test_a_success_that_somebody_did_not_let_be_marked_is_none(self):
        cable = Cable()
        process, _ = self.begin("--hosts", cable.address)
        cable.is_whole = False
        self.let_it_succeed(process)
        for _ in range(2):
            self.signal(process, signal.SIGTERM)
            time.sleep(0.2)
        _, err = self.end(process, 70)
        self.assertIn("the process that keeps the session is dead", err)

    def test_an_interrupt_before_it_begins_marks_no_failure(self):
        asked = []

        def alter(opcode, request, reply):
            if opcode == GET_DATA and request.endswith(b"/done\0"):
                asked.append(request)
                time.sleep(1)
            return reply

        process = self.start("once", *QUICK, "--hosts", Between(alter).address, self.resource, "-c", JOB)
        wait_until(lambda: asked, "it has the lock, and reads the mark")
        self.signal(process, signal.SIGTERM)
        self.end(process, 128 + signal.SIGTERM)
        self.assertEqual(self.runs(), 0)
        self.assertIsNone(self.mark())

    def mark(self):
        return json.loads(self.run_it(0, "once", "--show", "--json", self.resource)[0])["once"]

    def test_shows_what_was_and_what_is_due(self):
        self.assertIsNone(self.mark())
        self.assertIn("no success is marked", self.run_it(0, "once", "--show", self.resource)[0])
        before_ms = time.time() * 1000
        self.once(0, "--period", "1d", line="sleep 0.3")
        mark = self.mark()
        self.assertEqual((mark["success"]["host"], mark["success"]["status"], mark["failure"]), (socket.gethostname(), 0, None))
        self.assertLess(abs(mark["success"]["ended_ms"] - before_ms), PATIENCE_S * 1000)
        self.assertTrue(300 <= mark["success"]["took_ms"] <= mark["success"]["ended_ms"] - mark["asked_ms"] + 10, mark)
        self.assertEqual((mark["period_ms"], mark["text"]), (86400000, None))
        self.assertEqual(mark["due_ms"], (mark["asked_ms"] // 86400000 + 1) * 86400000)
        out, _ = self.run_it(0, "once", "--show", self.resource)
        self.assertRegex(out, rf"last success: \d{{4}}-.* UTC, .* ago, on {socket.gethostname()}, after [3-9]\d\d ms")
        self.assertRegex(out, r"due next: \d{4}-\d\d-\d\d 00:00:00 UTC, in ")

    def test_shows_a_whole_week_from_monday(self):
        self.once(0, "--period", "2w")
        due_s = self.mark()["due_ms"] / 1000
        self.assertEqual(time.strftime("%a %H:%M:%S", time.gmtime(due_s)), "Mon 00:00:00")

    def test_shows_a_failure_beside_the_success_before(self):
        self.once(0, "--until-changed", "a")
        first = self.mark()
        self.once(3, "--until-changed", "b", line="exit 3")
        self.once(4, "--until-changed", "b", line="exit 4")
        second = self.mark()
        self.assertEqual(second["failure"]["status"], 4)
        self.assertGreaterEqual(second["failure"]["ended_ms"], first["success"]["ended_ms"])
        self.assertEqual({**second, "failure": None}, first)
        self.assertIn("with status 4", self.run_it(0, "once", "--show", self.resource)[0])
        self.once(0, "--until-changed", "a")
        self.assertEqual(self.runs(), 1)  # it was done, and the failures have not changed that
        self.once(0, "--until-changed", "b")
        self.assertEqual((self.mark()["text"], self.mark()["failure"]), ("b", None))

    def test_shows_who_runs_it(self):
        process = self.start("once", *QUICK, self.resource, "-c", "echo run >>runs; sleep 60")
        wait_until(lambda: self.runs() == 1, "it runs")
        self.assertRegex(self.run_it(0, "once", "--show", self.resource)[0], r"runs now: .* pid \d+ \(sh\)")
        self.signal(process, signal.SIGTERM)
        self.end(process, 143)
        self.assertEqual(self.mark()["failure"]["status"], 143)

    def test_shows_marks_of_before_and_of_strangers(self):
        path = f"/locks/{self.resource}/done"
        create(["/locks/" + self.resource, path])
        for data, text in ((b"asked_ms=86400000\ntoken=1\n", "1970|ago"), (b"", "no success"),
                           (b"asked_ms=86400000\nperiod_ms=86400000\n", "due since: 1970-01-03 00:00:00 UTC, "),
                           (b"\xff\x1b[2J\0\n\n=", "no success"),
                           (b"asked_ms=1\ntoken=x\nperiod_ms=-1\nhost=\x1b[2Jx\ntook_ms=99999999999999999999\n", "on .\\[2Jx\n"),
                           (b"asked_ms=1\ntext=" + b"x" * 9999, "another than 'xxx"),
                           (b"asked_ms=9223372036854775807\nperiod_ms=86400000\n", "no success"),
                           (b"asked_ms=253402300799999\nperiod_ms=86400000\nended_ms=-9223372036854775808\n", "last success: .* ago")):
            set_data(path, data)
            out, _ = self.run_it(0, "once", "--show", self.resource)
            self.assertRegex(out, text)
            self.assertNotIn("\x1b", out)
            self.mark()
            self.assertIn("a job of zklock once", self.run_it(0, "status", self.resource)[0])

    def test_status_knows_it(self):
        self.once(0)
        self.assertIn("a job of zklock once:\n    last success", self.run_it(0, "status", self.resource)[0])
        self.assertEqual(json.loads(self.run_it(0, "status", "--json", self.resource)[0])["once"], self.mark())
        self.assertIsNone(json.loads(self.run_it(0, "status", "--json", self.resource + "x")[0])["once"])

    def test_is_due_again_after_a_reset(self):
        self.assertIn("no mark is there", self.run_it(0, "once", "--reset", self.resource)[1])
        self.once(0)
        self.assertEqual(self.run_it(0, "once", "--reset", self.resource), ("", ""))
        self.once(0)
        self.assertEqual(self.runs(), 2)
        self.assertIsNotNone(self.mark())

    def test_no_reset_while_it_runs(self):
        process = self.start("once", *QUICK, self.resource, "-c", "echo run >>runs; while [ ! -e go ]; do sleep 0.02; done")
        wait_until(lambda: self.runs() == 1, "it runs")
        _, err = self.run_it(5, "once", "--reset", "-n", "-E", "5", self.resource)
        self.assertIn("nothing was done: behind 1, held by", err)
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        self.run_it(0, "once", "--reset", self.resource)
        self.end(process, 0)
        self.once(0)
        self.assertEqual(self.runs(), 2)

    def test_wrong_use_of_show_and_reset(self):
        for options in (["--show"], ["--show", "--reset", "x"], ["--show", "x", "y"], ["--show", "x", "-c", "y"], ["--json", "x", "y"],
                        ["--reset"], ["--show", "a/b"]):
            self.run_it(64, "once", *options)


if __name__ == "__main__":
    unittest.main()
