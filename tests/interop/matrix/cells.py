"""The table of cells: what is expected of each."""
import os
import tomllib

from .stage import Side

TABLE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cells.toml")
WORDS = ("waits", "shares", "beside", "refused", "hangs")


class Cell:
    def __init__(self, peer, ours, they, we, alone):
        self.peer, self.ours = peer, Side("ours", "zklock", ours)
        self.theirs = Side("theirs", peer["library"], peer["kind"])
        self.they, self.we, self.alone = they, we, alone

    @property
    def name(self):
        return f"{self.ours.kind} {self.theirs}"

    def is_sound(self):
        """Whether exclusion is promised: then all that it takes is shown."""
        return {self.they, self.we} <= {"waits", "shares"}

    def shares(self):
        return self.they == "shares"


def load():
    with open(TABLE, "rb") as file:
        table = tomllib.load(file)
    ours = table["ours"]
    return [Cell(peer, *columns) for peer in table["peer"] for columns in columns_of(ours, peer)]


def columns_of(ours, peer):
    columns = [ours, *(peer[name].split() for name in ("they", "we", "alone"))]
    assert all(len(column) == len(ours) for column in columns), peer["kind"]
    assert {*columns[1], *columns[2]} <= {*WORDS}, peer["kind"]
    return zip(*columns)
