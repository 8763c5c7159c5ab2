"""Packets that are dropped, delayed and refused, all at the bridge; connections of which one side has forgotten."""
import json
import re
import subprocess
import threading

from .fault import Fault
from .network import Drop, call, lost
from .wire import PORT

# A client that has sent more has done more than shake hands.
SPOKEN_BYTES = 200


def both_ways(some, others):
    return [(some, others, ""), (others, some, "")]


class OfNetwork(Fault):
    """By rules at the bridge, whose counter is the proof."""

    group = "network"
    drops = ()
    client = None  # the machine that is hit, if one is

    @property
    def servers(self):
        return [one.host for one in self.world.servers.present]

    def rules(self):
        """Those of a Drop."""
        raise NotImplementedError

    def begin(self):
        self.drops = [Drop(*self.rules())]

    def proof(self):
        dropped = sum(one.count() for one in self.drops)
        return {"packets dropped, of nftables": dropped} if dropped else {}

    def end(self):
        for one in self.drops:
            one.end()

    def touches(self):
        return [self.client.name] if self.client else None

    def told(self, *hosts):
        self.target = " ".join(one.name for one in hosts)
        return hosts


class OfAClient(OfNetwork):
    """A machine on which somebody holds, where there is one."""

    def choose(self):
        holding = {one.host.name: one.host for one in self.world.fleet.holders()}
        self.client = self.chance.choice(list(holding.values()) or self.world.machines)
        self.told(self.client)

    def its_server(self):
        """The one to which most of its connections go."""
        return max(self.servers, key=lambda one: len(self.client.established(PORT, one.address)))


class ClientFromOne(OfAClient):
    """From the server that it is connected to."""

    name = "client cut from one server"

    def choose(self):
        super().choose()
        self.server = self.its_server()
        self.told(self.client, self.server)

    def rules(self):
        return both_ways([self.client], [self.server])


class ClientFromAll(OfAClient):
    name = "client cut from all servers"
    lasts_s = 6  # longer than a session

    def rules(self):
        return both_ways([self.client], self.servers)

    def silences(self):
        return [self.client.name]


class OneWay(OfAClient):
    """What a client sends arrives, and no answer does; or the answers would."""

    name = "client cut one way"

    def choose(self):
        super().choose()
        self.is_unheard = self.chance.random() < 0.5
        self.target += " is not heard" if self.is_unheard else " does not hear"

    def rules(self):
        return [([self.client], self.servers, "") if self.is_unheard else (self.servers, [self.client], "")]

    def silences(self):
        return [self.client.name]


class InHalves(OfNetwork):
    """The servers: the leader is alone, or with one other."""

    group = "servers"
    pairs = False
    name = "servers in two halves"
    lasts_s = 6

    def choose(self):
        leader = self.world.servers.leader().host
        others = [one for one in self.servers if one is not leader]
        self.half = self.told(leader, *self.chance.sample(others, self.chance.randrange(2)))

    def rules(self):
        return both_ways(self.half, [one for one in self.servers if one not in self.half])


class ServersOneWay(OfNetwork):
    """A follower hears the leader, and is not heard; or the other way round."""

    group = "servers"
    pairs = False
    name = "servers cut one way"
    lasts_s = 6

    def choose(self):
        leader = self.world.servers.leader().host
        other = self.chance.choice([one for one in self.servers if one is not leader])
        self.unheard, self.deaf = self.told(*self.chance.sample((leader, other), 2))

    def rules(self):
        return [([self.unheard], [self.deaf], "")]


class Flapping(OfNetwork):
    """Its rules come and go."""

    CUT_S = MENDED_S = 0.1

    def begin(self):
        self.is_over = threading.Event()
        self.flips, self.dropped = 0, 0
        self.thread = threading.Thread(target=self.flap)
        self.thread.start()

    def flap(self):
        while not self.is_over.is_set():
            drop = Drop(*self.rules())
            self.is_over.wait(self.CUT_S)
            self.before_it_is_mended()
            self.dropped += drop.count()
            drop.end()
            self.flips += 1
            self.is_over.wait(self.MENDED_S)

    def before_it_is_mended(self):
        """What else is done while its rules are there."""

    def proof(self):
        return {"packets dropped, of nftables": self.dropped, "times": self.flips} if self.dropped and self.flips > 2 else {}

    def end(self):
        self.is_over.set()
        self.thread.join()


class ClientFlapping(Flapping, ClientFromAll):
    name = "client cut and mended every 100 ms"
    lasts_s = 3

    def silences(self):
        return []


class AnswersLost(Flapping, OfAClient):
    """What a machine of clients asks is done, and no answer arrives: its connections end before one is sent again."""

    name = "client's answers lost"
    pairs = False
    lasts_s = 6
    MENDED_S = 0.6  # in which they connect again, and somebody is granted

    def begin(self):
        self.ended = 0
        super().begin()

    def rules(self):
        """New connections can be made: who has lost one tries at once, and would try again after a second only."""
        return [(self.servers, [self.client], "tcp flags & syn == 0")]

    def before_it_is_mended(self):
        self.ended += len(self.client.end_connections(PORT))

    def proof(self):
        seen = super().proof()
        return {**seen, "connections ended before": self.ended} if seen and self.ended else {}


