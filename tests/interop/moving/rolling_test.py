#!/usr/bin/env python3
"""An earlier zklock and today's on one resource, as while a fleet is upgraded. The earlier one is built from the history of
this repository (build-earlier), its contender from its own tree. Both directions, each time: what an earlier client does to
today's, and today's to an earlier one."""

import functools
import os
import struct
import subprocess
import sys
import unittest
import uuid

from contender import EXCLUSIVE, HERE, OK, READ, TIMEOUT, WRITE, Contender
from command import HOSTS, PATIENCE_S, QUICK, ZKLOCK, Between, Cable, CommandTest, wait_until

TODAY = {"contender": os.environ["ZKLOCK_CONTENDER"], "lender": os.environ["ZKLOCK_LENDER"], "zklock": ZKLOCK}
NO_COMMIT, SKIPPED = 3, 77  # of build-earlier; what ctest takes for skipped

LISTS = (8, 12)  # opcodes of ZooKeeper's protocol
SHORT_SESSION_MS = 3000
RECONNECTED_WITHIN_S = 10
ROUNDS = 250  # of each of four contenders


def build(commit):
    """The programs of that commit by name; None: this repository does not have it."""
    built = subprocess.run([os.path.join(HERE, "build-earlier"), commit], stdout=subprocess.PIPE, text=True, check=False)
    if built.returncode == NO_COMMIT:
        return None
    built.check_returncode()
    place = built.stdout.strip()
    return {name: os.path.join(place, name) for name in os.listdir(place)}


def both_ways(test):
    """Runs it with the programs of the one and of the other."""
    @functools.wraps(test)
    def run(self):
        for first, second, way in (self.earlier, TODAY, "earlier first"), (TODAY, self.earlier, "today's first"):
            with self.subTest(way):
                test(self, first, second)
    return run


