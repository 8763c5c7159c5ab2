"""Runs the matrix: every cell's two directions, and all steps of those that are sound."""
import argparse
import concurrent.futures
import json
import os
import sys
import time
import uuid

from . import cells, servers, steps
from .contender import Unexpected
from .stage import Side, Stage

WORKERS = 5


class Run:
    def __init__(self, options):
        self.options = options
        self.client = servers.connect()
        self.root = f"/interop-{uuid.uuid4().hex[:8]}"
        self.found = {}

    def stage(self, name, sides):
        return Stage(self.client, f"{self.root}/{name.replace(' ', '-')}", sides)

    # ---- Directions ----

    def meet(self, cell):
        """Both directions of one cell."""
        stage = self.stage(f"meet {cell.name}", [cell.ours, cell.theirs])
        try:
            found = self.found[cell.name] = {}
            for name, holder, other in (("they", cell.ours, cell.theirs), ("we", cell.theirs, cell.ours)):
                found[name] = self.try_step(stage, lambda h=holder, o=other: steps.meet(stage, stage.one(h), stage.one(o)))
        finally:
            stage.close()

    @staticmethod
    def try_step(stage, step):
        try:
            return {"passed": True, **(step() or {})}
        except (Unexpected, OSError, AssertionError) as reason:
            stage.reset()
            return {"passed": False, "failed": f"{type(reason).__name__}: {reason}"[:600]}

    # ---- Steps ----

    def show(self, cell):
        self.found[cell.name]["steps"] = self.run_steps(cell.name, [cell.ours, cell.theirs])

    def run_steps(self, name, sides):
        stage = self.stage(name, sides)
        found = {}
        try:
            for step, function in steps.STEPS.items():
                found[step] = self.try_step(stage, lambda f=function: f(stage))
            for step, function in steps.STEPS_OF_A_SIDE.items():
                for side, other in (sides, sides[::-1]):
                    found[f"{step}, {side.name}"] = self.try_step(stage, lambda f=function, s=side, o=other: f(stage, s, o))
        finally:
            stage.close()
        return found


def all_cells(only):
    return [cell for cell in cells.load() if only in cell.name]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--output", default="/tmp/interop.json")
    options = parser.parse_args()
    run = Run(options)
    chosen = all_cells(options.only)
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for each in [pool.submit(run.meet, cell) for cell in chosen]:
            each.result()
        print("directions", round(time.monotonic() - begin), flush=True)
        for each in [pool.submit(run.show, cell) for cell in chosen if cell.is_sound() and not cell.shares()]:
            each.result()
    print("all", round(time.monotonic() - begin), flush=True)
    with open(options.output, "w", encoding="utf-8") as file:
        json.dump(run.found, file, indent=1)
    for cell in chosen:
        found = run.found[cell.name]
        for way in ("they", "we"):
            met = found[way].get("met", found[way].get("failed"))
            wanted = getattr(cell, way)
            if met != ("beside" if wanted == "shares" else wanted):
                print(f"{cell.name}: {way}: {met}, expected {wanted}")
        for step, measured in found.get("steps", {}).items():
            if not measured["passed"]:
                print(f"{cell.name}: {step}: {measured['failed']}")


main()
