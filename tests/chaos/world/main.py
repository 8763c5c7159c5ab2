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


def deal_out(asked, world):
    names = [name for name in FAULTS if re.search(asked.only, name)]
    draws = all_once(asked.seed, names) if asked.faults else without_end(asked.seed, names)
    nemesis = Nemesis(world, asked.seed, tell)
    until = time.monotonic() + asked.seconds
    left_out = []
    for draw in draws:
        if time.monotonic() > until:
            left_out = [" and ".join(draw) for draw in draws] if asked.faults else []
            break
        nemesis.deal(draw)
        if nemesis.unhealed:
            break
    return nemesis, left_out


def report(nemesis, left_out, world):
    tell(f"\n{sum(nemesis.counted.values())} faults of {len(nemesis.counted)} kinds took effect, "
         f"{sum(world.traffic.grants())} grants")
    for name in left_out:
        tell(f"  left out, for want of time: {name}")
    for number, name, why in nemesis.not_counted:
        tell(f"  not counted: {number} {name}: {why}")
    for number, why in nemesis.unhealed:
        tell(f"  not healed: {number}: {why}")
    return 0 if not nemesis.not_counted and not nemesis.unhealed else 1


def main():
    asked = arguments()
    os.makedirs(asked.output, exist_ok=True)
    place = "/run/chaos"
    os.makedirs(place, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)
    world = World(place, asked.build, asked.name)
    try:
        world.start()
        return report(*deal_out(asked, world), world)
    except NotSeen as why:
        tell(f"tests/chaos/run: {why}")
        return 1
    finally:
        world.end()
        keep(place, asked.output)


sys.exit(main())
