"""Runs the rounds that are asked for, and writes what they say."""
import argparse
import contextlib
import json
import math
import os
import re
import signal
import sys
import tempfile
import time

from . import page, published, rounds, speed, verdicts, versions
from .bench import Bench, tables
from .experiments import EXPERIMENTS
from .mechanism import HARMFUL
from .readings import DURABLE, HOT, ROUNDS_OF_WRONG, ROUNDS_TO_TELL
from .servers import CannotServe

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
# With --quick one of each of which theory says something; where it says that there is harm, so many more until it shows.
QUICK, QUICK_MOST = 1, 10
# A run goes through all cells so often, each time with as much of the rounds, so that every part of it says something
# of everything; and, until it has so many, through a slice of each work.
PARTS = 25
SLICES = 6
# Where servers are to answer from memory, and from a disk.
IN_MEMORY, ON_DISK = "/dev/shm", "/var/tmp"


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--experiment", default="")
    parser.add_argument("--work", default="")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--output", required=True)
    return parser.parse_args()


def wanted_by(asked):
    def wanted(cell):
        mechanism, experiment, fence = cell
        if asked.rounds:
            return asked.rounds
        if asked.quick:
            return QUICK
        is_wrong = mechanism.ours or mechanism.expects(experiment, fence) == HARMFUL
        return ROUNDS_OF_WRONG if is_wrong else ROUNDS_TO_TELL
    return wanted


def lacking(wanted, there):
    """Whole, of those cells that are published with fewer: what is published of a cell is of one run."""
    return lambda cell: wanted(cell) if there.count(cell[0].name, *cell[1:]) < wanted(cell) else 0


def run_rounds(bench, asked, all_cells, kept, there, part, until_s):
    """Whether all of this part were run before `until_s`."""
    wanted = lacking(wanted_by(asked), there)
    whole = True
    before = -1
    # Again those that have not seen their fault, and no longer than there is one that can be run.
    while whole and before < kept.tries():
        before = kept.tries()
        todo = rounds.due(all_cells, lambda cell: math.ceil(wanted(cell) * part / PARTS), kept)
        whole = rounds.run(bench, todo, kept, say, until_s)
    while asked.quick and whole:
        weak = [cell for cell in all_cells if cell[0].expects(*cell[1:]) == HARMFUL and not kept.shows_harm(cell)
                and kept.cell(cell) and kept.count(cell) < QUICK_MOST]
        if not weak:
            break
        whole = rounds.run(bench, weak, kept, say, until_s)
    return whole


@contextlib.contextmanager
def benches(build, folder, durable=False):
    with tempfile.TemporaryDirectory(prefix="compare-", dir=folder) as place:
        os.chmod(place, 0o755)
        bench = Bench(place, build, durable)
        try:
            yield bench
        finally:
            bench.end()


def run_slices(bench, asked, families, kept, there, part, until_s):
    """Likewise. A run of one experiment has none."""
    if asked.experiment:
        return True
    slices = 1 if asked.quick else min(part, SLICES)
    can = [one for _, _, all_of in families for one in all_of if not one.cannot]
    asked_for = [one for one in can if re.search(asked.only, one.name) and there.least_slices(one.name) < SLICES]
    if not asked_for:
        return True
    mechanisms = [one for one in can if one in asked_for or one.name == speed.BASE]
    works = [HOT] if asked.quick else [work for work in (*speed.WORKS, DURABLE) if re.search(asked.work, work)]
    in_memory = [work for work in works if work != DURABLE]
    if not rounds.run_slices(bench, mechanisms, in_memory, slices, kept, say_slice, until_s):
        return False
    if DURABLE not in works or not rounds.slices_due(mechanisms, [DURABLE], slices, kept):
        return True
    if versions.storage_of(ON_DISK) != "disk":
        print(f"bench/compare: {ON_DISK} is in memory: no work has its commits on a disk", flush=True)
        return True
    with benches(asked.build, ON_DISK, durable=True) as on_disk:
        said = versions.settings(on_disk, mechanisms)
        wrong = [name for name, of_it in said.items() if not of_it.get("waits_for", "disk").startswith("disk")]
        if wrong:
            raise CannotServe(f"commits are to wait for a disk, and those of {', '.join(wrong)} do not")
        return rounds.run_slices(on_disk, mechanisms, [DURABLE], slices, kept, say_slice, until_s)


