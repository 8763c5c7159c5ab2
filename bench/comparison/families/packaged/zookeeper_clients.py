"""Locks of the libraries that one uses ZooKeeper with."""
import os

from ...harness.mechanism import LEASED, SAFE, SESSION_LOOKED_AT, Mechanism

HERE = os.path.dirname(os.path.abspath(__file__))
# Where CMakeLists.txt has the classes put.
MADE = os.path.abspath(f"{HERE}/../../../../build/compare/packaged")
JARS = ("curator-recipes", "curator-framework", "curator-client", "zookeeper-jute", "zookeeper", "guava", "slf4j-api",
        "slf4j-nop")
CLASS_PATH = ":".join(f"/usr/share/java/{jar}.jar" for jar in JARS)
# A delete: its number, and a path that is shorter than 256 bytes.
DELETE = rb"\x00\x00\x00\x02\x00\x00\x00./"

# Whoever goes on after it was stopped writes at once, and may not have been told yet that its session is over.
TOLD = {name: harm for name, harm in SESSION_LOOKED_AT.items() if name != "holder-stopped"}
# A waiter of it does not always get over the loss of its connection.
KAZOO = {name: harm for name, harm in TOLD.items() if name != "leader-killed"}

MECHANISMS = [
    Mechanism("curator", "Curator 5.4, InterProcessMutex", "other_process", "Curator, Getting Started", "zookeeper",
              gives_back=DELETE, asks=b"-lock-",
              command=f"java -Xmx64m -XX:TieredStopAtLevel=1 -XX:-UsePerfData -cp {CLASS_PATH}:{MADE} CuratorLock",
              files=("CuratorLock.java",), token="the czxid of its node, asked for in a request more",
              theory={**TOLD, "taken-twice": SAFE}, queues=LEASED),
    Mechanism("kazoo", "kazoo 2.8, Lock", "other_process", "kazoo 2.8, kazoo.recipe.lock", "zookeeper", gives_back=DELETE,
              asks=b"__lock__",
              command=f"/usr/bin/python3 {HERE}/kazoo_lock.py", files=("kazoo_lock.py",),
              token="the czxid of its node, asked for in a request more", theory=KAZOO, queues=LEASED),
]
