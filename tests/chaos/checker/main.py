"""Judges a run: tests/chaos/checker/check --help."""
import argparse
import gc
import itertools
import json
import pathlib
import re
import subprocess
import sys

from . import bounds, history, rules, transactions  # noqa: F401  (rules register themselves)
from .judge import RULES, Judge
from .world import World

QUORUM = 2  # of three that vote
LINE, TRANSACTION, RESTORE, END = range(4)
LINES_PER_COLLECTION = 250000
UNTIL = re.compile(r"until-restore-(\d+)")
READER = pathlib.Path(__file__).resolve().parent / "read-servers"
USAGE = """Judges what a run of tests/chaos has left in DIRECTORY (tests/chaos/history.md):

  *.jsonl, histories/*.jsonl   what contenders, nemesis and store have written; nemesis.jsonl has the pairs of clocks
  servers/N*.jsonl             the transactions of server N, as checker/read-servers prints them
  server-N/**/version-2*       or its data, which are read first

A run that was killed is judged until its nemesis's last line, or its servers' last transaction.

It prints each violation, and ends with 0 when there is none, 1 when there are some, 2 when there is none in what it
could judge, and it says what it could not."""


def of_nemesis(paths, event):
    return [line for path in paths if path.name.startswith("nemesis") for line in history.lines_of(path)
            if line["event"] == event]


def clock_of(paths):
    return transactions.Clock((line["at"], line["real_ns"]) for line in of_nemesis(paths, "clock"))


def restores_of(paths):
    return [line["at"] for line in of_nemesis(paths, "restored")]


def has_ended(paths):
    return any(line["what"] == "empty" for line in of_nemesis(paths, "rest"))


def by_generation(files, restores):
    """What the servers had until the first restore, until the second, and so on. A run that was killed may have kept more
    than its nemesis has told of."""
    generations = [[] for _ in range(restores + 1)]
    for server, path in files:
        until = UNTIL.search(path.name)
        number = int(until.group(1)) - 1 if until else restores
        if number <= restores:
            generations[number].append((server, path))
    return generations


def until_last_line(servers, paths):
    """What they did before the last line of the nemesis. A run that was killed has kept all else up to that."""
    last = max((line["at"] for path in paths if path.name.startswith("nemesis") for line in history.lines_of(path)), default=0)
    return itertools.takewhile(lambda one: one[0] <= last, servers)


def in_one_order(lines, servers):
    """(time, kind, what): a transaction comes before what may rest on it. servers: see of_generations."""
    lines = iter(lines)
    line = next(lines, None)
    for one in servers:
        until = one[0] - bounds.BEHIND
        while line is not None and line["at"] < until:
            yield line["at"], LINE, line
            line = next(lines, None)
        yield one
    while line is not None:
        yield line["at"], LINE, line
        line = next(lines, None)


def last_of_backup(transactions_of_generation, since):
    """The zxid of the last that was there when the servers started with it."""
    before = itertools.takewhile(lambda one: one[0] < since, transactions_of_generation)
    return max((transaction["zxid"] for _, transaction in before), default=0)


def replayed(read, stretches):
    """stretches: of ((generation, after which zxid), the last one)."""
    for (generation, after), last in stretches:
        for one in itertools.takewhile(lambda one, last=last: one[1]["zxid"] <= last, read(generation)):
            if after < one[1]["zxid"]:
                yield one


def of_generations(read, restored):
    """(time, kind, what) of the servers. read(N) gives the transactions that they had from the Nth restore to the next,
    with their times. At a restore the way to its backup is gone again. It leads through earlier generations, as a
    backup need not have every transaction in its log."""
    yield from ((at, TRANSACTION, transaction) for at, transaction in read(0))
    way = [(0, 0)]  # (generation, after which zxid)
    for number, since in enumerate(restored, 1):
        last = last_of_backup(read(number), since)
        way = [(earlier, after) for earlier, after in way if after < last]
        ends = [after for _, after in way[1:]] + [last]
        stretches = list(zip(way, ends))
        goes_on = number - 1 in dict(way)  # what was replayed at the restore before need not be again
        yield since, RESTORE, (goes_on, replayed(read, stretches[-1:] if goes_on else stretches))
        way.append((number, last))
        yield from ((at, TRANSACTION, transaction) for at, transaction in read(number) if transaction["zxid"] > last)


def with_end(servers):
    """The same, and then when the last was."""
    at = 0
    for one in servers:
        at = one[0]
        yield one
    yield at, END, None


