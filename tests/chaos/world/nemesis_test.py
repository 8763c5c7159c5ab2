"""What the nemesis counts, and what it draws, in a world that is made up.

    cd tests/chaos && python3 -m unittest world.nemesis_test
"""
import itertools
import json
import os
import tempfile
import types
import unittest
from unittest import mock

from . import past, wire
from .fault import Fault
from .history import History
from .nemesis import FAULTS, Nemesis, all_once, without_end
from .servers import Servers
from .waiting import NotSeen, wait_until


class MadeFault(Fault):
    name = "made up"
    lasts_s = 0

    def choose(self):
        self.target = "nobody"

    def begin(self):
        pass

    def prove(self):
        return {"seen": 1}

    def proof(self):
        return {}

    def end(self):
        self.world.ended += 1

    def met(self, _ended):
        return self.world.found


class Unproven(MadeFault):
    name = "unproven"

    def prove(self):
        raise NotSeen("no sign of it")


class MadeWorld:
    """Always healthy. It says how many held and waited while a fault lasted."""

    def __init__(self, path, held=1, waited=1, heals=True):
        self.history = History(path, "nemesis", 1)
        self.found = (held, waited)
        self.heals = heals
        self.ended = 0

    def held_and_awaited(self):
        return True

    def sleep(self, _seconds):
        pass

    def heal(self):
        if not self.heals:
            raise NotSeen("nobody serves")

    def rest(self):
        pass


class NemesisTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.path = os.path.join(place.name, "history")
        for kind in (MadeFault, Unproven):
            FAULTS[kind.name] = kind
            self.addCleanup(FAULTS.pop, kind.name)

    def deal(self, *names, **world):
        made = MadeWorld(self.path, **world)
        dealt = Nemesis(made, 1, lambda text: None)
        dealt.deal(names)
        self.assertEqual(made.ended, len(names))  # whatever became of it
        return dealt

    def lines(self):
        with open(self.path, encoding="utf-8") as file:
            return [json.loads(line)["what"] for line in file]

    def test_a_proven_fault_counts(self):
        dealt = self.deal("made up")
        self.assertEqual((dealt.counted, dealt.not_counted), ({"made up": 1}, []))
        self.assertEqual(self.lines(), ["begin", "proven", "end", "healed"])

    def test_an_unproven_fault_does_not_count(self):
        dealt = self.deal("unproven")
        self.assertEqual((dealt.counted, dealt.not_counted), ({}, [(1, "unproven", "no sign of it")]))
        self.assertEqual(self.lines(), ["begin", "end", "healed"])

    def test_a_fault_counts_only_while_somebody_holds_and_somebody_waits(self):
        for held, waited in ((0, 1), (1, 0)):
            self.assertEqual(self.deal("made up", held=held, waited=waited).counted, {})

    def test_of_two_faults_the_proven_one_counts(self):
        self.assertEqual(self.deal("made up", "unproven").counted, {"made up": 1})

    def test_a_world_that_does_not_heal_is_told(self):
        self.assertEqual(self.deal("made up", heals=False).unhealed, [(1, "nobody serves")])


class DiskTest(unittest.TestCase):
    """A process that writes its record, among others that hold and wait at some times."""

    def hurt(self, kind, status="ZKL_OK", message="", took_ms=1, met=(1, 1)):
        write = types.SimpleNamespace(began=5, ended=5 + took_ms * 1000000, status=status, message=message)
        fleet = types.SimpleNamespace(met=lambda *_: met)
        fault = FAULTS[kind](types.SimpleNamespace(fleet=fleet), None, 1)
        fault.hit = types.SimpleNamespace(writes=lambda since: [write])
        self.assertEqual(fault.processes(), [])  # a lock is not of the disk
        return len(fault.hurt())

    def test_a_full_disk_counts_by_a_record_that_was_refused_for_it(self):
        full = {"status": "ZKL_SYSTEM", "message": 'path "/d/c.record": No space left on device'}
        self.assertEqual(self.hurt("client's disk full", **full), 1)
        self.assertEqual(self.hurt("client's disk full", **full, met=(1, 0)), 0)
        self.assertEqual(self.hurt("client's disk full"), 0)
        self.assertEqual(self.hurt("client's disk full", "ZKL_SYSTEM", "Too many open files"), 0)

    def test_a_slow_disk_counts_by_a_record_that_took_long(self):
        self.assertEqual(self.hurt("client's disk slow", took_ms=1200), 1)
        self.assertEqual(self.hurt("client's disk slow", took_ms=1200, met=(0, 1)), 0)
        self.assertEqual(self.hurt("client's disk slow", took_ms=1199), 0)


