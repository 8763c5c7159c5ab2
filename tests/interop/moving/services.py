"""The services of examples/moving, before, while and after they move, and a fleet of them."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile

from contender import TOP
from command import HOSTS, ZKLOCK, CommandTest, wait_until

sys.path.append(os.path.join(TOP, "bench", "comparison"))
from harness.servers import Etcd, PostgreSQL, Redis  # noqa: E402

SOURCES = os.path.join(TOP, "examples", "moving")
BUILT = os.environ["ZKLOCK_MOVING"]
JARS = ["curator-recipes", "curator-framework", "curator-client", "zookeeper-jute", "zookeeper", "guava", "slf4j-api",
        "slf4j-nop"]  # of Debian, in the order in which java searches them
CLASS_PATH = ":".join(f"/usr/share/java/{jar}.jar" for jar in JARS)
CURATOR = "StockWithCurator"
ZKR_LOCK = "stock_with_zkr_lock"
END_WITHIN_S = 60
FLEET, ORDERS = 3, 20  # instances; how many orders are taken between two changes
HELD_MS, FOR_EVER_MS = 1, 600000


@contextlib.contextmanager
def old_servers():
    """What the services had before: Curator's class, ZooKeeper's own lock, and the servers of the other old locks."""
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as started:
        os.chmod(place, 0o755)  # PostgreSQL is another user's
        subprocess.run(["javac", "-cp", CLASS_PATH, "-d", place, os.path.join(SOURCES, f"{CURATOR}.java")], check=True)
        build_zkr_lock(place)
        Services.built_here = place
        Services.redis, Services.database = Redis(place, "redis"), PostgreSQL(place, "postgresql")
        Services.etcd = Etcd(place, "etcd")
        Services.etcd.all = [Services.etcd]
        for server in Services.redis, Services.database, Services.etcd:
            started.callback(server.kill)
            server.start()
        yield


def build_zkr_lock(place):
    library = subprocess.run([os.path.join(TOP, "tools", "build-zookeeper-lock")], stdout=subprocess.PIPE, text=True,
                             check=True).stdout.strip()
    subprocess.run(["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-DTHREADED", f"-I{library}/include",
                    "-I/usr/include/zookeeper", "-o", os.path.join(place, ZKR_LOCK), os.path.join(SOURCES, f"{ZKR_LOCK}.c"),
                    os.path.join(SOURCES, "stock.c"), f"{library}/lib/libzkr_lock.a", "-lzookeeper_mt", "-lpthread"],
                   check=True)


class Services(CommandTest):
    """Each test has a resource of its own, and a file with the number of its orders."""

    built_here = redis = database = etcd = None  # of old_servers

    def setUp(self):
        super().setUp()
        self.instances = []
        self.addCleanup(self.kill_all)
        self.start_anew(f"/moving/{self.resource}")

    def start_anew(self, resource):
        self.resource = resource
        self.run_it(0, "run", resource, "--", "true")  # zkr_lock makes no parents
        with open(self.path("orders"), "w", encoding="ascii") as file:
            file.write(f"{0:020}")

    def kill_all(self):
        for instance in self.instances:
            if instance.poll() is None:
                os.killpg(instance.pid, signal.SIGKILL)
            instance.wait()
            instance.stdout.close()

    def orders(self):
        return int(self.text_of("orders"))

    # ---- How a service is started ------------------------------------------------------------

    def zklock(self, held_ms, *more):
        return [os.path.join(BUILT, "stock_with_zklock"), HOSTS, self.resource, self.path("orders"), str(held_ms), *more]

    def zklock_for_kazoo(self, held_ms):
        return self.zklock(held_ms, "kazoo")

    def curator(self, held_ms):
        return ["java", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", f"{CLASS_PATH}:{self.built_here}", CURATOR, HOSTS,
                self.resource, self.path("orders"), str(held_ms)]

    def zkr_lock(self, held_ms):
        return [os.path.join(self.built_here, ZKR_LOCK), HOSTS, self.resource, self.path("orders"), str(held_ms)]

    @staticmethod
    def kazoo(lock):
        return lambda self, held_ms: ["/usr/bin/python3", os.path.join(SOURCES, "stock_with_kazoo.py"), HOSTS,
                                      self.resource, self.path("orders"), str(held_ms), lock]

    def old_lock(self, held_ms, which, family, server):
        return [os.path.join(BUILT, f"stock_with_lock_of_{family}"), which, server, self.resource, self.path("orders"),
                str(held_ms)]

    def old_of_redis(self, held_ms):
        return self.old_lock(held_ms, "old", "redis", str(self.redis.port))

    def both_with_redis(self, held_ms):
        return [*self.old_lock(held_ms, "both", "redis", str(self.redis.port)), HOSTS]

    def old_of_database(self, held_ms):
        return self.old_lock(held_ms, "old", "postgresql", self.database.url)

    def both_with_database(self, held_ms):
        return [*self.old_lock(held_ms, "both", "postgresql", self.database.url), HOSTS]

    @staticmethod
    def commands(which):
        return lambda self, held_ms: [os.path.join(SOURCES, "stock_with_commands"), which, self.resource,
                                      self.path("orders"), str(held_ms / 1000)]

    def environment(self):
        """Of the services, and of whoever looks at them."""
        return {**os.environ, "PATH": os.path.dirname(ZKLOCK) + ":" + os.environ["PATH"],
                "ETCDCTL_ENDPOINTS": self.etcd.address, "ETCDCTL_API": "3", "REDIS_URL": f"redis://{self.redis.address}",
                "PGHOST": "127.0.0.1", "PGPORT": str(self.database.port), "PGUSER": "shop", "PGDATABASE": "postgres"}

    def begin(self, service, held_ms=HELD_MS):
        """Returns when its servers have answered."""
        instance = subprocess.Popen(service(self, held_ms), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                    env=self.environment(), start_new_session=True)
        self.instances.append(instance)
        self.assertEqual(instance.stdout.readline(), "open\n")
        return instance

    def finish(self, instance):
        """How many orders it has taken, and how many of them while somebody else was at it."""
        instance.terminate()
        words, _ = instance.communicate(timeout=END_WITHIN_S)
        return [int(number) for number in re.fullmatch(r"orders (\d+), overlaps (\d+)\n", words).groups()]

    # ---- A fleet -----------------------------------------------------------------------------

    def work_for_a_while(self):
        goal = self.orders() + ORDERS
        wait_until(lambda: self.orders() >= goal, f"{ORDERS} orders", END_WITHIN_S)

    def roll(self, services):
        """A fleet of the first, whose instances become those of the second one by one, and so on. Returns what all of them
        say at their end: orders and overlaps."""
        fleet, reports = [self.begin(services[0]) for _ in range(FLEET)], []
        for service in services[1:]:
            for _ in range(FLEET):
                fleet.append(self.begin(service))
                self.work_for_a_while()
                reports.append(self.finish(fleet.pop(0)))
        reports += [self.finish(instance) for instance in fleet]
        return reports

    def assert_moves(self, *services):
        """There and back, with never two holders, and no order lost."""
        reports = self.roll([*services, *services[-2::-1]])
        self.assertEqual(sum(overlaps for _, overlaps in reports), 0)
        self.assertEqual(self.orders(), sum(orders for orders, _ in reports))

    def assert_cannot_be_left_out(self, before, after):
        """Between the two there has to be a step: both hold at once."""
        first, second = self.begin(before, 20), self.begin(after, 20)
        self.work_for_a_while()
        overlaps = sum(self.finish(instance)[1] for instance in (first, second))
        self.assertGreater(overlaps, 0)
