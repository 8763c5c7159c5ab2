#!/usr/bin/python3
"""A contender of kazoo: the lines of protocol.md. Its kinds are in KINDS."""
import json
import logging
import os
import queue
import re
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import CancelledError, LockTimeout
from kazoo.protocol.states import KazooState
from kazoo.recipe.lock import Lock, ReadLock, Semaphore, WriteLock
from kazoo.security import make_acl

COUNT_WITHIN_S = 20
PERMITS = 2


class SharedLock(Lock):
    """With these two lines all kazoo locks of a resource share it with zklock and Curator."""
    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES = ["-lock-"]


class SharedWriteLock(Lock):
    """The same for Curator's read/write lock, and zklock's ZKL_READ and ZKL_WRITE: its writer."""
    _NODE_NAME = "-__WRIT__"
    _EXCLUDE_NAMES = ["-__WRIT__", "-__READ__", "-lock-"]


class SharedReadLock(Lock):
    """Its reader. It has to find its own node in the list, or it waits for whoever is last."""
    _NODE_NAME = "-__READ__"

    def __init__(self, client, path, identifier=None):
        super().__init__(client, path, identifier)
        self._contenders_re = re.compile(r"(?:%s|-__WRIT__|-lock-)(-?\d{10})$" % self.prefix)


class Granting(SharedLock):
    """No lock: it does not look at the queue. With it the harness shows that it would see that."""

    def _get_predecessor(self, node):
        return None


class Staying(SharedLock):
    """It leaves its node behind when it gives up: the same."""

    def _best_effort_cleanup(self):
        pass


class Overtaking(SharedLock):
    """It waits for the first in the queue, and for nobody else: the same."""

    first = None

    def acquire(self, *arguments, **options):
        self.first = None
        return super().acquire(*arguments, **options)

    def _get_predecessor(self, node):
        nearest = super()._get_predecessor(node)
        names = sorted(self.client.get_children(self.path), key=lambda name: name[-10:])
        self.first = self.first or names[0]
        return self.first if nearest and self.first in names else None


PATTERNS = {"extra_lock_patterns": ("lock-", "__READ__", "__WRIT__")}
KINDS = {
    "lock": (Lock, {}), "read": (ReadLock, {}), "write": (WriteLock, {}),
    "lock-pattern": (Lock, {"extra_lock_patterns": ("lock-",)}),
    "lock-patterns": (Lock, PATTERNS), "read-patterns": (ReadLock, PATTERNS), "write-patterns": (WriteLock, PATTERNS),
    "shared-lock": (SharedLock, {}), "shared-read": (SharedReadLock, {}), "shared-write": (SharedWriteLock, {}),
    "granting": (Granting, {}), "staying": (Staying, {}), "overtaking": (Overtaking, {}),
    "semaphore": (Semaphore, {"max_leases": PERMITS}), "election": (None, {}),
}
READERS = ("read", "read-patterns", "shared-read")


class Election:
    """One that leads for as long as its function does not return."""

    def __init__(self, client, path, identifier):
        self.election = client.Election(path, identifier)
        self.began = threading.Event()
        self.ended = threading.Event()
        self.thread = None

    def lead(self):
        self.began.set()
        self.ended.wait()

    def acquire(self, timeout=None):
        self.began.clear()
        self.ended.clear()
        self.thread = threading.Thread(target=self.election.run, args=[self.lead], daemon=True)
        self.thread.start()
        until = None if timeout is None else time.monotonic() + timeout
        while not self.began.wait(0.01):
            if not self.thread.is_alive():
                raise CancelledError()
            if until is not None and time.monotonic() > until:
                self.cancel()
                self.thread.join()
                raise LockTimeout("not elected")
        return True

    def release(self):
        self.ended.set()
        self.thread.join()

    def cancel(self):
        self.election.cancel()

    def contenders(self):
        return self.election.contenders()

    @property
    def node(self):
        return self.election.lock.node


