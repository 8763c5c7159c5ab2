"""The shop's customers, and what is judged of their orders, at a shop that is made up.

    cd tests/chaos && python3 -m unittest fleet.shop_test
"""
import collections
import unittest

from .shop import Buyer, contradictions, differences


class MadeShop:
    """One instance that answers as it is told to, and then places every order. Keys are remembered."""

    def __init__(self, *answers):
        self.instances = [self]
        self.answers = list(answers)
        self.asked = collections.Counter()

    def post(self, _, body, __):
        self.asked[body["key"]] += 1
        answer = self.answers.pop(0) if self.answers else 201
        if isinstance(answer, Exception):
            raise answer
        return answer, {"token": 7}


def product(left, sold, stocked=10):
    return {"sku": "rare", "left": left, "sold": sold, "stocked": stocked}


class AsksUntilItKnows(unittest.TestCase):
    def buyer(self, *answers):
        self.shop = MadeShop(*answers)
        return Buyer(self.shop, 0, ["rare"], 1)

    def test_the_same_key_again_until_it_is_placed(self):
        one = self.buyer(503, ConnectionRefusedError(), TimeoutError(), 200)
        one.run()
        self.assertEqual(list(self.shop.asked.values()), [4])
        self.assertEqual((len(one.placed), one.refused, one.asked_again), (1, 0, 3))

    def test_a_refusal_is_an_answer(self):
        one = self.buyer(503, 409)
        self.assertEqual(one.buy(), (False, "rare"))
        self.assertEqual((len(one.placed), one.refused), (0, 1))

    def test_what_it_brings_is_brought_once(self):
        one = self.buyer(503, 503)
        one.restock("rare", 5)
        self.assertEqual(list(self.shop.asked.values()), [3])
        self.assertEqual(one.restocked, {"rare": 5})


class Stock(unittest.TestCase):
    def differences(self, its, sold=0, restocked=0):
        one = Buyer(None, 0, ["rare"], 0)
        one.placed = {f"key {number}": ("rare", 1, 7) for number in range(sold)}
        one.restocked["rare"] += restocked
        return len(list(differences({"rare": 10}, [its], [one])))

    def test_what_agrees(self):
        self.assertEqual(self.differences(product(7, 3), sold=3), 0)
        self.assertEqual(self.differences(product(12, 3, 15), sold=3, restocked=5), 0)

    def test_a_confirmed_order_that_is_lost(self):
        self.assertEqual(self.differences(product(8, 2), sold=3), 1)

    def test_an_order_that_is_doubled(self):
        self.assertEqual(self.differences(product(6, 4), sold=3), 1)

    def test_what_was_brought_and_is_lost_or_doubled(self):
        self.assertEqual(self.differences(product(10, 0), restocked=5), 1)
        self.assertEqual(self.differences(product(20, 0, 20), restocked=5), 1)

    def test_a_unit_that_is_sold_twice(self):
        for its in (product(8, 3), product(-1, 11), product(0, 9)):
            self.assertEqual(len(list(contradictions(its))), 1, its)


if __name__ == "__main__":
    unittest.main()
