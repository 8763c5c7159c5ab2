"""The arithmetic of verdicts and claims, on results that are made up; and docs/comparison.md and the figures of docs/faq.md
are what the JSON gives.

    cd bench && python3 -m unittest comparison.page_test
"""
import os
import re
import tempfile
import unittest

from .harness import claims, main, page, plots, publish, published, readings, rounds, speed, verdicts
from .harness.bench import Bench
from .harness.mechanism import HARMFUL, SAFE, Mechanism
from .harness.readings import Count, Readings
from .harness.servers import CannotServe

NAMES = {"zklock": "zookeeper", "curator": "zookeeper", "etcd-lock-service": "etcd", "redis-random-value": "redis",
         "redis-counter": "redis", "redis-fair-list": "redis", "redis-five-segments": "redis",
         "redlock-parallel": "redis-5", "redlock-six-parallel": "redis-6", "row-for-update": "none",
         "conditional-update": "none"}


def cell(experiment, harmed, rounds, fence=False, **more):
    return {"experiment": experiment, "fence": fence, "rounds": rounds, "harmed": harmed, "oversold": harmed,
            "overselling": harmed, "sold": 6 * rounds, "bound": None, "stuck_median_s": None, "never": 0,
            "measures": {}, "theory": None, "unseen": 0, "not_seen": "", "failed": "", **more}


def mechanism(name, cells=(), **more):
    return {"name": name, "title": f"the lock {name}", "source": "-", "servers": NAMES.get(name, "none"),
            "database": "postgresql", "ours": name == "zklock", "timeout_ms": 1000, "token": "", "cannot": "",
            "lines": 20, "branches": 2, "cells": list(cells), **more}


def slices(ratio, **more):
    return {"sales_per_s": 100, "wait_p50_ms": 10, "wait_p99_ms": 50, "longest_wait_ms": 100, "overtaking": 0.5,
            "database_cpu_ms": 1, "lock_cpu_ms": 1, "lock_requests": 4, "wakeups": 9, "ratio": ratio, "slices": 10, **more}


def results(*mechanisms, **more):
    return {"facts": {"date": "2030-01-01", "commit": "abc", "quick": False, "processors": 2, "library_lines": 12345},
            "versions": {"etcd": "3.4"}, "settings": {}, "experiments": {"rush": "Nine at once.", "strange": ""},
            "families": [{"family": "all", "mechanisms": list(mechanisms)}], "speed": {}, **more}


def verdict_of(claim, made):
    return next(verdict for said, _, verdict in claims.claims(Readings(made)) if claim in said)


def tree_of(name, experiment):
    return {"changed": "new"}.get(name, "same")


def published_results(**more):
    """Of three locks, of which one has changed since."""
    cells = [cell("forgotten", 0, 20), cell("rush", 1, 19, unseen=1)]
    names = ("zklock", "kept", "changed")
    trees = {name: {"rush": "same", "forgotten": "same", "speed": "same"} for name in names}
    return results(*(mechanism(name, cells) for name in names), trees=trees,
                   experiments={"rush": "", "forgotten": ""}, settings={"etcd": {"memory_mb": 500}},
                   speed={"8x1": {name: slices([2, 1, 3]) for name in names}}, **more)


