"""The checker finds what is planted, and nothing in correct runs.

    cd tests/chaos && python3 -m unittest checker.checker_test
"""
import functools
import json
import os
import pathlib
import re
import resource
import tempfile
import unittest
import unittest.mock

from . import history, names, rules, transactions  # noqa: F401  (rules register themselves)
from .judge import RULES
from .main import by_generation, judge, of_generations, read_servers, until_last_line
from .made_nemesis import MadeRun
from .made_servers import KINDS
from .plants import PLANTS, Copy, NoPlace
from .servers import Servers
from .transactions import Clock, read_one

SOURCE = pathlib.Path(__file__).resolve().parents[3]
RUNS = {"calm": {"grants": 170, "processes": 3, "handles": 4, "faults": False, "pause": 3000 * 10**6},
        "lonely": {"grants": 120, "processes": 1, "handles": 1, "faults": False, "pause": 300 * 10**6},
        "stormy": {"grants": 400, "processes": 3, "handles": 3, "pause": 600 * 10**6}}
SEEDS = range(1, 9)  # in one of them there is a place for each plant
CORRECT_SEEDS = int(os.environ.get("CHECKER_SEEDS", "6"))


@functools.lru_cache(None)
def made(kind, seed):
    return MadeRun(seed, **RUNS[kind])


def judged(lines, transactions, chosen=None, has_ended=True):
    clock = Clock((line["at"], line["real_ns"]) for line in lines if line["event"] == "clock")
    return judge(lines, of_generations(lambda _: read_one(transactions, clock), []), chosen, has_ended)


def planted(plant):
    """What its rule finds in the first run that has a place for it."""
    for seed in SEEDS:
        copy = Copy(made(plant.run, seed))
        try:
            plant.put(copy)
        except NoPlace:
            continue
        return judged(*copy.finished(), [RULES[plant.rule]]).found
    raise AssertionError(f"{plant.name}: no run has a place for it")