class LeaderFlapping(Flapping, InHalves):
    name = "servers cut and mended every 100 ms"


class Lost(OfNetwork):
    """A share of all packets, between clients and servers and among servers."""

    lasts_s = 5
    percent = None

    def choose(self):
        self.target = "all"

    def rules(self):
        everybody = [*self.world.machines, *self.servers]
        return [(everybody, everybody, lost(self.percent))]


class HalfOpen(OfAClient):
    """One side's kernel forgets the connections between a client and a server, and what it would say of it is lost: for
    the other side they stand."""

    name = "half-open connections"
    pairs = False

    def choose(self):
        super().choose()
        self.server = self.its_server()
        self.forgets, self.keeps = self.told(*self.chance.sample((self.client, self.server), 2))

    def rules(self):
        return [([self.forgets], [self.keeps], "tcp flags & (fin | rst) != 0")]

    def begin(self):
        super().begin()
        port = "dport" if self.forgets is self.client else "sport"
        self.forgets.call("ss", "-HKtn", "state", "established", f"dst {self.keeps.address} and {port} = :{PORT}")

    def proof(self):
        """What stands on one side only, by both kernels."""
        alone = self.connections(self.keeps) - self.connections(self.forgets)
        return {"connections that one side has forgotten": len(alone)} if alone else {}

    def connections(self, host):
        """Between the two, by the client's port, as that host's kernel lists them."""
        lines = host.call("ss", "-Htn", "state", "established").splitlines()
        pairs = [dict(re.findall(r"([\d.]+)\]?:(\d+)", line)) for line in lines]
        return {pair[self.client.address] for pair in pairs if {self.client.address, self.server.address} == set(pair)}


class NoRoute(OfAClient):
    """A machine of clients has a blackhole where the route to the servers was: what it sends fails at home."""

    name = "client without a route"

    def begin(self):
        self.failed = self.sends_that_failed()
        for server in self.servers:
            self.client.call("ip", "route", "add", "blackhole", f"{server.address}/32")

    def silences(self):
        return [self.client.name]

    def sends_that_failed(self):
        """Of the whole machine, for want of a route: by the kernel's counters."""
        names, numbers = (line.split() for line in self.client.call("cat", "/proc/net/snmp").splitlines()[:2])
        return int(numbers[names.index("OutNoRoutes")])

    def proof(self):
        failed = self.sends_that_failed() - self.failed
        return {"OutNoRoutes": failed} if failed else {}

    def end(self):
        call("ip", "-n", self.client.name, "route", "flush", "type", "blackhole")


class Delayed(OfAClient):
    """What goes between a machine of clients and the servers takes longer, in each direction, by a proxy on that machine
    to which its kernel turns new connections. The ones that stand are ended."""

    name = "client far away"
    lasts_s = 5
    GROUP = 65534  # whose connections are not turned: the proxy's own

    def choose(self):
        super().choose()
        self.milliseconds = self.chance.choice((50, 150, 400))
        self.target += f" by {self.milliseconds} ms"

    def begin(self):
        hosts = [f"{one.address}:{PORT}" for one in self.servers]
        # Of bench/, where it makes the servers of a benchmark distant.
        self.proxy = subprocess.Popen(
            self.client.inside("setpriv", f"--regid={self.GROUP}", "--clear-groups",
                               f"{self.world.build}/bench/bench_delay_proxy", str(self.milliseconds), *hosts),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ways = zip(self.servers, self.proxy.stdout.readline().strip().split(","))
        self.client.call("nft", "-f", "-", text="\n".join([
            "table ip far {", "chain leaving {", "type nat hook output priority -100;",
            *(f"ip daddr {server.address} tcp dport {PORT} meta skgid != {self.GROUP} counter dnat to {way}"
              for server, way in ways), "}", "}", ""]))
        self.client.end_connections(PORT)

    def proof(self):
        self.proxy.stdin.write("counts\n")
        self.proxy.stdin.flush()
        counts = self.proxy.stdout.readline().strip()
        turned = [int(one) for one in re.findall(r"packets (\d+)", self.client.call("nft", "list", "table", "ip", "far"))]
        if sum(turned) == 0 or json.loads(counts)["bytes"] < SPOKEN_BYTES:
            return {}
        return {"connections turned, of nftables": sum(turned), "milliseconds each way": self.milliseconds,
                "requests through the proxy": counts}

    def end(self):
        self.client.call("nft", "flush", "ruleset")
        self.proxy.kill()  # and with it all connections that go through it
        self.proxy.wait()


FAULTS = {one.name: one for one in (ClientFromOne, ClientFromAll, InHalves, OneWay, ServersOneWay, ClientFlapping,
                                    AnswersLost, LeaderFlapping, HalfOpen, NoRoute, Delayed)}
FAULTS.update((f"{percent} % of packets lost",
               type("Lost", (Lost,), {"name": f"{percent} % of packets lost", "percent": percent, "pairs": percent > 1}))
              for percent in (1, 10, 30))
