#!/usr/bin/env python3
"""One stock sold in three languages: what the sales of examples/inventory/mixed.py show, and holders that are harmed.

Run by `ensemble/ensemble --tick 200 run`: with a short tick a session, and so a lock of a killed seller, ends soon.
"""
import concurrent.futures
import contextlib
import os
import signal
import sqlite3
import sys
import unittest
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/inventory"))
import mixed
from instances import CuratorSeller, KazooSeller, wait_until
from failure_test import kill_leader

SESSION_MS = 2000
LONG_SESSION_MS = 4000  # the longest with this tick: none should end here
UNITS, ORDERS = 15, 24
THINK_MS = 20
STOPPED_MS = 4000  # longer than a session, and than it takes to see that it has begun


class Sells(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sellers = mixed.Sellers(LONG_SESSION_MS)
        cls.addClassCleanup(cls.sellers.end)

    def sell(self, *program, units=UNITS, orders=ORDERS):
        sale = mixed.Sale(" ".join(program), *program)
        sale.run(self.sellers, units, orders, THINK_MS)
        return sale

    def test_one_queue(self):
        sale = self.sell("seller.py")
        self.assertTrue(sale.is_sold_right())
        self.assertEqual(sale.overlaps.total(), 0)
        self.assertEqual({one.language for one in sale.attempts}, set(mixed.LANGUAGES))

    def test_fence_refuses_what_overlaps(self):
        sale = self.sell("careless.py")
        self.assertTrue(sale.is_sold_right())
        self.assertGreater(sale.overlaps.total(), 0)
        self.assertTrue(any(one.refused for one in sale.attempts))

    def test_seller_without_the_fence_is_caught(self):
        sale = self.sell("careless.py", "--without-fence")
        self.assertGreater(sale.oversold(), 0)
        self.assertFalse(sale.is_sold_right())
        self.assertEqual([is_right for _, is_right in mixed.verdicts(sale, sale, self.sell("seller.py"))], [False] * 3)

    def test_sale_while_the_leader_is_killed(self):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            killed = pool.submit(kill_leader)
            sale = self.sell("seller.py", units=150, orders=180)
            killed.result()
        self.assertTrue(sale.is_sold_right())


class Harms(unittest.TestCase):
    """Of a holder in each language, between its claim and its write."""

    @classmethod
    def setUpClass(cls):
        cls.sellers = mixed.Sellers(SESSION_MS)
        cls.addClassCleanup(cls.sellers.end)
        cls.python = cls.sellers.start_python("seller.py")
        cls.addClassCleanup(cls.python.end)
        cls.all = {mixed.SERVICE: cls.sellers.shop[0], CuratorSeller.language: cls.sellers.java,
                   KazooSeller.language: cls.python}
        cls.pool = concurrent.futures.ThreadPoolExecutor(3)
        cls.addClassCleanup(cls.pool.shutdown)

    def add(self, units):
        self.sku = f"ticket-{uuid.uuid4().hex[:8]}"
        self.sellers.shop.add(self.sku, units)

    def query(self, sql):
        with contextlib.closing(sqlite3.connect(self.sellers.shop.database)) as database:
            return database.execute(sql, (self.sku,)).fetchall()

    def fence(self):
        return self.query("SELECT fence FROM segments WHERE sku = ?")[0][0]

    def keys(self):
        return [key for key, in self.query("SELECT key FROM order_parts WHERE sku = ? ORDER BY key")]

    def reason(self, seller, key, units=1):
        return seller.order(self.sku, units, key=f"{self.sku}-{key}")[1]["reason"]

    def begin(self, seller, think_ms):
        """An order that has claimed, and writes after so long: what it will answer, and its token."""
        key = f"{self.sku}-late"
        late = self.pool.submit(seller.order, self.sku, key=key, think_ms=think_ms)
        wait_until(lambda: seller.logged("granted", order=key), "it is granted")
        token = int(seller.logged("granted", order=key)[0]["token"])
        wait_until(lambda: self.fence() == token, "it has claimed")
        return late, token

    def for_each(self, test):
        """With who is harmed, and another one."""
        languages = list(self.all)
        for number, language in enumerate(languages):
            with self.subTest(language):
                test(self.all[language], self.all[languages[(number + 1) % 3]])

    def test_killed(self):
        self.for_each(self.kill)

    def kill(self, victim, other):
        self.add(2)
        self.begin(victim, think_ms=STOPPED_MS)
        victim.kill()
        self.assertEqual(self.reason(other, "other"), "placed")
        victim.restart()
        victim.wait_ready()
        self.assertEqual(self.keys(), [f"{self.sku}-other"])
        self.assertEqual([self.reason(one, "late") for one in (victim, other)], ["placed", "placed"])
        self.assertEqual(self.reason(other, "third"), "sold_out")
        self.assertEqual(self.keys(), [f"{self.sku}-late", f"{self.sku}-other"])

    def test_stopped(self):
        self.for_each(self.stop)

    def stop(self, victim, other):
        self.add(1)
        late, token = self.begin(victim, think_ms=STOPPED_MS)
        victim.process.send_signal(signal.SIGSTOP)
        try:
            self.assertEqual(self.reason(other, "other"), "placed")
        finally:
            victim.process.send_signal(signal.SIGCONT)
        self.assertIn(late.result()[1]["reason"], ("sold_out", "unavailable"))
        refused = victim.logged("fenced_off", order=f"{self.sku}-late")
        self.assertEqual(int(refused[0]["token"]), token)
        self.assertGreater(self.fence(), token)
        self.assertEqual(self.keys(), [f"{self.sku}-other"])
        wait_until(lambda: self.reason(victim, "late") == "sold_out", "it serves again")

    def test_one_order_for_each_key(self):
        self.add(2)
        told = list(self.pool.map(lambda one: self.reason(one, "same"), self.all.values()))
        self.assertEqual((told, len(self.keys())), (["placed"] * 3, 1))
        self.assertEqual([self.reason(one, "same", units=2) for one in self.all.values()], ["key_used"] * 3)
        self.assertEqual(self.query("SELECT quantity, sold FROM segments WHERE sku = ?"), [(1, 1)])


if __name__ == "__main__":
    unittest.main()
