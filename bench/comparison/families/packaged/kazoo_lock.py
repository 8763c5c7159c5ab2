#!/usr/bin/python3
"""kazoo's Lock (2.8, Debian's), as its documentation shows it, for the line protocol of other_process.c.

A holder whose session has ended is still told that it has the lock: is_acquired is a field of its own memory, and
kazoo asks its users to listen for LOST.
"""
import logging
import sys

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout

NO_TOKEN = -1


class KazooLock:
    def __init__(self, hosts, timeout_ms):
        self.client = KazooClient(hosts=hosts, timeout=timeout_ms / 1000)
        self.lock = None
        self.path = None
        self.client.start_async()

    def acquire(self, product, wait_ms):
        if self.path != f"/kazoo/{product}":
            self.path = f"/kazoo/{product}"
            self.lock = self.client.Lock(self.path)
        try:
            if not self.lock.acquire(timeout=int(wait_ms) / 1000):
                return "busy"
        except LockTimeout:
            return "busy"
        return f"granted {self.token()}"

    def token(self):
        """A node that has gone already has none."""
        stat = self.client.exists(f"{self.path}/{self.lock.node}")
        return stat.czxid if stat else NO_TOKEN

    def held(self, _):
        return "yes" if self.lock.is_acquired else "no"

    def release(self, _):
        self.lock.release()
        return "released"

    def answer(self, word, *rest):
        try:
            return {"acquire": self.acquire, "held": self.held, "release": self.release}[word](*rest)
        except Exception:  # pylint: disable=broad-except
            return "released" if word == "release" else "unknown"

    def end(self):
        self.client.stop()
        self.client.close()


def main():
    hosts, _, timeout_ms = sys.argv[1:]
    lock = KazooLock(hosts, int(timeout_ms))
    print("ready", flush=True)
    for line in sys.stdin:
        print(lock.answer(*line.split()), flush=True)
    lock.end()


logging.disable(logging.CRITICAL)
main()