class Completed(unittest.TestCase):
    def test_what_was_published_of_the_same_tree_and_is_more_stays(self):
        made = results(mechanism("zklock"), mechanism("kept", [cell("rush", 2, 20)]), mechanism("changed"),
                       experiments={"rush": "", "forgotten": ""}, settings={"etcd": {"memory_mb": 80}})
        published.Published(published_results(), tree_of).complete(made)
        by_name = published.mechanisms_of(made)
        self.assertEqual([(one["experiment"], one["harmed"]) for one in by_name["kept"]["cells"]],
                         [("rush", 2), ("forgotten", 0)])
        self.assertEqual(by_name["changed"]["cells"], [])
        self.assertEqual(sorted(made["speed"]["8x1"]), ["kept", "zklock"])
        self.assertEqual(made["settings"]["etcd"]["memory_mb"], 500)

    def test_ratios_to_another_zklock_do_not_stay(self):
        made = results(mechanism("kept"), experiments={"rush": "", "forgotten": ""}, settings={"etcd": {"memory_mb": 80}})
        published.Published(published_results(), lambda name, experiment: "new" if name == "zklock" else "same"
                            ).complete(made)
        self.assertEqual(made["speed"]["8x1"], {})
        self.assertEqual(made["settings"]["etcd"]["memory_mb"], 80)
        self.assertEqual(len(published.mechanisms_of(made)["kept"]["cells"]), 2)

    def test_results_without_trees_complete_nothing(self):
        made = results(mechanism("kept"), experiments={"rush": "", "forgotten": ""})
        published.Published({**published_results(), "trees": {}}, tree_of).complete(made)
        self.assertEqual(published.mechanisms_of(made)["kept"]["cells"], [])


class Kept(unittest.TestCase):
    """Of a cell that is to have 3 rounds."""

    def due(self, *found, there=None):
        with tempfile.TemporaryDirectory() as folder:
            kept = rounds.Kept(f"{folder}/rounds.jsonl", rounds.Tree(folder, []))
            one = (Mechanism("kept", "-", "-", "-"), "rush", False)
            for each in found:
                kept.add({"mechanism": "kept", "experiment": "rush", "fence": False, **each})
            wanted = main.lacking(lambda cell: 20, published.Published(there, tree_of))
            return len(rounds.due([one], wanted, kept))

    def test_a_round_that_did_not_see_its_fault_is_due_again_but_not_for_ever(self):
        seen, unseen = {"outcome": {"harm": False}}, {"not_seen": "why"}
        self.assertEqual(self.due(*[seen] * 19), 1)
        self.assertEqual(self.due(*[seen] * 19, unseen), 1)
        self.assertEqual(self.due(*[seen] * 20, unseen), 0)
        self.assertEqual(self.due(*[unseen] * 39), 1)
        self.assertEqual(self.due(*[unseen] * 40), 0)
        self.assertEqual(self.due({"failed": "died"}, {"failed": "died"}), 20)

    def test_of_a_published_cell_none_is_due_or_all_are(self):
        there = published_results()
        self.assertEqual(self.due(there=there), 20)
        published.mechanisms_of(there)["kept"]["cells"][1].update(rounds=20)
        self.assertEqual(self.due(there=there), 0)
        self.assertEqual(self.due(there={**there, "trees": {}}), 20)
        published.mechanisms_of(there)["kept"]["cells"][1].update(rounds=0, unseen=40)
        self.assertEqual(self.due(there=there), 0)

    def test_slices_are_whole_if_those_of_each_work_are(self):
        there = published_results()
        there["speed"]["1x1"] = {"kept": slices([2, 1, 3], slices=4)}
        self.assertEqual(published.Published(there, tree_of).least_slices("kept"), 4)
        self.assertEqual(published.Published(there, tree_of).least_slices("zklock"), 0)
        self.assertEqual(published.Published(None, tree_of).least_slices("kept"), 0)


