"""What is done in each cell. A step returns what it measured, and raises Unexpected where something is as it must not be.

`stage.sides` are two: in a cell ours and theirs, in a control run twice theirs.
"""
import functools
import json
import os
import subprocess
import tempfile
import time

from . import libraries, servers
from .contender import Unexpected
from .stage import QUIET_S, Side, wait_until

ROUNDS = 250
COUNT_WITHIN_S = 240
SHORT_SESSION_MS = 2000
SHORT_WAIT_MS = 500
UNSIGNED = (1 << 64) - 1
# How long a client may take to find out that its session has ended, or that it is connected again.
NEWS_WITHIN_S = 15


def require(condition, what):
    if not condition:
        raise Unexpected(what)


# ---- Who waits for whom ------------------------------------------------------------------------------------------

WAITS, BESIDE, REFUSED, HANGS, FAILS, DIES = "waits", "beside", "refused", "hangs", "fails", "dies"


def meet(stage, holder, other):
    """What the other side does while the first one holds. Both have acquired before: a first time is slow in Java."""
    holder, other = stage.one(holder), stage.one(other)
    if not holds(holder):
        return {"met": REFUSED, "text": "it does not hold where the other has been"}
    holder.release()
    stage.await_queue(0)
    try:
        first = acquire_once(stage, other)
        found = met(stage, holder, other)
    except Unexpected:
        if not other.is_dead():
            raise
        found, first = {"met": DIES}, {}
    if found["met"] in (HANGS, FAILS, DIES):
        stage.reset()  # what it has left is of no account to the next
    return {**first, **found}


def holds(one):
    """False: it is refused, because of what the other side has left."""
    answer = one.ask("acquire -1")
    require(answer.status in ("ok", "refused"), f"{one.name}: {answer}")
    return answer.status == "ok"


def acquire_once(stage, one):
    answer = one.ask("acquire -1")
    if answer.status != "ok":
        return {"first": str(answer)[:200]}
    one.release()
    stage.await_queue(0)
    return {}


def met(stage, holder, other):
    if not holds(holder):
        return {"met": REFUSED, "text": "it does not hold where the other has been"}
    before = stage.tree.count()
    other.begin_acquire()
    await_answer_or_place(stage, other, before)
    time.sleep(QUIET_S)
    if not other.has_answered("acquire"):
        holder.release()
        return later(stage, other)
    return at_once(stage, holder, other, other.answer("acquire"))


def await_answer_or_place(stage, other, before):
    until = time.monotonic() + 4
    while time.monotonic() < until and not other.has_answered("acquire") and stage.tree.count() == before:
        time.sleep(0.02)


def at_once(stage, holder, other, answer):
    if answer.status == "failed":
        return {"met": FAILS, "text": answer.text[:200]}
    require(answer.status in ("ok", "refused"), f"{other.name}: {answer}")
    if answer.status == "ok":
        says = holder.ask("held")
        require(says.status in ("ok", "unsupported"), f"{holder.name} has lost what it holds: {says}")
        other.release()
    holder.release()
    stage.await_queue(0)
    return {"met": BESIDE} if answer.status == "ok" else {"met": REFUSED, "text": answer.text[:200]}


def later(stage, other):
    """It waited: so it must be granted now."""
    try:
        other.granted(10)
    except Unexpected:
        if other.is_dead():
            raise
        return {"met": HANGS}
    other.release()
    stage.await_queue(0)
    return {"met": WAITS}


# ---- Exclusion -----------------------------------------------------------------------------------------------------

def counter(stage):
    """Two of each side read a number, wait, and write it plus one, a thousand times, with no other lock."""
    return count([one for side in stage.sides for one in stage.team(side, 2)])


def count(contenders):
    with tempfile.NamedTemporaryFile(prefix="zklock-interop-") as ledger:
        ledger.write(b"%020d" % 0)
        ledger.flush()
        begin = time.monotonic()
        for one in contenders:
            one.tell(f"count {ROUNDS} {ledger.name}")
        answers = [one.answer("count", COUNT_WITHIN_S) for one in contenders]
        seconds = time.monotonic() - begin
        ledger.seek(0)
        return judged(contenders, answers, int(ledger.read()), seconds)


def judged(contenders, answers, written, seconds):
    for one, answer in zip(contenders, answers):
        require(answer.status == "ok", f"{one.name}: {answer}")
    done = [int(answer.text.split()[0]) for answer in answers]
    overlaps = sum(int(answer.text.split()[1]) for answer in answers)
    writing = sum(times for one, times in zip(contenders, done) if not one.looks)
    measured = {"acquisitions": sum(done), "lost": writing - written, "overlaps": overlaps, "seconds": round(seconds, 1)}
    require(writing == written and overlaps == 0, f"no exclusion: {measured}")
    return measured


