#!/usr/bin/env python3
"""zklock hold, wait and observe: locks for scripts that have no command of their own."""

import json
import os
import signal
import socket
import subprocess
import time
import unittest

from command import PATIENCE_S, QUICK, ZKLOCK, Cable, CommandTest, TerminalTest, children_of, wait_until


class Scripts(CommandTest):
    def hold(self, *options, stdin=subprocess.PIPE):
        """Returns the process, and the fields of the line that it prints once it holds."""
        process = subprocess.Popen([ZKLOCK, "hold", *QUICK, *options, self.resource], stdin=stdin, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, cwd=self.directory)
        self.started.append(process)
        return process, process.stdout.readline().split()

    @staticmethod
    def end_input(process):
        process.stdin.close()
        process.stdin = None

    def follow(self, *options, **more):
        return self.start("observe", *options, self.resource, **more)


class Holds(Scripts):
    def test_until_its_input_ends(self):
        process, (token, node) = self.hold()
        one, = self.queue()
        self.assertEqual((int(token), node.rsplit("/", 1)[1], one["holds"]), (one["token"], one["node"], True))
        self.assertEqual(one["label"], "hold")
        process.stdin.write("anything\n" * 10000)
        process.stdin.flush()
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        self.end_input(process)
        self.end(process, 0)
        self.assertEqual(self.queue(), [])

    def test_until_a_signal_if_it_has_no_input(self):
        for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT:
            process, _ = self.hold(stdin=subprocess.DEVNULL)
            time.sleep(0.2)
            self.assertIsNone(process.poll())
            self.signal(process, number)
            self.end(process, 0)
            self.assertEqual(self.queue(), [])

    def test_and_ends_with_75_if_the_lock_is_lost(self):
        process, _ = self.hold()
        self.run_it(0, "break", "--yes", self.resource, self.queue()[0]["node"])
        self.assertEqual(process.wait(PATIENCE_S), 75)
        self.assertIn("the lock is lost", process.stderr.read())

    def test_and_ends_in_time_if_the_process_of_the_session_is_stopped(self):
        process, _ = self.hold()
        holder = int(self.queue()[0]["process_id"])
        self.signal(holder, signal.SIGSTOP)
        self.assertIn("the lock is about to end", process.stderr.readline())
        self.kill(holder)
        self.assertEqual(process.wait(PATIENCE_S), 75)

    def test_only_for_a_while_or_until_somebody_asks(self):
        process, _ = self.hold("--max-hold", "300ms")
        self.assertEqual(process.wait(PATIENCE_S), 75)
        process, _ = self.hold("--revocable")
        self.run_it(0, "revoke", self.resource, self.queue()[0]["node"])
        self.assertEqual(process.wait(PATIENCE_S), 75)

    def test_nothing_if_it_is_taken(self):
        self.start_holder()
        process, line = self.hold("-n", "-E", "9")
        self.assertEqual(line, [])
        self.end(process, 9)

    def test_a_permit_and_its_slot(self):
        slots = [self.hold("--semaphore", "2")[1][1] for _ in range(2)]
        self.assertEqual(sorted(slots), ["0", "1"])

    def test_nothing_that_nobody_was_told_of(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            process = subprocess.Popen([ZKLOCK, "hold", *QUICK, self.resource], stdin=subprocess.PIPE, stdout=full,
                                       stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        _, err = self.end(process, 70)
        self.assertIn("standard output", err)
        self.assertEqual(self.queue(), [])
        reading, writing = os.pipe()
        os.close(reading)
        process = subprocess.Popen([ZKLOCK, "hold", *QUICK, self.resource], stdin=subprocess.PIPE, stdout=writing,
                                   stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        os.close(writing)
        self.assertIn("Broken pipe", self.end(process, 70)[1])

    def test_nothing_of_it_is_left_if_zklock_is_killed(self):
        process, _ = self.hold()
        children = children_of(process.pid)
        self.kill(process)
        wait_until(lambda: not any(os.path.exists(f"/proc/{child}") for child in children), "both processes are gone")
        self.wait_for_queue(0)

    def test_for_a_script_of_bash(self):
        """As docs/command.md shows it."""
        script = """
            coproc LOCK { "$ZKLOCK" hold "$@"; }
            holder=$LOCK_PID input=${LOCK[1]}
            read -r token node <&"${LOCK[0]}" || exit 1
            echo "$token" >token
            "$ZKLOCK" wait -n -q "${@: -1}" && exit 2
            eval "$UNDER_IT"
            exec {input}>&-
            wait "$holder"
        """
        lose = '"$ZKLOCK" break --yes "${@: -1}" "${node##*/}" >/dev/null; while kill -0 "$holder" 2>/dev/null; do sleep 0.1; done; sleep 0.3'
        for under_it, status in ("", 0), (lose, 75):
            ended = subprocess.run(["bash", "-c", script, "script", *QUICK, self.resource], timeout=PATIENCE_S,
                                   env={**os.environ, "ZKLOCK": ZKLOCK, "UNDER_IT": under_it}, cwd=self.directory)
            self.assertEqual(ended.returncode, status)
            self.assertGreater(int(self.text_of("token")), 0)
            self.assertEqual(self.queue(), [])

    def test_until_a_signal_but_not_one_that_was_ignored(self):
        process = subprocess.Popen([ZKLOCK, "hold", *QUICK, self.resource], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.started.append(process)
        process.stdout.readline()
        for child in children_of(process.pid):  # a terminal that is hung up signals them
            self.signal(child, signal.SIGHUP)
        time.sleep(0.5)
        self.assertEqual(len(self.queue()), 1)
        self.signal(process, signal.SIGTERM)
        self.end(process, 0)

    def test_and_ends_by_a_signal_even_if_nobody_reads_its_line(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        self.addCleanup(os.close, writing)
        os.set_blocking(writing, False)
        try:
            while True:
                os.write(writing, bytes(4096))
        except BlockingIOError:
            os.set_blocking(writing, True)
        process = subprocess.Popen([ZKLOCK, "hold", *QUICK, self.resource], stdin=subprocess.PIPE, stdout=writing,
                                   stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        self.wait_for_queue(1)
        time.sleep(0.3)
        self.signal(process, signal.SIGTERM)
        self.end(process, 0)
        self.assertEqual(self.queue(), [])

    def test_wrong_use(self):
        for options in (), ("a", "b"), ("--restart", "a"), ("--grace", "1s", "a"):
            self.run_it(64, "hold", *options)


class HoldsOnATerminal(TerminalTest):
    def command(self, before="", after=""):
        return f"{before}{ZKLOCK} hold {' '.join(QUICK)} {self.resource} {after}\n"

    def test_until_control_d(self):
        self.type(self.command())
        self.wait_for_queue(1)
        self.type("typed\n")
        time.sleep(0.5)
        self.assertEqual(len(self.queue()), 1)
        self.type("\x04")
        self.wait_for_queue(0)

    def test_in_the_background_too(self):
        self.type(self.command(after="&"))
        self.wait_for_queue(1)
        self.type("echo typed\n")
        self.expect("typed")
        time.sleep(0.5)
        self.assertEqual(len(self.queue()), 1)
        self.type("fg\n")
        time.sleep(2.5)
        self.type("\x04")
        self.wait_for_queue(0)

    def test_and_leaves_it_to_the_others_of_a_pipeline(self):
        """Also what was typed before they read it."""
        self.type(self.command(after="| (read line; echo held; while [ ! -e go ]; do sleep 0.05; done; read key </dev/tty; echo got-$key)"))
        self.expect("held")
        time.sleep(0.3)
        self.type("typed\n")
        time.sleep(2)
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        self.expect("got-typed")

    def test_in_the_background_until_the_terminal_is_gone(self):
        self.type("trap '' HUP\n" + self.command(after="&"))
        self.wait_for_queue(1)
        time.sleep(0.3)
        with open("/dev/null", "rb") as nothing:
            os.dup2(nothing.fileno(), self.terminal)  # which closes it
        self.wait_for_queue(0)

    def test_and_gives_it_back_to_a_script(self):
        with open(self.path("script"), "w", encoding="utf-8") as file:
            file.write(self.command(after=">line") + "echo ended-$?\nread x\necho read-$x\n")
        self.type("sh script\n")
        self.wait_for_queue(1)
        time.sleep(0.3)
        self.type("typed\n")
        time.sleep(1.5)
        self.type("\x04")
        self.expect("ended-0")
        self.type("more\n")
        self.expect("read-more")


class Waits(Scripts):
    def test_until_nobody_holds_it(self):
        for options in [], ["-s"], ["--semaphore", "2"]:
            process, _ = self.hold(*options)
            waiter = self.start("wait", self.resource)
            time.sleep(0.5)
            self.assertIsNone(waiter.poll(), options)
            self.end_input(process)
            self.end(waiter, 0)

    def test_while_the_lock_passes_from_one_to_the_next(self):
        first, _ = self.hold()
        second = subprocess.Popen([ZKLOCK, "hold", *QUICK, self.resource], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        self.started.append(second)
        self.wait_for_queue(2)
        waiter = self.start("wait", self.resource)
        time.sleep(0.5)
        self.end_input(first)
        second.stdout.readline()
        time.sleep(0.5)
        self.assertIsNone(waiter.poll())
        self.end_input(second)
        self.end(waiter, 0)

    def test_not_at_all_if_nobody_does(self):
        self.run_it(0, "wait", self.resource)
        self.run_it(0, "wait", "-n", self.resource)

    def test_only_so_long(self):
        self.start_holder()
        _, err = self.run_it(1, "wait", "-w", "300ms", self.resource)
        self.assertIn(f"not free: {self.resource}: behind 1, held by", err)
        self.assertEqual(self.run_it(7, "wait", "-n", "-q", "-E", "7", self.resource)[1], "")

    def test_only_so_long_for_servers_that_do_not_answer(self):
        cable = Cable()
        self.start_holder()
        waiter = self.start("wait", "-w", "3s", "--hosts", cable.address, self.resource)
        began = time.monotonic()
        time.sleep(1)
        cable.is_whole = False
        _, err = self.end(waiter, 69)
        self.assertLess(time.monotonic() - began, 10)
        self.assertIn("no connection", err)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            began = time.monotonic()
            self.run_it(69, "wait", "-w", "500ms", "--hosts", "127.0.0.1:%d" % silent.getsockname()[1], self.resource)
            self.assertLess(time.monotonic() - began, 3)

    def test_wrong_use(self):
        for options in (), ("a", "b"), ("-w", "never", "a"), ("-E", "256", "a"):
            self.run_it(64, "wait", *options)
        self.run_it(64, "wait", "a/b")


class Observes(Scripts):
    def test_each_change(self):
        observer = self.follow()
        self.assertEqual(observer.stdout.readline(), "0\n")
        process, (token, node) = self.hold("--elect", "web-7 port 80")
        self.assertEqual(observer.stdout.readline(), f"{token} {node} web-7 port 80\n")
        self.end_input(process)
        self.assertEqual(observer.stdout.readline(), "0\n")
        self.assertIsNone(observer.poll())

    def test_as_many_as_were_asked_for(self):
        _, (token, node) = self.hold("--elect", "\u00fc")
        self.assertEqual(self.run_it(0, "observe", "--count", "1", self.resource)[0], f"{token} {node} \u00fc\n")
        one = json.loads(self.run_it(0, "observe", "--json", "--count", "1", self.resource)[0])
        self.assertEqual((one["token"], one["node"], one["text"]), (int(token), node, "\u00fc"))
        self.assertEqual(one["session"], self.queue()[0]["session"])

    def test_a_lock_without_a_text(self):
        observer = self.follow()
        _, (token, node) = self.hold()
        wait_until(lambda: observer.stdout.readline() == f"{token} {node}\n", "its line")

    def test_until_nobody_reads(self):
        observer = self.follow()
        observer.stdout.readline()
        observer.stdout.close()
        observer.stdout = None
        self.hold()
        self.assertEqual(observer.wait(PATIENCE_S), -signal.SIGPIPE)

    def test_until_nobody_reads_even_if_nothing_changes(self):
        observer = self.follow()
        observer.stdout.readline()
        observer.stdout.close()
        observer.stdout = None
        self.assertEqual(observer.wait(PATIENCE_S), -signal.SIGPIPE)

    def test_not_on_a_full_disk(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            observer = subprocess.Popen([ZKLOCK, "observe", self.resource], stdout=full, stderr=subprocess.PIPE, text=True)
        self.started.append(observer)
        self.assertIn("standard output", self.end(observer, 70)[1])


if __name__ == "__main__":
    unittest.main()
