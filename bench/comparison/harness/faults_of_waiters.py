"""What happens to a waiter that has a place in a queue: its session's, or for some time."""
from .mechanism import LEASED
from .round import LONG_MS, Round, begins_inside, enters_queue, queueing_ms, seconds_until_sale, settles
from .sale import NotSeen


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


EXPERIMENTS = {"waiter-lease-ended": lease_ended, "waiter-gives-up": gives_up}


def wants(mechanism):
    """By experiment, whether the lock has what the fault meets."""
    return {"waiter-lease-ended": mechanism.queues == LEASED, "waiter-gives-up": mechanism.queues}
