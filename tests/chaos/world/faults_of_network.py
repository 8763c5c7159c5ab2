"""Packets that are dropped, delayed and refused, all at the bridge; connections of which one side has forgotten."""
import re
import subprocess
import threading

from .fault import Fault
from .network import Drop, lost
from .wire import PORT


class OfNetwork(Fault):
    """By rules at the bridge, whose counter is the proof."""

    group = "network"
    drops = ()

    def rules(self):
        """Drops."""
        raise NotImplementedError

    @property
    def clients(self):
        return self.world.machines

    @property
    def servers(self):
        return [one.host for one in self.world.servers.present]

    def begin(self):
        self.drops = self.rules()

    def proof(self):
        dropped = sum(one.count() for one in self.drops)
        return {"packets dropped, of nftables": dropped} if dropped else {}

    def end(self):
        for one in self.drops:
            one.end()

    def told(self, *hosts):
        self.target = " ".join(one.name for one in hosts)
        return hosts

    def a_client(self):
        """A machine on which somebody holds, where there is one."""
        holding = {one.host.name: one.host for one in self.world.traffic.holders()}
        return self.chance.choice(list(holding.values()) or self.clients)


class ClientFromOne(OfNetwork):
    """From the server to which most of its connections go."""

    name = "client cut from one server"

    def rules(self):
        client = self.a_client()
        server = max(self.servers, key=lambda one: len(client.established(PORT, one.address)))
        self.told(client, server)
        return [Drop.between([client], [server])]


class ClientFromAll(OfNetwork):
    name = "client cut from all servers"
    lasts_s = 6  # longer than a session

    def rules(self):
        client, = self.told(self.a_client())
        return [Drop.between([client], self.servers)]


class InHalves(OfNetwork):
    """The servers: the leader is alone, or with one follower of three."""

    name = "servers in two halves"
    lasts_s = 6

    def rules(self):
        leader = self.world.servers.leader().host
        others = [one for one in self.servers if one is not leader]
        mates = self.chance.sample(others, self.chance.randrange(2))
        one_half = self.told(leader, *mates)
        return [Drop.between(one_half, [one for one in others if one not in mates])]


class OneWay(OfNetwork):
    """What a client sends arrives, and no answer does; or the answers would."""

    name = "client cut one way"

    def rules(self):
        client, = self.told(self.a_client())
        way = ([client], self.servers, "") if self.chance.random() < 0.5 else (self.servers, [client], "")
        self.target += " to servers" if way[0] == [client] else " from servers"
        return [Drop(way)]


class ServersOneWay(OfNetwork):
    """A follower hears the leader, and is not heard; or the other way round."""

    name = "servers cut one way"
    lasts_s = 6

    def rules(self):
        leader = self.world.servers.leader().host
        other = self.chance.choice([one for one in self.servers if one is not leader])
        source, sink = self.told(*self.chance.sample((leader, other), 2))
        return [Drop(([source], [sink], ""))]


class Flapping(OfNetwork):
    """A machine of clients loses the servers and has them again, every 100 ms."""

    name = "client cut and mended every 100 ms"
    EVERY_S = 0.1

    def rules(self):
        self.client, = self.told(self.a_client())
        self.is_over = threading.Event()
        self.flips, self.dropped = 0, 0
        self.thread = threading.Thread(target=self.flap)
        self.thread.start()
        return []

    def flap(self):
        while not self.is_over.is_set():
            drop = Drop.between([self.client], self.servers)
            self.is_over.wait(self.EVERY_S)
            self.dropped += drop.count()
            drop.end()
            self.flips += 1
            self.is_over.wait(self.EVERY_S)

    def proof(self):
        return {"packets dropped, of nftables": self.dropped, "times": self.flips} if self.dropped and self.flips > 2 else {}

    def end(self):
        self.is_over.set()
        self.thread.join()


class Lost(OfNetwork):
    """A share of all packets, between clients and servers and among servers."""

    lasts_s = 5
    percent = None

    def rules(self):
        everybody = [*self.clients, *self.servers]
        self.target = "all"
        return [Drop((everybody, everybody, lost(self.percent)))]


