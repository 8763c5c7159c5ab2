"""What a run has found, as numbers for people and for docs/reliability.md."""
import json
import os
import platform
import time


class Result:
    def __init__(self, seed, commit):
        self.began = time.monotonic()
        self.told = {"seed": seed, "commit": commit, "machine": {"cores": os.cpu_count(), "kernel": platform.release()},
                     "seconds": 0, "grants": 0, "faults": {}, "left_out": [], "not_counted": [], "wrong": [],
                     "violations": {}, "examples": []}

    def begin(self):
        """From here on faults come."""
        self.began = time.monotonic()

    def fail(self, why):
        """Something outside of the checker's rules."""
        self.told["wrong"].append(why)

    def take_nemesis(self, nemesis, left_out):
        self.told["seconds"] = round(time.monotonic() - self.began)
        self.told["left_out"] = [" and ".join(draw) for draw in left_out]
        self.told["not_counted"] = [{"number": number, "kind": name, "why": why}
                                    for number, name, why in nemesis.not_counted]
        for number, why in nemesis.unhealed:
            self.fail(f"not healed after fault {number}: {why}")

    def take_revived(self, names):
        """Servers that ended by themselves, of a defect of their own, and were given all data anew."""
        self.told["revived"] = names

    def take_end(self, wrong):
        for one in wrong:
            self.fail(one)

    def take_fleet(self, told):
        """How many processes there were of each make, and what the shop has sold."""
        self.told |= told

    def take_judgement(self, status, said, path):
        """The checker's exit status, what it said where it could not judge, and its report."""
        if status not in (0, 1):
            self.fail(f"the checker could not judge: {said}")
            return
        with open(path, encoding="utf-8") as file:
            self.told.update(json.load(file))

    def take_growth(self, lines):
        """What became of memory, descriptors and the like, as growth.py says it."""
        self.told["growth"] = lines
        for one in lines:
            if one["grows"]:
                self.fail(f"{one['what']} of {one['of']} grows: by {one['risen']} from about {one['median']}")

    def failures(self):
        """Why the run has failed; empty: it has not."""
        told = self.told
        return [*(f"{one['number']} {one['kind']}: not counted: {one['why']}" for one in told["not_counted"]), *told["wrong"],
                *(f"{rule}: {count} violations" for rule, count in told["violations"].items())]

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.told, file, indent=1)
            file.write("\n")

    def print(self, tell):
        told = self.told
        counted = {kind: facts["counted"] for kind, facts in told["faults"].items() if facts["counted"]}
        tell(f"\n{told['grants']} grants in {told['seconds']} s, {sum(counted.values())} faults of {len(counted)} kinds took "
             "effect")
        if told["left_out"]:
            tell(f"left out: {', '.join(told['left_out'])}")
        for one in told["examples"]:
            tell(f"  {one['rule']}: {one['text']} (at {one['at'] / 1e9:.6f} s)")
        for one in self.failures():
            tell(f"  {one}")
