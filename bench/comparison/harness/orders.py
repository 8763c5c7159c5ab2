"""What buyers do, rather than what befalls them: orders in opposite orders of locks, orders for several units, a crowd
about one ticket, work as long as the time-out; and replies that they do not get.

Each experiment is one round, as in experiments.py.
"""
import math
import threading
import time

from .round import STUCK_S, Round, queueing_ms, settles
from .sale import NotSeen, Sale


def all_settle(crowd, patience_s):
    until_s = time.monotonic() + patience_s
    return all([settles(one, max(0, until_s - time.monotonic())) for one in crowd])


# ---- Two locks ----------------------------------------------------------------------------------------------------

BETWEEN_MS = 500  # from the first lock to the request for the second: both buyers have their first by then
UNLIMITED_MS = 20000  # longer than anybody looks
SHORT_WAIT_MS = 300
PAUSE_MS = 200


def met(pair):
    """Whether both had their first lock before either had its second."""
    firsts = [one.first("granted") for one in pair]
    seconds = [one.first("granted_second") for one in pair]
    return None not in firsts and all(step is None or step[0] > max(firsts)[0] for step in seconds)


def opposite(bench, mechanism, fence, **settings):
    """(m) Two buyers need the locks of the same two products, in opposite orders. How long until both have sold? Harm:
    neither has. A buyer that does not get its second lock lets go of both, pauses and tries again."""
    with Round(bench, mechanism, 9, fence) as all_of:
        first = all_of.sale
        second = Sale(first.database, f"{first.product}-b", 9)
        between_ms = BETWEEN_MS + (queueing_ms(mechanism) if mechanism.servers == "zookeeper" else 0)
        pair = [all_of.buyer(product=one.product, second=other.product, between_ms=between_ms, **settings)
                for one, other in ((first, second), (second, first))]
        since_us = first.database.now_us()
        for one in pair:
            one.begin()
        all_settle(pair, STUCK_S)
        if not met(pair) and not mechanism.locks_tables and not mechanism.takes_both:
            raise NotSeen("one had both locks before the other had one")
        sold_us = [one.first_after(since_us) for one in (first, second)]
        stuck_s = None if None in sold_us else (max(sold_us) - since_us) / 1e6
        return all_of.outcome(stuck_s=stuck_s, harm=sold_us == [None, None],
                              without_second=[one.count("no_second") for one in pair])


def opposite_orders(bench, mechanism, fence=False):
    """(m) Two buyers need the locks of the same two products, in opposite orders, and wait without a limit: deadlock,
    where neither the lock nor its server ends it. Harm: neither has sold. (Where locks end by their time both may be
    in both by then; that harm is counted elsewhere.)"""
    return opposite(bench, mechanism, fence, wait_ms=UNLIMITED_MS)


def opposite_orders_fixed_pauses(bench, mechanism, fence=False):
    """(m) The same; who does not get its second lock lets go of both, and tries again after a pause. All waits and
    pauses are equally long, so that they may meet again and again: livelock."""
    return opposite(bench, mechanism, fence, wait_ms=SHORT_WAIT_MS, pause_ms=PAUSE_MS)


def opposite_orders_random_pauses(bench, mechanism, fence=False):
    """(m) The same, with pauses by chance, in the mean as long."""
    return opposite(bench, mechanism, fence, wait_ms=SHORT_WAIT_MS, pause_ms=PAUSE_MS, random_pauses=1)


# ---- Orders -------------------------------------------------------------------------------------------------------

SHORT_WORK_MS = 300  # so long that all are inside who get in
one_crowd = threading.Lock()  # several crowds at once would measure the machine


def orders_of_two(bench, mechanism, fence=False):
    """2 dryers, and orders for 1, 2 and 1 of them at once. That the order for 2 finds only 1 is no harm."""
    with Round(bench, mechanism, 2, fence) as all_of:
        crowd = [all_of.buyer(units=units, work_ms=SHORT_WORK_MS) for units in (1, 2, 1)]
        for one in crowd:
            one.begin()
        return all_of.outcome(all_settled=all_settle(crowd, 20))


def one_ticket(bench, mechanism, fence=False):
    """One ticket, 50 buyers at once."""
    with one_crowd, Round(bench, mechanism, 1, fence) as all_of:
        crowd = [all_of.buyer(work_ms=SHORT_WORK_MS) for _ in range(50)]
        for one in crowd:
            one.begin()
        return all_of.outcome(all_settled=all_settle(crowd, 20))


# ---- Time-outs, and how long work takes -----------------------------------------------------------------------------

CROWD = 4
ORDERS_MOST = 25      # of each
WORK_MS = 5000        # of all together: a round is to be short
SHORTEST_P99_MS = 400
MEAN_OF_P99 = math.exp(0.5 - 2.326)  # of the distribution of buyer.c
HAND_OFF_MS = 30


