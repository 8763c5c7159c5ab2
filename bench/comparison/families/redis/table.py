from ...harness.mechanism import EXPIRES, FOR_EVER, HARMFUL, LEASED, RENEWED, SAFE, STAYS, Mechanism

FAMILY = "Redis"
# Its time begins at the server; that a reply was late for the holder, nobody sees.
BEGINS_EARLIER = {**EXPIRES, "packets-lost": HARMFUL}
# Whoever unlocks deletes what is there.
NOT_OURS = {**BEGINS_EARLIER, "strangers-unlock": HARMFUL}
# Commands, as they are on the wire.
SET, SETNX, SCRIPT = b"\r\nSET\r\n", b"\r\nSETNX\r\n", b"\r\nEVAL\r\n"
GIVES_BACK = rb"\r\nDEL\r\n|'del'"
SEGMENT_LOCKS = ("Optimizing Distributed Lock Concurrency for High-Throughput Order Scenarios,"
                 " www.besthub.dev/articles/optimizing-distributed-lock-concurrency-for-high-throughput-order-scenarios-7f490e651cb5")
REDLOCK = "redis.io, Distributed Locks with Redis"


def without(experiment, theory):
    """What theory does not decide of this one."""
    return {name: harm for name, harm in theory.items() if name != experiment}


def one_server(name, title, source, theory, more_files=(), token="", asks=SET, stop_point=b"", queues="", shares=False):
    program = name.replace("-", "_")
    return Mechanism(f"redis-{name}", title, f"redis_{program}", source, "redis", files=(f"{program}.c", *more_files),
                     theory=theory, token=token, asks=asks, gives_back=GIVES_BACK, stop_point=stop_point, queues=queues,
                     shares=shares)


# Whether votes are split is chance.
# The holder looks whether its time is over.
OF_SEVERAL = {**{name: harm for name, harm in EXPIRES.items() if not name.startswith("timeout")},
              **dict.fromkeys(("holder-stopped", "work-too-long", "cut-off", "minority-partition", "timeout-100-p99",
                               "redlock-server-slow"), SAFE), "one-clock": HARMFUL}
# Two that come back and one that forgets are no majority of six.
OF_SIX = {**OF_SEVERAL, "one-clock": SAFE}


def redlock(name, title, program, servers, more_files=(), theory=OF_SEVERAL):
    return Mechanism(name, title, f"redis_{program}", REDLOCK, servers, files=(f"{program}.c", *more_files), theory=theory,
                     gives_back=GIVES_BACK)


# The holder looks after its work: what happens between the look and the write remains.
LOOKED_AT = {**without("timeout-half-p99", EXPIRES), **dict.fromkeys(
    ("holder-stopped", "work-too-long", "cut-off", "server-restarted", "servers-clock"), SAFE)}
# A dead waiter counts for as long as it would have waited.
FAIR = {name: harm for name, harm in EXPIRES.items() if not name.startswith("waiter")}
# Several are at work at once by intent.
SEGMENTS = {name: harm for name, harm in without("strangers-unlock", EXPIRES).items() if not name.startswith("timeout")}

MECHANISMS = [
    one_server("setnx", "SETNX, then DEL", "redis.io, SETNX", STAYS, asks=SETNX),
    one_server("setnx-then-expire", "SETNX, EXPIRE, DEL", "redis.io, SETNX and EXPIRE",
               {**NOT_OURS, "reply-lost": HARMFUL, "dies-between": HARMFUL}, asks=SETNX, stop_point=b"PEXPIRE"),
    one_server("setnx-timestamp", "SETNX of a time, GETSET", "redis.io, SETNX, Design pattern: Locking with SETNX",
               {**without("strangers-unlock", EXPIRES), "servers-clock": SAFE, "buyers-clock": HARMFUL}, asks=SETNX),
    one_server("set-plain-del", "SET NX PX, then DEL", "redis.io, SET, Patterns", NOT_OURS),
    one_server("thread-id", "SET NX PX, a thread id, GET and DEL",
               "seen in repositories, for example com.example.lock.distributed, LockCase3.java (Gusuchen)", NOT_OURS),
    one_server("random-value", "SET NX PX, a random value, a script to delete", "redis.io, SET, Patterns", BEGINS_EARLIER),
    # The holder looks after its work, so neither experiment gets between look and write.
    # Of two that wait for each other, each finds at last that its own first lock is over, and neither writes.
    one_server("looked-at", "a random value, looked at before the write", "go-redsync/redsync, pull request 42",
               without("opposite-orders", LOOKED_AT)),
    one_server("watchdog-blind", "a watchdog with EXPIRE",
               "majian000/toucan-shopping: RedisLockThread.java of toucan-shopping-lock-redis", RENEWED, ("ticker.c",)),
    one_server("watchdog-script", "a watchdog that compares", "Redisson, lockWatchdogTimeout; polled here", RENEWED, ("ticker.c",)),
    one_server("reentrant-hash", "a reentrant hash", "Redisson, Lock; polled here", {**BEGINS_EARLIER, "taken-twice": SAFE}, asks=SCRIPT),
    one_server("fair-list", "a fair queue in a list, polled",
               "seen as fairLockScript (TypeScript)",
               {**EXPIRES, **dict.fromkeys(("reply-lost", "waiter-killed", "waiter-gives-up", "crowd-leaves"), HARMFUL)},
               asks=b"RPUSH", queues=FOR_EVER),
    one_server("fair-list-expiring", "a fair queue whose waiters expire", "Redisson, Fair Lock; polled here", FAIR, asks=SCRIPT, queues=LEASED),
    one_server("write-lock", "a read/write lock, its writers", "Redisson, ReadWriteLock; polled here", without("taken-twice", EXPIRES), asks=SCRIPT),
    one_server("five-segments", "five segments", SEGMENT_LOCKS, SEGMENTS, shares=True),
    one_server("woken", "a random value, woken by pub/sub", "Redisson, Lock", EXPIRES),
    one_server("counter", "a random value, with a counter", "Kleppmann, How to do distributed locking",
               {**BEGINS_EARLIER, "counter-goes-back": HARMFUL},
               asks=SCRIPT, token="INCR in the same script; goes back after a restart without the append-only file"),
    Mechanism("redis-counter-durable", "the same, with the append-only file, fsync always", "redis_counter",
              "redis.io, Redis persistence", "redis-durable", files=("counter.c",), asks=SCRIPT, gives_back=GIVES_BACK,
              theory={**BEGINS_EARLIER, "counter-goes-back": SAFE, "server-restarted": SAFE}, token="INCR in the same script"),
    Mechanism("redis-promoted", "a random value, a replica that is promoted", "redis_random_value", "redis.io, Replication",
              "redis-promoted", files=("random_value.c",), theory=BEGINS_EARLIER, gives_back=GIVES_BACK),
    redlock("redlock-in-turn", "Redlock on five, in turn", "redlock_in_turn", "redis-5"),
    redlock("redlock-parallel", "Redlock on five, in parallel", "redlock_parallel", "redis-5", ("crowd.c",)),
    redlock("redlock-six-in-turn", "Redlock on six, in turn", "redlock_in_turn", "redis-6", theory=OF_SIX),
    redlock("redlock-six-parallel", "Redlock on six, in parallel", "redlock_parallel", "redis-6", ("crowd.c",), OF_SIX),
]
