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


# Each write is on the disk before it is answered. Packaged, there is no append-only file.
DURABLE_REDIS = ("--appendonly", "yes", "--appendfsync", "always")


class RedisServers(servers.Group):
    """The first is what a lock on one server uses; Redlock uses all."""

    def __init__(self, place, count, durable):
        options = DURABLE_REDIS if durable else ()
        self.all = [servers.Redis(place, f"redis-{number}", options=options) for number in range(1, count + 1)]

    def start(self):
        for one in self.all:
            one.start()
        return self


class PromotedRedis(servers.Group):
    """A primary and its replica, behind one address that leads to whichever is primary."""

    def __init__(self, place, durable):
        options = DURABLE_REDIS if durable else ()
        self.primary = servers.Redis(place, "primary", options=options).start()
        self.link = Proxy(self.primary.port)  # by which the replica hears of the primary's keys
        self.replica = servers.Redis(place, "replica", primary=self.link, options=options).start()
        self.front = Proxy(self.primary.port)
        self.all = [self.primary, self.replica]

    @property
    def address(self):
        return self.front.address

    def start(self):
        servers.wait_until(lambda: "master_link_status:up" in self.replica.ask("INFO", "replication"),
                           "the replica follows")
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
# Of a place, and whether a commit is to wait for the disk of a machine that may lose its power.
SERVERS = {
    "redis": lambda place, durable: RedisServers(place, 1, durable),
    "redis-durable": lambda place, durable: RedisServers(place, 1, True),
    "redis-5": lambda place, durable: RedisServers(place, 5, durable),
    "redis-6": lambda place, durable: RedisServers(place, 6, durable),
    "redis-promoted": PromotedRedis,
    "etcd": lambda place, durable: servers.EtcdServers(place),
    "zookeeper": lambda place, durable: servers.ZooKeeper(f"compare-{os.getpid()}-{next(ensembles)}", durable),
}


class Bench:
    """All servers have their files in `place`, and wait for the disk below it if `durable`; else for memory, where they
    can be told so."""

    def __init__(self, place, build, durable=False):
        self.place = place
        self.build = build
        self.durable = durable
        self.lock = threading.Lock()
        self.running = {}
        self.spare = {}
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
            if not mechanism.locks_tables:
                return contextlib.nullcontext()
            return self.turns.setdefault(mechanism.name, threading.Lock())

    def database(self, mechanism):
        name = f"{mechanism.database}-{mechanism.name}" if mechanism.locks_tables else mechanism.database

        def start():
            made = DATABASES[mechanism.database](self.place, name, in_memory=not self.durable).start()
            for statement in SCHEMA:
                made.run(statement)
            return made
        return self.get(name, start)

    def servers(self, mechanism):
        """None where the lock needs none of its own."""
        if mechanism.servers == "none":
            return None
        return self.get(mechanism.servers, lambda: self.new_servers(mechanism))

    def new_place(self):
        return tempfile.mkdtemp(dir=self.place)

    def own_servers(self, mechanism):
        """For a round that does to them what others must not meet; whoever asks for them gives them back."""
        with self.lock:
            spare = self.spare.get(mechanism.servers)
            if spare:
                return spare.pop()
        return self.new_servers(mechanism)

    def new_servers(self, mechanism):
        place = self.new_place()
        os.chmod(place, 0o755)
        return SERVERS[mechanism.servers](place, self.durable).start()

    def take_back(self, mechanism, own):
        """For the next round that asks for such, if they can be mended: the servers of a quorum take long to start."""
        with contextlib.suppress(servers.CannotServe):
            if own.mend():
                with self.lock:
                    self.spare.setdefault(mechanism.servers, []).append(own)
                return
        own.end()

    def end_spare(self):
        """Those that wait for the next round: where nothing else is to run."""
        with self.lock:
            spare, self.spare = self.spare, {}
        for one in itertools.chain(*spare.values()):
            one.end()

    def own_redis(self, mechanism, clocks):
        """Each with a clock of its own, that can be stepped."""
        place = self.new_place()
        made = SERVERS[mechanism.servers](place, self.durable)
        for one in made.all:
            clocks.append(servers.Clock(place, one.name, f"{self.build}/comparison_clock.so"))
            one.environment = clocks[-1].environment
        return made.start()

    def new_clock(self, name):
        return servers.Clock(self.new_place(), name, f"{self.build}/comparison_clock.so")

    def end(self):
        self.end_spare()
        for one in self.running.values():
            one.end()
