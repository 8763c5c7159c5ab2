"""One round of an experiment, and what the experiments ask of its buyers."""
import itertools
import os
import threading
import time

from .proxy import Proxies, Proxy
from .sale import Buyer, NotSeen, Sale

STUCK_S = 15  # for so long nobody sells: nobody will
WORK_MS = 300
LONG_MS = 3000  # a time-out that does not end in the round
numbers = itertools.count(1)


class Round:
    """One round of one experiment with one mechanism: a product of its own, and its buyers."""

    def __init__(self, bench, mechanism, units, fence=False, servers=None):
        self.bench = bench
        self.mechanism = mechanism
        self.timeout_ms = mechanism.timeout_ms
        self.program = f"{bench.build}/buyer_{mechanism.program}"
        self.fence = fence
        self.sale = Sale(bench.database(mechanism), f"dryer-{os.getpid()}-{next(numbers)}", units)
        self.own_servers = servers
        servers = servers or bench.servers(mechanism)
        self.lock_address = servers.address if servers else ""
        self.buyers = []
        self.names = itertools.count(1)
        self.proxies = []

    def buyer(self, database_port=None, lock_address=None, clock=None, **settings):
        """One that is ready, and places no order before it is told to."""
        name = f"{self.sale.product}-buyer-{next(self.names)}"
        made = Buyer([self.program], name, {
            "servers": lock_address or self.lock_address,
            "database": self.sale.database.url_at(database_port or self.sale.database.port),
            "product": self.sale.product, "timeout_ms": self.timeout_ms, "fence": int(self.fence), **settings},
            {"COMPARISON_LOCK": self.mechanism.command, **(clock.environment if clock else {})})
        self.buyers.append(made)
        made.await_step("ready")
        return made

    def before_database(self):
        return self.added(Proxy(self.sale.database.port))

    def before_lock(self):
        return self.added(Proxies(self.lock_address))

    def added(self, proxy):
        self.proxies.append(proxy)
        return proxy

    def outcome(self, **more):
        """What the database says once nobody is there who could lock it."""
        self.end_buyers()
        found = self.sale.outcome()
        return {**found, "harm": found["oversold"] > 0, **more}

    def __enter__(self):
        return self

    def end_buyers(self):
        ends = [threading.Thread(target=one.end) for one in self.buyers]
        self.buyers = []
        for each in ends:
            each.start()
        for each in ends:
            each.join()

    def __exit__(self, *_):
        for one in self.proxies:
            one.end()
        self.end_buyers()
        if self.own_servers:
            self.bench.take_back(self.mechanism, self.own_servers)


def settles(buyer, patience_s=10):
    """Whether it has placed all its orders, or found nothing left."""
    try:
        buyer.await_step("done", patience_s=patience_s)
        return True
    except NotSeen:
        return False


def begins_inside(buyer, patience_s=20):
    buyer.begin()
    buyer.await_step("inside", patience_s=patience_s)


def queueing_ms(mechanism, waiters=1):
    """So long they take at most until they are in the queue: what is started beside a buyer connects late."""
    return waiters * (1000 if mechanism.command else 300)


def enters_queue(buyer, mechanism):
    """Returns when it is there."""
    buyer.begin()
    buyer.await_step("asks")
    time.sleep(queueing_ms(mechanism) / 1000)


def seconds_until_sale(all_of, buyer, since_us):
    """None: nobody has sold. By the clock of the database."""
    try:
        buyer.await_step("sold", patience_s=STUCK_S)
    except NotSeen:
        return None
    first = all_of.sale.first_after(since_us)
    return 0 if first is None else (first - since_us) / 1e6


def all_settle(crowd):
    """Who does, of those that begin together."""
    until_s = time.monotonic() + STUCK_S
    for one in crowd:
        one.begin()
    return [settles(one, max(0, until_s - time.monotonic())) for one in crowd]


def first_sale_s(all_of, since_us):
    """None: nobody has sold in time."""
    first_us = all_of.sale.first_after(since_us)
    return None if first_us is None or first_us - since_us > STUCK_S * 1e6 else (first_us - since_us) / 1e6
