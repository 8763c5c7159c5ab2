#!/usr/bin/env python3
"""Sells one stock in three languages: instances of the service in C, a seller in Java on Curator, one in Python on kazoo.

examples/inventory/run --mixed starts it, with ZKLOCK_HOSTS and INVENTORY_SERVICE.
"""
import argparse
import collections
import concurrent.futures
import datetime
import json
import signal
import sys
import time
import uuid

from instances import CuratorSeller, KazooSeller, Shop

UNITS = 90
ORDERS = 120
BUYERS = 12
THINK_MS = 5  # between read and write: without that, sales overlap only now and then, as such bugs do
PAUSE_S = 0.05  # of a buyer, before it asks again
SESSION_MS = 10000

SERVICE = "C (zklock)"
LANGUAGES = (SERVICE, CuratorSeller.language, KazooSeller.language)

Attempt = collections.namedtuple("Attempt", "language began ended waited_ms refused")


class Sellers:
    """One of each language at least, over one database. Those in Python come and go: see Sale."""

    def __init__(self, session_ms=SESSION_MS):
        self.session_ms = session_ms
        self.shop = Shop(2, plain_locks=1, session_timeout_ms=session_ms, patience_ms=60000)
        self.java = CuratorSeller(self.shop.database, session_timeout_ms=session_ms)
        self.java.wait_ready()

    def start_python(self, *program):
        return KazooSeller(self.shop.database, program=program, session_timeout_ms=self.session_ms).wait_ready()

    def end(self):
        self.java.end()
        self.shop.end()


class Sale:
    """One stock, sold by all. `program` is that of the seller in Python."""

    def __init__(self, title, *program):
        self.title, self.program = title, program
        self.sku = f"ticket-{uuid.uuid4().hex[:8]}"

    def run(self, sellers, units=UNITS, orders=ORDERS, think_ms=THINK_MS):
        self.units, self.think_ms = units, think_ms
        sellers.shop.add(self.sku, units)
        python = sellers.start_python(*self.program)
        try:
            choice = {SERVICE: sellers.shop.instances, CuratorSeller.language: [sellers.java],
                      KazooSeller.language: [python]}
            with concurrent.futures.ThreadPoolExecutor(BUYERS) as buyers:
                told = list(buyers.map(lambda number: self.buy(choice, number), range(orders)))
        finally:
            python.end()
        self.judge(sellers, choice, told)

    def buy(self, choice, number):
        """Asks again, with the same key, until it knows what has become of its order."""
        language = LANGUAGES[number % 3]
        seller = choice[language][number // 3 % len(choice[language])]
        while True:
            _, answer = seller.order(self.sku, key=f"{self.sku}-{number}", buyer=f"buyer {number}", think_ms=self.think_ms)
            if answer["reason"] in ("placed", "sold_out"):
                return language, answer["reason"]
            time.sleep(PAUSE_S)

    def judge(self, sellers, choice, told):
        self.placed = collections.Counter(language for language, reason in told if reason == "placed")
        self.sold, self.product = self.placed.total(), sellers.shop.product(self.sku)
        self.logs = {language: [[line for line in list(one.log) if line.get("order", "").startswith(self.sku)] for one in its]
                     for language, its in choice.items()}
        self.attempts = [one for language, its in self.logs.items() for log in its for one in attempts_of(language, log)]
        self.overlaps = overlaps_in(self.attempts)

    def oversold(self):
        return max(self.sold - self.units, 0)

    def is_sold_right(self):
        """All units, as far as the buyers were told, and as far as the database knows."""
        return self.sold == self.product["sold"] == self.units and self.product["left"] == 0

    def cells(self, language):
        its = [one for one in self.attempts if language in (one.language, None)]
        waited_ms = sum(one.waited_ms for one in its) / max(len(its), 1)
        sold = self.placed[language] if language else self.sold
        overlaps = self.overlaps[language] if language else self.overlaps.total()
        refused = sum(one.refused for one in its)
        return [f"  {language or 'together'}", str(sold), f"{waited_ms:.0f} ms", str(overlaps), str(refused),
                "" if language else str(self.oversold())]


def attempts_of(language, log):
    """Each that held a lock, from its grant until it has written or was refused; from a log in order."""
    granted, attempts = {}, []
    for line in log:
        order, event = line.get("order"), line["event"]
        if event == "granted":
            granted[order] = line
        elif event in ("written", "fenced_off") and order in granted:
            began = granted.pop(order)
            attempts.append(Attempt(language, moment_of(began), moment_of(line), int(began["waited_ms"]),
                                    event == "fenced_off"))
    return attempts


def moment_of(line):
    return datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00"))


def overlaps_in(attempts):
    """How many of each language were not alone: what a lock is to prevent."""
    count = collections.Counter()
    for one in attempts:
        if any(one.began < other.ended and other.began < one.ended for other in attempts if other is not one):
            count[one.language] += 1
    return count


def print_sales(sales):
    head = ["", "sold", "waited", "overlaps", "refused", "oversold"]
    table = [head]
    for sale in sales:
        table.append([sale.title])
        table += [sale.cells(language) for language in (*LANGUAGES, None)]
    widths = [max(len(line[i]) for line in table if len(line) > 1) for i in range(len(head))]
    for line in table:
        if len(line) == 1:
            print(f"\n{line[0]}")
        else:
            cells = [line[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
            print("  ".join(cells).rstrip())


def verdicts(together, apart, unfenced):
    """What each sale is to show, and whether it does."""
    return [
        ("one queue for three languages: no overlap, nothing oversold",
         together.is_sold_right() and together.overlaps.total() == 0),
        ("kazoo's own lock: the sales overlap, and the fence refuses what they would have oversold",
         apart.is_sold_right() and apart.overlaps.total() > 0 and any(one.refused for one in apart.attempts)),
        ("the same without a fence: units are sold that do not exist", unfenced.oversold() > 0),
    ]


def play_all(verbose):
    began = time.monotonic()

    def tell(text):
        print(f"{time.monotonic() - began:5.1f} s  {text}", file=sys.stderr, flush=True)

    sales = [Sale("One queue: a subclass gives kazoo's lock the names of the other two", "seller.py"),
             Sale("Kazoo's own lock: it does not wait for the other two", "careless.py"),
             Sale("The same, and it does not look at the fence", "careless.py", "--without-fence")]
    tell("the sellers start")
    sellers = Sellers()
    try:
        for sale in sales:
            tell(sale.title)
            sale.run(sellers)
    finally:
        sellers.end()
    tell("done")
    if verbose:
        for line in (line for sale in sales for its in sale.logs.values() for log in its for line in log):
            print(json.dumps(line), file=sys.stderr)
    return sales


def play(options):
    sales = play_all(options.verbose)
    print(f"\n{UNITS} units; {ORDERS} orders, a third of them for each language.\n")
    print_sales(sales)
    print("\nWaited: for the lock, on average. Overlaps: sales that were not alone between their grant and their write."
          "\nRefused: writes and claims, by the fence; such an order asks for its lock again.\n")
    found = verdicts(*sales)
    for what, is_right in found:
        print(f"{'right' if is_right else 'WRONG'}: {what}")
    return 0 if all(is_right for _, is_right in found) else 1


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    signal.signal(signal.SIGTERM, interrupt)
    parser = argparse.ArgumentParser(prog="examples/inventory/run --mixed", usage=argparse.SUPPRESS)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--check", action="store_true", help="only the command line")
    options = parser.parse_args()
    if options.check:
        return 0
    try:
        return play(options)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
