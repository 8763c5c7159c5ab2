"""What the rounds share: the stock's databases, and the servers of the locks, each started when first asked for."""
import contextlib
import importlib
import itertools
import os
import pkgutil
import subprocess
import tempfile
import threading

from .. import families
from . import servers
from .proxy import Proxy
from .sale import SCHEMA

DATABASES = {"postgresql": servers.PostgreSQL, "mariadb": servers.MariaDB}


def tables():
    """(title of the family, folder, its mechanisms), by the names of the folders."""
    for module in sorted(pkgutil.iter_modules(families.__path__), key=lambda one: one.name):
        table = importlib.import_module(f"{families.__name__}.{module.name}.table")
        yield table.FAMILY, os.path.dirname(table.__file__), table.MECHANISMS


class RedisServers(servers.Group):
    """The first is what a lock on one server uses; Redlock uses all."""

    def __init__(self, place, count):
        self.all = [servers.Redis(place, f"redis-{number}") for number in range(1, count + 1)]

    def start(self):
        for one in self.all:
            one.start()
        return self


class PromotedRedis(servers.Group):
    """A primary and its replica, behind one address that leads to whichever is primary."""

    def __init__(self, place):
        self.primary = servers.Redis(place, "primary").start()
        self.link = Proxy(self.primary.port)  # by which the replica hears of the primary's keys
        self.replica = servers.Redis(place, "replica", primary=self.link).start()
        self.front = Proxy(self.primary.port)
        self.all = [self.primary, self.replica]

    @property
    def address(self):
        return self.front.address

    def start(self):
        servers.wait_until(lambda: "master_link_status:up" in self.replica.ask("INFO", "replication"), "the replica follows")
        return self

    def lose_primary(self):
        """Before its replica has its last keys: replication is asynchronous."""
        self.primary.kill()
        self.replica.ask("REPLICAOF", "NO", "ONE")
        self.front.target = self.replica.port
        self.front.mend()

    def end(self):
        for one in (self.front, self.link):
            one.end()
        super().end()


ensembles = itertools.count(1)
SERVERS = {
    "redis": lambda place: RedisServers(place, 1),
    "redis-5": lambda place: RedisServers(place, 5),
    "redis-6": lambda place: RedisServers(place, 6),
    "redis-promoted": PromotedRedis,
    "etcd": servers.EtcdServers,
    "zookeeper": lambda place: servers.ZooKeeper(f"compare-{os.getpid()}-{next(ensembles)}"),
}


class Bench:
    def __init__(self, place, build):
        self.place = place
        self.build = build
        self.lock = threading.Lock()
        self.running = {}
        self.failed = {}
        self.turns = {}

    def get(self, name, start):
        """A server that does not start is a failure of those who need it, and of no others; it is tried once."""
        with self.lock:
            if name in self.failed:
                raise self.failed[name]
            if name not in self.running:
                try:
                    self.running[name] = start()
                except (servers.CannotServe, OSError, subprocess.SubprocessError) as reason:
                    self.failed[name] = servers.CannotServe(f"{name}: {reason}")
                    raise self.failed[name] from reason
            return self.running[name]

    def alone(self, mechanism):
        """Held by a round while it runs."""
        with self.lock:
            return self.turns.setdefault(mechanism.name, threading.Lock()) if mechanism.locks_tables else contextlib.nullcontext()

    def database(self, mechanism):
        name = f"{mechanism.database}-{mechanism.name}" if mechanism.locks_tables else mechanism.database

        def start():
            made = DATABASES[mechanism.database](self.place, name).start()
            made.run(SCHEMA)
            return made
        return self.get(name, start)

    def servers(self, mechanism):
        """None where the lock needs none of its own."""
        if mechanism.servers == "none":
            return None
        return self.get(mechanism.servers, lambda: self.own_servers(mechanism))

    def new_place(self):
        return tempfile.mkdtemp(dir=self.place)

    def own_servers(self, mechanism):
        """For a round that does to them what others must not meet; whoever asks for them ends them."""
        place = self.new_place()
        os.chmod(place, 0o755)
        return SERVERS[mechanism.servers](place).start()

    def own_redis(self, mechanism, clocks):
        """Each with a clock of its own, that can be stepped."""
        place = self.new_place()
        made = SERVERS[mechanism.servers](place)
        for one in made.all:
            clocks.append(servers.Clock(place, one.name, f"{self.build}/comparison_clock.so"))
            one.environment = clocks[-1].environment
        return made.start()

    def new_clock(self, name):
        return servers.Clock(self.new_place(), name, f"{self.build}/comparison_clock.so")

    def end(self):
        for one in self.running.values():
            one.end()