class Verdicts(unittest.TestCase):
    def test_none_of_fifty_is_at_most_six_percent(self):
        self.assertAlmostEqual(readings.upper_bound(50), 0.0582, 4)
        self.assertAlmostEqual(verdicts.Cell(rounds=50).bound(), 0.0582, 4)
        self.assertIsNone(verdicts.Cell(rounds=50, harmed=1).bound())
        self.assertIsNone(verdicts.Cell().bound())

    def test_rounds_are_gathered_and_those_that_say_nothing_are_not_counted(self):
        key = {"mechanism": "a", "experiment": "rush", "fence": False}
        outcome = {"harm": True, "oversold": 2, "sold": 9, "stuck_s": None, "measures": {"votes": 3}}
        found = verdicts.gather([{**key, "outcome": outcome}, {**key, "not_seen": "why"}, {**key, "failed": "died"},
                                 {**key, "outcome": {**outcome, "harm": False, "oversold": 0, "stuck_s": 2.0}}])
        one = found["a", "rush", False]
        self.assertEqual((one.rounds, one.harmed, one.oversold, one.overselling, one.sold), (2, 1, 2, 1, 18))
        self.assertEqual((one.never, one.stuck_median(), one.failed, one.medians()), (1, 2.0, "died", {"votes": 3}))
        self.assertEqual((one.unseen, one.not_seen), (1, "why"))
        self.assertEqual(page.cell_text(cell("rush", 1, 3, unseen=2)), "1 of 3, 2 not seen")

    def test_contradictions_are_told_both_ways_and_a_fence_turns_theory(self):
        one = Mechanism("a", "a", "a", "-", theory={"rush": SAFE, "late-write": HARMFUL})
        found = {("a", "rush", False): verdicts.Cell(rounds=5, harmed=1),
                 ("a", "late-write", False): verdicts.Cell(rounds=5),
                 ("a", "late-write", True): verdicts.Cell(rounds=5)}
        said = list(verdicts.contradictions([("", "", [one])], found))
        self.assertEqual(said, ["a, rush: theory says no harm, 1 of 5 rounds show some",
                                "a, late-write: theory says harm, and none of 5 rounds shows it"])


class Figures(unittest.TestCase):
    def test_a_bound_is_that_of_each_experiment_and_not_of_all_together(self):
        self.assertEqual(readings.rounds_text(Count(0, 50, 50)), "0 of 50 rounds (≤ 5.8 %)")
        self.assertEqual(readings.rounds_text(Count(0, 100, 50)), "0 of 100 rounds (≤ 5.8 % for each experiment)")
        self.assertEqual(readings.rounds_text(Count(3, 100, 50)), "3 of 100 rounds")
        self.assertEqual(readings.rounds_text(None), "not measured")

    def test_cells_without_rounds_are_not_counted(self):
        read = Readings(results(mechanism("zklock", [cell("rush", 0, 20), cell("cut-off", 0, 0, not_seen="why")])))
        self.assertEqual(read.count("zklock", ("rush", "cut-off")), (0, 20, 20))
        self.assertIsNone(read.count("zklock", ("cut-off",)))
        self.assertIsNone(read.count("nobody", ("rush",)))

    def test_experiments_have_equal_weight_however_many_rounds_they_have(self):
        read = Readings(results(mechanism("zklock", [cell("rush", 0, 90), cell("late-write", 10, 10)])))
        self.assertEqual(read.oversold_share("zklock"), 0.5)

    def test_a_mean_is_of_the_experiments_that_every_lock_has(self):
        cells = [*(cell(name, 10, 10) for name in readings.SHARED), cell("cut-off", 0, 10)]
        self.assertEqual(Readings(results(mechanism("zklock", cells))).oversold_share("zklock"), 1)

    def test_too_few_slices_have_no_bounds_and_claim_no_order(self):
        read = Readings(results(mechanism("zklock"), speed={"8x1": {"zklock": slices([3, 2.9, 3.1], slices=5)}}))
        self.assertEqual(readings.against_one(read.ratio("zklock")), "not told apart")
        self.assertEqual(readings.ratio_text(read.ratio("zklock")), "3 (too few slices for bounds)")
        self.assertEqual(readings.against_one([3, 2.9, 3.1]), "faster")
        self.assertEqual(readings.against_one([0.5, 0.4, 1.1]), "not told apart")

    def test_a_quotient_has_the_wider_bounds(self):
        self.assertEqual(readings.quotient([4, 2, 8], [2, 1, 4]), [2, 0.5, 8])
        self.assertIsNone(readings.quotient(None, [2, 1, 4]))


