"""The fenced store: what it accepts, what it refuses, and what it writes down.

    cd tests/chaos && python3 -m unittest fleet.store_test
"""
import json
import os
import socket
import tempfile
import unittest

from world.history import History

from .store import INT64_MAX, LINE_MAX, Rows, Store


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [{name: value for name, value in json.loads(line).items() if name not in ("at", "who")} for line in file]


class Fence(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.place.name, "store.jsonl")
        self.rows = Rows(History(self.path, "store"))

    def tearDown(self):
        self.place.cleanup()

    def say(self, *lines):
        return [self.rows.answer(line) for line in lines]

    def test_a_write_takes_the_place_of_what_was_there(self):
        self.assertEqual(self.say("claim k 7 1 c1", "write k 7 1 c1 3 a", "write k 7 1 c1 4 b"), ["ok", "ok 0", "ok a"])
        self.rows.end()
        self.assertEqual(lines_of(self.path), [
            {"event": "claimed", "key": "k", "token": [7, 1], "by": "c1"},
            {"event": "written", "key": "k", "token": [7, 1], "by": "c1", "call": 3, "read": "0", "value": "a"},
            {"event": "written", "key": "k", "token": [7, 1], "by": "c1", "call": 4, "read": "a", "value": "b"},
            {"event": "held", "key": "k", "value": "b"}])

    def test_an_earlier_holder_is_refused_once_a_later_one_has_claimed(self):
        self.assertEqual(self.say("claim k 7 1 c1", "claim k 8 1 c2", "write k 7 1 c1 3 a", "claim k 7 1 c1"),
                         ["ok", "ok", "refused", "refused"])
        self.assertEqual(lines_of(self.path)[2:], [
            {"event": "refused", "what": "write", "key": "k", "token": [7, 1], "by": "c1", "call": 3},
            {"event": "refused", "what": "claim", "key": "k", "token": [7, 1], "by": "c1"}])

    def test_of_two_grants_of_one_node_the_later_one_has_the_greater_local_number(self):
        self.assertEqual(self.say("claim k 7 2 c1", "claim k 7 1 c2", "claim k 7 10 c2", "write k 7 2 c1 1 a"),
                         ["ok", "refused", "ok", "refused"])

    def test_who_has_not_claimed_is_refused_with_a_greater_token_too(self):
        self.assertEqual(self.say("claim k 7 1 c1", "write k 8 1 c2 1 a", "claim k 8 1 c2", "write k 8 1 c2 2 a"),
                         ["ok", "refused", "ok", "ok 0"])

    def test_rows_have_a_fence_each(self):
        self.assertEqual(self.say("claim k 7 1 c1", "claim l 6 1 c2", "write l 6 1 c2 1 a"), ["ok", "ok", "ok 0"])

    def test_a_malformed_line_says_so_and_changes_nothing(self):
        for line in ("", "claim", "claim k 7 1", "claim k 7 1 c1 more", "erase k 7 1 c1", "claim k -7 1 c1",
                     "claim k x 1 c1", f"claim k {INT64_MAX + 1} 1 c1", "write k 7 1 c1 x a", "end", "answer x"):
            self.assertEqual(self.rows.answer(line).split()[0], "malformed", line)
        self.assertEqual(lines_of(self.path), [])


class Process(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.place.name, "store.jsonl")
        self.store = Store(self.path)

    def tearDown(self):
        self.store.finish()
        self.place.cleanup()

    def connect(self):
        address, port = self.store.address.split(":")
        connection = socket.create_connection((address, int(port)), timeout=30)
        self.addCleanup(connection.close)
        return connection, connection.makefile("r")

    def test_clients_share_the_rows_and_what_is_held_at_the_end_is_written_down(self):
        (one, of_one), (other, of_other) = self.connect(), self.connect()
        one.sendall(b"claim k 7 1 c1\n")
        self.assertEqual(of_one.readline(), "ok\n")
        other.sendall(b"claim k 8 0 c2\nwrite k 8 0 c2 1 a\n")
        self.assertEqual([of_other.readline(), of_other.readline()], ["ok\n", "ok 0\n"])
        one.sendall(b"write k 7 1 c1 1 b\n")
        self.assertEqual(of_one.readline(), "refused\n")
        self.assertEqual(self.store.finish(), 0)  # while both are connected
        self.assertEqual(lines_of(self.path)[-1], {"event": "held", "key": "k", "value": "a"})

    def test_half_a_line_of_who_was_killed_is_no_command(self):
        one, _ = self.connect()
        one.sendall(b"claim k 7 1 c1")
        one.close()
        self.store.finish()
        self.assertEqual(lines_of(self.path), [])

    def test_a_line_without_end_closes_its_connection_and_no_other(self):
        (one, of_one), (other, of_other) = self.connect(), self.connect()
        one.sendall(b"x" * (2 * LINE_MAX))
        try:
            self.assertEqual(of_one.readline(), "")
        except ConnectionResetError:
            pass
        other.sendall(b"claim k 8 0 c2\n")
        self.assertEqual(of_other.readline(), "ok\n")


if __name__ == "__main__":
    unittest.main()
