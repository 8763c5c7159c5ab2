"""The processes that the benchmark talks to, each over its standard input and output."""
import json
import os
import shlex
import subprocess
import threading

JARS = ("curator-recipes", "curator-framework", "curator-client", "zookeeper-jute", "zookeeper", "guava",
        "slf4j-api", "slf4j-nop")
PATIENCE_S = 300  # for one answer; a slice takes seconds at most
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def command_of(peer, build):
    """How a peer is started. A peer that is added has its line here, and in PEERS of works.py."""
    if peer == "curator":
        class_path = ":".join(f"/usr/share/java/{jar}.jar" for jar in JARS)
        return ["java", "-Xmx512m", "-XX:-UsePerfData", "-cp", class_path, f"{HERE}/peers/CuratorPeer.java"]
    if peer == "kazoo":
        return ["/usr/bin/python3", f"{HERE}/peers/kazoo_peer.py"]
    return [f"{build}/bench/bench_{peer}"]


class Ended(Exception):
    """A child that has ended, or had to be ended because it did not answer."""

    def __init__(self, name, status):
        super().__init__(f"{name} has ended, with status {status}")
        self.name = name


class Child:
    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        watchdog = threading.Timer(PATIENCE_S, self.process.kill)
        watchdog.start()
        line = self.process.stdout.readline()
        watchdog.cancel()
        if not line:
            raise Ended(self.name, self.process.wait())
        return line

    def ask(self, line):
        self.tell(line)
        return json.loads(self.answer())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Proxy(Child):
    """Servers that are further away, or whose requests are counted by opcode."""

    def __init__(self, build, delay_ms, hosts):
        super().__init__("the delay proxy", [f"{build}/bench/bench_delay_proxy", str(delay_ms), *hosts])
        self.hosts = self.answer().strip().split(",")

    def counts(self):
        return self.ask("counts")


class Ensemble:
    """The three servers, by ensemble/ensemble."""

    def __init__(self):
        self.command = shlex.split(os.environ["ZKLOCK_ENSEMBLE"])
        # A follower first: where there is one session it is at a follower.
        roles = [line.split() for line in self.call("roles").splitlines()]
        self.hosts = [host for _, role, host in sorted(roles, key=lambda words: words[1] == "leader")]

    def processes(self):
        """Where ensemble/driver_local.sh keeps them."""
        base = f"{os.environ.get('TMPDIR', '/tmp')}/zklock-ensemble-{os.getuid()}"
        name = self.command[self.command.index("--name") + 1]
        for number in (1, 2, 3):
            with open(f"{base}/{name}/server-{number}/process", encoding="ascii") as file:
                yield int(file.read().split()[0])

    def cpu_us(self):
        """Of all three servers, since they started."""
        total = 0
        for process in self.processes():
            for thread in os.listdir(f"/proc/{process}/task"):
                try:
                    with open(f"/proc/{process}/task/{thread}/schedstat", encoding="ascii") as file:
                        total += int(file.read().split()[0])
                except OSError:
                    pass  # it has just ended
        return total / 1e3

    def call(self, *arguments):
        return subprocess.run([*self.command, *arguments], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout

    def leader(self):
        return next(line.split()[0] for line in self.call("roles").splitlines() if " leader " in line)

    def all_serve(self):
        return all(line.split()[1] in ("leader", "follower") for line in self.call("roles").splitlines())
