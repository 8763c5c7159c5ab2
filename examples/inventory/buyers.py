"""Buyers of the inventory service who ask until they know, and whether the stock agrees with what they were told."""
import collections
import http.client
import random
import threading
import time
import uuid

ANSWERED_WITHIN_S = 15  # else it is asked again
PAUSE_S = 0.05
PLACED, REFUSED = (200, 201), 409


class Buyer(threading.Thread):
    """Asks again, with the same key, any of the instances, until it knows what has become of its order."""

    def __init__(self, shop, number, products, orders):
        super().__init__(daemon=True)
        self.shop, self.number, self.products, self.orders = shop, number, list(products), orders
        self.chance = random.Random(number)
        self.placed, self.refused, self.asked_again = {}, 0, 0
        self.restocked = collections.Counter()

    def run(self):
        for _ in range(self.orders):
            self.buy()

    def buy(self):
        """Whether it got something, and of which product."""
        key, sku, units = uuid.uuid4().hex, self.chance.choice(self.products), self.chance.randint(1, 2)
        status, answer = self.ask("/orders", key, sku, units)
        if status == REFUSED:
            self.refused += 1
        else:
            self.placed[key] = (sku, units, answer["token"])
        return status != REFUSED, sku

    def restock(self, sku, units):
        self.ask("/restock", uuid.uuid4().hex, sku, units)
        self.restocked[sku] += units

    def ask(self, path, key, sku, units):
        body = {"key": key, "buyer": f"buyer {self.number}", "sku": sku, "units": units}
        while True:
            try:
                status, answer = self.chance.choice(self.shop.instances).post(path, body, ANSWERED_WITHIN_S)
                if status in PLACED or status == REFUSED:
                    return status, answer
            except (OSError, ValueError, http.client.HTTPException):
                pass
            self.asked_again += 1
            time.sleep(PAUSE_S)


def contradictions(product):
    """What a product says of itself that cannot be."""
    if product["left"] < 0 or product["left"] + product["sold"] != product["stocked"]:
        yield f"{product['sku']}: {product['left']} are left and {product['sold']} sold of {product['stocked']}"


def differences(stock, products, buyers):
    """What is not so of products, by what was in stock at first and what the buyers know: no confirmed order is lost, none
    is doubled, and nothing was sold that was not there."""
    sold, stocked = collections.Counter(), collections.Counter(stock)
    for one in buyers:
        stocked.update(one.restocked)
        for sku, units, _ in one.placed.values():
            sold[sku] += units
    for one in products:
        yield from contradictions(one)
        if one["sold"] != sold[one["sku"]]:
            yield f"{one['sku']}: {one['sold']} are sold, and buyers have {sold[one['sku']]}"
        if one["stocked"] != stocked[one["sku"]]:
            yield f"{one['sku']}: {one['stocked']} came into stock, and {stocked[one['sku']]} were brought"
