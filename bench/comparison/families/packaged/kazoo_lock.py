#!/usr/bin/python3
"""kazoo's Lock (2.8, Debian's), as its documentation shows it, for the line protocol of other_process.c.

A holder whose session has ended is still told that it has the lock: is_acquired is a field of its own memory, and
kazoo asks its users to listen for LOST.
"""
import contextlib
import logging
import sys

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from lines import serve

NO_TOKEN = -1


class KazooLock:
    def __init__(self, hosts, timeout_ms):
        self.client = KazooClient(hosts=hosts, timeout=timeout_ms / 1000)
        self.lock = None
        self.path = None
        self.client.start_async()

    def acquire(self, product, wait_s):
        if self.path != f"/kazoo/{product}":
            self.path = f"/kazoo/{product}"
            self.lock = self.client.Lock(self.path)
        try:
            if not self.lock.acquire(timeout=wait_s):
                return "busy"
            return f"granted {self.token()}"
        except LockTimeout:
            return "busy"
        except Exception:  # pylint: disable=broad-except
            return "unknown"

    def token(self):
        """A node that has gone already has none."""
        stat = self.client.exists(f"{self.path}/{self.lock.node}")
        return stat.czxid if stat else NO_TOKEN

    def held(self):
        return self.lock.is_acquired

    def release(self):
        with contextlib.suppress(Exception):
            self.lock.release()

    def end(self):
        self.client.stop()
        self.client.close()


logging.disable(logging.CRITICAL)
HOSTS, _, TIMEOUT_MS = sys.argv[1:]
the_lock = KazooLock(HOSTS, int(TIMEOUT_MS))
serve(the_lock)
the_lock.end()
