"""Judges a run: tests/chaos/checker/check --help."""
import argparse
import heapq
import json
import pathlib
import sys

from . import bounds, history, rules, transactions  # noqa: F401  (rules register themselves)
from .judge import RULES, Judge
from .world import World

USAGE = """Judges what a run of tests/chaos has left in DIRECTORY (tests/chaos/history.md):

  histories/*.jsonl   what contenders, nemesis and store have written; nemesis.jsonl has the pairs of clocks
  servers/N*.jsonl    the transactions of server N, as checker/read-servers prints them

It prints each violation, and ends with 0 when there is none, 1 when there are some, 2 when it could not judge."""


def clock_of(paths):
    return transactions.Clock((line["at"], line["real_ns"]) for path in paths if path.name.startswith("nemesis")
                              for line in history.lines_of(path) if line["event"] == "clock")


def in_one_order(lines, committed):
    """(time, transaction or None, line): a transaction comes before what may rest on it."""
    servers = ((at, 0, transaction, None) for at, transaction in committed)
    contenders = ((line["at"] + bounds.BEHIND, 1, None, line) for line in lines)
    return heapq.merge(servers, contenders, key=lambda one: one[:2])


def judge(lines, committed, chosen=None):
    """Returns the judge, who has seen all. lines and committed: iterables in the order of time."""
    judged = Judge(RULES.values() if chosen is None else chosen)
    world = judged.world = World(judged.tell)
    try:
        for at, _, transaction, line in in_one_order(lines, committed):
            if line is None:
                world.on_transaction(at, transaction)
            else:
                world.on_line(line)
    except transactions.ServersDisagree as error:
        judged.note("servers_disagree", str(error))
    world.finish()
    return judged


def report(judged):
    world = judged.world
    for fault in world.nemesis.active.values():
        world.nemesis.count(fault)
    return {"grants": world.grants, "faults": world.nemesis.counts, "violations": dict(judged.found),
            "examples": [{"rule": one.rule, "at": one.at, "text": one.text} for one in judged.examples]}


def files_of_servers(directory):
    return [(path.name.split("-")[0].split(".")[0], path) for path in sorted(directory.glob("*.jsonl"))]


def judge_directory(directory, quorum):
    paths = sorted((directory / "histories").glob("*.jsonl"))
    servers = files_of_servers(directory / "servers")
    quorum = quorum or len({server for server, _ in servers}) // 2 + 1
    return judge(history.merged(paths), transactions.read(servers, quorum, clock_of(paths)))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="check", description=USAGE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--quorum", type=int, help="how many servers must have written a transaction down (default:"
                                                   " more than half of those that are there)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the report there")
    asked = parser.parse_args(arguments)
    try:
        judged = judge_directory(asked.directory, asked.quorum)
    except (OSError, ValueError, history.Malformed) as error:
        print(f"check: {error}", file=sys.stderr)
        return 2
    if asked.json:
        asked.json.write_text(json.dumps(report(judged), indent=1) + "\n", encoding="utf-8")
    for one in judged.examples:
        print(one)
    print(f"check: {judged.world.grants} grants, {sum(judged.found.values())} violations"
          + "".join(f", {count} of {name}" for name, count in sorted(judged.found.items())))
    return 1 if judged.found else 0