class Slices(unittest.TestCase):
    def buyer(self, *steps):
        return type("Buyer", (), {"steps": [(at_us, word, 0) for at_us, word in steps]})()

    def test_only_what_is_between_the_two_moments_counts(self):
        crowd = [self.buyer((10, "asks"), (50, "granted"), (60, "sold"),           # all before
                            (90, "asks"), (120, "granted"), (130, "sold"),         # waited when it began
                            (140, "asks"), (250, "granted"), (260, "sold")),       # still waits when it ends
                 self.buyer((150, "asks"), (160, "granted"), (170, "sold"), (210, "asks"), (220, "granted"))]
        found = speed.measured(crowd, 100, 200, {"wakeups": 8, "lock_requests": None})
        self.assertEqual(found["sales_per_s"], 2 / 100 * 1e6)
        self.assertEqual((found["wakeups"], found["lock_requests"]), (4, None))
        self.assertEqual(found["longest_wait_ms"], 0.06)
        self.assertEqual(found["overtaking"], 0.5)  # 160 passed the one who asked at 140

    def test_ratios_are_of_the_same_turn(self):
        figures = dict.fromkeys(speed.FIGURES, 1)
        def one(name, turn, sales):
            return {"mechanism": name, "speed": "8x1", "slice": 0, "turn": turn, "figures": {**figures, "sales_per_s": sales}}
        said = speed.summary([one("zklock", "1", 100), one("curator", "1", 50), one("zklock", "2", 10),
                              one("curator", "2", 5), one("curator", "3", 500)], ["zklock", "curator"])["8x1"]
        self.assertEqual(said["curator"]["ratio"][0], 0.5)
        self.assertEqual(said["curator"]["slices"], 2)

    def test_servers_that_do_not_start_fail_their_slice_and_no_other(self):
        bench = Bench("/nonexistent", "/nonexistent")
        bench.failed["etcd"] = CannotServe("etcd: it does not start")
        found = rounds.run_slice(bench, Mechanism("etcd-put", "-", "etcd_put", "-", "etcd"), "8x1")
        self.assertEqual(found, {"failed": "CannotServe: etcd: it does not start"})


