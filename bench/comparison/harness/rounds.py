"""Which rounds there are, in which order they run, and what was found: kept line by line, so that a run goes on where
an earlier one ended."""
import concurrent.futures
import functools
import glob
import hashlib
import inspect
import itertools
import json
import os
import random
import re
import subprocess
import threading
import time

from . import speed
from .experiments import EXPERIMENTS, applies, fences_of
from .published import count_of
from .sale import NotSeen
from .servers import CannotServe

# Most of a round is waiting, so some run side by side; more, and the two cores of a small machine would be what is
# measured.
SIDE_BY_SIDE = 16
# What rounds are made by, whatever the mechanism and the experiment.
BASE = re.compile(r"bench/comparison/([^/]+\.[ch]|harness/(bench|packets|proxy|round|sale|servers)\.py)$")
# What a table says of a mechanism that makes a difference to its rounds.
SETTINGS = ("program", "command", "servers", "database", "timeout_ms", "asks", "gives_back", "stop_point")


# Where the sources of all that is, and what they end with: no copy without git is left out.
SOURCES = ("lib", "include", "bench/comparison")
SUFFIXES = (".c", ".h", ".py", ".js", ".go", ".java")


def short_sum(parts):
    return hashlib.sha256(parts).hexdigest()[:16]


def sum_of(path):
    with open(path, "rb") as file:
        return short_sum(file.read())


class Tree:
    """What rounds are made of. Those of another tree are kept, and count for nothing in this one."""

    def __init__(self, top, families):
        self.top = top
        self.files = {os.path.relpath(path, top): sum_of(path) for folder in SOURCES
                      for path in glob.glob(f"{top}/{folder}/**", recursive=True) if path.endswith(SUFFIXES)}
        self.mechanisms = {one.name: (one, os.path.basename(folder))
                           for _, folder, all_of in families for one in all_of}
        self.sums = {}

    def of_all(self):
        """By mechanism and experiment, and "speed" for its slices."""
        return {name: {experiment or "speed": self.of(name, experiment) for experiment in (*EXPERIMENTS, None)}
                for name in self.mechanisms}

    def of(self, name, experiment):
        """Of a mechanism in an experiment (None: in a slice of speed); None: there is no such thing any more."""
        if name not in self.mechanisms or experiment is not None and experiment not in EXPERIMENTS:
            return None
        if (name, experiment) not in self.sums:
            code = inspect.getsource(speed) if experiment is None else code_of(experiment)
            self.sums[name, experiment] = short_sum("".join([*self.mechanism(name), code]).encode())
        return self.sums[name, experiment]

    def mechanism(self, name):
        mechanism, folder = self.mechanisms[name]
        own = f"bench/comparison/families/{folder}/"
        # The same wherever the checkout is.
        yield repr([getattr(mechanism, setting) for setting in SETTINGS]).replace(self.top, "")
        for path, its_sum in sorted(self.files.items()):
            of_family = path.startswith(own) and not path.endswith("/table.py")
            if of_family or BASE.match(path) or mechanism.ours and path.startswith(("lib/", "include/")):
                yield f"{path} {its_sum}\n"


@functools.cache
def code_of(experiment):
    """All of its module before the table but the other experiments."""
    function = EXPERIMENTS[experiment]
    own = inspect.getsource(function)
    module = inspect.getsource(inspect.getmodule(function)).partition("\nEXPERIMENTS = ")[0]
    for other in map(inspect.getsource, EXPERIMENTS.values()):
        if other != own:
            module = module.replace(other, "")
    return module


class Kept:
    """A line of JSON for each round, of this tree or of others."""

    def __init__(self, path, tree):  # tree: a Tree
        self.path = path
        self.tree = tree
        self.lock = threading.Lock()
        self.rounds = []
        self.cells = {}
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for one in map(read_line, file):
                    if one is not None and one["tree"] == self.tree_of(one):
                        self.take(one)

    def tree_of(self, one):
        return self.tree.of(one["mechanism"], one.get("experiment"))

    def take(self, one):
        self.rounds.append(one)
        if "experiment" in one and "failed" not in one:
            self.cells.setdefault((one["mechanism"], one["experiment"], one["fence"]), []).append(one)

    def add(self, one):
        one["tree"] = self.tree_of(one)
        with self.lock:
            self.take(one)
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(one) + "\n")

    def cell(self, cell):
        """Its rounds, but for those that could not be run."""
        return self.cells.get((cell[0].name, *cell[1:]), [])

    def count(self, cell):
        return count_of(sum("outcome" in one for one in self.cell(cell)), len(self.cell(cell)))

    def tries(self):
        """Of all cells."""
        return sum(map(len, self.cells.values()))

    def shows_harm(self, cell):
        return any(one["outcome"]["harm"] for one in self.cell(cell) if "outcome" in one)

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
                    yield from ((mechanism, experiment, fence) for fence in fences_of(experiment, mechanism))


def due(all_cells, wanted, kept):
    """The rounds that are still to run: the first of each cell, then the second of each, so that every part of a run
    says something of everything. Their order is by chance, the same each time: what runs side by side is a mixture."""
    have = {cell: kept.count(cell) for cell in all_cells}
    all_cells = random.Random(0).sample(all_cells, len(all_cells))
    most = max((wanted(cell) for cell in all_cells), default=0)
    return [cell for number in range(most) for cell in all_cells if have[cell] <= number < wanted(cell)]


def run_one(bench, cell, kept):
    mechanism, experiment, fence = cell
    found = {"mechanism": mechanism.name, "experiment": experiment, "fence": fence}
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


def slices_due(mechanisms, works, slices, kept):
    """(number, work, mechanisms) of those that are still to run."""
    all_of_it = ((number, work, [one for one in mechanisms if kept.count_slices(work, one.name) <= number])
                 for number, work in itertools.product(range(slices), works))
    return [one for one in all_of_it if one[2]]


def run_slices(bench, mechanisms, works, slices, kept, say, until_s):
    """All mechanisms take turns, forwards and backwards, one slice after the other: nothing else runs. What the ratios
    are of takes part each time, so that they are of slices that ran beside each other. Whether all were run before
    `until_s`."""
    bench.end_spare()
    base = next(one for one in mechanisms if one.name == speed.BASE)
    warm = False
    for number, work, due in slices_due(mechanisms, works, slices, kept):
        if not warm:
            run_slice(bench, base, work)
            warm = True
        turn = f"{time.time():.0f}"
        for mechanism in in_turn(due if base in due else [base, *due], number):
            if time.monotonic() > until_s:
                return False
            found = {"mechanism": mechanism.name, "speed": work, "slice": number, "turn": turn,
                     **run_slice(bench, mechanism, work)}
            kept.add(found)
            say(found)
    return True


def in_turn(mechanisms, number):
    return mechanisms if number % 2 == 0 else reversed(mechanisms)


def run_slice(bench, mechanism, work):
    try:
        return {"figures": speed.slice_of(bench, mechanism, work)}
    except (NotSeen, CannotServe, OSError, subprocess.SubprocessError) as reason:
        return {"failed": f"{type(reason).__name__}: {reason}"}