class Correct(unittest.TestCase):
    def expect_nothing(self, kind, seeds):
        for seed in seeds:
            run = made(kind, seed)
            found = judged(run.lines, run.transactions)
            self.assertGreater(found.world.grants, 80)
            self.assertEqual([str(one) for one in found.examples], [], f"run {kind}, seed {seed}")

    def test_calm_runs_have_no_violation(self):
        self.expect_nothing("calm", range(1, 1 + CORRECT_SEEDS // 2))

    def test_runs_of_one_process_have_no_violation(self):
        self.expect_nothing("lonely", range(1, 1 + CORRECT_SEEDS // 2))

    def test_runs_among_faults_have_no_violation(self):
        self.expect_nothing("stormy", range(1, 1 + CORRECT_SEEDS))


class Planted(unittest.TestCase):
    def test_each_rule_has_a_plant(self):
        self.assertEqual(set(RULES), {plant.rule for plant in PLANTS})


def add_plant(plant):
    def test(self):
        self.assertIn(plant.rule, planted(plant), f"{plant.name} is not found")

    setattr(Planted, f"test_{plant.name}_is_found", test)


for one in PLANTS:
    add_plant(one)


class Union(unittest.TestCase):
    """Of the logs of three servers."""

    def read(self, *logs, snapshots=()):
        """logs: the transactions of each server. snapshots: (server, the last that it has, its nodes and their czxids)."""
        with tempfile.TemporaryDirectory() as directory:
            files = []
            for number, log in enumerate(logs, 1):
                path = pathlib.Path(directory) / f"{number}.jsonl"
                path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in log), encoding="utf-8")
                files.append((str(number), path))
            for server, last, *nodes in snapshots:
                path.with_name(f"{server}.snapshots").write_text(
                    json.dumps({"zxid": last["zxid"], "ephemerals": dict(nodes)}) + "\n", encoding="utf-8")
            return [one for _, one in transactions.read(files, 2, Clock([(0, 0)]))]

    def committed(self, *logs, **more):
        return [one["zxid"] for one in self.read(*logs, **more)]

    @staticmethod
    def one(epoch, counter, *parts, session="0x1"):
        return {"zxid": (epoch << 32) + counter, "time_ms": counter, "session": session, "parts": list(parts)}

    def test_what_two_of_three_have_is_committed(self):
        first, second = self.one(1, 1, ["check", "/"]), self.one(1, 2, ["check", "/"])
        self.assertEqual(self.committed([first, second], [first], [second]), [first["zxid"], second["zxid"]])

    def test_what_comes_before_it_in_its_epoch_is_committed(self):
        first, second = self.one(1, 1, ["check", "/"]), self.one(1, 2, ["check", "/"])
        self.assertEqual(self.committed([first, second], [second], []), [first["zxid"], second["zxid"]])

    def test_what_a_leader_alone_wrote_down_is_not(self):
        lost = self.one(1, 1, ["create", "/a-0000000001", 1, ""])
        later = self.one(2, 1, ["create", "/b-0000000001", 1, ""])
        self.assertEqual(self.committed([lost, later], [later], [later]), [later["zxid"]])

    def test_what_a_later_transaction_builds_on_is_committed(self):
        kept = self.one(1, 1, ["create", "/a-0000000001", 1, ""])
        later = self.one(2, 1, ["close", ["/a-0000000001"]])
        self.assertEqual(self.committed([kept, later], [later], [later]), [kept["zxid"], later["zxid"]])

    def test_a_deletion_is_committed_if_its_session_had_nothing_to_delete_at_its_end(self):
        gone = self.one(1, 1, ["delete", "/a-0000000001"])
        self.assertEqual(len(self.committed([gone], [end := self.one(2, 1, ["close", []])], [end])), 2)
        self.assertEqual(len(self.committed([gone], [end := self.one(2, 1, ["close", ["/a-0000000001"]])], [end])), 1)

    def test_a_name_that_is_made_again_was_not_there(self):
        lost = self.one(1, 1, ["create", "/a-0000000001", 1, ""])
        again, gone = self.one(2, 1, ["create", "/a-0000000001", 1, ""]), self.one(2, 2, ["delete", "/a-0000000001"])
        self.assertEqual(len(self.committed([lost], [again, gone], [again, gone])), 2)

    def test_snapshots_that_were_read_otherwise_are_told(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "1.jsonl"
            path.with_suffix(".snapshots").write_text("4294967297\n", encoding="utf-8")
            with self.assertRaises(history.Malformed):
                transactions.snapshots_of([("1", path)])

    def test_a_node_whose_number_is_given_again_was_not_there(self):
        """Nor was anything behind it. When its session ends the servers delete it: it may have come back."""
        first = self.one(1, 1, ["check", "/"])
        lost = [self.one(1, 2, ["create", "/b", 0, ""]), self.one(1, 3, ["create", "/a/a-0000000007", 1, ""]),
                self.one(1, 4, ["open", 9], session="0x3")]
        end = self.one(2, 3, ["close", ["/a/a-0000000007"]], session="0x3")
        for again, was_there in (([["create", "/a/b-0000000007", 1, ""]], False), ([["create", "/a/b-0000000006", 1, ""]], False),
                                 ([["create", "/a/b-0000000008", 1, ""]], True),
                                 ([["create", "/a/b-0000000007", 0, ""]], True), ([["create", "/b/b-0000000007", 1, ""]], True),
                                 ([["create", "/a/b-0000000007", 1, ""], ["delete", "/a/c-0000000007"]], True)):
            later = [self.one(2, 2, *again), end]
            self.assertEqual(self.read([first, *lost, *later], [first, *later], [first, *later]),
                             [first, *(lost if was_there else []), *later])

    def test_a_parent_that_is_made_anew_gives_numbers_anew(self):
        first, node = self.one(1, 1, ["check", "/"]), "/a/a-0000000007"
        parts = [["create", node, 1, ""], ["delete", node], ["delete", "/a"], ["create", "/a/a-0000000000", 1, ""]]
        for count in 1, 2, 3:
            lost = [self.one(1, 2 + number, part) for number, part in enumerate(parts[:count])]
            later = [self.one(2, 2 + number, part) for number, part in enumerate(parts[count:])]
            lost.append(self.one(1, 9, ["open", 9], session="0x3"))
            later.append(self.one(2, 9, ["close", []], session="0x3"))
            self.assertEqual(self.read([first, *lost, *later], [first, *later], [first, *later]), [first, *lost, *later])

    def test_what_another_server_has_in_a_snapshot_is_committed(self):
        kept = self.one(1, 1, ["create", "/a-0000000001", 1, ""])
        later = self.one(2, 1, ["create", "/b-0000000001", 1, ""])
        for snapshots, count in ((("1", kept),), 1), ((("2", kept),), 2), ((("2", later),), 1):
            self.assertEqual(len(self.committed([kept, later], [later], [later], snapshots=snapshots)), count)

    def back(self, lost, *snapshots):
        """What is read of one server that alone has `lost`, at the end of epoch 1, and two others. It leads in epoch 3."""
        first, made = self.one(1, 1, ["check", "/"]), self.one(1, 2, ["create", "/b-0000000002", 1, ""])
        second, third = self.one(2, 1, ["check", "/"]), self.one(3, 1, ["check", "/"])
        snapshots = [(server, (first, second, third)[epoch], *nodes) for server, epoch, *nodes in snapshots]
        logged = [first, made, second, third]
        found = self.read([first, made, lost, second, third], logged, logged, snapshots=snapshots)
        self.assertEqual([one for one in found if one in logged], logged)
        back = [one for one in found if one not in logged]
        self.assertTrue(all(found[3:-1] == back and one["zxid"] == second["zxid"] and one["session"] == "0x7" and
                            one["time_ms"] == third["time_ms"] for one in back))
        return [part for one in back for part in one["parts"]]

    def test_a_node_that_snapshots_of_a_later_epoch_have_is_back(self):
        lost = self.one(1, 3, ["create", "/a-0000000001", 1, ""], session="0x7")
        node = ("/a-0000000001", lost["zxid"])
        self.assertEqual(self.back(lost, ("1", 1, node), ("2", 1, node)), [["risen", *node]])
        for other in ("/a-0000000001", 99), ("/other-0000000001", lost["zxid"]):
            self.assertEqual(self.back(lost, ("1", 1, node), ("2", 1, other)), [])
        self.assertEqual(self.back(lost, ("1", 1, node)), [])  # whoever gave it to nobody did not lead
        self.assertEqual(self.back(lost, ("1", 2, node), ("2", 2, node)), [])  # nothing comes behind these

    def test_a_node_that_snapshots_of_a_later_epoch_lack_is_gone(self):
        lost, node = self.one(1, 3, ["delete", "/b-0000000002"], session="0x7"), ("/b-0000000002", (1 << 32) + 2)
        self.assertEqual(self.back(lost, ("1", 1), ("2", 1)), [["delete", "/b-0000000002"]])
        self.assertEqual(self.back(lost, ("1", 1), ("2", 1, node)), [])

    def test_a_snapshot_of_before_shows_nothing(self):
        first, made = self.one(1, 1, ["check", "/"]), self.one(1, 2, ["create", "/a-0000000001", 1, ""])
        lost, later = self.one(1, 3, ["delete", "/a-0000000001"]), self.one(2, 1, ["check", "/a-0000000001"])
        logged = [first, later]
        self.assertEqual(self.read([first, made, lost, later], logged, logged, snapshots=(("1", first), ("2", first))),
                         [first, made, later])

    def test_each_epoch_can_end_with_what_nobody_else_saw(self):
        lost = [self.one(epoch, 1, ["create", f"/{epoch}-0000000001", 1, ""]) for epoch in (1, 2, 3)]
        last = self.one(4, 1, ["check", "/"])
        self.assertEqual(self.committed([*lost, last], [last], []), [last["zxid"]])

    def test_one_number_with_two_contents_is_told(self):
        with self.assertRaises(transactions.ServersDisagree):
            self.committed([self.one(1, 1, ["check", "/"])], [self.one(1, 1, ["check", "/other"])], [])

    def test_a_step_of_the_clock_is_followed(self):
        clock = Clock([(10, 1010), (20, 5020)])
        self.assertEqual([clock.boottime(real) for real in (1012, 5019, 5025)], [12, 4019, 25])


class Histories(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "c.jsonl"
            path.write_text(text, encoding="utf-8")
            return [line["at"] for line in history.merged([path])]

    def test_threads_that_were_held_up_are_put_in_order(self):
        self.assertEqual(self.read('{"at": 2}\n{"at": 1}\n'), [1, 2])

    def test_more_processes_than_files_may_be_open(self):
        many = 300
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        with tempfile.TemporaryDirectory() as directory:
            paths = [pathlib.Path(directory) / f"{number}.jsonl" for number in range(many)]
            for number, path in enumerate(paths):
                path.write_text(f'{{"at": {2 * number}}}\n{{"at": {2 * number + 1}}}\n', encoding="utf-8")
            resource.setrlimit(resource.RLIMIT_NOFILE, (50, limits[1]))
            self.assertEqual([line["at"] for line in history.merged(paths)], list(range(2 * many)))

    def test_a_last_line_that_is_cut_off_is_left_out(self):
        self.assertEqual(self.read('{"at": 2}\n{"at": 3, "wh'), [2])

    def test_another_line_that_is_cut_off_is_an_error(self):
        with self.assertRaises(history.Malformed):
            self.read('{"at": 2, "wh\n{"at": 3}\n')

    def test_an_unknown_event_is_told(self):
        self.assertIn("invented", *judge([{"at": 1, "who": "c", "event": "invented"}], []).not_judged)


class Incomplete(unittest.TestCase):
    """Runs that were killed, or were not healed: they are judged as far as they go, and the rest is told."""

    def half(self, copy, chosen=None):
        """Of a run of which the machine has kept more of the histories than of the servers."""
        lines, transactions = copy.finished()
        transactions = transactions[:len(transactions) // 2]
        until = copy.boottime(transactions[-1]) + 5 * 10**9
        return judged([line for line in lines if line["at"] < until], transactions, chosen, has_ended=False)

    def test_what_a_killed_run_had_not_ended_is_no_violation(self):
        for seed in range(1, 4):
            found = self.half(Copy(made("stormy", seed)))
            self.assertEqual([str(one) for one in found.examples], [])
            self.assertGreater(found.world.grants, 80)
            self.assertIn("the run's end", found.not_judged[0])

    def test_what_came_before_its_end_is_found(self):
        copy = Copy(made("stormy", 1))
        copy.plain_turn().grant["node"] = "/locks/nobodys/_c_00000000-0000-4000-8000-000000000000-lock-0000000000"
        self.assertEqual(set(self.half(copy).found), {"grant_without_a_node"})

    def test_what_servers_did_after_the_last_line_of_the_nemesis_is_left_out(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "nemesis.jsonl"
            path.write_text('{"at": 5}\n{"at": 7}\n{"at": 9', encoding="utf-8")  # it was killed in the middle of a line
            kept = until_last_line(iter([(6, "one"), (7, "other"), (8, "later")]), [path])
            self.assertEqual(list(kept), [(6, "one"), (7, "other")])

    def test_what_servers_had_until_a_restore_is_before_it(self):
        paths = [pathlib.Path(f"1-data-{name}.jsonl") for name in ("until-restore-1-version-2-older", "version-2",
                                                                   "until-restore-2-version-2-older")]
        one, last, more = (("1", path) for path in paths)
        self.assertEqual(by_generation([one, last, more], 1), [[one], [last, more]])
        self.assertEqual(by_generation([one, more], 0), [[one]])  # the nemesis could not tell of it

    def test_the_data_of_all_servers_are_read_once(self):
        """By a reader that cannot read server 2's."""
        with tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            for number, ends in ("1", "old/"), ("1", ""), ("2", ""):
                data = directory / f"server-{number}" / ends / "version-2"
                data.mkdir(parents=True)
            reader = directory / "reader"
            reader.write_text(
                '#!/bin/sh\necho $# >>"$0.calls"\nfor i; do case $i in */1-*.jsonl) echo >"$i" ;; esac; done\n',
                encoding="utf-8")
            reader.chmod(0o755)
            with unittest.mock.patch("checker.main.READER", reader):
                for pairs in 3, 1:
                    found, unread = read_servers(directory)
                    self.assertEqual([one.name for _, one in found], ["1-old-version-2.jsonl", "1-version-2.jsonl"])
                    self.assertEqual(unread, [f"what {directory}/server-2/version-2 has, which cannot be read"])
                    calls = (directory / "reader.calls").read_text(encoding="utf-8").split()
                    self.assertEqual(calls[-1], str(2 * pairs))

    def test_a_fault_that_was_not_healed_is_told(self):
        copy = Copy(made("calm", 1))
        copy.fault(copy.start() + 10**9, "begin", kind="cut")
        found = judged(*copy.finished())
        self.assertEqual((set(found.found), len(found.not_judged)), (set(), 1))
        self.assertIn("fault 9001, cut, which was never healed", found.not_judged[0])

    def test_what_came_before_a_malformed_line_is_found(self):
        copy = Copy(made("calm", 1))
        copy.plain_turn(lambda turn: all(line.get("what") != "state" for line in turn.between)).grant["token"] = [1, 0]
        copy.lines.append({"at": copy.lines[-1]["at"], "who": "c", "event": "invented"})
        found = judged(*copy.finished())
        self.assertEqual((set(found.found), len(found.not_judged)), ({"token_is_not_of_the_node"}, 1))


class Foreign(unittest.TestCase):
    def test_another_library_holds_by_the_first_node_of_its_session(self):
        path = "/locks/r/_c_00000000-0000-4000-8000-000000000000-lock-000000000{}"
        made_by = [{"zxid": number, "time_ms": 0, "session": f"0x{number}", "parts": [["create", path.format(number), 1,
                                                                                      ""]]} for number in (1, 2)]
        lines = [{"at": 0, "who": "nemesis", "event": "clock", "real_ns": 0}]
        for number in (1, 2):
            who = {"who": f"j{number}", "process": number}
            lines += [{"at": 1, "event": "start", "host": "h", **who},
                      {"at": 2, "event": "call", "what": "open", "call": 1, **who},
                      {"at": 3, "event": "return", "what": "open", "call": 1, "status": "ZKL_OK",
                       "options": {"library": "curator"}, **who},
                      {"at": 4, "event": "call", "what": "acquire", "call": 2, "mode": "exclusive",
                       "resource": "/locks/r", **who},
                      {"at": 9 * 10**6, "event": "return", "what": "acquire", "call": 2, "status": "ZKL_OK",
                       "session": f"0x{number}", **who}]
        lines.sort(key=lambda line: line["at"])
        self.assertEqual(set(judged(lines, made_by).found), {"granted_out_of_turn", "two_holders"})


class Restore(unittest.TestCase):
    """All servers get a backup, which has a node that was released since, and lacks one that is held."""

    A, B, C = ("/locks/r/_c_00000000-0000-4000-8000-000000000000-lock-000000000" + number for number in "012")
    RESTORED = 50 * 10**6

    @staticmethod
    def one(zxid, *parts, session="0x1", at=None):
        return {"zxid": zxid, "time_ms": zxid if at is None else at, "session": session, "parts": list(parts)}

    def found(self, *after, has_all=True, token=62, between=()):
        """What is found if this comes behind the backup, and then somebody is granted C, with that token. `between`: what
        the servers had since each restore before."""
        backup = [self.one(1, ["create", self.A, 1, ""]), self.one(2, ["check", "/"])]
        known = backup if has_all else backup[1:]  # a server that got a snapshot has not logged all of it
        before = [*backup, self.one(3, ["delete", self.A]),
                  self.one(40, ["create", self.B, 1, ""], session="0x2", at=4)]
        lines = self.grant("b", 2, self.B, 40, 20 * 10**6) + self.grant("c", 3, self.C, token, 80 * 10**6)
        clock = Clock([(0, 0)])
        generations = [before, [*known, *after, self.one(token, ["create", self.C, 1, ""], session="0x3", at=62)]]
        generations[1:1] = between
        restored = [self.RESTORED - 5 * 10**6 * back for back in reversed(range(len(generations) - 1))]
        servers = of_generations(lambda number: read_one(generations[number], clock), restored)
        return set(judge(lines, servers).found) - {"call_left_open"}

    @staticmethod
    def grant(who, number, node, token, at):
        who = {"who": who, "process": number}
        return [{"at": at - 4, "event": "start", "host": "h", **who},
                {"at": at - 3, "event": "session", "session": f"0x{number}", **who},
                {"at": at - 2, "event": "call", "what": "acquire", "call": 1, "mode": "exclusive", **who},
                {"at": at, "event": "return", "what": "acquire", "call": 1, "status": "ZKL_OK", "token": [token, 0],
                 "node": node, "mode": "exclusive", "session": f"0x{number}", **who}]

    def test_what_the_backup_lacks_is_in_nobodys_way(self):
        self.assertEqual(self.found(self.one(61, ["close", [self.A]])), set())

    def test_tokens_may_be_lower_from_then_on(self):
        self.assertEqual(self.found(self.one(30, ["close", [self.A]], at=61), token=35), set())

    def test_what_was_released_since_is_in_the_way_again(self):
        self.assertEqual(self.found(), {"granted_out_of_turn"})
        self.assertEqual(self.found(has_all=False), {"granted_out_of_turn"})

    def test_a_backup_has_what_the_one_before_had(self):
        """Though it was deleted after that backup, too."""
        between = [self.one(1, ["create", self.A, 1, ""]), self.one(2, ["check", "/"], at=46),
                   self.one(3, ["delete", self.A], at=47)]
        closed = self.one(61, ["close", [self.A]])
        self.assertEqual(self.found(has_all=False, between=[between]), {"granted_out_of_turn"})
        self.assertEqual(self.found(closed, has_all=False, between=[between]), set())

    def test_a_backup_may_be_older_than_the_one_before(self):
        """Which had another node."""
        between = [self.one(40, ["create", self.B, 1, ""], session="0x2", at=4), self.one(41, ["check", "/"], at=46)]
        self.assertEqual(self.found(between=[between]), {"granted_out_of_turn"})
        self.assertEqual(self.found(self.one(61, ["close", [self.A]]), between=[between]), set())

    def test_a_backup_may_be_older_than_the_one_before_and_behind_another(self):
        between = [[self.one(1, ["create", self.A, 1, ""]), self.one(2, ["check", "/"], at=41),
                    self.one(3, ["delete", self.A], at=42)],
                   [self.one(3, ["check", "/"], at=42), self.one(4, ["check", "/"], at=46)]]
        self.assertEqual(self.found(has_all=False, between=between), {"granted_out_of_turn"})

    def test_the_node_of_a_hold_dies_also_when_the_backup_has_it(self):
        """Its holder, who was granted it before, knows of no backup."""
        backup, clock = [self.one(1, ["create", self.A, 1, ""])], Clock([(0, 0)])
        for is_deleted in (False, True):
            after = [self.one(60, ["delete", self.A] if is_deleted else ["check", "/"])]
            generations = [backup, [*backup, *after]]
            who = {"who": "a", "process": 1, "what": "release", "call": 2}
            lines = [*self.grant("a", 1, self.A, 1, 20 * 10**6), {"at": 55 * 10**6, "event": "call", **who},
                     {"at": 80 * 10**6, "event": "return", "status": "ZKL_OK", **who}]
            servers = of_generations(lambda number: read_one(generations[number], clock), [self.RESTORED])
            self.assertEqual(set(judge(lines, servers).found), set() if is_deleted else {"released_and_still_there"})


class Story:
    """A few lines and transactions, told in milliseconds. "p1a" is a handle of process 1, of session 0x1."""

    NODE = "/locks/r/_c_00000000-0000-4000-8000-000000000000-lock-000000000{}"

    def __init__(self, *processes):
        self.lines = [{"at": 0, "who": "nemesis", "event": "clock", "real_ns": 0}]
        self.transactions, self.calls = [], 0
        self.generations, self.restored = [self.transactions], []
        for number in processes:
            self.transact(0, number, ["open", 4000])
            self.say(0, f"p{number}", "start", host=f"host{number}")
            self.say(0, f"p{number}", "session", session=f"0x{number}")

    def say(self, at, who, event, **fields):
        process = {} if who == "nemesis" else {"process": int(who[1])}
        self.lines.append({"at": int(at * 10**6), "who": who, "event": event, **{**process, **fields}})

    def call(self, begin, end, who, what, status="ZKL_OK", asked=None, **answer):
        self.calls += 1
        self.say(begin, who, "call", what=what, call=self.calls, **(asked or {}))
        self.say(end, who, "return", what=what, call=self.calls, status=status, **answer)

    def transact(self, at, session, *parts):
        zxid = 100 + len(self.transactions)
        self.transactions.append({"zxid": zxid, "time_ms": at, "session": f"0x{session}", "parts": list(parts)})
        return zxid

    def open(self, who, **options):
        self.call(1, 2, who, "open", options={"session_timeout_ms": 4000, **options})

    def hold(self, at, who, place=1, mode="exclusive"):
        """Makes the node, and is granted 10 ms later."""
        node, process = self.NODE.format(place), int(who[1])
        node = node if mode == "exclusive" else node.replace("-lock-", KINDS[mode])
        zxid = self.transact(at, process, ["create", node, 1, f"owner={who}\n"])
        self.call(at - 1, at + 10, who, "acquire", asked={"mode": mode, "resource": "/locks/r"}, token=[zxid, 0],
                  node=node, mode=mode, session=f"0x{process}")
        return node

    def restore(self, at, lost=0):
        """All servers get a backup, which lacks the last transactions."""
        self.transactions = self.transactions[:len(self.transactions) - lost]
        self.generations.append(self.transactions)
        self.restored.append(at * 10**6)

    def wait_until(self, at):
        for second in range(at // 1000 + 1):
            self.say(1000 * second, "nemesis", "clock", real_ns=second * 10**9)

    def found(self):
        self.lines.sort(key=lambda line: line["at"])
        clock = Clock([(0, 0)])
        return set(judge(self.lines, of_generations(lambda number: read_one(self.generations[number], clock),
                                                    self.restored)).found)


class HeldOverARestore(unittest.TestCase):
    """By a node that the backup has as well."""

    def found(self, *then, mode="exclusive", ends="release", status="ZKL_PENDING", before=(), lost=0, **answer):
        """p1a holds NODE when all servers get a backup, which lacks the last transactions. It calls `ends`, and the servers
        do these, each of a session."""
        one = Story(1, 2)
        one.open("p1a")
        for session, *parts in before:
            one.transact(50, session, *parts)
        node = one.hold(100, "p1a", mode=mode)
        one.restore(500, lost)
        one.call(600, 610, "p1a", ends, status, asked={"deadline_ms": 0}, **answer)
        for session, *parts in then or [(2, ["check", "/"])]:
            one.transact(605, session, *parts)
        one.wait_until(20000)
        return one.found()

    NODE, WRITER = Story.NODE.format(1), Story.NODE.format(1).replace("-lock-", KINDS["write"])
    DOWNGRADE = [["create", WRITER.replace(KINDS["write"], KINDS["read"]), 1, "owner=p1a\n"], ["delete", WRITER]]

    def test_it_is_gone_when_it_goes_from_the_tree_of_the_backup(self):
        self.assertIn("node_outlives_its_release", self.found())
        self.assertNotIn("node_outlives_its_release", self.found((1, ["delete", self.NODE])))

    def test_it_is_gone_if_it_is_not_there_or_of_another_session(self):
        create, delete = ["create", self.NODE, 1, ""], ["delete", self.NODE]
        for session, lost in ((1, 1), (2, 2)):
            before = (session, create), (session, delete)
            self.assertNotIn("node_outlives_its_release", self.found(before=before, lost=lost))
            self.assertNotIn("lost_without_cause", self.found(before=before, lost=lost, ends="check", status="ZKL_LOST",
                                                              reason="ZKL_NODE_DELETED"))

    def test_its_holder_hears_of_the_end_of_its_session(self):
        self.assertIn("expiry_not_told", self.found((1, ["close", None]), ends="check", status="ZKL_OK"))

    def test_a_downgrade_replaces_the_writers_node(self):
        gap = "downgraded_with_a_gap"
        self.assertIn(gap, self.found(mode="write", ends="downgrade", status="ZKL_OK"))
        self.assertNotIn(gap, self.found((1, *self.DOWNGRADE), mode="write", ends="downgrade", status="ZKL_OK"))

    def test_a_downgrade_that_is_refused_replaces_nothing(self):
        refused = "downgrade_refused_and_done"
        self.assertIn(refused, self.found((1, *self.DOWNGRADE), mode="write", ends="downgrade", status="ZKL_UNKNOWN"))
        self.assertNotIn(refused, self.found(mode="write", ends="downgrade", status="ZKL_UNKNOWN"))


class Risen(unittest.TestCase):
    """A node that was not committed is in the servers' tree from 1 s on."""

    def story(self, is_back, name=Story.NODE.format(1)):
        one = Story(1, 2)
        one.open("p1a")
        if is_back:
            one.transact(1000, 1, ["risen", name, 77])
        return one

    def wait(self, one, begin, who="p2a", place=5):
        """For 20 s, in vain."""
        one.open(who)
        one.transact(begin, int(who[1]), ["create", one.NODE.format(place), 1, f"owner={who}\n"])
        one.call(begin - 1, begin + 20000, who, "acquire", "ZKL_TIMEOUT", asked={"mode": "exclusive", "resource": "/locks/r"})
        one.wait_until(begin + 40000)

    def test_it_is_in_the_way_until_its_session_ends(self):
        for is_back, is_closed in ((False, False), (True, False), (True, True)):
            one = self.story(is_back)
            self.wait(one, 2000)
            one.transact(3000, 1, *([["close", [one.NODE.format(1)]]] if is_closed else [["check", "/"]]))
            self.assertEqual("turn_not_told" in one.found(), not is_back or is_closed)

    def test_nobody_is_granted_before_it(self):
        one = self.story(True)
        one.hold(2000, "p1a", place=5)
        self.assertEqual(one.found() - {"call_left_open"}, {"granted_out_of_turn"})

    def test_nobody_is_to_blame_for_it(self):
        lent = Story.NODE.format(1).replace("-8000-", "-c000-")
        for place in Story.NODE.format(1), lent, "/locks/r/of-no-queue":
            one = self.story(True, place)
            one.wait_until(40000)
            self.assertEqual(one.found(), set())

    def test_its_client_may_find_it_and_hold_by_it(self):
        one = self.story(True)
        one.call(1900, 2000, "p1a", "acquire", token=[77, 0], node=one.NODE.format(1), mode="exclusive", session="0x1",
                 asked={"mode": "exclusive", "resource": "/locks/r"})
        self.assertEqual(one.found(), set())

    def test_it_may_come_after_later_ones(self):
        one = Story(1, 2)
        one.open("p2a")
        one.hold(100, "p2a", place=5)
        one.transact(1000, 1, ["risen", one.NODE.format(1), 77])
        self.assertEqual(one.found(), set())

    def test_a_node_that_it_replaces_is_gone(self):
        for is_back in False, True:
            one = Story(1, 2)
            one.transact(50, 1, ["create", one.NODE.format(2), 1, ""])
            one.transact(60, 1, ["delete", one.NODE.format(2)])
            one.transact(70, 1, ["risen", one.NODE.format(2), 78])  # which nothing is left to replace
            self.wait(one, 100, "p1a", place=1)
            one.transact(1000, 1, *([["risen", one.NODE.format(1), 77]] if is_back else [["check", "/"]]))
            self.assertEqual("node_outlives_its_acquire" in one.found(), not is_back)

    def test_who_holds_what_it_replaces_has_lost_it(self):
        for is_back in False, True:
            one = Story(1, 2)
            one.open("p1a")
            node = one.hold(100, "p1a")
            one.transact(1000, 1, *([["risen", node, 77]] if is_back else [["check", "/"]]))
            one.call(2000, 2010, "p1a", "check", "ZKL_LOST", reason="ZKL_NODE_DELETED")
            self.assertEqual("lost_without_cause" in one.found(), not is_back)


class SessionEnds(unittest.TestCase):
    def test_a_session_leaves_nothing_also_what_its_end_does_not_name(self):
        servers, node = Servers(lambda event, what: None), Story.NODE.format(1)
        servers.apply(1, {"zxid": 1, "session": "0x1", "parts": [["create", node, 1, ""]]})
        servers.apply(2, {"zxid": 2, "session": "0x1", "parts": [["close", []]]})
        self.assertEqual(servers.nodes[node].died, 2)


class Excused(unittest.TestCase):
    """What a rule must not blame: each with the same without the excuse, which it does."""

    def expect(self, rule, story):
        self.assertIn(rule, story(False).found())
        self.assertNotIn(rule, story(True).found())

    def test_a_lease_promises_nothing_of_a_session_that_somebody_has_hurt(self):
        def story(is_hurt):
            one = Story(1)
            one.open("p1a", lease_tick_ms=500)
            one.hold(100, "p1a")
            one.call(120, 121, "p1a", "check", lease_left_ms=3000)
            if is_hurt:
                one.say(150, "nemesis", "hurt", session="0x1")
            one.transact(200, 1, ["close", None])
            one.wait_until(1000)
            return one

        self.expect("lease_outlived_the_session", story)
        self.expect("session_ended_without_cause", lambda is_hurt: self.ended(is_hurt, "hurt"))

    def ended(self, is_excused, how):
        """A session that ends after 20 s."""
        one = Story(1)
        one.open("p1a")
        if is_excused and how == "hurt":
            one.say(15000, "nemesis", "hurt", session="0x1")
        elif is_excused:
            one.call(19000, 30000, "p1a", "close_client")
        one.transact(20000, 1, ["close", None])
        one.wait_until(30000)
        return one

    def test_a_client_that_closes_ends_its_session(self):
        self.expect("session_ended_without_cause", lambda closes: self.ended(closes, "close"))

    def test_who_breaks_a_node_and_says_so_may_delete_it(self):
        def story(says):
            one = Story(1, 2)
            one.open("p1a")
            one.open("p2a")
            node = one.hold(100, "p1a")
            if says:
                one.call(150, 160, "p2a", "break")
            one.transact(155, 2, ["delete", node])
            one.wait_until(1000)
            return one

        self.expect("anothers_node_deleted", story)

    def test_nobody_has_to_be_granted_in_time_when_the_next_fault_has_begun(self):
        def story(has_begun):
            one = Story(1)
            one.open("p1a")
            one.call(50, 9000, "p1a", "acquire", "ZKL_TIMEOUT", asked={"deadline_ms": 8900})
            one.say(100, "nemesis", "rest", what="healed", bound_ms=1000)
            if has_begun:
                one.say(500, "nemesis", "fault", what="begin", fault=1, kind="cut")
            one.wait_until(5000)
            return one

        self.expect("not_granted_after_healing", story)

    def test_a_job_that_was_reset_succeeds_again(self):
        def story(is_reset):
            one = Story(1)
            node = Story.NODE.format(1).replace("/r/", "/job/")
            token = one.transact(10, 1, ["create", node, 1, ""])
            mark = ["create", "/locks/job/done", 0, f"asked_ms=5\ntoken={token}\ntext=v1\n"]
            one.transact(20, 1, ["check", node], mark)
            if is_reset:
                one.transact(30, 1, ["check", node], ["delete", "/locks/job/done"])
            one.transact(40, 1, ["check", node], mark)
            one.wait_until(1000)
            return one

        self.expect("success_marked_twice", story)

    def test_one_client_of_a_process_may_close_while_another_holds(self):
        def story(is_another):
            """It is closed, and then somebody else is granted what is still held."""
            one = Story(1, 2)
            one.open("p1a", client="first")
            one.open("p1b", client="second" if is_another else "first")
            one.open("p2a")
            one.hold(100, "p1a")
            one.call(200, 210, "p1b", "close_client")
            one.wait_until(1000)
            return one

        self.expect("client_closed_and_nodes_there", story)

    def test_who_holds_by_another_client_still_holds(self):
        one = Story(1, 2)
        one.open("p1a", client="first")
        one.open("p1b", client="second")
        one.open("p2a")
        one.hold(100, "p1a", 1)
        one.call(200, 210, "p1b", "close_client")
        one.hold(300, "p2a", 2)
        self.assertIn("two_holders", one.found())

    def test_a_callback_may_come_before_the_return_of_one_of_many_acquires(self):
        def story(is_granted):
            one = Story(1)
            one.open("p1a")
            first = 100 + len(one.transactions)  # the token
            one.say(105, "p1a", "callback", what="state", state="CONTENDED", resource="/locks/r",
                    token=[first if is_granted else 7, 0])
            for place in range(1, 20):
                node = one.hold(100 * place, "p1a", place)
                one.transact(100 * place + 30, 1, ["delete", node])
                one.call(100 * place + 20, 100 * place + 40, "p1a", "release")
            one.wait_until(6000)
            return one

        self.expect("told_of_what_it_never_held", story)

    def test_who_was_stopped_has_its_time_from_the_end_of_that_on(self):
        self.expect("call_too_late", lambda is_stopped: self.late(is_stopped, 6000))

    def test_the_end_of_a_stop_is_told_after_it(self):
        self.expect("call_too_late", lambda is_stopped: self.late(is_stopped, 4999.5))

    def late(self, is_stopped, end):
        """A call that ends long after its deadline."""
        one = Story(1)
        one.open("p1a")
        if is_stopped:
            one.say(50, "nemesis", "process", process=1, what="stop")
            one.say(5000, "nemesis", "process", process=1, what="resume")
        one.call(40, end, "p1a", "acquire", "ZKL_TIMEOUT", asked={"deadline_ms": 100})
        return one


class Contention(unittest.TestCase):
    """p1a holds, and is told that somebody waits behind it."""

    EXCLUSIVE, READ, WRITE, TWO, ONE = "-lock-", "-__READ__", "-__WRIT__", "-permit-2-", "-permit-1-"

    @staticmethod
    def node(kind, place):
        return f"/locks/r/_c_{Names.GUID}{kind}000000000{place}"

    def hold(self, kind):
        """From 110 ms on. (the story, its token)"""
        one = Story(1, 2)
        one.open("p1a", tell_contended=1)
        path = self.node(kind, 1)
        token = [one.transact(100, 1, ["create", path, 1, "owner=p1a\n"]), 0]
        one.call(99, 110, "p1a", "acquire", asked={"resource": "/locks/r"}, token=token, node=path, session="0x1")
        return one, token

    @staticmethod
    def tell(one, token, at=400):
        one.say(at, "p1a", "callback", what="state", state="CONTENDED", token=token, resource="/locks/r")
        one.wait_until(1000)
        return "told_of_a_waiter_that_was_not" in one.found()

    def is_wrong(self, kind, other, who="p2a"):
        one, token = self.hold(kind)
        one.transact(200, int(who[1]), ["create", self.node(other, 2), 1, f"owner={who}\n"])
        return self.tell(one, token)

    def test_everybody_waits_for_who_excludes(self):
        kinds = (self.EXCLUSIVE, self.READ, self.WRITE, self.TWO)
        self.assertEqual([self.is_wrong(self.EXCLUSIVE, other) for other in kinds], [False] * 4)
        self.assertEqual([self.is_wrong(self.WRITE, other) for other in kinds], [False] * 4)

    def test_readers_do_not_wait_for_readers(self):
        kinds = (self.EXCLUSIVE, self.READ, self.WRITE, self.TWO)
        self.assertEqual([self.is_wrong(self.READ, other) for other in kinds], [False, True, False, False])

    def test_who_finds_a_permit_does_not_wait(self):
        self.assertEqual([self.is_wrong(self.TWO, other) for other in (self.TWO, self.EXCLUSIVE)], [True, False])
        self.assertFalse(self.is_wrong(self.ONE, self.ONE))

    def test_nobody_waits_for_its_own_upgrade(self):
        self.assertTrue(self.is_wrong(self.READ, self.WRITE, who="p1a"))

    def test_who_holds_as_a_reader_now_has_writers_behind_it(self):
        for comes, other, expected in ((120, self.READ, False), (200, self.READ, True), (200, self.WRITE, False)):
            one, token = self.hold(self.WRITE)
            path = self.node(other, 2)
            if comes < 150:
                one.transact(comes, 2, ["create", path, 1, "owner=p2a\n"])
            one.transact(150, 1, ["create", self.node(self.READ, 1), 1, "owner=p1a\n"], ["delete", self.node(self.WRITE, 1)])
            if comes > 150:
                one.transact(comes, 2, ["create", path, 1, "owner=p2a\n"])
            self.assertEqual(self.tell(one, token), expected)

    def test_of_a_session_that_was_restored_or_hurt_nothing_is_known(self):
        for is_hurt in (False, True):
            one, token = self.hold(self.EXCLUSIVE)
            if is_hurt:
                one.say(150, "nemesis", "hurt", session="0x1")
            self.assertEqual(self.tell(one, token), not is_hurt)

    def test_who_was_before_it_does_not_wait_behind_it(self):
        """Nor behind another node of the same set."""
        one = Story(1, 2)
        one.open("p1a", tell_contended=1)
        places = [self.node(self.EXCLUSIVE, 3), self.node(self.EXCLUSIVE, 1).replace("/r/", "/s/")]
        one.transact(90, 2, ["create", self.node(self.EXCLUSIVE, 2), 1, "owner=p2a\n"])
        token = [one.transact(100, 1, *(["create", place, 1, "owner=p1a\n"] for place in places)), 0]
        one.transact(105, 2, ["delete", self.node(self.EXCLUSIVE, 2)])
        one.call(99, 120, "p1a", "acquire", asked={"resources": ["/locks/r", "/locks/s"]}, token=token, nodes=places,
                 session="0x1")
        self.assertTrue(self.tell(one, token))

    def test_many_who_came_before_it_leave_no_doubt(self):
        one = Story(1, 2)
        one.open("p1a", tell_contended=1)
        for place in range(70):
            one.transact(20, 2, ["create", path := f"{self.node(self.EXCLUSIVE, 1)[:-3]}{place + 100}", 1, ""])
            one.transact(20, 2, ["delete", path])
        path = f"{self.node(self.EXCLUSIVE, 1)[:-3]}200"
        token = [one.transact(100, 1, ["create", path, 1, "owner=p1a\n"]), 0]
        one.call(99, 110, "p1a", "acquire", asked={"resource": "/locks/r"}, token=token, node=path, session="0x1")
        self.assertTrue(self.tell(one, token))

    def test_who_came_long_ago_is_not_known_any_more(self):
        for others in (3, 70):
            one, token = self.hold(self.EXCLUSIVE)
            one.call(120, 130, "p1a", "release")
            one.transact(121, 1, ["delete", self.node(self.EXCLUSIVE, 1)])
            for place in range(others):
                one.transact(140 + place, 2, ["create", path := f"{self.node(self.EXCLUSIVE, 1)[:-3]}{place + 100}", 1, ""])
                one.transact(140 + place, 2, ["delete", path])
            self.assertEqual(self.tell(one, token), others < 64)

    def held_for_long(self, told_at=None, fault_at=None, comes_at=200, gone_at=None, asks=True, other=EXCLUSIVE):
        """For reading, in the end, with somebody behind it."""
        one, token = self.hold(self.WRITE)
        if not asks:
            one.open("p1a")
        one.transact(150, 1, ["create", self.node(self.READ, 1), 1, "owner=p1a\n"], ["delete", self.node(self.WRITE, 1)])
        one.transact(comes_at, 2, ["create", self.node(other, 2), 1, ""])
        if gone_at:
            one.transact(gone_at, 2, ["delete", self.node(other, 2)])
        if told_at:
            one.say(told_at, "p1a", "callback", what="state", state="CONTENDED", token=token, resource="/locks/r")
        if fault_at:
            one.say(fault_at, "nemesis", "fault", what="begin", fault=1, kind="cut", touches=["host1"])
            one.say(fault_at + 100, "nemesis", "fault", what="healed", fault=1)
        one.wait_until(9000)
        return "waiter_not_told" in one.found()

    def test_who_asked_for_it_is_told_in_time_and_in_peace(self):
        self.assertTrue(self.held_for_long())
        self.assertFalse(self.held_for_long(told_at=300))
        self.assertFalse(self.held_for_long(gone_at=3000))
        self.assertFalse(self.held_for_long(comes_at=4000, gone_at=7000))
        self.assertFalse(self.held_for_long(asks=False))
        self.assertFalse(self.held_for_long(other=self.READ))
        self.assertFalse(self.held_for_long(fault_at=250))

    def test_a_doubt_is_not_over_when_somebody_waits(self):
        one, token = self.hold(self.EXCLUSIVE)
        one.say(150, "p1a", "callback", what="state", state="SUSPECT", token=token)
        one.transact(200, 2, ["create", self.node(self.EXCLUSIVE, 2), 1, ""])
        one.say(250, "p1a", "callback", what="state", state="CONTENDED", token=token, resource="/locks/r")
        one.wait_until(20000)
        self.assertIn("end_of_a_doubt_not_told", one.found())


class Lending(unittest.TestCase):
    """A node is lent, the first that holds it is told of a waiter, and then it is lent once more."""

    def found(self, number, at=200, first=1, kind="-lock-", is_stopped=False, is_told=True, again=None):
        one = Story(1)
        one.open("p1a", hand_offs=2, hand_off_ms=500, tell_contended=1)
        node = f"/locks/r/_c_{Names.GUID.replace('-8000-', '-c000-')}{kind}0000000001"
        zxid = one.transact(100, 1, ["create", node, 1, ""])
        mode = "read" if "READ" in kind else "exclusive"
        for grant, begin in ((first, 110), (number, at)):
            one.call(begin - 1, begin, "p1a", "acquire", asked={"mode": mode, "resource": "/locks/r"}, token=[zxid, grant],
                     node=node, mode=mode, session="0x1")
            one.call(begin + 5, begin + 6, "p1a", "release")
        for told, when in ((first, 112), (again, 150)) if is_told else ():
            if told is not None:
                one.say(when, "p1a", "callback", what="state", state="CONTENDED", token=[zxid, told], resource="/locks/r")
        if is_stopped:
            one.say(150, "nemesis", "process", process=1, what="stop")
            one.say(at - 5, "nemesis", "process", process=1, what="resume")
        one.wait_until(at + 1000)
        return one.found()

    def test_so_many_are_lent_it_after_the_news(self):
        self.assertNotIn("handed_on_too_often", self.found(3))
        self.assertIn("handed_on_too_often", self.found(4))
        self.assertIn("handed_on_too_often", self.found(4, again=3))
        self.assertNotIn("handed_on_too_often", self.found(4, first=2))
        self.assertNotIn("handed_on_too_often", self.found(4, is_told=False))
        self.assertNotIn("handed_on_too_often", self.found(4, kind="-__READ__"))  # some hold it already

    def test_none_is_lent_it_long_after_the_news(self):
        self.assertNotIn("handed_on_too_late", self.found(2, at=2600))
        self.assertIn("handed_on_too_late", self.found(2, at=2700))
        self.assertNotIn("handed_on_too_late", self.found(2, at=2700, is_told=False))
        self.assertNotIn("handed_on_too_late", self.found(2, at=2700, is_stopped=True))


class Expiry(unittest.TestCase):
    """A waiter whose session ends, and which then has another place."""

    def waiter(self, fails=True, status=None, at=450, before=False, again=True, by_hand=False, ends=True, entitled=False, **asked):
        """The session 0x1 ends at 300 ms, and the node of the next one comes 200 ms later."""
        one = Story(1, 2)
        one.open("p1a", **({"fail_on_session_expiry": 1} if fails else {}))
        if before:
            one.call(10, 20, "p1a", "acquire", "ZKL_CANCELLED", asked={"resource": "/locks/r"})
        one.transact(50, 2, ["create", Story.NODE.format(0), 1, ""])
        one.say(99, "p1a", "call", what="acquire", call=99, **{"resource": "/locks/r", "deadline_ms": -1, **asked})
        one.transact(110, 1, ["create", Story.NODE.format(1), 1, "owner=p1a\n"])
        if entitled:
            one.transact(200, 2, ["delete", Story.NODE.format(0)])
        if by_hand:
            one.transact(250, 2, ["delete", Story.NODE.format(1)])
        if ends:
            one.transact(300, 1, ["close", None])
        one.say(400, "p1a", "session", session="0x11")
        if status:
            one.say(at, "p1a", "return", what="acquire", call=99, status=status)
        if again:
            one.transact(500, 11, ["create", Story.NODE.format(2), 1, "owner=p1a\n"])
        one.wait_until(max(at, 12000))
        return one.found()

    def test_who_is_to_fail_does_not_join_again(self):
        for excuse in ({"fails": False}, {"stripe": "any", "stripes": 2}, {"before": True}, {"again": False},
                       {"by_hand": True}):
            self.assertNotIn("joined_again_though_it_was_to_fail", self.waiter(**excuse))
        self.assertIn("joined_again_though_it_was_to_fail", self.waiter())

    def test_who_is_to_fail_does_so_in_time(self):
        for excuse in ({"fails": False}, {"stripe": "any", "stripes": 2}, {"before": True}, {"by_hand": True},
                       {"status": "ZKL_SESSION_EXPIRED"}):
            self.assertNotIn("waits_after_its_session", self.waiter(again=False, **excuse))
        self.assertIn("waits_after_its_session", self.waiter(again=False))

    def test_a_set_that_has_just_come_has_not_joined_again(self):
        one = Story(1)
        one.open("p1a", fail_on_session_expiry=1)
        one.say(99, "p1a", "call", what="acquire", call=99, resources=["/locks/r", "/locks/s"], deadline_ms=-1)
        nodes = [Story.NODE.format(1), Story.NODE.format(1).replace("/r/", "/s/")]
        one.transact(110, 1, *(["create", node, 1, "owner=p1a\n"] for node in nodes))
        one.transact(111, 1, ["close", nodes])
        one.wait_until(1000)
        self.assertNotIn("joined_again_though_it_was_to_fail", one.found())

    def test_the_next_acquire_may_follow_at_once(self):
        """Its node seems to be older than it, as the servers' times are cut off."""
        one = Story(1, 2)
        one.open("p1a", fail_on_session_expiry=1)
        one.transact(50, 2, ["create", Story.NODE.format(0), 1, ""])
        one.say(99, "p1a", "call", what="acquire", call=98, resource="/locks/r", deadline_ms=-1)
        one.transact(110, 1, ["create", Story.NODE.format(1), 1, "owner=p1a\n"])
        one.transact(300, 1, ["close", None])
        one.say(400, "p1a", "return", what="acquire", call=98, status="ZKL_SESSION_EXPIRED")
        one.say(400.4, "p1a", "call", what="acquire", call=99, resource="/locks/r", deadline_ms=-1)
        one.transact(400, 11, ["create", Story.NODE.format(2), 1, "owner=p1a\n"])
        one.wait_until(1000)
        self.assertNotIn("joined_again_though_it_was_to_fail", one.found())

    def test_an_acquire_ends_with_a_session_that_ends(self):
        for excuse in ({}, {"at": 90000}, {"fails": False, "deadline_ms": 0}, {"fails": False, "entitled": True}):
            self.assertNotIn("expired_without_cause", self.waiter(status="ZKL_SESSION_EXPIRED", again=False, **excuse))
        for wrong in ({"fails": False}, {"ends": False}):
            self.assertIn("expired_without_cause", self.waiter(status="ZKL_SESSION_EXPIRED", again=False, **wrong))


class Names(unittest.TestCase):
    """Of nodes, as protocol.md and the other libraries have them."""

    GUID = "00000000-0000-4000-8000-000000000000"

    def test_each_kind_is_known(self):
        for name, mode, permits in (
                (f"_c_{self.GUID}-lock-0000000007", "exclusive", 1),
                (f"_c_{self.GUID}-latch-0000000007", "exclusive", 1),
                (f"_c_{self.GUID}-__READ__0000000007", "read", 1), (f"_c_{self.GUID}-__WRIT__0000000007", "write", 1),
                (f"_c_{self.GUID}-permit-12-0000000007", "permit", 12),
                ("0123456789abcdef0123456789abcdef__lock__0000000007", "exclusive", 1),
                ("0123456789abcdef0123456789abcdef__rlock__0000000007", "read", 1),
                ("x-72058-0000000007", "exclusive", 1), ("of-nobody-0000000007", "exclusive", 1)):
            parsed = names.parse(name)
            self.assertEqual((parsed.mode, parsed.permits, parsed.sequence), (mode, permits, 7), name)

    def test_a_number_may_be_negative(self):
        for number in (-2147483647, -1000000000, -7):
            self.assertEqual(names.parse(f"_c_{self.GUID}-lock-{number:010d}").sequence, number)

    def test_what_has_no_number_is_in_nobodys_way(self):
        for name in ("done", "stripe-0007", "456789abcdef01234567890123456789"):
            self.assertIsNone(names.parse(name))

    def test_a_node_that_is_lent_says_so(self):
        lent = self.GUID.replace("-8000-", "-c000-")
        self.assertEqual([names.parse(f"_c_{guid}-lock-0000000007").is_lent for guid in (self.GUID, lent)],
                         [False, True])

    def test_who_conflicts(self):
        modes = ("exclusive", "read", "write", "permit")
        self.assertEqual([(one, other) for one in modes for other in modes if not names.conflict(one, other)],
                         [("read", "read"), ("permit", "permit")])


class Sentences(unittest.TestCase):
    """What a rule judges is promised, in these words."""

    def test_each_sentence_stands_in_the_documentation(self):
        pages = [SOURCE / "README.md", *(SOURCE / "docs").rglob("*.md"), *(SOURCE / "include").rglob("*.h")]
        text = "\n".join(plain(page.read_text(encoding="utf-8")) for page in pages)
        self.assertEqual([(one.name, one.sentence) for one in RULES.values() if plain(one.sentence) not in text], [])


def plain(text):
    """Without line breaks, and the stars of a comment."""
    return re.sub(r"\s+", " ", re.sub(r"\n\s*\*(?!\*)", "\n", text))


if __name__ == "__main__":
    unittest.main()
