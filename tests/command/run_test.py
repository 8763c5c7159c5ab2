#!/usr/bin/env python3
"""zklock run: what it ends with, what the child is given, signals, loss."""

import os
import random
import re
import signal
import subprocess
import time
import unittest

from command import DELETE, PATIENCE_S, QUICK, ZKLOCK, Between, Cable, CommandTest, TerminalTest, children_of, is_alive, wait_until


HEEDS = "echo $$ >pid; while :; do date +%s%N >alive; done"
DEAF = "trap '' TERM; " + HEEDS


def is_running(argument):
    """A process other than a shell, whose command line is `sleep ARGUMENT`."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if file.read() == f"sleep\0{argument}\0".encode() and is_alive(pid):
                    return True
        except OSError:
            pass
    return False


class Ends(CommandTest):
    def test_with_the_childs_status(self):
        self.run_it(3, "run", self.resource, "--", "sh", "-c", "exit 3")
        self.run_it(0, "run", self.resource, "true")
        self.run_it(5, "run", self.resource, "-c", "exit 5")
        self.run_it(128 + signal.SIGTERM, "run", self.resource, "--", "sh", "-c", "kill -TERM $$")

    def test_well_without_standard_files(self):
        line = f"{ZKLOCK} run {self.resource} -c 'exec >out; echo $ZKLOCK_RESOURCE' <&- >&- 2>&-"
        self.assertEqual(subprocess.run(["bash", "-c", line], cwd=self.directory, check=False).returncode, 0)
        self.assertEqual(self.text_of("out"), self.resource + "\n")

    def test_with_the_childs_status_if_the_parent_ignores_SIGCHLD(self):
        process = self.start("run", self.resource, "-c", "exit 3",
                             preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.end(process, 3)

    def test_well_whatever_the_command_is_called(self):
        for name in "a\nb", "b\x1b[31m", "\udcff", "\u00fc" * 120:
            _, err = self.run_it(127, "run", "-q", self.resource, "--", "./" + name, errors="replace")
            self.assertIn("No such file", err)

    def test_well_with_the_resource_and_the_command_behind_dashes(self):
        resource = "-" + self.resource
        for arguments in ("--", resource, "--", "echo", "--", "x"), ("--", resource, "echo", "--", "x"):
            self.assertEqual(self.run_it(0, "run", *arguments)[0], "-- x\n")

    def test_like_a_shell_if_there_is_no_such_command(self):
        _, err = self.run_it(127, "run", self.resource, "--", "no-such-command")
        self.assertIn("no-such-command: No such file", err)
        self.run_it(126, "run", self.resource, "--", self.directory)

    def test_with_64_if_the_command_line_is_wrong(self):
        wrong = {
            ("--wait", "abc", self.resource, "true"): "--wait 'abc'",
            ("--nonblock", "--wait", "1", self.resource, "true"): "contradict",
            ("--no-such-option", self.resource, "true"): "--no-such-option",
            ("--wait",): "needs a value",
            ("-Z", self.resource, "true"): "'-Z'",
            (self.resource,): "no COMMAND",
            (): "no RESOURCE",
            ("-c", "true", self.resource, "true"): "both",
            ("--semaphore", "0", self.resource, "true"): "from 1 to 1000",
            ("--shared", "--semaphore", "2", self.resource, "true"): "only one of",
            ("--naming", "kazo", self.resource, "true"): "--naming 'kazo': must be",
            ("--naming", "kazoo", "--semaphore", "2", self.resource, "true"): "no permits",
            ("--naming", "leader-latch", "-s", self.resource, "true"): "no readers",
            ("--naming", "leader-latch", "--revocable", self.resource, "true"): "wait for ever",
            ("a/b", "true"): "a/b",
            ("--session-timeout", "1s", self.resource, "true"): "ticks",
            ("--session-timeout", "never", self.resource, "true"): "session-timeout 'never'",
            ("--grace", "29s", self.resource, "true"): "at most",
            ("--revocable", "--on-lost", "ignore", self.resource, "true"): "contradict",
            ("--restart", "--on-lost", "ignore", self.resource, "true"): "contradict",
        }
        for arguments, message in wrong.items():
            with self.subTest(arguments):
                _, err = self.run_it(64, "run", *arguments)
                self.assertIn(message, err)

    def test_with_64_if_a_time_is_none(self):
        for time_given in "", " 1", "1 s", "-1", "1e3", "0x10", "inf", "nan", ".", "1.2.3", "5x", "101d":
            with self.subTest(time_given):
                _, err = self.run_it(64, "run", "--max-hold", time_given, self.resource, "true")
                self.assertIn(f"--max-hold '{time_given}'", err)

    def test_with_1_or_what_was_asked_for_if_it_is_taken(self):
        self.start_holder()
        _, err = self.run_it(1, "run", "-v", "-n", self.resource, "true")
        self.assertRegex(err, r"behind 1, held by .* pid \d+ \(sh\) for ")
        self.run_it(9, "run", "-n", "-E", "9", self.resource, "true")
        _, err = self.run_it(0, "run", "-q", "-w", "0.3", "-E", "0", self.resource, "false")
        self.assertEqual(err, "")

    def test_with_69_if_no_server_answers(self):
        _, err = self.run_it(69, "run", "--hosts", "127.0.0.1:1", "--connect-timeout", "0.5", self.resource, "true")
        self.assertIn("127.0.0.1:1", err)
        _, err = self.run_it(69, "run", "--hosts", "127.0.0.1:1", "-w", "0.5", self.resource, "true")
        self.assertRegex(err, r"not connected for [5-9]\d\d ms")

    def test_with_64_and_the_rule_if_there_can_be_no_such_resource(self):
        _, err = self.run_it(64, "run", "accounts/2", "true")
        self.assertEqual(
            err,
            'zklock run: resource "accounts/2": a name must not contain a slash (an absolute path starts with one)\n',
        )

    def test_at_once_if_it_is_asked_to_while_it_connects(self):
        process = self.start("run", "--hosts", "192.0.2.1:2181", self.resource, "true")
        wait_until(lambda: children_of(process.pid), "the holder is there, and connects")
        self.signal(process, signal.SIGINT)
        self.end(process, 128 + signal.SIGINT)


class Gives(CommandTest):
    def test_the_grant_in_the_environment(self):
        out, _ = self.run_it(0, "run", self.resource, "--", "sh", "-c",
                             "echo $ZKLOCK_RESOURCE $ZKLOCK_TOKEN $ZKLOCK_NODE ${ZKLOCK_SLOT-none}")
        resource, token, node, slot = out.split()
        self.assertEqual((resource, slot), (self.resource, "none"))
        self.assertGreater(int(token), 0)
        self.assertTrue(node.startswith(f"/locks/{self.resource}/"))

    def test_rising_tokens(self):
        tokens = [int(self.run_it(0, "run", self.resource, "-c", "echo $ZKLOCK_TOKEN")[0]) for _ in range(3)]
        self.assertEqual(tokens, sorted(set(tokens)))

    def test_each_holder_of_a_permit_a_slot_of_its_own(self):
        line = "echo $ZKLOCK_SLOT; while [ ! -e go ]; do sleep 0.05; done"
        holders = [self.start("run", "--semaphore", "3", self.resource, "-c", line) for _ in range(3)]
        self.wait_for_queue(3)
        fourth = self.start("run", "--semaphore", "3", self.resource, "-c", "[ -e go ] && echo $ZKLOCK_SLOT")
        self.wait_for_queue(4)
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        slots = sorted(self.end(holder, 0)[0].strip() for holder in holders)
        self.assertEqual(slots, ["0", "1", "2"])
        self.assertIn(self.end(fourth, 0)[0].strip(), slots)

    def test_nothing_else_to_the_child(self):
        read, write = os.pipe()
        os.set_inheritable(write, True)
        script = "ls /proc/self/fd | tr '\\n' ' '; grep -E 'SigBlk|SigIgn' /proc/self/status"
        found, _ = self.run_it(0, "run", self.resource, "-c", script)
        here = subprocess.run(["sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        os.close(read)
        os.close(write)
        self.assertEqual(found, here)

    def test_it_what_the_shell_gave(self):
        """An ignored signal stays ignored: nohup."""
        out, _ = self.run_it(0, "run", self.resource, "-c", "grep SigIgn /proc/self/status",
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.assertTrue(int(out.split()[1], 16) & 1)


class Excludes(CommandTest):
    def test_200_shells_that_add_one(self):
        with open(self.path("count"), "w", encoding="ascii") as file:
            file.write("0\n")
        line = "n=$(cat count); sleep 0.01; echo $((n + 1)) >count"
        shells = [self.start("run", "--connect-timeout", "60s", self.resource, "-c", line) for _ in range(200)]
        for shell in shells:
            _, err = shell.communicate(timeout=240)
            self.assertEqual(shell.returncode, 0, err)
        self.assertEqual(self.text_of("count"), "200\n")

    def test_readers_share(self):
        self.start_holder("--shared")
        self.run_it(0, "run", "-n", "--shared", self.resource, "true")
        self.run_it(1, "run", "-n", self.resource, "true")

    def test_all_of_a_set_or_none(self):
        other = self.resource + "-other"
        self.start_holder("--also", other)
        self.run_it(1, "run", "-n", other, "true")
        _, err = self.run_it(1, "run", "-n", self.resource + "-third", "--also", other, "true")
        self.assertIn(f"one of {self.resource}-third, {other}: the lock is held", err)
        self.run_it(0, "run", "-n", self.resource + "-third", "true")

    def test_nobody_waits_for_the_end_of_what_the_command_wrote(self):
        """Once zklock has ended its output is at its end, though the session may take longer to close."""
        ours, theirs = os.pipe()
        process = subprocess.Popen([ZKLOCK, "run", *QUICK, self.resource, "--", "echo", "all"], stdout=theirs)
        os.close(theirs)
        process.wait()
        os.set_blocking(ours, False)
        self.assertEqual(os.read(ours, 100), b"all\n")
        self.assertEqual(os.read(ours, 100), b"")  # the end; it would raise if somebody could still write
        os.close(ours)

    def test_nor_for_the_end_of_any_other_pipe(self):
        ours, theirs = os.pipe()
        self.start("run", *QUICK, self.resource, "true", pass_fds=[theirs]).wait()
        os.close(theirs)
        os.set_blocking(ours, False)
        self.assertEqual(os.read(ours, 100), b"")
        os.close(ours)

    def test_and_releases_after_an_outage_what_nobody_needs(self):
        """The process of the session outlives the command, and the time that a release may take."""
        cable = Cable()
        self.addCleanup(setattr, cable, "is_whole", True)  # then nothing is left that waits for servers
        process = self.start("run", "--hosts", cable.address, "--tick-time", "500ms", "--session-timeout", "40s",
                             self.resource, "-c", "while [ ! -e go ]; do sleep 0.05; done")
        self.wait_for_queue(1)
        holder = int(self.queue()[0]["process_id"])
        cable.pull()
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        self.end(process, 0)
        time.sleep(6)  # longer than a release is waited for
        self.assertTrue(is_alive(holder))
        self.assertEqual(len(self.queue()), 1)
        cable.is_pulled = False
        wait_until(lambda: not self.queue(), "nothing is left", 15)  # the session would be there for longer
        wait_until(lambda: not is_alive(holder), "it ends")

    def test_unless_it_is_asked_to_end(self):
        cable = Cable()
        self.addCleanup(setattr, cable, "is_whole", True)  # then nothing is left that waits for servers
        process, child = self.start_holder("--hosts", cable.address)
        holder = self.holder_process_of(process, child)
        cable.pull()
        self.end(process, 75)
        self.assertTrue(is_alive(holder))
        self.signal(holder, signal.SIGTERM)
        wait_until(lambda: not is_alive(holder), "it ends")

    def test_and_releases_the_moment_the_child_ends(self):
        self.run_it(0, "run", self.resource, "true")
        self.assertEqual(self.queue(), [])


class Passes(CommandTest):
    def test_signals_on_to_the_childs_whole_group(self):
        process, child = self.start_holder(
            command="sleep 60 & echo $! >grandchild; echo $$ >pid; wait")
        grandchild = int(self.text_of("grandchild"))
        self.assertEqual(os.getpgid(child), child)
        self.signal(process, signal.SIGTERM)
        self.end(process, 128 + signal.SIGTERM)
        wait_until(lambda: not is_alive(grandchild), "the grandchild has heard it too")
        self.assertEqual(self.queue(), [])

    def test_and_the_child_may_have_its_own_way_to_end(self):
        process, _ = self.start_holder(command="trap 'exit 7' USR1; echo $$ >pid; while :; do sleep 0.05; done")
        self.signal(process, signal.SIGUSR1)
        self.end(process, 7)

    def test_nothing_is_left_in_the_queue_when_a_wait_is_interrupted(self):
        self.start_holder()
        waiter = self.start("run", self.resource, "true")
        self.wait_for_queue(2)
        self.signal(waiter, signal.SIGINT)
        self.end(waiter, 128 + signal.SIGINT)
        self.assertEqual(len(self.queue()), 1)

    def test_none_that_was_ignored_when_it_was_started(self):
        """nohup, and the background of a script."""
        holder, _ = self.start_holder()
        waiter = self.start("run", self.resource, "true",
                            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait_for_queue(2)
        self.signal(waiter, signal.SIGHUP)
        time.sleep(0.3)
        self.assertIsNone(waiter.poll())
        self.assertEqual(len(self.queue()), 2)
        self.signal(holder, signal.SIGTERM)
        self.end(waiter, 0)

    def test_nothing_is_left_if_its_deletion_takes_a_while(self):
        def takes_a_while(opcode, _):
            time.sleep(1 if opcode == DELETE else 0)
            return False

        self.start_holder()
        between = Between(lambda opcode, request, reply: reply, takes_a_while)
        waiter = self.start("run", "--hosts", between.address, self.resource, "true")
        self.wait_for_queue(2)
        self.signal(waiter, signal.SIGTERM)
        self.end(waiter, 128 + signal.SIGTERM)
        self.assertEqual(len(self.queue()), 1)

    def test_nothing_is_left_if_all_of_its_processes_are_asked_to_end(self):
        """As systemd does, and killall. The process of the session passes it on: that is no second request. The lock's
        holder has a long session, as it must not lose the lock meanwhile, however slow the machine is."""
        self.start("run", self.resource, "sleep", "60")
        self.wait_for_queue(1)
        for i in range(12):
            pause = i * 0.0002
            waiter = self.start("run", self.resource, "true")
            self.wait_for_queue(2)
            for pid in sorted([int(self.queue()[1]["process_id"]), waiter.pid], reverse=i % 2 == 0):
                self.signal(pid, signal.SIGTERM)
                time.sleep(pause)
            self.end(waiter, 128 + signal.SIGTERM)
            self.assertEqual(len(self.queue()), 1, pause)

    def test_nothing_is_left_if_a_holder_is_asked_twice(self):
        for pause in [0.0003 * i for i in range(20)]:
            process = self.start("run", self.resource, "--", "sh", "-c", "echo run >runs; exec sleep 60")
            wait_until(lambda: self.text_of("runs") == "run\n", "it runs")
            os.remove(self.path("runs"))
            self.signal(process, signal.SIGTERM)
            time.sleep(pause)
            self.signal(process, signal.SIGTERM)
            process.communicate(timeout=PATIENCE_S)
            self.assertEqual(self.queue(), [], pause)

    def test_an_interrupt_to_a_child_that_is_stopped(self):
        process, child = self.start_holder()
        self.signal(child, signal.SIGSTOP)
        time.sleep(0.2)
        self.signal(process, signal.SIGTERM)
        self.end(process, 128 + signal.SIGTERM)

    def test_a_request_to_end_that_reaches_the_process_of_the_node(self):
        process, child = self.start_holder()
        pid = int(self.queue()[0]["process_id"])
        self.assertEqual(pid, self.holder_process_of(process, child))
        self.signal(pid, signal.SIGTERM)
        self.end(process, 128 + signal.SIGTERM)


class EndsTheChild(CommandTest):
    def expect_end_before_the_next(self, hurt, *options, command=HEEDS):
        """Another one is granted the lock; the child was dead before."""
        process, child = self.start_holder(*options, command=command)
        other = self.start("run", *QUICK, self.resource, "-c", "date +%s%N")
        self.wait_for_queue(2)
        hurt(process, child)
        out, _ = self.end(other, 0)
        self.assertFalse(is_alive(child))
        last = self.text_of("alive").strip()
        if last:
            self.assertLess(int(last), int(out))
        return process

    def test_when_the_process_of_the_session_is_killed(self):
        process = self.expect_end_before_the_next(
            lambda process, child: self.kill(self.holder_process_of(process, child)))
        _, err = self.end(process, 75)
        self.assertIn("is dead", err)

    def test_when_the_process_of_the_session_is_stopped(self):
        stopped = []

        def stop(process, child):
            stopped.append(self.holder_process_of(process, child))
            self.signal(stopped[0], signal.SIGSTOP)

        for command in DEAF, HEEDS:
            process = self.expect_end_before_the_next(stop, command=command)
            self.signal(stopped.pop(), signal.SIGCONT)
            self.end(process, 75)
            os.remove(self.path("pid"))

    def test_when_nothing_comes_from_the_servers_any_more(self):
        cable = Cable()
        self.addCleanup(setattr, cable, "is_whole", True)  # then nothing is left that waits for servers
        process, child = self.start_holder("--hosts", cable.address,
                                           command="trap 'date +%s%N >told; exit' TERM; echo $$ >pid; "
                                                   "while :; do sleep 0.01; done")
        other = self.start("run", *QUICK, self.resource, "-c", "date +%s%N")
        self.wait_for_queue(2)
        cable.is_whole = False
        out, _ = self.end(other, 0)
        self.assertFalse(is_alive(child))
        self.assertLess(int(self.text_of("told")), int(out))
        _, err = self.end(process, 75)
        self.assertIn("the lock is about to end: no answer from the servers", err)
        cable.pull()
        cable.is_whole = True
        cable.is_pulled = False  # so that the process of the session ends

    def test_when_zklock_is_stopped_and_nothing_comes_from_the_servers_any_more(self):
        cable = Cable()
        self.addCleanup(setattr, cable, "is_whole", True)  # then nothing is left that waits for servers

        def hurt(process, _):
            self.signal(process, signal.SIGSTOP)
            cable.is_whole = False

        process = self.expect_end_before_the_next(hurt, "--hosts", cable.address)
        self.signal(process, signal.SIGCONT)
        self.end(process, 75)

    def test_when_zklock_itself_is_killed(self):
        self.expect_end_before_the_next(lambda process, child: self.kill(process))

    def test_and_its_children_when_zklock_itself_is_killed(self):
        process, _ = self.start_holder(command="sleep 60 & echo $! >grandchild; echo $$ >pid; wait")
        self.kill(process)
        wait_until(lambda: not is_alive(int(self.text_of("grandchild"))), "the grandchild ends")
        self.wait_for_queue(0)

    def test_when_zklock_is_stopped_and_the_lock_is_lost(self):
        process, child = self.start_holder()
        holder = self.holder_process_of(process, child)
        self.signal(process, signal.SIGSTOP)
        time.sleep(5)  # longer than the session
        self.assertTrue(is_alive(child))
        self.run_it(1, "run", "-n", self.resource, "true")
        self.run_it(0, "break", "--yes", self.resource, self.queue()[0]["node"])
        wait_until(lambda: not is_alive(child), "the process of the session ends it")
        self.assertTrue(is_alive(holder))
        self.signal(process, signal.SIGCONT)
        self.end(process, 75)

    def test_whatever_is_killed_and_when(self):
        """The child bears a name of its own, and is looked for among all processes."""
        chance = random.Random(3)
        for i in range(16):
            name = f"61.{chance.randrange(10**9)}"
            process = self.start("run", *QUICK, self.resource, "--", "sh", "-c", f"sleep {name} & wait")
            time.sleep(chance.uniform(0, 0.1))
            children = children_of(process.pid)  # none yet, on a slow machine
            self.kill(process.pid if i % 2 == 0 or not children else children[0])
            process.communicate(timeout=PATIENCE_S)
            wait_until(lambda name=name: not is_running(name), f"sleep {name} is gone", 10)
        self.wait_for_queue(0)

    def test_even_if_it_does_not_heed_SIGTERM(self):
        self.expect_end_before_the_next(
            lambda process, child: self.kill(self.holder_process_of(process, child)),
            command=DEAF)

    def test_when_somebody_breaks_the_lock(self):
        process, child = self.start_holder(command="trap 'echo told >told; exit 0' TERM; echo $$ >pid; "
                                                   "while :; do sleep 0.05; done")
        self.run_it(0, "break", "--yes", self.resource, self.queue()[0]["node"])
        _, err = self.end(process, 75)
        self.assertIn("the lock is lost", err)
        self.assertEqual(self.text_of("told"), "told\n")
        self.assertFalse(is_alive(child))

    def break_unheard(self, status, options, broken):
        """News of a deletion come after a third of the session timeout, which is 10 s here."""
        process = self.start("run", *options, self.resource, "-c",
                             f"echo >runs; while [ ! -e go ]; do sleep 0.02; done; exit {status}")
        wait_until(lambda: self.text_of("runs") != "", "it runs")
        self.run_it(0, "break", "--yes", broken, self.queue(broken)[0]["node"])
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        _, err = self.end(process, 75)
        self.assertRegex(err, rf"^zklock run: {self.resource}: the lock is lost: .*\n$")

    def test_or_says_75_if_it_ended_before_it_was_known_that_the_lock_was_broken(self):
        self.break_unheard(0, [], self.resource)

    def test_or_says_75_whatever_it_has_ended_with(self):
        self.break_unheard(3, [], self.resource)

    def test_or_says_75_if_another_resource_of_a_set_was_broken_unheard(self):
        self.break_unheard(0, ["--also", self.resource + "-2"], self.resource + "-2")

    def test_or_says_75_if_its_slot_was_broken_unheard(self):
        self.break_unheard(0, ["--semaphore", "2"], f"/locks/{self.resource}/stripe-0000")

    def test_when_somebody_breaks_its_slot(self):
        process, child = self.start_holder("--semaphore", "2")
        slot = f"/locks/{self.resource}/stripe-0000"
        self.run_it(0, "break", "--yes", slot, self.queue(slot)[0]["node"])
        _, err = self.end(process, 75)
        self.assertIn("the lock is lost", err)
        self.assertFalse(is_alive(child))

    def test_what_a_shell_has_started_has_its_grace_too(self):
        worker = "trap 'sleep 0.1; echo cleaned >cleaned; exit' TERM; echo $$ >worker; while :; do sleep 0.02; done"
        process, _ = self.start_holder(command=f'echo $$ >pid; sh -c "{worker}"; true'.replace("$$ >worker", "\\$\\$ >worker"))
        wait_until(lambda: self.text_of("worker") != "", "the worker runs")
        self.run_it(0, "break", "--yes", self.resource, self.queue()[0]["node"])
        self.end(process, 75)
        self.assertEqual(self.text_of("cleaned"), "cleaned\n")

    def test_and_not_at_once_if_nobody_reads_what_zklock_says(self):
        line = "exec 2>/dev/null; trap 'echo told >told; exit 0' TERM; echo $$ >pid; while :; do sleep 0.05; done"
        ours, theirs = os.pipe()
        os.close(ours)
        process = subprocess.Popen([ZKLOCK, "run", *QUICK, self.resource, "-c", line], stderr=theirs, cwd=self.directory)
        os.close(theirs)
        wait_until(lambda: self.text_of("pid") != "", "the child runs")
        self.run_it(0, "break", "--yes", self.resource, self.queue()[0]["node"])
        self.assertEqual(process.wait(PATIENCE_S), 75)
        self.assertEqual(self.text_of("told"), "told\n")

    def test_after_max_hold(self):
        process, _ = self.start_holder("--max-hold", "1.5")
        self.assertIn(f"{self.resource}: the time of --max-hold is over\n", self.end(process, 75)[1])
        self.assertEqual(self.queue(), [])

    def test_not_before_max_hold_however_long_the_grace_is(self):
        line = "trap 'sleep 0.5; echo told >told; exit' TERM; echo $$ >pid; while :; do sleep 0.05; done"
        began = time.monotonic()
        process = self.start("run", "--tick-time", "500ms", "--max-hold", "1", self.resource, "-c", line)
        self.end(process, 75)
        self.assertGreaterEqual(time.monotonic() - began, 1.4)
        self.assertEqual(self.text_of("told"), "told\n")

    def test_when_somebody_asks_for_a_lock_that_is_revocable(self):
        process, child = self.start_holder("--revocable")
        out, _ = self.run_it(0, "revoke", self.resource, self.queue()[0]["node"])
        self.assertIn("is asked to give up", out)
        _, err = self.end(process, 75)
        self.assertIn("somebody has asked for the lock", err)
        self.assertFalse(is_alive(child))
        self.assertEqual(self.queue(), [])

    def test_by_a_line_of_ones_own(self):
        process, _ = self.start_holder("--on-lost", "echo $ZKLOCK_PID >told; kill $ZKLOCK_PID")
        self.run_it(0, "break", "--yes", self.resource, self.queue()[0]["node"])
        self.end(process, 75)
        self.assertEqual(self.text_of("told"), self.text_of("pid"))

    def test_and_that_line_too(self):
        name = f"61.{random.randrange(10**9)}"
        process, _ = self.start_holder("--on-lost", f"sleep {name}; true", "--grace", "0.3")
        self.run_it(0, "break", "--yes", self.resource, self.queue()[0]["node"])
        self.end(process, 75)
        self.assertFalse(is_running(name))

    def test_not_while_zklock_alone_is_stopped(self):
        process, child = self.start_holder()
        self.signal(process, signal.SIGSTOP)
        time.sleep(0.3)
        with open(f"/proc/{child}/stat", encoding="ascii") as file:
            self.assertNotEqual(file.read().rsplit(")", 1)[1].split()[0], "T")
        self.kill(self.holder_process_of(process, child))
        self.wait_for_queue(0)
        self.assertTrue(is_alive(child))
        self.signal(process, signal.SIGCONT)
        self.end(process, 75)
        self.assertFalse(is_alive(child))

    def test_not_if_that_is_asked_for(self):
        process, _ = self.start_holder("--on-lost", "ignore", command="echo $$ >pid; sleep 2; echo all >all")
        self.run_it(0, "break", "--yes", self.resource, self.queue()[0]["node"])
        self.end(process, 75)
        self.assertEqual(self.text_of("all"), "all\n")


class Keeps(CommandTest):
    """--min-hold: the lock for a while, however short the command was."""

    def started_and_ended(self, *options):
        process = self.start("run", *QUICK, "--min-hold", "2s", *options, self.resource, "-c", "echo ran >ran; exit 3")
        wait_until(lambda: self.text_of("ran") != "", "it has run")
        return process

    def test_the_lock_when_the_command_has_ended(self):
        began = time.monotonic()
        process = self.started_and_ended()
        time.sleep(0.5)
        self.assertEqual([one["holds"] for one in self.queue()], [True])
        self.end(process, 3)
        self.assertGreaterEqual(time.monotonic() - began, 2)
        self.assertEqual(self.queue(), [])

    def test_it_not_after_a_signal(self):
        process = self.started_and_ended()
        self.signal(process, signal.SIGTERM)
        self.end(process, 3)
        self.assertEqual(self.queue(), [])

    def test_it_not_if_somebody_asks(self):
        process = self.started_and_ended("--revocable")
        self.run_it(0, "revoke", self.resource, self.queue()[0]["node"])
        self.end(process, 3)

    def test_and_says_75_if_it_is_lost(self):
        process = self.started_and_ended()
        self.run_it(0, "break", "--yes", self.resource, self.queue()[0]["node"])
        _, err = self.end(process, 75)
        self.assertIn("the lock is lost", err)

    def test_it_not_if_the_process_of_the_session_is_killed(self):
        """Whatever the command has ended with: others can have the lock when the session is over."""
        process = self.started_and_ended()
        self.kill(int(self.queue()[0]["process_id"]))
        _, err = self.end(process, 75)
        self.assertIn("the process that keeps the session is dead", err)

    def test_it_not_if_it_is_lost_or_a_signal_comes_while_the_command_runs(self):
        began = time.monotonic()
        process, _ = self.start_holder("--min-hold", "60s", command="trap 'exit 3' TERM; echo $$ >pid; while :; do sleep 0.05; done")
        self.signal(process, signal.SIGTERM)
        self.end(process, 3)
        os.remove(self.path("pid"))
        process, _ = self.start_holder("--min-hold", "60s")
        self.run_it(0, "break", "--yes", self.resource, self.queue()[0]["node"])
        self.end(process, 75)
        self.assertLess(time.monotonic() - began, PATIENCE_S)

    def test_nothing_longer_than_max_hold(self):
        self.run_it(64, "run", "--min-hold", "2s", "--max-hold", "1s", self.resource, "true")


class Restarts(CommandTest):
    def test_a_child_that_fails_under_the_same_lock(self):
        line = "echo $ZKLOCK_TOKEN >>tokens; [ $(wc -l <tokens) -ge 2 ]"
        self.run_it(0, "run", "--restart", self.resource, "-c", line)
        tokens = self.text_of("tokens").split()
        self.assertEqual(len(tokens), 2)
        self.assertEqual(tokens[0], tokens[1])

    def test_only_so_often_in_a_row(self):
        began = time.monotonic()
        _, err = self.run_it(3, "run", "--restart-limit", "3", "--restart-pause", "100ms", self.resource, "-c", "echo run >>runs; exit 3")
        self.assertEqual(self.text_of("runs"), "run\n" * 4)
        self.assertEqual(re.findall("started again in ([0-9.]+ m?s)", err), ["100 ms", "200 ms", "400 ms"])
        self.assertGreaterEqual(time.monotonic() - began, 0.7)

    def test_and_leaves_nothing_of_the_old_one(self):
        line = "[ -e old ] && exit 0; sleep 60 & echo $! >old; exit 1"
        self.run_it(0, "run", "--restart", self.resource, "-c", line)
        self.assertFalse(is_alive(int(self.text_of("old"))))

    def test_until_it_is_asked_to_end(self):
        process = self.start("run", "--restart", self.resource, "-c", "echo run >>runs; exit 1")
        wait_until(lambda: self.text_of("runs") != "", "the child has run")
        time.sleep(0.3)
        self.signal(process, signal.SIGTERM)
        process.communicate(timeout=10)
        self.assertEqual(self.queue(), [])
        self.assertEqual(self.text_of("runs"), "run\n")

    def test_but_not_without_the_lock(self):
        """It is lost, or given up, in the pause before the restart."""
        for verb in ["break", "--yes"], ["revoke"]:
            process = self.start("run", *QUICK, "--restart-pause", "60s", "--revocable", self.resource, "-c", "echo ran >ran; exit 1")
            wait_until(lambda: self.text_of("ran") != "", "it has run")
            time.sleep(0.3)
            self.run_it(0, *verb, self.resource, self.queue()[0]["node"])
            self.end(process, 75)
            os.remove(self.path("ran"))

    def test_but_not_while_the_lock_is_released(self):
        """Which takes longer than the pause: the servers do not answer."""
        cable = Cable()
        process = self.start("run", "--hosts", cable.address, "--restart", self.resource, "-c", "echo run >>runs; exit 3")
        wait_until(lambda: self.text_of("runs") != "", "the child has run")
        time.sleep(0.3)
        cable.is_whole = False
        self.signal(process, signal.SIGTERM)
        self.end(process, 3)
        self.assertEqual(self.text_of("runs"), "run\n")
        cable.is_whole = True
        self.wait_for_queue(0)

    def test_but_not_after_it_was_asked_to_end(self):
        """As `systemctl stop` does, and the command then fails."""
        process = self.start("run", "--restart", self.resource, "-c",
                             "trap 'exit 3' TERM; echo run >>runs; while :; do sleep 0.05; done")
        wait_until(lambda: self.text_of("runs") != "", "the child runs")
        self.signal(process, signal.SIGTERM)
        self.end(process, 3)
        self.assertEqual(self.queue(), [])
        self.assertEqual(self.text_of("runs"), "run\n")


class OnATerminal(TerminalTest):
    def command(self, line):
        self.type(f"{ZKLOCK} run {' '.join(QUICK)} {self.resource} -- {line}\n")

    def test_the_child_reads_what_is_typed(self):
        self.command("sh -c 'read x; echo got-$x'")
        self.type("hello\n")
        self.expect("got-hello")
        self.expect("ready> ")

    def test_an_interrupt_is_the_childs(self):
        self.command("sh -c 'trap \"echo interr\"upted INT; sleep 60; exit 4'")
        self.wait_for_queue(1)
        time.sleep(0.5)
        self.type("\x03")
        self.expect("interrupted")
        self.expect("ready> ")
        self.type("echo status-$?\n")
        self.expect("status-4")

    def test_a_stop_stops_both_and_keeps_the_lock(self):
        self.command("sh -c 'while :; do sleep 0.1; done'")
        self.wait_for_queue(1)
        time.sleep(0.5)
        self.type("\x1a")
        self.expect("Stopped")
        self.expect("ready> ")
        time.sleep(5)  # longer than the session
        self.run_it(1, "run", "-n", self.resource, "true")
        self.type("fg\n")
        self.expect("run ")
        time.sleep(0.3)
        self.type("\x03")
        self.expect("ready> ")
        self.type("echo status-$?\n")
        self.expect("status-130")
        self.wait_for_queue(0)

    def test_in_the_background_it_leaves_the_terminal_to_the_shell(self):
        self.command("sh -c 'sleep 1; :'")
        self.wait_for_queue(1)
        time.sleep(0.3)
        self.type("\x1a")
        self.expect("Stopped")
        self.type("bg\n")
        self.wait_for_queue(0)
        time.sleep(0.3)
        self.type("echo still-$((40 + 2))\n")
        self.expect("still-42")

    def script(self, line, shell="/bin/sh"):
        with open(self.path("script"), "w", encoding="utf-8") as file:
            file.write(f"#!{shell}\n{ZKLOCK} run {' '.join(QUICK)} {self.resource} -- {line}\necho went-on-$?\n")
        os.chmod(self.path("script"), 0o755)
        self.type("./script\n")

    def test_the_child_of_a_script_reads_what_is_typed(self):
        self.script("sh -c 'read x; echo got-$x'")
        self.wait_for_queue(1)
        self.type("\x1a")
        self.expect("Stopped")
        self.type("fg\n")
        self.expect("script")
        time.sleep(0.3)
        self.type("hello\n")
        self.expect("got-hello")
        self.expect("went-on-0")

    def test_an_interrupt_ends_the_script_too(self):
        for shell in "/bin/sh", "/bin/bash":
            self.script("sleep 60", shell)
            self.wait_for_queue(1)
            time.sleep(0.3)
            self.type("\x03")
            self.expect("ready> ")
            self.type("echo status-$((100 + $?))\n")
            self.expect("status-230")
            self.assertNotIn("went-on", self.seen)

    def test_from_the_background_it_comes_back_with_the_terminal(self):
        self.command("sh -c 'read x; echo got-$x' &")
        self.wait_for_queue(1)
        time.sleep(0.3)
        self.type("\n")
        self.expect("Stopped")
        self.type("fg\n")
        self.expect("run ")
        time.sleep(0.3)
        self.type("hello\n")
        self.expect("got-hello")

    def test_a_waiter_says_for_whom_it_waits(self):
        self.start_holder()
        self.command("true")
        self.expect(r"behind 1, held by \S+ pid \d+ \(sh\) for ")
        self.type("\x03")
        self.expect("ready> ")
        self.assertEqual(len(self.queue()), 1)

    def test_an_interrupt_of_the_child_ends_restarts_and_min_hold_too(self):
        for options in "--restart --restart-pause 20ms", "--min-hold 60s":
            for line in "sleep 60", "sh -c 'trap \"exit 130\" INT; while :; do sleep 0.05; done'":
                self.type(f"{ZKLOCK} run {' '.join(QUICK)} {options} {self.resource} -- {line}\n")
                self.wait_for_queue(1)
                time.sleep(0.5)
                self.type("\x03")
                self.expect("ready> ")
                self.wait_for_queue(0)
                self.assertNotIn("started again", self.seen)

    def test_a_terminal_that_is_gone_ends_restarts_too(self):
        """The system tells the child, whose terminal it was, and nobody else."""
        self.type(f"{ZKLOCK} run {' '.join(QUICK)} --restart {self.resource} -- sleep 60\n")
        self.wait_for_queue(1)
        time.sleep(0.5)
        os.kill(self.pid, signal.SIGKILL)
        self.wait_for_queue(0)
        time.sleep(1.5)
        self.assertEqual(self.queue(), [])

    def test_a_pipeline_keeps_the_terminal(self):
        self.command("echo from-child | sh -c 'cat; read y </dev/tty; echo got-$y'")
        self.expect("from-child")
        self.type("you\n")
        self.expect("got-you")


if __name__ == "__main__":
    unittest.main()
