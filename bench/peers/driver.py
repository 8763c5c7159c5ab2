"""For peers in Python: the line protocol of README.md, and in `run` what driver.c does.

A peer has session_open(hosts), session_close(session) and contender_open(session, resource, permits). A contender
has acquire(mode) and release(), and try_acquire() if it can.
"""
import json
import os
import random
import sys
import threading
import time
import traceback

EXCLUSIVE, READ, WRITE = range(3)
SESSION_TIMEOUT_S = 30
WRITES_OF_100 = 10
ROOT = "/locks/"


class Run:
    def __init__(self, peer, sessions, words):
        self.peer = peer
        self.sessions = sessions
        self.resource = words["resource"]
        self.resources = int(words.get("resources", 1))
        self.permits = int(words.get("permits", 0))
        self.count = int(words.get("count", 100000))
        self.threads = int(words.get("threads", 1))
        self.mixed = int(words.get("mixed", 0))
        self.tolerant = int(words.get("tolerant", 0))  # servers are killed
        # From one holder to the next: one resource, one holder at a time.
        self.handed_on = self.resources == 1 and self.permits == 0 and not self.mixed
        self.milliseconds = int(words.get("milliseconds", 600000))
        self.end_ns = 0
        self.barrier = threading.Barrier(self.threads + 1)
        self.mutex = threading.Lock()
        self.taken = 0
        self.released_ns = 0
        self.granted_ns = 0
        self.longest_gap_ns = 0
        self.pairs_us = []
        self.hand_offs_us = []

    def open(self, session, chance):
        suffix = "" if self.resources == 1 else "-%d" % chance.randrange(self.resources)
        return self.peer.contender_open(session, self.resource + suffix, self.permits)

    def mode(self, chance):
        if not self.mixed:
            return EXCLUSIVE
        return WRITE if chance.randrange(100) < WRITES_OF_100 else READ

    def take_turn(self, contender, mode):
        begin_ns = time.monotonic_ns()
        contender.acquire(mode)
        now_ns = time.monotonic_ns()
        if self.handed_on and self.released_ns > begin_ns:
            self.hand_offs_us.append((now_ns - self.released_ns) / 1e3)
        self.longest_gap_ns = max(self.longest_gap_ns, now_ns - self.granted_ns)
        self.granted_ns = now_ns
        self.released_ns = time.monotonic_ns()
        contender.release()
        self.pairs_us.append((time.monotonic_ns() - begin_ns) / 1e3)

    def next_turn(self):
        """There is one, however late the threads are."""
        with self.mutex:
            self.taken += 1
            return self.taken <= self.count and (self.taken == 1 or time.monotonic_ns() < self.end_ns)

    def contend(self, number):
        try:
            self.contend_to_the_end(number)
        except BaseException:
            traceback.print_exc()
            os._exit(1)  # the others wait for this thread

    def contend_to_the_end(self, number):
        chance = random.Random(number)
        session = self.sessions[number % len(self.sessions)]
        contender = self.open(session, chance)
        self.barrier.wait()
        while self.next_turn():
            if self.resources > 1:
                contender = self.open(session, chance)
            try:
                self.take_turn(contender, self.mode(chance))
            except Exception:  # of whatever kind the peer has
                if not self.tolerant:
                    raise
                contender = self.open(session, chance)
        self.barrier.wait()

    def measure(self):
        threads = [threading.Thread(target=self.contend, args=(i,), daemon=True) for i in range(self.threads)]
        for thread in threads:
            thread.start()
        used, began = time.process_time(), time.monotonic()
        self.granted_ns = time.monotonic_ns()
        self.end_ns = self.granted_ns + 1000000 * self.milliseconds
        self.barrier.wait()
        self.barrier.wait()
        seconds, cpu_seconds = time.monotonic() - began, time.process_time() - used
        for thread in threads:
            thread.join()
        return {"grants": len(self.pairs_us), "seconds": seconds, "cpu_seconds": cpu_seconds,
                "longest_gap_ms": self.longest_gap_ns / 1e6,
                "pairs_us": self.pairs_us, "hand_offs_us": self.hand_offs_us}


class Driver:
    def __init__(self, peer):
        self.peer = peer
        self.sessions = []
        self.held = None

    def open(self, words):
        hosts = words["hosts"].split(",")
        apart = int(words.get("apart", 1))
        for i in range(int(words.get("sessions", 1))):
            self.sessions.append(self.peer.session_open(hosts[i % len(hosts)] if apart else words["hosts"]))
        return {}

    def close(self, _words):
        for session in self.sessions:
            self.peer.session_close(session)
        self.sessions.clear()
        return {}

    def run(self, words):
        return Run(self.peer, self.sessions, words).measure()

    def hold_one(self, words):
        self.held = self.peer.contender_open(self.sessions[-1], words["resource"], 0)
        self.held.acquire(EXCLUSIVE)
        return {}

    def drop_one(self, _words):
        self.held.release()
        return {}

    def try_(self, words):
        contender = self.peer.contender_open(self.sessions[0], words["resource"], 0)
        count = int(words["count"])
        began = time.monotonic()
        grants = sum(contender.try_acquire() for _ in range(count))
        return {"grants": grants, "tries": count, "seconds": time.monotonic() - began}

    def obey(self, line):
        command, *words = line.split()
        obeys = {"open": self.open, "close": self.close, "run": self.run, "hold_one": self.hold_one,
                 "drop_one": self.drop_one, "try": self.try_}
        return obeys[command](dict(word.split("=", 1) for word in words))


def main(peer):
    driver = Driver(peer)
    for line in sys.stdin:
        print(json.dumps(driver.obey(line)), flush=True)
