"""Of a run's directory, what docs/reliability.md is made of: its result, what its nemesis wrote, its samples and logs."""
import collections
import datetime
import glob
import json
import os
import re

from checker import plants, rules  # noqa: F401  (rules register themselves)
from checker.history import lines_of
from checker.judge import RULES
from fleet.growth import samples_of
from world.servers import SESSION_MS, TICK_MS, TOP

NS = 10**9
VERSION = re.compile(r"zookeeper\.version=([\d.]+)")


def settings():
    """Of ensemble/server, whose limits are in ticks."""
    with open(f"{TOP}/ensemble/server", encoding="utf-8") as file:
        ticks = {name: int(number) for name, number in re.findall(r"^(initLimit|syncLimit)=(\d+)$", file.read(), re.M)}
    return {"session_ms": SESSION_MS, "tick_ms": TICK_MS, "join_ms": ticks["initLimit"] * TICK_MS,
            "silence_ms": ticks["syncLimit"] * TICK_MS}


def times_of(nemesis):
    """By kind: how long its faults lasted at most, from the beginning to the end; and by what they were proven."""
    begun, kinds = {}, {}
    found = collections.defaultdict(lambda: {"lasts_ms": 0, "proofs": set()})
    for line in nemesis:
        if line["event"] != "fault":
            continue
        number, what = line["fault"], line["what"]
        if what == "begin":
            begun[number], kinds[number] = line["at"], line["kind"]
        elif what == "proven":
            found[kinds[number]]["proofs"].update(line.get("proof", ()))
        elif what == "end" and number in begun:
            one = found[kinds[number]]
            one["lasts_ms"] = max(one["lasts_ms"], (line["at"] - begun[number]) // 10**6)
    return {kind: {"lasts_ms": one["lasts_ms"], "proofs": sorted(one["proofs"])} for kind, one in found.items()}


def zookeeper_version(directory):
    for path in sorted(glob.glob(f"{directory}/server-*/log")):
        with open(path, encoding="utf-8", errors="replace") as file:
            found = VERSION.search(file.read())
        if found:
            return found[1]
    return "not known"


def published(directory):
    """(results, samples): the former is what is kept, as JSON."""
    with open(f"{directory}/result.json", encoding="utf-8") as file:
        result = json.load(file)
    nemesis = list(lines_of(f"{directory}/histories/nemesis.jsonl"))
    times = times_of(nemesis)
    path = f"{directory}/samples.lines"  # tests/chaos/main.py
    samples = samples_of(path) if os.path.exists(path) else []
    facts = ("seed", "commit", "machine", "seconds", "grants", "not_counted", "wrong", "violations")
    return {**{name: result[name] for name in facts},
            "faults": {kind: {**facts_of_kind, **times.get(kind, {"lasts_ms": 0, "proofs": []})}
                       for kind, facts_of_kind in sorted(result["faults"].items())},
            "date": next(day_of(line["real_ns"]) for line in nemesis if line["event"] == "clock"),
            "zookeeper": zookeeper_version(directory), "settings": settings(),
            "revived": len(result.get("revived", ())), "plants": len(plants.PLANTS),
            "rules": {one.name: one.sentence for one in RULES.values()},
            "samples": len({one["at"] for one in samples if one["at_rest"]}), "growth": result.get("growth", [])}, samples


def day_of(real_ns):
    return datetime.datetime.fromtimestamp(real_ns / NS, datetime.timezone.utc).date().isoformat()
