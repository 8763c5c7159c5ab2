"""The lines of other_process.c, for a lock of Python's."""
import sys


def serve(lock):
    """`lock` has acquire(product, seconds), which gives the answer's line, and release()."""
    print("ready", flush=True)
    for line in sys.stdin:
        word, product, *wait_ms = line.split()
        if word == "acquire":
            answer = lock.acquire(product, int(wait_ms[0]) / 1000)
        elif word == "held":
            answer = "yes"  # as in its documentation, nobody asks before the write
        else:
            lock.release()
            answer = "released"
        print(answer, flush=True)
