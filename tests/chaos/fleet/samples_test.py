"""What is sampled, and which of it grows, in samples that are made up.

    cd tests/chaos && python3 -m unittest fleet.samples_test
"""
import json
import os
import random
import subprocess
import tempfile
import types
import unittest

from . import growth
from .samples import Samples, collected_kb, of_clients, of_process

OWN = {"program": "chaos_contender", "rss_kb": 9000, "anonymous_kb": 4000, "threads": 9, "descriptors": 12}
SERVER = {"program": "java", "rss_kb": 90000, "anonymous_kb": 80000, "threads": 40, "descriptors": 60}
EVERY_S = 15


def made(seconds, of="c1", process=1, base=None, at_rest=True, since=0, **values):
    """A sample every 15 s. `values`: by name what is measured, by the seconds since the first one."""
    base = base or OWN
    return [{"at": int((since + at) * growth.NS), "at_rest": at_rest, "of": of, "process": process, **base,
             **{what: of_time(at) for what, of_time in values.items()}} for at in range(0, seconds, EVERY_S)]


def growing(samples):
    return [(one["of"], one["what"]) for one in growth.growth(samples) if one["grows"]]


class GrowthTest(unittest.TestCase):
    def test_what_stays_as_it_is_does_not_grow(self):
        self.assertEqual(len(growth.growth(made(7200))), 4)
        self.assertEqual(growing(made(7200)), [])

    def test_a_leak_of_each_thing_grows(self):
        for what, a_second in (("rss_kb", 0.7), ("anonymous_kb", 0.4), ("descriptors", 0.001), ("threads", 0.001)):
            leaky = made(7200, **{what: lambda at, slope=a_second, what=what: OWN[what] + at * slope})
            self.assertEqual(growing(leaky), [("c1", what)])

    def test_what_rises_and_falls_does_not_grow(self):
        chance = random.Random(1)
        noisy = made(7200, rss_kb=lambda at: 9000 + chance.randrange(3000), descriptors=lambda at: chance.choice((12, 12, 60)))
        self.assertEqual(growing(noisy), [])

    def test_a_leak_shows_beside_noise(self):
        chance = random.Random(1)
        leaky = made(7200, rss_kb=lambda at: 9000 + at * 1.2 + chance.randrange(3000))
        self.assertEqual(growing(leaky), [("c1", "rss_kb")])

    def test_what_rises_at_first_and_then_stays_does_not_grow(self):
        self.assertEqual(growing(made(7200, rss_kb=lambda at: min(9000, 3000 + at * 5))), [])

    def test_a_window_alone_is_no_growth(self):
        self.assertEqual(growing(made(7200, rss_kb=lambda at: 9000 if at < 6700 else 90000)), [])

    def test_what_is_not_at_rest_is_left_out(self):
        wild = made(7200, at_rest=False, rss_kb=lambda at: 9000 + at * 10)
        self.assertEqual(growing(made(7200) + wild), [])

    def test_only_who_lived_long_counts(self):
        brief = made(590, rss_kb=lambda at: 1000 + at * 100)
        self.assertEqual(growth.growth(brief), [])
        self.assertEqual(growing(made(900, rss_kb=lambda at: 1000 + at * 100)), [("c1", "rss_kb")])

    def test_who_was_killed_begins_a_new_line(self):
        each_life = (lambda at: min(9000, 2000 + at * 20))
        lives = [made(590, process=number, since=number * 600, rss_kb=each_life) for number in range(12)]
        self.assertEqual(growth.growth(sum(lives, [])), [])
        long_lives = [made(1200, process=number, since=number * 1200, rss_kb=each_life) for number in range(2)]
        self.assertEqual(growing(sum(long_lives, [])), [])
        self.assertEqual(len(growth.growth(sum(long_lives, []))), 8)

    def test_the_memory_of_others_is_theirs(self):
        for program in ("java", "python3.11"):
            self.assertEqual(growth.growth(made(7200, base={**OWN, "program": program}, rss_kb=lambda at: at * 100)), [])