class HalfOpen(OfNetwork):
    """One side's kernel forgets the connections between a client and a server, and what it would say of it is lost: for
    the other side they stand."""

    name = "half-open connections"

    def rules(self):
        client = self.a_client()
        server = max(self.servers, key=lambda one: len(client.established(PORT, one.address)))
        sides = self.told(*self.chance.sample((client, server), 2))
        self.forgets, self.keeps = sides
        is_client = self.forgets is client
        farewells = Drop(([self.forgets], [self.keeps], "tcp flags & (fin | rst) != 0"))
        self.forgets.call("ss", "-HKtn", "state", "established",
                          f"dst {self.keeps.address} and {'dport' if is_client else 'sport'} = :{PORT}")
        self.client, self.server = client, server
        return [farewells]

    def proof(self):
        """What stands on one side only, by both kernels."""
        alone = self.connections(self.keeps) - self.connections(self.forgets)
        return {"connections that one side has forgotten": len(alone)} if alone else {}

    def connections(self, host):
        """Between the two, by the client's port, as that host's kernel lists them."""
        lines = host.call("ss", "-Htn", "state", "established").splitlines()
        pairs = [dict(re.findall(r"([\d.]+):(\d+)", line)) for line in lines]
        return {pair[self.client.address] for pair in pairs if {self.client.address, self.server.address} == set(pair)}


class NoRoute(OfNetwork):
    """A machine of clients has a blackhole where the route to the servers was: what it sends fails at home."""

    name = "client without a route"

    def rules(self):
        self.client, = self.told(self.a_client())
        self.gone = [one.address for one in self.servers]
        self.failed = self.sends_that_failed()
        for address in self.gone:
            self.client.call("ip", "route", "add", "blackhole", f"{address}/32")
        return []

    def sends_that_failed(self):
        """Of the whole machine, for want of a route: by the kernel's counters."""
        names, numbers = (line.split() for line in self.client.call("cat", "/proc/net/snmp").splitlines()[:2])
        return int(numbers[names.index("OutNoRoutes")])

    def proof(self):
        failed = self.sends_that_failed() - self.failed
        return {"OutNoRoutes": failed} if failed else {}

    def end(self):
        for address in self.gone:
            self.client.call("ip", "route", "delete", "blackhole", f"{address}/32")


class Delayed(OfNetwork):
    """What goes between a machine of clients and the servers takes longer, in each direction, by a proxy on that machine
    to which its kernel turns new connections. The ones that stand are ended."""

    name = "client far away"
    lasts_s = 5
    GROUP = 65534  # whose connections are not turned: the proxy's own

    def rules(self):
        self.client, = self.told(self.a_client())
        self.milliseconds = self.chance.choice((50, 150, 400))
        self.target += f" by {self.milliseconds} ms"
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
        self.end_connections()
        return []

    def end_connections(self):
        self.client.call("ss", "-HKtn", "state", "established", f"( dport = :{PORT} )")

    def proof(self):
        self.proxy.stdin.write("counts\n")
        self.proxy.stdin.flush()
        counts = self.proxy.stdout.readline().strip()
        turned = [int(one) for one in re.findall(r"packets (\d+)", self.client.call("nft", "list", "table", "ip", "far"))]
        if sum(turned) == 0 or '"bytes": 0' in counts:
            return {}
        return {"connections turned, of nftables": sum(turned), "milliseconds each way": self.milliseconds,
                "requests through the proxy": counts}

    def end(self):
        self.client.call("nft", "delete", "table", "ip", "far")
        self.proxy.kill()
        self.proxy.wait()


FAULTS = {one.name: one for one in (ClientFromOne, ClientFromAll, InHalves, OneWay, ServersOneWay, Flapping, HalfOpen,
                                    NoRoute, Delayed)}
FAULTS.update((f"{percent} % of packets lost",
               type("Lost", (Lost,), {"name": f"{percent} % of packets lost", "percent": percent}))
              for percent in (1, 10, 30))
