"""How the contenders of each library are started, and which versions they are."""
import os
import subprocess

from .contender import Contender
from .jars import JARS
from .servers import HOSTS, TOP
from .table import is_reader

# Where CMake and tests/interop/run have put what they made.
BUILD = os.environ.get("ZKLOCK_BUILD", f"{TOP}/build/debug")
HERE = f"{TOP}/tests/interop/contenders"
CLASS_PATH = ":".join([f"{BUILD}/tests/interop/classes", *JARS])
JAVA = ["java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-cp", CLASS_PATH]
PROGRAMS = {
    "zklock": [f"{BUILD}/tests/interop/interop_zklock"],
    "curator": [*JAVA, "CuratorContender"],
    "kazoo": ["/usr/bin/python3", f"{HERE}/kazoo_contender.py"],
    # By contenders/build-recipes.
    "zkr_lock": [f"{BUILD}/tests/interop/recipes/zkr_lock"],
    "write_lock": [f"{BUILD}/tests/interop/recipes/write_lock"],
    "go_zookeeper": [f"{BUILD}/tests/interop/recipes/go_zookeeper"],
}
COMMAND = f"{BUILD}/command/zklock"
SESSION_MS = 6000


def start(side, library, kind, path, hosts=HOSTS, session_ms=SESSION_MS):
    return Contender(side, [*PROGRAMS[library], hosts, path, str(session_ms), kind], is_reader(kind))


def package(name):
    said = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=False)
    return said.stdout


def versions(client):
    """`client` asks the server."""
    return {"ZooKeeper's servers": ".".join(map(str, client.server_version())),
            "Curator": package("libcurator-recipes-java"), "kazoo": package("python3-kazoo"),
            "ZooKeeper's client in Java": package("libzookeeper-java"), "libzookeeper": package("libzookeeper-mt2")}
