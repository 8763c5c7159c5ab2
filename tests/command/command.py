"""The command zklock on real servers: what its tests share."""

import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest
import uuid

ZKLOCK = os.environ["ZKLOCK_COMMAND"]
HOSTS = os.environ["ZKLOCK_HOSTS"]  # of the command itself; without it nothing would be tested
# The servers' tick is shorter than a production's, so that a session need not last for half a minute.
QUICK = ["--tick-time", "500ms", "--session-timeout", "4s"]
PATIENCE_S = 30
DELETE, GET_DATA, SET_DATA, GET_ACL, CHILDREN, MULTI = 2, 4, 5, 6, 8, 14  # opcodes of ZooKeeper's protocol
SYSTEM_ERROR, NO_AUTH, INVALID_ACL, NO_SASL = -1, -102, -114, -124


def wait_until(condition, what, seconds=PATIENCE_S):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"in vain for {seconds} s: {what}")
        time.sleep(0.02)


def is_alive(pid):
    """Neither gone nor a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def pack(value):
    return struct.pack(">i", len(value)) + value


def ask_servers(requests):
    """What any client can do, as (type, body); in the servers' own protocol, so that no library is needed."""
    def ask(body):
        connection.sendall(pack(body))
        length, = struct.unpack(">i", stream.read(4))
        return stream.read(length)

    host, port = HOSTS.split(",")[0].rsplit(":", 1)
    with socket.create_connection((host, int(port)), PATIENCE_S) as connection, connection.makefile("rb") as stream:
        ask(struct.pack(">iqiq", 0, 0, 10000, 0) + pack(bytes(16)))
        for kind, body in requests:
            answer = ask(struct.pack(">ii", 1, kind) + body)
            assert struct.unpack(">iqi", answer[:16])[2] == 0, answer


def set_data(path, data):
    ask_servers([(5, pack(path.encode()) + pack(data) + struct.pack(">i", -1))])


def create(paths):
    """Nodes that no session owns, open to everybody."""
    acl = struct.pack(">ii", 1, 31) + pack(b"world") + pack(b"anyone")
    ask_servers((1, pack(path.encode()) + pack(b"") + acl + struct.pack(">i", 0)) for path in paths)


def delete(paths):
    ask_servers((2, pack(path.encode()) + struct.pack(">i", -1)) for path in paths)


class Listener(threading.Thread):
    """A port of this machine; `serve` has each connection in a thread."""

    def __init__(self, serve):
        super().__init__(daemon=True)
        self.serve = serve
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listening.getsockname()[1]
        self.start()

    def run(self):
        while True:
            connection, _ = self.listening.accept()
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()


class Cable:
    """To the first server; while it is cut nothing comes through, and nobody is told. Or it is pulled: then each connection
    ends at once."""

    def __init__(self):
        self.is_whole = True
        self.is_pulled = False
        self.connections = []
        self.address = Listener(self.connect).address

    def pull(self):
        self.is_pulled = True
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # it has ended before
                pass

    def connect(self, ours):
        host, port = HOSTS.split(",")[0].rsplit(":", 1)
        if self.is_pulled:
            ours.close()
            return
        self.connections.append(ours)
        with ours, socket.create_connection((host, int(port))) as theirs:
            back = threading.Thread(target=self.carry, args=[theirs, ours], daemon=True)
            back.start()
            self.carry(ours, theirs)
            theirs.shutdown(socket.SHUT_RDWR)
            back.join()

    def carry(self, one, other):
        try:
            while data := one.recv(65536):
                if self.is_whole:
                    other.sendall(data)
        except OSError:  # one of them is gone
            pass


