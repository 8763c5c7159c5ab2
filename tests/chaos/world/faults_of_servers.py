"""Servers that are killed, stopped, restarted and moved, and their disks."""
import os
import shutil
import signal
import time

from . import wire
from .fault import Fault
from .network import Drop
from .servers import JOINERS, OBSERVER, line_of
from .waiting import wait_until

AMONG = ("leader", "follower", "observer", "two of three", "all")


def chosen(servers, among, chance):
    """The servers that a fault's second word means."""
    voters = [one for one in servers.present if one.number != OBSERVER]
    if among == "two of three":
        return chance.sample(voters, 2)
    if among == "all":
        return servers.present
    return [chance.choice(servers.with_role(among))]


class OfServers(Fault):
    group = "servers"
    pairs = False
    among = None

    @property
    def servers(self):
        return self.world.servers

    def choose(self):
        self.hit = chosen(self.servers, self.among, self.chance)
        self.target = " ".join(one.name for one in self.hit)
        self.since = {one.name: one.log_size() for one in self.hit}

    def logged(self, pattern):
        """The first line of each that was hit, from the beginning of the fault on."""
        found = {one.name: one.logged(pattern, self.since[one.name])[:1] for one in self.hit}
        return {name: lines[0] for name, lines in found.items() if lines}


class Silent(OfServers):
    """Servers that answer nothing."""

    pairs = True

    def silences(self):
        return [one.name for one in self.world.machines] if self.among == "all" else []

    def is_silent(self):
        return all(wire.word(one.address, "srvr", 0.3) is None for one in self.hit)


class Killed(Silent):
    """SIGKILL."""

    def begin(self):
        self.status = {one.name: one.kill() for one in self.hit}

    def proof(self):
        ended = all(status == -signal.SIGKILL for status in self.status.values())
        return {"wait status": self.status} if ended and self.is_silent() else {}


class Stopped(Silent):
    """SIGSTOP: its connections stay open."""

    def begin(self):
        for one in self.hit:
            one.pause()

    def proof(self):
        states = {one.name: one.state() for one in self.hit}
        return {"/proc": states} if set(states.values()) == {"paused"} and self.is_silent() else {}

    def end(self):
        for one in self.hit:
            one.resume()


class Restarted(OfServers):
    """SIGTERM, and started again at once."""

    lasts_s = 1

    def begin(self):
        self.status = {one.name: one.stop() for one in self.hit}
        self.servers.start()

    def proof(self):
        lines = self.logged(r"QuorumPeer - (LEADING|FOLLOWING|OBSERVING)$")
        return {"wait status": self.status, "log": lines} if len(lines) == len(self.hit) else {}


class RollingRestart(OfServers):
    """One after the other is restarted, when the one before serves again; the leader at the end."""

    name = "rolling restart"
    among = "all"
    lasts_s = 0

    def begin(self):
        self.status = {}
        for one in sorted(self.hit, key=lambda one: one.role() == "leader"):
            self.status[one.name] = one.stop()
            self.servers.start()
            self.servers.await_service()

    def proof(self):
        return {"wait status": self.status}


class LeaderMoved(OfServers):
    """Again and again the leader is restarted."""

    name = "leader moved every 2 s"
    among = "leader"
    lasts_s = 0
    TIMES, EVERY_S = 3, 2

    def begin(self):
        self.leaders = []
        self.epoch = self.hit[0].zxid() >> 32
        for _ in range(self.TIMES):
            leader = wait_until(self.leader_now, "somebody leads")
            self.leaders.append(leader.name)
            leader.stop()
            self.servers.start()
            self.world.sleep(self.EVERY_S)

    def leader_now(self):
        return next(iter(self.servers.all_with_role("leader")), None)

    def proof(self):
        """The epoch is in the upper half of the zxid, which a write makes new."""
        leader = self.leader_now()
        epoch = leader.zxid() >> 32 if leader else 0
        return {"leaders": self.leaders, "epochs": [self.epoch, epoch]} if epoch >= self.epoch + self.TIMES else {}


# ---- Disks --------------------------------------------------------------------------------------------------------

class OfADisk(OfServers):
    def choose(self):
        self.among = self.chance.choice(("leader", "follower"))
        super().choose()


class DiskFull(OfADisk):
    """Of one server. It is ended before there is room again: one that goes on writes behind what it has written by half,
    and does not find it when it starts again (ZOOKEEPER-4882; docs/zookeeper.md)."""

    name = "server's disk full"

    def begin(self):
        self.hit[0].fill_disk()

    def proof(self):
        lines = self.logged("No space left on device")
        return {"log": lines, "bytes free": self.hit[0].free_bytes()} if lines else {}

    def end(self):
        self.hit[0].kill()
        self.hit[0].empty_disk()


