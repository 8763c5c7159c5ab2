"""A correct contender that is made up: one handle, and the turns that it takes."""
import uuid

from .bounds import MS, S
from .made_fleet import FOREVER, TIMEOUT, Request, Task, Wait

LEASE_KEPT = TIMEOUT // 2  # so long a holder that is cut off believes
HOLD_LIMIT = 300 * MS


class MadeHold:
    def __init__(self, mode, nodes, token, session):
        self.mode, self.nodes, self.token, self.session = mode, nodes, token, session
        self.state = "HELD"
        self.is_lost = False
        self.since = 0
        self.write = 0  # the calls of the store


class MadeContender:
    MAY_BE_TOLD = MAY_FAIL = True  # with tell_contended, with fail_on_session_expiry

    def __init__(self, fleet, process, kind, number):
        self.fleet, self.process, self.kind = fleet, process, kind
        self.who = f"c{process.number}-h{number}"
        self.is_told, self.fails = self.MAY_BE_TOLD and number % 2 == 0, self.MAY_FAIL and number % 3 == 0
        self.calls = 0
        self.hold = None
        self.upgraded = None  # the node of its last upgrade
        self.waiting = None  # the request that waits
        self.is_closed = False
        process.handles.append(self)
        self.random = fleet.random
        self.task = Task(fleet, process, self.live())

    # ---- Lines ----------------------------------------------------------------------------

    def say(self, event, what, call, **fields):
        self.fleet.line(self.who, event, process=self.process.number, what=what, call=call, **fields)

    def begin(self, what, **fields):
        self.calls += 1
        self.say("call", what, self.calls, **fields)
        return self.calls

    def tell(self, state, **fields):
        self.fleet.line(self.who, "callback", process=self.process.number, what="state", state=state,
                        token=self.hold.token, **fields)

    def options(self):
        options = {"session_timeout_ms": TIMEOUT // MS, "client": f"c{self.process.number}"}
        if self.kind == "limited":
            options["max_hold_ms"] = HOLD_LIMIT // MS
        if self.kind in ("lease", "reader"):
            options["lease_tick_ms"] = 500
        if self.is_told:
            options["tell_contended"] = 1
        if self.fails:
            options["fail_on_session_expiry"] = 1
        return options

    # ---- The servers ----------------------------------------------------------------------

    def online(self, until=FOREVER):
        """Waits until a server answers; false: not in time."""
        while self.process.is_cut or not self.process.session.is_open:
            self.fleet.renew(self.process)
            if self.fleet.now >= until:
                return False
            if self.process.is_cut:
                yield min(20 * MS, max(1, until - self.fleet.now))
        yield self.fleet.latency()
        return True

    def delete(self, nodes, tells=False):
        for node in nodes:
            if node.lives:
                yield from self.online()
                self.fleet.servers.delete(node.session, node, tells)

    def delete_later(self, nodes):
        Task(self.fleet, self.process, self.delete(nodes))

    # ---- Acquire --------------------------------------------------------------------------

    def wanted(self):
        fleet = self.fleet
        resource = f"/locks/r{self.random.randrange(fleet.resources)}"
        if self.kind == "permit":
            return [("/locks/permits", "permit", 2)]
        if self.kind == "set":
            several = self.random.sample(range(fleet.resources), min(2, fleet.resources))
            return [(f"/locks/r{one}", "exclusive", 1) for one in several]
        if self.kind == "reader":
            return [(resource, self.random.choice(("read", "read", "write")), 1)]
        return [(resource, "exclusive", 1)]

    def deadline(self):
        drawn = self.random.random()
        return 0 if drawn < 0.1 else self.random.choice((20, 200, 2000)) if drawn < 0.3 else -1

    def acquire(self):
        """Returns the hold, or None."""
        wanted, limit = self.wanted(), self.deadline()
        is_async = self.random.random() < 0.1
        call = self.begin("acquire", deadline_ms=limit, **self.asked(wanted), **({"async": True} if is_async else {}))
        if is_async:
            self.say("return", "acquire", call, status="ZKL_OK")
        until = FOREVER if limit < 0 else self.fleet.now + (limit * MS if limit else TIMEOUT)
        status, nodes = yield from self.take_place(wanted, limit == 0, until)
        answer = "callback" if is_async else "return"
        if status != "ZKL_OK":
            self.say(answer, "acquire", call, status=status)
            self.delete_later(nodes)
            return None
        hold = MadeHold(wanted[0][1], nodes, [nodes[0].zxid, 0], nodes[0].session)
        self.granted(answer, "acquire", call, hold, wanted[0][1] if len(wanted) == 1 else None)
        return hold

    @staticmethod
    def asked(wanted):
        return {"mode": wanted[0][1], "resource": wanted[0][0]} if len(wanted) == 1 else {}

    @staticmethod
    def where(nodes):
        paths = [node.path for node in nodes]
        return {"node": paths[0]} if len(paths) == 1 else {"nodes": paths}

    def granted(self, answer, what, call, hold, mode):
        hold.since = self.fleet.now
        self.hold = hold
        self.fleet.grants += 1
        self.say(answer, what, call, status="ZKL_OK", token=hold.token, session=hold.session.number,
                 **self.where(hold.nodes),
                 **({"mode": mode} if mode else {}))
        for node in hold.nodes if self.is_told else ():
            Task(self.fleet, self.process, self.watch_behind(hold, node.resource))

    def watch_behind(self, hold, resource):
        """Tells it once, of one resource, that somebody waits."""
        while self.hold is hold and not hold.is_lost:
            node = next(node for node in hold.nodes if node.resource == resource)
            if not self.process.is_cut and self.fleet.servers.is_awaited(node, self.upgraded):
                self.tell("CONTENDED", resource=resource)
                return
            yield 10 * MS

    def take_place(self, wanted, is_try, until):
        """(status, nodes)"""
        if not (yield from self.online(until)):
            return "ZKL_DISCONNECTED", []
        if is_try and any(self.fleet.servers.queues.get(resource) for resource, _, _ in wanted):
            yield self.fleet.latency()
            return "ZKL_BUSY", []
        while True:
            nodes = self.join(wanted)
            outcome = yield from self.wait(nodes, is_try, until)
            if outcome not in ("expired", "deleted"):
                return outcome, nodes
            if self.fails and not nodes[0].session.is_open:
                return "ZKL_SESSION_EXPIRED", nodes
            yield from self.delete(nodes)  # what is left of a set
            if not (yield from self.online(until)):
                return "ZKL_DISCONNECTED", []

    def join(self, wanted):
        unique = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        nodes = self.fleet.servers.create(self.process.session, wanted, unique, self.who)
        request = Request(nodes)
        for node in nodes:
            node.request = request
        self.waiting = request
        if all(not self.fleet.servers.in_the_way(node) for node in nodes):
            self.fleet.wake(nodes[0])
        return nodes

    def wait(self, nodes, is_try, until):
        request = nodes[0].request
        if is_try and any(self.fleet.servers.in_the_way(node) for node in nodes):
            yield self.fleet.latency()
            self.waiting = None
            return "ZKL_BUSY"
        yield Wait(request.signal, until)
        self.waiting = None
        outcome = request.signal.value
        if outcome == "cancelled":
            return "ZKL_CANCELLED"
        while self.process.is_cut and self.fleet.now < until:
            yield 20 * MS  # what has happened is not heard
        if any(not node.lives for node in nodes):
            return "expired"
        if outcome is None or self.process.is_cut:
            return "ZKL_DISCONNECTED" if self.process.is_cut else "ZKL_TIMEOUT"
        return "ZKL_OK"

    def cancel(self, after):
        """Another thread of the process ends the wait."""
        yield after
        request = self.waiting
        call = self.begin("cancel")
        if request is not None and request is self.waiting and request.signal.value is None:
            request.signal.send("cancelled")
            self.say("return", "cancel", call, status="ZKL_OK")
        else:
            self.say("return", "cancel", call, status="ZKL_NOT_WAITING")

    # ---- While it is held -----------------------------------------------------------------

    def observe(self):
        """Is told what is so by now."""
        hold, process, now = self.hold, self.process, self.fleet.now
        if hold.is_lost:
            return
        if self.kind == "limited" and now >= hold.since + HOLD_LIMIT:
            self.lose("ZKL_HOLD_LIMIT")
            self.delete_later(hold.nodes)
        elif process.is_cut:
            if hold.state == "HELD" and now > process.cut_since + 10 * MS:
                hold.state = "SUSPECT"
                self.tell("SUSPECT")
            if "lease_tick_ms" in self.options() and now >= process.cut_since + LEASE_KEPT:
                self.lose("ZKL_LEASE_ENDED")
        elif not hold.session.is_open:
            self.lose("ZKL_SESSION_EXPIRED")
            self.fleet.renew(process)
        elif any(not node.lives for node in hold.nodes):
            self.lose("ZKL_NODE_DELETED")
        elif hold.state == "SUSPECT":
            hold.state = "HELD"
            self.tell("HELD")

    def lose(self, reason):
        self.hold.is_lost = True
        self.tell("LOST", reason=reason)

    def hear_of_its_end(self):
        if not self.hold.is_lost:
            self.lose("ZKL_NODE_DELETED" if self.hold.session.is_open else "ZKL_SESSION_EXPIRED")

    def check(self):
        self.observe()
        call, hold = self.begin("check"), self.hold
        if hold.is_lost:
            self.say("return", "check", call, status="ZKL_LOST")
            return
        has_lease = "lease_tick_ms" in self.options()
        until = (self.process.cut_since + LEASE_KEPT) if self.process.is_cut else self.fleet.now + LEASE_KEPT
        left = max(0, until - self.fleet.now) // MS if has_lease else -1
        status = "ZKL_SUSPECT" if self.process.is_cut else "ZKL_OK"
        self.say("return", "check", call, status=status, lease_left_ms=left)

    def verify(self):
        call = self.begin("verify", deadline_ms=10000)
        if not (yield from self.online(self.fleet.now + 10 * S)):
            self.say("return", "verify", call, status="ZKL_SUSPECT")
            return
        lives = self.fleet.servers.check(self.hold.session, self.hold.nodes) if self.hold.session.is_open else False
        yield self.fleet.latency()
        self.say("return", "verify", call, status="ZKL_OK" if lives else "ZKL_LOST")
        if not lives:
            self.hear_of_its_end()

    def commit(self):
        mark = f"mark={self.who}.{self.fleet.next_number()}"
        call = self.begin("commit", mark=mark, deadline_ms=10000)
        yield from self.online()
        if self.hold.session.is_open and self.fleet.servers.check(self.hold.session, self.hold.nodes, mark):
            yield self.fleet.latency()
            self.say("return", "commit", call, status="ZKL_OK" if self.random.random() < 0.9 else "ZKL_UNKNOWN")
        else:
            self.say("return", "commit", call, status="ZKL_LOST")
            self.hear_of_its_end()

    def write(self):
        """Claims, reads and writes a row of the store."""
        key, token = self.hold.nodes[0].resource, self.hold.token
        yield self.random.randint(1, MS)
        fence, value = self.fleet.stock.get(key, ([0, 0], 0))
        if token < fence:
            self.fleet.line("store", "refused", key=key, token=token, by=self.who, what="claim")
            return
        self.fleet.stock[key] = (token, value)
        self.fleet.line("store", "claimed", key=key, token=token, by=self.who)
        yield self.random.randint(1, 5 * MS)
        self.write_row(key, token, value)

    def write_row(self, key, token, value):
        call = self.begin("store_write")
        mine = {"key": key, "token": token, "by": self.who, "call": call}
        accepts = self.fleet.stock[key][0] == token
        if accepts:
            self.fleet.stock[key] = (token, value + 1)
            self.fleet.line("store", "written", read=value, value=value + 1, **mine)
        else:
            self.fleet.line("store", "refused", what="write", **mine)
        self.say("return", "store_write", call, status="ZKL_OK" if accepts else "refused")

    # ---- Changes of the mode --------------------------------------------------------------

    def downgrade(self):
        hold = self.hold
        call = self.begin("downgrade", deadline_ms=-1)
        yield from self.online()
        reader = self.fleet.servers.downgrade(hold.nodes[0], self.who)
        yield self.fleet.latency()
        if reader is None:
            self.say("return", "downgrade", call, status="ZKL_LOST")
            self.hear_of_its_end()
            return
        hold.nodes, hold.mode = [reader], "read"
        self.say("return", "downgrade", call, status="ZKL_OK")

    def upgrade(self):
        hold = self.hold
        reader = hold.nodes[0]
        call = self.begin("upgrade")
        yield from self.online()
        if not reader.lives or hold.session is not self.process.session:
            self.say("return", "upgrade", call, status="ZKL_LOST")
            self.hear_of_its_end()
            return
        if self.fleet.servers.queues[reader.resource] != [reader]:
            self.say("return", "upgrade", call, status="ZKL_BUSY")
            return
        unique = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        node, = self.fleet.servers.create(hold.session, [(reader.resource, "write", 1)], unique, self.who)
        node.request, self.upgraded = Request([node]), node
        before = self.fleet.servers.queues[reader.resource][:2] == [reader, node]
        yield self.fleet.latency()
        if not before or not node.lives or not reader.lives:
            self.say("return", "upgrade", call, status="ZKL_BUSY")
            self.delete_later([node])
            return
        self.granted("return", "upgrade", call, MadeHold("write", [node], [node.zxid, 0], hold.session), "write")
        self.delete_later([reader])

    # ---- A turn ---------------------------------------------------------------------------

    def use(self):
        """Does something with what it holds."""
        drawn = self.random.random()
        if drawn < 0.2:
            yield from self.verify()
        elif drawn < 0.4:
            yield from self.commit()
        elif drawn < 0.7 and self.hold.mode in ("exclusive", "write") and len(self.hold.nodes) == 1:
            yield from self.write()
        elif self.hold.mode == "write":
            yield from self.downgrade()
        elif self.hold.mode == "read":
            yield from self.upgrade()

    def use_up(self):
        until = self.fleet.now + self.random.choice((1, 2, 5, 20, 400)) * MS
        yield self.random.randint(1, MS)
        if not self.hold.is_lost and not self.process.is_cut:
            yield from self.use()
        while self.fleet.now < until or (self.process.is_cut and self.random.random() < 0.7):
            yield self.random.randint(MS, 100 * MS)
            self.check()

    def release(self):
        hold = self.hold
        call = self.begin("release", deadline_ms=5000)
        if hold.is_lost:
            self.say("return", "release", call, status="ZKL_LOST")
            self.delete_later(hold.nodes)
        else:
            yield from self.confirm(hold, call)
        self.hold = None

    def confirm(self, hold, call):
        tells = hold.mode in ("exclusive", "write")
        if (yield from self.online(self.fleet.now + 5 * S)):
            for node in hold.nodes:
                if node.lives:
                    self.fleet.servers.delete(node.session, node, tells)
            yield self.fleet.latency()
            self.say("return", "release", call, status="ZKL_OK")
        else:
            self.say("return", "release", call, status="ZKL_PENDING")
            self.delete_later(hold.nodes)

    def write_record(self, **answer):
        call = self.begin("write_record")
        self.say("return", "write_record", call, **answer)

    def turn(self):
        if self.random.random() < 0.1:
            Task(self.fleet, self.process, self.cancel(self.random.randint(1, 20 * MS)))
        if self.random.random() < 0.02:
            call = self.begin("set_hosts")
            self.say("return", "set_hosts", call, status="ZKL_OK")
        if (yield from self.acquire()) is None:
            yield self.random.randint(MS, 20 * MS)
            return
        if self.kind == "reentrant":
            again = self.begin("acquire", deadline_ms=-1)
            self.say("return", "acquire", again, status="ZKL_OK", token=self.hold.token, node=self.hold.nodes[0].path)
        yield from self.use_up()
        if self.kind == "reentrant":
            inner = self.begin("release", deadline_ms=0)
            self.say("return", "release", inner, status="ZKL_LOST" if self.hold.is_lost else "ZKL_OK")
        yield from self.release()

    def open(self):
        call = self.begin("open")
        self.say("return", "open", call, status="ZKL_OK", options=self.options())

    def close(self):
        self.write_record(status="ZKL_SYSTEM", message="No space left on device")
        self.write_record(status="ZKL_OK")
        call = self.begin("close")
        self.say("return", "close", call, status="ZKL_OK")
        self.is_closed = True

    def live(self):
        self.open()
        while not self.fleet.is_ending:
            yield from self.turn()
            if self.fleet.pause:
                yield self.random.randint(0, self.fleet.pause)
        self.close()
