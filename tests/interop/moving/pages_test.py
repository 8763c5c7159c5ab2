#!/usr/bin/env python3
"""What the pages on moving show: each command of theirs is run on real servers, in the situation that the page says.

    pages_test.py [--write]

In docs/moving.md and docs/moving/ a block of console under such a line is run:

    <!-- run: SITUATION -->

SITUATION is a name of SITUATIONS below. Numbers, times, identifiers and the names of machines may be others; --write writes
the blocks of which more is another now."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

import moving_test
from moving_test import both_commands, both_names, curator, default, patterns, shared, zklock, zkr_lock
from services import END_WITHIN_S, FOR_EVER_MS, SOURCES, TOP, Services

BLOCK = re.compile(r"(?<=\n)<!-- run: ([^\n]+) -->\n```console\n(.*?)```\n", re.S)
PROGRAM = re.compile(r"(?<=\n)```(?:java|python)\n(.*?)```\n", re.S)
RESOURCE = "/shop/locks/stock"
HOST, ADDRESS = "web-7", "10.0.0.5"  # what the pages say in place of this machine's
PATIENCE_S = 5

# Who holds, and who waits behind it, in this order; None: nobody.
SITUATIONS = {
    "nobody": [],
    "Curator holds": [curator, zklock],
    "zklock holds, Curator waits": [zklock, curator],
    "zkr_lock holds": [zkr_lock, zklock],
    "zklock holds, zkr_lock waits": [zklock, zkr_lock],
    "kazoo with patterns holds": [patterns, zklock, patterns],
    "zklock holds, kazoo waits": [zklock, patterns, shared],
    "kazoo with both names holds": [both_names, patterns, zklock],
    "kazoo's own lock waits for its names": [Services.zklock_for_kazoo, default, Services.zklock_for_kazoo],
    "kazoo's own lock is not kept out": [zklock, default],
    "both with Redis": [Services.both_with_redis, Services.both_with_redis],
    "both with PostgreSQL": [Services.both_with_database, Services.both_with_database],
    "both with etcd": [both_commands, both_commands],
}


class Page(Services):
    """One block of it."""

    def __init__(self, situation, block):
        super().__init__("run_commands")
        self.situation = situation
        self.block = block
        self.printed = None

    def run_commands(self):
        self.start_anew(RESOURCE)
        running = []
        for number, service in enumerate(SITUATIONS[self.situation], 1):
            running.append(self.begin(service, FOR_EVER_MS))
            self.wait_for_queue(number)
        end = time.monotonic() + PATIENCE_S
        while self.is_printed_otherwise() and time.monotonic() < end:
            time.sleep(0.2)  # a program has yet to do something that no queue shows
        for instance in running:
            os.killpg(instance.pid, signal.SIGTERM)  # what a script runs, too
        for instance in running:
            instance.wait(END_WITHIN_S)
        self.wait_for_queue(0)

    def is_printed_otherwise(self):
        commands = [line[2:] for line in self.block.splitlines() if line.startswith("$ ")]
        self.printed = "".join(f"$ {command}\n{self.run_command(command)}" for command in commands)
        return masked(self.printed) != masked(self.block)

    def run_command(self, command):
        done = subprocess.run(["bash", "-c", command], cwd=SOURCES, env=self.environment(), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
        return done.stdout.replace(socket.gethostname(), HOST).replace("127.0.0.1", ADDRESS)


def masked(text):
    text = re.sub(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|\b[0-9a-f]{16}\b|0x[0-9a-f]+", "ID", text)
    return re.sub(r"[ \t]+", " ", re.sub(r"\d+(\.\d+)?( (ms|s|min|h)\b)?", "N", text))


def pages():
    place = os.path.join(TOP, "docs", "moving")
    return [os.path.join(TOP, "docs", "moving.md"), *sorted(os.path.join(place, name) for name in os.listdir(place))]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Pages(unittest.TestCase):
    def test_each_command_prints_what_the_page_says(self):
        for path in pages():
            for situation, block in BLOCK.findall(read(path)):
                with self.subTest(f"{os.path.basename(path)}: {situation}"):
                    self.assertEqual(masked(printed_of(situation, block)), masked(block))

    def test_each_line_of_a_program_is_one_of_the_examples(self):
        lines = {line.strip() for name in os.listdir(SOURCES) for line in read(os.path.join(SOURCES, name)).splitlines()}
        for path in pages():
            for block in PROGRAM.findall(read(path)):
                for line in block.splitlines():
                    self.assertTrue(line.startswith("#") or line.strip() in lines, f"{path}: {line}")

    def test_what_is_masked_is_no_more_than_numbers(self):
        self.assertEqual(masked("  waits   4.1 s  of 0x12"), masked(" waits 233 ms of 0xffe"))
        self.assertNotEqual(masked("1 holds, 2 wait"), masked("1 holds, nobody waits"))
        self.assertNotEqual(masked("holds exclusive"), masked("waits exclusive"))


def printed_of(situation, block):
    page = Page(situation, block)
    result = unittest.TestResult()
    page.run(result)
    for _, reason in result.errors + result.failures:
        raise AssertionError(reason)
    return page.printed


def rewritten(found):
    """The same, with what is printed now, if that is more than other numbers."""
    situation, block = found.groups()
    printed = printed_of(situation, block)
    return found[0] if masked(printed) == masked(block) else found[0].replace(block, printed)


def write_pages():
    for path in pages():
        text = read(path)
        now = BLOCK.sub(rewritten, text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(now)


if __name__ == "__main__":
    moving_test.run_with_old_servers(write_pages if sys.argv[1:] == ["--write"] else unittest.main)
