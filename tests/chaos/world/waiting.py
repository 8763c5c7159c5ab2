"""Waiting for what must come to be, and what is said when it does not."""
import time

PATIENCE_S = 60


class NotSeen(Exception):
    """Something that had to be, and did not show within its time: what."""


def wait_until(holds, what, patience_s=PATIENCE_S, every_s=0.05):
    """Returns what `holds` returned, as soon as that is true."""
    until = time.monotonic() + patience_s
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > until:
            raise NotSeen(f"{what}: not within {patience_s:g} s")
        time.sleep(every_s)
