"""The servers of the comparison: started, hurt and stopped as processes, from Debian's packages."""
import contextlib
import glob
import importlib
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import urllib.request

PATIENCE_S = 60
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def cpu_s(pids):
    """Of these processes and their children, since they started; one that has just ended counts no more."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                words = file.read().rpartition(")")[2].split()
            total += sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                total += cpu_s(file.read().split())
        except OSError:
            pass
    return total


class CannotServe(Exception):
    """A server that did not start, or died by itself: why."""


given_ports = set()


def free_port():
    """Below those that the kernel gives to connections, and to nobody twice: it may be a while until it is used."""
    while True:
        port = random.randrange(24000, 32000)
        with socket.socket() as free:
            if port not in given_ports and free.connect_ex(("127.0.0.1", port)) != 0:
                given_ports.add(port)
                return port


def wait_until(holds, what, patience_s=PATIENCE_S):
    until = time.monotonic() + patience_s
    while not holds():
        if time.monotonic() > until:
            raise CannotServe(f"{what}: not within {patience_s} s")
        time.sleep(0.01)


def answers(port):
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def state_of(process):
    """As the kernel calls it: T is stopped, Z has ended."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


class Clock:
    """A clock on the wall that can be stepped, of one process or of several."""

    def __init__(self, place, name, library):
        self.path = os.path.join(place, f"{name}.clock")
        self.environment = {"LD_PRELOAD": library, "COMPARISON_CLOCK": self.path}
        self.step(0)

    def step(self, seconds):
        """From now on it is so many seconds ahead of the real one."""
        with open(self.path, "r+b" if os.path.exists(self.path) else "wb") as file:
            file.write(struct.pack("=q", seconds))


class Process:
    """One server: its directory, its port, and the process that serves now, if one does."""

    def __init__(self, place, name):
        self.place = os.path.join(place, name)
        self.name = name
        self.port = free_port()
        self.process = None
        self.environment = {}
        os.makedirs(self.place, exist_ok=True)
        # Each server of another user's has to read its way there.
        os.chmod(self.place, 0o755)

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def command(self):
        raise NotImplementedError

    def serves(self):
        return answers(self.port)

    def start(self):
        with open(os.path.join(self.place, "log"), "ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT, cwd=self.place,
                                            env={**os.environ, **self.environment})
        wait_until(lambda: self.died() or self.serves(), f"{self.name} serves")
        if self.died():
            raise CannotServe(f"{self.name} has ended by itself: {self.last_words()}")
        return self

    def pids(self):
        return [self.process.pid]

    def requests(self):
        """How many it has answered so far, by its own count; None where it does not say."""
        return None

    def died(self):
        return self.process is not None and self.process.poll() is not None

    def last_words(self):
        with open(os.path.join(self.place, "log"), errors="replace", encoding="utf-8") as log:
            return " ".join(log.read().split())[-300:]

    def signal(self, number):
        os.kill(self.process.pid, number)

    def stop(self):
        """Returns when the kernel says that it stands still. Its connections stay open."""
        self.signal(signal.SIGSTOP)
        wait_until(lambda: state_of(self.process) == "T", f"{self.name} is stopped")

    def resume(self):
        self.signal(signal.SIGCONT)

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.process.kill()
        if self.process is not None:
            self.process.wait()
        self.process = None

    def end(self):
        """With its files: they may be in memory, and each round may have servers of its own."""
        self.kill()
        shutil.rmtree(self.place, ignore_errors=True)


class Redis(Process):
    """As Debian's package configures it, apart from its place: snapshots, and no append-only file."""

    def __init__(self, place, name, primary=None, options=()):
        super().__init__(place, name)
        self.options = [*options]
        if primary is not None:
            self.options += ["--replicaof", f"127.0.0.1 {primary.port}"]

    def command(self):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.place, *self.options]

    def ask(self, *words):
        """The reply as redis-cli prints it."""
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True, check=True,
                              timeout=PATIENCE_S).stdout.strip()

    def requests(self):
        lines = self.ask("INFO", "stats").split()
        return int(next(line.partition(":")[2] for line in lines if line.startswith("total_commands_processed:")))


class Etcd(Process):
    """One of three."""

    def __init__(self, place, name):
        super().__init__(place, name)
        self.peer_port = free_port()
        self.all = None

    def command(self):
        peers = ",".join(f"{one.name}=http://127.0.0.1:{one.peer_port}" for one in self.all)
        client, peer = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.peer_port}"
        return ["etcd", "--name", self.name, "--data-dir", os.path.join(self.place, "data"),
                "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
                "--initial-advertise-peer-urls", peer, "--initial-cluster", peers, "--log-level", "error"]

    def requests(self):
        """Calls by gRPC, those of the gateway and of the other servers included."""
        with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=PATIENCE_S) as answer:
            lines = answer.read().decode().splitlines()
        counts = [line.rpartition(" ")[2] for line in lines if line.startswith("grpc_server_started_total")]
        return int(sum(map(float, counts)))


