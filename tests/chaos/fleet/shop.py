"""The inventory service as an oracle of its own: instances on the machines of clients share one stock, buyers order all the
time, and what was sold in the end is what they were told."""
import os
import random
import signal
import sys
import threading
import time

from world.servers import TOP
from .member import state_of

sys.path.insert(0, f"{TOP}/examples/inventory")
from buyers import Buyer, contradictions, differences
from instances import Instance

SESSION_MS = 4000
PATIENCE_MS = 8000
INSTANCES = 3
BUYERS = 4
STOCK = {"common": (60, 3), "rare": (5, 1)}  # units and segments: soon sold out, and then there are more
RESTOCK = 20
RESTOCK_ONE_IN = 4  # of those that were refused
BACK_AFTER_S = 1  # an instance that has ended
LOOK_EVERY_S = 1
# When all is well again.
ANSWERED_WITHIN_S = 60
LINES_KEPT = 1000


class OnAMachine(Instance):
    """It comes back when it has ended."""

    def __init__(self, shop, number, host):
        self.shop, self.host = shop, host
        super().__init__(f"shop-{number + 1}", shop.database, shop.hosts, address=host.address, page=0, demonstration=0,
                         session_timeout_ms=SESSION_MS, patience_ms=PATIENCE_MS)

    def command(self):
        return self.host.inside(self.shop.program)

    def take_line(self, one):
        super().take_line(one)
        del self.log[:-LINES_KEPT]

    def kill(self):
        """The keeper buries it."""
        self.process.kill()

    def signal(self, number):
        self.process.send_signal(number)

    def kernel_state(self):
        return state_of(self.process.pid)

    def judge_end(self, status):
        """It ends when it is told to, or is killed."""
        if status not in (0, -signal.SIGKILL):
            self.shop.wrong.append(f"{self.name} ended with {status}")

    def come_back(self):
        if self.process.poll() is not None and self.port:
            self.forget()
            self.judge_end(self.process.returncode)
            self.settings["hosts"] = self.shop.hosts
            self.restart()


class Customer(Buyer):
    """Buys until the shop closes; where there is too little it brings more now and then."""

    def run(self):
        while not self.shop.is_closing.is_set():
            got, sku = self.buy()
            if not got and self.chance.randrange(RESTOCK_ONE_IN) == 0:
                self.restock(sku, RESTOCK)
            self.shop.is_closing.wait(self.chance.uniform(0, 2 * self.shop.pace_s))


class Shop:
    """`pace_s`: a customer's pause, about."""

    def __init__(self, place, build, machines, hosts, seed, pace_s=0.3):
        os.mkdir(place)
        self.database = os.path.join(place, "inventory.db")
        self.program = f"{build}/examples/inventory/service/inventory-service"
        self.hosts, self.pace_s = hosts, pace_s
        self.is_closing, self.is_closed = threading.Event(), threading.Event()
        self.instances = [OnAMachine(self, number, machines[number % len(machines)]) for number in range(INSTANCES)]
        self.customers = [Customer(self, f"{seed} {number}", STOCK, None) for number in range(BUYERS)]
        self.wrong = []
        self.looks = 0
        self.chance = random.Random(f"shop {seed}")
        self.keeper = threading.Thread(target=self.keep, daemon=True)
        self.looker = threading.Thread(target=self.look_always, daemon=True)

    def open(self):
        for one in self.instances:
            one.wait_ready()
        for sku, (units, segments) in STOCK.items():
            status, answer = self.instances[0].post("/products", {"sku": sku, "name": sku, "units": units,
                                                                  "segments": segments})
            if status != 201:
                raise OSError(f"the shop does not take {sku}: {answer}")
        for one in (self.keeper, self.looker, *self.customers):
            one.start()

    def living(self):
        return [one for one in self.instances if one.process.poll() is None]

    def set_hosts(self, hosts):
        """An instance cannot be told; those that begin from now on know."""
        self.hosts = hosts

    def keep(self):
        while not self.is_closed.wait(BACK_AFTER_S):
            for one in self.instances:
                one.come_back()

    # ---- What it must say ------------------------------------------------------------------------

    def look(self, sku):
        """What an instance tells of a product, under the lock of a reader; None: it cannot just now."""
        try:
            status, answer = self.chance.choice(self.instances).get(f"/products/{sku}")
        except (OSError, ValueError):
            return None
        return answer if status == 200 else None

    def look_always(self):
        """No order is half in what is read."""
        while not self.is_closing.wait(LOOK_EVERY_S):
            product = self.look(self.chance.choice(list(STOCK)))
            if product is not None:
                self.looks += 1
                self.wrong += contradictions(product)

    def close(self):
        """All is well again. Returns what was wrong."""
        self.is_closing.set()
        until = time.monotonic() + ANSWERED_WITHIN_S
        for one in (self.looker, *self.customers):
            one.join(max(until - time.monotonic(), 0))
        waiting = sum(one.is_alive() for one in self.customers)
        if waiting:
            self.wrong.append(f"{waiting} customers have no answer {ANSWERED_WITHIN_S} s after all was healed")
        products = self.products(until)
        if waiting == 0:
            self.wrong += differences({sku: units for sku, (units, _) in STOCK.items()}, products, self.customers)
        self.end()
        return self.wrong

    def products(self, until):
        found = {}
        while len(found) < len(STOCK) and time.monotonic() < until:
            found.update((sku, product) for sku in STOCK if (product := self.look(sku)) is not None)
        self.wrong += [f"{sku} cannot be read" for sku in STOCK if sku not in found]
        return list(found.values())

    def end(self):
        self.is_closed.set()
        self.keeper.join()
        for one in self.instances:
            one.judge_end(one.end())

    def told(self):
        """In numbers, for the report."""
        return {"placed": sum(len(one.placed) for one in self.customers),
                "refused": sum(one.refused for one in self.customers),
                "restocked": sum(one.restocked.total() for one in self.customers),
                "asked again": sum(one.asked_again for one in self.customers), "looks": self.looks}
