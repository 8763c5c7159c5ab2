"""What happens to a waiter that has a place in a queue: its session's, or for some time."""
import signal
import time

from .mechanism import LEASED
from .orders import one_crowd
from .round import (LONG_MS, WORK_MS, Round, all_settle, begins_inside, enters_queue, first_sale_s, queueing_ms,
                    seconds_until_sale, settles)
from .sale import NotSeen

CROWDED_S = 1.5  # in which it sells


def lease_ended(bench, mechanism, fence=False):
    """A waiter is stopped for longer than its session or lease; the lock becomes free, the one behind it gets in, and
    the waiter goes on. Harm: it is inside too, or the one behind it never is."""
    with Round(bench, mechanism, 2, fence) as all_of:
        work_ms = 2 * mechanism.timeout_ms + queueing_ms(mechanism)
        holder = all_of.buyer(work_ms=work_ms, timeout_ms=2 * work_ms)
        waiter = all_of.buyer(wait_ms=30000)
        last = all_of.buyer(work_ms=mechanism.timeout_ms // 2, wait_ms=30000)
        begins_inside(holder)
        enters_queue(waiter, mechanism)
        if holder.first("released"):
            raise NotSeen("the holder had released before the waiter was in the queue")
        waiter.stop()
        last.begin()
        try:
            last.await_step("inside")
        except NotSeen:
            return all_of.outcome(harm=True, stuck_s=None)
        waiter.resume()
        found = all_of.outcome(settled=[settles(one) for one in (holder, last, waiter)])
        return {**found, "harm": found["oversold"] > 0 or found["overlaps"] > 0}


def gives_up(bench, mechanism, fence=False):
    """(i) The time to wait of a waiter in the middle of the queue is over. Harm: who is behind it does not get in."""
    with Round(bench, mechanism, 9, fence) as all_of:
        wait_ms = LONG_MS // 6 + queueing_ms(mechanism, 2)
        holder = all_of.buyer(work_ms=2 * wait_ms, timeout_ms=LONG_MS + 2 * wait_ms)
        middle = all_of.buyer(wait_ms=wait_ms, timeout_ms=LONG_MS + 2 * wait_ms)
        last = all_of.buyer(timeout_ms=LONG_MS + 2 * wait_ms)
        begins_inside(holder)
        for one in (middle, last):
            enters_queue(one, mechanism)
        if middle.await_step("busy", "unknown", "granted")[1] == "granted" or holder.first("released"):
            raise NotSeen("the waiter did not give up while the holder was inside")
        stuck_s = seconds_until_sale(all_of, last, all_of.sale.database.now_us())
        return all_of.outcome(stuck_s=stuck_s, harm=stuck_s is None)


def crowd_leaves(bench, mechanism, fence=False):
    """(i) A crowd is told to end at once (SIGTERM), as when a service is restarted: 64 buyers that place order after
    order, or 8 of a lock in another language. Then two more buyers come. Harm: one of the two never sells."""
    # What a crowd leaves behind in etcd's servers stays for as long as they run: nobody else may meet it.
    own = bench.new_servers(mechanism) if mechanism.servers == "etcd" else None
    try:
        with one_crowd, Round(bench, mechanism, 1000000, fence) as all_of:
            all_of.lock_address = own.address if own else all_of.lock_address
            crowd = [all_of.buyer(orders=1000000, wait_ms=10 * LONG_MS) for _ in range(8 if mechanism.command else 64)]
            pair = [all_of.buyer(work_ms=WORK_MS, wait_ms=10 * LONG_MS) for _ in range(2)]
            for one in crowd:
                one.begin()
            for one in crowd:
                one.await_step("asks")
            time.sleep(CROWDED_S)
            for one in crowd:
                one.signal(signal.SIGTERM)
            for one in crowd:
                one.process.wait()
            since_us = all_of.sale.database.now_us()
            harm = not all(all_settle(pair))
            return all_of.outcome(harm=harm, stuck_s=None if harm else first_sale_s(all_of, since_us))
    finally:
        if own:
            own.end()


EXPERIMENTS = {"waiter-lease-ended": lease_ended, "waiter-gives-up": gives_up, "crowd-leaves": crowd_leaves}


def wants(mechanism):
    """By experiment, whether the lock has what the fault meets."""
    return {"waiter-lease-ended": mechanism.queues == LEASED, "waiter-gives-up": mechanism.queues,
            "crowd-leaves": mechanism.queues}
