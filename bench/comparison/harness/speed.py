"""How fast a sale goes under each lock, as ratios to zklock's: in slices that take turns, as bench/run does."""
import time

from .round import Round, settles
from .servers import cpu_s

# The harness of bench/run has the ratios, and the bounds of their medians.
from harness import ratios

BASE = "zklock"
SLICE_S = 2
STOCK = 1_000_000
# Buyers, and products: on one hot product and on many.
WORKS = [f"{buyers}x{products}" for products in (1, 100) for buyers in (1, 8, 64)]


def slice_of(bench, mechanism, work):
    """One slice: as many orders as there is time for."""
    buyers, products = map(int, work.removesuffix("-disk").split("x"))
    with Round(bench, mechanism, STOCK) as all_of:
        database, product = all_of.sale.database, all_of.sale.product
        if products > 1:
            rows = ", ".join(f"('{product}-{number}', {STOCK}, 0)" for number in range(products))
            database.run(f"INSERT INTO stock (product, units, fence) VALUES {rows};")
        crowd = [all_of.buyer(orders=STOCK, products=products, timeout_ms=30000, wait_ms=20000) for _ in range(buyers)]
        before = used_by(bench, mechanism)
        for one in crowd:
            one.begin()
        time.sleep(SLICE_S)
        for one in crowd:
            one.process.terminate()
        for one in crowd:
            settles(one, 25)
        return {**measured(crowd), **used_for(crowd, before, used_by(bench, mechanism))}


def used_by(bench, mechanism):
    """What the servers have used so far."""
    lock = bench.servers(mechanism)
    return {"database_cpu_ms": cpu_s(bench.database(mechanism).pids()) * 1000,
            "lock_cpu_ms": cpu_s(lock.pids()) * 1000 if lock else 0,
            "lock_requests": lock.requests() if lock else 0}


def used_for(crowd, before, after):
    """For each sale."""
    sold = sum(one.count("sold") for one in crowd)
    return {name: (after[name] - before[name]) / sold if sold and before[name] is not None else None for name in before}


def measured(crowd):
    grants = [grant for one in crowd for grant in grants_of(one)]
    waits = [granted - asked for asked, granted in grants if granted is not None]
    sold = sum(one.count("sold") for one in crowd)
    return {"sales_per_s": sold / SLICE_S, "wait_p50_ms": percentile(waits, 50), "wait_p99_ms": percentile(waits, 99),
            "longest_wait_ms": max(waits) / 1000 if waits else None, "overtaking": overtaking(grants)}


def grants_of(buyer):
    """(asked, granted) in microseconds; granted is None for who still waited in the end."""
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


FIGURES = ("sales_per_s", "wait_p50_ms", "wait_p99_ms", "longest_wait_ms", "overtaking", "database_cpu_ms", "lock_cpu_ms",
           "lock_requests")


def summary(found, names):
    """By work and mechanism: the median of each figure, and the ratio of sales to zklock's, slice by slice, with the
    bounds of its median."""
    slices = {}
    for one in found:
        if "figures" in one:
            slices.setdefault(one["speed"], {}).setdefault(one["mechanism"], {})[one["slice"]] = one["figures"]
    return {work: {name: of_mechanism(by_name[name], by_name.get(BASE, {})) for name in names if name in by_name}
            for work, by_name in slices.items()}


def of_mechanism(own, base):
    said = {}
    for figure in FIGURES:
        values = [one[figure] for one in own.values() if one[figure] is not None]
        said[figure] = ratios.median(values) if values else None
    pairs = [(own[number]["sales_per_s"], base[number]["sales_per_s"]) for number in own if number in base]
    values = [mine / theirs for mine, theirs in pairs if theirs]
    said["ratio"] = [ratios.median(values), *ratios.bounds(values)] if values else None
    said["slices"] = len(own)
    return said
