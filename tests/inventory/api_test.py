#!/usr/bin/env python3
"""The inventory service over HTTP, on real servers and both databases."""
import concurrent.futures
import json
import os
import random
import signal
import sqlite3
import sys
import time
import unittest
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/inventory"))
from instances import PostgreSQL, Shop, wait_until


MONTH = 300  # requests


class Model:
    """What a shop in memory does."""

    def __init__(self, left):
        self.left, self.sold, self.placed = left, dict.fromkeys(left, 0), set()

    def choose(self, chance):
        """A request at random."""
        body = {"key": uuid.uuid4().hex, "buyer": "somebody"}
        if chance.random() < 0.3:
            return "/restock", {**body, "sku": chance.choice(list(self.left)), "units": chance.randint(1, 15)}
        skus = chance.sample(list(self.left), chance.randint(1, len(self.left)))
        return "/orders", {**body, "lines": [{"sku": sku, "units": chance.randint(1, 9)} for sku in skus]}

    def serve(self, path, body):
        """The status of the answer."""
        if body["key"] in self.placed:
            return 200
        if path == "/restock":
            self.left[body["sku"]] += body["units"]
        elif any(self.left[line["sku"]] < line["units"] for line in body["lines"]):
            return 409
        else:
            for line in body["lines"]:
                self.left[line["sku"]] -= line["units"]
                self.sold[line["sku"]] += line["units"]
        self.placed.add(body["key"])
        return 201


