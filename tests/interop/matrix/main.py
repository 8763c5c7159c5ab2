"""Runs the matrix: both directions of every cell, all steps of those that are sound, and what shows that steps can fail."""
import argparse
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
    def __init__(self, cores_only):
        self.core = cores_only
        self.client = servers.connect()
        self.root = f"/interop-{uuid.uuid4().hex[:8]}"
        self.numbers = itertools.count(1)

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

    def meet(self, cell):
        """Both directions, each with a node that its holder has made."""
        ours, theirs = sides_of(cell)
        return {**self.try_steps([ours, theirs], {"they": functools.partial(steps.meet, holder=ours, other=theirs)}),
                **self.try_steps([ours, theirs], {"we": functools.partial(steps.meet, holder=theirs, other=ours)})}

    def show(self, cell):
        """All steps; those that fail are repeated with the peer alone."""
        sides = sides_of(cell)
        found = self.try_steps(sides, steps.steps_of(sides, cell.shares()))
        failed = [name for name, measured in found.items() if not measured["passed"]]
        return found, self.run_alone(cell, failed) if failed else {}

    def run_alone(self, cell, names):
        """The peer in the place of ours as well."""
        sides = sides_of(cell, cell.library, cell.alone)
        chosen = steps.steps_of(sides, cell.shares())
        return self.try_steps(sides, {name: chosen[name] for name in names})

    def run_cell(self, cell):
        found = {"ours": cell.ours, "library": cell.library, "kind": cell.kind, **self.meet(cell)}
        if cell.is_sound() and (cell.is_core or not self.core):
            found["steps"], found["alone"] = self.show(cell)
        return found

    # ---- Beside the cells ----

    def run_special(self, special):
        return {"name": special.name, "red": special.red, "steps": self.try_steps(special.sides, special.steps)}


def sides_of(cell, library="zklock", kind=None):
    return [Side("ours", library, kind or cell.ours), Side("theirs", cell.library, cell.kind)]


def work(function, argument):
    """A worker that fails must say where."""
    try:
        return function(argument)
    except Exception:
        traceback.print_exc()
        raise


def run_all(run, chosen, specials):
    """The longest first, so that none is left alone at the end."""
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        others = [pool.submit(work, run.run_special, one) for one in specials]
        sound_first = sorted(chosen, key=lambda cell: not cell.is_sound())
        found = {cell.name: pool.submit(work, run.run_cell, cell) for cell in sound_first}
        return {"cells": [found[cell.name].result() for cell in chosen], "specials": [one.result() for one in others]}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--core", action="store_true")
    parser.add_argument("--output", required=True)
    return parser.parse_args()


def main():
    asked = arguments()
    logging.disable(logging.CRITICAL)  # of connections that the harness itself ends
    begin = time.monotonic()
    chosen = [cell for cell in table.load() if asked.only in cell.name]
    beside = [one for one in specials() if asked.only in one.name]
    run = Run(asked.core)
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
