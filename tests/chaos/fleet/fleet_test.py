"""What a fleet draws, what it reads of histories, and what a run's result says.

    cd tests/chaos && python3 -m unittest fleet.fleet_test
"""
import collections
import json
import os
import tempfile
import types
import unittest

import main
from result import Result
from . import mix, records
from .follower import Follower, Span, busiest


class MixTest(unittest.TestCase):
    KINDS = [f"kind-{number}" for number in range(24)]

    def drawn(self, seed, processes=6):
        return mix.drawn(seed, processes, 8, self.KINDS)

    def test_the_same_seed_gives_the_same_mix(self):
        self.assertEqual(self.drawn("one"), self.drawn("one"))
        self.assertNotEqual(self.drawn("one"), self.drawn("two"))

    def test_all_kinds_occur_where_there_are_so_many_handles(self):
        for seed in range(50):
            chosen = self.drawn(seed)
            self.assertEqual({kind for one in chosen for kind in one}, set(self.KINDS))
            self.assertEqual([len(one) for one in chosen], [8] * 6)

    def test_a_kind_that_occurs_twice_is_in_two_processes(self):
        for seed in range(50):
            for processes in (6, 8):  # the number of kinds is a multiple of both
                counts = collections.Counter(kind for one in self.drawn(seed, processes) for kind in set(one))
                self.assertGreaterEqual(min(counts.values()), 2)


class FollowerTest(unittest.TestCase):
    """Who waits from 10 on, holds from 20 to 30, and waits again."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.path = os.path.join(place.name, "history")
        self.calls = 0

    def write(self, text):
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(text)

    def line(self, at, event, what=None, call=1, **more):
        self.write(json.dumps({"at": at, "who": "c0-1-h0", "event": event, "what": what, "call": call,
                               "resource": "/locks/one", **more}) + "\n")

    def hold_from_20_to_30(self):
        self.line(10, "call", "acquire")
        self.line(20, "return", "acquire", status="ZKL_OK")
        self.line(25, "call", "check", 2)
        self.line(30, "call", "release", 3)
        self.line(40, "call", "acquire", 4)

    def follower(self):
        follower = Follower(self.path)
        follower.read()
        return follower

    def meeting(self, began, ended):
        return tuple(len(spans) for spans in self.follower().meeting(began, ended))

    def test_spans_are_met_at_their_ends(self):
        self.hold_from_20_to_30()
        self.assertEqual(self.meeting(15, 15), (0, 1))
        self.assertEqual(self.meeting(30, 35), (1, 0))
        self.assertEqual(self.meeting(31, 39), (0, 0))
        self.assertEqual(self.meeting(50, 60), (0, 1))

    def test_a_process_that_ends_or_begins_ends_all(self):
        for event in ("end", "start"):
            self.hold_from_20_to_30()
            self.line(45, event)
            self.assertEqual(self.meeting(46, 50), (0, 0))

    def test_a_torn_line_is_read_when_it_is_whole(self):
        self.hold_from_20_to_30()
        follower = Follower(self.path)
        self.write('{"at": 50, "who": "c0-1-h0", "event": ')
        follower.read()
        self.write('"end"}\n')
        follower.read()
        self.assertEqual(follower.meeting(60, 60), [[], []])

    def test_an_asynchronous_acquire_ends_in_its_callback(self):
        self.line(10, "call", "acquire", **{"async": True})
        self.line(12, "return", "acquire", status="ZKL_OK")
        self.assertEqual(self.meeting(15, 15), (0, 1))
        self.line(20, "callback", "acquire", status="ZKL_OK")
        self.line(21, "callback", "state", None, state="HELD")
        self.assertEqual(self.meeting(25, 25), (1, 0))

    def test_an_asynchronous_acquire_that_is_refused_ends_at_once(self):
        self.line(10, "call", "acquire", **{"async": True})
        self.line(12, "return", "acquire", status="ZKL_CLOSED")
        self.assertEqual(self.meeting(15, 15), (0, 0))

    def test_a_reentrant_lock_is_held_until_its_last_release(self):
        for call in (1, 2, 3):
            self.line(10 * call, "call", "acquire", call)
            self.line(10 * call + 5, "return", "acquire", call, status="ZKL_OK")
        for call in (4, 5):
            self.line(10 * call, "call", "release", call)
        self.assertEqual(self.meeting(55, 55), (1, 0))
        self.line(60, "call", "release", 6)
        self.assertEqual(self.meeting(65, 65), (0, 0))

    def test_an_upgrade_is_released_once(self):
        self.hold_from_20_to_30()
        self.line(50, "return", "acquire", 4, status="ZKL_OK")
        self.line(60, "call", "upgrade", 5)
        self.line(70, "return", "upgrade", 5, status="ZKL_OK")
        self.line(80, "call", "release", 6)
        self.assertEqual(self.meeting(85, 85), (0, 0))

    def test_a_loss_ends_a_hold(self):
        self.hold_from_20_to_30()
        self.line(50, "return", "acquire", 4, status="ZKL_OK")
        self.line(60, "callback", "state", None, state="LOST")
        self.assertEqual(self.meeting(65, 65), (0, 0))

    def test_a_try_does_not_wait(self):
        self.line(10, "call", "try", deadline_ms=0)
        self.line(15, "call", "acquire", 2, deadline_ms=0)
        self.assertEqual(self.meeting(20, 20), (0, 0))

    def test_a_set_is_of_all_its_resources(self):
        self.line(10, "call", "acquire", resources=["/locks/one", "/locks/two"])
        self.assertEqual(self.follower().waits["c0-1-h0"].resources, {"/locks/one", "/locks/two"})

    def test_records_that_are_written_or_refused_are_remembered(self):
        for call, status in ((2, "ZKL_OK"), (3, "ZKL_SYSTEM")):
            self.line(10 * call, "call", "write_record", call)
            self.line(10 * call + 5, "return", "write_record", call, status=status, message="No space left on device")
        self.line(40, "call", "write_record", 4)
        self.assertEqual([tuple(one)[:3] for one in self.follower().writes], [(20, 25, "ZKL_OK"), (30, 35, "ZKL_SYSTEM")])

    def test_grants_are_counted(self):
        self.hold_from_20_to_30()
        self.line(50, "return", "acquire", 4, status="ZKL_TIMEOUT")
        self.assertEqual(self.follower().grants, 1)


class BusiestTest(unittest.TestCase):
    def test_one_thing_has_to_be_held_and_awaited(self):
        one, other, third = Span("one", {"resource": "a"}, 1), Span("other", {"resource": "b"}, 1), Span("third", {}, 1)
        self.assertIn(0, busiest([one], [other]))
        third.resources = frozenset("ac")
        self.assertEqual(busiest([one], [other, third]), (1, 1))
        self.assertEqual(busiest([], []), (0, 0))


class MadeNemesis:
    not_counted, unhealed = [], []


class EndTest(unittest.TestCase):
    """Faults come until one of the reasons to end is there."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.output = place.name
        self.dealt = []
        self.unhealed = []

    def deal(self, draw):
        self.dealt.append(draw)
        if draw == "until it is asked to end":
            with open(os.path.join(self.output, main.END), "w", encoding="ascii"):
                pass
        elif draw == "not healed":
            self.unhealed.append(draw)

    def deal_out(self, *draws, seconds=60):
        nothing = types.SimpleNamespace(take=lambda at_rest: None, note_nemesis=lambda nemesis: None)
        main.deal_out(self, iter(draws), types.SimpleNamespace(seconds=seconds, output=self.output), nothing, nothing)
        return len(self.dealt)

    def test_all_are_dealt_out_where_there_is_time(self):
        self.assertEqual(self.deal_out("one", "two", "three"), 3)
        self.assertEqual(self.deal_out("one", "two", "three", seconds=0), 3)

    def test_none_follows_one_that_was_not_healed(self):
        self.assertEqual(self.deal_out("one", "not healed", "three"), 2)

    def test_none_follows_when_the_run_is_asked_to_end(self):
        self.assertEqual(self.deal_out("one", "until it is asked to end", "three"), 2)


class ResultTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name
        self.report = os.path.join(place.name, "report")
        self.result = Result(place.name)

    def judged(self, **violations):
        with open(self.report, "w", encoding="utf-8") as file:
            json.dump({"grants": 7, "faults": {}, "violations": violations, "examples": []}, file)
        self.result.take_judgement(1 if violations else 0, "", self.report)
        return self.result.failures()

    def test_a_good_run_has_no_failure(self):
        self.result.note_nemesis(MadeNemesis)
        self.result.note(wrong=[], has_ended=True)
        self.result.take_records(1, [])
        self.assertEqual(self.judged(), [])
        self.assertEqual(self.result.told["grants"], 7)

    def test_what_grows_fails_a_run(self):
        line = {"of": "c1", "what": "threads", "median": 9, "risen": 1.0}
        self.result.take_growth([{**line, "grows": False}])
        self.assertEqual(self.result.failures(), [])
        self.result.take_growth([{**line, "grows": True}])
        self.assertEqual(len(self.result.failures()), 1)

    def test_each_of_these_fails_a_run(self):
        self.assertEqual(len(self.judged(two_holders=3)), 2)  # it was ended from outside, too
        self.result.note(wrong=["c3-1 did not end"])
        self.result.take_judgement(2, "a line of the history is malformed", self.report)
        made = MadeNemesis()
        made.not_counted, made.unhealed = [(1, "client killed", "no sign of it")], [(2, "nobody is granted")]
        self.result.note_nemesis(made)
        self.result.take_records(2, ["c1-1.record does not play back"])
        self.assertEqual(len(self.result.failures()), 8)

    def test_without_a_record_nothing_has_shown_that_they_play_back(self):
        self.result.take_records(0, [])
        self.assertEqual(len(self.result.failures()), 1)

    def test_what_a_run_knows_is_there_when_it_was_killed(self):
        made = MadeNemesis()
        for number in (1, 2):
            made.not_counted = [*made.not_counted, (number, "client killed", "no sign of it")]
            self.result.note_nemesis(made)
        self.result.note(members={"contender": 6})
        again = Result(self.place)
        self.assertEqual(again.told, self.result.told)
        self.assertEqual([one["number"] for one in again.told["not_counted"]], [1, 2])


class RecordsTest(unittest.TestCase):
    """Played back by a program that is made up."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name
        program = os.path.join(self.place, records.PROGRAM)
        os.makedirs(os.path.dirname(program))
        with open(program, "w", encoding="ascii") as file:
            file.write('#!/bin/sh\ncat "$1"\n! grep -q differs "$1"\n')
        os.chmod(program, 0o700)

    def played(self, **texts):
        for name, text in texts.items():
            with open(os.path.join(self.place, f"{name}.record"), "w", encoding="ascii") as file:
                file.write(text)
        return records.played(self.place, self.place)

    def test_a_record_that_differs_is_told(self):
        count, wrong = self.played(one="fine\n", other="a step\nand then it differs\n")
        self.assertEqual((count, wrong), (2, ["other.record does not play back: a step and then it differs"]))

    def test_where_there_is_none_nothing_was_played(self):
        self.assertEqual(self.played(), (0, []))
