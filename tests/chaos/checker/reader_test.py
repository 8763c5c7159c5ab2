"""What TransactionLog.java reads of three real servers is what happened there.

    cd tests/chaos && CHAOS_CONTENDER=.../ensemble_contender python3 -m unittest checker.reader_test
"""
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

from .main import judge_directory
from .transactions import by_zxid, committed

HERE = pathlib.Path(__file__).resolve().parent
ENSEMBLE = HERE.parents[2] / "ensemble" / "ensemble"
NAME = f"chaos-reader-{os.getpid()}"
TIMEOUT_MS = 2000
EXCLUSIVE, READ, WRITE = "0", "1", "2"
MODES = {EXCLUSIVE: "exclusive", READ: "read", WRITE: "write"}


def ensemble(*words):
    return subprocess.run([ENSEMBLE, "--local", "--name", NAME, "--tick", "300", *words], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()


def state_directory():
    return pathlib.Path(tempfile.gettempdir()) / f"zklock-ensemble-{os.getuid()}" / NAME


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class History:
    def __init__(self):
        self.lines = []

    def line(self, who, event, **fields):
        self.lines.append({"at": now(), "who": who, "event": event, **fields})

    def clock(self):
        self.line("nemesis", "clock", real_ns=time.time_ns())

    def write(self, directory):
        directory.mkdir()
        (directory / "nemesis.jsonl").write_text("".join(json.dumps(line) + "\n" for line in self.lines),
                                                 encoding="utf-8")


class Contender:
    """The program of tests/ensemble, with a history."""

    def __init__(self, history, hosts, resource):
        self.history, self.resource, self.calls = history, resource, 0
        command = [os.environ["CHAOS_CONTENDER"], hosts, str(TIMEOUT_MS), resource, "0", "0", "0"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.who = f"{self.process.pid}:1"  # the owner that it says itself
        self.line("start", host="here")
        status, session, timeout = self.process.stdout.readline().split()
        if status != "0":
            raise AssertionError(f"the contender cannot open its client: {status}")
        self.session = f"0x{int(session):x}"
        self.line("session", session=self.session)
        number = self.begin("open")
        self.line("return", what="open", call=number, status="ZKL_OK",
                  options={"session_timeout_ms": int(timeout), "client": self.who})

    def line(self, event, **fields):
        self.history.line(self.who, event, process=self.process.pid, **fields)

    def begin(self, what, **fields):
        self.calls += 1
        self.line("call", what=what, call=self.calls, **fields)
        return self.calls

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().split()

    def begin_acquire(self, mode):
        self.mode = MODES[mode]
        self.number = self.begin("acquire", deadline_ms=20000, mode=self.mode, resource=f"/locks/{self.resource}")
        self.ask(f"acquire {mode} 20000")

    def end_acquire(self):
        """Returns its node's path and czxid."""
        status, token, node = self.answer()
        if status != "0":
            raise AssertionError(f"not granted: {status}")
        self.line("return", what="acquire", call=self.number, status="ZKL_OK", token=[int(token), 0], node=node,
                  session=self.session, mode=self.mode)
        return node, int(token)

    def acquire(self, mode):
        self.begin_acquire(mode)
        return self.end_acquire()

    def release(self):
        number = self.begin("release", deadline_ms=20000)
        self.ask("release")
        if self.answer() != ["0"]:
            raise AssertionError("not released")
        self.line("return", what="release", call=number, status="ZKL_OK")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.history.line("nemesis", "process", what="kill", process=self.process.pid)
        self.free()

    def close(self):
        number = self.begin("close_client")
        self.process.stdin.close()
        if self.process.wait(30) != 0:
            raise AssertionError("the contender could not close its client")
        self.line("return", what="close_client", call=number, status="ZKL_OK")
        self.line("end")
        self.free()

    def free(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()


class Story:
    """A lock passes on three times: by a release, by the end of a session, and while the leader is dead."""

    def __init__(self):
        self.history = History()
        self.history.clock()
        hosts = ensemble("start")
        first, second, third = (Contender(self.history, hosts, "stock") for _ in range(3))
        self.nodes = [first.acquire(EXCLUSIVE)]
        second.begin_acquire(EXCLUSIVE)
        first.release()
        self.nodes.append(second.end_acquire())
        third.begin_acquire(WRITE)
        self.killed, self.killed_at = second.session, time.time()
        second.kill()
        self.nodes.append(third.end_acquire())
        self.kill_the_leader()
        third.release()
        self.nodes.append(first.acquire(READ))
        first.release()
        first.close()
        third.close()
        self.history.line("nemesis", "rest", what="empty", left={})
        self.history.clock()

    def kill_the_leader(self):
        leader = next(line.split()[0] for line in ensemble("roles").splitlines() if line.split()[1] == "leader")
        self.history.line("nemesis", "fault", what="begin", fault=1, kind="kill the leader")
        ensemble("kill", leader)
        ensemble("start", leader)
        self.history.line("nemesis", "fault", what="healed", fault=1)

    def write(self, directory):
        self.history.write(directory / "histories")
        (directory / "servers").mkdir()
        for number in "123":
            subprocess.run([HERE / "read-servers", state_directory() / f"server-{number}" / "data" / "version-2",
                            directory / "servers" / f"{number}.jsonl"], check=True, stderr=subprocess.DEVNULL)


@unittest.skipUnless("CHAOS_CONTENDER" in os.environ, "CHAOS_CONTENDER names no program")
class Reader(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(lambda: ensemble("stop"))
        cls.story = Story()
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        cls.story.write(cls.directory)
        cls.transactions = list(committed(by_zxid([(number, cls.directory / "servers" / f"{number}.jsonl")
                                                   for number in "123"], []), 2))

    def parts(self, kind):
        return [(one, part) for one in self.transactions for part in one["parts"] if part[0] == kind]

    def test_each_node_was_born_by_the_transaction_that_is_its_token(self):
        births = [(part[1], one["zxid"]) for one, part in self.parts("create") if part[2] == 1]
        self.assertEqual(births, sorted(self.story.nodes, key=lambda node: node[1]))

    def test_each_release_and_the_end_of_a_session_is_there(self):
        deaths = {part[1] for _, part in self.parts("delete")}
        killed = self.story.nodes[1][0]
        self.assertEqual(deaths, {path for path, _ in self.story.nodes} - {killed})
        (close, part), = [found for found in self.parts("close") if found[0]["session"] == self.story.killed]
        self.assertEqual(part[1], [killed])
        self.assertGreaterEqual(close["time_ms"] / 1000, self.story.killed_at)

    def test_the_parts_of_a_multi_have_their_types(self):
        kinds = {tuple(part[0] for part in one["parts"]) for one in self.transactions if len(one["parts"]) > 1}
        self.assertIn(("set", "delete"), kinds)

    def test_each_session_was_opened_and_closed(self):
        opened = {one["session"] for one, _ in self.parts("open")}
        self.assertEqual(len(opened), 3)
        self.assertEqual(opened, {one["session"] for one, _ in self.parts("close")})
        self.assertEqual({part[1] for _, part in self.parts("open")}, {TIMEOUT_MS})

    def test_the_killed_leader_has_written_in_two_epochs(self):
        self.assertEqual(len({one["zxid"] >> 32 for one in self.transactions}), 2)

    def test_snapshots_have_the_node_that_was_held_when_the_leader_changed(self):
        lines = [line for number in "123" for line in
                 (self.directory / "servers" / f"{number}.snapshots").read_text(encoding="utf-8").splitlines()]
        self.assertIn(dict([self.story.nodes[2]]), [json.loads(line)["ephemerals"] for line in lines])

    def test_the_checker_finds_nothing_wrong(self):
        judged = judge_directory(self.directory)
        self.assertEqual([str(one) for one in judged.examples], [])
        self.assertEqual(judged.world.grants, len(self.story.nodes))


if __name__ == "__main__":
    unittest.main()
