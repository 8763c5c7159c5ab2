"""What is said in sentences, each with its figures: against zklock, as a guide, and of what articles claim.

No verdict is written by hand: a sentence takes its figures from results.json, and which of its endings it has depends
on them. Where a figure is missing, it says so.
"""
from .readings import (BY_ITS_OWNER, COMPLETE, DURABLE, HOT, Count, against_one, kind_of, number, percent, quotient,
                       ratio_text, rounds_text, seconds_text, servers_of, share_text)

TRUE, FALSE, AT_THIS_DURABILITY = "true", "false", "at this durability only"
NOT_MEASURED, NOT_TOLD_APART = "not measured", "not told apart"
# What a queue lets pass at most: who asks first may still be the second whose request arrives.
IN_ORDER = 0.05
UNITS_IN_RUSH = 7
# Eight times as many wait; where each release wakes all of them, it wakes at least so many times as many.
GROWS_WITH_ALL = 4
SEGMENTS = 5
# Of each kind the lock that one would take.
TO_TAKE = {"database": "row-for-update", "Redis": "redis-random-value", "Redlock": "redlock-parallel",
           "etcd": "etcd-lock-service", "ZooKeeper": "curator", "zklock": "zklock"}
# (speed, reliability) of five, as articles give them.
STARS = {"database": (2, 4), "Redis": (5, 2), "ZooKeeper": (3, 5)}
# Of those that wait in the database that all others sell in: in MariaDB its commits would count as well.
DATABASE_LOCKS = ("row-for-update", "lock-row", "lease-row", "advisory-lock", "table-lock")
# What is no lock, though it may be enough.
NO_LOCKS = ("no-lock", "conditional-update", "optimistic-version", "optimistic-version-mariadb")
BUYERS = "8 buyers on one hot product"
BUYERS_ON_DISK = f"{BUYERS}, all commits on the disk"


def listed(figures):
    """{name: text}, as in a sentence."""
    return "; ".join(f"`{name}` {text}" for name, text in figures.items())


# ---- What speaks against zklock -------------------------------------------------------------------------------------

def against(readings):
    """Sentences, each one point."""
    return [slower_than(readings, HOT, BUYERS), slower_than(readings, DURABLE, BUYERS_ON_DISK),
            slower_than(readings, "1x1", "one buyer alone"), forgets(readings), stands_still(readings),
            late_write(readings), waits_for_a_session(readings), waits_for_itself(readings), needs_servers(readings),
            costs(readings), is_large(readings)]


def slower_than(readings, work, where):
    """Only those that sold nothing twice without a fault: a lock that does not lock is not faster."""
    names = [name for name, one in readings.mechanisms.items()
             if not one.get("ours") and readings.count(name, ("rush",), of="overselling") is not None
             and not readings.count(name, ("rush",), of="overselling").harmed]
    ratios = with_ratio(readings, names, work)
    if not ratios:
        return f"**Speed, {where}.** Not measured."
    by_words = {words: [name for name in ratios if against_one(ratios[name]) == words]
                for words in ("faster", "not told apart", "slower")}
    first = sorted(by_words["faster"], key=lambda name: -ratios[name][0])[:5]
    fastest = f" The fastest: {listed({name: ratio_text(ratios[name]) for name in first})} times as many sales."
    return (f"**Speed, {where}.** Of {len(ratios)} other locks that sold nothing twice in a rush"
            f" {len(by_words['faster'])} are faster than zklock, {len(by_words['not told apart'])} are not told apart"
            f" from it, and {len(by_words['slower'])} are slower.{fastest if first else ''}")


def forgets(readings):
    ours, theirs = (readings.count(name, ("forgotten",)) for name in ("zklock", "redis-random-value"))
    return (f"**A forgotten lock is not freed.** If a holder lives on and does not release, nobody else sells:"
            f" {rounds_text(ours)}. With a lock of Redis that has a time-out: {rounds_text(theirs)}.")


def stands_still(readings):
    said = {name: rounds_text(readings.count(name, ("opposite-orders",)))
            for name in ("zklock", "zklock-set", "row-for-update", "redis-random-value")}
    return ("**Two locks in opposite orders stand still.** Two buyers wait for each other, without a limit, and nobody"
            f" sells: {listed(said)}. `zklock deadlocks` finds them, and ends none; a set (`zkl_lock_open_set`) takes both at"
            " once.")


