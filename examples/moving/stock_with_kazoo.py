#!/usr/bin/python3
"""The service before it moves: stock_with_kazoo.py HOSTS PATH FILE HELD_MS LOCK

LOCK: default, patterns, both or shared (docs/moving/kazoo.md)."""

import signal
import sys
import time

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock


class SharedLock(Lock):
    """In one queue with zklock and Curator."""
    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES = ["-lock-"]


class SharedLockBesideOld(SharedLock):
    """While other services still have kazoo's own lock."""
    _EXCLUDE_NAMES = ["-lock-", "__lock__"]


def patterned_lock(client, path):
    """Has kazoo's own name, and waits for zklock and Curator as well."""
    return Lock(client, path, extra_lock_patterns=("-lock-",))


LOCKS = {"default": Lock, "patterns": patterned_lock, "both": SharedLockBesideOld, "shared": SharedLock}


class Stock:
    def __init__(self, file, held_s):
        self.file = file
        self.held_s = held_s
        self.is_closing = False
        signal.signal(signal.SIGTERM, self.close)

    def close(self, *_):
        self.is_closing = True

    def read(self):
        with open(self.file, encoding="ascii") as file:
            return int(file.read())

    def take_order(self):
        """Returns whether nobody else was at it."""
        number = self.read()
        end = time.monotonic() + self.held_s
        while time.monotonic() < end and not self.is_closing:
            time.sleep(min(self.held_s, 0.01))
        alone = self.read() == number
        with open(self.file, "r+", encoding="ascii") as file:
            file.write(f"{number + 1:020}")
        return alone

    def serve(self, lock):
        orders = overlaps = 0
        while not self.is_closing:
            try:
                if not lock.acquire(timeout=1):
                    continue
            except LockTimeout:
                continue
            overlaps += not self.take_order()
            orders += 1
            lock.release()
        print(f"orders {orders}, overlaps {overlaps}", flush=True)


def main():
    hosts, path, file, held_ms, which = sys.argv[1:]
    client = KazooClient(hosts)
    client.start()
    print("open", flush=True)
    Stock(file, int(held_ms) / 1000).serve(LOCKS[which](client, path))
    client.stop()


main()
