"""A path, the two sides that contend there, and what all steps wait for."""
import contextlib
import time

from . import libraries, servers
from .contender import PATIENCE_S, Unexpected

# For what must not happen: it would come within a few round trips.
QUIET_S = 0.4


def wait_until(holds, what, within_s=PATIENCE_S):
    until = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > until:
            raise Unexpected(f"{what}: not within {within_s} s")
        time.sleep(0.01)


class Side:
    """Whose lock it is, and which."""

    def __init__(self, name, library, kind):
        self.name, self.library, self.kind = name, library, kind

    def __str__(self):
        return f"{self.library} {self.kind}"


class Stage:
    def __init__(self, client, path, sides):
        self.tree = servers.Tree(client, path)
        self.path = path
        self.sides = sides
        self.kept = {}
        self.guests = []
        self.proxies = []

    # ---- Contenders ----

    def start(self, side, **more):
        contender = libraries.start(side.name, side.library, side.kind, self.path, **more)
        self.guests.append(contender)
        contender.await_start()
        return contender

    def team(self, side, size):
        """Contenders that steps share; each leaves them as it found them."""
        kept = self.kept.setdefault((side.name, side.kind), [])
        while len(kept) < size:
            kept.append(self.start(side))
        return kept[:size]

    def one(self, side):
        return self.team(side, 1)[0]

    def start_behind_proxy(self, side, **more):
        proxy = servers.proxy()
        self.proxies.append(proxy)
        return self.start(side, hosts=proxy.address, **more), proxy

    # ---- What steps look at ----

    def await_queue(self, length):
        wait_until(lambda: self.tree.count() == length, f"{length} in the queue, not {self.tree.children()}")

    def stays(self, holds, what):
        until = time.monotonic() + QUIET_S
        while time.monotonic() < until:
            if not holds():
                raise Unexpected(what)
            time.sleep(0.02)

    def still_waits(self, *contenders):
        for one in contenders:
            try:
                self.stays(lambda one=one: not one.has_answered("acquire"), f"{one.name} does not wait")
            except Unexpected as reason:
                raise Unexpected(f"{reason}: {one.answer('acquire')}") from None

    def is_not_granted(self, one):
        self.stays(lambda: not one.is_granted(), f"{one.name} is granted before its turn")

    def reset(self):
        """After a step that failed: nobody is left who could spoil the next."""
        self.end_all()
        with contextlib.suppress(Unexpected):
            wait_until(lambda: self.tree.count() == 0, "an empty queue", 20)
        if self.tree.count():
            self.tree.remove()

    def end_all(self):
        for one in self.guests:
            one.end()
        for one in self.proxies:
            one.end()
        self.guests, self.proxies = [], []
        self.kept = {}

    def close(self):
        self.end_all()
        with contextlib.suppress(Exception):  # pylint: disable=broad-except
            self.tree.remove()
