"""How the contenders of each library are started, and which versions they are."""
import os
import subprocess

from .contender import Contender
from .servers import HOSTS, TOP

# Where CMake and tests/interop/run have put what they made.
BUILD = os.environ.get("ZKLOCK_BUILD", f"{TOP}/build/debug")
HERE = f"{TOP}/tests/interop/contenders"
JARS = ("curator-recipes", "curator-framework", "curator-client", "zookeeper-jute", "zookeeper", "guava", "slf4j-api",
        "slf4j-nop")
CLASS_PATH = ":".join([f"{BUILD}/tests/interop/classes", *(f"/usr/share/java/{jar}.jar" for jar in JARS)])
JAVA = ["java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-cp", CLASS_PATH]
PROGRAMS = {
    "zklock": [f"{BUILD}/tests/interop/interop_zklock"],
    "curator": [*JAVA, "CuratorContender"],
    "kazoo": ["/usr/bin/python3", f"{HERE}/kazoo_contender.py"],
}
COMMAND = f"{BUILD}/command/zklock"
SESSION_MS = 6000
# Kinds whose holders share.
READERS = ("read", "reader", "kazoo-read", "read-patterns", "shared-read")


def start(side, library, kind, path, hosts=HOSTS, session_ms=SESSION_MS):
    return Contender(side, [*PROGRAMS[library], hosts, path, str(session_ms), kind], kind in READERS)


def package(name):
    said = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=False)
    return said.stdout
