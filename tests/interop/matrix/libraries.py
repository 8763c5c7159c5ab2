"""How the contenders of each library are started, and which versions they are."""
import os
import subprocess

from .contender import Contender
from .programs import programs
from .servers import HOSTS, TOP
from .table import is_reader

# Where CMake and tests/interop/run have put what they made.
BUILD = os.environ.get("ZKLOCK_BUILD", f"{TOP}/build/debug")
PROGRAMS = programs(BUILD)
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
