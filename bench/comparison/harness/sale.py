"""A sale: a product, some buyers, and what the database says in the end."""
import contextlib
import os
import signal
import subprocess
import threading
import time

from .servers import state_of, wait_until

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS stock (product VARCHAR(64) PRIMARY KEY, units BIGINT NOT NULL, fence BIGINT NOT NULL,"
    " version BIGINT NOT NULL DEFAULT 0)",
    "CREATE TABLE IF NOT EXISTS sale (id VARCHAR(96) PRIMARY KEY, product VARCHAR(64) NOT NULL, units BIGINT NOT NULL,"
    " units_seen BIGINT NOT NULL, token BIGINT NOT NULL, read_at BIGINT NOT NULL, written_at BIGINT NOT NULL)")
ANSWER_S = 30


class NotSeen(Exception):
    """What a round waited for did not happen: the round says nothing."""


class Buyer:
    """A process of its own, and all that it has said."""

    def __init__(self, command, name, settings, environment=None):
        self.name = name
        words = [f"{key}={value}" for key, value in {**settings, "buyer": name}.items()]
        # A group of its own: a fault stops or kills what the buyer has started too.
        self.process = subprocess.Popen([*command, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True, env={**os.environ, **(environment or {})})
        self.steps = []  # (microseconds of the monotonic clock, word, number)
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()

    def listen(self):
        for line in self.process.stdout:
            at_us, word, number = line.split()
            with self.changed:
                self.steps.append((int(at_us), word, int(number)))
                self.changed.notify_all()
        with self.changed:
            self.steps.append((time.monotonic_ns() // 1000, "gone", 0))
            self.changed.notify_all()

    def first(self, *words, after=0):
        """The first step with one of these words, from the step number `after` on; None: not yet."""
        return next((step for step in self.steps[after:] if step[1] in words), None)

    def await_step(self, *words, after=0, patience_s=ANSWER_S):
        with self.changed:
            if not self.changed.wait_for(lambda: self.first(*words, "gone", after=after), patience_s):
                raise NotSeen(f"{self.name}: none of {', '.join(words)} within {patience_s} s")
            step = self.first(*words, "gone", after=after)
        if step[1] == "gone" and "gone" not in words:
            raise NotSeen(f"{self.name} has ended before {', '.join(words)}")
        return step

    def count(self, word):
        return sum(step[1] == word for step in self.steps)

    def begin(self):
        self.await_step("ready")
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def signal(self, number):
        """To it and what it has started; one that has just ended needs none."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def stop(self):
        """Returns when the kernel says that it stands still."""
        self.signal(signal.SIGSTOP)
        wait_until(lambda: state_of(self.process) in "TZ", f"{self.name} is stopped", ANSWER_S)

    def resume(self):
        self.signal(signal.SIGCONT)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.resume()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.kill()
        self.signal(signal.SIGKILL)  # what it has started may wait for a server that is gone
        self.reader.join(5)
        self.process.stdin.close()
        self.process.stdout.close()


class Sale:
    def __init__(self, database, product, units):
        self.database = database
        self.product = product
        self.units = units
        database.run(f"INSERT INTO stock (product, units, fence) VALUES ('{product}', {units}, 0)")

    def rows(self):
        """(order, units seen, token, read, written, units), as they were written."""
        return self.database.run("SELECT id, units_seen, token, read_at, written_at, units FROM sale"
                                 f" WHERE product = '{self.product}' ORDER BY written_at")

    def units_left(self):
        return self.database.run(f"SELECT units FROM stock WHERE product = '{self.product}'")[0][0]

    def outcome(self):
        """What the database shows, whatever the buyers believe."""
        rows = self.rows()
        overlaps = sum(one[3] < other[4] and other[3] < one[4]
                       for number, one in enumerate(rows) for other in rows[:number])
        sold = sum(one[5] for one in rows)
        return {"orders": len(rows), "sold": sold, "oversold": max(0, sold - self.units), "overlaps": overlaps,
                "unaccounted": sold - (self.units - self.units_left())}

    def first_after(self, at_us):
        """When the first sale after this was read, by the clock of the database, or None."""
        return next((row[3] for row in self.rows() if row[3] > at_us), None)
