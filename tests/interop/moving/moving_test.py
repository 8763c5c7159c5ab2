#!/usr/bin/env python3
"""From other locks to zklock and back, one instance of a service after the other: what docs/moving.md and its pages say."""

import os
import shutil
import sys
import unittest

from contender import EXCLUSIVE, OK, TIMEOUT, Contender
from services import BUILT, Services, old_servers
from command import wait_until

SKIPPED = 77  # what ctest takes for skipped
zklock, curator, zkr_lock = Services.zklock, Services.curator, Services.zkr_lock
default, patterns, both_names, shared = (Services.kazoo(lock) for lock in ("default", "patterns", "both", "shared"))
old_command, both_commands, zklock_command = (Services.commands(which) for which in ("old", "both", "zklock"))


class FromCurator(Services):
    def test_instance_by_instance(self):
        self.assert_moves(curator, zklock)

    def test_a_set_and_locks_in_turn_wait_for_each_other(self):
        """As a set beside a MultiLock."""
        self.start_anew(self.resource.rsplit("/", 1)[1])
        in_turn, as_set = (Contender(os.environ["ZKLOCK_CONTENDER"], self.resource) for _ in range(2))
        for contender in in_turn, as_set:
            self.addCleanup(contender.end)
        self.assertEqual(in_turn.ask(f"acquire {EXCLUSIVE} 10000")[0], OK)
        as_set.tell(f"hold_both {self.resource}-other")
        self.wait_for_queue(2)
        in_turn.tell(f"also {self.resource}-other 10000")
        wait_until(lambda: self.resource in self.start("deadlocks").communicate()[0], "zklock deadlocks finds it")
        self.assertEqual(in_turn.answer()[0], TIMEOUT)
        self.assertFalse(as_set.has_answered())
        self.assertEqual(in_turn.ask("release"), [OK])
        self.assertEqual(as_set.answer()[0], OK)


class FromZooKeepersOwn(Services):
    def test_instance_by_instance(self):
        self.assert_moves(zkr_lock, zklock)


class FromKazoo(Services):
    def test_with_patterns(self):
        self.assert_moves(default, patterns, zklock)

    def test_unchanged_to_names_of_its_own(self):
        self.assert_moves(default, Services.zklock_for_kazoo)

    def test_with_names_that_curator_sees(self):
        self.assert_moves(default, patterns, both_names, shared, curator)

    def test_no_step_can_be_left_out(self):
        self.assert_cannot_be_left_out(default, zklock)
        self.assert_cannot_be_left_out(default, both_names)
        self.assert_cannot_be_left_out(patterns, curator)
        self.assert_cannot_be_left_out(patterns, shared)


class OverBothLocks(Services):
    def test_from_redis(self):
        self.assert_moves(Services.old_of_redis, Services.both_with_redis, zklock)

    def test_from_a_database(self):
        self.assert_moves(Services.old_of_database, Services.both_with_database, zklock)

    def test_from_etcd_by_commands(self):
        self.assert_moves(old_command, both_commands, zklock_command)

    def test_that_step_cannot_be_left_out(self):
        self.assert_cannot_be_left_out(Services.old_of_redis, zklock)
        self.assert_cannot_be_left_out(Services.old_of_database, zklock)
        self.assert_cannot_be_left_out(old_command, zklock_command)


def missing():
    """The groups of packages that are not installed here."""
    wanted = {
        "/usr/share/java/curator-recipes.jar": "curator", "/usr/lib/python3/dist-packages/kazoo": "kazoo",
        os.path.join(BUILT, "stock_with_lock_of_redis"): "moving", "/usr/bin/redis-server": "moving",
        "/usr/bin/etcdctl": "moving", "/usr/lib/postgresql": "moving", "/usr/bin/dpkg-source": "interop",
    }
    groups = {group for path, group in wanted.items() if not os.path.exists(path)}
    return groups if shutil.which("javac") else groups | {"curator"}


def run_with_old_servers(run):
    if missing():
        print("SKIPPED, NOT PASSED: first tools/install-packages", *sorted(missing()))
        sys.exit(SKIPPED)
    with old_servers():
        run()


if __name__ == "__main__":
    run_with_old_servers(unittest.main)
