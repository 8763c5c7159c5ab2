from ...harness.mechanism import HARMFUL, LEASED, SAFE, SESSION, SESSION_LOOKED_AT, STAYS, Mechanism

FAMILY = "ZooKeeper"
# Of a session that is over an ephemeral node goes with it; this one stays.
PERSISTENT = {**STAYS, "counter-goes-back": SAFE}
# A request whose reply was lost has made a node, which its own session keeps: the next one waits for it.
ALONE = {**SESSION, "reply-lost": HARMFUL}
# Neither repeats its release, which is refused if its session moves to another server while it is under way.
del PERSISTENT["release-reply-lost"], ALONE["release-reply-lost"]
# It is found.
FOUND = {**SESSION_LOOKED_AT, "reply-lost": SAFE, "taken-twice": SAFE, "waiter-lease-ended": SAFE, "minority-partition": SAFE}
# A delete, also one in a transaction: its number, and a path that is shorter than 256 bytes.
GIVES_BACK = rb"\x00\x00\x00\x02(\x00\xff\xff\xff\xff)?\x00\x00\x00./"
LEASE_MS = 2500  # five ticks of the servers
# The end of the wait, a session timeout, counts as granted. Whether that happens in a rush depends on its speed.
BREAKS_IN = {"holder-killed": SAFE, "holder-stopped": HARMFUL, "work-too-long": HARMFUL, "counter-goes-back": SAFE}
CZXID = "the czxid of its node, which the article does not use"

MECHANISMS = [
    Mechanism("zookeeper-herd", "a queue, everybody watches the parent", "zookeeper_herd",
              "ZooKeeper Recipes, Locks: what step 2 warns of", "zookeeper", files=("herd.c",),
              gives_back=GIVES_BACK, asks=b"/n-", token=CZXID, theory=ALONE, queues=LEASED),
    Mechanism("zookeeper-one-node", "one ephemeral node, no sequence", "zookeeper_one_node",
              "ZooKeeper (USENIX ATC 2010), Simple Locks", "zookeeper", files=("one_node.c",),
              gives_back=GIVES_BACK, asks=b"/one-node/dryer", token=CZXID, theory=ALONE),
    Mechanism("zookeeper-persistent", "one persistent node", "zookeeper_persistent_node",
              "kazoo 2.8, Lock.acquire(ephemeral=False)", "zookeeper", files=("persistent_node.c",),
              gives_back=GIVES_BACK, asks=b"/persistent/dryer", token=CZXID, theory=PERSISTENT),
    Mechanism("zookeeper-deaf-latch", "a copied class: a deletion wakes nobody", "zookeeper_deaf_latch",
              "seen in repositories, for example com.work.zookeeperlock, ZooKeeperUtil.java; copies name"
              " blog.csdn.net/peace1213/article/details/52571445", "zookeeper", files=("deaf_latch.c",), token=CZXID,
              theory={"rush": HARMFUL, **BREAKS_IN}, queues=LEASED),
    Mechanism("zookeeper-any-event", "its cousin: any event opens the latch", "zookeeper_any_event",
              "seen in repositories, for example com.fisher.distributedLock.zk.normal, DistributedLock.java",
              "zookeeper", files=("any_event.c",), token=CZXID, theory=BREAKS_IN, queues=LEASED),
    Mechanism("zklock", "zklock, exclusive", "zklock", "this tree", "zookeeper", files=("zklock.c", "zklock_client.c"),
              ours=True, queues=LEASED,
              gives_back=GIVES_BACK, token="the czxid of its place in the queue", theory=FOUND,
              asks=b"-lock-"),
    Mechanism("zklock-write", "zklock, write lock of a read/write pair", "zklock_write", "this tree", "zookeeper",
              files=("zklock_write.c", "zklock_client.c"), ours=True, queues=LEASED,
              gives_back=GIVES_BACK, token="the czxid of its place in the queue", theory=FOUND,
              asks=b"-__WRIT__"),
    Mechanism("zklock-striped", "zklock, 16 stripes", "zklock_striped", "this tree", "zookeeper",
              files=("zklock_striped.c", "zklock_client.c"), ours=True, queues=LEASED, gives_back=GIVES_BACK,
              token="the czxid of its place in the stripe's queue", theory=FOUND, asks=b"-lock-"),
    Mechanism("zklock-set", "zklock, a set", "zklock_set", "this tree", "zookeeper",
              files=("zklock_set.c", "zklock_client.c"), ours=True,
              queues=LEASED, takes_both=True, gives_back=GIVES_BACK, token="the czxid of its places in the queues",
              theory={**FOUND, "opposite-orders": SAFE}, asks=b"-lock-"),
    Mechanism("zklock-retained", "zklock, retained", "zklock_retained", "this tree", "zookeeper",
              files=("zklock_retained.c", "zklock_client.c"), ours=True, queues=LEASED, gives_back=GIVES_BACK, timeout_ms=LEASE_MS,
              token="the czxid of the client's place (the first of two numbers)", theory=FOUND, asks=b"-lock-"),
    Mechanism("zklock-lease", "zklock with a lease", "zklock_lease", "this tree", "zookeeper",
              files=("zklock_lease.c", "zklock_client.c"), ours=True, queues=LEASED, gives_back=GIVES_BACK, timeout_ms=LEASE_MS,
              token="the czxid of its place in the queue", theory=FOUND, asks=b"-lock-"),
]
