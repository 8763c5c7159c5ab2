"""Servers that are made up: they do what real ones do, and write it down as TransactionLog.java does."""
from .bounds import MS, S

# CLOCK_REALTIME is so far ahead of CLOCK_BOOTTIME.
REAL_AHEAD = 1700000000 * S + 123456
ZXID_STEP = 16  # what is planted between two transactions needs numbers
READER, WRITER, PERMIT, MUTEX = "-__READ__", "-__WRIT__", "-permit-{}-", "-lock-"
KINDS = {"exclusive": MUTEX, "read": READER, "write": WRITER, "permit": PERMIT}


class MadeNode:
    def __init__(self, path, mode, permits, sequence, session, zxid):
        self.path, self.mode, self.permits, self.sequence = path, mode, permits, sequence
        self.resource = path.rpartition("/")[0]
        self.session, self.zxid = session, zxid
        self.lives = True
        self.request = None


class MadeSession:
    def __init__(self, number, process, timeout, now):
        self.number, self.process, self.timeout = number, process, timeout
        self.heard = now
        self.is_open = True
        self.nodes = []


class MadeServers:
    def __init__(self, clock, write, wake):
        self.clock = clock
        self.write = write
        self.wake = wake  # called with each node whose turn has come
        self.zxid = (1 << 32) + 1000
        self.queues = {}
        self.counters = {}
        self.sessions = 0

    def commit(self, session, parts):
        """Writes a transaction down. Its time is that of its preparation, in whole milliseconds."""
        self.zxid += ZXID_STEP
        self.write({"zxid": self.zxid, "time_ms": (self.clock() + REAL_AHEAD) // MS, "session": session.number,
                    "parts": parts})
        return self.zxid

    def open(self, process, timeout):
        self.sessions += 1
        session = MadeSession(f"0x{0x100000000 + self.sessions:x}", process, timeout, self.clock())
        self.commit(session, [["open", timeout // MS]])
        return session

    def place(self, session, resource, mode, permits, uuid, sequence=None):
        if sequence is None:
            sequence = self.counters.get(resource, 0)
            self.counters[resource] = sequence + 1
        name = f"_c_{uuid}{KINDS[mode].format(permits)}{sequence:010d}"
        node = MadeNode(f"{resource}/{name}", mode, permits, sequence, session, self.zxid)
        session.nodes.append(node)
        queue = self.queues.setdefault(resource, [])
        queue.append(node)
        queue.sort(key=lambda one: (one.sequence, one.mode == "read"))
        return node

    def create(self, session, wanted, uuid, owner):
        """wanted: (resource, mode, permits) of each node; all come at once."""
        data = f"host=made\nowner={owner}\ntime=now\n" if owner else "host=made\n"
        nodes = [self.place(session, resource, mode, permits, uuid) for resource, mode, permits in wanted]
        zxid = self.commit(session, [["create", node.path, 1, data] for node in nodes])
        for node in nodes:
            node.zxid = zxid
        self.settle(node.resource for node in nodes)
        return nodes

    def remove(self, node):
        node.lives = False
        node.session.nodes.remove(node)
        self.queues[node.resource].remove(node)

    def delete(self, session, node, tells=False):
        """False: it is gone already."""
        if not node.lives:
            return False
        self.remove(node)
        self.commit(session, [["set", node.path, ""], ["delete", node.path]] if tells else [["delete", node.path]])
        self.settle([node.resource])
        return True

    def downgrade(self, node, owner):
        if not node.lives:
            return None
        uuid = node.path.rpartition("/_c_")[2][:36]
        self.remove(node)
        reader = self.place(node.session, node.resource, "read", 1, uuid, node.sequence)
        reader.zxid = self.commit(node.session, [["create", reader.path, 1, f"owner={owner}\ntoken={node.zxid}\n"],
                                                 ["delete", node.path]])
        self.settle([node.resource])
        return reader

    def check(self, session, nodes, mark=None):
        """False: a node is gone, and nothing is written."""
        if not all(node.lives for node in nodes):
            self.commit(session, [["other", -1]])
            return False
        self.commit(session, [["check", node.path] for node in nodes] + ([["set", "/marks", mark]] if mark else []))
        return True

    def close(self, session):
        session.is_open = False
        nodes = list(session.nodes)
        for node in nodes:
            self.remove(node)
        self.commit(session, [["close", [node.path for node in nodes]]])
        self.settle(dict.fromkeys(node.resource for node in nodes))

    def in_the_way(self, node):
        earlier = self.queues[node.resource][:self.queues[node.resource].index(node)]
        if node.mode == "read":
            return sum(one.mode != "read" for one in earlier)
        return max(0, len(earlier) - node.permits + 1) if node.mode == "permit" else len(earlier)

    def is_awaited(self, node, but):
        """Whether somebody waits behind it, but for one node."""
        queue = self.queues[node.resource]
        behind = queue[queue.index(node) + 1:] if node.lives else ()
        return any(self.waits_for(other, node) for other in behind if other is not but)

    def waits_for(self, other, node):
        """One that is behind it."""
        if other.mode == node.mode == "permit":
            return self.in_the_way(other) > 0
        return not other.mode == node.mode == "read"

    def settle(self, resources):
        for resource in resources:
            for node in self.queues.get(resource, ())[:8]:
                if node.request is not None and not self.in_the_way(node):
                    self.wake(node)