class Sells:
    """With each database: see below."""

    database = None

    @classmethod
    def setUpClass(cls):
        cls.shop = Shop(3, database=cls.database, session_timeout_ms=2000)

    @classmethod
    def tearDownClass(cls):
        cls.shop.end()

    def setUp(self):
        self.sku = f"sku-{uuid.uuid4().hex[:12]}"

    def at_once(self, count, ask):
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            return list(pool.map(ask, range(count)))

    def test_exactly_what_is_there(self):
        self.shop.add(self.sku, 7)
        answers = self.at_once(30, lambda i: self.shop[i].order(self.sku))
        self.assertEqual(sorted(status for status, _ in answers), [201] * 7 + [409] * 23)
        left = self.shop.product(self.sku)
        self.assertEqual((left["left"], left["sold"], left["stocked"]), (0, 7, 7))

    def test_no_unit_of_a_segment_is_stranded(self):
        self.shop.add(self.sku, 50, segments=5)
        answers = self.at_once(60, lambda i: self.shop[i].order(self.sku))
        self.assertEqual([status for status, _ in answers].count(201), 50)
        self.shop.add(f"{self.sku}-2", 10, segments=5)
        self.assertEqual(self.shop[0].order(f"{self.sku}-2", 9)[0], 201)
        self.assertEqual(self.shop[1].order(f"{self.sku}-2", 2)[0], 409)
        self.assertEqual(self.shop[2].order(f"{self.sku}-2", 1)[0], 201)

    def test_several_products_or_none(self):
        other = f"{self.sku}-2"
        self.shop.add(self.sku, 5)
        self.shop.add(other, 1)
        both = [{"sku": self.sku, "units": 2}, {"sku": other, "units": 1}]
        orders = self.at_once(5, lambda i: self.shop[i].post("/orders", {
            "key": uuid.uuid4().hex, "buyer": "x", "lines": both if i % 2 == 0 else both[::-1]}))
        self.assertEqual(sorted(status for status, _ in orders), [201, 409, 409, 409, 409])
        self.assertEqual((self.shop.product(self.sku)["left"], self.shop.product(other)["left"]), (3, 0))

    def test_one_order_for_each_key(self):
        self.shop.add(self.sku, 5)
        key = uuid.uuid4().hex
        answers = self.at_once(9, lambda i: self.shop[i].order(self.sku, key=key))
        self.assertEqual(sorted(status for status, _ in answers), [200] * 8 + [201])
        self.assertEqual(len({answer["token"] for _, answer in answers}), 1)
        self.assertEqual(self.shop[0].order(self.sku, units=2, key=key)[0], 422)
        status, answer = self.shop[0].order(self.sku, key=key, buyer="somebody else")
        self.assertEqual((status, answer["reason"]), (422, "key_used"))
        self.assertEqual(self.shop.product(self.sku)["left"], 4)

    def test_what_was_restocked(self):
        self.shop.add(self.sku, 1, segments=3)
        self.assertEqual(self.shop[0].order(self.sku, 4)[0], 409)
        body = {"key": uuid.uuid4().hex, "buyer": "store", "sku": self.sku, "units": 7}
        self.assertEqual([self.shop[i].post("/restock", body)[0] for i in range(3)], [201, 200, 200])
        self.assertEqual(self.shop[1].order(self.sku, 8)[0], 201)
        self.assertEqual(self.shop.product(self.sku)["left"], 0)

    def test_a_month_as_a_model_does(self):
        chance = random.Random(1)
        model = Model({f"{self.sku}-{i}": 20 for i in range(3)})
        for i, sku in enumerate(model.left):
            self.shop.add(sku, 20, segments=1 + 3 * i)
        asked = []
        for _ in range(MONTH):
            path, body = model.choose(chance)
            if asked and chance.random() < 0.2:  # somebody asks again, who may have been refused then
                path, body = chance.choice(asked)
            asked.append((path, body))
            status, answer = self.shop[chance.randrange(3)].post(path, body)
            self.assertEqual(status, model.serve(path, body), answer)
            sku = chance.choice(list(model.left))
            product = self.shop.product(sku, chance.randrange(3))
            self.assertEqual((product["left"], product["sold"]), (model.left[sku], model.sold[sku]))

    def harm_a_holder(self, harm, units=1, **more):
        """Instance 0 while its order holds the lock of the last unit; what instance 1 sells, and what becomes of the order."""
        self.shop.add(self.sku, units)
        key = f"late-{self.sku}"
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            late = pool.submit(self.shop[0].order, self.sku, key=key, harm=harm, **more)
            wait_until(lambda: self.shop[0].logged("harmed", order=key, by=harm), "it is harmed")
            status, granted = self.shop[1].order(self.sku)
            self.assertEqual(status, 201)
            self.shop[0].process.send_signal(signal.SIGCONT)
            return granted, late.result()

    def judge_late_write(self, granted, late):
        status, answer = late
        self.assertEqual((status, answer["reason"]), (409, "sold_out"))
        self.assertEqual(answer["fenced_off"]["fence"], granted["token"])
        self.assertLess(answer["fenced_off"]["token"], granted["token"])
        self.assertEqual(self.shop.product(self.sku)["sold"], 1)

    def test_nothing_for_a_holder_that_was_stopped(self):
        self.judge_late_write(*self.harm_a_holder("stop", harm_ms=30000))

    def test_a_stop_that_was_ended_by_hand_ends_no_later_one(self):
        ends = time.monotonic() + 6
        self.harm_a_holder("stop", harm_ms=6000)
        self.sku += "-again"
        self.shop.add(self.sku, 1)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            late = pool.submit(self.shop[0].order, self.sku, key=self.sku, harm="stop", harm_ms=30000)
            wait_until(lambda: self.shop[0].logged("harmed", order=self.sku), "it is harmed again")
            time.sleep(max(ends + 0.5 - time.monotonic(), 0))
            with open(f"/proc/{self.shop[0].process.pid}/stat", encoding="ascii") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
            self.shop[0].process.send_signal(signal.SIGCONT)
            late.result()
        self.assertEqual(state, "T")
        wait_until(lambda: self.shop[0].get("/health")[0] == 200, "it is back")

    def test_nothing_for_a_holder_that_is_cut_off_from_zookeeper(self):
        self.judge_late_write(*self.harm_a_holder("cut_zookeeper", harm_ms=6000))
        wait_until(lambda: self.shop[0].get("/health")[0] == 200, "it is back")

    def test_nothing_for_a_holder_that_is_cut_off_from_the_database(self):
        granted, (status, answer) = self.harm_a_holder("cut_database", harm_ms=1000)
        self.assertEqual((status, answer["reason"]), (503, "failed"))
        self.assertEqual([one["why"] for one in self.shop[0].logged("failed", order=f"late-{self.sku}")],
                         ["it was cut off, as a demonstration"])
        self.assertEqual(self.shop.product(self.sku, 2)["sold"], 1)
        wait_until(lambda: self.shop[0].get("/health")[0] == 200, "it is back")
        self.assertEqual(self.shop[0].order(self.sku, key=f"late-{self.sku}")[0], 409)
        self.assertGreater(granted["token"], 0)

    def test_a_holder_is_harmed_once(self):
        """Not again when its order, which was fenced off, begins again."""
        _, (status, answer) = self.harm_a_holder("stop", units=2, harm_ms=30000)
        self.assertEqual((status, answer["fenced_off"]["times"]), (201, 1))
        self.assertEqual(len(self.shop[0].logged("harmed", order=f"late-{self.sku}")), 1)

    def test_nothing_of_the_database_for_one_that_is_cut_off(self):
        self.shop.add(self.sku, 2)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            late = pool.submit(self.shop[0].order, self.sku, key=f"late-{self.sku}", harm="cut_database", harm_ms=3000)
            wait_until(lambda: self.shop[0].logged("harmed", order=f"late-{self.sku}"), "it is cut off")
            reads = [self.shop[i].get("/products")[0] for i in range(2)]
            self.assertFalse(late.done())
            self.assertEqual((reads, late.result()[0]), ([503, 200], 503))

    def test_without_a_lock_nothing_that_is_sold_under_one(self):
        """The fence refuses a token of 0 as it does any other that is old: the order asks for the lock then."""
        self.shop.add(self.sku, 2)
        self.assertEqual(self.shop[0].order(self.sku)[0], 201)
        status, answer = self.shop[1].order(self.sku, lock=False)
        self.assertEqual((status, answer["fenced_off"]["times"], answer["fenced_off"]["token"]), (201, 1, 0))
        self.assertGreater(answer["token"], answer["fenced_off"]["fence"])
        self.assertEqual(self.shop.product(self.sku)["sold"], 2)

    def test_all_of_several_segments_without_a_lock(self):
        self.shop.add(self.sku, 5, segments=3)
        self.assertEqual(self.shop[0].order(self.sku, 5, lock=False)[0], 201)
        self.assertEqual(self.shop.product(self.sku)["left"], 0)
        self.assertEqual(self.shop[0].order(self.sku, 1, lock=False)[0], 409)

    def test_too_much_without_a_lock(self):
        self.shop.add(self.sku, 2)
        answers = self.at_once(6, lambda i: self.shop[i].order(self.sku, lock=False))
        self.assertGreater([status for status, _ in answers].count(201), 2)
        product = self.shop.product(self.sku)
        self.assertGreater(product["sold"], product["stocked"])