class AnswersLostTest(unittest.TestCase):
    """A machine of clients that has a connection each time."""

    def setUp(self):
        self.done = []
        drop = types.SimpleNamespace(count=lambda: 3, end=lambda: self.done.append("mended"))
        patch = mock.patch("world.faults_of_network.Drop", side_effect=lambda *rules: self.done.append(rules) or drop)
        patch.start()
        self.addCleanup(patch.stop)
        self.server = types.SimpleNamespace(host="server-1")
        self.client = types.SimpleNamespace(end_connections=self.end_connections)
        self.ended = ["a connection"]

    def end_connections(self, port):
        self.done.append(port)
        return self.ended

    def struck(self):
        """The fault, when its rules have come and gone some times."""
        self.done.clear()
        fault = FAULTS["client's answers lost"](types.SimpleNamespace(
            servers=types.SimpleNamespace(present=[self.server])), None, 1)
        fault.client, fault.CUT_S, fault.MENDED_S = self.client, 0.001, 0.001
        fault.begin()
        wait_until(lambda: self.done.count("mended") > 3, "it is mended", every_s=0.001)
        fault.end()
        return fault

    def test_connections_end_while_no_answer_can_come(self):
        self.struck()
        self.assertEqual(self.done[:3], [((["server-1"], [self.client], "tcp flags & syn == 0"),), wire.PORT, "mended"])

    def test_it_is_proven_by_answers_that_were_dropped_and_connections_that_ended(self):
        proof = self.struck().proof()
        self.assertGreater(min(proof["packets dropped, of nftables"], proof["connections ended before"]), 2)
        self.ended = []
        self.assertEqual(self.struck().proof(), {})


class DescriptorsTest(unittest.TestCase):
    """Of one of two processes on a machine."""

    LISTED = """0 0 10.77.0.101:41000 10.77.0.1:2181 users:(("contender",pid=7,fd=5))
0 0 10.77.0.101:41001 10.77.0.2:2181 users:(("contender",pid=70,fd=5))
0 0 10.77.0.101:41002 10.77.0.3:2181 users:(("contender",pid=7,fd=6))
"""

    def test_only_the_connections_of_the_process_end(self):
        asked = []
        host = types.SimpleNamespace(name="client-0", call=lambda *words: asked.append(words) or self.LISTED)
        fault = FAULTS["client's descriptors used up"](None, None, 1)
        fault.hit, fault.process = types.SimpleNamespace(host=host), types.SimpleNamespace(pid=7)
        fault.limit = lambda what, value: "1024"
        fault.begin()
        self.assertEqual(fault.processes(), [7])
        self.assertEqual(sorted(words[-1] for words in asked if "-HKtn" in words),
                         [f"( src 10.77.0.101:{port} and dport = :2181 )" for port in (41000, 41002)])


class ScheduleTest(unittest.TestCase):
    def test_the_same_seed_gives_the_same_schedule(self):
        one, same, other = (list(itertools.islice(without_end(seed, FAULTS), 200)) for seed in ("1", "1", "2"))
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)
        self.assertNotEqual(list(all_once("1", FAULTS)), list(all_once("2", FAULTS)))

    def test_two_at_once_are_of_two_groups_and_let_one_another_be_seen(self):
        pairs = [draw for draw in itertools.islice(without_end("1", FAULTS), 500) if len(draw) == 2]
        self.assertGreater(len(pairs), 20)
        for one, other in pairs:
            self.assertNotEqual(FAULTS[one].group, FAULTS[other].group)
            self.assertTrue(FAULTS[one].pairs and FAULTS[other].pairs)

    def test_each_fault_is_dealt_once(self):
        self.assertEqual(sorted(name for name, in all_once("1", FAULTS)), sorted(FAULTS))

    def test_each_fault_says_its_name(self):
        self.assertEqual([one.name for one in FAULTS.values()], list(FAULTS))


class PastTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.data, self.disk = (os.path.join(place.name, name) for name in ("data", "disk"))

    def make(self, *paths):
        for path in paths:
            os.makedirs(os.path.dirname(os.path.join(self.data, path)), exist_ok=True)
            with open(os.path.join(self.data, path), "w", encoding="ascii") as file:
                file.write(path)

    @staticmethod
    def files(top):
        return sorted(os.path.relpath(os.path.join(place, name), top) for place, _, names in os.walk(top) for name in names)

    def test_what_a_server_starts_from_stays(self):
        self.assertEqual(past.not_needed(["snapshot.1", "snapshot.20", "log.1", "log.10"]), ([], []))
        names = ["snapshot.f", "snapshot.10", "snapshot.1f", "snapshot.100", "log.1", "log.9", "log.10", "log.11", "log.20"]
        self.assertEqual(past.not_needed(names), (["snapshot.f"], ["log.1", "log.9"]))

    def test_all_logs_are_copied_and_what_is_not_needed_is_moved(self):
        self.make("myid", "version-2/log.1", "version-2/log.5", *(f"version-2/snapshot.{number}" for number in (6, 7, 8, 9)),
                  "version-2-lost-1/log.3", "until-restore-1/version-2/log.1")
        past.make_room(self.data, self.disk, 1)
        self.assertEqual(self.files(self.disk), ["until-restore-1/version-2/log.1", "until-restore-2/version-2-lost-1/log.3",
                                                 "until-restore-2/version-2-older/log.1",
                                                 "until-restore-2/version-2-older/log.5",
                                                 "until-restore-2/version-2-older/snapshot.6"])
        self.assertEqual(self.files(self.data), ["myid", "version-2/log.5", *(f"version-2/snapshot.{number}"
                                                                              for number in (7, 8, 9))])

    def test_when_all_is_over_no_log_stays_in_memory(self):
        self.make("version-2/log.1", "version-2/snapshot.1")
        past.make_room(self.data, self.disk, 0, is_over=True)
        self.assertEqual(self.files(self.disk), ["until-restore-1/version-2-older/log.1"])
        self.assertEqual(self.files(self.data), ["version-2/snapshot.1"])

    def test_a_copy_gets_what_has_come_since(self):
        path, sink = os.path.join(self.data, "log.1"), os.path.join(self.disk, "log.1")
        self.make("log.1")
        with open(path, "wb") as log:
            for come, size, kept in ((b"one B\0\0\0", None, b"one B"), (b"one B\0two B\0", 8, b"one B\0tw"),
                                     (b"one B\0two B\0", None, b"one B\0two B")):
                log.seek(0)
                log.write(come)
                log.flush()
                past.keep(path, sink, size)
                with open(sink, "rb") as copy:
                    self.assertEqual(copy.read(), kept)


class MadeServer:
    """Down, as what it got lacks an ACL; or it serves."""

    def __init__(self, number, lacks):
        self.number, self.name = number, f"server-{number}"
        self.lacks, self.lost = lacks, 0

    def lacks_an_acl(self):
        return self.lacks

    def state(self):
        return "down" if self.lacks else "running"

    def role(self):
        return "leader" if self.number == 1 else "follower"

    def lose_data(self):
        self.lost += 1

    def start(self, _known):
        self.lacks = False


class ServersTest(unittest.TestCase):
    def servers(self, *lacking):
        made = Servers.__new__(Servers)
        made.all = {number: MadeServer(number, number in lacking) for number in (1, 2, 3, 4)}
        made.members, made.revived = set(made.all), []
        return made

    def test_a_server_that_lacks_an_acl_gets_all_anew(self):
        for number in (2, 4):
            made = self.servers(number)
            self.assertTrue(made.serve_again())
            self.assertEqual((made.all[number].lost, made.revived), (1, [f"server-{number}"]))

    def test_no_data_go_that_others_may_lack(self):
        made = self.servers(2, 3)
        self.assertFalse(made.serve_again())
        self.assertEqual((made.all[2].lost, made.all[3].lost, made.revived), (0, 0, []))

    def test_who_serves_keeps_its_data(self):
        made = self.servers()
        self.assertTrue(made.serve_again())
        self.assertEqual(made.revived, [])


class SessionOfTest(unittest.TestCase):
    LISTED = """ /10.77.0.101:41000[1](queued=0,recved=5,sent=5,sid=0x1000a,lop=PING)
 /10.77.0.101:41001[1](queued=0,recved=5,sent=5,sid=0x1000b,lop=PING)
"""

    def session_of(self, pid, own, its):
        host = types.SimpleNamespace(call=lambda *_: f'0 0 {own}:41001 {its}:2181 users:(("contender",pid={pid},fd=5))\n')
        with mock.patch("world.wire.word", side_effect=lambda address, _: self.LISTED if address == "10.77.0.1" else None):
            return Servers.session_of(None, 7, host)

    def test_the_session_of_a_connection_is_what_its_server_lists(self):
        self.assertEqual(self.session_of(7, "10.77.0.101", "10.77.0.1"), 0x1000b)
        self.assertIsNone(self.session_of(70, "10.77.0.101", "10.77.0.1"))

    def test_a_program_that_speaks_ipv6_has_one_too(self):
        self.assertEqual(self.session_of(7, "[::ffff:10.77.0.101]", "[::ffff:10.77.0.1]"), 0x1000b)


class WireTest(unittest.TestCase):
    def test_the_password_of_a_session_is_what_the_servers_make(self):
        """new java.util.Random(0x10002CF03660000L ^ 0xB3415C00L).nextBytes(new byte[16])"""
        self.assertEqual(wire.password_of(0x10002CF03660000).hex(), "b8985783e587b6c55666ecb1361f83a6")
