"""Made up, and correct: candidates, those who observe them, stripes, and jobs that are to succeed once."""
import uuid

from .bounds import MS, S
from .made_contender import MadeContender
from .made_fleet import FOREVER, Request, Wait

LEAD, STRIPED, JOB = "/locks/lead", "/locks/striped", "/locks/job"
STRIPES = 3
LOOKS = 200 * MS  # of an observer


class MadeCandidate(MadeContender):
    MAY_BE_TOLD = MAY_FAIL = False

    def options(self):
        return {**super().options(), "election": True}

    def wanted(self):
        return [(LEAD, "exclusive", 1)]

    def granted(self, *what):
        super().granted(*what)
        super().tell("HELD")  # elected

    def tell(self, state, **fields):
        if state == "LOST":  # a candidate is told of no doubt
            super().tell(state, **fields)


class MadeStriped(MadeContender):
    MAY_BE_TOLD = False

    def wanted(self):
        drawn = self.random.randrange(4)
        if drawn == 0:
            return [(f"{STRIPED}/stripe-{number:04d}", "exclusive", 1) for number in range(STRIPES)]
        return [(f"{STRIPED}/stripe-{self.random.randrange(STRIPES):04d}", "exclusive", 1)]

    def asked(self, wanted):
        stripe = "all" if len(wanted) > 1 else int(wanted[0][0][-4:])
        return {"resource": STRIPED, "stripe": stripe, "stripes": STRIPES, "mode": "exclusive"}

    def where(self, nodes):
        return {"node": nodes[0].path}  # the grant tells the first one's


class MadeObserver(MadeContender):
    MAY_BE_TOLD = MAY_FAIL = False

    def live(self):
        self.open()
        call = self.begin("observe", resource=LEAD)
        self.say("return", "observe", call, status="ZKL_OK")
        told = self  # nothing yet
        while not self.fleet.is_ending:
            yield from self.online()
            queue = self.fleet.servers.queues.get(LEAD)
            leader = queue[0] if queue else None
            if leader is not told:
                told = leader
                self.tell_leader(leader)
            yield LOOKS
        self.close()

    def tell_leader(self, leader):
        where = {} if leader is None else {"node": leader.path, "session": leader.session.number}
        self.fleet.line(self.who, "callback", process=self.process.number, what="leader", status="ZKL_OK",
                        term=leader.zxid if leader is not None else 0, **where)


class MadeJob(MadeContender):
    """A process `zklock once` after the other."""

    MAY_BE_TOLD = MAY_FAIL = False

    def live(self):
        self.open()
        while not self.fleet.is_ending:
            yield from self.once()
            yield self.random.randint(S, 5 * S)
        self.close()

    def once(self):
        servers, text = self.fleet.servers, self.fleet.due
        call = self.begin("once", resource=JOB, text=text)
        yield from self.online()
        asked_ms = servers.clock() // MS
        unique = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        node, = servers.create(self.process.session, [(JOB, "exclusive", 1)], unique, "")
        node.request = Request([node])
        if not servers.in_the_way(node):
            self.fleet.wake(node)
        yield Wait(node.request.signal, FOREVER)
        yield from self.online()
        status, ran = "ZKL_LOST", False
        if node.lives:
            ran = self.fleet.done != text
            if ran:
                yield self.random.randint(MS, 50 * MS)
                yield from self.online()
            if not ran or self.mark(node, asked_ms, text):
                status = "ZKL_OK"
        yield from self.delete([node])
        self.say("return", "once", call, status=status, ran=ran)

    def mark(self, node, asked_ms, text):
        fleet = self.fleet
        if not node.lives:
            return False
        path = f"{JOB}/done"
        old = [["delete", path]] if fleet.done is not None else []
        fleet.servers.commit(node.session, [["check", node.path], *old, [
            "create", path, 0, f"asked_ms={asked_ms}\ntoken={node.zxid}\ntext={text}\nhost=made\ntook_ms=1\n"]])
        fleet.done, fleet.due = text, f"v{fleet.next_number()}"
        return True
