#!/usr/bin/env python3
"""From other locks to zklock and back, one instance of a service after the other: what docs/moving.md and its pages say."""

import os
import shutil
import sys
import tempfile
import unittest

from services import BUILT, Services, compile_curator

SKIPPED = 77  # what ctest takes for skipped
zklock, curator = Services.zklock, Services.curator
default, patterns, both_names, shared = (Services.kazoo(lock) for lock in ("default", "patterns", "both", "shared"))


class FromCurator(Services):
    def test_instance_by_instance(self):
        self.assert_moves(curator, zklock)


class FromKazoo(Services):
    def test_with_patterns(self):
        self.assert_moves(default, patterns, zklock)

    def test_with_names_that_curator_sees(self):
        self.assert_moves(default, patterns, both_names, shared, curator)

    def test_no_step_can_be_left_out(self):
        self.assert_cannot_be_left_out(default, zklock)
        self.assert_cannot_be_left_out(default, both_names)
        self.assert_cannot_be_left_out(patterns, curator)
        self.assert_cannot_be_left_out(patterns, shared)


class FromRedis(Services):
    def setUp(self):
        super().setUp()
        self.old, self.both = (lock("redis", str(REDIS.port)) for lock in (Services.old_lock, Services.both_locks))

    def test_over_both_locks(self):
        self.assert_moves(self.old, self.both, zklock)

    def test_that_step_cannot_be_left_out(self):
        self.assert_cannot_be_left_out(self.old, zklock)


class FromADatabase(Services):
    def setUp(self):
        super().setUp()
        self.old, self.both = (lock("postgresql", DATABASE.url) for lock in (Services.old_lock, Services.both_locks))

    def test_over_both_locks(self):
        self.assert_moves(self.old, self.both, zklock)

    def test_that_step_cannot_be_left_out(self):
        self.assert_cannot_be_left_out(self.old, zklock)


class FromEtcd(Services):
    """By commands: etcdctl lock, and zklock run."""

    def setUp(self):
        super().setUp()
        self.addCleanup(os.environ.pop, "ETCDCTL_ENDPOINTS")
        os.environ["ETCDCTL_ENDPOINTS"] = ETCD.address

    def test_over_both_locks(self):
        self.assert_moves(*map(Services.commands, ("old", "both", "zklock")))

    def test_that_step_cannot_be_left_out(self):
        self.assert_cannot_be_left_out(*map(Services.commands, ("old", "zklock")))


def missing():
    """What is not installed here."""
    wanted = {
        "/usr/share/java/curator-recipes.jar": "curator", "/usr/lib/python3/dist-packages/kazoo": "kazoo",
        os.path.join(BUILT, "stock_with_lock_of_redis"): "moving", "/usr/bin/redis-server": "moving",
        "/usr/bin/etcdctl": "moving", "/usr/lib/postgresql": "moving",
    }
    groups = {group for path, group in wanted.items() if not os.path.exists(path)}
    return groups if shutil.which("javac") else groups | {"curator"}


if __name__ == "__main__":
    if missing():
        print("SKIPPED, NOT PASSED: first tools/install-packages", *sorted(missing()))
        sys.exit(SKIPPED)
    from harness.servers import Etcd, PostgreSQL, Redis
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)  # PostgreSQL is another user's
        Services.classes = place
        compile_curator(place)
        REDIS = Redis(place, "redis").start()
        DATABASE = PostgreSQL(place, "postgresql").start()
        ETCD = Etcd(place, "etcd")
        ETCD.all = [ETCD]
        ETCD.start()
        try:
            unittest.main()
        finally:
            ETCD.kill()
            DATABASE.kill()
            REDIS.kill()
