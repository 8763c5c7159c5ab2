"""The contender of the suite ensemble, and what it says (contender.h)."""

import os
import select
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..", "..")
sys.path.append(os.path.join(TOP, "tests", "command"))
from command import HOSTS, PATIENCE_S  # noqa: E402

EXCLUSIVE, READ, WRITE = range(3)
OK, TIMEOUT = 0, -2
SESSION_MS = 20000


class Contender:
    """The program contender.c of the suite ensemble: a command is a line, and so is its answer."""

    def __init__(self, program, resource, session_ms=SESSION_MS, permits=0, hosts=HOSTS):
        # Its record could be one that today's playback does not know.
        environment = {name: value for name, value in os.environ.items() if name != "ZKLOCK_RECORDS"}
        self.process = subprocess.Popen([program, hosts, str(session_ms), resource, "0", "0", str(permits)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        assert self.answer()[0] == OK

    def tell(self, command):
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()

    def has_answered(self, seconds=0.0):
        return bool(select.select([self.process.stdout], [], [], seconds)[0])

    def answer(self, seconds=3 * PATIENCE_S):
        assert self.has_answered(seconds), "no answer"
        status, *more = self.process.stdout.readline().decode().split()
        return [int(status), *more]

    def ask(self, command):
        self.tell(command)
        return self.answer()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