class Claims(unittest.TestCase):
    def test_nothing_measured_says_so_everywhere(self):
        for made in (results(), results(*map(mechanism, NAMES))):
            self.assertEqual({verdict for _, _, verdict in claims.claims(Readings(made))}, {"not measured"})
            self.assertTrue(all(claims.against(Readings(made))))
            self.assertTrue(all(figures for _, _, figures in claims.guide(Readings(made))))
            self.assertTrue(all("not measured" in answer for answer in claims.answers(Readings(made)).values()))

    def database(self, **ratios):
        made = results(mechanism("row-for-update"), mechanism("zklock"), mechanism("redis-random-value"),
                       speed={work: {"row-for-update": slices(ratio), "zklock": slices([1, 1, 1]),
                                     "redis-random-value": slices([5, 4, 6])}
                              for work, ratio in (("8x1", ratios["memory"]), ("8x1-disk", ratios["disk"]))})
        return verdict_of("in the database is the slowest", made)

    def test_the_database_is_slowest_only_below_all_intervals(self):
        below, among, above = [0.5, 0.4, 0.6], [1.2, 0.9, 1.4], [3, 2, 4]
        self.assertEqual(self.database(memory=below, disk=below), "true")
        self.assertEqual(self.database(memory=above, disk=above), "false")
        self.assertEqual(self.database(memory=below, disk=among), "not told apart")
        self.assertEqual(self.database(memory=above, disk=below), "at this durability only")

    def test_five_segments(self):
        for ratio, verdict in (([5, 4.5, 5.5], "false"), ([50, 44, 60], "true"), ([40, 10, 70], "not told apart")):
            made = results(mechanism("redis-five-segments"), mechanism("redis-random-value"), speed={
                "64x1": {"redis-five-segments": slices(ratio), "redis-random-value": slices([8, 7.5, 8.5])}})
            self.assertEqual(verdict_of("Five segments", made), verdict)

    def test_a_queue_of_redis_keeps_order_only_if_a_dead_waiter_does_not_stop_it(self):
        for overtaking, stuck, verdict in ((0.01, 0, "true"), (0.4, 0, "false"), (0.01, 9, "false")):
            made = results(mechanism("redis-fair-list", [cell("waiter-killed", stuck, 20)]),
                           speed={"8x1": {"redis-fair-list": slices([1, 1, 1], overtaking=overtaking)}})
            self.assertEqual(verdict_of("Redis keeps", made), verdict)

    def test_redlock_and_odd_numbers(self):
        def made(five, six):
            return results(mechanism("redlock-parallel", [cell("two-servers-down", five, 20), cell("rush", 0, 20)]),
                           mechanism("redlock-six-parallel", [cell("two-servers-down", six, 20), cell("rush", 0, 20)]))
        self.assertEqual(verdict_of("Redlock goes on", made(0, 0)), "true")
        self.assertEqual(verdict_of("Redlock goes on", made(1, 0)), "false")
        self.assertEqual(verdict_of("odd", made(0, 0)), "false")
        self.assertEqual(verdict_of("odd", made(0, 3)), "true")

    def test_the_simplest_is_the_shortest_of_those_that_did_no_harm(self):
        def made(harmed):
            fine = [cell(name, 0, 20) for name in readings.COMPLETE]
            return results(mechanism("curator", fine, lines=50),
                           mechanism("row-for-update", [cell("rush", harmed, 20), *fine[1:]], lines=22))
        self.assertEqual(verdict_of("simplest", made(0)), "false")
        fenced = [cell(name, 0, 20, True) for name in readings.OVERSELLING]
        only = results(mechanism("curator", [*fenced, cell("holder-killed", 0, 20)], token="a number"))
        self.assertEqual(verdict_of("simplest", only), "true")
        self.assertEqual(verdict_of("simplest", made(1)), "true")

    def test_a_herd_is_woken_if_only_its_wake_ups_grow_with_who_waits(self):
        for herd, ours, verdict in ((400, 11, "true"), (150, 11, "false"), (400, 80, "false")):
            made = results(mechanism("zookeeper-herd"), mechanism("zklock"), speed={
                work: {"zookeeper-herd": slices([1, 1, 1], wakeups=theirs), "zklock": slices([1, 1, 1], wakeups=own)}
                for work, theirs, own in (("8x1", 50, 10), ("64x1", herd, ours))})
            self.assertEqual(verdict_of("wakes everybody", made), verdict)

    def test_what_is_no_lock_or_sold_twice_anywhere_is_not_the_simplest(self):
        fine = [cell(name, 0, 20) for name in readings.COMPLETE]
        for other in (mechanism("conditional-update", fine, lines=5),
                      mechanism("row-for-update", [*fine, cell("server-restarted", 1, 20)], lines=5)):
            self.assertEqual(verdict_of("simplest", results(mechanism("curator", fine, lines=50), other)), "true")
        by_its_owner = mechanism("row-for-update", [*fine, cell("taken-twice", 20, 20)], lines=5)
        self.assertEqual(verdict_of("simplest", results(mechanism("curator", fine, lines=50), by_its_owner)), "false")

    def test_a_machine_that_cannot_be_five_times_as_fast_judges_no_segments(self):
        names = ("redis-five-segments", "redis-random-value")
        made = results(*map(mechanism, names), speed={
            work: {name: slices([1, 0.9, 1.1], sales_per_s=sales) for name in names}
            for work, sales in (("64x1", 100), ("64x100", 300))})
        self.assertEqual(verdict_of("Five segments", made), "not told apart")

    def test_a_client_that_waits_for_all_servers_does_not_judge_redlock(self):
        made = results(mechanism("redlock-parallel", [cell("two-servers-down", 0, 20)]),
                       mechanism("node-redlock", [cell("two-servers-down", 20, 20)], servers="redis-5"))
        self.assertEqual(verdict_of("Redlock goes on", made), "true")

    def test_two_to_three_p99(self):
        for harmed, verdict in ((0, "true"), (1, "false")):
            made = results(mechanism("redis-random-value", [cell("timeout-2-p99", 0, 20),
                                                            cell("timeout-3-p99", harmed, 20)]))
            self.assertEqual(verdict_of("P99", made), verdict)

    def test_a_guide_says_that_redis_with_a_fence_is_no_worse(self):
        def of(harmed):
            made = results(*(mechanism(name, [cell("late-write", count, 50, True)], token="a number")
                             for name, count in (("zklock", 0), ("redis-counter-durable", harmed))))
            return "\n".join(figures for _, _, figures in claims.guide(Readings(made)))
        self.assertIn("zklock with its token does no better here", of(0))
        self.assertNotIn("zklock with its token does no better here", of(1))
        self.assertIn("late-write 1 of 50 rounds): **not enough**", of(1))

    def test_an_answer_sets_a_lock_beside_zklock_without_a_fence_and_with_one(self):
        made = results(*(mechanism(name, [cell("late-write", 20, 20), cell("late-write", 0, 20, True)], token="a number")
                         for name in ("zklock", "etcd-lock-service")),
                       speed={"8x1": {"etcd-lock-service": slices([0.5, 0.4, 0.6])}})
        said = claims.answers(Readings(made))["etcd"]
        self.assertIn("without a fence: `etcd-lock-service` 100 % of rounds, in the mean of 1 experiments; `zklock` 100 %",
                      said)
        self.assertIn("With a fence: `etcd-lock-service` 0 of 20 rounds (≤ 14 %); `zklock` 0 of 20 rounds", said)
        self.assertIn("Slower than zklock", said)

    def test_a_lock_that_sold_twice_in_any_experiment_is_not_enough(self):
        cells = [*(cell(name, 0, 20) for name in readings.OVERSELLING), cell("waiter-lease-ended", 20, 20)]
        self.assertIn("waiter-lease-ended 20 of 20 rounds): **not enough**",
                      claims.guide(Readings(results(mechanism("conditional-update", cells))))[0][2])

    def test_a_lock_that_its_owner_opens_by_taking_it_twice_is_enough_for_others(self):
        cells = [*(cell(name, 0, 20) for name in readings.OVERSELLING), cell("taken-twice", 20, 20)]
        said = claims.guide(Readings(results(mechanism("row-for-update", cells))))[2][2]
        self.assertIn("**enough**, if no owner takes it twice", said)
        self.assertIn("(20 of 20 rounds)", said)
        both = [*cells, cell("holder-stopped", 1, 20)]
        self.assertIn("**not enough**", claims.guide(Readings(results(mechanism("row-for-update", both))))[2][2])

    def test_a_lock_is_enough_only_if_all_experiments_have_rounds_enough(self):
        for cells, words in (([cell(name, 0, 20) for name in readings.OVERSELLING], "**enough**"),
                             ([cell(name, 0, 19) for name in readings.OVERSELLING], "too few rounds to say more"),
                             ([cell("rush", 0, 20)], "not measured in holder-stopped, late-write, work-too-long")):
            made = results(mechanism("conditional-update", cells))
            self.assertIn(words, claims.guide(Readings(made))[0][2])

    def test_too_few_rounds_without_harm_are_no_verdict(self):
        made = results(mechanism("redlock-parallel", [cell("two-servers-down", 0, 2)]))
        self.assertEqual(verdict_of("Redlock goes on", made), "not measured")


