#!/usr/bin/python3
"""Sells from the inventory service's stock, under kazoo's lock and the service's fence.

usage: seller.py HOSTS DATABASE SESSION_MS NAME

Start the service's instances with the setting plain_locks: then all stand in one queue. Each line of the standard
input is an order, KEY SKU UNITS THINK_MS BUYER. The standard output is a log as the service's; "answered" ends an
order. It sells products of one segment.
"""
import collections
import concurrent.futures
import contextlib
import datetime
import json
import signal
import sqlite3
import sys
import time

import kazoo.client
import kazoo.exceptions
import kazoo.recipe.lock

WORKERS = 4
PATIENCE_S = 10
FENCED_OFF_MAX = 5
ENDLESSLY = {"max_tries": -1, "max_delay": 1}  # kazoo tries once, if it is told nothing

# Changes no row if a later holder has claimed it.
CLAIM = "UPDATE segments SET fence = :token WHERE sku = :sku AND segment = 0 AND fence <= :token RETURNING quantity"
TAKE = ("UPDATE segments SET quantity = :left, sold = sold + :units"
        " WHERE sku = :sku AND segment = 0 AND fence = :token")
INSERT_ORDER = ("INSERT INTO orders (key, buyer, instance, content, token, number) VALUES"
                " (:key, :buyer, :instance, :content, :token, (SELECT coalesce(max(number), 0) + 1 FROM orders))"
                " ON CONFLICT (key) DO NOTHING")
INSERT_PART = "INSERT INTO order_parts (key, sku, segment, units) VALUES (:key, :sku, 0, :units)"
FIND = "SELECT content = :content AND buyer = :buyer FROM orders WHERE key = :key"

Order = collections.namedtuple("Order", "key sku units think_ms buyer")


class Lock(kazoo.recipe.lock.Lock):
    """kazoo's lock, with the names that zklock and Curator give to exclusive locks: so all three see each other."""

    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES = ["-lock-"]


class Seller:
    lock_class = Lock

    def __init__(self, zookeeper, database, name):
        self.zookeeper, self.database, self.name = zookeeper, database, name

    def serve(self, order):
        """Asks for the lock again as long as the fence refuses it, as if nothing had happened."""
        known = self.find(order)
        if known is not None:
            return known
        for _ in range(FENCED_OFF_MAX):
            outcome = self.lock_and_sell(order)
            if outcome != "fenced_off":
                return outcome
        return "failed"

    def lock_and_sell(self, order):
        if not self.zookeeper.connected:
            return "unavailable"
        began = time.monotonic()
        lock = self.lock_class(self.zookeeper, f"/locks/{order.sku}/stripe-0000", self.name)
        try:
            if not self.acquire(lock):
                return "busy"
            own = self.zookeeper.retry(self.zookeeper.exists, f"{lock.path}/{lock.node}")
            if own is None:  # the session has ended, and somebody else may hold the lock
                self.say("lost", order)
                return "fenced_off"
            # A later holder's czxid is greater, so it is the token.
            self.say("granted", order, token=own.czxid, waited_ms=int(1000 * (time.monotonic() - began)))
            return self.sell(order, own.czxid)
        finally:
            lock.release()  # if there is no connection, it waits for one; if the session is over, the node is gone

    def acquire(self, lock):
        """False: not in time. Then its node may still be there, as kazoo tries once to delete it."""
        try:
            if lock.acquire(timeout=PATIENCE_S):
                return True
        except kazoo.exceptions.LockTimeout:
            pass
        self.zookeeper.retry(self.leave, lock)
        return False

    def leave(self, lock):
        for node in self.zookeeper.get_children(lock.path):
            if node.startswith(lock.prefix):
                with contextlib.suppress(kazoo.exceptions.NoNodeError):
                    self.zookeeper.delete(f"{lock.path}/{node}")

    def sell(self, order, token):
        """Claims before it reads, and writes with the very token of its claim. So what it has read stays true until it
        has written, even if its lock is lost at any line in between."""
        left = self.claim(order, token)
        if left is None:
            return self.fenced_off(order, token)
        if left < order.units:
            return self.find(order) or "sold_out"  # the last units may be its own
        self.say("claimed", order, token=token, left=left)
        time.sleep(order.think_ms / 1000)
        return self.write(order, token, left)

    def fenced_off(self, order, token):
        self.say("fenced_off", order, token=token)
        return "fenced_off"

    def open(self):
        """A connection. What is not committed is rolled back as it is closed."""
        return contextlib.closing(sqlite3.connect(self.database, timeout=5, isolation_level=None))

    def find(self, order):
        """What was placed before with the order's key; None: nothing."""
        with self.open() as database:
            row = database.execute(FIND, {**order._asdict(), "content": content_of(order)}).fetchone()
        return None if row is None else "placed" if row[0] else "key_used"

    def claim(self, order, token):
        """What is left; None: a later holder has claimed it."""
        with self.open() as database:
            rows = database.execute(CLAIM, {"sku": order.sku, "token": token}).fetchall()
        return rows[0][0] if rows else None

    def write(self, order, token, left):
        values = {**order._asdict(), "content": content_of(order), "instance": self.name, "token": token,
                  "left": left - order.units}
        with self.open() as database:
            database.execute("BEGIN IMMEDIATE")
            if database.execute(INSERT_ORDER, values).rowcount == 0:
                return self.find(order)
            if database.execute(TAKE, values).rowcount == 0:
                return self.fenced_off(order, token)
            database.execute(INSERT_PART, values)
            database.execute("COMMIT")
        self.say("written", order, token=token)
        return "placed"

    def say(self, event, order=None, **more):
        """Writes a line of the log."""
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        key = {} if order is None else {"order": order.key}
        line = {"time": now, "instance": self.name, "event": event, **key, **more}
        print(json.dumps(line) + "\n", end="", flush=True)

    def answer(self, order):
        outcome = "failed"
        try:
            outcome = self.serve(order)
        except (kazoo.exceptions.KazooException, sqlite3.Error) as error:  # the client asks again, with the same key
            self.say("failed", order, why=repr(error))
        self.say("answered", order, reason=outcome)


def order_of(line):
    key, sku, units, think_ms, buyer = line.rstrip("\n").split(" ", 4)
    return Order(key, sku, int(units), int(think_ms), buyer)


def content_of(order):
    """What makes another order with this key the same one, as the service writes it."""
    return f"{order.sku}:{order.units}"


def main(seller_class=Seller):
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # without a traceback
    hosts, database, session_ms, name = sys.argv[1:]
    zookeeper = kazoo.client.KazooClient(hosts, timeout=int(session_ms) / 1000, connection_retry=ENDLESSLY,
                                         command_retry=ENDLESSLY)
    zookeeper.start(timeout=30)
    seller = seller_class(zookeeper, database, name)
    seller.say("ready")
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as workers:
        for line in sys.stdin:
            workers.submit(seller.answer, order_of(line))
    zookeeper.stop()  # ends the session, and with it what the seller may still hold


if __name__ == "__main__":
    main()
