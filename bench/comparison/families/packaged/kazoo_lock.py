#!/usr/bin/python3
"""kazoo's Lock (2.8, Debian's), as its documentation shows it, for the line protocol of other_process.c.

is_acquired is a field of its own memory. So a listener hears whether the connection was SUSPENDED or LOST since the
grant, as "highly recommended" there, and whoever was disturbed does not write.
"""
import contextlib
import logging
import sys

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import LockTimeout
from lines import serve

NO_TOKEN = -1


class KazooLock:
    def __init__(self, hosts, timeout_ms, fenced):
        self.client = KazooClient(hosts=hosts, timeout=timeout_ms / 1000)
        self.client.add_listener(self.on_state)
        self.fenced = fenced
        self.disturbances = self.seen = 0
        self.lock = None
        self.path = None
        self.client.start_async()

    def on_state(self, state):
        self.disturbances += state != KazooState.CONNECTED

    def acquire(self, product, wait_s):
        if self.path != f"/kazoo/{product}":
            self.path = f"/kazoo/{product}"
            self.lock = self.client.Lock(self.path)
        self.seen = self.disturbances
        try:
            if not self.lock.acquire(timeout=wait_s):
                return "busy"
        except LockTimeout:
            return "busy"
        except Exception:  # pylint: disable=broad-except
            return "unknown"
        return self.granted()

    def granted(self):
        try:
            return f"granted {self.token() if self.fenced else NO_TOKEN}"
        except Exception:  # pylint: disable=broad-except
            self.release()
            return "unknown"

    def token(self):
        """A node that has gone already has none."""
        stat = self.client.exists(f"{self.path}/{self.lock.node}")
        return stat.czxid if stat else NO_TOKEN

    def held(self):
        return self.lock.is_acquired and self.seen == self.disturbances

    def release(self):
        with contextlib.suppress(Exception):
            self.lock.release()

    def end(self):
        self.client.stop()
        self.client.close()


logging.disable(logging.CRITICAL)
HOSTS, _, TIMEOUT_MS, FENCE = sys.argv[1:]
the_lock = KazooLock(HOSTS, int(TIMEOUT_MS), FENCE == "1")
serve(the_lock)
the_lock.end()
