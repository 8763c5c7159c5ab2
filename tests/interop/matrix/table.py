"""The table of cells: what is expected of each."""
import os
import tomllib

TABLE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cells.toml")
WORDS = ("waits", "shares", "beside", "refused", "hangs", "fails", "dies")
# Kinds whose holders share: ours first.
READERS = ("read", "kazoo-read", "reader", "read-patterns", "shared-read")


def is_reader(kind):
    return kind in READERS


def table():
    with open(TABLE, "rb") as file:
        return tomllib.load(file)


class Cell:
    """A lock of ours and one of theirs. `they`, `we`: what one does while the other holds."""

    def __init__(self, peer, ours, they, we):
        self.peer, self.ours, self.they, self.we = peer, ours, they, we
        self.library, self.kind = peer["library"], peer["kind"]

    @property
    def name(self):
        return name_of(self.ours, self.library, self.kind)

    @property
    def alone(self):
        """Of theirs, in the place of ours."""
        return self.peer["alone"].split()[-1 if self.ours in READERS else 0]

    @property
    def is_core(self):
        return self.ours in self.peer.get("core", "").split()

    def is_sound(self):
        """Whether exclusion is promised: then all that it takes is shown."""
        return {self.they, self.we} <= {"waits", "shares"}

    def shares(self):
        """One of the two at least, both of which read: then there is no order."""
        return "shares" in (self.they, self.we)

    def defect_of(self, step):
        """Of the peer, which is why the step fails; none is known: None."""
        return next((one for one in self.peer.get("defects", []) if step in one["steps"]), None)


def name_of(ours, library, kind):
    return f"{ours}, {library} {kind}"


def load():
    known = table()
    ours = list(known["ours"])
    return [Cell(peer, *columns) for peer in known["peer"] for columns in columns_of(ours, peer)]


def columns_of(ours, peer):
    columns = [ours, *(peer[name].split() for name in ("they", "we"))]
    assert all(len(column) == len(ours) for column in columns), peer["kind"]
    assert {*columns[1], *columns[2]} <= {*WORDS}, peer["kind"]
    return zip(*columns)
