"""Joins world, fleet and checker: makes the world, lets its nemesis loose on the fleet, and says what was survived."""
import argparse
import itertools
import os
import platform
import re
import subprocess
import sys
import time

from fleet import growth, records
from fleet.ending import end_of
from fleet.fleet import Fleet
from fleet.samples import Samples
from result import Result
from world.nemesis import FAULTS, Nemesis, all_once, without_end
from world.servers import SESSION_MS, TICK_MS
from world.waiting import NotSeen
from world.world import World

PLACE = "/run/chaos"
SAMPLES = "samples.lines"  # below the output; the checker reads what ends with jsonl
END = "end"  # the same; when it is there, no other fault begins
CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "checker", "check")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--build", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--seed")  # it and all below are given, unless it is to judge only
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--processes", type=int)
    parser.add_argument("--handles", type=int)
    parser.add_argument("--pace-ms", type=int)
    parser.add_argument("--commit", default="")
    parser.add_argument("--name")
    return parser.parse_args()


def tell(text):
    print(text, flush=True)


def keep(place, output):
    """What is in memory, and would go with the run."""
    subprocess.run(["cp", "-r", "--sparse=always", f"{place}/.", output], check=False)


def deal_out(nemesis, draws, asked, samples, result):
    """Until all are dealt out, the time is over, the world cannot be healed, or it is to end; the rest stays in `draws`."""
    until = time.monotonic() + asked.seconds
    end = os.path.join(asked.output, END)
    while not nemesis.unhealed and time.monotonic() < until and not os.path.exists(end):
        draw = next(draws, None)
        if draw is None:
            return
        nemesis.deal(draw)
        result.note_nemesis(nemesis)
        if not nemesis.unhealed:
            samples.take(at_rest=True)


def schedule(asked, names):
    """Each kind once, and then, unless that was all that was asked for, without end."""
    once = all_once(asked.seed, names)
    return once if asked.faults else itertools.chain(once, without_end(asked.seed, names))


def with_samples(nemesis, draws, asked, world, result):
    path = os.path.join(asked.output, SAMPLES)
    samples = Samples(path, world.fleet, world.servers)
    samples.begin()
    try:
        deal_out(nemesis, draws, asked, samples, result)
    finally:
        samples.end()


def fleet_of(asked, world):
    fleet = Fleet(world, asked.seed, SESSION_MS, TICK_MS, asked.pace_ms)
    fleet.add_contenders(asked.processes, asked.handles)
    fleet.add_others()
    fleet.add_shop()
    return fleet


def run(asked, names, world, result):
    """From the first grant to the last."""
    nemesis = Nemesis(world, asked.seed, tell)
    draws = schedule(asked, names)
    try:
        world.start()
        world.admit(fleet_of(asked, world))
        result.begin()
        with_samples(nemesis, draws, asked, world, result)
    except NotSeen as why:
        result.note(wrong=[str(why)])
    result.note(left_out=[" and ".join(draw) for draw in (draws if asked.faults else ())])
    if world.fleet is not None:
        result.note(wrong=end_of(world.fleet, world), **world.fleet.told())
    result.note(revived=world.servers.revived, has_ended=True)


def judge(output, build):
    """By what is on the disk, and nothing else."""
    result = Result(output)
    report = os.path.join(output, "judged.json")
    if os.path.exists(report):
        os.unlink(report)
    asked = subprocess.run([CHECK, "--json", report, output], capture_output=True, text=True, check=False)
    result.take_judgement(asked.returncode, asked.stderr.strip(), report)
    samples = os.path.join(output, SAMPLES)
    if os.path.exists(samples):
        result.take_growth(growth.growth(growth.samples_of(samples)))
    result.take_records(*records.played(os.path.join(output, "records"), build))
    result.write(os.path.join(output, "result.json"))
    result.print(tell)
    return 1 if result.failures() else 0


def run_in_memory(asked, names):
    os.makedirs(asked.output, exist_ok=True)
    # In memory, and only seen from inside the run's namespaces. The names of networks are below it too.
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    os.mkdir(PLACE)
    tell(f"seed {asked.seed}")
    result = Result(asked.output)
    result.note(seed=asked.seed, commit=asked.commit, machine={"cores": os.cpu_count(), "kernel": platform.release()})
    world = World(PLACE, asked.output, asked.build, asked.name)
    try:
        run(asked, names, world, result)
    finally:
        try:
            world.end()
        finally:
            keep(PLACE, asked.output)


def main():
    asked = arguments()
    names = [name for name in FAULTS if re.search(asked.only, name)]
    if not names:
        tell(f"tests/chaos/run: --only '{asked.only}': no fault has such a name (tests/chaos/run --list)")
        return 2
    if not asked.judge:
        run_in_memory(asked, names)
    return judge(asked.output, asked.build)


if __name__ == "__main__":
    sys.exit(main())
