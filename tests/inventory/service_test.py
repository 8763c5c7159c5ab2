#!/usr/bin/env python3
"""The inventory service as its operator sees it: what is there late, goes away, comes back, is wrong, or is too much.

Run by `ensemble/ensemble --local --tick 200 run`, whose servers it stops and starts.
"""
import concurrent.futures
import http.client
import json
import os
import random
import resource
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/inventory"))
from instances import HOSTS, PATIENCE_S, SERVICE, Gate, Instance, PostgreSQL, Shop, wait_until

SESSION_MS = 1000
JSON = "Content-Type: application/json\r\n"
BUYERS = 1000
THREADS_MAX = 20


def ensemble(*words):
    """With its short tick a loaded machine can leave ZooKeeper's election turning in a circle: it begins anew then."""
    command = [*shlex.split(os.environ["ZKLOCK_ENSEMBLE"]), "--timeout", "12"]
    for again in (True, True, False):
        done = subprocess.run([*command, *words], check=not again, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode == 0 or words[0] != "start":
            done.check_returncode()
            return
        subprocess.run([*command, "stop", *words[1:]], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def some_name():
    return f"sku-{uuid.uuid4().hex[:12]}"


def order_text(sku, key=None, units=1):
    return json.dumps({"key": key or uuid.uuid4().hex, "buyer": "somebody", "sku": sku, "units": units})


def health(instance):
    """Its status and word; None while nobody listens."""
    try:
        status, answer = instance.get("/health")
        return status, answer.get("locks")
    except OSError:
        return None


def events(instance, key):
    """What the log tells of one order."""
    return [line["event"] for line in list(instance.log) if line.get("order") == key]


class Cable:
    """To a database; it can be cut before the reply to a COMMIT. The instance itself commits once a second: only
    transactions in which a subject is named are counted."""

    def __init__(self, port):
        self.to_port = port
        self.commits = 0
        self.subject = b""
        self.sockets = []
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.to_port))
            self.sockets += [client, server]
            threading.Thread(target=self.copy, args=[client, server, True], daemon=True).start()
            threading.Thread(target=self.copy, args=[server, client, False], daemon=True).start()

    def cut_at_commit(self, number, subject):
        self.commits = number
        self.subject = subject.encode()

    def is_cut(self, transaction):
        self.commits -= self.subject in transaction
        return self.commits == 0 and self.subject in transaction

    def copy(self, source, target, is_client):
        transaction = b""
        try:
            while data := source.recv(65536):
                if is_client:
                    transaction = data if b"BEGIN" in data else transaction + data
                if is_client and b"COMMIT" in data and self.is_cut(transaction):
                    source.shutdown(socket.SHUT_RDWR)
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other direction was faster

    def end(self):
        self.listening.shutdown(socket.SHUT_RDWR)
        for one in [self.listening, *self.sockets]:
            one.close()


# As they were before segments had a column `sold`.
EARLIER_TABLES = """
CREATE TABLE products (sku TEXT PRIMARY KEY, name TEXT NOT NULL,
  segments INTEGER NOT NULL CHECK (segments BETWEEN 1 AND 32), stocked BIGINT NOT NULL);
CREATE TABLE segments (sku TEXT NOT NULL, segment INTEGER NOT NULL,
  quantity BIGINT NOT NULL, fence BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (sku, segment));
CREATE TABLE orders (key TEXT PRIMARY KEY, buyer TEXT NOT NULL,
  instance TEXT NOT NULL, content TEXT NOT NULL, token BIGINT NOT NULL, number BIGINT NOT NULL);
CREATE TABLE order_parts (key TEXT NOT NULL, sku TEXT NOT NULL,
  segment INTEGER NOT NULL, units BIGINT NOT NULL, PRIMARY KEY (key, sku, segment));
CREATE INDEX orders_by_number ON orders (number);
CREATE INDEX parts_by_sku ON order_parts (sku);
CREATE TABLE refusals (number BIGINT NOT NULL, sku TEXT NOT NULL, key TEXT NOT NULL,
  instance TEXT NOT NULL, token BIGINT NOT NULL, fence BIGINT NOT NULL);
CREATE TABLE instances (name TEXT PRIMARY KEY, url TEXT NOT NULL);
INSERT INTO products VALUES ('old', 'Old', 2, 20);
INSERT INTO segments VALUES ('old', 0, 3, 0), ('old', 1, 5, 0);
INSERT INTO orders VALUES ('k1', 'b', 'i', 'old:9', 1, 1), ('k2', 'b', 'i', 'old:5', 2, 2), ('k3', 'b', 'i', 'old:-2', 3, 3);
INSERT INTO order_parts VALUES ('k1', 'old', 0, 9), ('k2', 'old', 1, 5), ('k3', 'old', 1, -2);
"""


class LoggedToFile(Instance):
    """Its log is a file, behind a megabyte of spaces: a limit of a file's size that it meets is none for the database."""

    FILLED = 1 << 20

    def start(self):
        self.path = os.path.join(os.path.dirname(self.settings["database"]), "log")
        with open(self.path, "wb") as file:
            file.write(b" " * (self.FILLED - 1) + b"\n")
        with open(self.path, "ab") as file:
            self.process = subprocess.Popen([SERVICE], stdout=file, env=self.environment())

    def lines(self):
        """The lines, each as its object, or None for one that is none."""
        with open(self.path, encoding="utf-8") as file:
            text = file.read()[self.FILLED:]
        return [self.parsed(line) for line in text.splitlines()]

    @staticmethod
    def parsed(line):
        try:
            return json.loads(line)
        except ValueError:
            return None

    def events(self, name):
        return [line for line in self.lines() if line is not None and line["event"] == name]

    def limit(self, more):
        """Its files, and so its log, to so many further bytes; None: not at all."""
        hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE,
                         (hard if more is None else os.path.getsize(self.path) + more, hard))

    def forget(self):
        self.process.wait(timeout=PATIENCE_S)


