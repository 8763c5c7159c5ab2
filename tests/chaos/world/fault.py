"""What a fault is."""
from .waiting import wait_until

PROOF_WITHIN_S = 60


class Fault:
    """It begins, is proven, and ends; then the world is healed. One object is one occurrence."""

    name = None     # as the report has it
    lasts_s = 3     # after its proof
    # What it is about: two at once are of two groups.
    group = None

    def __init__(self, world, chance):
        self.world = world
        self.chance = chance
        self.target = ""

    def begin(self):
        """Also sets `target`, which is told."""
        raise NotImplementedError

    def proof(self):
        """What the kernel or the servers say of its having taken effect, by name; empty: they do not say so (yet)."""
        raise NotImplementedError

    def end(self):
        """What the world does not mend by itself."""

    def prove(self):
        return wait_until(self.proof, f"{self.name} takes effect", PROOF_WITHIN_S)