class Contender:
    def __init__(self, client, path, kind, identifier):
        its, options = KINDS[kind]
        self.lock = Election(client, path, identifier) if its is None else its(client, path, identifier, **options)
        self.shares = kind in READERS
        self.path = path
        self.told = {"suspended": 0, "lost": 0}
        self.lost_at_grant = 0
        self.works = queue.Queue()
        client.add_listener(self.on_state)
        threading.Thread(target=self.work_always, daemon=True).start()

    def on_state(self, state):
        if state == KazooState.SUSPENDED:
            self.told["suspended"] += 1
        elif state == KazooState.LOST:
            self.told["lost"] += 1

    # ---- Works ----

    def acquire(self, timeout_ms):
        self.lost_at_grant = self.told["lost"]
        if not self.lock.acquire(timeout=None if timeout_ms < 0 else timeout_ms / 1000):
            return "timeout"
        node = getattr(self.lock, "node", None)
        return "ok " + (f"{self.path}/{node}" if node else getattr(self.lock, "create_path", "-"))

    def release(self):
        self.lock.release()
        return "ok"

    def count(self, rounds, ledger):
        overlaps = 0
        for _ in range(rounds):
            if not self.lock.acquire(timeout=COUNT_WITHIN_S):
                return "timeout"
            overlaps += ledger != "-" and not self.use(ledger)
            self.lock.release()
        return f"ok {rounds} {overlaps}"

    def use(self, name):
        """False: somebody else has written meanwhile."""
        with open(name, "r+b", buffering=0) as ledger:
            number = ledger.read(20)
            time.sleep(0.001)
            ledger.seek(0)
            alone = ledger.read(20) == number
            if not self.shares:
                ledger.seek(0)
                ledger.write(b"%020d" % (int(number) + 1))
            return alone

    def work(self, words):
        if words[0] == "acquire":
            return self.acquire(int(words[1]))
        if words[0] == "count":
            return self.count(int(words[1]), words[2])
        return self.release()

    def work_always(self):
        while True:
            self.answer(self.works.get(), self.work)

    # ---- Commands that are answered at once ----

    def ask(self, words):
        if words[0] == "cancel":
            self.lock.cancel()
            return "ok"
        if words[0] == "held":
            return "ok" if self.told["lost"] == self.lost_at_grant else "lost"
        if words[0] == "contenders":
            its = getattr(self.lock, "contenders", None) or self.lock.lease_holders
            return "ok " + json.dumps(its())
        if words[0] == "told" and words[1] in self.told:
            return f"ok {self.told[words[1]]}"
        return "unsupported"

    @staticmethod
    def answer(words, command):
        try:
            said = command(words)
        except LockTimeout:
            said = "timeout"
        except CancelledError:
            said = "cancelled"
        except Exception as failure:  # pylint: disable=broad-except
            said = f"failed {type(failure).__name__}: {failure}".replace("\n", " ")
        sys.stdout.write(f"{words[0]} {said}\n")
        sys.stdout.flush()

    def obey(self, words):
        if words[0] in ("acquire", "release", "count"):
            self.works.put(words)
        else:
            self.answer(words, self.ask)


def credentials():
    """What closed servers ask for: see tests/ensemble/support/closed.h."""
    secret = os.environ.get("ZKLOCK_CLOSED")
    if secret is None:
        return {}
    return {"auth_data": [("digest", secret)], "default_acl": [make_acl("auth", "", all=True)]}


def main():
    hosts, path, timeout_ms, kind, identifier = sys.argv[1:]
    logging.disable(logging.CRITICAL)
    client = KazooClient(hosts=hosts, timeout=int(timeout_ms) / 1000, **credentials())
    client.start(timeout=30)
    contender = Contender(client, path, kind, identifier)
    print("start ok", client.client_id[0], timeout_ms, flush=True)  # it does not tell the negotiated one
    for line in sys.stdin:
        contender.obey(line.split())
    client.stop()


main()