class Group:
    """Servers that are one lock's."""

    all = ()

    @property
    def address(self):
        return ",".join(one.address for one in self.all)

    def pids(self):
        return [pid for one in self.all for pid in one.pids()]

    def requests(self):
        counts = [one.requests() for one in self.all]
        return None if None in counts else sum(counts)

    def restart(self):
        """All are killed, and then started again, with what they have on their disks."""
        for one in self.all:
            one.kill()
        self.start()

    def mend(self):
        """Whether all serve again, and what a round has left behind is no harm to the next one."""
        return False

    def end(self):
        for one in self.all:
            one.end()


class EtcdServers(Group):
    def __init__(self, place, count=3):
        self.all = [Etcd(place, f"etcd-{number}") for number in range(1, count + 1)]
        for one in self.all:
            one.all = self.all

    def start(self):
        for one in self.all:  # none serves before two do
            with open(os.path.join(one.place, "log"), "ab") as log:
                one.process = subprocess.Popen(one.command(), stdin=subprocess.DEVNULL, stdout=log,
                                               stderr=subprocess.STDOUT, cwd=one.place)
        for one in self.all:
            wait_until(lambda one=one: one.died() or one.serves(), f"{one.name} serves")
            if one.died():
                raise CannotServe(f"{one.name} has ended by itself: {one.last_words()}")
        wait_until(self.all_are_healthy, "all of etcd's servers serve")
        return self

    def leader(self):
        """The one that says so of itself."""
        for one in self.all:
            asked = subprocess.run(["etcdctl", "--endpoints", one.address, "endpoint", "status", "-w", "json"],
                                   capture_output=True, text=True, env={**os.environ, "ETCDCTL_API": "3"}, check=False,
                                   timeout=PATIENCE_S)
            for status in json.loads(asked.stdout or "[]"):
                if status["Status"]["leader"] == status["Status"]["header"]["member_id"]:
                    return one
        raise CannotServe("etcd has no leader")

    def kill_leader(self):
        self.leader().kill()

    def mend(self):
        """As Group's: whoever comes next locks what nobody has locked."""
        for one in self.all:
            if one.process is None:
                one.start()
        wait_until(self.all_are_healthy, "all of etcd's servers serve")
        return True

    def all_are_healthy(self):
        """Which they are with a leader only."""
        asked = subprocess.run(["etcdctl", "--endpoints", self.address, "endpoint", "health"], capture_output=True,
                               env={**os.environ, "ETCDCTL_API": "3"}, check=False, timeout=PATIENCE_S)
        return asked.returncode == 0


class ZooKeeper:
    """Three servers by ensemble/ensemble, as the tests use them."""

    def __init__(self, name, on_disk):
        self.name = name
        self.command = [f"{TOP}/ensemble/ensemble", "--local", "--name", name, *(["--disk"] if on_disk else [])]
        self.address = None

    def call(self, *words):
        asked = subprocess.run([*self.command, *words], capture_output=True, text=True, check=False)
        if asked.returncode != 0:
            raise CannotServe(f"ensemble {' '.join(words)}: {asked.stderr.strip()[-300:]}")
        return asked.stdout

    def start(self):
        self.address = self.call("start").splitlines()[-1]
        return self

    def kill_leader(self):
        leader = next(line.split()[0] for line in self.call("roles").splitlines() if " leader " in line)
        self.call("kill", leader)

    def restart(self):
        """As Group's."""
        self.call("kill", "1", "2", "3")
        self.call("start", "1", "2", "3")

    def mend(self):
        """Likewise."""
        self.call("start", "1", "2", "3")
        return True

    def pids(self):
        """Where ensemble/driver_local.sh keeps them."""
        base = f"{os.environ.get('TMPDIR', '/tmp')}/zklock-ensemble-{os.getuid()}/{self.name}"
        found = []
        for number in (1, 2, 3):
            with open(f"{base}/server-{number}/process", encoding="ascii") as file:
                found.append(int(file.read().split()[0]))
        return found

    def requests(self):
        """Packets that they have received, pings included."""
        return sum(self.packets_of(one) for one in self.address.split(","))

    @staticmethod
    def packets_of(address):
        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port)), PATIENCE_S) as asked:
            asked.sendall(b"mntr")
            text = b"".join(iter(lambda: asked.recv(65536), b"")).decode()
        return int(next(line.split()[1] for line in text.splitlines() if line.startswith("zk_packets_received")))

    def end(self):
        self.call("stop")