def timed(factor):
    """(c) The time-out is so many times the P99 of the work. Harm: two were at work at once."""
    def one_round(bench, mechanism, fence=False):
        # The sessions and leases of servers have a shortest time-out, which the mechanism's is.
        shortest_ms = mechanism.timeout_ms if mechanism.servers in ("etcd", "zookeeper") else 0
        p99_ms = max(SHORTEST_P99_MS, math.ceil(shortest_ms / factor))
        timeout_ms = int(p99_ms * factor)
        orders = min(ORDERS_MOST, int(WORK_MS / CROWD / (p99_ms * MEAN_OF_P99 + HAND_OFF_MS)))
        with Round(bench, mechanism, CROWD * orders, fence) as all_of:
            crowd = [all_of.buyer(orders=orders, work_p99_ms=p99_ms, timeout_ms=timeout_ms, wait_ms=UNLIMITED_MS)
                     for _ in range(CROWD)]
            for one in crowd:
                one.begin()
            all_settled = all_settle(crowd, 1.5 * WORK_MS / 1000)
            found = all_of.outcome(all_settled=all_settled, p99_ms=p99_ms, timeout_ms=timeout_ms)
            longest_ms = max((row[4] - row[3] for row in all_of.sale.rows()), default=0) / 1000
            return {**found, "longest_ms": longest_ms, "harm": found["overlaps"] > 0}
    one_round.__doc__ = f"(c) The time-out is {factor} times the P99 of the work. Harm: two were at work at once."
    return one_round


TIMED = {"timeout-half-p99": timed(0.5), "timeout-p99": timed(1), "timeout-2-p99": timed(2), "timeout-3-p99": timed(3),
         "timeout-100-p99": timed(100)}


# ---- Replies that are lost ----------------------------------------------------------------------------------------

def commit_lost(bench, mechanism, fence, **settings):
    """(j) The sale is committed, and its buyer does not hear so; it tries again. Then another one buys. Harm: more or
    fewer than two orders, or units that no order has."""
    with Round(bench, mechanism, 9, fence) as all_of:
        way = all_of.before_database()
        unlucky, other = all_of.buyer(database_port=way.port, **settings), all_of.buyer()
        way.lose_reply(b"COMMIT")
        unlucky.begin()
        settled = [settles(unlucky)]
        if not way.lost:
            raise NotSeen("no reply was lost")
        other.begin()
        settled.append(settles(other))
        found = all_of.outcome(settled=settled)
        return {**found, "harm": found["orders"] != 2 or found["unaccounted"] != 0}


def commit_reply_lost(bench, mechanism, fence=False):
    """(j) The buyer looks by the order's number whether it stands already."""
    return commit_lost(bench, mechanism, fence)


def commit_reply_lost_new_order(bench, mechanism, fence=False):
    """(j) The buyer does not look: each try is a new order. A lock is no help against that."""
    return commit_lost(bench, mechanism, fence, new_numbers=1)


def release_reply_lost(bench, mechanism, fence=False):
    """(j) The reply to the request that gives the lock back is lost, and its connection. How long from the sale until
    another one sells? Harm: nobody does."""
    with Round(bench, mechanism, 2, fence) as all_of:
        if mechanism.servers == "none":
            ways = [all_of.before_database()]
            unlucky = all_of.buyer(database_port=ways[0].port, work_ms=300)
        else:
            way = all_of.before_lock()
            ways = way.all
            unlucky = all_of.buyer(lock_address=way.address, work_ms=300)
        other = all_of.buyer()
        unlucky.begin()
        unlucky.await_step("inside")
        for one in ways:
            one.lose_reply(mechanism.gives_back)
        other.begin()
        unlucky.await_step("sold")
        sold_us = all_of.sale.rows()[0][4]
        has_sold = settles(other, STUCK_S)
        settles(unlucky)
        if not any(one.lost for one in ways):
            raise NotSeen("no reply was lost")
        # Without a lock the other one has not waited.
        next_us = all_of.sale.first_after(sold_us) or sold_us
        stuck_s = (next_us - sold_us) / 1e6 if has_sold else None
        return all_of.outcome(stuck_s=stuck_s, harm=stuck_s is None)


EXPERIMENTS = {
    "opposite-orders": opposite_orders, "opposite-orders-fixed-pauses": opposite_orders_fixed_pauses,
    "opposite-orders-random-pauses": opposite_orders_random_pauses, "orders-of-two": orders_of_two,
    "one-ticket": one_ticket, **TIMED, "commit-reply-lost": commit_reply_lost,
    "commit-reply-lost-new-order": commit_reply_lost_new_order, "release-reply-lost": release_reply_lost,
}

def wants(mechanism):
    """What these need of a mechanism: as `applies` of experiments.py. Fifty buyers with fifty more processes, be they
    Java's, would measure the machine."""
    is_timed = "timeout-100-p99" in (mechanism.theory or {})
    return {**dict.fromkeys(TIMED, is_timed), "release-reply-lost": mechanism.gives_back,
            "one-ticket": not mechanism.command}