def late_write(readings):
    open_to, fenced = (readings.count("zklock", ("late-write",), fence, "overselling") for fence in (False, True))
    return ("**Without a fence a late write is accepted.** A write was on its way for longer than its holder's session,"
            f" and a unit was sold twice: {rounds_text(open_to)}. With zklock's token as a fence:"
            f" {rounds_text(fenced)}. The fence is work in your store, which zklock cannot do for you.")


def waits_for_a_session(readings):
    said = {name: seconds_text(readings.stuck(name)) for name in ("zklock", "row-for-update", "redis-random-value")}
    return ("**After a kill the others wait for the session's time-out.** Until somebody else sold (the median):"
            f" {listed(said)}. (With a tick of 500 ms; with ZooKeeper's usual 2 s no session is shorter than 4 s.)")


def waits_for_itself(readings):
    return ("**Taken twice by its owner, it refuses**, unless it is told to be reentrant; Curator counts. It waited for"
            " itself, or let somebody else in:"
            f" {rounds_text(readings.count('zklock', ('taken-twice',)))}.")


def needs_servers(readings):
    held = {name: f"{number(said['memory_mb'])} MB" for name, said in readings.results["settings"].items()
            if name in ("zookeeper", "etcd", "redis") and said.get("memory_mb")}
    return ("**It needs three servers of ZooKeeper, and Java for them**; a lock in the database that you have needs"
            f" none. Memory of all servers at the end of the run: {listed(held) or 'not measured'}.")


def costs(readings):
    said = {name: f"{number(readings.figure(name, 'lock_requests'))} requests and"
                  f" {number(readings.figure(name, 'lock_cpu_ms'))} ms of CPU"
            for name in ("zklock", "redis-random-value", "etcd-lock-service") if readings.speed(name)}
    return (f"**What a sale costs the lock's servers**, {BUYERS}: {listed(said) or 'not measured'}. (Redis counts the"
            " commands of a script as well.)")


def is_large(readings):
    lines = readings.results["facts"].get("library_lines")
    others = {name: readings.mechanisms[name]["lines"]
              for name in ("conditional-update", "row-for-update", "redis-random-value") if name in readings.mechanisms}
    return (f"**It is large, and needs libzookeeper.** The library has"
            f" {f'{lines:,}' if lines else 'an unknown number of'} lines of C."
            f" Whole locks elsewhere: {listed(others)} lines.")


def durability(readings):
    """That speeds of servers which wait for different things are not those of their locks."""
    disk, memory = ([name for name in ("postgresql", "mariadb", "redis", "etcd", "zookeeper")
                     if readings.waits_on_disk(name) is waits] for waits in (True, False))
    if not disk or not memory:
        return ""
    return (f"In this run the commits of {' and '.join(disk)} waited for a disk, those of {', '.join(memory)} for"
            " memory only: speeds of the one and of the other do not say which lock is faster.")


# ---- A guide --------------------------------------------------------------------------------------------------------

def guide(readings):
    """(when, what to take, the figures for it)."""
    return [(when, what, figures(readings)) for when, what, figures in (
        ("The whole decision fits into one statement", "a conditional `UPDATE`, and no lock", conditional),
        ("You read, decide and write one row, and seldom two buyers at once", "a version in the row, and retries",
         optimistic),
        ("All data is in one database, and the work is short", "`SELECT … FOR UPDATE`", row_lock),
        ("Work that is done twice costs time, and nothing else", "Redis, one server: a random value, and a script that"
         " compares and deletes", redis_without),
        ("Your store refuses old numbers, and you have Redis already", "Redis, with a counter as fence, and its log on"
         " the disk (`appendfsync always`)", redis_with),
        ("You thought of Redlock", "Redis as above: with a fence, or where double work costs only time", redlock),
        ("You run etcd already, and your store refuses old numbers", "etcd's own lock, with its revision as fence",
         etcd),
        ("The work outlasts a transaction, or touches several stores, and must not be done twice",
         "ZooKeeper, and the token as fence in each store", zookeeper))]


def enough(readings, name, fence=None):
    """Whether it sold a unit twice, and what follows of that. `fence` None: it is not spoken of."""
    count = readings.oversold(name, bool(fence))
    where = {None: "A", False: "Without a fence, a", True: "With a fence, a"}[fence]
    if count is None:
        return f"{where} unit sold twice: not measured."
    found = readings.overselling(name, bool(fence))
    if set(found) - {BY_ITS_OWNER}:
        said = ", ".join(f"{experiment} {one.harmed} of {one.rounds}" for experiment, one in found.items())
        return f"{where} unit was sold twice ({said} rounds): **not enough** if that must not be."
    said = f"{where} unit was sold twice in {rounds_text(count)}"
    missing = readings.missing(name, bool(fence))
    if missing:
        return f"{said}: not measured in {', '.join(missing)}."
    return (f"{said}: {'**enough**' if count.harmless() else 'too few rounds to say more'}"
            f"{by_its_owner(found.get(BY_ITS_OWNER))}.")