def mixed_counter(stage):
    """Where both sides share: a writer of each side beside a reader of each."""
    return count([one for side in [*stage.sides, *map(writer_of, stage.sides)] for one in stage.team(side, 1)])


# Of each kind that shares.
WRITERS = {"read": "write", "reader": "writer", "kazoo-read": "kazoo-write", "read-patterns": "write-patterns",
           "shared-read": "shared-write"}


def writer_of(side):
    return Side(side.name + "-writer", side.library, WRITERS[side.kind])


# ---- Order ----------------------------------------------------------------------------------------------------------

def order(stage):
    """Who is queued first is granted first, whichever language it is in."""
    for sides in (stage.sides, stage.sides[::-1]):
        line_up(stage, [one for turn in zip(*(stage.team(side, 2) for side in sides)) for one in turn])
    return {"queues": 2, "contenders": 2 * len(stage.sides)}


def line_up(stage, queue):
    queue[0].acquire()
    for place, one in enumerate(queue[1:], 2):
        one.begin_acquire()
        stage.await_queue(place)
    for place, one in enumerate(queue):
        if place > 0:
            one.granted()
        stage.still_waits(*queue[place + 1:])
        one.release()
    stage.await_queue(0)


# ---- Ends: of a process, of a wait, of a session -------------------------------------------------------------------

def holder_killed(stage, side, other):
    """SIGKILL: the other side gets the lock when the session has timed out, and not before."""
    victim, waiter = stage.start(side, session_ms=SHORT_SESSION_MS), stage.one(other)
    victim.acquire()
    waiter.begin_acquire()
    stage.await_queue(2)
    victim.kill()
    begin = time.monotonic()
    waiter.granted()
    seconds = time.monotonic() - begin
    waiter.release()
    stage.await_queue(0)
    timeout_s = SHORT_SESSION_MS / 1000
    # The servers have heard from it for the last time up to a third of the timeout before.
    require(timeout_s / 2 <= seconds <= 4 * timeout_s, f"granted after {seconds:.1f} s")
    return {"granted_after_s": round(seconds, 1), "session_s": timeout_s}


def leaves(stage, side, other, leave):
    """Who waits gives up: its node goes, and who waits behind it is granted in its turn."""
    holder, behind = stage.team(other, 2)
    waiter = stage.one(side)
    holder.acquire()
    waiter.begin_acquire(SHORT_WAIT_MS if leave == "timeout" else -1)
    if leave == "cancel":
        stage.await_queue(2)
        behind.begin_acquire()
        stage.await_queue(3)
        told = waiter.ask("cancel")
        require(told.status == "ok", f"cancel: {told}")
    answer = waiter.answer("acquire")
    require(answer.status in ("timeout", "cancelled"), f"{waiter.name}: {answer}")
    if leave == "timeout":
        stage.await_queue(1)
        behind.begin_acquire()
    stage.await_queue(2)
    if behind.looks:  # it shares with the holder
        behind.granted()
        holder.release()
    else:
        stage.still_waits(behind)
        holder.release()
        behind.granted()
    behind.release()
    stage.await_queue(0)
    time.sleep(3 * QUIET_S)
    require(stage.tree.count() == 0, f"{waiter.name} has given up, and joins again")
    return {"answered": answer.status}


def waiter_cancelled(stage, side, other):
    return leaves(stage, side, other, "cancel")


def waiter_timed_out(stage, side, other):
    return leaves(stage, side, other, "timeout")


def holders_session_ended(stage, side, other):
    """The other side is granted at once; the holder is told."""
    victim, waiter = stage.start(side), stage.one(other)
    victim.acquire()
    waiter.begin_acquire()
    stage.await_queue(2)
    servers.end_session(victim.session_id)
    begin = time.monotonic()
    waiter.granted()
    seconds = time.monotonic() - begin
    tells = victim.ask("held").status != "unsupported"
    if tells:
        wait_until(lambda: victim.ask("held").status == "lost", f"{victim.name} knows of its loss", NEWS_WITHIN_S)
    told = victim.ask("release")
    waiter.release()
    stage.await_queue(0)
    return {"granted_after_s": round(seconds, 2), "tells": tells, "release": str(told)[:80]}


def waiters_session_ended(stage, side, other):
    """Who waits behind it is granted in its turn; it joins again, or says why not."""
    holder, behind = stage.team(other, 2)
    victim = stage.start(side)
    holder.acquire()
    victim.begin_acquire()
    stage.await_queue(2)
    behind.begin_acquire()
    stage.await_queue(3)
    servers.end_session(victim.session_id)
    time.sleep(QUIET_S)
    holder.release()
    behind.granted()
    stage.is_not_granted(victim)
    behind.release()
    answer = victim.answer("acquire")
    if answer.status == "ok":
        victim.release()
    stage.await_queue(0)
    return {"then": "joins again" if answer.status == "ok" else str(answer)[:80]}


