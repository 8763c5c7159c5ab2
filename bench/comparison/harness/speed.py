"""How fast a sale goes under each lock, as ratios to zklock's: in slices that take turns, as bench/run does."""
import contextlib
import fcntl
import glob
import subprocess
import time

from .round import Round
from .servers import CannotServe, cpu_s

# The harness of bench/run has the ratios, and the bounds of their medians.
from harness import ratios

BASE = "zklock"
SLICE_S = 1
# Before that: connections are made, caches are filled, and a virtual machine compiles what it runs often.
WARM_UP_S, WARM_UP_OF_JAVA_S = 0.5, 6
# In the mean, where a sale is tried again.
RETRY_MS = 5
# So many virtual machines of Java would be what is measured.
MOST_OF_JAVA = 8
STOCK = 1_000_000
# For a buyer that is to end.
PATIENCE_S = 25
# What a buyer says in a slice has room in its pipe: as much as the kernel gives anybody, for one, and for all.
PIPE_BYTES, PIPES_BYTES = 1 << 20, 32 << 20
# Buyers, and products: on one hot product and on many.
WORKS = [f"{buyers}x{products}" for products in (1, 100) for buyers in (1, 8, 64)]


def slice_of(bench, mechanism, work):
    """One slice: as many orders as there is time for."""
    buyers, products = map(int, work.removesuffix("-disk").split("x"))
    is_java = mechanism.command.startswith("java ")
    if mechanism.servers == "redis-promoted":
        raise CannotServe("its buyers reach it by a proxy of the harness")
    if is_java and buyers > MOST_OF_JAVA:
        raise CannotServe(f"{buyers} virtual machines of Java would be what is measured")
    with servers_for(bench, mechanism) as lock, Round(bench, mechanism, STOCK) as all_of:
        database, product = all_of.sale.database, all_of.sale.product
        if products > 1:
            rows = ", ".join(f"('{product}-{number}', {STOCK}, 0)" for number in range(products))
            database.run(f"INSERT INTO stock (product, units, fence) VALUES {rows}")
        crowd = [all_of.buyer(orders=STOCK, products=products, timeout_ms=30000, wait_ms=20000,
                              pause_ms=RETRY_MS, random_pauses=1) for _ in range(buyers)]
        with unheard(crowd):
            for one in crowd:
                one.begin()
            time.sleep(WARM_UP_OF_JAVA_S if is_java else WARM_UP_S)
            began_us, before = clock_us(), used_by(bench.database(mechanism), lock, crowd)
            time.sleep(SLICE_S)
            ended_us, after = clock_us(), used_by(bench.database(mechanism), lock, crowd)
        for one in crowd:
            one.process.terminate()
        for one in crowd:
            ends(one)
        found = measured(crowd, began_us, ended_us, {name: None if value is None else after[name] - value
                                                     for name, value in before.items()})
        # Who waits for another product is not overtaken.
        return found if products == 1 else {**found, "overtaking": None}


@contextlib.contextmanager
def servers_for(bench, mechanism):
    """etcd has new ones for each slice: its lock service answers nobody who has to wait any more once a crowd of those
    who waited has left (etcd issue 13336; seen with 63 of them, on the server that they had asked)."""
    servers = bench.servers(mechanism)
    try:
        yield servers
    finally:
        if mechanism.servers == "etcd":
            bench.running.pop(mechanism.servers).end()