def by_its_owner(found):
    """That is a mistake of the program, which some locks forgive."""
    if found is None:
        return ""
    return (f", if no owner takes it twice: the end of the inner transaction, or the inner release, let others in"
            f" ({found.harmed} of {found.rounds} rounds)")


def pace(readings, name, work=HOT, where=BUYERS):
    ratio = readings.ratio(name, work)
    words = {"faster": "Faster than zklock", "slower": "Slower than zklock",
             "not told apart": "Its speed is not told apart from zklock's"}.get(against_one(ratio), "Its speed")
    # Where there is no lock the wait is inside of the statement.
    passed = None if name in NO_LOCKS else readings.figure(name, "overtaking", work)
    order = f"; {percent(passed)} of its grants overtook somebody who waited" if passed is not None else ""
    return f"{words}, {where}: {ratio_text(ratio)}{'' if ratio is None else ' times as many sales'}{order}."


def conditional(readings):
    return f"{enough(readings, 'conditional-update')} {pace(readings, 'conditional-update')}"


def optimistic(readings):
    hot, many = (readings.ratio("optimistic-version", work) for work in ("64x1", "64x100"))
    return (f"{enough(readings, 'optimistic-version')} Sales ÷ zklock's with 64 buyers, on one product:"
            f" {ratio_text(hot)}; on 100: {ratio_text(many)}.")


def row_lock(readings):
    lost = ("lost-with-its-machine",)
    return (f"{enough(readings, 'row-for-update')} {pace(readings, 'row-for-update')} After its holder was killed,"
            f" somebody else sold after: {seconds_text(readings.stuck('row-for-update'))}. If a holder forgets to end"
            f" its transaction, nobody else sells: {rounds_text(readings.count('row-for-update', ('forgotten',)))}; with"
            " `idle_in_transaction_session_timeout`:"
            f" {rounds_text(readings.count('row-for-update-idle', ('forgotten',)))}. The machine of its holder was gone,"
            f" and nobody sold: {rounds_text(readings.count('row-for-update', lost))}; with that time-out:"
            f" {rounds_text(readings.count('row-for-update-idle', lost))}.")


def redis_without(readings):
    return (f"{enough(readings, 'redis-random-value')} {pace(readings, 'redis-random-value')} Of a sale without a fault, a"
            " stopped holder, a late write and work that takes too long, a unit was sold twice in"
            f" {share_text(readings, 'redis-random-value')}; if the holder looks at its key before it writes"
            f" (`redis-looked-at`), in {share_text(readings, 'redis-looked-at')}.")


def redis_with(readings):
    restarted = readings.count("redis-counter", ("server-restarted",), True, "overselling")
    again = {name: rounds_text(readings.count(name, ("counter-goes-back",), True)) for name in
             ("redis-counter", "redis-counter-durable")}
    return (f"{enough(readings, 'redis-counter-durable', True)} {same_as_zklock(readings)}"
            f"{pace(readings, 'redis-counter-durable', DURABLE, BUYERS_ON_DISK)}"
            " As its package configures it, the counter is in the memory of one server. That was restarted in the"
            f" middle of a sale, and a unit was sold twice in spite of the fence: {rounds_text(restarted)}. It was"
            f" restarted after 50 grants, and a number came again: {listed(again)}.")


def same_as_zklock(readings):
    """It must be said if it is so."""
    names = ("zklock", "redis-counter-durable")
    counts = [readings.oversold(name, True) for name in names]
    if all(counts) and all(one.harmless() for one in counts) and not any(readings.overselling(one, True) for one in names):
        return "**zklock with its token does no better here**: the fence keeps the stock right, not the lock. "
    return ""


def redlock(readings):
    down = readings.count("redlock-parallel", ("two-servers-down",))
    forgot = readings.count("redlock-parallel", ("majority-forgets",), of="overselling")
    token = readings.mechanisms.get("redlock-parallel", {}).get("token")
    return (f"{enough(readings, 'redlock-parallel')} {pace(readings, 'redlock-parallel')} Two of five servers were"
            f" down, and nobody sold: {rounds_text(down)}. A majority had forgotten its keys, and a unit was sold"
            f" twice: {rounds_text(forgot)}. Its number for a fence: {token or 'it has none'}.")


