"""The faults, dealt out from outside, and what each shows in the stock's database.

Each experiment is one round: it returns what happened, and in "harm" whether that is the harm which it looks for. A
round in which the fault was not seen to happen raises NotSeen, and counts for nothing.
"""
import itertools
import os
import signal
import threading
import time

from .proxy import Proxies, Proxy
from .sale import Buyer, NotSeen, Sale

STUCK_S = 15  # for so long nobody sells: nobody will
WORK_MS = 300
numbers = itertools.count(1)


class Round:
    """One round of one experiment with one mechanism: a product of its own, and its buyers."""

    def __init__(self, bench, mechanism, units, fence=False, servers=None):
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
            self.own_servers.end()


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


def seconds_until_sale(all_of, buyer, since_us):
    """None: nobody has sold. By the clock of the database."""
    try:
        buyer.await_step("sold", patience_s=STUCK_S)
    except NotSeen:
        return None
    first = all_of.sale.first_after(since_us)
    return 0 if first is None else (first - since_us) / 1e6


# ---- Without a fault ----------------------------------------------------------------------------------------------

def rush(bench, mechanism, fence=False):
    """9 orders for 7 units, 9 buyers at once."""
    with Round(bench, mechanism, 7, fence) as all_of:
        crowd = [all_of.buyer(work_ms=5) for _ in range(9)]
        for one in crowd:
            one.begin()
        return all_of.outcome(all_settled=all([settles(one, 20) for one in crowd]))


# ---- Holders that go, stop, or are slow ---------------------------------------------------------------------------

def holder_killed(bench, mechanism, fence=False):
    """(a) How long until somebody else sells. Harm: nobody does."""
    with Round(bench, mechanism, 2, fence) as all_of:
        victim, other = all_of.buyer(work_ms=5000), all_of.buyer()
        begins_inside(victim)
        other.begin()
        other.await_step("asks")
        victim.kill()
        stuck_s = seconds_until_sale(all_of, other, all_of.sale.database.now_us())
        return all_of.outcome(stuck_s=stuck_s, harm=stuck_s is None)


def holder_stopped(bench, mechanism, fence=False):
    """(b) The holder of the last unit is stopped for twice its time-out, in the middle of its work, and goes on."""
    with Round(bench, mechanism, 1, fence) as all_of:
        sleeper, other = all_of.buyer(work_ms=WORK_MS), all_of.buyer()
        begins_inside(sleeper)
        sleeper.stop()
        other.begin()
        time.sleep(2 * mechanism.timeout_ms / 1000)
        settles(other, 3)
        sleeper.resume()
        return all_of.outcome(settled=[settles(sleeper), settles(other)])


def late_write(bench, mechanism, fence=False):
    """(b) The last write of the holder is on its way for twice its time-out: between its look at the lock and the
    database. No lock can know; a fence can."""
    with Round(bench, mechanism, 1, fence) as all_of:
        slow_way = all_of.before_database()
        slow_way.hold(b"UPDATE stock SET units")
        sleeper = all_of.buyer(database_port=slow_way.port, work_ms=0)
        other = all_of.buyer()
        begins_inside(sleeper)
        if not slow_way.await_held():
            raise NotSeen("the write did not come to the proxy")
        sleeper.stop()
        other.begin()
        time.sleep(2 * mechanism.timeout_ms / 1000)
        settles(other, 3)
        slow_way.let_go()
        sleeper.resume()
        return all_of.outcome(settled=[settles(sleeper), settles(other)])


