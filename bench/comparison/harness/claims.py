"""What is said in sentences, each with its figures: against zklock, as a guide, and of what articles claim.

No verdict is written by hand: a sentence takes its figures from results.json, and which of its endings it has depends on
them. Where a figure is missing, it says so.
"""
from .readings import (COMPLETE, HOT, SERVER_COUNTS, against_one, kind_of, number, percent, quotient, ratio_text,
                       rounds_text, seconds_text)

TRUE, FALSE, AT_THIS_DURABILITY = "true", "false", "at this durability only"
NOT_MEASURED, NOT_TOLD_APART = "not measured", "not told apart"
# What a queue lets pass at most: who asks first may still be the second whose request arrives.
IN_ORDER = 0.05
UNITS_IN_RUSH = 7
SEGMENTS = 5
# Of each kind the lock that one would take.
TO_TAKE = {"database": "row-for-update", "Redis": "redis-random-value", "Redlock": "redlock-parallel",
           "etcd": "etcd-lock-service", "ZooKeeper": "curator", "zklock": "zklock"}
# (speed, reliability) of five, as articles give them.
STARS = {"database": (2, 4), "Redis": (5, 2), "ZooKeeper": (3, 5)}


# ---- What speaks against zklock -------------------------------------------------------------------------------------

def against(readings):
    """Sentences, each one point."""
    return [slower_than(readings, HOT, "8 buyers on one hot product"), slower_than(readings, "1x1", "one buyer alone"),
            forgets(readings), late_write(readings), waits_for_a_session(readings), waits_for_itself(readings),
            needs_servers(readings), costs(readings), is_large(readings)]


def slower_than(readings, work, where):
    """Only those that did no harm without a fault: what sells the same unit twice is not faster."""
    ratios = {name: readings.ratio(name, work) for name in readings.mechanisms
              if not readings.mechanisms[name].get("ours") and sold_twice_in_rush(readings, name) == 0}
    ratios = {name: ratio for name, ratio in ratios.items() if ratio}
    if not ratios:
        return f"**Speed, {where}.** Not measured."
    faster = sorted((name for name in ratios if against_one(ratios[name]) == "faster"), key=lambda name: -ratios[name][0])
    first = "; ".join(f"{readings.mechanisms[name]['title']} {ratio_text(ratios[name])}" for name in faster[:4])
    listed = f", the fastest of them: {first} times as many sales per second" if faster else ""
    return (f"**Speed, {where}.** {len(faster)} of {len(ratios)} other locks that sold nothing twice in a rush are"
            f" faster than zklock{listed}.")


def sold_twice_in_rush(readings, name):
    count = readings.count(name, ("rush",), of="overselling")
    return count[0] if count else None


def forgets(readings):
    ours, theirs = (readings.count(name, ("forgotten",)) for name in ("zklock", "redis-random-value"))
    return (f"**A forgotten lock is not freed.** If a holder lives on and does not release, nobody else sells:"
            f" {rounds_text(ours)}. With a lock of Redis that has a time-out: {rounds_text(theirs)}.")


def late_write(readings):
    open_to, fenced = (readings.count("zklock", ("late-write",), fence, "overselling") for fence in (False, True))
    return (f"**Without a fence a late write is accepted.** A holder whose write is on its way for longer than its session"
            f" sold a unit twice: {rounds_text(open_to)}. With its token as a fence: {rounds_text(fenced)}."
            " The fence is work in your store, which zklock cannot do for you.")


def waits_for_a_session(readings):
    said = ", ".join(f"{readings.mechanisms[name]['title']} {seconds_text(readings.stuck(name))}"
                     for name in ("zklock", "row-for-update", "redis-random-value") if name in readings.mechanisms)
    return ("**After a kill the others wait for the session's time-out.** Seconds until somebody else sold (the median): "
            f"{said}. A database sees at once that the connection has ended.")


def waits_for_itself(readings):
    return ("**Taken twice, it waits for itself**, unless it is told to be reentrant: "
            f"{rounds_text(readings.count('zklock', ('taken-twice',)))}.")


def needs_servers(readings):
    memory = readings.results.get("settings", {})
    held = ", ".join(f"{title} {number(memory[name]['memory_mb'])} MB" for name, title in
                     (("zookeeper", "three servers of ZooKeeper"), ("etcd", "three of etcd"), ("redis", "one of Redis"))
                     if memory.get(name, {}).get("memory_mb"))
    return ("**It needs three servers of ZooKeeper, and Java for them**; a lock in the database that you have needs none."
            f" Memory at the end of the run: {held or 'not measured'}.")


