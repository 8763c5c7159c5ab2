"""The network of a run: a bridge, and a network namespace for each machine on it.

All of it is inside the namespaces that tests/chaos/run gives the run, and ends with them. The run itself is on the
bridge too, so it reaches each server whatever the servers and the clients lose.
"""
import itertools
import json
import subprocess

from .waiting import NotSeen

NAMESPACES = "/run/netns"
BRIDGE = "bridge"
NET = "10.77.0"
OWN_ADDRESS = f"{NET}.254"

numbers = itertools.count(1)


def call(*words, text=None):
    """What it prints. It must succeed."""
    asked = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        raise NotSeen(f"{' '.join(words)}: {asked.stderr.strip()[-300:]}")
    return asked.stdout


class Network:
    """The bridge. Rules of packets are its own: what passes it passes them, and no sender is told."""

    def __init__(self):
        call("ip", "link", "set", "lo", "up")
        call("ip", "link", "add", BRIDGE, "type", "bridge")
        call("ip", "address", "add", f"{OWN_ADDRESS}/24", "dev", BRIDGE)
        call("ip", "link", "set", BRIDGE, "up")

    @staticmethod
    def mend():
        """No rule is left, whoever has made it."""
        call("nft", "flush", "ruleset")

    @staticmethod
    def add(name, number):
        """A machine."""
        call("ip", "netns", "add", name)
        call("ip", "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
        call("ip", "link", "set", f"to-{name}", "master", BRIDGE, "up")
        call("ip", "-n", name, "address", "add", f"{NET}.{number}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            call("ip", "-n", name, "link", "set", device, "up")
        return Host(name, f"{NET}.{number}")


class Host:
    """A machine: what runs in it has its network, and shares all else with the run."""

    def __init__(self, name, address):
        self.name = name
        self.address = address

    def inside(self, *words):
        """The command that runs this one there, as the same process."""
        return ["nsenter", f"--net={NAMESPACES}/{self.name}", "--", *words]

    def with_name(self, *words):
        """The same, and the process takes its machine's name for the one that it is on."""
        return self.inside("unshare", "--uts", "--", "sh", "-c", 'hostname "$0" && exec "$@"', self.name, *words)

    def call(self, *words, text=None):
        return call(*self.inside(*words), text=text)

    def established(self, port, address=None):
        """Its connections to that port (of that address), as the kernel lists them."""
        wanted = [f"( dport = :{port} )"] + ([f"dst {address}"] if address else [])
        return self.call("ss", "-Htn", "state", "established", " and ".join(wanted)).splitlines()

    def end_connections(self, port):
        """Resets those to that port. Returns them."""
        return self.call("ss", "-HKtn", "state", "established", f"( dport = :{port} )").splitlines()


def addresses(hosts):
    return f"{{ {', '.join(one.address for one in hosts)} }}"


class Drop:
    """Packets that the bridge drops. Each rule is (from hosts, to hosts, further conditions)."""

    def __init__(self, *rules):
        self.table = f"drop-{next(numbers)}"
        lines = [f"ip saddr {addresses(sources)} ip daddr {addresses(sinks)} {conditions} counter name dropped drop"
                 for sources, sinks, conditions in rules]
        call("nft", "-f", "-", text="\n".join([
            f"table bridge {self.table} {{", "counter dropped { }", "chain passing {",
            "type filter hook forward priority 0; policy accept;", *lines, "}", "}", ""]))

    def count(self):
        """So many so far, by the kernel's own counter."""
        listed = json.loads(call("nft", "-j", "list", "counter", "bridge", self.table, "dropped"))["nftables"]
        return next(one["counter"]["packets"] for one in listed if "counter" in one)

    def end(self):
        call("nft", "delete", "table", "bridge", self.table)


def lost(percent):
    """The condition of a packet's being lost by chance."""
    return f"numgen random mod 100 < {percent}"
