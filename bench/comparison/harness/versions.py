"""Asks each program for its version, and each server for what its commit waits for, and how much memory it holds."""
import contextlib
import datetime
import os
import re
import subprocess

from .bench import DATABASES
from .servers import TOP, CannotServe

# The harness of bench/run asks ZooKeeper's servers for their counters.
from harness.servers import read_mntr

PYTHON = "/usr/bin/python3"
MADE = f"{TOP}/build/compare/packaged"
NUMBER = re.compile(r"\d+(?:\.\d+)+")


def python_package(name):
    return [PYTHON, "-c", f"import importlib.metadata; print(importlib.metadata.version('{name}'))"]


def node_package(name):
    return ["node", "-p", f"require('{MADE}/node_modules/{name}/package.json').version"]


def package(name):
    return ["dpkg-query", "-W", "-f", "${Version}", name]


def commands():
    return {
        "PostgreSQL": ["sh", "-c", "/usr/lib/postgresql/*/bin/postgres --version"],
        "MariaDB": ["sh", "-c", "mariadbd --version | sed 's/.*Ver //'"], "Redis": ["redis-server", "--version"],
        "etcd": ["etcd", "--version"], "Java": ["java", "--version"], "python3-redis": python_package("redis"),
        "python3-etcd3": python_package("etcd3"), "kazoo": python_package("kazoo"),
        "Curator": package("libcurator-recipes-java"),
        "ZooKeeper's client in Java": package("libzookeeper-java"), "node": ["node", "--version"],
        "redlock (npm)": node_package("redlock"), "ioredis (npm)": node_package("ioredis"), "Go": ["go", "version"],
        "golang-etcd-server-dev": package("golang-etcd-server-dev"),
    }


def said_by(command):
    """The first version number in what a program says; None: it is not there."""
    try:
        said = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    found = NUMBER.search(said.stdout)
    return found[0] if found else None


def versions(settings):
    """ZooKeeper's is what the running servers have said; its program has no such option."""
    said = {name: said_by(command) for name, command in commands().items()}
    said["ZooKeeper"] = settings.get("zookeeper", {}).get("version")
    return {name: version for name, version in sorted(said.items(), key=lambda one: one[0].lower()) if version}


# ---- What a commit waits for ----------------------------------------------------------------------------------------

def postgresql(server):
    if server.run("SHOW fsync") == [("off",)]:
        return "memory: fsync off"
    return f"disk: fsync on, synchronous_commit {server.run('SHOW synchronous_commit')[0][0]}"


def mariadb(server):
    flush = server.run("SELECT @@innodb_flush_log_at_trx_commit")[0][0]
    return f"{'disk' if flush == 1 else 'memory'}: innodb_flush_log_at_trx_commit={flush}"


def redis(servers):
    """By what one of them says: all have the same settings."""
    appends, saves = (servers.all[0].ask("CONFIG", "GET", name).split("\n")[-1] for name in ("appendonly", "save"))
    if appends == "yes":
        how = servers.all[0].ask("CONFIG", "GET", "appendfsync").split("\n")[-1]
        return f"{'disk' if how == 'always' else 'memory'}: append-only file, fsync {how}"
    return f"memory: no append-only file, saved by `save {saves}`"


def etcd(servers):
    if "--unsafe-no-fsync" in servers.all[0].command():
        return "memory: --unsafe-no-fsync"
    return f"{storage_of(servers.all[0].place)}: fsync of its log"


def zookeeper(servers):
    """forceSync is on unless the server is told otherwise; its data are where ensemble/server puts them."""
    process = f"/proc/{servers.pids()[0]}"
    with open(f"{process}/cmdline", encoding="utf-8") as file:
        if "forceSync=no" in file.read():
            return "memory: forceSync=no"
    return f"{storage_of(f'{process}/cwd/data')}: fsync of its log"


def storage_of(path):
    """An fsync to a file system in memory waits for no disk."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True, text=True, check=True).stdout.strip()
    return "memory, as its files are" if kind == "tmpfs" else "disk"


ASKED = {"postgresql": postgresql, "mariadb": mariadb, "redis": redis, "redis-durable": redis, "redis-5": redis, "redis-6": redis, "etcd": etcd,
         "zookeeper": zookeeper}


def memory_mb(pids):
    """Resident, of these processes; that which they share is counted for each."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            total += next((int(line.split()[1]) for line in file if line.startswith("VmRSS:")), 0)
    return total / 1024


def settings(bench, mechanisms):
    """Of the servers that these mechanisms use, started if they are not there any more."""
    said = {}
    for one in mechanisms:
        if one.database not in said and not one.locks_tables:
            said[one.database] = told(one.database, lambda one=one: bench.database(one))
        if one.servers in ASKED and one.servers not in said:
            said[one.servers] = told(one.servers, lambda one=one: bench.servers(one))
    return said


def told(name, start):
    try:
        server = start()
        found = {"waits_for": ASKED[name](server)}
        if name not in DATABASES:
            found["memory_mb"] = memory_mb(server.pids())
        if name == "zookeeper":
            found["version"] = NUMBER.search(read_mntr(server.address.split(",")[0])["zk_version"])[0]
        return found
    except (CannotServe, OSError, subprocess.SubprocessError) as reason:
        return {"failed": f"{type(reason).__name__}: {reason}"}


# ---- The tree, and the machine --------------------------------------------------------------------------------------

def facts(quick):
    commit = ""
    with contextlib.suppress(OSError):  # a copy without git
        commit = subprocess.run(["git", "-C", TOP, "describe", "--always", "--dirty"], capture_output=True, text=True,
                                check=False).stdout.strip()
    return {"date": datetime.date.today().isoformat(), "commit": commit or "an unknown commit", "quick": quick,
            "processors": os.cpu_count(), "library_lines": lines_of(f"{TOP}/lib")}


def lines_of(folder):
    """Of C, neither empty nor only a comment; without the simulated servers for tests of applications."""
    total = 0
    for place, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if one != "testing"]
        for name in names:
            if name.endswith((".c", ".h")):
                with open(os.path.join(place, name), encoding="utf-8") as file:
                    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read(), flags=re.S)
                total += sum(bool(line.strip()) for line in code.splitlines())
    return total