# ---- Connections -------------------------------------------------------------------------------------------------------

def holder_reconnects(stage, side, other):
    """The connection is cut, the session goes on: it still holds, and gives back."""
    holder, proxy = stage.start_behind_proxy(side)
    waiter = stage.one(other)
    holder.acquire()
    waiter.begin_acquire()
    stage.await_queue(2)
    interrupt(proxy)
    stage.still_waits(waiter)
    require(holder.ask("held").status in ("ok", "unsupported"), "it has lost the lock")
    holder.release()
    waiter.granted()
    waiter.release()
    stage.await_queue(0)
    return {}


def waiter_reconnects(stage, side, other):
    """The holder releases while the waiter is cut off: it is granted when it is back."""
    waiter, proxy = stage.start_behind_proxy(side)
    holder = stage.one(other)
    holder.acquire()
    waiter.begin_acquire()
    stage.await_queue(2)
    interrupt(proxy)
    stage.still_waits(waiter)
    proxy.cut()
    holder.release()
    time.sleep(QUIET_S)
    proxy.mend()
    waiter.granted()
    waiter.release()
    stage.await_queue(0)
    return {}


def interrupt(proxy):
    proxy.cut()
    time.sleep(QUIET_S)
    proxy.mend()
    wait_until(proxy.is_connected, "it is connected again", NEWS_WITHIN_S)
    time.sleep(QUIET_S)


# ---- What each shows ------------------------------------------------------------------------------------------------------

def seen(stage):
    """Ours holds and theirs waits: what each library, and the command, says of the queue."""
    ours, theirs = stage.sides
    holder, waiter = stage.one(ours), stage.one(theirs)
    holder.acquire()
    waiter.begin_acquire()
    stage.await_queue(2)
    measured = {"ours": listed(holder), "theirs": listed(waiter)}
    if ours.library == "zklock":
        require(measured["ours"] == 2, f"not both are shown: {measured}")
        told = [(one["holds"], int(one["session"], 16)) for one in told_by_command(stage)]
        expected = [(True, holder.session_id & UNSIGNED), (False, waiter.session_id & UNSIGNED)]
        require(told == expected, f"zklock status: {told} in the place of {expected}")
        measured["command"] = len(told)
    holder.release()
    waiter.granted()
    waiter.release()
    stage.await_queue(0)
    return measured


def listed(contender):
    """How many of the queue it shows; none: it has no such thing."""
    answer = contender.ask("contenders")
    if answer.status != "ok":
        return str(answer)[:80]
    return len(json.loads(answer.text))


def told_by_command(stage):
    said = subprocess.run([libraries.COMMAND, "status", "--json", stage.path], capture_output=True, text=True,
                          check=True, env={**os.environ, "ZKLOCK_HOSTS": servers.HOSTS})
    return json.loads(said.stdout)["contenders"]


def revoker(stage):
    """Each asks the other's holder for the lock, by its own means; it is told once, and lets it in."""
    ours, theirs = map(stage.one, stage.sides)
    for holder, other in ((theirs, ours), (ours, theirs)):
        node = holder.acquire()
        require(holder.ask("told revoked").text == "0", f"{holder.name} was told before it was asked")
        other.begin_acquire()
        stage.await_queue(2)
        told = other.ask(f"revoke {node}")
        require(told.status == "ok", f"{other.name}: {told}")
        wait_until(lambda one=holder: one.ask("told revoked").text == "1", f"{holder.name} is told", NEWS_WITHIN_S)
        stage.still_waits(other)
        require(holder.ask("told revoked").text == "1", f"{holder.name} was told twice")
        holder.release()
        other.granted()
        other.release()
        stage.await_queue(0)
    return {}


STEPS = {"counter": counter, "order": order, "seen": seen}
MORE_STEPS = {"mixed counter": mixed_counter, "revoker": revoker}
STEPS_OF_A_SIDE = {
    "holder killed": holder_killed, "waiter cancelled": waiter_cancelled, "waiter timed out": waiter_timed_out,
    "holder's session ended": holders_session_ended, "waiter's session ended": waiters_session_ended,
    "holder reconnects": holder_reconnects, "waiter reconnects": waiter_reconnects,
}


def steps_of(sides, share=False):
    """By name, what to call with a stage; where both sides share there is no order, and nobody waits."""
    if share:
        return {"mixed counter": mixed_counter}
    steps = dict(STEPS)
    for name, function in STEPS_OF_A_SIDE.items():
        for side, other in (sides, sides[::-1]):
            steps[f"{name}, {side.name}"] = functools.partial(function, side=side, other=other)
    return steps