def ends(buyer):
    """Returns when it has ended, and all that it has said is read."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        buyer.process.wait(PATIENCE_S)
    buyer.reader.join(PATIENCE_S)


@contextlib.contextmanager
def unheard(crowd):
    """Reads what they say afterwards: 64 of them keep a processor of a small machine busy with that."""
    with contextlib.ExitStack() as all_of:
        for one in crowd:
            fcntl.fcntl(one.process.stdout, fcntl.F_SETPIPE_SZ, min(PIPE_BYTES, PIPES_BYTES // len(crowd)))
            all_of.enter_context(one.changed)
        yield


def clock_us():
    """That of the buyers."""
    return time.monotonic_ns() // 1000


def used_by(database, lock, crowd):
    """What the servers and the buyers have used so far."""
    return {"database_cpu_ms": cpu_s(database.pids()) * 1000,
            "lock_cpu_ms": cpu_s(lock.pids()) * 1000 if lock else 0,
            "lock_requests": lock.requests() if lock else 0,
            "wakeups": sum(wakeups(one.process.pid) for one in crowd)}


def wakeups(pid):
    """How often a thread of this process, or of what it has started, has waited for something, and has been woken."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/"):
        try:
            with open(f"{path}status", encoding="utf-8", errors="replace") as file:
                total += next(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches:"))
            with open(f"{path}children", encoding="ascii") as file:
                total += sum(map(wakeups, file.read().split()))
        except OSError:
            pass  # a thread that has just ended
    return total


def measured(crowd, began_us, ended_us, used):
    """What was granted and sold between the two; what was used is for each sale."""
    grants = [grant for one in crowd for grant in between(grants_of(one), began_us, ended_us)]
    waits = [granted - asked for asked, granted in grants if granted is not None]
    longest = max((granted or ended_us) - asked for asked, granted in grants) / 1000 if grants else None
    sold = sum(word == "sold" and began_us < at_us < ended_us for one in crowd for at_us, word, _ in one.steps)
    return {"sales_per_s": sold / (ended_us - began_us) * 1e6,
            "wait_p50_ms": percentile(waits, 50), "wait_p99_ms": percentile(waits, 99),
            "longest_wait_ms": longest, "overtaking": overtaking(grants),
            **{name: value / sold if sold and value is not None else None for name, value in used.items()}}


def between(grants, began_us, ended_us):
    """Of those that waited in this time; who was granted later still waits."""
    for asked, granted in grants:
        if asked < ended_us and (granted is None or granted > began_us):
            yield asked, None if granted is None or granted > ended_us else granted


def grants_of(buyer):
    """(asked, granted) in microseconds; granted is None for who is never granted."""
    asked = None
    for at_us, word, _ in buyer.steps:
        if word == "asks":
            asked = at_us
        elif word == "granted" and asked is not None:
            yield asked, at_us
            asked = None
    if asked is not None:
        yield asked, None


def overtaking(grants):
    """The part of the grants that went to somebody while another one waited who had asked before."""
    latest, overtakers, count = 0, 0, 0
    for _, granted in sorted(grants, key=lambda grant: grant[0]):
        if granted is None:
            latest = float("inf")
            continue
        count += 1
        overtakers += granted < latest
        latest = max(latest, granted)
    return overtakers / count if count else None


def percentile(samples, percent):
    found = ratios.percentile(samples, percent)
    return None if found is None else found / 1000


FIGURES = ("sales_per_s", "wait_p50_ms", "wait_p99_ms", "longest_wait_ms", "overtaking", "database_cpu_ms",
           "lock_cpu_ms", "lock_requests", "wakeups")


def summary(found, names):
    """By work and mechanism: the median of each figure, and the ratio of sales to zklock's in the same turn, with the
    bounds of its median."""
    slices = {}
    for one in found:
        if "figures" in one:
            slices.setdefault(one["speed"], {}).setdefault(one["mechanism"], {})[one["turn"]] = one["figures"]
    return {work: {name: of_mechanism(by_name[name], by_name.get(BASE, {})) for name in names if name in by_name}
            for work, by_name in slices.items()}


def of_mechanism(own, base):
    said = {}
    for figure in FIGURES:
        values = [one[figure] for one in own.values() if one[figure] is not None]
        said[figure] = ratios.median(values) if values else None
    pairs = [(own[turn]["sales_per_s"], base[turn]["sales_per_s"]) for turn in own if turn in base]
    values = [mine / theirs for mine, theirs in pairs if theirs]
    said["ratio"] = [ratios.median(values), *ratios.bounds(values)] if values else None
    said["slices"] = len(values)
    return said
