"""Runs the matrix: both directions of every cell, all steps of those that are sound, and what shows that steps can fail."""
import argparse
import collections
import concurrent.futures
import datetime
import functools
import itertools
import json
import logging
import sys
import time
import traceback
import uuid

from . import libraries, servers, steps, table
from .specials import specials
from .stage import Side, Stage
from .verdict import mismatches

# Contenders wait more than they work.
WORKERS = 5


class Run:
    """`extent` says of which cells all steps are run."""

    def __init__(self, extent):
        self.extent = extent
        self.client = servers.connect()
        self.root = f"/interop-{uuid.uuid4().hex[:8]}"
        self.numbers = itertools.count(1)

    def shows(self, cell):
        return self.extent == "all" or (self.extent == "core" and cell.is_core)

    def stage(self, sides):
        return Stage(self.client, f"{self.root}/{next(self.numbers)}", sides)

    @staticmethod
    def try_step(stage, step):
        begin = time.monotonic()
        try:
            found = {"passed": True, **step(stage)}
        except Exception as reason:  # pylint: disable=broad-except
            found = {"passed": False, "failed": f"{type(reason).__name__}: {reason}"[:600]}
            stage.reset()
        return {**found, "took_s": round(time.monotonic() - begin, 1)}

    def try_steps(self, sides, chosen):
        """All of them on one stage; a step that fails leaves none of its contenders to the next."""
        stage = self.stage(sides)
        try:
            return {name: self.try_step(stage, step) for name, step in chosen.items()}
        finally:
            stage.close()

    # ---- Cells ----

    def meet(self, row, way):
        """One direction of all cells of a peer, with the same contender of it; the first to hold has made the node."""
        stage = self.stage([])
        found = {}
        try:
            for cell in row:
                sides = sides_of(cell) if way == "they" else sides_of(cell)[::-1]
                step = functools.partial(steps.meet, holder=sides[0], other=sides[1])
                found[cell.name] = self.try_step(stage, step)
        finally:
            stage.close()
        return found

    def show(self, cell):
        """All steps; those that fail are repeated with the peer alone."""
        sides = sides_of(cell)
        found = self.try_steps(sides, steps.steps_of(sides, cell.shares()))
        failed = [name for name, measured in found.items() if not measured["passed"]]
        return {"steps": found, "alone": self.run_alone(cell, failed) if failed else {}}

    def run_alone(self, cell, names):
        """The peer in the place of ours as well."""
        sides = sides_of(cell, cell.library, cell.alone)
        chosen = steps.steps_of(sides, cell.shares())
        return self.try_steps(sides, {name: chosen[name] for name in names})

    # ---- Beside the cells ----

    def run_special(self, special):
        return {"name": special.name, "red": special.red, "steps": self.try_steps(special.sides, special.steps)}


def sides_of(cell, library="zklock", kind=None):
    return [Side("ours", library, kind or cell.ours), Side("theirs", cell.library, cell.kind)]


def work(function, *arguments):
    """A worker that fails must say where."""
    try:
        return function(*arguments)
    except Exception:
        traceback.print_exc()
        raise


def rows_of(chosen):
    return [list(row) for _, row in itertools.groupby(chosen, lambda cell: (cell.library, cell.kind))]


def run_all(run, chosen, beside):
    """The longest first, so that none is left alone at the end: a step that fails takes its time."""
    longest_first = sorted(chosen, key=lambda cell: "defects" not in cell.peer)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        shown = {cell.name: pool.submit(work, run.show, cell) for cell in longest_first
                 if cell.is_sound() and run.shows(cell)}
        specials_found = [pool.submit(work, run.run_special, one) for one in beside]
        met = {way: [pool.submit(work, run.meet, row, way) for row in rows_of(chosen)] for way in ("they", "we")}
        ways = {way: collections.ChainMap(*(one.result() for one in rows)) for way, rows in met.items()}
        cells = [{"ours": cell.ours, "library": cell.library, "kind": cell.kind, "they": ways["they"][cell.name],
                  "we": ways["we"][cell.name], **(shown[cell.name].result() if cell.name in shown else {})}
                 for cell in chosen]
        return {"cells": cells, "specials": [one.result() for one in specials_found]}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--core", action="store_true")
    parser.add_argument("--closed", action="store_true")
    parser.add_argument("--output", required=True)
    return parser.parse_args()


def main():
    asked = arguments()
    logging.disable(logging.CRITICAL)  # of connections that the harness itself ends
    begin = time.monotonic()
    chosen = [cell for cell in table.load() if asked.only in cell.name and (cell.is_core or not asked.closed)]
    beside = [one for one in specials() if asked.only in one.name and (one.name == "Revoker" or not asked.closed)]
    run = Run("none" if asked.closed else "core" if asked.core else "all")
    results = {"date": datetime.date.today().isoformat(), "versions": libraries.versions(run.client),
               **run_all(run, chosen, beside)}
    with open(asked.output, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    wrong = mismatches(results)
    print(*wrong, sep="\n")
    shown = sum(len(one.get("steps", {})) for one in results["cells"])
    print(f"{len(chosen)} cells, {shown} steps, {time.monotonic() - begin:.0f} s: {len(wrong)} not as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
