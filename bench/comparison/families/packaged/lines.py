"""The lines of other_process.c, for a lock of Python's."""
import os
import sys


def say(line):
    try:
        print(line, flush=True)
    except BrokenPipeError:
        os._exit(0)  # the buyer has ended


def serve(lock):
    """`lock` has acquire(product, seconds), which gives the answer's line, and release(); and held(), where its
    documentation has it asked before the write."""
    say("ready looks" if hasattr(lock, "held") else "ready")
    for line in sys.stdin:
        word, product, *wait_ms = line.split()
        if word == "acquire":
            answer = lock.acquire(product, int(wait_ms[0]) / 1000)
        elif word == "held":
            answer = "yes" if lock.held() else "no"
        else:
            lock.release()
            answer = "released"
        say(answer)