class WithShop(unittest.TestCase):
    def open_shop(self, count=1, **settings):
        shop = Shop(count, **{"session_timeout_ms": SESSION_MS, **settings})
        self.addCleanup(shop.end)
        return shop

    def connect(self, shop):
        connection = http.client.HTTPConnection("127.0.0.1", shop[0].port, timeout=60)
        self.addCleanup(connection.close)
        return connection

    def close_gate(self, sku):
        gate = Gate(sku)
        self.addCleanup(gate.open)
        return gate

    def pool(self, count):
        pool = concurrent.futures.ThreadPoolExecutor(count)
        self.addCleanup(pool.shutdown)
        return pool


class ComesAndGoes(WithShop):
    """The ensemble and the database do."""

    def test_writes_are_turned_away_while_the_ensemble_is_away(self):
        shop = self.open_shop(patience_ms=3000)
        sku = some_name()
        shop.add(sku, 5)
        self.assertEqual(health(shop[0]), (200, "ok"))
        self.addCleanup(ensemble, "start", "2", "3")
        ensemble("stop", "2", "3")
        wait_until(lambda: health(shop[0]) == (503, "suspect"), "it is suspect")
        connection = self.connect(shop)
        connection.request("POST", "/orders", order_text(sku), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.getheader("Retry-After")), (503, "1"))
        self.assertEqual(json.loads(answer.read())["reason"], "unavailable")
        wait_until(lambda: health(shop[0]) == (503, "lost"), "it is lost")
        self.assertEqual(shop[0].get(f"/products/{sku}")[0], 503)
        self.assertEqual(shop[0].get("/products")[0], 200)
        ensemble("start", "2", "3")
        wait_until(lambda: health(shop[0]) == (200, "ok"), "it has recovered")
        self.assertEqual(shop[0].order(sku)[0], 201)
        states = ["ok", "suspect", "lost"]
        wait_until(lambda: shop[0].logged("locks")[-1]["are"] == "ok", "the log says so")
        self.assertEqual([line["are"] for line in shop[0].logged("locks")][:3], states)

    def test_an_order_that_waits_outlives_the_absence_of_the_ensemble(self):
        shop = self.open_shop(2, patience_ms=40000)
        sku = some_name()
        shop.add(sku, 5)
        gate = self.close_gate(sku)
        key = uuid.uuid4().hex
        waits = self.pool(1).submit(shop[0].order, sku, key=key)
        gate.wait_for(1)
        self.addCleanup(ensemble, "start", "2", "3")
        ensemble("stop", "2", "3")
        wait_until(lambda: health(shop[0]) == (503, "lost"), "it is lost")
        ensemble("start", "2", "3")
        gate.open()
        self.assertEqual(waits.result()[0], 201)
        self.assertEqual(shop[1].order(sku, key=key)[0], 200)
        self.assertEqual(shop.product(sku)["sold"], 1)

    def test_it_starts_before_the_database_and_the_ensemble(self):
        with tempfile.TemporaryDirectory() as place:
            self.addCleanup(ensemble, "start", "2", "3")
            ensemble("stop", "2", "3")
            shop = Instance("early", os.path.join(place, "not-yet", "inventory.db"), HOSTS, port=free_port(),
                            session_timeout_ms=SESSION_MS)
            self.addCleanup(shop.end)
            shop.port = shop.settings["port"]
            wait_until(lambda: health(shop) == (503, "starting"), "it starts")
            self.assertEqual(shop.order("thing")[0], 503)
            self.assertEqual(shop.get("/products")[0], 503)
            os.mkdir(os.path.join(place, "not-yet"))
            wait_until(lambda: health(shop) == (503, "lost"), "the database is reached")
            self.assertEqual(shop.order("thing")[0], 503)
            self.assertEqual(shop.logged("ready"), [])
            ensemble("start", "2", "3")
            wait_until(lambda: health(shop) == (200, "ok"), "the ensemble is reached")
            shop.wait_ready()
            self.assertEqual(shop.order("thing")[0], 404)

    def test_it_ends_while_it_waits_for_both(self):
        shop = Instance("never", "/nowhere/inventory.db", "127.0.0.1:1", session_timeout_ms=SESSION_MS)
        wait_until(lambda: shop.logged("database_not_reached") and shop.logged("ensemble_not_reached"), "it waits")
        self.assertEqual(shop.end(), 0)

    def test_postgresql_is_started_anew(self):
        server = PostgreSQL()
        self.addCleanup(server.end)
        shop = self.open_shop(2, database=server.url)
        sku = some_name()
        shop.add(sku, 10000, segments=4)
        sold, asked_again, over = [], [], threading.Event()

        def buy(number):
            chance = random.Random(number)
            while not over.is_set():
                key = uuid.uuid4().hex
                while shop[chance.randrange(2)].order(sku, key=key)[0] not in (200, 201):
                    asked_again.append(key)
                    time.sleep(0.05)
                sold.append(key)

        pool = self.pool(8)
        buyers = [pool.submit(buy, i) for i in range(8)]
        for _ in range(3):
            time.sleep(0.7)
            server.restart()
        time.sleep(0.5)
        over.set()
        for one in buyers:
            one.result()
        self.assertGreater(len(asked_again), 0)
        product = shop.product(sku)
        self.assertEqual((product["sold"], product["left"]), (len(sold), 10000 - len(sold)))

    def test_connections_that_the_database_has_ended_meanwhile_are_no_concern_of_buyers(self):
        server = PostgreSQL()
        self.addCleanup(server.end)
        shop = self.open_shop(database=server.url)
        sku = some_name()
        shop.add(sku, 100)
        for _ in range(2):
            self.assertEqual([shop[0].order(sku)[0] for _ in range(10)], [201] * 10)
            server.restart()
        self.assertEqual([shop[0].order(sku)[0] for _ in range(10)], [201] * 10)
        self.assertEqual(shop.product(sku)["sold"], 30)

    def test_the_reply_to_a_commit_is_lost(self):
        server = PostgreSQL()
        self.addCleanup(server.end)
        cable = Cable(server.port)
        self.addCleanup(cable.end)
        shop = self.open_shop(database=server.url.replace(str(server.port), str(cable.port)), workers=1)
        sku = some_name()
        shop.add(sku, 100)
        for number, then in ((1, 201), (2, 200)):  # of the claim, and of the order
            key = uuid.uuid4().hex
            cable.cut_at_commit(number, sku)
            status, answer = shop[0].order(sku, 10, key=key)
            self.assertEqual((status, answer["reason"]), (503, "failed"))
            self.assertEqual(shop[0].order(sku, 10, key=key)[0], then)
        product = shop.product(sku)
        self.assertEqual((product["left"], product["sold"]), (80, 20))

    def test_a_database_that_somebody_else_has_locked(self):
        shop = self.open_shop()
        sku = some_name()
        shop.add(sku, 3)
        other = sqlite3.connect(shop.database, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        waits = self.pool(1).submit(shop[0].order, sku)
        time.sleep(1)
        self.assertFalse(waits.done())
        other.execute("ROLLBACK")
        self.assertEqual(waits.result()[0], 201)


class Tables(WithShop):
    """Which there are, and who may do what to them."""

    def judge_earlier_ones(self, shop):
        self.assertEqual([shop.product("old")[name] for name in ("left", "sold", "stocked")], [8, 14, 20])
        self.assertEqual([shop[i].order("old", 3)[0] for i in (0, 1)], [201, 201])
        self.assertEqual([shop.product("old")[name] for name in ("left", "sold", "stocked")], [2, 20, 20])
        self.assertEqual(shop[0].order("old", 1, key="k1")[0], 422)

    def test_of_an_earlier_version_in_sqlite(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "inventory.db")
            with sqlite3.connect(path) as database:
                database.executescript(EARLIER_TABLES)
            shop = Shop(2, database=path, session_timeout_ms=SESSION_MS)
            self.judge_earlier_ones(shop)
            shop.end()

    def test_of_an_earlier_version_in_postgresql(self):
        server = PostgreSQL()
        self.addCleanup(server.end)
        server.sql(EARLIER_TABLES)
        self.judge_earlier_ones(self.open_shop(2, database=server.url))

    def test_of_a_role_that_may_not_make_any(self):
        server = PostgreSQL()
        self.addCleanup(server.end)
        self.open_shop(database=server.url).add("thing", 2)
        server.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC; CREATE ROLE clerk LOGIN;"
                   "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO clerk")
        with self.assertRaises(subprocess.CalledProcessError):
            server.sql("CREATE TABLE more (number BIGINT)", user="clerk")
        shop = self.open_shop(database=server.url.replace("//shop@", "//clerk@"))
        self.assertEqual(shop[0].order("thing")[0], 201)

    def test_what_was_sold_is_not_counted_again_from_all_orders(self):
        shop = self.open_shop()
        sku = some_name()
        shop.add(sku, 10, segments=2)
        self.assertEqual([shop[0].order(sku, units)[0] for units in (2, 5)], [201, 201])
        with sqlite3.connect(shop.database) as database:  # somebody keeps them elsewhere
            database.execute("DELETE FROM order_parts WHERE sku = ?", [sku])
        product = shop.product(sku)
        self.assertEqual((product["left"], product["sold"]), (3, 7))


