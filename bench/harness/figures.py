"""The figures that zklock is to reach, and whether it did in this run."""
from . import ratios

REACHED, NOT_REACHED, UNDECIDED, NOT_MEASURED = "reached", "**not reached**", "undecided", "not measured"


def row(what, measured, target, reached):
    verdict = NOT_MEASURED if reached is None else REACHED if reached else NOT_REACHED
    return {"figure": what, "measured": measured, "target": target, "verdict": verdict}


def undecided(figure, ratio, limit):
    """The limit is between the bounds: only more or quieter slices can tell."""
    if ratio.known and ratio.low < limit < ratio.high:
        figure["verdict"] = UNDECIDED
    return figure


def at_most(what, ratio, limit):
    return undecided(row(what, str(ratio), f"≤ {limit}", ratio.high <= limit if ratio.known else None), ratio, limit)


def at_least(what, ratio, limit):
    return undecided(row(what, str(ratio), f"≥ {limit}", ratio.low >= limit if ratio.known else None), ratio, limit)


class Works:
    def __init__(self, works):
        self.by_name = {work["name"]: work for work in works}

    def ratio(self, name, metric, peer, base):
        work = self.by_name.get(name)
        return ratios.of(work, metric, peer, base) if work else ratios.Ratio([], [])

    def middle(self, name, metric, peer="zklock"):
        work = self.by_name.get(name)
        return ratios.middle_of(work, metric, peer) if work else None

    def with_prefix(self, prefix):
        return [work for name, work in self.by_name.items() if name.startswith(prefix)]


def uncontended(works):
    for name, where in (("pair", "loopback"), ("pair-delayed", "delayed")):
        yield at_most(f"uncontended pair ÷ raw, p50, {where}", works.ratio(name, "pair_p50_us", "zklock", "raw"), 1.1)
        yield at_most(f"uncontended pair ÷ raw, p90, {where}", works.ratio(name, "pair_p90_us", "zklock", "raw"), 1.2)
        yield at_most(f"uncontended pair ÷ Curator, p90, {where}",
                      works.ratio(name, "pair_p90_us", "zklock", "curator"), 0.8)


def blocked_try(works):
    reads, writes = works.middle("try", "reads"), works.middle("try", "writes")
    measured = "-" if reads is None else f"{reads:.2f} reads, {writes:.2f} writes"
    yield row("blocked try", measured, "1 read, 0 writes", None if reads is None else reads < 1.1 and writes < 0.01)


def hand_offs(works):
    for work in works.with_prefix("hand-off-"):
        where = f"{work['title']}{', delayed' if work['delay_ms'] else ''}"
        yield at_most(f"hand-off ÷ raw, p50, {where}",
                      works.ratio(work["name"], "hand_off_p50_us", "zklock", "raw"), 1.2)
    for name, limit in (("4-delayed", 1.5), ("16-delayed", 1.5), ("32", 1.15), ("128", 1.15)):
        title = name.replace("-", " sessions, ") if "-" in name else f"{name} sessions"
        yield at_least(f"hand-offs per second ÷ Curator, {title}",
                       works.ratio(f"hand-off-{name}", "rate", "zklock", "curator"), limit)


def requests(works):
    for work in works.with_prefix("opcodes-"):
        by_opcode = work["peers"].get("zklock", [{}])[-1].get("opcodes", {})
        total = sum(by_opcode.values())
        listed = ", ".join(f"{name} {number:.2f}" for name, number in sorted(by_opcode.items()))
        yield row(f"requests per contended acquisition, {work['words']['threads']} waiters",
                  f"{total:.2f}: {listed}", "≤ 5", total <= 5.05 if by_opcode else None)
        yield row(f"of these, lists, {work['words']['threads']} waiters", f"{by_opcode.get('list', 0):.2f}",
                  "≤ 1: none on the hand-off's path", by_opcode.get("list", 0) <= 1.05 if by_opcode else None)


def our_allocations(what, work):
    own = work["own_bytes"]
    return row(f"{what}: our allocations (lock_memory_test)", f"{own / 1e3:.2f} KB", "≤ 1.5 KB", own <= 1500)


def many(works):
    queued = works.by_name.get("queued")
    if queued and "zklock" in queued["peers"]:
        where = f"{queued['count']} handles of one client on one resource"
        yield at_most(f"{where} ÷ raw creates", works.ratio("queued", "seconds", "zklock", "raw"), 2)
        yield our_allocations(where, queued)
        unharmed = all(each["all_serve"] for each in queued["peers"]["zklock"])
        yield row(f"{where}: servers of 256 MB", "all serve" if unharmed else "not all serve", "unharmed", unharmed)
    held = works.by_name.get("held")
    if held:
        yield our_allocations("a held lock", held)


def inside(works):
    yield at_least("hand-offs inside one client, 8 threads, ÷ Curator",
                   works.ratio("cohort", "rate", "zklock", "curator"), 100)
    yield at_least("the same ÷ a queue of condition variables", works.ratio("cohort", "rate", "zklock", "fifo"), 0.3)
    yield at_most("a retained pair ÷ an uncontended pair of that queue, which is two of a mutex", works.ratio("retained", "pair_p50_us", "zklock", "fifo"), 20)
    asked = works.middle("retained", "requests")
    yield row("requests of a retained pair", "-" if asked is None else f"{asked:.4f}", "none (the first of a slice apart)",
              None if asked is None else asked < 0.01)


def cpu(works):
    for name in ("pair", "hand-off-8", "hand-off-128"):
        yield at_most(f"client's CPU per acquisition ÷ raw, {name}", works.ratio(name, "cpu_us", "zklock", "raw"), 1.3)


def evaluate(results):
    works = Works(results)
    return [each for group in (uncontended, blocked_try, hand_offs, requests, many, inside, cpu) for each in group(works)]