def work_too_long(bench, mechanism, fence=False):
    """(c) The work takes one and a half times the time-out."""
    with Round(bench, mechanism, 1, fence) as all_of:
        slow, other = all_of.buyer(work_ms=mechanism.timeout_ms * 3 // 2), all_of.buyer()
        begins_inside(slow)
        other.begin()
        return all_of.outcome(settled=[settles(slow), settles(other)])


# ---- The network --------------------------------------------------------------------------------------------------

def cut_off(bench, mechanism, fence=False):
    """(f) The holder of the last unit is cut off from the lock's servers, not from the database, for twice the
    time-out."""
    with Round(bench, mechanism, 1, fence) as all_of:
        way = all_of.before_lock()
        alone = all_of.buyer(lock_address=way.address, work_ms=mechanism.timeout_ms * 5 // 2)
        other = all_of.buyer()
        begins_inside(alone)
        way.cut()
        other.begin()
        return all_of.outcome(settled=[settles(alone, 6), settles(other)])


def reply_lost(bench, mechanism, fence=False):
    """(j) The reply to the request that takes the lock is lost, and its connection. Harm: nobody sells any more."""
    with Round(bench, mechanism, 2, fence) as all_of:
        way = all_of.before_lock()
        unlucky = all_of.buyer(lock_address=way.address)
        for one in way.all:
            one.lose_reply(mechanism.asks)
        unlucky.begin()
        unlucky.await_step("asks")
        stuck_s = seconds_until_sale(all_of, unlucky, all_of.sale.database.now_us())
        if not any(one.lost for one in way.all):
            raise NotSeen("no reply was lost")
        return all_of.outcome(stuck_s=stuck_s, harm=stuck_s is None)


# ---- What unlocks, and what does not ------------------------------------------------------------------------------

def strangers_unlock(bench, mechanism, fence=False):
    """(g) A holder that is late gives back what is the next one's by now, and a third gets in beside that one. Harm:
    the second and the third were inside at the same time."""
    with Round(bench, mechanism, 9, fence) as all_of:
        late = all_of.buyer(work_ms=mechanism.timeout_ms * 3 // 2)
        second = all_of.buyer(work_ms=mechanism.timeout_ms * 9 // 10)
        third = all_of.buyer()
        begins_inside(late)
        second.begin()
        second.await_step("asks")
        late.await_step("released", patience_s=20)
        third.begin()
        settles(second)
        settles(third)
        all_of.end_buyers()
        spans = {row[0].rpartition("-")[0]: row[3:5] for row in all_of.sale.rows()}
        two, three = spans.get(second.name), spans.get(third.name)
        return all_of.outcome(harm=bool(two and three and two[0] < three[1] and three[0] < two[1]))


def dies_between(bench, mechanism, fence=False):
    """(h) The holder is killed between two commands of its lock. Harm: nobody sells any more."""
    with Round(bench, mechanism, 2, fence) as all_of:
        way = all_of.before_lock()
        victim = all_of.buyer(lock_address=way.address)
        other = all_of.buyer()
        for one in way.all:
            one.hold(mechanism.stop_point)
        victim.begin()
        if not any(one.await_held(10) for one in way.all):
            raise NotSeen("the second command did not come to the proxy")
        victim.kill()
        other.begin()
        stuck_s = seconds_until_sale(all_of, other, all_of.sale.database.now_us())
        return all_of.outcome(stuck_s=stuck_s, harm=stuck_s is None)


def waiter_killed(bench, mechanism, fence=False):
    """(i) A waiter in the middle of the queue is killed. Harm: who is behind it does not get in."""
    with Round(bench, mechanism, 9, fence) as all_of:
        holder = all_of.buyer(work_ms=WORK_MS * 2)
        middle, last = all_of.buyer(), all_of.buyer()
        begins_inside(holder)
        for one in (middle, last):
            one.begin()
            one.await_step("asks")
            time.sleep(0.1)  # so that one is behind the other
        middle.kill()
        stuck_s = seconds_until_sale(all_of, last, all_of.sale.database.now_us())
        return all_of.outcome(stuck_s=stuck_s, harm=stuck_s is None)


def forgotten(bench, mechanism, fence=False):
    """(k) The holder does not give its lock back, and lives on. Harm: nobody sells any more."""
    with Round(bench, mechanism, 9, fence) as all_of:
        careless, other = all_of.buyer(forget=1), all_of.buyer()
        careless.begin()
        careless.await_step("forgets")
        other.begin()
        stuck_s = seconds_until_sale(all_of, other, all_of.sale.database.now_us())
        return all_of.outcome(stuck_s=stuck_s, harm=stuck_s is None)


def taken_twice(bench, mechanism, fence=False):
    """(l) Its owner takes it once more. Harm: it waits for itself."""
    with Round(bench, mechanism, 9, fence) as all_of:
        owner = all_of.buyer(twice=1, wait_ms=mechanism.timeout_ms // 2)
        owner.begin()
        return all_of.outcome(harm=owner.await_step("granted_twice", "not_twice")[1] == "not_twice")


# ---- The lock's servers -------------------------------------------------------------------------------------------

LONG_MS = 3000  # a time-out that does not end in the round


def two_about_a_unit(all_of, fault, clock=None):
    """One is inside, then the fault, then another asks: the last unit is sold once or twice."""
    holder = all_of.buyer(work_ms=LONG_MS * 2 // 3, timeout_ms=LONG_MS)
    other = all_of.buyer(timeout_ms=LONG_MS, clock=clock)
    begins_inside(holder)
    fault()
    other.begin()
    return all_of.outcome(settled=[settles(holder), settles(other, 20)])


def server_restarted(bench, mechanism, fence=False):
    """(d) The lock's one server is killed, and started again as its package configures it."""
    own = bench.own_servers(mechanism)
    with Round(bench, mechanism, 1, fence, own) as all_of:
        def fault():
            own.all[0].kill()
            own.all[0].start()
        return two_about_a_unit(all_of, fault)


def primary_lost(bench, mechanism, fence=False):
    """(d) The primary dies before its replica has heard of the lock, and the replica is promoted."""
    own = bench.own_servers(mechanism)
    with Round(bench, mechanism, 1, fence, own) as all_of:
        own.link.cut()
        return two_about_a_unit(all_of, own.lose_primary)


def leader_killed(bench, mechanism, fence=False):
    """(d) The leader of the quorum is killed while a buyer is inside. How long until the other one sells?"""
    own = bench.own_servers(mechanism)
    with Round(bench, mechanism, 2, fence, own) as all_of:
        holder = all_of.buyer(work_ms=WORK_MS, timeout_ms=LONG_MS)
        other = all_of.buyer(timeout_ms=LONG_MS)
        begins_inside(holder)
        own.kill_leader()
        killed_at = all_of.sale.database.now_us()
        other.begin()
        stuck_s = seconds_until_sale(all_of, other, killed_at)
        found = all_of.outcome(stuck_s=stuck_s)
        return {**found, "harm": stuck_s is None or found["overlaps"] > 0}


def majority_forgets(bench, mechanism, fence=False):
    """(d) Two of the servers are down while a buyer locks the others; they come back, and of the others so many are
    restarted, and forget their keys, that the forgetful are a majority."""
    own = bench.own_servers(mechanism)
    with Round(bench, mechanism, 1, fence, own) as all_of:
        away = own.all[-2:]
        for one in away:
            one.kill()

        def fault():
            for one in away:
                one.start()
            for one in own.all[:len(own.all) // 2 + 1 - len(away)]:
                one.kill()
                one.start()
        return two_about_a_unit(all_of, fault)


def two_servers_down(bench, mechanism, fence=False):
    """(d) Two of the servers are down. Harm: nobody sells."""
    own = bench.own_servers(mechanism)
    with Round(bench, mechanism, 2, fence, own) as all_of:
        for one in own.all[-2:]:
            one.kill()
        one = all_of.buyer(timeout_ms=LONG_MS)
        since_us = all_of.sale.database.now_us()
        one.begin()
        stuck_s = seconds_until_sale(all_of, one, since_us)
        return all_of.outcome(stuck_s=stuck_s, harm=stuck_s is None)


# ---- Clocks -------------------------------------------------------------------------------------------------------

STEP_S = 20


def servers_clock(bench, mechanism, fence=False):
    """(e) The clocks of a majority of the lock's servers are stepped by 20 s while a buyer is inside."""
    clocks = []
    own = bench.own_redis(mechanism, clocks)
    with Round(bench, mechanism, 1, fence, own) as all_of:
        def fault():
            for one in clocks[:len(clocks) // 2 + 1]:
                one.step(STEP_S)
        return two_about_a_unit(all_of, fault)


def buyers_clock(bench, mechanism, fence=False):
    """(e) The clock of who waits is 20 s ahead."""
    with Round(bench, mechanism, 1, fence) as all_of:
        clock = bench.new_clock("buyer")
        return two_about_a_unit(all_of, lambda: clock.step(STEP_S), clock)


# At the end, as it is made of what is above.
from . import orders  # noqa: E402

EXPERIMENTS = {
    "rush": rush, "holder-killed": holder_killed, "holder-stopped": holder_stopped, "late-write": late_write,
    "work-too-long": work_too_long, "cut-off": cut_off, "reply-lost": reply_lost, "strangers-unlock": strangers_unlock,
    "dies-between": dies_between, "waiter-killed": waiter_killed, "forgotten": forgotten, "taken-twice": taken_twice,
    "server-restarted": server_restarted, "primary-lost": primary_lost, "leader-killed": leader_killed,
    "majority-forgets": majority_forgets, "two-servers-down": two_servers_down, "servers-clock": servers_clock,
    "buyers-clock": buyers_clock, **orders.ORDERS,
}


def applies(experiment, mechanism):
    """Whether there is anything that the fault could meet."""
    several = mechanism.servers in ("redis-5", "redis-6")
    wants = {"cut-off": mechanism.servers != "none", "reply-lost": mechanism.servers != "none" and mechanism.asks,
             "dies-between": mechanism.stop_point, "server-restarted": mechanism.servers == "redis",
             "primary-lost": mechanism.servers == "redis-promoted",
             "leader-killed": mechanism.servers in ("etcd", "zookeeper"), "majority-forgets": several,
             "two-servers-down": several, "servers-clock": several or mechanism.servers == "redis",
             **orders.wants(mechanism)}
    return bool(wants.get(experiment, True))
