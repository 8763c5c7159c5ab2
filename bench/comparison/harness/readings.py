"""Looks things up in results.json: what the page, the claims and the plots say is read here, and nowhere else."""
import math
from typing import NamedTuple

CONFIDENCE = 0.95
# With fewer slices there are no bounds of the median at 95 %, and no order is claimed.
SLICES_FOR_BOUNDS = 6
# With fewer rounds of an experiment than a full run has, none that did harm say nothing.
ROUNDS_TO_TELL = 20
# Of a cell that theory calls wrong, or that is ours.
ROUNDS_OF_WRONG = 50
# The harness takes so long to look: what is sooner is not told apart from at once.
AT_ONCE_S = 0.05
# What harness/speed.py calls the work that the page's ratios are of: 8 buyers on one hot product; and the same with
# servers whose commits all wait for a disk.
HOT, DURABLE = "8x1", "8x1-disk"
# Where a lock that does not hold sells a unit twice. (Where a holder is killed there are units for all who ask.)
# Every lock has all but the last: a holder cannot be cut off from a lock that is in the stock's database, and is not
# cut off where longer work sells twice already.
SHARED = ("rush", "holder-stopped", "late-write", "work-too-long")
OVERSELLING = (*SHARED, "cut-off")
# The five, and whether the sale goes on without the holder.
COMPLETE = (*OVERSELLING, "holder-killed")
# The one experiment in which a lock is opened by a mistake of who holds it.
BY_ITS_OWNER = "taken-twice"
# The kinds of lock, as the plots and the stars know them, by the servers that they need.
KINDS = {"none": "database", "redis": "Redis", "redis-durable": "Redis", "redis-promoted": "Redis", "redis-5": "Redlock", "redis-6": "Redlock",
         "etcd": "etcd", "zookeeper": "ZooKeeper"}
SERVER_COUNTS = {"none": 0, "redis": 1, "redis-durable": 1, "redis-promoted": 2, "redis-5": 5, "redis-6": 6, "etcd": 3, "zookeeper": 3}


def kind_of(mechanism):
    return "zklock" if mechanism.get("ours") else KINDS.get(mechanism["servers"], "other")


def servers_of(mechanism):
    """How many it needs beside the stock's database."""
    return SERVER_COUNTS.get(mechanism["servers"], 1)


def percent(part):
    return f"{part * 100:.0f} %" if part >= 0.1 or part == 0 else f"{part * 100:.2g} %"


def number(value):
    """Two digits that count; "-" for what was not measured."""
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 10 else f"{value:.2g}"


class Count(NamedTuple):
    """Rounds of several experiments together."""

    harmed: int
    rounds: int
    least: int  # of the experiment that has the fewest

    def harmless(self):
        """None: there are too few rounds to tell."""
        return False if self.harmed else True if self.least >= ROUNDS_TO_TELL else None