def costs(readings):
    def of(name):
        return (f"{readings.mechanisms[name]['title']} {number(readings.figure(name, 'lock_requests'))} requests and"
                f" {number(readings.figure(name, 'lock_cpu_ms'))} ms")
    names = [name for name in ("zklock", "redis-random-value", "etcd-lock-service") if readings.speed(name)]
    return ("**What a sale costs its lock's servers** (8 buyers, one hot product): "
            f"{'; '.join(map(of, names)) or 'not measured'} of CPU.")


def is_large(readings):
    lines = readings.results.get("facts", {}).get("library_lines")
    library = f"{lines:,} lines of C" if lines else "lines: not measured"
    adapters = ", ".join(f"{readings.mechanisms[name]['title']} {readings.mechanisms[name]['lines']}"
                         for name in ("conditional-update", "row-for-update", "redis-random-value")
                         if name in readings.mechanisms)
    return (f"**It is large, and needs libzookeeper.** The library: {library}. The whole lock in lines of code elsewhere:"
            f" {adapters}.")


# ---- A guide --------------------------------------------------------------------------------------------------------

def guide(readings):
    """(when, what to take, the figures for it)."""
    return [(when, what, figures(readings)) for when, what, figures in (
        ("The whole decision fits into one statement", "a conditional `UPDATE`, and no lock", conditional),
        ("You read, decide and write one row, and rarely two at once", "a version in the row, and retries", optimistic),
        ("All data is in one database, and the work is short", "`SELECT … FOR UPDATE`", row_lock),
        ("Work that is done twice costs time, and nothing else", "Redis, one server: a random value and a script",
         redis_without),
        ("Your store refuses an old number, and you have Redis", "Redis with a counter as fence", redis_with),
        ("You thought of Redlock", "its figures first", redlock),
        ("You run etcd already", "etcd's own lock, with its revision as a fence", etcd),
        ("The work outlasts a transaction, or touches several stores, and must not be done twice",
         "ZooKeeper, and the token as a fence in each store", zookeeper))]


def enough(readings, name, fence=False):
    """Its figures of harm, and what follows of them."""
    count = readings.oversold(name, fence)
    if count is None:
        return "Harm: not measured."
    how = "With a fence it sold" if fence else "It sold"
    if count[0]:
        return f"{how} a unit twice in {rounds_text(count)}: **not enough** where that must not be."
    return f"{how} nothing twice: {rounds_text(count)}. **Enough.**"


def pace(readings, name, work=HOT):
    ratio = readings.ratio(name, work)
    if ratio is None:
        return "Its speed was not measured."
    words = {"faster": "faster than zklock", "slower": "slower than zklock", "not told apart": "not told apart from zklock"}
    return f"{words[against_one(ratio)].capitalize()}: {ratio_text(ratio)} times its sales, 8 buyers on one product."


def conditional(readings):
    return f"{enough(readings, 'conditional-update')} {pace(readings, 'conditional-update')}"


def optimistic(readings):
    hot, many = (readings.ratio("optimistic-version", work) for work in ("64x1", "64x100"))
    return (f"{enough(readings, 'optimistic-version')} 64 buyers on one product: {ratio_text(hot)} times zklock's sales;"
            f" on 100 products: {ratio_text(many)} times.")


def row_lock(readings):
    return (f"{enough(readings, 'row-for-update')} {pace(readings, 'row-for-update')} After a kill somebody else sold in"
            f" {seconds_text(readings.stuck('row-for-update'))}.")


def redis_without(readings):
    return f"{enough(readings, 'redis-random-value')} {pace(readings, 'redis-random-value')}"


def redis_with(readings):
    restarted = readings.count("redis-counter", ("server-restarted",), True, "overselling")
    return (f"{enough(readings, 'redis-counter', True)} {same_as_zklock(readings)}{pace(readings, 'redis-counter')}"
            f" The counter is lost with the server: restarted, it sold a unit twice in {rounds_text(restarted)}.")


def same_as_zklock(readings):
    ours, theirs = (readings.oversold(name, True) for name in ("zklock", "redis-counter"))
    if ours and theirs and ours[0] == theirs[0] == 0:
        return "So does zklock with its token, and no better: the fence does it, not the lock. "
    return ""


def redlock(readings):
    down = readings.count("redlock-parallel", ("two-servers-down",))
    forgot = readings.count("redlock-parallel", ("majority-forgets",), of="overselling")
    return (f"{enough(readings, 'redlock-parallel')} {pace(readings, 'redlock-parallel')} With two of five servers down"
            f" nobody could sell in {rounds_text(down)}; when a majority had forgotten its keys, it sold a unit twice in"
            f" {rounds_text(forgot)}. It gives no number for a fence.")


def etcd(readings):
    return (f"Without a fence: {enough(readings, 'etcd-lock-service')} {enough(readings, 'etcd-lock-service', True)}"
            f" {pace(readings, 'etcd-lock-service')}")