class DiskSlow(OfADisk):
    """Each fsync of one server takes longer."""

    name = "server's disk slow"
    MS = 1200

    def begin(self):
        self.hit[0].slow_disk(self.MS)

    def proof(self):
        lines = self.logged(r"fsync-ing the write ahead log in \S+ took \d+ ?ms")
        return {"log": lines} if lines else {}

    def end(self):
        self.hit[0].slow_disk(0)


class DataLost(OfServers):
    """A server comes back without its data, while the others have every commit: it gets all from the leader."""

    name = "server's data lost"
    among = "follower"
    lasts_s = 1

    def begin(self):
        one = self.hit[0]
        one.kill()
        self.servers.committed()
        self.zxid = self.servers.leader().zxid()
        one.lose_data()
        self.servers.start()

    def proof(self):
        lines = self.logged("currentEpoch not found")
        has_all = self.hit[0].zxid() >= self.zxid
        return {"log": lines, "zxid": f"{self.hit[0].zxid():#x}"} if lines and has_all else {}


class OldSnapshot(OfServers):
    """All servers get an old copy of the data, as from a backup that is several elections old. Clients that have seen later
    transactions are refused; whoever was without a server for longer than its session comes with a new one, which knows
    nothing. It ends as docs/operations.md has it: the sessions of the copy end before any client is let in again, and the
    epoch is set above all that was given out."""

    name = "old snapshot restored"
    among = "all"

    def begin(self):
        place = os.path.join(self.world.place, "backup")
        shutil.rmtree(place, ignore_errors=True)
        self.copy_while_held(place)
        self.age()
        self.zxid = self.servers.leader().zxid()
        self.stop_all()
        self.epoch = max(one.epoch() for one in self.hit)
        self.since = {one.name: one.log_size() for one in self.hit}
        for one in self.hit:
            one.restore_data(place, self.world.restores)
        self.world.restores += 1
        self.world.history.write("restored")
        self.servers.start()

    def copy_while_held(self, place):
        leader = self.servers.leader()
        leader.stop()
        leader.copy_of_data(place)
        self.servers.start()

    def age(self):
        """Elections that the copy knows nothing of, and transactions after them."""
        for _ in range(2):
            self.servers.await_service()
            self.world.await_grants()
            self.servers.leader().stop()
            self.servers.start()
        self.servers.await_service()
        self.world.await_grants()

    def stop_all(self):
        for one in self.hit:
            one.stop()

    def proof(self):
        """The servers serve, and are back where they were."""
        leader = next(iter(self.servers.all_with_role("leader")), None)
        zxid = leader.zxid() if leader else 0
        lines = self.logged("Refusing session.* has seen zxid")
        return {"zxids": [f"{self.zxid:#x}", f"{zxid:#x}"], "log": lines} if 0 < zxid < self.zxid else {}

    def end(self):
        """Clients are kept out, as a session that was sought for its timeout is accepted again."""
        closed = Drop((self.world.machines, [one.host for one in self.hit], ""))
        self.servers.await_service()
        wait_until(lambda: not self.servers.sessions(), "the sessions of the copy end")
        self.stop_all()
        greater = self.chance.choice((self.epoch + 1, int(time.time())))  # or where nobody knows the last one
        for one in self.hit:
            one.set_epoch(greater)
        closed.end()


# ---- Who is a server ----------------------------------------------------------------------------------------------

class Reconfigured(OfServers):
    """Two more servers join those that vote; the clients are told, use them, are told again; and the two leave."""

    name = "reconfigured 3 to 5 to 3"
    among = "all"
    lasts_s = 0

    def begin(self):
        self.configurations = []
        joining = [self.servers.all[number] for number in JOINERS]
        self.servers.start(*joining)
        for one in joining:
            wait_until(one.role, f"{one.name} serves", 60)
        self.change(joining=JOINERS)
        self.servers.members |= set(JOINERS)
        self.servers.await_service()
        self.world.tell_hosts()
        self.world.await_grants()
        self.servers.members -= set(JOINERS)
        self.world.tell_hosts()
        self.change(leaving=JOINERS)
        for one in joining:
            one.stop()

    def change(self, joining=(), leaving=()):
        with wire.Session(self.servers.leader().address, 4000) as session:
            answer = session.reconfigure(",".join(f"server.{one}={line_of(one)}" for one in joining) or None,
                                         ",".join(map(str, leaving)) or None)
            session.close()
        self.configurations.append(sorted(line.split("=")[0] for line in answer.splitlines() if "participant" in line))

    def proof(self):
        counts = [len(one) for one in self.configurations]
        return {"configurations, of the servers": self.configurations} if counts == [5, 3] else {}


def named(kind, verb):
    return {f"{among} {verb}": type(kind.__name__, (kind,), {"name": f"{among} {verb}", "among": among})
            for among in AMONG}


FAULTS = {**named(Killed, "killed"), **named(Stopped, "stopped"), **named(Restarted, "restarted"),
          **{one.name: one for one in (RollingRestart, LeaderMoved, DiskFull, DiskSlow, DataLost, OldSnapshot,
                                       Reconfigured)}}