def etcd(readings):
    return " ".join((enough(readings, "etcd-lock-service", False), enough(readings, "etcd-lock-service", True),
                     pace(readings, "etcd-lock-service"), stops_after_a_crowd(readings), durability(readings))).strip()


def stops_after_a_crowd(readings):
    said = {name: rounds_text(readings.count(name, ("crowd-leaves",)))
            for name in ("etcd-lock-service", "go-etcd-concurrency", "zklock")}
    return (f"A crowd was told to end at once, and of the two who came then one never got in: {listed(said)}."
            " (The server that a crowd has left lets nobody wait again, the others go on: etcd issue 13336.)")


def zookeeper(readings):
    longest, passed = ({name: text(readings.figure(name, what)) for name in ("zklock", "redis-random-value")
                        if readings.figure(name, what) is not None}
                       for what, text in (("longest_wait_ms", lambda wait_ms: f"{number(wait_ms / 1000)} s"),
                                          ("overtaking", percent)))
    killed = readings.count("zklock", ("leader-killed",), True)
    return (f"{enough(readings, 'zklock', False)} {enough(readings, 'zklock', True)} The leader of the servers was"
            f" killed, and that did harm: {rounds_text(killed)}. The order, {BUYERS}: grants that overtook somebody:"
            f" {listed(passed) or 'not measured'}; longest wait within a slice:"
            f" {listed(longest) or 'not measured'}.")


# ---- Answers of docs/faq.md ------------------------------------------------------------------------------------------

def answers(readings):
    """By the name of the place that each has on the page."""
    return {"row": f"{enough(readings, 'row-for-update')} {pace(readings, 'row-for-update')}",
            "redis": f"{sold_twice_beside_zklock(readings, 'redis-random-value', 'redis-counter-durable')}"
                     f" {pace(readings, 'redis-random-value')}",
            "etcd": f"{sold_twice_beside_zklock(readings, 'etcd-lock-service', 'etcd-lock-service')}"
                    f" {pace(readings, 'etcd-lock-service')} {stops_after_a_crowd(readings)}"}


def sold_twice_beside_zklock(readings, name, fenced):
    """`fenced`: the lock of the same kind that has a number for a fence."""
    without, with_one = ({one: share_text(readings, one, fence) for one in (lock, "zklock")}
                         for lock, fence in ((name, False), (fenced, True)))
    return f"A unit was sold twice, without a fence: {listed(without)}. With a fence: {listed(with_one)}."


# ---- What articles claim --------------------------------------------------------------------------------------------

def claims(readings):
    """(claim, figures, verdict)."""
    return [(claim, *judge(readings)) for claim, judge in (
        ("A lock in the database is the slowest of all", database_is_slowest),
        ("Redis keeps the order of arrival by a queue", redis_keeps_order),
        ("Five segments are five times as fast as one lock", five_segments),
        ("Redlock goes on when two of five servers are dead", redlock_survives),
        ("The number of servers has to be odd", odd_number),
        ("On ZooKeeper each release wakes everybody who waits, unless one watches one's predecessor", herd_is_woken),
        ("ZooKeeper is the simplest choice that is complete", zookeeper_is_simplest),
        ("A time-out of 2 to 3 times the P99 of the work is long enough for it", two_to_three_p99))]


def with_ratio(readings, names, work=HOT):
    return {name: readings.ratio(name, work) for name in names if readings.ratio(name, work)}


def summed(counts):
    """Of several counts those that are known, together; None of nothing."""
    counts = [count for count in counts if count]
    harmed, rounds, least = zip(*counts) if counts else ((), (), ())
    return Count(sum(harmed), sum(rounds), min(least)) if counts else None


def true_if(holds):
    return NOT_MEASURED if holds is None else TRUE if holds else FALSE


def slowest_in_database(readings, work):
    """(figures, whether what waits in the database is slower than the locks of the other kinds that one would take): of
    the former the fastest. None: not told apart; no figures: not measured."""
    locks = with_ratio(readings, [one["name"] for one in readings.can()
                                  if one["name"] in DATABASE_LOCKS], work)
    others = with_ratio(readings, [name for kind, name in TO_TAKE.items() if kind != "database"], work)
    if not locks or not others:
        return "", None
    best = max(locks, key=lambda name: locks[name][0])
    is_slower = locks[best][2] < min(low for _, low, _ in others.values())
    is_faster = locks[best][1] > min(high for _, _, high in others.values())
    return (listed({name: ratio_text(ratio) for name, ratio in {best: locks[best], **others}.items()}),
            True if is_slower else False if is_faster else None)