def judge(lines, servers, chosen=None, has_ended=True):
    """Returns the judge, who has seen all. Both are in the order of time; servers as of_generations yields them. Of a
    run that has not ended nobody knows what the servers did later: it is judged until then."""
    judged = Judge(RULES.values() if chosen is None else chosen)
    judged.world = World(judged.tell)
    is_whole = False
    gc.disable()
    try:
        is_whole = follow(judged, in_one_order(lines, with_end(servers)), has_ended)
    except transactions.ServersDisagree as error:
        judged.note("servers_disagree", str(error))
        judged.leave_out("what followed, as the servers disagree")
    except history.Malformed as error:
        judged.leave_out(f"what followed a line that is not as history.md has it: {error}")
    finally:
        gc.enable()
    for fault in judged.world.nemesis.active.values():
        judged.leave_out(f"what is due in time after fault {fault.number}, {fault.kind}, which was never healed")
    if is_whole:
        judged.world.finish()
    return judged


def follow(judged, stream, has_ended):
    """Returns whether it came to the end."""
    world = judged.world
    for number, (at, kind, what) in enumerate(stream):
        if kind == LINE:
            world.on_line(what)
        elif kind == TRANSACTION:
            world.on_transaction(at, what)
        elif kind == RESTORE:
            world.on_restore(at, *what)
        elif not has_ended:
            judged.leave_out(f"the run's end, which no line tells, and all after {at / bounds.S:.3f} s, where the"
                             " servers' transactions end")
            return False
        # Holds, calls and nodes name each other. Python would look for such circles for a quarter of the time.
        if number % LINES_PER_COLLECTION == 0:
            gc.collect()
    return True


def report(judged):
    world = judged.world
    for fault in world.nemesis.active.values():
        world.nemesis.count(fault)
    return {"grants": world.grants, "faults": world.nemesis.counts, "violations": dict(judged.found),
            "not_judged": judged.not_judged,
            "examples": [{"rule": one.rule, "at": one.at, "text": one.text} for one in judged.examples]}


def read_servers(directory):
    """Prints what is in the servers' data, once. (server, path) of each, and what could not be read."""
    place, asked = directory / "servers", {}
    place.mkdir(exist_ok=True)
    for data in sorted(directory.glob("server-*/**/version-2*")):
        number = data.relative_to(directory).parts[0].removeprefix("server-")
        path = place / f"{number}-{'-'.join(data.relative_to(directory).parts[1:])}.jsonl"
        if not path.exists():
            asked[data] = path
    if asked:
        subprocess.run([READER, *itertools.chain(*asked.items())], check=False)
    return [(path.name.split("-")[0].split(".")[0], path) for path in sorted(place.glob("*.jsonl"))], \
        [f"what {data} has, which cannot be read" for data, path in asked.items() if not path.exists()]


def judge_directory(directory, quorum=QUORUM):
    paths = sorted([*directory.glob("*.jsonl"), *directory.glob("histories/*.jsonl")])
    clock, restored = clock_of(paths), restores_of(paths)
    files, unread = read_servers(directory)
    if not files:
        raise ValueError(f"{directory} has no transactions of servers: nothing can be judged")
    generations = by_generation(files, len(restored))
    servers = of_generations(lambda number: transactions.read(generations[number], quorum, clock), restored)
    is_whole = has_ended(paths)
    judged = judge(history.merged(paths), servers if is_whole else until_last_line(servers, paths), has_ended=is_whole)
    for one in unread:
        judged.leave_out(one)
    return judged


class ShowRules(argparse.Action):
    def __call__(self, parser, *_):
        for one in RULES.values():
            print(f"{one.name}: {one.sentence}")
        parser.exit()


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="check", description=USAGE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--rules", action=ShowRules, nargs=0, help="print all rules, each with the sentence of the"
                                                                   " documentation that it judges")
    parser.add_argument("--quorum", type=int, default=QUORUM, help="how many servers make a transaction committed"
                        " that have written it down (default: 2, of three that vote)")
    parser.add_argument("--patience", type=float, default=1, metavar="FACTOR",
                        help="for a machine that has too much to do: bounds.py's, so many times as long")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the report there")
    asked = parser.parse_args(arguments)
    bounds.be_patient(asked.patience)
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
    for one in judged.not_judged:
        print(f"check: not judged: {one}", file=sys.stderr)
    return 1 if judged.found else 2 if judged.not_judged else 0
