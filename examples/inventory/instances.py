"""Instances of the inventory service on real servers: what its tests and its story share."""
import collections
import contextlib
import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import tempfile
import threading
import time
import uuid

SERVICE = os.environ.get("INVENTORY_SERVICE", "inventory-service")
COMMAND = os.environ.get("ZKLOCK_COMMAND", "zklock")
HOSTS = os.environ.get("ZKLOCK_HOSTS", "")
PATIENCE_S = 60
SELLERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sellers")
# Debian's jars, in the order in which java searches them; it compiles the source by itself.
JARS = ("curator-recipes", "curator-framework", "curator-client", "zookeeper-jute", "zookeeper", "guava", "slf4j-api",
        "slf4j-nop", "sqlite-jdbc")


def wait_until(condition, what, seconds=PATIENCE_S):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"in vain for {seconds} s: {what}")
        time.sleep(0.02)


class Instance:
    """One process of the service."""

    orders = None  # it takes them over HTTP

    def __init__(self, name, database, hosts, **settings):
        self.name = name
        self.settings = {"instance": name, "database": database, "hosts": hosts, "port": 0, "page": 1, "demonstration": 1,
                         "session_timeout_ms": 4000, **settings}
        self.log = []
        self.reads_log = threading.Event()
        self.reads_log.set()
        self.process = None
        self.port = 0
        self.start()

    def environment(self):
        return {**os.environ, **{f"INVENTORY_{name.upper()}": str(value) for name, value in self.settings.items()}}

    def command(self):
        return [SERVICE]

    def start(self):
        self.process = subprocess.Popen(self.command(), stdin=self.orders, stdout=subprocess.PIPE, env=self.environment(),
                                        text=True)
        self.reader = threading.Thread(target=self.read_log, args=[self.process.stdout], daemon=True)
        self.reader.start()

    def read_log(self, lines):
        for line in lines:
            self.reads_log.wait()
            self.take_line(json.loads(line))

    def take_line(self, one):
        if one["event"] == "ready":
            self.port = int(one["port"])
        self.log.append(one)

    def wait_ready(self):
        wait_until(lambda: any(one["event"] == "ready" for one in self.log), f"{self.name} is ready")
        return self

    def logged(self, event, **more):
        return [one for one in list(self.log)
                if one["event"] == event and all(one.get(name) == value for name, value in more.items())]

    def ask(self, method, path, body=None, timeout=PATIENCE_S, content_type="application/json"):
        """Status, and the JSON of the answer."""
        connection = http.client.HTTPConnection(self.settings.get("address", "127.0.0.1"), self.port, timeout=timeout)
        try:
            text = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
            connection.request(method, path, text, {} if text is None else {"Content-Type": content_type})
            answer = connection.getresponse()
            content = answer.read().decode()
            is_json = answer.getheader("Content-Type") == "application/json"
            return answer.status, json.loads(content) if is_json else content
        finally:
            connection.close()

    def headers(self, method, path):
        """Of the answer to one without a body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path)
            return connection.getresponse().headers
        finally:
            connection.close()

    def get(self, path):
        return self.ask("GET", path)

    def post(self, path, body, timeout=PATIENCE_S):
        return self.ask("POST", path, body, timeout)

    def order(self, sku, units=1, key=None, buyer="somebody", **more):
        return self.post("/orders", {"key": key or uuid.uuid4().hex, "buyer": buyer, "sku": sku, "units": units, **more})

    def kill(self):
        self.process.kill()
        self.forget()

    def forget(self):
        self.process.wait(timeout=PATIENCE_S)
        self.reader.join()
        self.process.stdout.close()

    def restart(self):
        """At the same port."""
        self.settings["port"] = self.port
        self.log.clear()
        self.start()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.forget()
        return self.process.returncode


class Seller(Instance):
    """One process of sellers/, which takes orders and answers them as an instance does, but over its standard input."""

    orders = subprocess.PIPE

    def __init__(self, name, database, hosts, program, session_timeout_ms=4000):
        self.program = program
        self.answers = collections.defaultdict(queue.SimpleQueue)
        super().__init__(name, database, hosts, session_timeout_ms=session_timeout_ms)

    def command(self):
        return [*self.program, self.settings["hosts"], self.settings["database"], str(self.settings["session_timeout_ms"]),
                self.name]

    def take_line(self, one):
        self.log.append(one)
        if one["event"] == "answered":
            self.answers[one["order"]].put(one)

    def order(self, sku, units=1, key=None, buyer="somebody", think_ms=0):
        """No status, and the answer."""
        key = key or uuid.uuid4().hex
        answer = self.answers[key]
        os.write(self.process.stdin.fileno(), f"{key} {sku} {units} {think_ms} {buyer}\n".encode())
        return None, answer.get(timeout=PATIENCE_S)

    def read_log(self, lines):
        """When it ends, whoever waits for an answer is told that there will be none."""
        super().read_log(lines)
        for one in list(self.answers.values()):
            one.put({"reason": "gone"})
        self.answers.clear()

    def forget(self):
        self.process.stdin.close()
        super().forget()

    def end(self):
        """It ends when there are no further orders."""
        self.forget()
        return self.process.returncode


class CuratorSeller(Seller):
    language = "Java (Curator)"

    def __init__(self, database, hosts=HOSTS, **more):
        class_path = ":".join(f"/usr/share/java/{jar}.jar" for jar in JARS)
        program = ["java", "-Xmx128m", "-cp", class_path, os.path.join(SELLERS, "Seller.java")]
        super().__init__("java", database, hosts, program, **more)


class KazooSeller(Seller):
    language = "Python (kazoo)"

    def __init__(self, database, hosts=HOSTS, program=("seller.py",), **more):
        program = ["/usr/bin/python3", os.path.join(SELLERS, program[0]), *program[1:]]
        super().__init__("python", database, hosts, program, **more)


class Shop:
    """Several instances over one new database."""

    def __init__(self, count, hosts=HOSTS, database=None, port=0, **settings):
        self.place = tempfile.TemporaryDirectory()
        self.database = database or os.path.join(self.place.name, "inventory.db")
        # The page of the first one needs others: three have ports that are known, and can be published.
        self.instances = [Instance(f"shop-{i + 1}", self.database, hosts, port=port + i if port and i < 3 else 0, **settings)
                          for i in range(count)]
        for one in self.instances:
            one.wait_ready()

    def __getitem__(self, number):
        return self.instances[number % len(self.instances)]

    def add(self, sku, units, segments=1):
        status, answer = self[0].post("/products", {"sku": sku, "name": sku, "units": units, "segments": segments})
        assert status == 201, answer

    def product(self, sku, instance=0):
        status, answer = self[instance].get(f"/products/{sku}")
        assert status == 200, answer
        return answer

    def leave(self, count):
        """So many instances; the others end."""
        for one in self.instances[count:]:
            one.end()
        del self.instances[count:]

    def end(self):
        codes = {one.name: one.end() for one in self.instances}
        self.place.cleanup()
        assert all(code in (0, -signal.SIGTERM, -signal.SIGKILL) for code in codes.values()), codes


class Gate:
    """Holds the lock of a product, by the command zklock, until the buyers stand in the queue behind it."""

    def __init__(self, sku):
        self.path = f"/locks/{sku}/stripe-0000"
        self.process = subprocess.Popen([COMMAND, "run", "--hosts", HOSTS, "--tick-time", "500ms", "-q", self.path, "cat"],
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        wait_until(lambda: self.length() == 1, "the gate is closed")

    def contenders(self):
        asked = subprocess.run([COMMAND, "status", "--hosts", HOSTS, "--json", self.path], capture_output=True, text=True,
                               check=True)
        return json.loads(asked.stdout)["contenders"]

    def length(self):
        return len(self.contenders())

    def holder(self):
        return self.contenders()[0]["node"]

    def wait_for(self, others):
        wait_until(lambda: self.length() == others + 1, f"{others} stand in the queue")

    def open(self):
        if not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.wait()


class PostgreSQL:
    """A server of our own, for one test; its data are in a directory that goes."""

    def __init__(self):
        self.place = tempfile.TemporaryDirectory()
        binaries = subprocess.run("ls -d /usr/lib/postgresql/*/bin | tail -1", shell=True, capture_output=True,
                                  text=True, check=True).stdout.strip()
        data = os.path.join(self.place.name, "data")
        os.chmod(self.place.name, 0o755)
        os.mkdir(data)
        self.as_other = []
        if os.getuid() == 0:  # it does not run as root
            subprocess.run(["chown", "postgres", data, self.place.name], check=True)
            self.as_other = ["runuser", "-u", "postgres", "--"]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.control = [*self.as_other, f"{binaries}/pg_ctl", "-D", data, "-w", "-s"]
        self.options = ["-o", f"-p {self.port} -h 127.0.0.1 -k '' -F", "-l", f"{data}/log"]
        subprocess.run([*self.as_other, f"{binaries}/initdb", "-D", data, "-U", "shop", "-A", "trust", "-N"], check=True,
                       stdout=subprocess.DEVNULL, cwd="/")
        self.run("start", *self.options)
        self.url = f"postgresql://shop@127.0.0.1:{self.port}/postgres"

    def run(self, *words):
        subprocess.run([*self.control, *words], check=True, stdout=subprocess.DEVNULL, cwd="/")

    def sql(self, text, user="shop"):
        """What comes of it, as text."""
        return subprocess.run(["psql", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", self.url.replace("//shop@", f"//{user}@")],
                              input=text, capture_output=True, text=True, check=True).stdout.strip()

    @contextlib.contextmanager
    def locked(self, table):
        """By somebody who does not come to an end."""
        holder = subprocess.Popen(["psql", "-q", self.url], stdin=subprocess.PIPE, text=True)
        try:
            holder.stdin.write(f"BEGIN; LOCK TABLE {table};\n")
            holder.stdin.flush()
            wait_until(lambda: self.sql("SELECT count(*) FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock'"
                                        f" AND relation = '{table}'::regclass") == "1", f"{table} is locked")
            yield
        finally:
            holder.communicate()

    def signal(self, number):
        """To the server and all its processes."""
        with open(os.path.join(self.place.name, "data", "postmaster.pid"), encoding="ascii") as file:
            first = int(file.readline())
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(first)], capture_output=True, text=True, check=True)
        for pid in [first, *map(int, children.stdout.split())]:
            os.kill(pid, number)

    def restart(self):
        """Without waiting for its clients."""
        self.run("restart", "-m", "fast", *self.options)

    def end(self):
        self.run("stop", "-m", "immediate")
        self.place.cleanup()
