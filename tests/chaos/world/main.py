"""Makes the world, lets the nemesis loose in it, and says what was survived."""
import argparse
import os
import re
import subprocess
import sys
import time

from .nemesis import FAULTS, Nemesis, all_once, without_end
from .waiting import NotSeen
from .world import World


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--seed", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--name", required=True)
    return parser.parse_args()


def tell(text):
    print(text, flush=True)


def keep(place, output):
    """What is in memory, and would go with the run."""
    subprocess.run(["cp", "-r", "--sparse=always", f"{place}/.", output], check=False)


def deal_out(nemesis, draws, seconds):
    """Until all are dealt out, the time is over, or the world cannot be healed; the rest stays in `draws`."""
    until = time.monotonic() + seconds
    while not nemesis.unhealed and time.monotonic() < until:
        draw = next(draws, None)
        if draw is None:
            return
        nemesis.deal(draw)


def run(asked, names, world):
    nemesis = Nemesis(world, asked.seed, tell)
    draws = all_once(asked.seed, names) if asked.faults else without_end(asked.seed, names)
    deal_out(nemesis, draws, asked.seconds)
    return report(nemesis, draws if asked.faults else (), world)


def report(nemesis, left_out, world):
    tell(f"\n{sum(nemesis.counted.values())} faults of {len(nemesis.counted)} kinds took effect, "
         f"{sum(world.traffic.grants())} grants")
    for draw in left_out:
        tell(f"  left out: {' and '.join(draw)}")
    for number, name, why in nemesis.not_counted:
        tell(f"  not counted: {number} {name}: {why}")
    for number, why in nemesis.unhealed:
        tell(f"  not healed: {number}: {why}")
    return 0 if not nemesis.not_counted and not nemesis.unhealed else 1


def main():
    asked = arguments()
    names = [name for name in FAULTS if re.search(asked.only, name)]
    if not names:
        tell(f"tests/chaos/run: --only '{asked.only}': no fault has such a name (tests/chaos/run --list)")
        return 2
    os.makedirs(asked.output, exist_ok=True)
    # In memory, and only seen from inside the run's namespaces. The names of networks are below it too.
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    place = "/run/chaos"
    os.mkdir(place)
    world = World(place, asked.build, asked.name)
    try:
        world.start()
        return run(asked, names, world)
    except NotSeen as why:
        tell(f"tests/chaos/run: {why}")
        return 1
    finally:
        try:
            world.end()
        finally:
            keep(place, asked.output)


sys.exit(main())