def database_is_slowest(readings):
    (memory, in_memory), (disk, on_disk) = (slowest_in_database(readings, work) for work in (HOT, DURABLE))
    if not memory or not disk:
        return "-", NOT_MEASURED
    said = (f"sales ÷ zklock's, {BUYERS}, the fastest in the database first. Commits in memory: {memory}. All on the"
            f" disk: {disk}")
    if None in (in_memory, on_disk):
        return said, NOT_TOLD_APART
    return said, true_if(on_disk) if in_memory == on_disk else AT_THIS_DURABILITY


def redis_keeps_order(readings):
    """A queue keeps it if hardly anybody overtakes, and if a dead waiter does not stop it."""
    queues = ("redis-fair-list", "redis-fair-list-expiring")
    passed = {name: readings.figure(name, "overtaking") for name in ("redis-random-value", *queues, "zklock")}
    passed = {name: part for name, part in passed.items() if part is not None}
    stops = {name: readings.count(name, ("waiter-killed",)) for name in queues if name in passed}
    if not stops:
        return "-", NOT_MEASURED
    in_order = [stops[name].harmless() if stops[name] else None for name in stops if passed[name] <= IN_ORDER]
    verdict = TRUE if True in in_order else NOT_MEASURED if None in in_order else FALSE
    return (f"grants that overtook somebody, {BUYERS}:"
            f" {listed({name: percent(part) for name, part in passed.items()})}. A waiter was killed, and who was"
            f" behind it never sold: {listed({name: rounds_text(count) for name, count in stops.items()})}",
            verdict)


def five_segments(readings):
    times = quotient(readings.ratio("redis-five-segments", "64x1"), readings.ratio("redis-random-value", "64x1"))
    cell = readings.cell("redis-five-segments", "rush")
    left = "not measured"
    if cell:
        left = f"{number(UNITS_IN_RUSH - cell['sold'] / cell['rounds'])} of {UNITS_IN_RUSH} units"
    said = (f"sales of five segments ÷ those of one lock, 64 buyers on one hot product: {ratio_text(times)}. Left"
            f" unsold, in the mean, when 9 buyers rushed for {UNITS_IN_RUSH} units: {left}")
    many, one = (readings.figure("redis-random-value", "sales_per_s", work) for work in ("64x100", "64x1"))
    if times is None:
        return said, NOT_MEASURED
    if many and one and many / one < SEGMENTS:
        return (f"{said}. With a lock for each of 100 products this machine sells {number(many / one)} times as much as"
                " with one: it cannot show five times", NOT_TOLD_APART)
    return said, TRUE if times[1] >= SEGMENTS else FALSE if times[2] < SEGMENTS else NOT_TOLD_APART


def redlock_survives(readings):
    ours = ("redlock-in-turn", "redlock-parallel")
    names = [name for name in (*ours, "node-redlock") if readings.cell(name, "two-servers-down")]
    down = {name: readings.count(name, ("two-servers-down", "redlock-server-slow")) for name in names}
    as_described = summed(count for name, count in down.items() if name in ours)
    if not as_described:
        return "-", NOT_MEASURED
    forgot = summed(readings.count(name, ("majority-forgets",), of="overselling") for name in names)
    return (f"two were dead, or answered nothing for a while, and nobody sold:"
            f" {listed({name: rounds_text(count) for name, count in down.items()})}. The two came back, and a third one"
            " had forgotten its keys (restarted at once, without a log on its disk, against which its page warns): a unit"
            f" was sold twice: {rounds_text(forgot)}. `node-redlock` waits for all servers, as ioredis keeps requests to"
            " the dead: the verdict is that of the algorithm",
            true_if(as_described.harmless()))


