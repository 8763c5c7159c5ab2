"""What a run has found, as numbers for people and for docs/reliability.md."""
import json
import os
import time

TOLD = "told.lines"  # below the output
LISTS = ("left_out", "not_counted", "wrong", "revived")


class Result:
    """What only the run knows is written down as it comes, a line for each, so that one that is killed leaves it. All else is
    judged by what is on the disk, then or later."""

    def __init__(self, output):
        self.path = os.path.join(output, TOLD)
        self.began = time.monotonic()
        self.told = {"seed": "", "commit": "", "machine": {}, "seconds": 0, "has_ended": False, "grants": 0, "faults": {},
                     "violations": {}, "examples": [], **{name: [] for name in LISTS}}
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                for line in file:
                    self.take(json.loads(line))

    # ---- While it runs ---------------------------------------------------------------------------

    def note(self, **facts):
        facts["seconds"] = round(time.monotonic() - self.began)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(facts) + "\n")
        self.take(facts)

    def take(self, facts):
        for name, value in facts.items():
            if name in LISTS:
                self.told[name] += value
            else:
                self.told[name] = value

    def begin(self):
        """From here on faults come."""
        self.began = time.monotonic()

    def note_nemesis(self, nemesis):
        """What it has added since."""
        self.note(not_counted=[{"number": number, "kind": name, "why": why}
                               for number, name, why in nemesis.not_counted[len(self.told["not_counted"]):]],
                  wrong=[f"not healed after fault {number}: {why}" for number, why in nemesis.unhealed])

    # ---- When it is over -------------------------------------------------------------------------

    def fail(self, why):
        """Something outside of the checker's rules."""
        self.told["wrong"].append(why)

    def take_judgement(self, status, said, path):
        """The checker's exit status, what it said where it could not judge, and its report."""
        if not self.told["has_ended"]:
            self.fail("the run was ended from outside")
        if status not in (0, 1):
            self.fail(f"the checker could not judge: {said}")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.told.update(json.load(file))

    def take_growth(self, lines):
        """What became of memory, descriptors and the like, as growth.py says it."""
        self.told["growth"] = lines
        for one in lines:
            if one["grows"]:
                self.fail(f"{one['what']} of {one['of']} grows: by {one['risen']} from about {one['median']}")

    def take_records(self, count, wrong):
        """Of clients, and which of them do not play back."""
        self.told["records"] = count
        self.told["wrong"] += wrong if count else ["no client has left a record"]

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
             f"effect, {told['records']} records were played back")
        if told["left_out"]:
            tell(f"left out: {', '.join(told['left_out'])}")
        for one in told["examples"]:
            tell(f"  {one['rule']}: {one['text']} (at {one['at'] / 1e9:.6f} s)")
        for one in self.failures():
            tell(f"  {one}")
