#!/usr/bin/python3
"""A contender of kazoo's, which obeys some of the commands of contender.h, and answers them as it says there.

usage: kazoo_contender.py HOSTS PATH [EXTRA_LOCK_PATTERN...]

acquire (its Lock, ReadLock or WriteLock, by the mode), release.
"""
import os
import sys

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock, ReadLock, WriteLock
from kazoo.security import make_acl

OK = 0
TIMEOUT = -2
SESSION_TIMEOUT_MS = 20000
CLASSES = (Lock, ReadLock, WriteLock)


class Contender:
    def __init__(self, client, path, patterns):
        self.locks = [its(client, path, extra_lock_patterns=patterns) for its in CLASSES]
        self.path = path
        self.held = None

    def acquire(self, mode, timeout_ms):
        lock = self.locks[mode]
        try:
            lock.acquire(timeout=timeout_ms / 1000)
        except LockTimeout:
            return "%d 0" % TIMEOUT
        self.held = lock
        return "%d 0 %s/%s" % (OK, self.path, lock.node)

    def obey(self, words):
        if words[0] == "acquire":
            return self.acquire(int(words[1]), int(words[2]))
        if words[0] == "release":
            self.held.release()
            return str(OK)
        raise ValueError("no such command: " + words[0])


def credentials():
    """What closed servers ask for: see closed.h."""
    secret = os.environ.get("ZKLOCK_CLOSED")
    if secret is None:
        return {}
    return {"auth_data": [("digest", secret)], "default_acl": [make_acl("auth", "", all=True)]}


def main():
    client = KazooClient(hosts=sys.argv[1], timeout=SESSION_TIMEOUT_MS / 1000, **credentials())
    client.start(timeout=30)
    contender = Contender(client, sys.argv[2], tuple(sys.argv[3:]))
    print(OK, client.client_id[0], SESSION_TIMEOUT_MS, flush=True)
    for line in sys.stdin:
        print(contender.obey(line.split()), flush=True)
    client.stop()


main()
