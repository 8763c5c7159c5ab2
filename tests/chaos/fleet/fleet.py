"""Who locks in a run: processes of several kinds, on the machines of clients."""
import collections
import hashlib
import os
import subprocess

from world.history import now
from world.network import OWN_ADDRESS
from . import mix
from .follower import busiest
from .member import PROGRAM, Contender
from .others import OTHERS
from .shop import Shop
from .store import Store

LONG_NS = 1_000_000_000


def is_queue_of(queue, resources):
    """Its path begins with that of a resource: a striped lock has a queue for each stripe below its own."""
    return any(resource and queue.startswith(resource) for resource in resources)


class Fleet:
    """What the world needs of it: `all`, `holders`, `waiters`, `met`, `grants`, `all_granted_since`, `set_hosts`."""

    def __init__(self, world, seed, session_ms, tick_ms, pace_ms):
        self.world = world
        self.seed = seed
        self.session_ms = session_ms
        self.tick_ms = tick_ms
        self.pace_ms = pace_ms
        self.hosts = world.servers.hosts
        self.build = world.build
        self.place = world.place
        self.histories_in = world.histories
        self.log = open(os.path.join(world.place, "contenders.log"), "ab")
        self.all = []
        self.store = Store(os.path.join(self.histories_in, "store.jsonl"), OWN_ADDRESS)
        self.shop = None

    def number_of(self, what):
        """Drawn for it from the run's seed, which may be any text."""
        return int.from_bytes(hashlib.sha256(f"{self.seed} {what}".encode()).digest()[:4], "big")

    def add(self, make, *more):
        """A member, made by `make`, on the next machine."""
        number = len(self.all)
        machines = self.world.machines
        self.all.append(make(self, number, machines[number % len(machines)], *more))

    def add_contenders(self, processes, handles):
        """Of all the kinds that there are."""
        listed = subprocess.run([f"{self.build}/{PROGRAM}", "--list"], check=True, capture_output=True, text=True).stdout
        for kinds in mix.drawn(self.seed, processes, handles, listed.split()):
            self.add(Contender, kinds)

    def add_others(self):
        for make in OTHERS:
            self.add(make)

    def add_shop(self):
        self.shop = Shop(os.path.join(self.place, "shop"), self.build, self.world.machines, self.hosts, self.seed)

    def start(self):
        for one in self.all:
            one.start()
        if self.shop is not None:
            self.shop.open()

    # ---- What they do ----------------------------------------------------------------------------

    @property
    def histories(self):
        return [one.path for one in self.all]

    def read(self):
        for one in self.all:
            one.follower.read()

    def holders(self):
        self.read()
        return [one for one in self.all if one.follower.holds]

    def long_holders(self):
        """Whose work is long: it will go on for a while."""
        self.read()
        since = now() - LONG_NS
        return [one for one in self.all if any(span.began <= since for span in list(one.follower.holds.values()))]

    def waiters(self):
        self.read()
        return [one for one in self.all if one.follower.waits]

    def grants(self):
        """Of the contenders. A member of another make begins anew whenever it was disconnected, and takes its time."""
        self.read()
        return [one.follower.grants for one in self.all if one.is_contender]

    def all_granted_since(self, before):
        return all(now > then for now, then in zip(self.grants(), before))

    def is_of(self, queue):
        """Whether somebody holds or waits for something there, now."""
        self.read()
        return any(is_queue_of(queue, span.resources) for one in self.all
                   for spans in (one.follower.holds, one.follower.waits) for span in list(spans.values()))

    def met(self, began, ended, members=None, queue=None):
        """How many held, and how many waited, at some time between, of one thing: that queue, or one that some of these
        members held or waited for, or any."""
        self.read()
        held, waited = [], []
        concerned = set()
        for one in self.all:
            some = one.follower.meeting(began, ended)
            held += some[0]
            waited += some[1]
            if members is not None and one in members:
                concerned.update(resource for spans in some for span in spans for resource in span.resources)
        if queue is not None:
            held, waited = ([span for span in spans if is_queue_of(queue, span.resources)] for spans in (held, waited))
        elif members is not None:
            held, waited = ([span for span in spans if span.resources & concerned] for spans in (held, waited))
        return busiest(held, waited)

    def told(self):
        """In numbers, for the result."""
        processes, grants = collections.Counter(), collections.Counter()
        for one in self.all:
            processes[one.make] += one.begun
            grants[one.make] += one.follower.grants
        return {"members": {make: {"processes": processes[make], "grants": grants[make]} for make in processes},
                "shop": self.shop.told() if self.shop is not None else None}

    # ---- What is done to them --------------------------------------------------------------------

    def set_hosts(self, hosts):
        self.hosts = hosts
        for one in self.all:
            one.set_hosts(hosts)
        if self.shop is not None:
            self.shop.set_hosts(hosts)

    def finish(self):
        for one in self.all:
            one.finish()
