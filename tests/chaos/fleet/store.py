"""The store that is fenced by tokens, as a process that speaks lines over TCP, and writes what it did (../history.md).

    claim KEY CZXID LOCAL BY              ok | refused       the fence of the row is this token, unless it is greater
    write KEY CZXID LOCAL BY CALL VALUE   ok READ | refused  by whom the fence is; READ is what VALUE took the place of

Each word is a text without blanks; a client may ask again and again over one connection. `malformed WHY` answers a line
that is neither. At the end of its standard input the store writes down what it holds, and ends.
"""
import argparse
import contextlib
import os
import socketserver
import subprocess
import sys
import threading

from world.history import History

LINE_MAX = 4096
NOTHING = "0"  # in a row that nobody has written yet
INT64_MAX = 2**63 - 1
COMMANDS = {"claim": 4, "write": 6}  # and how many words follow


class Malformed(Exception):
    """A line that is not as above."""


def number_of(word):
    if not word.isascii() or not word.isdigit() or int(word) > INT64_MAX:
        raise Malformed(f"'{word}' must be a number from 0 to {INT64_MAX}")
    return int(word)


class Row:
    def __init__(self):
        self.fence = (0, 0)
        self.value = NOTHING


class Rows:
    """What the store decides, a line at a time. It is written down before it is answered."""

    def __init__(self, history):
        self.history = history
        self.rows = {}

    def answer(self, line):
        what, *words = line.split() or [""]
        if len(words) != COMMANDS.get(what):
            return f"malformed '{line}' is no claim and no write"
        try:
            return getattr(self, what)(*words)
        except Malformed as why:
            return f"malformed {why}"

    def row(self, key):
        return self.rows.setdefault(key, Row())

    def refuse(self, what, **its):
        self.history.write("refused", what=what, **its)
        return "refused"

    def claim(self, key, czxid, local, by):
        token, row = (number_of(czxid), number_of(local)), self.row(key)
        if token < row.fence:
            return self.refuse("claim", key=key, token=token, by=by)
        row.fence = token
        self.history.write("claimed", key=key, token=token, by=by)
        return "ok"

    def write(self, key, czxid, local, by, call, value):
        token, row = (number_of(czxid), number_of(local)), self.row(key)
        its = {"key": key, "token": token, "by": by, "call": number_of(call)}
        if token != row.fence:
            return self.refuse("write", **its)
        read, row.value = row.value, value
        self.history.write("written", read=read, value=value, **its)
        return f"ok {read}"

    def end(self):
        for key, row in self.rows.items():
            self.history.write("held", key=key, value=row.value)


# ---- The process -----------------------------------------------------------------------------


class Client(socketserver.StreamRequestHandler):
    """Until it leaves, or has sent a line that is too long, or only half of one."""

    disable_nagle_algorithm = True

    def handle(self):
        with contextlib.suppress(OSError):
            while (line := self.rfile.readline(LINE_MAX)).endswith(b"\n"):
                with self.server.mutex:
                    answer = self.server.rows.answer(line.decode(errors="replace").strip())
                self.wfile.write((answer + "\n").encode())


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, rows):
        super().__init__((address, 0), Client)
        self.rows = rows
        self.mutex = threading.Lock()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", required=True)
    parser.add_argument("--history", required=True)
    asked = parser.parse_args()
    rows = Rows(History(asked.history, "store"))
    server = Server(asked.address, rows)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready {}:{}".format(*server.server_address), flush=True)
    sys.stdin.read()
    with server.mutex:  # for good: nothing is accepted any more
        rows.end()
        os._exit(0)


class Store:
    """That process, for who starts it. `address` is what contenders are told."""

    def __init__(self, path, address="127.0.0.1"):
        self.path = path
        self.process = subprocess.Popen([sys.executable, "-m", "fleet.store", "--address", address, "--history", path],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ready, _, self.address = self.process.stdout.readline().strip().partition(" ")
        if ready != "ready":
            raise OSError(f"the store does not start at {address}")

    def finish(self):
        """When nobody contends any more."""
        self.process.communicate()
        return self.process.returncode


if __name__ == "__main__":
    main()