class Rolling:
    """Of each earlier commit."""

    commit = None
    hands_off = None  # it tells the next one of its release, and takes a release for a grant

    def setUp(self):
        super().setUp()
        self.earlier = EARLIER[self.commit]

    def contend(self, programs, **more):
        contender = Contender(programs["contender"], self.resource, **more)
        self.addCleanup(contender.end)
        return contender

    def hold(self, programs, **more):
        holder = self.contend(programs, **more)
        self.assertEqual(holder.ask(f"acquire {EXCLUSIVE} 10000")[0], OK)
        return holder

    def wait(self, programs, mode=EXCLUSIVE, **more):
        before = len(self.queue())
        waiter = self.contend(programs, **more)
        waiter.tell(f"acquire {mode} {1000 * PATIENCE_S}")
        self.wait_for_queue(before + 1)
        return waiter

    def assert_granted(self, waiter, seconds=2):
        """A wake-up that is lost takes longer."""
        self.assertEqual(waiter.answer(seconds)[0], OK)

    def release(self, *holders):
        for holder in holders:
            self.assertEqual(holder.ask("release"), [OK])

    # ---- A counter that only exclusion keeps right --------------------------------------------

    def ledger(self):
        """As ledger.h has it: one number, twice."""
        with open(self.path("ledger"), "wb") as file:
            file.write(bytes(16))
        return self.path("ledger")

    def assert_ledger(self, *numbers):
        with open(self.path("ledger"), "rb") as file:
            self.assertEqual(struct.unpack("qq", file.read()), numbers)

    def count(self, commands, **more):
        """Each by one of either version, at the same time."""
        contenders = [self.contend(programs, **more) for programs in (self.earlier, TODAY) for _ in commands]
        for contender, command in zip(contenders, 2 * commands):
            contender.tell(command)
        for contender in contenders:
            self.assertEqual(contender.answer(), [OK])

    def test_a_thousand_mixed_acquisitions_exclude_each_other(self):
        self.count([f"count {mode} {ROUNDS} {self.ledger()}" for mode in (EXCLUSIVE, WRITE)])
        self.assert_ledger(4 * ROUNDS, 4 * ROUNDS)

    def test_a_thousand_readers_and_writers_exclude_each_other(self):
        self.count([f"count {mode} {ROUNDS} {self.ledger()}" for mode in (READ, WRITE)])
        self.assert_ledger(2 * ROUNDS, 2 * ROUNDS)

    def test_a_thousand_permits_are_never_more_than_two_at_once(self):
        self.count(2 * [f"count {EXCLUSIVE} {ROUNDS} {self.ledger()}"], permits=2)
        self.assert_ledger(0, 2)

    def test_a_thousand_sets_exclude_each_other_and_never_deadlock(self):
        """The one has the second resource as its first."""
        other, ledger = self.resource + "-other", self.ledger()
        contenders = [Contender(programs["contender"], resource)
                      for programs in (self.earlier, TODAY) for resource in (self.resource, other)]
        for contender, second in zip(contenders, 2 * [other, self.resource]):
            self.addCleanup(contender.end)
            contender.tell(f"count_both {second} {ROUNDS} {ledger}")
        for contender in contenders:
            self.assertEqual(contender.answer(), [OK])
        self.assert_ledger(4 * ROUNDS, 4 * ROUNDS)

    def test_a_thousand_grants_of_lent_and_other_nodes_exclude_each_other(self):
        ledger, handles, rounds = self.ledger(), 3, 100
        lenders = [subprocess.Popen([programs["lender"], HOSTS, self.resource, str(handles), str(rounds), ledger],
                                    stdout=subprocess.PIPE, text=True)
                   for programs in (self.earlier, TODAY) if "lender" in programs]
        self.count([f"count {EXCLUSIVE} {ROUNDS} {ledger}"])
        for lender in lenders:
            self.assertEqual(lender.communicate(timeout=PATIENCE_S)[0], f"{OK}\n")
        total = 2 * ROUNDS + len(lenders) * handles * rounds
        self.assert_ledger(total, total)

    # ---- The queue ----------------------------------------------------------------------------

    @both_ways
    def test_who_came_first_is_granted_first_and_is_shown(self, first, second):
        queue = [self.hold(first)] + [self.wait(programs) for programs in (second, first, second, first)]
        self.assertEqual([int(one["process_id"]) for one in self.queue()], [one.process.pid for one in queue])
        for holder, waiter in zip(queue, queue[1:]):
            self.assertFalse(any(one.has_answered() for one in queue))
            self.release(holder)
            self.assert_granted(waiter)
        self.release(queue[-1])

    @both_ways
    def test_readers_share_and_a_writer_waits_for_them_all(self, first, second):
        writer = self.hold(first)
        readers = [self.wait(programs, READ) for programs in (first, second)]
        last = self.wait(second, WRITE)
        self.release(writer)
        for reader in readers:
            self.assert_granted(reader)
        self.release(readers[0])
        self.assertFalse(last.has_answered(0.3))
        self.release(readers[1])
        self.assert_granted(last)
        self.release(last)

    @both_ways
    def test_a_waiter_whose_time_is_over_leaves_nothing(self, first, second):
        holder = self.hold(first)
        leaving = self.contend(second)
        leaving.tell(f"acquire {EXCLUSIVE} 700")
        self.wait_for_queue(2)
        last = self.wait(first)
        self.assertEqual(leaving.answer()[0], TIMEOUT)
        self.wait_for_queue(2)
        self.release(holder)
        self.assert_granted(last)
        self.release(last)

    # ---- Death --------------------------------------------------------------------------------

    @both_ways
    def test_the_lock_of_a_killed_holder_passes_on_when_its_session_is_over(self, first, second):
        holder = self.hold(first, session_ms=SHORT_SESSION_MS)
        waiter = self.wait(second)
        holder.kill()
        self.assertFalse(waiter.has_answered(SHORT_SESSION_MS / 2000))
        self.assert_granted(waiter, SHORT_SESSION_MS / 1000 + 2)
        self.release(waiter)

    @both_ways
    def test_a_killed_waiter_blocks_nobody_when_its_session_is_over(self, first, second):
        holder = self.hold(first)
        killed = self.wait(second, session_ms=SHORT_SESSION_MS)
        last = self.wait(first)
        killed.kill()
        self.wait_for_queue(2)
        self.assertFalse(last.has_answered(0.3))
        self.release(holder)
        self.assert_granted(last)
        self.release(last)

    # ---- Connections --------------------------------------------------------------------------

    @both_ways
    def test_a_waiter_that_is_cut_off_when_the_lock_becomes_free_is_granted_afterwards(self, first, second):
        cable = Cable()
        holder = self.hold(first)
        waiter = self.wait(second, hosts=cable.address)
        cable.pull()
        self.release(holder)
        self.assertFalse(waiter.has_answered(0.3))
        cable.is_pulled = False
        self.assert_granted(waiter, RECONNECTED_WITHIN_S)
        self.release(waiter)

    @both_ways
    def test_a_release_of_a_holder_that_is_cut_off_comes_later(self, first, second):
        cable = Cable()
        holder = self.hold(first, hosts=cable.address)
        waiter = self.wait(second)
        cable.pull()
        holder.tell("release")
        self.assertFalse(waiter.has_answered(0.3))
        cable.is_pulled = False
        self.assert_granted(waiter, RECONNECTED_WITHIN_S)
        self.assertEqual(holder.answer(), [OK])
        self.release(waiter)

    # ---- Hand-off by event --------------------------------------------------------------------

    def lists_when_told(self, two, waiter_of):
        """How many lists a waiter behind two others makes when the second of them, which holds by then, releases."""
        asked = []

        def note(opcode, request, reply):
            asked.append(opcode)
            return reply

        waiter = self.wait(waiter_of, hosts=Between(note).address)
        first, await_second, release_second = two
        self.release(first)
        await_second()
        self.assertFalse(waiter.has_answered(0.3))
        before = sum(opcode in LISTS for opcode in asked)
        release_second()
        self.assert_granted(waiter)
        self.release(waiter)
        return sum(opcode in LISTS for opcode in asked) - before

    def two_in_the_queue(self, programs):
        """One holds, and one waits behind it: nobody who comes now is next in line."""
        first = self.hold(programs)
        second = self.wait(programs)
        return first, lambda: self.assert_granted(second), lambda: self.release(second)

    def two_of_whom_the_second_is_revocable(self, programs):
        first = self.hold(programs)
        second = self.run_revocable(programs)
        self.wait_for_queue(2)
        return first, second.stdout.readline, second.stdin.close

    def run_revocable(self, programs):
        """Says when it holds, until the end of its input."""
        run = subprocess.Popen([programs["zklock"], "run", "--quiet", *QUICK, "--revocable", self.resource, "--",
                                "sh", "-c", "echo holds; exec cat"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end_run, run)
        return run

    @staticmethod
    def end_run(run):
        run.stdin.close()
        run.wait(PATIENCE_S)
        run.stdout.close()

    @both_ways
    def test_a_release_wakes_the_next_which_takes_no_list_if_both_can_do_without(self, first, second):
        lists = self.lists_when_told(self.two_in_the_queue(first), second)
        self.assertEqual(lists, 0 if self.hands_off else 1)

    @both_ways
    def test_a_release_of_who_may_be_asked_for_the_lock_wakes_the_next_which_lists(self, first, second):
        """Others may set the data of its node: it does not hand over by event."""
        if "zklock" in first:
            lists = self.lists_when_told(self.two_of_whom_the_second_is_revocable(first), second)
            self.assertEqual(lists, 1)

    # ---- Names that earlier versions never made -------------------------------------------------

    def hold_as(self, kind):
        """Today's, with names of another library (protocol.md of tests/interop)."""
        holder = subprocess.Popen([os.environ["ZKLOCK_NAMED"], HOSTS, f"/locks/{self.resource}", "20000", kind, "today"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end_run, holder)
        holder.stdin.write("acquire 10000\n")
        holder.stdin.flush()
        self.assertIn("start ok", holder.stdout.readline())
        self.assertIn("acquire ok", holder.stdout.readline())
        return holder

    def test_an_earlier_one_waits_for_names_of_other_libraries(self):
        for kind in "kazoo-exclusive", "kazoo-write", "latch":
            with self.subTest(kind):
                holder = self.hold_as(kind)
                waiter = self.wait(self.earlier)
                self.assertFalse(waiter.has_answered(0.3))
                holder.stdin.write("release\n")
                holder.stdin.flush()
                self.assert_granted(waiter)
                self.release(waiter)

    def test_an_earlier_reader_shares_with_one_of_kazoos_name(self):
        self.hold_as("kazoo-read")
        reader, writer = self.contend(self.earlier), self.contend(self.earlier)
        self.assertEqual(reader.ask(f"acquire {READ} 10000")[0], OK)
        self.assertEqual(writer.ask(f"acquire {WRITE} 300")[0], TIMEOUT)

    # ---- Elections ----------------------------------------------------------------------------

    @both_ways
    def test_who_resigns_is_followed(self, first, second):
        leader, candidate = self.contend(first), self.contend(second)
        self.assertEqual(leader.ask("campaign 10000 one")[0], OK)
        candidate.tell(f"campaign {1000 * PATIENCE_S} two")
        self.wait_for_queue(2)
        self.assertFalse(candidate.has_answered(0.3))
        self.assertEqual(leader.ask("resign"), [OK])
        self.assert_granted(candidate)
        self.assertEqual(candidate.ask("resign"), [OK])


class BesideTheLastLanded(Rolling, CommandTest):
    """It has all but what was made since."""

    commit = "5e7bc220"
    hands_off = True

    def command_of(self, programs, status, *arguments):
        done = subprocess.run([programs["zklock"], *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    @both_ways
    def test_its_command_shows_todays_and_breaks_them(self, first, second):
        holder = self.hold(second)
        shown = self.command_of(first, 0, "status", self.resource)
        self.assertRegex(shown, rf"holds +exclusive .* pid {holder.process.pid}\b")
        node = self.queue()[0]["node"]
        self.command_of(first, 0, "break", "--yes", self.resource, node)
        wait_until(lambda: holder.ask("check")[0] < 0, "the holder knows")

    @both_ways
    def test_a_job_that_the_one_has_done_is_done_for_the_other(self, first, second):
        job = f"{self.resource}-{uuid.uuid4().hex[:4]}"
        self.assertIn("here", self.command_of(first, 0, "once", "--period", "1d", job, "--", "echo", "here"))
        self.assertNotIn("there", self.command_of(second, 0, "once", "--period", "1d", job, "--", "echo", "there"))

    @both_ways
    def test_who_is_asked_by_the_other_gives_up(self, first, second):
        holder = self.run_revocable(first)
        holder.stdout.readline()
        self.command_of(second, 0, "revoke", self.resource, self.queue()[0]["node"])
        self.assertEqual(holder.wait(PATIENCE_S), 75)


class BesideOneWithoutHandOffByEvent(Rolling, CommandTest):
    """From before nodes were protected and lent, and before there was a command."""

    commit = "e4ae2f3e"
    hands_off = False


if __name__ == "__main__":
    EARLIER = {one.commit: build(one.commit) for one in (BesideTheLastLanded, BesideOneWithoutHandOffByEvent)}
    if None in EARLIER.values():
        print("SKIPPED, NOT PASSED: this repository lacks a commit of an earlier zklock; a clone with its history has it")
        sys.exit(SKIPPED)
    unittest.main()
