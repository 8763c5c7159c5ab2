"""What is run beside the cells: three languages at once, Curator's Revoker, and locks that are none."""
from . import steps
from .stage import Side


class Special:
    """`red` are the steps that must fail."""

    def __init__(self, name, kinds, chosen, red=()):
        self.name, self.sides, self.red = name, sides_of(kinds), red
        known = {**steps.steps_of(self.sides[:2]), **steps.MORE_STEPS}
        self.steps = {step: known[step] for step in chosen}


def sides_of(kinds):
    return [Side(name, *kind.split()) for name, kind in zip(("ours", "theirs", "others"), kinds)]


def liar(kind, *red):
    """A lock that is none, or a bad one: the steps must see it."""
    return Special(f"liar: {kind}", ("zklock exclusive", f"kazoo {kind}"), red, red)


def specials():
    return [
        Special("three languages, exclusive", ("zklock exclusive", "curator mutex", "kazoo shared-lock"), ("counter", "order")),
        Special("three languages, write", ("zklock write", "curator writer", "kazoo shared-write"), ("counter", "order")),
        Special("three languages, read", ("zklock read", "curator reader", "kazoo shared-read"), ("mixed counter",)),
        Special("Revoker", ("zklock revocable", "curator revocable-mutex"), ("revoker",)),
        liar("granting", "counter", "order"),
        liar("overtaking", "order"),
        liar("staying", "waiter cancelled, theirs", "waiter timed out, theirs"),
    ]