def other_user(name):
    """PostgreSQL and MariaDB do not run as root."""
    return ["runuser", "-u", name, "--"] if os.getuid() == 0 else []


class Database(Process):
    """What PostgreSQL and MariaDB have in common: a directory of another user's."""

    USER = None
    NOW_US = None  # an expression: its clock
    CLIENT = None  # the module; only who runs statements needs it

    def __init__(self, place, name, in_memory):
        super().__init__(place, name)
        self.in_memory = in_memory
        self.of_thread = threading.local()

    @staticmethod
    def url_at(port):
        """What a buyer is told; a proxy has a port of its own."""
        raise NotImplementedError

    def client(self):
        return importlib.import_module(self.CLIENT)

    def connect(self):
        """Each statement is a transaction."""
        raise NotImplementedError

    def run(self, statement):
        """Its rows. Each thread has a connection, and waits for nobody else's statement."""
        try:
            if not hasattr(self.of_thread, "connection"):
                self.of_thread.connection = self.connect()
            with self.of_thread.connection.cursor() as cursor:
                cursor.execute(statement)
                return list(cursor.fetchall()) if cursor.description else []
        except self.client().Error as reason:
            self.of_thread = threading.local()
            raise CannotServe(f"{self.name}: {reason}") from reason

    @property
    def url(self):
        return self.url_at(self.port)

    def now_us(self):
        return int(self.run(f"SELECT {self.NOW_US}")[0][0])

    def give_away(self, *paths):
        if os.getuid() == 0:
            for path in paths:
                shutil.chown(path, self.USER)


class PostgreSQL(Database):
    USER = "postgres"
    NOW_US = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
    CLIENT = "psycopg2"

    def __init__(self, place, name, in_memory=True):
        super().__init__(place, name, in_memory)
        self.binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.data = os.path.join(self.place, "data")
        self.give_away(self.place)
        subprocess.run([*other_user(self.USER), f"{self.binaries}/initdb", "-D", self.data, "-U", "shop", "-A", "trust",
                        "-N"], check=True, stdout=subprocess.DEVNULL, cwd="/")

    @staticmethod
    def url_at(port):
        return f"host=127.0.0.1 port={port} user=shop dbname=postgres connect_timeout=5"

    def command(self):
        durable = ["-F"] if self.in_memory else []
        return [*other_user(self.USER), f"{self.binaries}/postgres", "-D", self.data, "-p", str(self.port), "-h",
                "127.0.0.1", "-k", "", "-N", "500", *durable]

    def connect(self):
        made = self.client().connect(self.url, options=f"-c statement_timeout={PATIENCE_S * 1000}")
        made.autocommit = True
        return made

    def serves(self):
        command = [f"{self.binaries}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(command, check=False).returncode == 0

    def kill(self):
        """With all its processes: they end when the first one is gone."""
        if self.process is not None and self.process.poll() is None:
            with open(os.path.join(self.data, "postmaster.pid"), encoding="ascii") as file:
                os.kill(int(file.readline()), signal.SIGQUIT)
            self.process.wait()
        self.process = None


class MariaDB(Database):
    USER = "mysql"
    NOW_US = "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)"
    CLIENT = "MySQLdb"

    def __init__(self, place, name, in_memory=True):
        super().__init__(place, name, in_memory)
        self.data = os.path.join(self.place, "data")
        self.socket = os.path.join(self.place, "socket")
        self.give_away(self.place)
        subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={self.data}", f"--user={self.USER}",
                        "--auth-root-authentication-method=normal", "--skip-test-db"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @staticmethod
    def url_at(port):
        return f"127.0.0.1:{port}"

    def command(self):
        durable = ["--innodb-flush-log-at-trx-commit=0"] if self.in_memory else []
        return ["mariadbd", "--no-defaults", f"--datadir={self.data}", f"--user={self.USER}", f"--socket={self.socket}",
                f"--port={self.port}", "--bind-address=127.0.0.1", "--max-connections=500",
                "--innodb-buffer-pool-size=64M", *durable]

    def start(self):
        super().start()
        # Here and not in run: it waits for whoever has locked a table.
        with contextlib.closing(self.connect("")) as made, made.cursor() as cursor:
            cursor.execute("CREATE DATABASE IF NOT EXISTS shop")
        return self

    def connect(self, database="shop"):
        return self.client().connect(unix_socket=self.socket, user="root", db=database, autocommit=True,
                                     read_timeout=PATIENCE_S)
