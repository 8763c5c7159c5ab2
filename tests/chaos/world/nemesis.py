"""Draws faults from a seed, deals them out, and counts those that are proven."""
import random
import time
import traceback

from . import faults_of_clients, faults_of_network, faults_of_servers
from .waiting import NotSeen, wait_until

FAULTS = {**faults_of_servers.FAULTS, **faults_of_network.FAULTS, **faults_of_clients.FAULTS}
# Of this many draws one is of two faults at once.
ONE_IN = 4


def all_once(seed, names):
    """Each of them once, in an order of the seed."""
    names = sorted(names)
    random.Random(f"order {seed}").shuffle(names)
    return [(name,) for name in names]


def without_end(seed, names):
    """Ever more; sometimes two at once, of two groups."""
    chance = random.Random(f"schedule {seed}")
    names = sorted(names)
    while True:
        first = chance.choice(names)
        others = [name for name in names if FAULTS[name].group != FAULTS[first].group]
        is_double = chance.randrange(ONE_IN) == 0 and others
        yield (first, chance.choice(others)) if is_double else (first,)


class Nemesis:
    def __init__(self, world, seed, tell):
        self.world = world
        self.seed = seed
        self.tell = tell
        self.number = 0
        self.proven = {}      # by name, how often
        self.not_proven = []  # (number, name, why)
        self.unhealed = []

    def deal(self, names):
        """One fault, or two at once. Whatever becomes of it, the world is well again afterwards, or this says why not."""
        self.number += 1
        chance = random.Random(f"fault {self.seed} {self.number}")
        wait_until(self.world.traffic.held_and_awaited, "somebody holds and somebody waits")
        faults = [FAULTS[name](self.world, chance) for name in names]
        began = self.write("begun", faults)
        dealt, proofs = [], {}
        try:
            for one in faults:
                dealt.append(one)
                one.begin()
            for one in faults:
                proofs[one] = one.prove()
            self.world.sleep(max(one.lasts_s for one in faults))
            for one in faults:  # what counters say at its end
                proofs[one] = one.proof() or proofs[one]
        except (NotSeen, OSError, ValueError) as why:
            self.fail(names, why)
        ended = self.write("ending", faults)
        for one in reversed(dealt):
            self.undo(one, names)
        self.count(proofs, began, ended)
        self.heal(faults)

    def undo(self, fault, names):
        try:
            fault.end()
        except (NotSeen, OSError, ValueError, AttributeError) as why:
            self.fail(names, why)

    def count(self, proofs, began, ended):
        """A fault counts if it is proven, and if somebody held and somebody waited while it lasted."""
        held, waited = self.world.met(began, ended)
        for one, proof in proofs.items():
            if held and waited:
                self.proven[one.name] = self.proven.get(one.name, 0) + 1
                self.world.history.write("proven", fault=one.name, number=self.number, target=one.target, proof=proof)
                self.tell(f"{self.number:4d} {one.name} ({one.target}): {(ended - began) / 1e9:.1f} s, {held} held, "
                          f"{waited} waited; {proof}")
            else:
                self.fail((one.name,), NotSeen(f"{held} held and {waited} waited"))

    def heal(self, faults):
        since = time.monotonic()
        try:
            self.world.heal()
        except NotSeen as why:
            self.unhealed.append((self.number, str(why)))
            self.tell(f"{self.number:4d} NOT HEALED: {why}")
            return
        self.write("healed", faults)
        self.tell(f"     healed after {time.monotonic() - since:.1f} s")

    def fail(self, names, why):
        self.not_proven.append((self.number, " and ".join(names), str(why)))
        self.tell(f"{self.number:4d} NOT COUNTED: {' and '.join(names)}: {why}")
        if not isinstance(why, NotSeen):
            self.tell(traceback.format_exc())

    def write(self, event, faults):
        return self.world.history.write(event, number=self.number, faults=[one.name for one in faults],
                                        target="; ".join(one.target for one in faults) or None)
