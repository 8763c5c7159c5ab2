"""The results that are published, as what a later run completes: what was measured of the same tree stays."""
import json
import os

from .servers import TOP
from .speed import BASE

FOLDER = f"{TOP}/docs/comparison"


def results():
    """None: there are none yet."""
    try:
        with open(f"{FOLDER}/results.json", encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def mechanisms_of(made):
    return {one["name"]: one for family in made["families"] for one in family["mechanisms"]}


def key_of(cell):
    return cell["experiment"], cell["fence"]


def count_of(said, tries):
    """What a cell has of the rounds that are wanted: those that say something; of a fault that hardly shows half of the
    tries, so that they come to an end."""
    return max(said, tries // 2)


class Published:
    def __init__(self, made, tree_of):
        """`made`: results, or None. `tree_of(mechanism, experiment)`: the tree whose measurements count; of slices the
        experiment is None."""
        self.made = made or {"families": [], "speed": {}, "settings": {}, "trees": {}}
        self.tree_of = tree_of
        self.mechanisms = mechanisms_of(self.made)

    def is_of_this_tree(self, mechanism, experiment):
        measured = self.made.get("trees", {}).get(mechanism, {}).get(experiment or "speed")
        return measured is not None and measured == self.tree_of(mechanism, experiment)

    def cells(self, mechanism):
        """Those that count, by experiment and fence."""
        return {key_of(cell): cell for cell in self.mechanisms.get(mechanism, {"cells": []})["cells"]
                if self.is_of_this_tree(mechanism, cell["experiment"])}

    def count(self, mechanism, experiment, fence):
        cell = self.cells(mechanism).get((experiment, fence), {"rounds": 0, "unseen": 0})
        return count_of(cell["rounds"], cell["rounds"] + cell["unseen"])

    def slices(self, work, mechanism):
        """Their figures are ratios: what they are of has to be of this tree too."""
        counts = self.is_of_this_tree(mechanism, None) and self.is_of_this_tree(BASE, None)
        return self.made["speed"].get(work, {}).get(mechanism, {"slices": 0})["slices"] if counts else 0

    def least_slices(self, mechanism):
        """Of all works."""
        return min((self.slices(work, mechanism) for work in self.made["speed"]), default=0)

    def complete(self, made):
        """Puts into `made` what was published of the same tree and is more: of each cell, and of each slice."""
        for name, mechanism in mechanisms_of(made).items():
            mechanism["cells"] = self.cells_with(name, mechanism["cells"], list(made["experiments"]))
        kept = [self.keep_slices(made, work, mechanism) for work, found in self.made["speed"].items()
                for mechanism in found]
        if any(kept):  # servers that have worked for hours hold more than those of a short run
            made["settings"] = {**made["settings"], **self.made["settings"]}

    def cells_with(self, name, cells, order):
        found = {key_of(cell): cell for cell in cells}
        for key, cell in self.cells(name).items():
            if key not in found or found[key]["rounds"] < cell["rounds"]:
                found[key] = cell
        return [found[key] for key in sorted(found, key=lambda key: (order.index(key[0]), key[1]))]

    def keep_slices(self, made, work, mechanism):
        """Whether the published ones stay."""
        one = self.made["speed"][work][mechanism]
        mine = made["speed"].setdefault(work, {}).get(mechanism, {"slices": 0})
        keeps = mine["slices"] < self.slices(work, mechanism)
        if keeps:
            made["speed"][work][mechanism] = one
        return keeps