class ServersGrowthTest(unittest.TestCase):
    def samples(self, starts_every_s=600, **values):
        """Of three servers that start again and again; at one time each."""
        found = []
        for number in (1, 2, 3):
            for sample in made(7200, f"server-{number}", base=SERVER, **values):
                found.append({**sample, "process": int(sample["at"] / growth.NS / starts_every_s) * 10 + number})
        return found

    def test_what_servers_keep_is_one_line_over_their_starts(self):
        for what in ("watches", "nodes", "connections", "sessions"):
            leaky = self.samples(**{what: lambda at: 20 + at * 0.01})
            self.assertEqual(growing(leaky), [("servers", what)])
            self.assertEqual(growing(self.samples(**{what: lambda at: 20})), [])

    def test_watches_are_summed_and_nodes_are_not(self):
        found = {one["what"]: one["median"] for one in growth.growth(self.samples(watches=lambda at: 20, nodes=lambda at: 7))}
        self.assertEqual(found, {"watches": 60, "nodes": 7})

    def test_a_heap_grows_over_starts(self):
        self.assertEqual(growing(self.samples(heap_kb=lambda at: 10000 + at * 3)),
                         [(f"server-{number}", "heap_kb") for number in (1, 2, 3)])

    def test_a_heap_that_each_start_empties_does_not_grow(self):
        self.assertEqual(growing(self.samples(heap_kb=lambda at: 10000 + at % 600 * 10)), [])


class SamplesTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.path = os.path.join(place.name, "file")

    def test_a_process_is_as_the_kernel_has_it(self):
        before = of_process(os.getpid())
        kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(10)]
        more = bytearray(os.urandom(20 << 20))
        after = of_process(os.getpid())
        for one in kept:
            os.close(one)
        self.assertEqual(after["descriptors"] - before["descriptors"], 10)
        self.assertGreater(after["anonymous_kb"] - before["anonymous_kb"], len(more) * 0.9 / 1024)
        self.assertIn("python", after["program"])
        self.assertGreaterEqual(after["threads"], 1)

    def test_who_has_ended_has_nothing(self):
        ended = subprocess.Popen(["true"])
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        self.assertIsNone(of_process(ended.pid))
        ended.wait()
        self.assertIsNone(of_process(ended.pid))

    def test_the_last_collection_counts(self):
        with open(self.path, "w", encoding="ascii") as log:
            log.write("[0.005s] Using Serial\n")
        self.assertIsNone(collected_kb(self.path))
        with open(self.path, "a", encoding="ascii") as log:
            log.write("[0.5s] GC(0) Pause Young (Allocation Failure) 33M->4M(123M) 6.003ms\n"
                      "[0.9s] GC(1) Pause Full (System.gc()) 37M->3M(123M) 9.003ms\n")
        self.assertEqual(collected_kb(self.path), 3 << 10)
        self.assertIsNone(collected_kb(self.path + "-of-nobody"))

    def test_what_a_server_says_of_its_clients(self):
        self.assertEqual(of_clients("zk_version\t3.9.3\nzk_watch_count\t5\nzk_znode_count\t7\nzk_global_sessions\t2\n"),
                         {"watches": 5, "nodes": 7, "sessions": 2})
        self.assertEqual(of_clients(None), {})

    def test_what_is_written_can_be_judged(self):
        member = types.SimpleNamespace(name="c1", process=types.SimpleNamespace(pid=os.getpid()))
        gone = types.SimpleNamespace(name="c2", process=None)
        samples = Samples(self.path, types.SimpleNamespace(all=[member, gone]), types.SimpleNamespace(present=[]))
        samples.begin()
        samples.take(at_rest=True)
        samples.end()
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual([json.loads(line)["of"] for line in file], ["c1"])
        self.assertEqual(growth.growth(growth.samples_of(self.path)), [])


if __name__ == "__main__":
    unittest.main()
