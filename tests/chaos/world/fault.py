"""What a fault is."""
from .waiting import wait_until

PROOF_WITHIN_S = 60


class Fault:
    """It is chosen, begins, is proven, and ends; then the world is healed. One object is one occurrence."""

    name = None     # as the report has it
    lasts_s = 3     # after its proof
    # What it is about: two at once are of two groups.
    group = None
    pairs = True  # its proof shows beside another's

    def __init__(self, world, chance, number):
        self.world = world
        self.chance = chance
        self.number = number
        self.target = ""
        self.began = None  # when, of CLOCK_BOOTTIME

    def choose(self):
        """What is hit; also sets `target`, which is told."""
        raise NotImplementedError

    def begin(self):
        raise NotImplementedError

    def touches(self):
        """The machines whose clients may notice; None: all."""
        return None

    def processes(self):
        """The processes on these machines that may notice; None: all."""
        return None

    def members(self):
        """Who of the fleet is hit; None: all."""
        machines = self.touches()
        return None if machines is None else [one for one in self.world.fleet.all if one.host.name in machines]

    def met(self, ended):
        """How many held, and how many waited, while it lasted, of one thing that those it hits held or waited for."""
        return self.world.fleet.met(self.began, ended, self.members())

    def silences(self):
        """The machines of clients that no server answers any more, once the fault is proven."""
        return []

    def proof(self):
        """What the kernel or the servers say of its having taken effect, by name; empty: they do not say so (yet)."""
        raise NotImplementedError

    def end(self):
        """What the world does not mend by itself."""

    def prove(self):
        return wait_until(self.proof, f"{self.name} takes effect", PROOF_WITHIN_S)
