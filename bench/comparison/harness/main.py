"""Runs the rounds that are asked for, and writes what they say."""
import argparse
import json
import os
import re
import sys
import tempfile
import time

from . import page, rounds, speed, verdicts
from .bench import Bench, tables
from .experiments import EXPERIMENTS
from .mechanism import HARMFUL

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
# Of a cell that theory calls wrong, or that is ours; and of the others.
MANY, SOME = 50, 20
# With --quick one of each; where theory says that there is harm, so many more until it shows.
QUICK, QUICK_MOST = 1, 10
# Of each work and mechanism; with --quick one.
SLICES = 10


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--experiment", default="")
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
        return MANY if mechanism.ours or mechanism.expects(experiment, fence) == HARMFUL else SOME
    return wanted


def run_rounds(bench, asked, all_cells, kept, until_s):
    """Whether all were run before `until_s`."""
    whole = rounds.run(bench, rounds.due(all_cells, wanted_by(asked), kept), kept, say, until_s)
    while asked.quick and whole:
        weak = [cell for cell in all_cells if cell[0].expects(*cell[1:]) == HARMFUL and not kept.shows_harm(cell)
                and 0 < kept.count(cell) < QUICK_MOST]
        if not weak:
            break
        whole = rounds.run(bench, weak, kept, say, until_s)
    return whole


def say(found, done, total, passed_s):
    outcome = found.get("outcome")
    if outcome is None:
        words = found.get("failed") or found.get("not_seen")
    else:
        words = "harm" if outcome["harm"] else "no harm"
    left_s = passed_s / done * (total - done)
    print(f"{done}/{total}, {left_s / 60:.0f} min left: {found['mechanism']}, {found['experiment']}"
          f"{' (fence)' if found['fence'] else ''}: {words}", flush=True)


def say_slice(found):
    figures = found.get("figures")
    words = f"{figures['sales_per_s']:.0f} sales per second" if figures else found["failed"]
    print(f"slice {found['slice'] + 1}, buyers x products {found['speed']}: {found['mechanism']}: {words}", flush=True)


def main():
    asked = arguments()
    families = list(tables())
    all_cells = list(rounds.cells(families, asked.only, asked.experiment))
    if not all_cells:
        print(f"bench/compare: no mechanism is called '{asked.only}', or no experiment '{asked.experiment}'"
              f" ({', '.join(EXPERIMENTS)})", file=sys.stderr)
        return 2
    kept = rounds.Kept(os.path.join(asked.output, "rounds.jsonl"), rounds.Tree(TOP, families))
    print(f"{len(all_cells)} cells; {len(kept.rounds)} rounds are there from an earlier run", flush=True)
    with tempfile.TemporaryDirectory(prefix="compare-") as place:
        os.chmod(place, 0o755)
        bench = Bench(place, asked.build)
        try:
            until_s = time.monotonic() + asked.minutes * 60
            whole = run_rounds(bench, asked, all_cells, kept, until_s)
            if whole and not asked.experiment:
                mechanisms = [one for _, _, all_of in families for one in all_of
                              if not one.cannot and (re.search(asked.only, one.name) or one.name == speed.BASE)]
                whole = rounds.run_slices(bench, mechanisms, speed.QUICK if asked.quick else speed.WORKS,
                                          1 if asked.quick else SLICES, kept, say_slice, until_s)
        finally:
            bench.end()
    return conclude(asked, families, kept, whole)


def conclude(asked, families, kept, whole):
    found = verdicts.gather(kept.of("experiment"))
    names = [one.name for _, _, mechanisms in families for one in mechanisms]
    results = {"families": page.results_of(families, found), "speed": speed.summary(kept.of("speed"), names)}
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
