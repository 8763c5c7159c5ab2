"""What the processes of a run have, every few seconds, as lines of JSON: memory, descriptors and threads of each; and what
the servers keep for their clients.

`anonymous_kb` is taken for the heap: what the kernel has given a process for itself, the heaps of all threads, their stacks
and what was mapped by hand. It is there for every program, needs no help of the one that is measured, and leaves out what
files bring into `rss_kb`. (What malloc has, and nobody uses, is in it: a leak is as well.) A server's heap is what java
found in use after its last collection, by java's own log: before one it is mostly what nobody uses any more.
"""
import json
import os
import re
import threading

from world import wire
from world.history import now

EVERY_S = 5
# Beside this much of a long log the last collection stands.
TAIL = 8192
WORD_WITHIN_S = 0.5
COLLECTED = re.compile(rb"GC\(\d+\) Pause .*->(\d+)M\(")
# What a server says of its clients (mntr), and the name that it has here.
SAID = {"zk_watch_count": "watches", "zk_znode_count": "nodes", "zk_num_alive_connections": "connections",
        "zk_global_sessions": "sessions"}


def of_process(pid):
    """None: it has ended."""
    place = f"/proc/{pid}"
    try:
        with open(f"{place}/smaps_rollup", encoding="ascii") as memory, open(f"{place}/status", encoding="utf-8") as status:
            said = dict(re.findall(r"^(\w+):\s+(\d+)", memory.read() + status.read(), re.M))
        return {"program": os.path.basename(os.readlink(f"{place}/exe")), "rss_kb": int(said["Rss"]),
                "anonymous_kb": int(said["Anonymous"]), "threads": int(said["Threads"]),
                "descriptors": len(os.listdir(f"{place}/fd"))}
    except (OSError, KeyError):
        return None


def collected_kb(path):
    """None: nothing has been collected yet."""
    try:
        with open(path, "rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - TAIL))
            found = COLLECTED.findall(log.read())
    except FileNotFoundError:
        return None
    return int(found[-1]) << 10 if found else None


def of_clients(answer):
    """Of a server's answer to `mntr`."""
    said = dict(line.split("\t", 1) for line in (answer or "").splitlines() if "\t" in line)
    return {name: int(said[word]) for word, name in SAID.items() if word in said}


class Samples:
    """Taken by a thread from `begin` to `end`, and by whoever knows that the world is at rest."""

    def __init__(self, path, fleet, servers):
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self.fleet = fleet
        self.servers = servers
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def begin(self):
        self.thread.start()

    def end(self):
        self.is_over.set()
        self.thread.join()
        os.close(self.file)

    def run(self):
        while not self.is_over.wait(EVERY_S):
            self.take()

    def take(self, at_rest=False):
        """All that are taken together say the same time. At rest: no fault is there, all servers serve, and everybody has
        been granted since the last one."""
        taken = {"at": now(), "at_rest": at_rest}
        for member in list(self.fleet.all):
            self.write(taken, member)
        for server in self.servers.present:
            if server.state() == "running":
                self.write(taken, server, heap_kb=collected_kb(server.collections),
                           **of_clients(wire.word(server.address, "mntr", WORD_WITHIN_S)))

    def write(self, taken, one, **more):
        """A process that came in the place of another one is told apart by its number."""
        process = one.process
        found = of_process(process.pid) if process is not None else None
        if found is not None:
            known = {what: value for what, value in more.items() if value is not None}
            line = {**taken, "of": one.name, "process": process.pid, **found, **known}
            os.write(self.file, (json.dumps(line) + "\n").encode())
