"""What stands between a buyer and a server: it passes all on, until a fault wants otherwise.

A partition, a lost reply and a late request are dealt out here, from outside. The buyer has the proxy's address, and
knows nothing of it.
"""
import random
import re
import socket
import threading
import time

from .servers import CannotServe

CHUNK = 65536
HELD_S = 30


class Proxy:
    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Condition()
        self.pairs = []
        self.is_cut = False
        self.pattern = None      # of a request that is to be held
        self.held = False        # one is
        self.losing = None       # of a request whose reply, and connection, are to be lost
        self.lost = 0
        self.longest_delay_s = 0  # of a request
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def is_connected(self):
        """Whether anybody has come through it since it was mended."""
        with self.lock:
            return bool(self.pairs)

    # ---- Faults ----

    def cut(self):
        """Nothing comes through any more, in either direction, and nobody is told: packets that are dropped."""
        with self.lock:
            self.is_cut = True

    def mend(self):
        """New connections come through; what was in the old ones is gone, and they are closed."""
        with self.lock:
            self.is_cut = False
            pairs, self.pairs = self.pairs, []
            self.lock.notify_all()
        for pair in pairs:
            close(*pair)

    def hold(self, pattern):
        """The next request that has this in it (a regular expression) does not go on before let_go."""
        with self.lock:
            self.pattern, self.held = pattern, False

    def await_held(self, patience_s=HELD_S):
        with self.lock:
            return self.lock.wait_for(lambda: self.held, patience_s)

    def let_go(self):
        with self.lock:
            self.pattern, self.held = None, False
            self.lock.notify_all()

    def delay(self, longest_s):
        """From now on each request takes so long at most, by chance."""
        self.longest_delay_s = longest_s

    def lose_reply(self, pattern):
        """The next request that has this in it (a regular expression) reaches the server; its reply never comes, and
        the connection ends."""
        with self.lock:
            self.losing, self.lost = pattern, 0

    # ---- Connections ----

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        if self.is_cut:  # it is accepted by the kernel, and nothing answers
            with self.lock:
                self.pairs.append((client,))
            return
        server = socket.socket()
        if server.connect_ex(("127.0.0.1", self.target)) != 0:
            close(client, server)
            return
        for each in (client, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.lock:
            self.pairs.append((client, server))
        state = {"loses": False}
        threading.Thread(target=self.pump, args=(client, server, state, True), daemon=True).start()
        self.pump(server, client, state, False)

    def pump(self, source, sink, state, is_request):
        while True:
            try:
                data = source.recv(CHUNK)
                if not data:
                    break
                if not (self.request_passes(data, state) if is_request else self.reply_passes(state)):
                    continue
                sink.sendall(data)
            except OSError:
                break
        if not self.is_cut:
            close(source, sink)

    def request_passes(self, data, state):
        time.sleep(random.uniform(0, self.longest_delay_s))
        with self.lock:
            if self.pattern is not None and re.search(self.pattern, data, re.DOTALL):
                self.held = True
                self.lock.notify_all()
                self.lock.wait_for(lambda: not self.held, HELD_S)
            if self.losing is not None and re.search(self.losing, data, re.DOTALL):
                self.losing, state["loses"] = None, True
            return not self.is_cut

    def reply_passes(self, state):
        with self.lock:
            if state["loses"]:
                self.lost += 1
                raise OSError("its reply is lost")
            return not self.is_cut

    def end(self):
        self.listener.close()
        with self.lock:
            self.is_cut = False
            pairs, self.pairs = self.pairs, []
            self.held = False
            self.lock.notify_all()
        for pair in pairs:
            close(*pair)


def close(*sockets):
    for each in sockets:
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        each.close()


class Proxies:
    """One in front of each server of a lock, whose addresses are HOST:PORT with commas."""

    def __init__(self, address):
        if not address:
            raise CannotServe("it has no server that a proxy could stand before")
        self.all = [Proxy(int(one.rpartition(":")[2])) for one in address.split(",")]

    @property
    def address(self):
        return ",".join(one.address for one in self.all)

    def cut(self):
        for one in self.all:
            one.cut()

    def end(self):
        for one in self.all:
            one.end()