class Hangs(WithShop):
    """The database does, or takes nothing."""

    def judge_health(self, shop):
        """From ok to not and back; `shop` cannot write now, until `heal`."""
        wait_until(lambda: shop[0].get("/health")[0] == 503, "it says so", 15)
        answer = shop[0].get("/health")[1]
        self.assertEqual((answer["locks"], answer["database"]), ("ok", "failed"))

    def judge_recovery(self, shop, sku):
        wait_until(lambda: shop[0].get("/health")[0] == 200, "it has recovered")
        self.assertEqual(shop[0].get("/health")[1]["database"], "ok")
        self.assertEqual(shop[0].order(sku)[0], 201)

    def lock(self, shop):
        other = sqlite3.connect(shop.database, isolation_level=None, check_same_thread=False)
        self.addCleanup(other.close)
        other.execute("BEGIN IMMEDIATE")
        return other

    def add(self, shop):
        sku = some_name()
        shop.add(sku, 100)
        return sku

    def test_a_database_that_is_locked(self):
        shop = self.open_shop()
        sku = self.add(shop)
        other = self.lock(shop)
        self.judge_health(shop)
        other.execute("ROLLBACK")
        self.judge_recovery(shop, sku)

    def test_a_disk_that_is_full(self):
        shop = self.open_shop()
        sku = self.add(shop)
        limit = resource.prlimit(shop[0].process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(shop[0].process.pid, resource.RLIMIT_FSIZE, (4096, limit[1]))
        self.judge_health(shop)
        self.assertEqual(shop[0].order(sku)[0], 503)
        resource.prlimit(shop[0].process.pid, resource.RLIMIT_FSIZE, limit)
        self.judge_recovery(shop, sku)

    def test_a_server_that_is_stopped(self):
        server = PostgreSQL()
        self.addCleanup(server.end)
        shop = self.open_shop(database=server.url)
        sku = self.add(shop)
        self.addCleanup(server.signal, signal.SIGCONT)
        server.signal(signal.SIGSTOP)
        self.judge_health(shop)
        status, answer = shop[0].ask("POST", "/orders", order_text(sku), timeout=30)
        self.assertEqual((status, answer["reason"]), (503, "failed"))
        server.signal(signal.SIGCONT)
        self.judge_recovery(shop, sku)

    def test_a_table_that_somebody_has_locked(self):
        server = PostgreSQL()
        self.addCleanup(server.end)
        shop = self.open_shop(database=server.url)
        sku = self.add(shop)
        for table in ("segments", "orders"):
            with server.locked(table):
                self.judge_health(shop)
                status, answer = shop[0].ask("POST", "/orders", order_text(sku), timeout=30)
                self.assertEqual((status, answer["reason"]), (503, "failed"))
            self.judge_recovery(shop, sku)

    def test_sigterm_before_it_has_found_its_tables(self):
        server = PostgreSQL()
        self.addCleanup(server.end)
        Shop(1, database=server.url, session_timeout_ms=SESSION_MS).end()
        with server.locked("segments"):
            shop = Instance("early", server.url, HOSTS, session_timeout_ms=SESSION_MS)
            self.addCleanup(shop.end)
            wait_until(lambda: server.sql("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0", "it waits for them")
            begun = time.monotonic()
            self.assertEqual(shop.end(), 0)
            self.assertLess(time.monotonic() - begun, 25)

    def test_orders_are_answered_when_their_patience_is_over(self):
        shop = self.open_shop(workers=1, patience_ms=1000)
        sku = self.add(shop)
        other = self.lock(shop)
        pool = self.pool(8)
        begun = time.monotonic()
        answers = list(pool.map(lambda _: shop[0].order(sku), range(8)))
        self.assertEqual({status for status, _ in answers}, {503})
        self.assertLess(time.monotonic() - begun, 15)  # what is under way, and not one after the other
        self.assertIn("busy", {answer["reason"] for _, answer in answers})
        other.execute("ROLLBACK")
        self.assertEqual(shop.product(sku)["sold"], 0)

    def test_granted_orders_are_answered_when_their_patience_is_over(self):
        patience_s = 6
        shop = self.open_shop(workers=1, patience_ms=1000 * patience_s)
        skus = [self.add(shop) for _ in range(5)]
        gates = [self.close_gate(sku) for sku in skus]
        begun = time.monotonic()
        orders = [self.pool(1).submit(shop[0].order, sku) for sku in skus]
        for gate in gates:
            gate.wait_for(1)
        self.lock(shop)
        for gate in gates:
            gate.open()
        self.assertEqual({one.result()[0] for one in orders}, {503})
        self.assertLess(time.monotonic() - begun, patience_s + 12)

    def test_orders_are_answered_when_their_patience_is_over_though_the_server_is_stopped(self):
        server = PostgreSQL()
        self.addCleanup(server.end)
        shop = self.open_shop(database=server.url, workers=1, patience_ms=1000)
        sku = self.add(shop)
        self.addCleanup(server.signal, signal.SIGCONT)
        server.signal(signal.SIGSTOP)
        begun = time.monotonic()
        answers = list(self.pool(6).map(lambda _: shop[0].order(sku), range(6)))
        self.assertEqual({status for status, _ in answers}, {503})
        self.assertLess(time.monotonic() - begun, 20)

    def test_sigterm_takes_no_more_orders_and_comes_to_an_end(self):
        shop = self.open_shop(workers=1, finish_ms=500)
        sku = self.add(shop)
        self.lock(shop)
        pool = self.pool(8)
        orders = [pool.submit(shop[0].order, sku) for _ in range(4)]
        wait_until(lambda: len(shop[0].logged("granted")) > 0, "one is granted")
        begun = time.monotonic()
        shop[0].process.send_signal(signal.SIGTERM)
        wait_until(lambda: health(shop[0]) is None, "nobody can connect any more", 3)
        self.assertEqual({one.result()[0] for one in orders}, {503})
        shop[0].forget()
        self.assertLess(time.monotonic() - begun, 15)

    def test_sigterm_with_orders_that_wait_for_a_worker(self):
        """They do without the database: else each of them would wait for it in its turn."""
        shop = self.open_shop(workers=1, finish_ms=500, patience_ms=60000)
        skus = [self.add(shop) for _ in range(5)]
        gates = [self.close_gate(sku) for sku in skus]
        orders = [self.pool(1).submit(shop[0].order, sku) for sku in skus]
        for gate in gates:
            gate.wait_for(1)
        self.lock(shop)
        for gate in gates:
            gate.open()
        wait_until(lambda: len(shop[0].logged("granted")) == len(skus), "all are granted")
        begun = time.monotonic()
        shop[0].end()
        self.assertEqual({one.result()[0] for one in orders}, {503})
        self.assertLess(time.monotonic() - begun, 15)

    def test_sigterm_with_a_server_that_is_stopped(self):
        server = PostgreSQL()
        self.addCleanup(server.end)
        shop = self.open_shop(database=server.url, finish_ms=500)
        sku = self.add(shop)
        self.addCleanup(server.signal, signal.SIGCONT)
        server.signal(signal.SIGSTOP)
        order = self.pool(1).submit(shop[0].order, sku)
        wait_until(lambda: shop[0].get("/health")[1]["waiting"] == 1, "an order waits")
        begun = time.monotonic()
        shop[0].end()
        self.assertEqual(order.result()[0], 503)
        self.assertLess(time.monotonic() - begun, 25)


class Ends(WithShop):
    def wait_for_orders(self, shop, count):
        sku = some_name()
        shop.add(sku, count)
        gate = self.close_gate(sku)
        pool = self.pool(count)
        keys = [uuid.uuid4().hex for _ in range(count)]
        orders = [pool.submit(shop[0].order, sku, key=key) for key in keys]
        gate.wait_for(count)
        return gate, orders, keys

    def test_sigterm_finishes_what_it_holds(self):
        shop = self.open_shop()
        gate, orders, keys = self.wait_for_orders(shop, 5)
        open_connection = self.connect(shop)
        open_connection.request("GET", "/health")
        open_connection.getresponse().read()
        shop[0].process.send_signal(signal.SIGTERM)
        wait_until(lambda: health(shop[0]) is None, "nobody can connect any more")
        open_connection.request("GET", "/products")
        late = open_connection.getresponse()
        self.assertEqual((late.status, json.loads(late.read())["error"]), (503, "the service ends"))
        self.assertFalse(any(one.done() for one in orders))
        gate.open()
        self.assertEqual([one.result()[0] for one in orders], [201] * 5)
        shop[0].forget()
        self.assertEqual(shop[0].process.returncode, 0)
        self.assertTrue(all("released" in events(shop[0], key) for key in keys))
        self.assertTrue(shop[0].logged("stopped"))

    def test_sigterm_answers_those_who_would_wait_too_long(self):
        shop = self.open_shop(finish_ms=500, patience_ms=60000)
        _, orders, _ = self.wait_for_orders(shop, 5)
        reader = self.connect(shop)
        reader.request("GET", "/events")
        page = reader.getresponse()
        self.assertEqual(page.readline(), b"event: state\n")
        self.assertEqual(shop[0].end(), 0)
        self.assertEqual([(one.result()[0], one.result()[1]["reason"]) for one in orders], [(503, "unavailable")] * 5)
        page.read()  # to its end

    def test_the_second_sigterm_ends_it_at_once(self):
        shop = self.open_shop(patience_ms=60000)
        _, orders, _ = self.wait_for_orders(shop, 1)
        shop[0].process.send_signal(signal.SIGTERM)
        wait_until(lambda: shop[0].logged("stopping"), "it is about to end")
        self.assertEqual(shop[0].end(), -signal.SIGTERM)
        with self.assertRaises((OSError, http.client.HTTPException)):
            orders[0].result()


class Waits(WithShop):
    def test_a_thousand_buyers_without_a_thread_each(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))  # the service's, as from a shell
        shop = self.open_shop(patience_ms=60000)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        sku = some_name()
        units = BUYERS - 100
        shop.add(sku, units)
        gate = self.close_gate(sku)
        buyers = []
        for _ in range(BUYERS):
            buyer = socket.create_connection(("127.0.0.1", shop[0].port), timeout=60)
            self.addCleanup(buyer.close)
            text = order_text(sku)
            buyer.sendall(f"POST /orders HTTP/1.1\r\nHost: shop\r\n{JSON}Content-Length: {len(text)}\r\n\r\n{text}".encode())
            buyers.append(buyer)
        gate.wait_for(BUYERS)
        status, answer = shop[0].get("/health")
        self.assertEqual((status, answer["waiting"]), (200, BUYERS))
        self.assertLess(self.count_threads(shop[0]), THREADS_MAX)
        gate.open()
        statuses = [buyer.recv(65536).split(b" ")[1] for buyer in buyers]
        self.assertEqual((statuses.count(b"201"), statuses.count(b"409")), (units, BUYERS - units))
        self.assertEqual(shop.product(sku)["left"], 0)

    def count_threads(self, instance):
        with open(f"/proc/{instance.process.pid}/status", encoding="ascii") as file:
            return int(next(line for line in file if line.startswith("Threads:")).split()[1])

    def test_more_than_may_wait(self):
        shop = self.open_shop(waiting=3)
        sku = some_name()
        shop.add(sku, 10)
        gate = self.close_gate(sku)
        orders = [self.pool(1).submit(shop[0].order, sku) for _ in range(3)]
        gate.wait_for(3)
        self.assertEqual(shop[0].order(sku)[0], 503)
        gate.open()
        self.assertEqual([one.result()[0] for one in orders], [201] * 3)

    def test_who_waits_for_too_long(self):
        shop = self.open_shop(patience_ms=300)
        sku = some_name()
        shop.add(sku, 10)
        gate = self.close_gate(sku)
        status, answer = shop[0].order(sku)
        self.assertEqual((status, answer["reason"]), (503, "busy"))
        self.assertEqual(shop[0].get(f"/products/{sku}")[0], 503)
        wait_until(lambda: gate.length() == 1, "they have left the queue")

    def test_a_holder_is_served_before_those_who_have_not_asked(self):
        shop = self.open_shop(workers=1)
        wanted, other = some_name(), some_name()
        shop.add(wanted, 1)
        shop.add(other, 100)
        gate = self.close_gate(wanted)
        key = uuid.uuid4().hex
        pool = self.pool(30)
        holder = pool.submit(shop[0].order, wanted, key=key)
        gate.wait_for(1)
        crowd = [pool.submit(shop[0].order, other, lock=False, think_ms=200) for _ in range(20)]
        wait_until(lambda: any(one.done() for one in crowd), "the one worker is busy with them")
        gate.open()
        self.assertEqual(holder.result()[0], 201)
        self.assertGreater(sum(not one.done() for one in crowd), 10)
        self.assertEqual([one.result()[0] for one in crowd], [201] * 20)

    def test_a_log_that_nobody_reads(self):
        shop = self.open_shop()
        sku = some_name()
        shop.add(sku, 2000)
        shop[0].reads_log.clear()
        self.addCleanup(shop[0].reads_log.set)
        texts = [order_text(sku) for _ in range(500)]
        answers = list(self.pool(16).map(lambda text: shop[0].ask("POST", "/orders", text, timeout=10), texts))
        self.assertEqual({status for status, _ in answers}, {201})
        self.assertEqual(health(shop[0]), (200, "ok"))
        shop[0].reads_log.set()
        keys = []

        def order_reaches_the_log():
            keys.append(uuid.uuid4().hex)
            self.assertEqual(shop[0].order(sku, key=keys[-1])[0], 201)
            return any("answered" in events(shop[0], key) for key in keys)

        # The lines of the first orders are lost too while the pipe is still full.
        wait_until(order_reaches_the_log, "it is written again")
        self.assertGreater(int(shop[0].logged("lines_lost")[0]["lines"]), 100)

    def test_a_log_whose_disk_was_full_has_whole_lines_again(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        shop = LoggedToFile("logged", os.path.join(place.name, "inventory.db"), HOSTS, session_timeout_ms=SESSION_MS)
        self.addCleanup(shop.end)
        wait_until(lambda: shop.events("ready"), "it is ready")
        shop.port = int(shop.events("ready")[0]["port"])
        sku = some_name()
        self.assertEqual(shop.post("/products", {"sku": sku, "name": sku, "units": 2})[0], 201)
        shop.limit(20)
        self.assertEqual(shop.order(sku)[0], 201)
        shop.limit(None)
        key = uuid.uuid4().hex
        self.assertEqual(shop.order(sku, key=key)[0], 201)
        wait_until(lambda: any(line["order"] == key for line in shop.events("answered")), "it is written again")
        self.assertEqual(shop.lines().count(None), 1)
        self.assertGreater(int(shop.events("lines_lost")[0]["lines"]), 0)

    def test_the_log_follows_one_order(self):
        shop = self.open_shop()
        sku = some_name()
        shop.add(sku, 2)
        gate = self.close_gate(sku)
        key = uuid.uuid4().hex
        order = self.pool(1).submit(shop[0].order, sku, key=key)
        gate.wait_for(1)
        holder = gate.holder()
        gate.open()
        token = order.result()[1]["token"]
        wait_until(lambda: "released" in events(shop[0], key), "it is released")
        lines = {line["event"]: line for line in list(shop[0].log) if line.get("order") == key}
        self.assertEqual(sorted(events(shop[0], key)), ["answered", "asked", "granted", "queued", "released", "written"])
        self.assertEqual(lines["queued"]["behind"], holder)
        self.assertEqual({lines[event]["token"] for event in ("granted", "written", "released")}, {str(token)})
        self.assertEqual({lines[event]["node"] for event in ("queued", "granted", "released")}, {lines["granted"]["node"]})
        self.assertEqual(lines["answered"]["reason"], "placed")


class Orders(WithShop):
    """What else an order can be."""

    @classmethod
    def setUpClass(cls):
        cls.shop = Shop(2, session_timeout_ms=SESSION_MS)

    @classmethod
    def tearDownClass(cls):
        cls.shop.end()

    def setUp(self):
        self.sku = some_name()

    def lines(self, count, units, segments=1):
        for i in range(count):
            self.shop.add(f"{self.sku}-{i}", 100, segments)
        return [{"sku": f"{self.sku}-{i}", "units": units} for i in range(count)]

    def place(self, lines, instance=0, key=None):
        return self.shop[instance].post("/orders", {"key": key or uuid.uuid4().hex, "buyer": "b", "lines": lines})

    def test_of_as_many_products_as_there_may_be(self):
        lines = self.lines(16, 60, segments=4)
        key = uuid.uuid4().hex
        self.assertEqual(self.place(lines, key=key)[0], 201)
        self.assertEqual(self.place(lines[::-1], 1, key)[0], 200)  # the same, written in another order
        status, answer = self.place(lines, 1)
        self.assertEqual((status, answer["sku"]), (409, f"{self.sku}-0"))
        self.assertEqual([self.shop.product(line["sku"])["left"] for line in lines], [40] * 16)

    def test_of_more_segments_than_a_set_of_locks_may_have(self):
        lines = self.lines(3, 90, segments=32)
        self.assertEqual(self.place(lines[:2])[0], 201)
        for units in (90, 1):  # whatever is left
            status, answer = self.place([{**line, "units": units} for line in lines])
            self.assertEqual((status, answer["reason"]), (422, "too_wide"))

    def test_of_products_in_opposite_orders_at_once(self):
        lines = self.lines(4, 1)
        pool = self.pool(16)
        placed = list(pool.map(lambda i: self.place(lines if i % 2 == 0 else lines[::-1], i)[0], range(64)))
        self.assertEqual(placed, [201] * 64)
        self.assertEqual([self.shop.product(line["sku"])["left"] for line in lines], [36] * 4)

    def test_of_one_key_at_two_instances_for_the_last_unit(self):
        self.shop.add(self.sku, 1)
        gate = self.close_gate(self.sku)
        key = uuid.uuid4().hex
        pool = self.pool(2)
        orders = [pool.submit(self.shop[i].order, self.sku, key=key) for i in range(2)]
        gate.wait_for(2)
        gate.open()
        self.assertEqual(sorted(one.result()[0] for one in orders), [200, 201])
        self.assertEqual(self.shop.product(self.sku)["sold"], 1)

    def test_whose_key_was_a_restock(self):
        self.shop.add(self.sku, 5)
        body = {"key": uuid.uuid4().hex, "buyer": "b", "sku": self.sku, "units": 2}
        self.assertEqual(self.shop[0].post("/restock", body)[0], 201)
        self.assertEqual(self.shop[0].post("/orders", body)[0], 422)
        self.assertEqual(self.shop.product(self.sku)["left"], 7)

    def test_that_was_refused_may_be_asked_again(self):
        self.shop.add(self.sku, 1)
        key = uuid.uuid4().hex
        self.assertEqual(self.shop[0].order(self.sku, 3, key=key)[0], 409)
        restock = {"key": uuid.uuid4().hex, "buyer": "b", "sku": self.sku, "units": 2}
        self.assertEqual(self.shop[1].post("/restock", restock)[0], 201)
        self.assertEqual(self.shop[1].order(self.sku, 3, key=key)[0], 201)

    def test_with_a_token_below_all_fences(self):
        """As after an ensemble that was emptied."""
        self.shop.add(self.sku, 1)
        with sqlite3.connect(self.shop.database) as database:
            database.execute("UPDATE segments SET fence = 1000000000000000000 WHERE sku = ?", [self.sku])
        key = uuid.uuid4().hex
        status, answer = self.shop[0].order(self.sku, key=key)
        self.assertEqual((status, answer["reason"], answer["fenced_off"]["times"]), (503, "failed", 5))
        wait_until(lambda: self.shop[0].logged("failed", order=key), "the log says why")
        with sqlite3.connect(self.shop.database) as database:
            refusals = database.execute("SELECT count(*) FROM refusals WHERE key = ?", [key]).fetchone()[0]
        self.assertEqual(refusals, 5)
        status, answer = self.shop[1].get(f"/products/{self.sku}")
        self.assertEqual((status, answer["reason"]), (503, "failed"))


class Strange(WithShop):
    """Clients that are."""

    @classmethod
    def setUpClass(cls):
        cls.shop = Shop(1, session_timeout_ms=SESSION_MS)

    @classmethod
    def tearDownClass(cls):
        cls.shop.end()

    def send(self, text):
        """The beginning of what comes back; nothing where the service hangs up."""
        with socket.create_connection(("127.0.0.1", self.shop[0].port), timeout=10) as client:
            try:
                client.sendall(text.encode())
                client.shutdown(socket.SHUT_WR)
                return client.recv(65536).decode()
            except OSError:
                return ""

    def status(self, text):
        return int(self.send(text).split(" ")[1])

    def test_numbers_beyond_32_bits(self):
        product = {"sku": some_name(), "name": "n", "units": 1}
        for segments in (1 << 32, (1 << 32) + 1, -(1 << 32) + 1, (1 << 63) - 1, 33, 0, "2", 1.5):
            self.assertEqual(self.shop[0].post("/products", {**product, "segments": segments})[0], 400, segments)
        self.assertEqual(self.shop[0].post("/orders", order_text("none", units=(1 << 32) + 1))[0], 400)
        self.assertEqual(self.shop[0].post("/orders", order_text("none", units=1 << 64))[0], 400)

    def test_methods(self):
        head, body = self.send("HEAD /health HTTP/1.1\r\nHost: s\r\n\r\n").split("\r\n\r\n")
        self.assertEqual((head.split(" ")[1], body), ("200", ""))
        self.assertIn("text/event-stream", self.send("HEAD /events HTTP/1.1\r\nHost: s\r\n\r\n"))
        self.assertIn("\r\nAllow: GET, HEAD, POST\r\n", self.send("OPTIONS / HTTP/1.1\r\nHost: s\r\n\r\n"))
        self.assertIn("\r\nAllow: GET, HEAD, POST\r\n", self.send("DELETE / HTTP/1.1\r\nHost: s\r\n\r\n"))

    def test_paths(self):
        for path in ("/products/%2e%2e", "/products/%00", "/products/a%2Fb", "/products/%", "/products/" + "a" * 65,
                     "/products/a/b", "//", "/orders", "/products/"):
            self.assertEqual(self.shop[0].get(path)[0], 404, path)

    def test_bodies_in_chunks(self):
        text = order_text("none")
        self.assertEqual(self.status(f"POST /orders HTTP/1.1\r\nHost: s\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n"
                                     f"{len(text):x}\r\n{text}\r\n0\r\n\r\n"), 404)
        chunk = "1000\r\n" + "x" * 4096 + "\r\n"
        self.assertEqual(self.status(f"POST /orders HTTP/1.1\r\nHost: s\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n"
                                     f"{chunk * 17}0\r\n\r\n"), 413)

    def test_lengths_that_are_wrong(self):
        head = "POST /orders HTTP/1.1\r\nHost: s\r\n" + JSON + "Content-Length: {}\r\n\r\n"
        for length in ("-1", "x", "99999999999999999999999"):
            self.assertIn(self.status(head.format(length) + "{}"), (400, 413))
        self.assertNotIn(" 20", self.send(head.format(100) + "{}")[:16])  # the rest never comes
        self.assertNotIn(" 20", self.send("GET / HTTP/1.1\r\nHost: s\r\nX: " + "x" * 100000 + "\r\n\r\n")[:16])
        self.assertEqual(health(self.shop[0]), (200, "ok"))

    def test_clients_that_stop_in_the_midst(self):
        sku = some_name()
        self.shop.add(sku, 20)
        gate = self.close_gate(sku)
        text = order_text(sku)
        whole = f"POST /orders HTTP/1.1\r\nHost: s\r\n{JSON}Content-Length: {len(text)}\r\n\r\n{text}"
        silent = []
        for end in range(10, len(whole), 10):
            client = socket.create_connection(("127.0.0.1", self.shop[0].port), timeout=10)
            client.sendall(whole[:end].encode())
            silent.append(client)
        with socket.create_connection(("127.0.0.1", self.shop[0].port), timeout=10) as client:
            client.sendall(whole.encode())
            gate.wait_for(1)  # it leaves while it waits: its order stays
        gate.open()
        wait_until(lambda: self.shop.product(sku)["sold"] == 1, "it is sold all the same")
        for client in silent:
            client.close()
        self.assertEqual(health(self.shop[0]), (200, "ok"))

    def test_bytes_that_are_no_text(self):
        chance = random.Random(2)
        for _ in range(500):
            body = b'{"key":"' + bytes(chance.randrange(256) for _ in range(chance.randint(1, 30))) + b'"}'
            self.assertEqual(self.shop[0].post("/orders", body)[0], 400)


class Settings(unittest.TestCase):
    def start(self, *arguments, **settings):
        """Its exit status and all that it says, for one that does not stay."""
        environment = {**os.environ, "INVENTORY_PORT": "0", "INVENTORY_HOSTS": HOSTS, "INVENTORY_DATABASE": ":memory:",
                       **{f"INVENTORY_{name.upper()}": value for name, value in settings.items()}}
        ended = subprocess.run([SERVICE, *arguments], env=environment, capture_output=True, text=True, timeout=60,
                               check=False)
        return ended.returncode, ended.stdout + ended.stderr

    def test_that_are_wrong_are_named(self):
        for name, value in (("port", "x"), ("port", "-1"), ("port", "65536"), ("port", "1 "), ("workers", "0"),
                            ("waiting", "99999999999999999999"), ("patience_ms", "0"), ("session_timeout_ms", "1"),
                            ("demonstration", "2")):
            status, said = self.start(**{name: value})
            self.assertEqual((status, f"setting {name} '{value}': must be" in said), (2, True), said)

    def test_files_that_are_wrong_are_named(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "settings.json")
            self.assertEqual(self.start(path)[0], 2)
            for text, rule in (("{", "line 1"), ("[]", "must be a JSON object"), ('{"prot": 1}', "'prot': is no setting"),
                               ('{"port": true}', "'port': must be"), ('{"port": 1, "port": 2}', "duplicate"),
                               ('{"patience_ms": "soon"}', "patience_ms 'soon'")):
                with open(path, "w", encoding="ascii") as file:
                    file.write(text)
                for status, said in (self.start(path), self.start(config=path)):
                    self.assertEqual((status, rule in said), (2, True), said)

    def test_that_only_zklock_finds_wrong(self):
        for settings in ({"hosts": "no port"}, {"hosts": "a:1,,b:2"}, {"instance": "i" * 500}):
            status, said = self.start(**settings)
            self.assertEqual((status, "ensemble_not_reached" in said), (2, True), said)

    def test_command_lines_that_are_wrong(self):
        for arguments in (("--help",), ("a", "b")):
            status, said = self.start(*arguments)
            self.assertEqual((status, said), (2, "usage: inventory-service [FILE OF SETTINGS]\n"))

    def test_addresses_where_it_cannot_listen(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            for settings in ({"port": str(taken.getsockname()[1])}, {"address": "somewhere"}, {"address": "192.0.2.1"}):
                status, said = self.start(**settings)
                self.assertEqual((status, "not_listening" in said), (1, True), said)

    def test_of_a_file_and_of_the_environment(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "settings.json")
            with open(path, "w", encoding="ascii") as file:
                json.dump({"patience_ms": 1234567, "port": 0}, file)
            self.assertIn("patience_ms '1234567'", self.start(path)[1])
            self.assertNotIn("1234567", self.start(path, patience_ms="1000", address="somewhere")[1])


if __name__ == "__main__":
    unittest.main()