class Readings:
    def __init__(self, results):
        self.results = results
        self.families = results["families"]
        self.mechanisms = {one["name"]: one for family in self.families for one in family["mechanisms"]}
        self.speeds = results.get("speed", {})

    def can(self):
        """The mechanisms that could be had."""
        return [one for one in self.mechanisms.values() if not one["cannot"]]

    def cell(self, name, experiment, fence=False):
        """None where no round of it says anything."""
        cells = self.mechanisms.get(name, {}).get("cells", ())
        return next((cell for cell in cells if cell["experiment"] == experiment and cell["fence"] == fence
                     and cell["rounds"]), None)

    def count(self, name, experiments, fence=False, of="harmed"):
        """In how many rounds of these experiments there was harm, or something else; None: no rounds at all."""
        cells = [self.cell(name, experiment, fence) for experiment in experiments]
        cells = [cell for cell in cells if cell is not None]
        rounds = [cell["rounds"] for cell in cells]
        return Count(sum(cell[of] for cell in cells), sum(rounds), min(rounds)) if cells else None

    def overselling(self, name, fence=False):
        """By experiment, whichever it is, in how many rounds a unit was sold twice, where it was."""
        cells = [cell for cell in self.mechanisms.get(name, {}).get("cells", ())
                 if cell["fence"] == fence and cell["overselling"]]
        return {cell["experiment"]: Count(cell["overselling"], cell["rounds"], cell["rounds"]) for cell in cells}

    def missing(self, name, fence=False):
        """Those that could show it, and of which no round says anything."""
        known = [cell["experiment"] for cell in self.mechanisms[name]["cells"]]
        return [one for one in OVERSELLING if self.cell(name, one, fence) is None
                and (one != "cut-off" or one in known)]

    def oversold(self, name, fence=False):
        """The rounds in which a unit was sold twice, where a lock can show that it does not hold."""
        return self.count(name, OVERSELLING, fence, "overselling")

    def oversold_share(self, name, fence=False):
        """The mean of the shares of the experiments, as they have different numbers of rounds; None: no rounds."""
        cells = [self.cell(name, experiment, fence) for experiment in SHARED]
        shares = [cell["overselling"] / cell["rounds"] for cell in cells if cell is not None]
        return sum(shares) / len(shares) if shares else None

    def is_complete(self, name):
        """Whether it sold nothing twice but by its owner's mistake, and nobody was stuck behind the dead: with a fence,
        if it has one. False also where an experiment has no rounds that would tell."""
        fence = bool(self.mechanisms[name]["token"])
        if self.missing(name, fence) or set(self.overselling(name, fence)) - {BY_ITS_OWNER}:
            return False
        killed, sold = self.count(name, ("holder-killed",)), self.count(name, OVERSELLING, fence)
        return bool(killed and sold and killed.harmless() and sold.harmless())

    def speed(self, name, work=HOT):
        return self.speeds.get(work, {}).get(name)

    def ratio(self, name, work=HOT):
        """[median, low, high] of its sales to zklock's, or None."""
        said = self.speed(name, work)
        if not said or not said["ratio"]:
            return None
        return said["ratio"] if said["slices"] >= SLICES_FOR_BOUNDS else [said["ratio"][0], 0, math.inf]

    def figure(self, name, what, work=HOT):
        said = self.speed(name, work)
        return said.get(what) if said else None

    def stuck(self, name, experiment="holder-killed", fence=False):
        """The median of the seconds until somebody else sold, of the rounds in which somebody did."""
        cell = self.cell(name, experiment, fence)
        return cell["stuck_median_s"] if cell else None

    def waits_on_disk(self, server):
        """Whether the commits of this server waited for a disk; None: not known."""
        said = self.results.get("settings", {}).get(server, {}).get("waits_for")
        return None if said is None else said.startswith("disk")


# ---- What figures are called ----------------------------------------------------------------------------------------

def rounds_text(count):
    """"3 of 50 rounds"; none of them with its bound, which of several experiments is that of each."""
    if count is None:
        return "not measured"
    if count.harmed:
        return f"{count.harmed} of {count.rounds} rounds"
    each = " for each experiment" if count.least < count.rounds else ""
    return f"0 of {count.rounds} rounds (≤ {percent(upper_bound(count.least))}{each})"


def share_text(readings, name, fence=False):
    """Each experiment counts as much as another, however many rounds it has."""
    share = readings.oversold_share(name, fence)
    if not share:
        return rounds_text(readings.oversold(name, fence))
    count = sum(readings.cell(name, one, fence) is not None for one in SHARED)
    return f"{percent(share)} of rounds, in the mean of {count} experiments"


def upper_bound(rounds):
    """The greatest probability that is compatible with none in so many rounds (at 95 %)."""
    return 1 - (1 - CONFIDENCE) ** (1 / rounds)


def ratio_text(ratio):
    if ratio is None:
        return "not measured"
    median, low, high = ratio
    bounds = f"{number(low)} to {number(high)}" if high < math.inf else "too few slices for bounds"
    return f"{number(median)} ({bounds})"


def seconds_text(seconds):
    if seconds is None:
        return "not measured"
    return f"{seconds:.2g} s" if seconds > AT_ONCE_S else "at once"


def quotient(above, below):
    """Of two ratios with bounds: [median, low, high]. Its bounds are wide rather than narrow."""
    if above is None or below is None or not below[0]:
        return None
    return [above[0] / below[0], above[1] / below[2], above[2] / below[1] if below[1] else math.inf]


def against_one(ratio):
    """In words: whether its interval is above that of zklock, which is 1, below it, or neither."""
    if ratio is None:
        return "not measured"
    return "faster" if ratio[1] > 1 else "slower" if ratio[2] < 1 else "not told apart"
