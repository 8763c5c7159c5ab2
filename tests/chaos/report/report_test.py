"""What docs/reliability.md says of results that are made up; and the page is what its figures give.

    cd tests/chaos && python3 -m unittest report.report_test
"""
import unittest

from fleet.growth import NS
from world.nemesis import FAULTS

from . import page, plots, reading
from .unavailability import KINDS, TERMS, bound_ms

SETTINGS = {"session_ms": 4000, "tick_ms": 500, "join_ms": 10000, "silence_ms": 5000}


def fault(**more):
    return {"begun": 3, "proven": 3, "counted": 3, "grants": 1200, "losses": 2, "longest_without_grant_ms": 700,
            "lasts_ms": 3000, "proofs": ["wait status"], **more}


def line(**more):
    return {"of": "c1", "process": 7, "what": "anonymous_kb", "samples": 50, "seconds": 900, "median": 2048, "risen": 100.0,
            "may_rise": 1228.8, "grows": False, **more}


def results(**more):
    return {"seed": "a|b", "commit": "abc", "machine": {"cores": 2, "kernel": "6.1"}, "seconds": 7200, "grants": 1234567,
            "not_counted": [], "wrong": [], "violations": {}, "faults": {kind: fault() for kind in KINDS},
            "date": "2030-01-01", "zookeeper": "3.9.3", "settings": SETTINGS, "rules": {"two_holders": "At most one."},
            "plants": 82, "revived": 0, "samples": 300, "growth": [line()], **more}


class BoundsTest(unittest.TestCase):
    def test_each_kind_of_fault_has_a_bound(self):
        self.assertEqual(sorted(KINDS), sorted(FAULTS))
        for kind in KINDS:
            self.assertGreater(bound_ms(kind, SETTINGS, 3000), 0)

    def test_a_bound_is_the_sum_of_its_terms(self):
        self.assertEqual(bound_ms("client killed", SETTINGS, 99999), 4000 + 500 + 2000)
        self.assertEqual(bound_ms("client cut from all servers", SETTINGS, 6000), 6000 + 4000 + 4500 + 2000)
        self.assertIsNone(bound_ms("a new one", SETTINGS, 1))

    def test_each_term_is_used(self):
        self.assertEqual({one for terms in KINDS.values() for one in terms}, set(TERMS))

    def test_the_limits_are_those_of_the_servers(self):
        self.assertEqual(reading.settings(), SETTINGS)


class ReadingTest(unittest.TestCase):
    def test_how_long_faults_lasted_and_what_proved_them(self):
        def of(number, what, at_ms, **more):
            return {"event": "fault", "what": what, "fault": number, "at": at_ms * 10**6, **more}
        nemesis = [of(1, "begin", 0, kind="client killed"), of(1, "proven", 100, proof={"wait status": -9}),
                   {"event": "clock", "at": 1, "real_ns": 1}, of(1, "end", 1000), of(1, "healed", 1500),
                   of(2, "begin", 2000, kind="client killed"), of(2, "proven", 2100, proof={"/proc": "T"}),
                   of(2, "end", 4500), of(3, "end", 9000), of(4, "begin", 9000, kind="unproven"), of(4, "end", 9500)]
        self.assertEqual(reading.times_of(nemesis), {
            "client killed": {"lasts_ms": 2500, "proofs": ["/proc", "wait status"]},
            "unproven": {"lasts_ms": 500, "proofs": []}})

    def test_a_day_is_that_of_the_clock_on_the_wall(self):
        self.assertEqual(reading.day_of(1795779602780 * 10**6), "2026-11-27")


