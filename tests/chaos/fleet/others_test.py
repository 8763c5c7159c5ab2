"""Members of other make: what is written down of programs that are made up, whatever they answer.

    cd tests/chaos && python3 -m unittest fleet.others_test
"""
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

from world.history import History
from .others import Driven, Once, Run


class Here:
    name = "client-0"

    @staticmethod
    def with_name(*words):
        return words


class MadeFleet:
    session_ms, tick_ms, pace_ms, hosts, build = 4000, 500, 1, "a:1,b:2", "/nowhere"

    def __init__(self, place):
        self.place = self.histories_in = place
        self.log = subprocess.DEVNULL
        self.world = types.SimpleNamespace(history=History(os.path.join(place, "nemesis.jsonl"), "nemesis"))

    @staticmethod
    def number_of(_):
        return 7


class Made:
    """A member whose program is lines of Python. It lives for one process."""

    program = ""

    def command(self):
        super().command()
        return (sys.executable, "-S", "-E", "-c", "import sys, time, os, signal\n" + self.program, self.path,
                f"{self.called}-h0")

    def bury(self):
        super().bury()
        self.is_finishing = True


PROTOCOL = """
answers = {answers!r}
print("start ok -1 4000", flush=True)
for line in sys.stdin:
    word = line.split()[0]
    if answers.get(word) == "nothing":
        time.sleep(60)
    print(word, answers.get(word) or ("0" if word == "told" else "ok"), flush=True)
"""


class OthersTest(unittest.TestCase):
    def live(self, make, program):
        """Its history when its first process has ended."""
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.fleet = MadeFleet(place.name)
        made = type("OfTest", (Made, make), {"program": program})
        with mock.patch("fleet.member.subprocess.run"):  # no disk is mounted
            member = made(self.fleet, 0, Here)
        member.live()
        self.assertEqual(member.fallen, [])
        return self.lines(member.path)

    def lines(self, path):
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def short(self, lines):
        return [(one["event"], one.get("what"), one.get("status")) for one in lines]


class DrivenTest(OthersTest):
    def drive(self, **answers):
        class Kind(Driven):
            library, kinds = "kazoo", {"lock": ("plain", "exclusive")}

            def was_connected(self):
                return super().was_connected() and False  # one round
        return self.live(Kind, PROTOCOL.format(answers=answers))

    def test_a_round_is_written_down_call_by_call(self):
        lines = self.drive(acquire="ok /locks/chaos/plain-1/node", told="ok 0")
        self.assertEqual(self.short(lines), [
            ("start", None, None), ("call", "open", None), ("return", "open", "ZKL_OK"), ("session", None, None),
            ("call", "acquire", None), ("return", "acquire", "ZKL_OK"), ("call", "release", None),
            ("return", "release", "ZKL_OK"), ("end", None, None)])
        self.assertEqual(lines[3]["session"], "0xffffffffffffffff")
        self.assertEqual(lines[5]["node"], "/locks/chaos/plain-1/node")
        self.assertRegex(lines[4]["resource"], "^/locks/chaos/plain-[0-3]$")

    def test_what_comes_to_nothing_is_no_grant_and_ends_the_process(self):
        for answer in ("timeout", "failed ConnectionLoss", "lost"):
            lines = self.drive(acquire=answer)
            self.assertEqual(self.short(lines)[-2:], [("return", "acquire", answer.split()[0]), ("end", None, None)])

    def test_a_release_that_failed_is_not_said_to_be_confirmed(self):
        lines = self.drive(acquire="ok /n", release="failed ConnectionLoss")
        self.assertEqual(self.short(lines)[-2:], [("return", "release", "ZKL_PENDING"), ("end", None, None)])

    def test_one_that_does_not_answer_is_killed(self):
        with mock.patch("fleet.others.ACQUIRE_S", 0), mock.patch("fleet.others.ANSWERED_WITHIN_S", 0.5):
            lines = self.drive(acquire="nothing")
        self.assertEqual(self.short(lines)[-1], ("call", "acquire", None))
        killed = self.lines(os.path.join(self.fleet.place, "nemesis.jsonl"))[-1]
        self.assertEqual((killed["what"], killed["process"]), ("kill", lines[-1]["process"]))


class CommandTest(OthersTest):
    CHILD = """
sys.stdin.readline()
print("granted 0", flush=True)
"""

    def run_of(self, make, program):
        with mock.patch.object(make, "KILLED_ONE_IN", 1 << 40), mock.patch.object(make, "PAUSE_S", 0):
            return self.live(make, program)

    def test_it_begins_when_its_call_is_written_down(self):
        lines = self.run_of(Run, """
sys.stdin.readline()
with open(sys.argv[1]) as file:
    sys.exit(1 if '"acquire"' in list(file)[-1] else 99)
""")
        self.assertEqual(self.short(lines)[-2], ("return", "acquire", "exit 1"))

    def test_what_was_not_granted_ends_with_the_command(self):
        lines = self.run_of(Run, "sys.exit(69)")
        self.assertEqual(self.short(lines)[-2:], [("return", "acquire", "exit 69"), ("end", None, None)])

    def test_a_release_that_the_child_began_ends_with_the_command(self):
        for status, told in ((0, "ZKL_PENDING"), (75, "ZKL_LOST"), (70, "exit 70")):
            lines = self.run_of(Run, self.CHILD + f"print('released', flush=True)\nsys.exit({status})")
            self.assertEqual(self.short(lines)[-2:], [("return", "release", told), ("end", None, None)])
            self.assertEqual(lines[-1]["exit"], status)

    def test_a_child_that_was_ended_has_released_nothing(self):
        lines = self.run_of(Run, self.CHILD + "sys.exit(75)")
        self.assertEqual(self.short(lines)[-2:], [("call", "acquire", None), ("end", None, None)])

    def test_one_that_is_killed_has_no_end(self):
        lines = self.run_of(Run, self.CHILD + "os.kill(os.getpid(), signal.SIGKILL)")
        self.assertEqual(self.short(lines)[-1], ("call", "acquire", None))

    def test_once_says_whether_it_ran(self):
        for program, ended in ((self.CHILD, ("ZKL_OK", True)), ("", ("ZKL_OK", False)),
                               (self.CHILD + "sys.exit(75)", ("ZKL_LOST", True)), ("sys.exit(70)", ("failed", False))):
            lines = self.run_of(Once, program)
            self.assertEqual((lines[-2]["status"], lines[-2]["ran"]), ended)
            self.assertRegex(lines[-2]["text"], "^version-[0-9]+$")


class ChildTest(unittest.TestCase):
    def test_it_says_that_it_lives_until_it_gives_up(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "c0.jsonl")
            environment = {**os.environ, "ZKLOCK_TOKEN": "17", "ZKLOCK_NODE": "/locks/a/node"}
            told = subprocess.run([sys.executable, Run.child, path, "c0-1-h0", "0.05"], env=environment, check=True,
                                  capture_output=True, text=True).stdout.split()
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
        self.assertEqual([told[0], told[2]], ["granted", "released"])
        self.assertEqual((lines[0]["what"], lines[0]["token"], lines[0]["process"]), ("acquire", [17, 0], os.getpid()))
        checks = lines[1:-1]
        self.assertGreaterEqual(len(checks), 4)
        self.assertEqual({one["what"] for one in checks}, {"check"})
        self.assertEqual([one["call"] for one in checks[::2]], [one["call"] for one in checks[1::2]])
        self.assertEqual((lines[-1]["event"], lines[-1]["what"]), ("call", "release"))


if __name__ == "__main__":
    unittest.main()
