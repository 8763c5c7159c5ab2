#!/usr/bin/python3
"""What a seller must not be, to show what comes of it: kazoo's own lock, which does not see those of others.

usage: careless.py [--without-fence] HOSTS DATABASE SESSION_MS NAME
"""
import sys

import kazoo.recipe.lock

import seller


class Careless(seller.Seller):
    lock_class = kazoo.recipe.lock.Lock


if __name__ == "__main__":
    if sys.argv[1] == "--without-fence":
        del sys.argv[1]
        seller.CLAIM = "SELECT quantity FROM segments WHERE sku = :sku AND segment = 0"
        seller.TAKE = "UPDATE segments SET quantity = :left, sold = sold + :units WHERE sku = :sku AND segment = 0"
    seller.main(Careless)