def zookeeper(readings):
    spread = " and ".join(f"{title} {number(spread_of(readings, name))}" for name, title in
                          (("zklock", "zklock"), ("redis-random-value", "a polled lock of Redis")) if readings.speed(name))
    return (f"zklock without a fence: {enough(readings, 'zklock')} {enough(readings, 'zklock', True)} When the leader of the"
            f" servers was killed, harm in {rounds_text(readings.count('zklock', ('leader-killed',), True))}. Longest wait ÷"
            f" median, 8 buyers on one product: {spread or 'not measured'}.")


def spread_of(readings, name, work=HOT):
    """How much longer the longest wait was than the median one."""
    longest, middle = (readings.figure(name, what, work) for what in ("longest_wait_ms", "wait_p50_ms"))
    return longest / middle if longest and middle else None


# ---- What articles claim --------------------------------------------------------------------------------------------

def claims(readings):
    """(claim, figures, verdict)."""
    return [(claim, *judge(readings)) for claim, judge in (
        ("A lock in the database is the slowest of all", database_is_slowest),
        ("Redis keeps the order of arrival by a queue", redis_keeps_order),
        ("Five segments are five times as fast as one lock", five_segments),
        ("Redlock goes on when two of five servers are dead", redlock_survives),
        ("The number of servers has to be odd", odd_number),
        ("ZooKeeper is the simplest choice that is complete", zookeeper_is_simplest),
        ("A time-out of 2 to 3 times the P99 of the work keeps others out", two_to_three_p99))]


def with_ratio(readings, names, work=HOT):
    return {name: readings.ratio(name, work) for name in names if readings.ratio(name, work)}


def database_is_slowest(readings):
    """Of what waits in the database the fastest, beside the slowest of the other kinds that one would take."""
    locks = with_ratio(readings, [one["name"] for one in readings.can() if kind_of(one) == "database"
                                  and one["name"].removesuffix("-mariadb") in
                                  ("row-for-update", "lock-row", "lease-row", "advisory-lock", "table-lock")])
    others = with_ratio(readings, [name for kind, name in TO_TAKE.items() if kind != "database"])
    if not locks or not others:
        return "-", NOT_MEASURED
    best = max(locks, key=lambda name: locks[name][0])
    said = "; ".join(f"{readings.mechanisms[name]['title']} {ratio_text(ratio)}"
                     for name, ratio in {best: locks[best], **others}.items())
    waits = readings.results.get("settings", {}).get(readings.mechanisms[best]["database"], {}).get("waits_for")
    said += f" times zklock's sales, 8 buyers on one product. The database's commit waits for {waits or 'what nobody asked'}"
    if locks[best][2] < min(low for _, low, _ in others.values()):
        return said, TRUE  # on a slower disk it is slower still
    if locks[best][1] > min(high for _, _, high in others.values()):
        return said, FALSE if readings.waits_on_disk(readings.mechanisms[best]["database"]) else AT_THIS_DURABILITY
    return said, NOT_TOLD_APART


def redis_keeps_order(readings):
    """A queue keeps it if hardly anybody overtakes, and if a dead waiter does not stop it."""
    queues = [name for name in ("redis-fair-list", "redis-fair-list-expiring") if readings.speed(name)]
    overtaking = {name: readings.figure(name, "overtaking") for name in ("redis-random-value", *queues, "zklock")}
    known = [overtaking[name] for name in queues if overtaking[name] is not None]
    if not known:
        return "-", NOT_MEASURED
    said = "; ".join(f"{readings.mechanisms[name]['title']} {percent(part)}" for name, part in overtaking.items()
                     if part is not None)
    dead = {name: readings.count(name, ("waiter-killed",)) for name in queues}
    stops = "; ".join(f"{readings.mechanisms[name]['title']} {rounds_text(count)}" for name, count in dead.items())
    ordered = any(part <= IN_ORDER and dead[name] is not None and not dead[name][0] for name, part in overtaking.items()
                  if name in queues and part is not None)
    return (f"grants that overtook somebody, 8 buyers on one product: {said}. A waiter is killed, and the queue stands:"
            f" {stops}"), TRUE if ordered else FALSE


def five_segments(readings):
    times = quotient(readings.ratio("redis-five-segments", "64x1"), readings.ratio("redis-random-value", "64x1"))
    cell = readings.cell("redis-five-segments", "rush")
    left = f"{number(UNITS_IN_RUSH - cell['sold'] / cell['rounds'])} of {UNITS_IN_RUSH} units" if cell else "not measured"
    said = (f"{ratio_text(times)} times the sales of one lock, 64 buyers on one product. Left unsold in a rush of 9 orders"
            f" for {UNITS_IN_RUSH} units, in the mean: {left}")
    if times is None:
        return said, NOT_MEASURED
    return said, TRUE if times[1] >= SEGMENTS else FALSE if times[2] < SEGMENTS else NOT_TOLD_APART


