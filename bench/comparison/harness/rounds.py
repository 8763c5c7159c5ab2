"""Which rounds there are, in which order they run, and what was found: kept line by line, so that a run goes on where
an earlier one ended."""
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import threading
import time

from . import speed
from .experiments import EXPERIMENTS, applies
from .sale import NotSeen
from .servers import CannotServe

# Most of a round is waiting, so some run side by side; more, and the two cores of a small machine would be what is
# measured.
SIDE_BY_SIDE = 6


def of_tree(top):
    """What the rounds depend on: another tree's rounds are not this one's."""
    listed = subprocess.run(["git", "-C", top, "ls-files", "-s", "lib", "include", "bench/comparison"],
                            capture_output=True, text=True, check=True).stdout
    changed = subprocess.run(["git", "-C", top, "diff", "HEAD", "--", "lib", "include", "bench/comparison"],
                             capture_output=True, text=True, check=True).stdout
    return hashlib.sha256((listed + changed).encode()).hexdigest()[:16]


class Kept:
    """A line of JSON for each round, of this tree or of others."""

    def __init__(self, path, tree):
        self.path = path
        self.tree = tree
        self.lock = threading.Lock()
        self.rounds = []
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.rounds = [one for one in map(read_line, file) if one is not None and one["tree"] == tree]

    def add(self, one):
        with self.lock:
            self.rounds.append(one)
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(one) + "\n")

    def count(self, key):
        """Those that could be run."""
        return sum((one["mechanism"], one["experiment"], one["fence"]) == key and "failed" not in one for one in self.of("experiment"))

    def of(self, kind):
        """Those of experiments, or those of speed."""
        return [one for one in self.rounds if kind in one]

    def count_slices(self, work, mechanism):
        return sum((one["speed"], one["mechanism"]) == (work, mechanism) for one in self.of("speed"))


def read_line(line):
    try:
        return json.loads(line)
    except ValueError:
        return None  # the end of a run that was cut off


def cells(families, only, experiments):
    """(mechanism, experiment, fence) of all that can be run."""
    for _, _, mechanisms in families:
        for mechanism in mechanisms:
            if mechanism.cannot or not re.search(only, mechanism.name):
                continue
            for experiment in EXPERIMENTS:
                if re.search(experiments, experiment) and applies(experiment, mechanism):
                    yield from ((mechanism, experiment, fence) for fence in ((False, True) if mechanism.token else (False,)))


def due(all_cells, wanted, kept):
    """The rounds that are still to run: the first of each cell, then the second of each, so that every part of a run
    says something of everything."""
    have = {cell: kept.count((cell[0].name, cell[1], cell[2])) for cell in all_cells}
    most = max((wanted(cell) for cell in all_cells), default=0)
    return [cell for number in range(most) for cell in all_cells if have[cell] <= number < wanted(cell)]


def run_one(bench, cell, kept):
    mechanism, experiment, fence = cell
    found = {"tree": kept.tree, "mechanism": mechanism.name, "experiment": experiment, "fence": fence}
    try:
        with bench.alone(mechanism):
            found["outcome"] = EXPERIMENTS[experiment](bench, mechanism, fence)
    except NotSeen as reason:
        found["not_seen"] = str(reason)
    except (CannotServe, OSError, subprocess.SubprocessError) as reason:
        found["failed"] = f"{type(reason).__name__}: {reason}"
    kept.add(found)
    return found


def run(bench, todo, kept, say, until_s):
    """Whether all were run before `until_s` of the monotonic clock."""
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        waiting = iter(todo)
        running = set()
        done = 0
        while True:
            while len(running) < SIDE_BY_SIDE and time.monotonic() < until_s:
                cell = next(waiting, None)
                if cell is None:
                    break
                running.add(pool.submit(run_one, bench, cell, kept))
            if not running:
                break
            ended, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for each in ended:
                done += 1
                say(each.result(), done, len(todo), time.monotonic() - began)
    return next(waiting, None) is None


def run_slices(bench, mechanisms, works, slices, kept, say, until_s):
    """All mechanisms take turns, forwards and backwards, one slice after the other: nothing else runs. Whether all were
    run before `until_s`."""
    for number in range(slices):
        for buyers, products in works:
            work = f"{buyers}x{products}"
            for mechanism in mechanisms if number % 2 == 0 else reversed(mechanisms):
                if kept.count_slices(work, mechanism.name) > number:
                    continue
                if time.monotonic() > until_s:
                    return False
                found = {"tree": kept.tree, "mechanism": mechanism.name, "speed": work, "slice": number}
                try:
                    found["figures"] = speed.slice_of(bench, mechanism, buyers, products)
                except (NotSeen, CannotServe, OSError, subprocess.SubprocessError) as reason:
                    found["failed"] = f"{type(reason).__name__}: {reason}"
                kept.add(found)
                say(found)
    return True