class PageTest(unittest.TestCase):
    def test_all_of_it_is_whole(self):
        for made in (results(), results(seconds=180, grants=5, growth=[], samples=3, faults={}, commit=""),
                     results(not_counted=[{"number": 1, "kind": "client killed", "why": "no sign"}], wrong=["a | b"])):
            self.assertEqual(list(page.not_whole(page.page_of(made, ["memory", "heaps"]))), [])

    def test_a_short_run_is_no_soak(self):
        for made, is_soak in ((results(), True), (results(seconds=7199), False), (results(grants=999999), False)):
            self.assertEqual("so far" not in page.run(made), is_soak)
        self.assertIn("**3.0 minutes, 1,234,567 grants", page.run(results(seconds=180)))

    def test_servers_that_ended_by_themselves_are_told(self):
        self.assertIn("2 times a server ended by itself", page.run(results(revived=2)))
        self.assertNotIn("by itself", page.run(results()))

    def test_a_good_run_is_said_to_be_good(self):
        self.assertIn("No promise was violated", page.run(results()))
        self.assertIn("nothing grew", page.run(results()))
        self.assertNotIn("nothing grew", page.run(results(growth=[])))

    def test_whatever_went_wrong_is_told(self):
        for made, told in ((results(violations={"two_holders": 3}), "two_holders: violated 3 times."),
                           (results(wrong=["c1 did not end"]), "- c1 did not end.\n")):
            self.assertIn(told, page.run(made))
            self.assertNotIn("No promise was violated", page.run(made))
        self.assertIn("| two_holders | At most one. | 3 |", page.rules(results(violations={"two_holders": 3})))

    def test_a_wait_beyond_its_bound_is_bold(self):
        def row(longest):
            return page.survived(results(faults={"client killed": fault(longest_without_grant_ms=longest)}))
        self.assertIn("| 6.5 s | 6.5 s | expiry + round |", row(6500))
        self.assertIn("| **6.6 s** | 6.5 s | expiry + round |", row(6600))

    def test_a_kind_that_did_not_count_was_not_survived(self):
        made = results(faults={"client killed": fault(counted=0), "leader killed": fault()})
        self.assertNotIn("client killed", page.survived(made))
        self.assertIn("client killed", page.left_out(made))
        self.assertNotIn("leader killed", page.left_out(made))

    def test_of_each_thing_the_worst_line_is_shown(self):
        said = page.flat(results(growth=[line(), line(of="c2", risen=1300.0, grows=True), line(what="threads", median=9)]))
        self.assertIn("| heaps and stacks of a process | 2 | 1 | 2.0 MB (c2, 15.0 minutes) | 1.3 MB | 1.2 MB |", said)
        self.assertIn("| threads of a process | 1 | 0 | 9 ", said)

    def test_what_is_not_whole_is_found(self):
        for text in ("It has three\n", "It took nan s.\n", "It took {seconds} s.\n", "- An item\n- Another.\n", "At None.\n"):
            self.assertEqual(len(list(page.not_whole(text))), 1, text)
        whole = "# A head\n\nIt is **so.** Two\nlines:\n\n- One.\n- Two\n  lines.\n\n| a | b\n\n```sh\ncode {\n```\n"
        self.assertEqual(list(page.not_whole(whole)), [])

    def test_a_part_without_a_place_is_an_error(self):
        text = page.read(page.PAGE)
        with self.assertRaises(ValueError):
            page.filled(text.replace("tests/chaos: rules", "tests/chaos: gone"), page.parts_of(results(), []))

    def test_the_committed_page_is_what_the_committed_figures_give(self):
        self.assertEqual(page.stale(), [])


class PlotsTest(unittest.TestCase):
    def samples(self):
        own = {"program": "chaos_contender", "descriptors": 7, "anonymous_kb": 1024}
        server = {"program": "java", "watches": 5, "connections": 2, "nodes": 9, "sessions": 3, "heap_kb": 5120}
        return [{"at": minute * 60 * NS, "at_rest": minute % 2 == 0, "of": of, "process": process, **(
            server if of.startswith("server") else own)}
                for minute in range(5) for of, process in (("c1", minute // 3), ("server-1", 3), ("server-2", 4))]

    def test_a_process_that_came_in_the_place_of_another_has_a_line_of_its_own(self):
        self.assertEqual(plots.of_members(self.samples(), "anonymous_kb", 1024),
                         {"chaos_contender (2)": [[(0, 1), (1, 1), (2, 1)], [(3, 1), (4, 1)]]})

    def test_servers_are_shown_at_rest(self):
        self.assertEqual(plots.heaps(self.samples()), {f"server-{number}": [[(0, 5), (2, 5), (4, 5)]] for number in (1, 2)})
        self.assertEqual(plots.kept(self.samples())["watches"], [[(0, 10), (2, 10), (4, 10)]])
        self.assertEqual(plots.kept(self.samples())["nodes"], [[(0, 9), (2, 9), (4, 9)]])

    def test_a_pen_is_lifted_between_two_lines(self):
        self.assertEqual(plots.block(0, [[(0, 1)], [(1, 2)]]), "$data0 << END\n0.00 1\n\n1.00 2\nEND\n")

    def test_a_long_line_is_thinned(self):
        self.assertLessEqual(len(plots.thinned(list(range(10000)))), plots.POINTS)


if __name__ == "__main__":
    unittest.main()
