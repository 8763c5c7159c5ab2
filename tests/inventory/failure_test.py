#!/usr/bin/env python3
"""Orders while instances are killed every second, and the leader of the ensemble twice.

Run by `ensemble/ensemble --tick 200 run`: with a short tick a session, and so a lock of a killed instance, ends soon.
"""
import os
import shlex
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/inventory"))
from buyers import Buyer, differences
from instances import PostgreSQL, Shop, wait_until

ORDERS = int(os.environ.get("INVENTORY_ORDERS", "10000"))
BUYERS = 64
INSTANCES = 4
PRODUCTS = {"common": (6000, 4), "rare": (50, 1), "wide": (3000, 5)}
KILL_EVERY_S = 1.0
LEADER_KILLS = 2


def kill_leader():
    """And start it again."""
    ensemble = shlex.split(os.environ["ZKLOCK_ENSEMBLE"])
    roles = subprocess.run([*ensemble, "roles"], capture_output=True, text=True, check=True).stdout
    leader = next(line.split()[0] for line in roles.splitlines() if "leader" in line)
    subprocess.run([*ensemble, "kill", leader], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(2)
    subprocess.run([*ensemble, "start", leader], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Survives:
    """With each database: see below."""

    def database(self):
        return None

    def test_kills(self):
        shop = Shop(INSTANCES, database=self.database(), session_timeout_ms=400, patience_ms=8000)
        self.addCleanup(shop.end)
        for sku, (units, segments) in PRODUCTS.items():
            shop.add(sku, units, segments)
        buyers = [Buyer(shop, i, PRODUCTS, ORDERS // BUYERS) for i in range(BUYERS)]
        for one in buyers:
            one.start()
        began, kills, leaders = time.monotonic(), 0, 0
        while any(one.is_alive() for one in buyers):
            time.sleep(KILL_EVERY_S)
            victim = shop[kills]
            victim.kill()
            victim.restart()
            kills += 1
            if leaders < LEADER_KILLS and time.monotonic() - began > 5 * (leaders + 1):
                kill_leader()
                leaders += 1
        for one in shop.instances:
            one.wait_ready()
        self.judge(shop, buyers)
        print(f"\n{sum(len(one.placed) for one in buyers)} placed, {sum(one.refused for one in buyers)} refused, "
              f"{sum(one.asked_again for one in buyers)} times asked again; {kills} instances and {leaders} leaders killed, "
              f"in {time.monotonic() - began:.0f} s")
        self.assertGreater(kills, 3)

    def judge(self, shop, buyers):
        for sku in PRODUCTS:
            wait_until(lambda name=sku: shop[0].get(f"/products/{name}")[0] == 200, f"{sku} can be read")
        stock = {sku: units for sku, (units, _) in PRODUCTS.items()}
        self.assertEqual(list(differences(stock, [shop.product(sku) for sku in PRODUCTS], buyers)), [])
        for one in buyers[:4]:  # the key of a confirmed order finds it
            for key, (sku, units, token) in list(one.placed.items())[:5]:
                status, answer = shop[1].order(sku, units, key=key, buyer=f"buyer {one.number}")
                self.assertEqual((status, answer["token"]), (200, token))


class SurvivesWithSQLite(Survives, unittest.TestCase):
    pass


class SurvivesWithPostgreSQL(Survives, unittest.TestCase):
    def database(self):
        server = PostgreSQL()
        self.addCleanup(server.end)
        return server.url


if __name__ == "__main__":
    unittest.main()