def odd_number(readings):
    """False if six servers do no more harm than five: without a fault, with two servers down, and by split votes."""
    def harm_of(*names):
        counts = {name: readings.count(name, ("rush", "two-servers-down", "split-votes")) for name in names}
        return {name: count for name, count in counts.items() if count}
    five = harm_of("redlock-in-turn", "redlock-parallel")
    six = harm_of("redlock-six-in-turn", "redlock-six-parallel")
    if not five or not six:
        return "-", NOT_MEASURED
    of_five, of_six = summed(five.values()), summed(six.values())
    worse = of_six.harmed / of_six.rounds > of_five.harmed / of_five.rounds
    speeds = {name: ratio_text(readings.ratio(name)) for name in (*five, *six)}
    return (f"harm in a rush, with two servers down, and when six asked at once:"
            f" {listed({name: rounds_text(count) for name, count in {**five, **six}.items()})}. Sales ÷ zklock's,"
            f" {BUYERS}: {listed(speeds)}",
            true_if(None if of_six.harmless() is None else worse))


def herd_is_woken(readings):
    """True if wake-ups grow with the number of those who wait for a herd, and do not for who watches its predecessor."""
    works = ("8x1", "64x1")
    found = {name: [readings.figure(name, "wakeups", work) for work in works]
             for name in ("zookeeper-herd", "zklock", "kazoo")}
    found = {name: both for name, both in found.items() if None not in both}
    if not {"zookeeper-herd", "zklock"} <= set(found):
        return "-", NOT_MEASURED
    said = {name: ", ".join(f"{' and '.join(number(readings.figure(name, what, work)) for work in works)} {words}"
                            for what, words in (("wakeups", "wake-ups"), ("lock_requests", "requests")))
            for name in found}
    grows = {name: many / few >= GROWS_WITH_ALL for name, (few, many) in found.items()}
    return (f"for each sale with 8 buyers, and with 64: {listed(said)}",
            true_if(grows["zookeeper-herd"] and not grows["zklock"]))


def zookeeper_is_simplest(readings):
    """Complete: no harm in any of COMPLETE, with its fence if it has one. Simple: few lines, then few servers."""
    shortest = {}
    for one in sorted(readings.can(), key=lambda one: (one["lines"], servers_of(one))):
        if one["name"] not in NO_LOCKS and readings.is_complete(one["name"]):
            shortest.setdefault(kind_of(one), one)
    if not shortest:
        return "-", NOT_MEASURED
    said = {one["name"]: f"{one['lines']} lines, branches: {one['branches']}, servers: {servers_of(one)}"
            for one in shortest.values()}
    return (f"of each kind the shortest that did no harm in {', '.join(COMPLETE)}, with its fence if it has one:"
            f" {listed(said)}", TRUE if next(iter(shortest)) in ("ZooKeeper", "zklock") else FALSE)


def two_to_three_p99(readings):
    """Of all locks of Redis, which pass on after their time-out."""
    names = [one["name"] for one in readings.can() if kind_of(one) in ("Redis", "Redlock")]
    found = {factor: summed(readings.count(name, (f"timeout-{word}",)) for name in names) for factor, word in
             (("0.5", "half-p99"), ("1", "p99"), ("2", "2-p99"), ("3", "3-p99"), ("100", "100-p99"))}
    if not found["2"] and not found["3"]:
        return "-", NOT_MEASURED
    said = "; ".join(f"{factor} × P99: {rounds_text(count)}" for factor, count in found.items())
    stopped = summed(readings.count(name, ("holder-stopped",), of="overselling") for name in names)
    return (f"harm under locks of Redis, by time-out, where times of work are log-normal with σ = 1: {said}. A holder that was stopped for twice its time-out,"
            f" whatever that is, sold a unit twice: {rounds_text(stopped)}",
            true_if(summed((found["2"], found["3"])).harmless()))


# ---- The stars ------------------------------------------------------------------------------------------------------

def stars(readings):
    """(kind, what articles give, the lock measured, its ratio, units sold twice without a fence, and with, what it is
    made of)."""
    for kind, name in (*TO_TAKE.items(), ("Redis", "redis-looked-at"), ("Redis", "redis-counter-durable")):
        if name not in readings.mechanisms:
            continue
        one = readings.mechanisms[name]
        given = "speed {}, reliability {}".format(*STARS[kind]) if kind in STARS else "none"
        fenced = share_text(readings, name, True) if one["token"] else "has none"
        memory_mb = readings.results["settings"].get(one["servers"], {}).get("memory_mb")
        memory = f"{number(memory_mb)} MB" if memory_mb else "-"
        made_of = f"{one['lines']}, {one['branches']}, {servers_of(one)}, {memory}"
        yield (kind, given, f"`{name}`", ratio_text(readings.ratio(name)), share_text(readings, name), fenced,
               made_of)