def redlock_survives(readings):
    names = [name for name in ("redlock-in-turn", "redlock-parallel", "node-redlock")
             if readings.cell(name, "two-servers-down")]
    if not names:
        return "-", NOT_MEASURED
    down = {name: readings.count(name, ("two-servers-down",)) for name in names}
    forgot = [readings.count(name, ("majority-forgets",), of="overselling") for name in names]
    said = "; ".join(f"{readings.mechanisms[name]['title']}: nobody sold in {rounds_text(count)}" for name, count in down.items())
    forgot = [count for count in forgot if count]
    if forgot:
        said += (". When they come back and a third one has forgotten its keys, a unit is sold twice in"
                 f" {rounds_text(tuple(map(sum, zip(*forgot))))}")
    return said, FALSE if any(harmed for harmed, _ in down.values()) else TRUE


def odd_number(readings):
    """False if six servers harm nobody more than five do, without a fault and with two servers down."""
    def harm(name):
        return readings.count(name, ("rush", "two-servers-down"))
    pairs = [(five, six) for five, six in (("redlock-in-turn", "redlock-six-in-turn"),
                                           ("redlock-parallel", "redlock-six-parallel")) if harm(five) and harm(six)]
    if not pairs:
        return "-", NOT_MEASURED
    said = "; ".join(f"{readings.mechanisms[name]['title']}: {rounds_text(harm(name))}, and {ratio_text(readings.ratio(name))}"
                     " times zklock's sales" for pair in pairs for name in pair)
    worse = any(harm(six)[0] * harm(five)[1] > harm(five)[0] * harm(six)[1] for five, six in pairs)
    return f"harm in a rush, and with two servers down: {said}", TRUE if worse else FALSE


def zookeeper_is_simplest(readings):
    """Complete: no harm in any of COMPLETE, with its fence if it has one. Simple: few lines, then few servers."""
    complete = [one for one in readings.can() if readings.is_complete(one["name"])]
    if not complete:
        return "-", NOT_MEASURED
    kinds = {}
    for one in sorted(complete, key=lambda one: (one["lines"], SERVER_COUNTS.get(one["servers"], 0))):
        kinds.setdefault(kind_of(one), one)
    said = "; ".join(f"{one['title']}: {one['lines']} lines, {one['branches']} branches,"
                     f" {SERVER_COUNTS.get(one['servers'], 0)} servers" for one in kinds.values())
    simplest = next(iter(kinds))
    return (f"of each kind the shortest without harm in {', '.join(COMPLETE)} (with its fence, if it has one): {said}",
            TRUE if simplest in ("ZooKeeper", "zklock") else FALSE)


def two_to_three_p99(readings):
    experiments = {f"timeout-{factor}": words for factor, words in (
        ("half-p99", "0.5"), ("p99", "1"), ("2-p99", "2"), ("3-p99", "3"), ("100-p99", "100"))}
    names = [one["name"] for one in readings.can() if kind_of(one) in ("Redis", "Redlock")]
    found = {}
    for experiment in experiments:
        counts = [count for count in (readings.count(name, (experiment,)) for name in names) if count]
        if counts:
            found[experiment] = tuple(map(sum, zip(*counts)))
    advised = [found[one] for one in ("timeout-2-p99", "timeout-3-p99") if one in found]
    if not advised:
        return "-", NOT_MEASURED
    said = "; ".join(f"{experiments[one]} times: {rounds_text(count)}" for one, count in found.items())
    stopped = readings.count("redis-random-value", ("holder-stopped",))
    return (f"harm under locks of Redis, by time-out: {said}. A holder that is stopped outlasts each of them:"
            f" {rounds_text(stopped)}"), FALSE if any(harmed for harmed, _ in advised) else TRUE


# ---- The stars ------------------------------------------------------------------------------------------------------

def stars(readings):
    """(kind, what articles give, the lock measured, its ratio, units sold twice without a fence, and with)."""
    for kind, name in (*TO_TAKE.items(), ("Redis", "redis-counter")):
        given = "speed {}, reliability {}".format(*STARS[kind]) if kind in STARS else "none"
        if name not in readings.mechanisms:
            continue
        fenced = rounds_text(readings.oversold(name, True)) if readings.mechanisms[name]["token"] else "has none"
        yield (kind, given, readings.mechanisms[name]["title"], ratio_text(readings.ratio(name)),
               rounds_text(readings.oversold(name)), fenced)