def run_all(bench, asked, families, all_cells, kept, there):
    """Whether there was time for all."""
    until_s = time.monotonic() + asked.minutes * 60
    for part in [PARTS] if asked.quick else range(1, PARTS + 1):
        if not (run_rounds(bench, asked, all_cells, kept, there, part, until_s)
                and run_slices(bench, asked, families, kept, there, part, until_s)):
            return False
    return True


def say(found, done, total, passed_s):
    outcome = found.get("outcome")
    if outcome is None:
        words = found.get("failed") or found.get("not_seen")
    else:
        words = "harm" if outcome["harm"] else "no harm"
    left_s = passed_s / done * (total - done)
    print(f"{done}/{total}, {left_s / 60:.0f} min left of this part: {found['mechanism']}, {found['experiment']}"
          f"{' (fence)' if found['fence'] else ''}: {words}", flush=True)


def say_slice(found):
    figures = found.get("figures")
    words = f"{figures['sales_per_s']:.0f} sales per second" if figures else found["failed"]
    print(f"slice {found['slice'] + 1}, buyers x products {found['speed']}: {found['mechanism']}: {words}", flush=True)


def main():
    asked = arguments()
    # So that the servers end, and what they have in memory goes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    families = list(tables())
    all_cells = list(rounds.cells(families, asked.only, asked.experiment))
    for one in (one for _, _, all_of in families for one in all_of if one.cannot and re.search(asked.only, one.name)):
        print(f"bench/compare: {one.name} cannot be had: {one.cannot}", flush=True)
    if not all_cells:
        print(f"bench/compare: no mechanism is called '{asked.only}', or no experiment '{asked.experiment}'"
              f" ({', '.join(EXPERIMENTS)})", file=sys.stderr)
        return 2
    if asked.quick:
        all_cells = [cell for cell in all_cells if cell[0].expects(*cell[1:]) is not None]
    tree = rounds.Tree(TOP, families)
    there = published.Published(published.results() if asked.missing else None, tree.of)
    kept = rounds.Kept(os.path.join(asked.output, "rounds.jsonl"), tree)
    print(f"{len(all_cells)} cells; {len(kept.rounds)} rounds are there from an earlier run", flush=True)
    with benches(asked.build, IN_MEMORY if os.path.isdir(IN_MEMORY) else None) as bench:
        whole = run_all(bench, asked, families, all_cells, kept, there)
        settings = versions.settings(bench, dict.fromkeys(cell[0] for cell in all_cells))
    return conclude(asked, families, kept, whole, settings)


def conclude(asked, families, kept, whole, settings):
    found = verdicts.gather(kept.of("experiment"))
    names = [one.name for _, _, mechanisms in families for one in mechanisms]
    results = page.rounded({"facts": versions.facts(asked.quick), "versions": versions.versions(settings),
                            "settings": settings, "experiments": page.experiments(),
                            "families": page.results_of(families, found), "trees": kept.tree.of_all(),
                            "speed": speed.summary(kept.of("speed"), names)})
    with open(os.path.join(asked.output, "results.json"), "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1, ensure_ascii=False)
        file.write("\n")
    with open(os.path.join(asked.output, "results.md"), "w", encoding="utf-8") as file:
        file.write(page.text_of(results))
    wrong = list(verdicts.contradictions(families, found))
    for line in wrong:
        print(f"against theory: {line}")
    if not whole:
        print("The time is over; the same command goes on from here.")
    return 1 if wrong or not whole else 0


if __name__ == "__main__":
    sys.exit(main())
