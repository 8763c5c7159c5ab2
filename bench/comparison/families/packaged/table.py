import os

from ...harness.mechanism import EXPIRES, HARMFUL, LEASED, SAFE, Mechanism
from . import zookeeper_clients

FAMILY = "what people really run"
HERE = os.path.dirname(os.path.abspath(__file__))
# Where install-node and install-go put what no package of Debian's has, too.
MADE = zookeeper_clients.MADE
ETCD_LEASE_MS = 2000  # its shortest


def made(name, script):
    """Why it cannot be had, if its script has not made it."""
    return "" if os.path.exists(f"{MADE}/{name}") else f"families/packaged/{script} has not made it: no package, or no registry"


# Its leases are so long that a round has too few orders to be sure of one which takes longer.
LEASES = {name: harm for name, harm in EXPIRES.items() if name != "timeout-half-p99"}
# Its holder asks the server whether it still has it. Its wait is broken: taken twice it is refused, and two buyers that
# need two locks try again and again, until one is lucky.
ASKS = {name: harm for name, harm in LEASES.items() if name not in ("taken-twice", "opposite-orders")}
ASKS |= dict.fromkeys(("holder-stopped", "work-too-long", "cut-off"), SAFE)
# It waits for the replies of all servers, and ioredis keeps a request to one that is down longer than the lock lasts.
# Its holder looks whether its time is over.
WAITS_FOR_ALL = {name: harm for name, harm in EXPIRES.items() if not name.startswith("timeout")}
WAITS_FOR_ALL |= {"two-servers-down": HARMFUL, **dict.fromkeys(("holder-stopped", "work-too-long", "cut-off"), SAFE)}
del WAITS_FOR_ALL["majority-forgets"]  # it gets no lock with two servers down
# A waiter whose lease has ended is granted the lock all the same; it looks at its session before it writes, which may
# know it by then. Its key is its session's: taken twice it is there already, and the first release ends it.
ITS_KEY = dict(zookeeper_clients.TOLD)

MECHANISMS = [
    *zookeeper_clients.MECHANISMS,
    Mechanism("python-redis", "python3-redis, Lock", "other_process", "redis-py 4.3, Lock", "redis",
              command=f"/usr/bin/python3 {HERE}/redis_lock.py", files=("redis_lock.py",), theory=EXPIRES),
    Mechanism("node-redlock", "npm's redlock 4.2 with ioredis 5, five servers", "other_process", "node-redlock 4.2, README", "redis-5",
              command=f"env NODE_PATH={MADE}/node_modules node {HERE}/redlock.js", files=("redlock.js",), theory=WAITS_FOR_ALL,
              cannot=made("node_modules/redlock", "install-node")),
    Mechanism("python-etcd3", "python3-etcd3, Lock, whose wait Debian's tenacity breaks (python-etcd3, issue 1543)", "other_process", "python-etcd3 0.12, Lock", "etcd",
              command=f"/usr/bin/python3 {HERE}/etcd3_lock.py", files=("etcd3_lock.py",),
              theory=ASKS, timeout_ms=ETCD_LEASE_MS),
    Mechanism("go-etcd-concurrency", "etcd's Go package, concurrency.Mutex", "other_process", "etcd 3.4, clientv3/concurrency", "etcd",
              command=f"{MADE}/etcd_concurrency", files=("etcd_concurrency.go",), token="the create revision of its key, asked for in a request more", asks=b"lock/dryer",
              theory=ITS_KEY, timeout_ms=ETCD_LEASE_MS, queues=LEASED,
              cannot=made("etcd_concurrency", "install-go")),
    Mechanism("redisson", "Redisson (Java)", "other_process", "Redisson, RLock", "redis",
              cannot="Debian has no package of it, and the comparison takes Java from Debian alone"),
    Mechanism("jedis", "Jedis (Java)", "other_process", "Jedis", "redis",
              cannot="Debian has no package of it, and the comparison takes Java from Debian alone"),
]
