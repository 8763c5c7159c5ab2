"""Draws faults from a seed, deals them out, and counts those that are proven."""
import random
import subprocess
import time
import traceback

from . import faults_of_clients, faults_of_network, faults_of_servers
from .history import now
from .waiting import NotSeen, wait_until

FAULTS = {**faults_of_servers.FAULTS, **faults_of_network.FAULTS, **faults_of_clients.FAULTS}
# Of this many draws one is of two faults at once.
ONE_IN = 4
# What is due in peace has to become due: news, turns, leases.
PEACE_ONE_IN, PEACE_S = 8, 15


def all_once(seed, names):
    """Each of them once, in an order of the seed."""
    names = sorted(names)
    random.Random(f"order {seed}").shuffle(names)
    return ((name,) for name in names)


def without_end(seed, names):
    """Ever more; sometimes two at once, of two groups."""
    chance = random.Random(f"schedule {seed}")
    names = sorted(names)
    while True:
        first = chance.choice(names)
        others = [name for name in names if FAULTS[name].group != FAULTS[first].group and FAULTS[name].pairs]
        is_double = chance.randrange(ONE_IN) == 0 and FAULTS[first].pairs and others
        yield (first, chance.choice(others)) if is_double else (first,)


class Nemesis:
    """Writes what it does as ../history.md has it."""

    def __init__(self, world, seed, tell):
        self.world = world
        self.seed = seed
        self.tell = tell
        self.chance = random.Random(f"peace {seed}")
        self.begun = 0
        self.counted = {}      # by name, how often
        self.not_counted = []  # (number, name, why)
        self.unhealed = []

    def deal(self, names):
        """One fault, or two at once. Whatever becomes of it, the world is well again afterwards, or `unhealed` says why
        not."""
        wait_until(self.world.held_and_awaited, "somebody holds and somebody waits")
        faults, proofs = [self.new(name) for name in names], {}
        self.attempt(faults, lambda: self.strike(faults, proofs))
        ended = now()
        for one in reversed(faults):
            self.write("end", one)
            self.attempt([one], one.end)
        self.count(proofs, ended)
        self.heal(faults)
        if not self.unhealed and self.chance.randrange(PEACE_ONE_IN) == 0:
            self.world.sleep(PEACE_S)

    def new(self, name):
        self.begun += 1
        return FAULTS[name](self.world, random.Random(f"fault {self.seed} {self.begun}"), self.begun)

    def strike(self, faults, proofs):
        """All are chosen before the first one begins, as a server that is gone has no role."""
        for one in faults:
            one.choose()
        for one in faults:
            one.began = self.write("begin", one, kind=one.name, touches=one.touches(), processes=one.processes(),
                                   silences=one.silences(), target=one.target)
            one.begin()
        for one in faults:
            proofs[one] = one.prove()
            self.write("proven", one, proof=proofs[one])
        self.world.sleep(max(one.lasts_s for one in faults))
        for one in faults:  # what counters say at its end
            proofs[one] = one.proof() or proofs[one]

    def attempt(self, faults, do):
        """What a fault cannot do makes it not count, and ends nothing else."""
        try:
            do()
        except NotSeen as why:
            self.refuse(faults, why)
        except (OSError, ValueError, AttributeError, subprocess.SubprocessError) as why:
            self.refuse(faults, why)
            self.tell(traceback.format_exc())

    def count(self, proofs, ended):
        """A fault counts if it is proven, and if somebody held and somebody waited while it lasted."""
        for one, proof in proofs.items():
            held, waited = one.met(ended)
            if held and waited:
                self.counted[one.name] = self.counted.get(one.name, 0) + 1
                self.tell(f"{one.number:4d} {one.name} ({one.target}): {(ended - one.began) / 1e9:.1f} s, {held} held, "
                          f"{waited} waited; {proof}")
            else:
                self.refuse([one], f"{held} held and {waited} waited")

    def refuse(self, faults, why):
        for one in faults:
            self.not_counted.append((one.number, one.name, str(why)))
            self.tell(f"{one.number:4d} NOT COUNTED: {one.name} ({one.target}): {why}")

    def heal(self, faults):
        since = time.monotonic()
        try:
            self.world.heal()
            for one in faults:
                self.write("healed", one)
            self.world.rest()
        except NotSeen as why:
            self.unhealed.append((faults[0].number, str(why)))
            self.tell(f"{faults[0].number:4d} NOT HEALED: {why}")
            return
        self.tell(f"     healed after {time.monotonic() - since:.1f} s")

    def write(self, what, fault, **more):
        return self.world.history.write("fault", what=what, fault=fault.number, **more)
