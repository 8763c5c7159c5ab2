"""Handles of a process that share a node: made up, and correct."""
import uuid

from .bounds import MS, S
from .made_contender import MadeContender, MadeHold
from .made_fleet import FOREVER, Request, Task, Wait

HAND_OFFS = 2
RETAIN = S


class MadeLender:
    """Lends one node to its handles, one after the other. It gives the node up as soon as somebody else waits."""

    def __init__(self, fleet, process, first):
        self.fleet, self.process = fleet, process
        self.node = None
        self.number = 0
        self.is_lent = False
        self.idle_since = fleet.now
        self.handed_on = 0
        self.borrowers = [MadeBorrower(fleet, process, self, first + number) for number in range(2)]
        Task(fleet, process, self.keep())

    def resource(self):
        return "/locks/lent"

    def may_lend(self):
        node = self.node
        if node is None or not node.lives or self.process.is_cut or self.is_lent or not self.process.session.is_open:
            return False
        if self.fleet.servers.queues[node.resource][-1] is not node:
            self.handed_on += 1
            return self.handed_on <= HAND_OFFS
        return True

    def give_up(self):
        node, self.node = self.node, None
        self.borrowers[0].delete_later([node])

    def keep(self):
        """Gives an idle node up: when somebody waits, and after a while."""
        while not all(borrower.is_closed for borrower in self.borrowers):
            yield 20 * MS
            node = self.node
            if node is None or self.is_lent:
                continue
            is_called = node.lives and self.fleet.servers.queues[node.resource][-1] is not node
            if is_called or not node.lives or self.fleet.now > self.idle_since + RETAIN:
                self.give_up()
        if self.node is not None:
            self.give_up()


class MadeBorrower(MadeContender):
    MAY_FAIL = False

    def __init__(self, fleet, process, lender, number):
        self.lender = lender
        super().__init__(fleet, process, "lent", number)

    def options(self):
        return {**super().options(), "hand_offs": HAND_OFFS, "retain_ms": RETAIN // MS, "lease_tick_ms": 500}

    def acquire(self):
        lender = self.lender
        call = self.begin("acquire", deadline_ms=-1, mode="exclusive", resource=lender.resource())
        while not lender.may_lend():
            if lender.node is not None and not lender.is_lent:
                lender.give_up()
            if lender.node is None and not lender.is_lent:
                lender.is_lent = True  # it is being made
                yield from self.make_node()
                break
            yield 20 * MS
        lender.is_lent = True
        lender.number += 1
        hold = MadeHold("exclusive", [lender.node], [lender.node.zxid, lender.number], lender.node.session)
        self.granted("return", "acquire", call, hold, "exclusive")
        return hold

    def make_node(self):
        lender = self.lender
        while True:
            yield from self.online()
            unique = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
            unique = unique[:19] + "c" + unique[20:]
            node, = self.fleet.servers.create(self.process.session, [(lender.resource(), "exclusive", 1)], unique, "")
            node.request = Request([node])
            if not self.fleet.servers.in_the_way(node):
                self.fleet.wake(node)
            yield Wait(node.request.signal, FOREVER)
            while self.process.is_cut:
                yield 20 * MS
            if node.lives and node.request.signal.value == "turn":
                lender.node, lender.number, lender.handed_on = node, 0, 0
                return

    def release(self):
        lender, hold = self.lender, self.hold
        call = self.begin("release", deadline_ms=5000)
        self.say("return", "release", call, status="ZKL_LOST" if hold.is_lost else "ZKL_OK")
        lender.is_lent, lender.idle_since = False, self.fleet.now
        self.hold = None
        if hold.is_lost:
            lender.give_up()
        return
        yield
