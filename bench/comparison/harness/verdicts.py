"""What the rounds of a cell say together, beside what theory says of it."""
import statistics
from dataclasses import dataclass

from .mechanism import HARMFUL, SAFE
from .readings import upper_bound


@dataclass
class Cell:
    rounds: int = 0      # those in which the fault was seen
    harmed: int = 0
    oversold: int = 0    # units, in all of them
    overselling: int = 0  # rounds in which any were
    sold: int = 0        # units, in all of them
    stuck: list = None   # seconds, of those that went on
    never: int = 0       # of those in which nobody sold any more
    measures: dict = None  # what else an experiment has measured: by name, the numbers of its rounds
    unseen: int = 0      # the others
    not_seen: str = ""   # why they say nothing
    failed: str = ""     # why a round could not be run

    def bound(self):
        """The greatest probability of harm that is compatible with none in so many rounds (at 95 %)."""
        return upper_bound(self.rounds) if self.rounds and not self.harmed else None

    def stuck_median(self):
        return statistics.median(self.stuck) if self.stuck else None

    def medians(self):
        """Of each measure."""
        return {name: statistics.median(values) for name, values in self.measures.items()}


def gather(rounds):
    """By (mechanism, experiment, fence)."""
    found = {}
    for one in rounds:
        cell = found.setdefault((one["mechanism"], one["experiment"], one["fence"]), Cell(stuck=[], measures={}))
        if "failed" in one:
            cell.failed = one["failed"]
        elif "not_seen" in one:
            cell.unseen += 1
            cell.not_seen = one["not_seen"]
        else:
            add(cell, one["outcome"])
    return found


def add(cell, outcome):
    cell.rounds += 1
    cell.harmed += outcome["harm"]
    cell.oversold += outcome["oversold"]
    cell.overselling += outcome["oversold"] > 0
    cell.sold += outcome["sold"]
    if "stuck_s" in outcome:
        if outcome["stuck_s"] is None:
            cell.never += 1
        else:
            cell.stuck.append(outcome["stuck_s"])
    for name, value in outcome.get("measures", {}).items():
        cell.measures.setdefault(name, []).append(value)


def contradictions(families, found):
    """What theory says and the rounds do not. Of a mechanism that must do harm and has done none, the experiment is too
    weak; one that must do none and has done some is a finding, and above all if it is ours."""
    for _, _, mechanisms in families:
        for mechanism in mechanisms:
            for experiment, theory in (mechanism.theory or {}).items():
                for fence in (False, True):
                    cell = found.get((mechanism.name, experiment, fence))
                    if cell is None or not cell.rounds:
                        continue
                    expected = mechanism.expects(experiment, fence)
                    where = f"{mechanism.name}, {experiment}{', with a fence' if fence else ''}"
                    if expected == SAFE and cell.harmed:
                        yield f"{where}: theory says no harm, {cell.harmed} of {cell.rounds} rounds show some"
                    if expected == HARMFUL and not cell.harmed:
                        yield f"{where}: theory says harm, and none of {cell.rounds} rounds shows it"
