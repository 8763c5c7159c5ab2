"""The faults, dealt out from outside, and what each shows in the stock's database.

Each experiment is one round: it returns what happened, and in "harm" whether that is the harm which it looks for. A
round in which the fault was not seen to happen raises NotSeen, and counts for nothing.
"""
import random
import time

from . import faults_of_servers, faults_of_waiters, orders
from .mechanism import SAFE
from .round import LONG_MS, WORK_MS, Round, begins_inside, enters_queue, queueing_ms, seconds_until_sale, settles
from .sale import NotSeen


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


def lost_with_its_machine(bench, mechanism, fence=False):
    """(f) The machine of the holder is gone, and nobody tells the database: no packet comes any more. Harm: nobody
    sells."""
    with Round(bench, mechanism, 2, fence) as all_of:
        way = all_of.before_database()
        lost, other = all_of.buyer(database_port=way.port, work_ms=WORK_MS), all_of.buyer()
        begins_inside(lost)
        way.cut()
        other.begin()
        stuck_s = seconds_until_sale(all_of, other, all_of.sale.database.now_us())
        way.mend()  # or a locked table would keep the harness waiting too
        return all_of.outcome(stuck_s=stuck_s, harm=stuck_s is None)


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
    timeout_ms = 2 * mechanism.timeout_ms  # so long that the second one's does not run out on a busy machine
    with Round(bench, mechanism, 9, fence) as all_of:
        late = all_of.buyer(work_ms=timeout_ms * 3 // 2, timeout_ms=timeout_ms)
        second = all_of.buyer(work_ms=timeout_ms * 7 // 10, timeout_ms=timeout_ms)
        third = all_of.buyer(timeout_ms=timeout_ms)
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


def killed_at_random(bench, mechanism, fence=False):
    """(h) A buyer that places order after order is killed whenever it is: how often is that between the two commands?
    Harm: nobody sells any more."""
    with Round(bench, mechanism, 1000000, fence) as all_of:
        victim, other = all_of.buyer(orders=1000000, work_ms=0), all_of.buyer()
        victim.begin()
        victim.await_step("sold")
        time.sleep(random.uniform(0, 0.3))
        victim.kill()
        other.begin()
        stuck_s = seconds_until_sale(all_of, other, all_of.sale.database.now_us())
        return all_of.outcome(stuck_s=stuck_s, harm=stuck_s is None)


def waiter_killed(bench, mechanism, fence=False):
    """(i) A waiter in the middle of the queue is killed. Harm: who is behind it does not get in."""
    with Round(bench, mechanism, 9, fence) as all_of:
        holder = all_of.buyer(work_ms=WORK_MS + queueing_ms(mechanism, 2), timeout_ms=LONG_MS + queueing_ms(mechanism, 2))
        middle, last = all_of.buyer(), all_of.buyer()
        begins_inside(holder)
        for one in (middle, last):
            enters_queue(one, mechanism)
        if holder.first("released"):
            raise NotSeen("the holder had released before both were in the queue")
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
    """(l) Its owner takes it once more, and gives that back: as a function does that is called by another one. Harm:
    it waits for itself, or somebody else gets in while it works on."""
    wait_ms = mechanism.timeout_ms // 2
    with Round(bench, mechanism, 1, fence) as all_of:
        owner = all_of.buyer(twice=1, wait_ms=wait_ms, work_ms=mechanism.timeout_ms // 2)
        other = all_of.buyer()
        owner.begin()
        granted_us = owner.await_step("granted")[0]
        try:
            answered_us, word, _ = owner.await_step("granted_twice", "not_twice")
        except NotSeen:
            if owner.count("gone"):
                raise
            return all_of.outcome(harm=True, measures={"refused": 0})  # it waits for itself without end
        if word == "granted_twice":
            owner.await_step("inside")
            other.begin()
            found = all_of.outcome(settled=[settles(owner), settles(other)])
            return {**found, "measures": {"granted": 1, "opened by its release": int(found["harm"])}}
        waits = answered_us - granted_us > wait_ms * 1000 / 2
        return all_of.outcome(harm=waits, measures={"refused": int(not waits)})


EXPERIMENTS = {
    "rush": rush, "holder-killed": holder_killed, "holder-stopped": holder_stopped, "late-write": late_write,
    "work-too-long": work_too_long, "cut-off": cut_off,
    "lost-with-its-machine": lost_with_its_machine, "reply-lost": reply_lost, "strangers-unlock": strangers_unlock,
    "dies-between": dies_between, "killed-at-random": killed_at_random, "waiter-killed": waiter_killed,
    "forgotten": forgotten, "taken-twice": taken_twice,
    **faults_of_waiters.EXPERIMENTS, **faults_of_servers.EXPERIMENTS, **orders.EXPERIMENTS,
}

# A fence refuses writes; it lets nobody in sooner, so it has no part in these, whose harm is that nobody sells.
UNFENCED = frozenset(("holder-killed", "lost-with-its-machine", "waiter-killed", "waiter-gives-up", "crowd-leaves",
                      "forgotten", "taken-twice", "strangers-unlock", "dies-between", "killed-at-random",
                      "two-servers-down", "redlock-server-slow", "split-votes",
                      *(name for name in EXPERIMENTS if "opposite" in name or "reply-lost" in name)))
# Of the number itself: nothing else in it has to do with whether it is used as a fence.
FENCED_ONLY = frozenset(("counter-goes-back",))


def fences_of(experiment, mechanism):
    """With which it is to be run: without a fence, with one."""
    return [fence for fence in (False, True)
            if not (fence and (not mechanism.token or experiment in UNFENCED))
            and not (not fence and experiment in FENCED_ONLY)]


def applies(experiment, mechanism):
    """Whether there is anything that the fault could meet."""
    # Where longer work does harm already, it would be the same experiment once more.
    lasts = (mechanism.theory or {}).get("work-too-long") == SAFE
    wants = {"cut-off": mechanism.servers != "none" and lasts, "lost-with-its-machine": mechanism.servers == "none",
             "strangers-unlock": not mechanism.shares, "reply-lost": mechanism.servers != "none" and mechanism.asks,
             "dies-between": mechanism.stop_point, "killed-at-random": mechanism.stop_point,
             **faults_of_waiters.wants(mechanism), **faults_of_servers.wants(mechanism), **orders.wants(mechanism)}
    return bool(wants.get(experiment, True))
