"""What `zklock run` runs (others.py): writes down by which token and node it holds, and then, until it ends or is killed,
that it still does. A child that lives has a lease: it is dead before that is over.

    command_child.py HISTORY WHO HOLD_S
"""
import json
import os
import sys
import time

EVERY_S = 0.01
ALIVE_MS = 1  # what a moment at which it lives says of the lease

path, who, hold_s = sys.argv[1:]
history = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
own = {"who": who, "process": os.getppid()}


def write(event, **more):
    line = {"at": time.clock_gettime_ns(time.CLOCK_BOOTTIME), **own, "event": event, **more}
    os.write(history, (json.dumps(line) + "\n").encode())


def tell(text):
    os.write(1, (text + "\n").encode())


tell(f"granted {os.getpid()}")  # first: who is told of it writes nothing of an acquire that came to nothing
write("return", what="acquire", call=1, status="ZKL_OK", token=[int(os.environ["ZKLOCK_TOKEN"]), 0],
      node=os.environ["ZKLOCK_NODE"])
until = time.monotonic() + float(hold_s)
number = 3
while time.monotonic() < until:
    write("call", what="check", call=number)
    write("return", what="check", call=number, status="ZKL_OK", lease_left_ms=ALIVE_MS)
    number += 1
    time.sleep(EVERY_S)
write("call", what="release", call=2)
tell("released")
