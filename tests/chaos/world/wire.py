"""ZooKeeper's protocol, as far as a fault needs it: a session of ours, or of somebody else's whose number is known."""
import base64
import hashlib
import socket
import struct

from .waiting import NotSeen

PORT = 2181
PATIENCE_S = 10
RECONFIGURE, AUTHENTICATE, CREATE, CLOSE = 16, 100, 1, -11
XID_AUTHENTICATE = -4
WORLD_MAY_ALL = (31, "world", "anyone")

# Whose password reconfigures the servers, as none of their clients may.
SUPER = "super:chaos"


def super_digest():
    """As the servers are told of it."""
    return f"super:{base64.b64encode(hashlib.sha1(SUPER.encode()).digest()).decode()}"


def word(address, asked, patience_s=1):
    """The answer to a four-letter word; None: there is none."""
    try:
        with socket.create_connection((address, PORT), patience_s) as connection:
            connection.settimeout(patience_s)
            connection.sendall(asked.encode())
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode() or None
    except OSError:
        return None


def text(value):
    """None is the servers' own null."""
    return struct.pack(">i", -1) if value is None else struct.pack(">i", len(value.encode())) + value.encode()


class Random:
    """Java's own, of which the servers make the passwords of sessions (SessionTrackerImpl, ZooKeeperServer)."""

    def __init__(self, seed):
        self.seed = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)

    def next_int(self):
        self.seed = (self.seed * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        return self.seed >> 16

    def next_bytes(self, count):
        return b"".join(struct.pack("<I", self.next_int()) for _ in range(count // 4))


def password_of(session):
    return Random(session ^ 0xB3415C00).next_bytes(16)


class Session:
    """A connection to one server. A new session, or the one of that number."""

    def __init__(self, address, timeout_ms, number=0):
        self.xid = 0
        self.connection = socket.create_connection((address, PORT), PATIENCE_S)
        self.connection.settimeout(PATIENCE_S)
        self.send(struct.pack(">iqiq", 0, 0, timeout_ms, number) + struct.pack(">i", 16) +
                  (password_of(number) if number else bytes(16)) + b"\0")
        answer = self.receive()
        _, self.timeout_ms, self.number = struct.unpack(">iiq", answer[:16])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def send(self, body):
        self.connection.sendall(struct.pack(">i", len(body)) + body)

    def receive(self):
        length = struct.unpack(">i", self.exactly(4))[0]
        return self.exactly(length)

    def exactly(self, count):
        read = b""
        while len(read) < count:
            more = self.connection.recv(count - len(read))
            if not more:
                raise NotSeen("a server has ended the connection")
            read += more
        return read

    def ask(self, opcode, body=b"", xid=None):
        """The servers' status, and what the answer holds beside it."""
        if xid is None:
            self.xid += 1
            xid = self.xid
        self.send(struct.pack(">ii", xid, opcode) + body)
        answer = self.receive()
        return struct.unpack(">i", answer[12:16])[0], answer[16:]

    def close(self):
        """The session ends, whosever it is."""
        return self.ask(CLOSE)[0]

    def write(self, path):
        """A node of no meaning: with its answer all that was written before is committed."""
        permissions, scheme, who = WORLD_MAY_ALL
        return self.ask(CREATE, text(path) + struct.pack(">i", 0) + struct.pack(">ii", 1, permissions) + text(scheme) +
                        text(who) + struct.pack(">i", 0))[0]

    def reconfigure(self, joining=None, leaving=None):
        """Which servers come, as server.N=..., and the numbers of those that go. The configuration that results."""
        status, _ = self.ask(AUTHENTICATE, struct.pack(">i", 0) + text("digest") + text(SUPER), XID_AUTHENTICATE)
        if status == 0:
            status, answer = self.ask(RECONFIGURE, text(joining) + text(leaving) + text(None) + struct.pack(">q", -1))
        if status != 0:
            raise NotSeen(f"the servers refuse the new configuration: {status}")
        length = struct.unpack(">i", answer[:4])[0]
        return answer[4:4 + length].decode()