class Page(unittest.TestCase):
    def made(self):
        return results(
            mechanism("zklock", [cell("rush", 0, 50), cell("late-write", 50, 50), cell("late-write", 0, 50, True),
                                 cell("holder-killed", 0, 50, stuck_median_s=1.2)], token="the czxid"),
            mechanism("curator", [cell("rush", 0, 0, failed="CannotServe: zookeeper has ended by itself"),
                                  cell("strange", 0, 0, not_seen="no | packet")]),
            mechanism("jedis", cannot="no package"),
            mechanism("conditional-update", [cell("rush", 1, 20, theory=SAFE),
                                             cell("late-write", 0, 20, theory=HARMFUL)]),
            speed={"8x1": {"zklock": slices([1, 1, 1]), "unheard-of": slices(None, wait_p50_ms=None, overtaking=None)}})

    def test_all_rows_are_there_whatever_could_not_be_measured(self):
        text = page.text_of(self.made()) + "".join(page.parts_of(self.made(), plots=[]).values())
        for wanted in ("failed: CannotServe: zookeeper has ended by itself", "not seen: no \\| packet",
                       "not measured: no package", "1 of 20 **theory: safe**", "0 of 20 (≤ 14 %) **theory: harmful**",
                       "| `unheard-of` | not measured", "rush 1 of 20 (theory: none)"):
            self.assertIn(wanted, text)

    def test_a_unit_sold_twice_is_told_apart_from_other_harm(self):
        cells = [cell("late-write", 20, 20), cell("forgotten", 20, 20, overselling=0), cell("rush", 5, 20, overselling=2),
                 cell("cut-off", 0, 20), cell("one-ticket", 0, 20), cell("orders-of-two", 0, 50, theory=HARMFUL)]
        self.assertEqual(page.sold_twice(cells), "late-write 20 of 20, rush 2 of 20")
        self.assertEqual(page.other_harm(cells), "forgotten 20 of 20, rush 3 of 20")
        self.assertEqual(page.no_harm_text(cells), "1 experiment: 0 of 50 (≤ 5.8 %); 2 experiments: 0 of 20 (≤ 14 %);"
                                                   " orders-of-two (theory: harm)")

    def test_what_is_still_to_be_measured_is_said(self):
        said = page.run_text(self.made())
        self.assertIn("In 2 of 8 there are fewer than 20 yet", said)
        self.assertNotIn("jedis", said)
        self.assertIn("no rounds yet of: `kazoo`.", page.run_text(results(mechanism("kazoo"), mechanism("jedis", cannot="x"))))
        self.assertNotIn("yet", page.run_text(results(mechanism("zklock", [cell("rush", 0, 20)]))))

    def test_a_fault_that_was_not_seen_is_no_round_that_is_still_to_come(self):
        cells = [cell("rush", 0, 20), cell("cut-off", 0, 19, unseen=1), cell("one-clock", 0, 0, unseen=20)]
        said = page.run_text(results(mechanism("zklock", cells)))
        self.assertIn("In 2 of 3 the fault was not seen in some rounds, which do not count; in 1 of these it was seen in"
                      " none.", said)
        self.assertNotIn("yet", said)

    def test_every_part_has_its_place(self):
        parts = page.parts_of(self.made(), plots=[])
        text = publish.filled(publish.read(publish.PAGE), parts)
        self.assertEqual(publish.emptied(text), publish.emptied(publish.read(publish.PAGE)))
        self.assertLess(text.index("What speaks against zklock"), text.index("Which lock to take\n"))
        with self.assertRaises(ValueError):
            publish.filled(text.replace("bench/compare: guide", "bench/compare: gone"), parts)

    def test_labels_touch_neither_each_other_nor_points(self):
        points = {f"redis-of-number-{number}": [(2 + number / 100, 0.8), (2 + number / 100, 0)] for number in range(20)}
        place = plots.Place([0.5, 20])
        boxes = [(x, y, x, y) for x, y in (place.point(*point) for both in points.values() for point in both)]
        for name, x, y, side in re.findall(r"set label '(.*)' at screen (.*), screen (.*) (left|right) ",
                                           "".join(plots.labels(points, place, {"Redis": points}))):
            width, x, y = len(name) * plots.LETTER, float(x) * plots.SIZE["width"], float(y) * plots.SIZE["height"]
            box = (x - (width if side == "right" else 0), y - 6, x + (width if side == "left" else 0), y + 6)
            self.assertFalse([other for other in boxes if plots.touch(box, other)], name)
            boxes.append(box)
        self.assertEqual(len(boxes), 60)

    def test_a_mechanism_on_servers_that_are_not_known_has_a_kind(self):
        strange = mechanism("strange", servers="redis-cluster")
        read = Readings(results(strange, mechanism("zklock")))
        self.assertEqual(plots.kinds_of(["strange", "zklock"], read), {"zklock": ["zklock"], "other": ["strange"]})

    def test_the_committed_page_is_what_the_committed_results_give(self):
        self.assertEqual(publish.stale(), [])
        self.assertTrue(os.path.exists(publish.PAGE))


if __name__ == "__main__":
    unittest.main()