class Between:
    """A server that is the first one of HOSTS, but for what `alter` does: it is given each request (its opcode, and
    all of it) and the reply, and returns the reply to be given, or None for none at all. A four-letter word is a
    request with itself as opcode. The handshake has no opcode. A request of which `is_lost` says so does not reach the
    server, and the connection ends."""

    def __init__(self, alter, is_lost=lambda opcode, request: False):
        self.alter = alter
        self.is_lost = is_lost
        self.address = Listener(self.connect).address

    @staticmethod
    def read_frame(stream):
        head = stream.read(4)
        return stream.read(struct.unpack(">i", head)[0]) if len(head) == 4 else b""

    @staticmethod
    def opcode_of(request):
        return struct.unpack(">i", request[4:8])[0] if request else 0

    def connect(self, ours):
        host, port = HOSTS.split(",")[0].rsplit(":", 1)
        with ours, socket.create_connection((host, int(port))) as theirs:
            word = ours.recv(4, socket.MSG_PEEK)
            if word.isalpha():
                theirs.sendall(ours.recv(4))
                ours.sendall(self.alter(word.decode(), word, theirs.makefile("rb").read()) or b"")
                return
            asked = {}
            back = threading.Thread(target=self.answer, args=[ours, theirs, asked], daemon=True)
            back.start()
            try:
                stream = ours.makefile("rb")
                while body := self.read_frame(stream):
                    if self.is_lost(self.opcode_of(body) if asked else None, body):
                        break
                    asked[body[:4] if asked else None] = body  # the first one is the handshake
                    theirs.sendall(struct.pack(">i", len(body)) + body)
                theirs.shutdown(socket.SHUT_RDWR)
            except OSError:  # one of them is gone
                pass
            back.join()

    def answer(self, ours, theirs, asked):
        stream = theirs.makefile("rb")
        is_first = True
        try:
            while body := self.read_frame(stream):
                request = asked.get(None if is_first else body[:4], b"")
                body = self.alter(None if is_first else self.opcode_of(request), request, body)
                is_first = False
                if body is not None:
                    ours.sendall(struct.pack(">i", len(body)) + body)
            ours.shutdown(socket.SHUT_RDWR)
        except OSError:  # one of them is gone
            pass


def with_error(reply, code):
    """The same with nothing but this error of the servers."""
    return reply[:12] + struct.pack(">i", code)


class CommandTest(unittest.TestCase):
    """Each test has a resource and a directory of its own."""

    def setUp(self):
        self.resource = f"test-{uuid.uuid4().hex[:12]}"
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.directory = place.name
        self.started = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def path(self, name):
        return os.path.join(self.directory, name)

    def text_of(self, name):
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def write_secret(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.chmod(self.path(name), 0o600)
        return self.path(name)

    def start(self, *arguments, **more):
        process = subprocess.Popen(
            [ZKLOCK, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, cwd=self.directory, **more)
        self.started.append(process)
        return process

    def end(self, process, status):
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, status, f"{out}{err}")
        return out, err

    def run_it(self, status, *arguments, **more):
        return self.end(self.start(*arguments, **more), status)

    def start_holder(self, *options, command="echo $$ >pid; exec sleep 60"):
        """Returns the process, and its child's pid once it runs."""
        process = self.start("run", *QUICK, *options, self.resource, "--", "sh", "-c", command)
        wait_until(lambda: self.text_of("pid").endswith("\n"), "the child runs")
        return process, int(self.text_of("pid").split()[0])

    def holder_process_of(self, process, child):
        """The process that keeps the session."""
        others = [pid for pid in children_of(process.pid) if pid != child]
        self.assertEqual(len(others), 1)
        return others[0]

    def queue(self, resource=None):
        out, _ = self.run_it(0, "status", "--json", resource or self.resource)
        return json.loads(out)["contenders"]

    def wait_for_queue(self, length):
        wait_until(lambda: len(self.queue()) == length, f"{length} contenders")

    @staticmethod
    def signal(process, number):
        os.kill(process if isinstance(process, int) else process.pid, number)

    def kill(self, process):
        self.signal(process, signal.SIGKILL)


class TerminalTest(CommandTest):
    """A shell with job control on a pseudo-terminal."""

    def setUp(self):
        super().setUp()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(self.directory)
            os.environ["PS1"] = "ready> "
            os.execvp("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"])
        os.set_blocking(self.terminal, False)
        self.seen = ""
        self.addCleanup(self.end_shell)
        self.expect("ready> ")

    def end_shell(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)

    def read_more(self):
        try:
            self.seen += os.read(self.terminal, 65536).decode(errors="replace")
        except BlockingIOError:
            pass

    def expect(self, pattern):
        def is_there():
            self.read_more()
            return re.search(pattern, self.seen)

        try:
            wait_until(is_there, pattern, 20)
        except AssertionError:
            self.fail(f"{pattern} is not in {self.seen!r}")
        self.seen = self.seen[re.search(pattern, self.seen).end():]

    def type(self, text):
        os.write(self.terminal, text.encode())