class SellsFromSQLite(Sells, unittest.TestCase):
    def test_nobody_waits_for_the_transactions_of_one_that_is_cut_off(self):
        """Its workers all wait to begin one when somebody lets go of the database: one is cut off, and others then begin."""
        shop = Shop(2, workers=16, session_timeout_ms=2000)
        self.addCleanup(shop.end)
        skus = [f"{self.sku}-{i}" for i in range(15)]
        for sku in (self.sku, "free", *skus):
            shop.add(sku, 2)
        somebody = sqlite3.connect(shop.database, isolation_level=None)
        self.addCleanup(somebody.close)
        somebody.execute("BEGIN IMMEDIATE")
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            late = pool.submit(shop[0].order, self.sku, key="late", harm="cut_database", harm_ms=3000)
            crowd = [pool.submit(shop[0].order, sku) for sku in skus]
            wait_until(lambda: len(shop[0].logged("granted")) == 16, "all wait for the database")
            somebody.execute("ROLLBACK")
            wait_until(lambda: shop[0].logged("harmed"), "it is cut off")
            self.assertEqual(shop[1].order("free")[0], 201)
            self.assertFalse(late.done())
            self.assertLessEqual({one.result()[0] for one in crowd}, {201, 503})


class SellsFromPostgreSQL(Sells, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = PostgreSQL()
        cls.database = cls.server.url
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.server.end()


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shop = Shop(1, demonstration=0)
        cls.shop.add("thing", 10)

    @classmethod
    def tearDownClass(cls):
        cls.shop.end()

    def test_malformed_requests_with_the_rule(self):
        right = {"key": "k", "buyer": "b", "sku": "thing", "units": 1}
        wrong = [{**right, **part} for part in (
            {"key": ""}, {"key": "a b"}, {"key": 1}, {"key": "k" * 65}, {"key": "."}, {"buyer": ""}, {"buyer": None},
            {"buyer": "b" * 201}, {"sku": "a/b"}, {"sku": ""}, {"units": 0}, {"units": -1}, {"units": 1.5},
            {"units": "1"}, {"units": 1000001}, {"lines": []}, {"lines": {}}, {"lines": [1]}, {"lock": False},
            {"lines": [{"sku": "thing", "units": 1}] * 2}, {"harm": "stop"}, {"harm_ms": 1}, {"think_ms": 1})]
        for body in [*wrong, "", "x", "[]", "1", "{", '{"a":1,"a":2}', b"\xff\xfe", "null", "{}"]:
            with self.subTest(body):
                status, answer = self.shop[0].post("/orders", body)
                self.assertEqual((status, answer["reason"]), (400, "bad_request"), answer)
                self.assertTrue(answer["error"])
        self.assertEqual(self.shop[0].post("/orders", "x" * 70000)[0], 413)
        self.assertEqual(self.shop[0].get("/metrics")[1].count('reason="placed"} 0'), 2)

    def test_malformed_requests_by_the_thousand(self):
        chance = random.Random(1)
        text = json.dumps({"key": "k", "buyer": "b", "lines": [{"sku": "none", "units": 1}]})
        for _ in range(1000):
            broken = list(text)
            for _ in range(chance.randint(1, 5)):
                broken[chance.randrange(len(broken))] = chance.choice('{}[]":,x0-\\é\t')
            status, _ = self.shop[0].post("/orders", "".join(broken).encode())
            self.assertIn(status, (400, 404))

    def test_trials_with_the_rule(self):
        shop = Shop(1)
        self.addCleanup(shop.end)
        for part in ({"lock": 1}, {"think_ms": -1}, {"think_ms": 60001}, {"harm": "burn"}, {"harm": 1}, {"harm": None},
                     {"harm": "stop", "harm_ms": "1"}):
            self.assertEqual(shop[0].order("thing", **part)[0], 400, part)

    def test_paths_and_methods_that_there_are_not(self):
        self.assertEqual(self.shop[0].get("/nothing")[0], 404)
        self.assertEqual(self.shop[0].get("/products/none")[0], 404)
        self.assertEqual(self.shop[0].get("/products/../x")[0], 404)
        self.assertEqual(self.shop[0].post("/nothing", {})[0], 404)
        self.assertEqual(self.shop[0].ask("DELETE", "/products")[0], 405)

    def test_what_pages_of_other_origins_can_send_unasked(self):
        """A browser asks first where the type is another (OPTIONS), and is not told that it may."""
        body = {"key": "k", "buyer": "b", "sku": "thing", "units": 1}
        for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain;application/json",
                             "application/jsonp", "", "application"):
            for path in ("/orders", "/restock", "/products"):
                status, answer = self.shop[0].ask("POST", path, body, content_type=content_type)
                self.assertEqual((status, answer["reason"]), (415, "bad_type"), content_type)
        self.assertEqual(self.shop[0].get("/products/thing")[1]["left"], 10)
        self.assertEqual(self.shop[0].ask("OPTIONS", "/orders")[0], 204)
        for content_type in ("application/json; charset=utf-8", "Application/JSON"):
            self.assertEqual(self.shop[0].ask("POST", "/restock", {**body, "key": content_type[:4]},
                                              content_type=content_type)[0], 201)
        self.assertEqual(self.shop.product("thing")["left"], 12)

    def test_pages_of_other_origins_are_told_that_they_may_in_a_demonstration_only(self):
        open_shop = Shop(1, demonstration=1)
        self.addCleanup(open_shop.end)
        for shop, origin, headers in ((self.shop, None, None), (open_shop, "*", "content-type")):
            for method, path in (("OPTIONS", "/orders"), ("GET", "/health")):
                answer = shop[0].headers(method, path)
                self.assertEqual(answer["Access-Control-Allow-Origin"], origin)
                if method == "OPTIONS":
                    self.assertEqual((answer["Access-Control-Allow-Headers"] or "").lower() or None, headers)

    def test_no_page_where_it_is_switched_off(self):
        shop = Shop(1, demonstration=0, page=0)
        self.addCleanup(shop.end)
        self.assertEqual([shop[0].get(path)[0] for path in ("/", "/events", "/products")], [404, 404, 200])

    def test_health_and_metrics_and_the_page(self):
        self.assertEqual(self.shop[0].get("/health")[1]["locks"], "ok")
        page = self.shop[0].get("/metrics")[1]
        self.assertIn("inventory_orders_total", page)
        self.assertIn("zklock_", page)
        self.assertIn("<title>", self.shop[0].get("/")[1])


if __name__ == "__main__":
    unittest.main()
