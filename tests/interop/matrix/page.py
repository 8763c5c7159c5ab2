"""Writes docs/interoperability.md, and the tables of who sees whom, of what a run has found; or says whether they are that."""
import argparse
import json
import os
import re
import sys

from . import table
from .verdict import mismatches

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
RESULTS = f"{TOP}/docs/interoperability/results.json"
PAGE = f"{TOP}/docs/interoperability.md"
PROTOCOL = f"{TOP}/docs/internals/protocol.md"
HEADER = f"{TOP}/include/zklock/zklock.h"
PLACE = re.compile(r"(<!-- tests/interop: (\w+) -->\n)(.*?)(<!-- end -->\n)", re.S)
# Of the header: from its first line to the next empty one.
HEADER_PLACE = re.compile(r"(?m)^ \*      waits for a holder with.*\n(?: \*      .*\n)*")
# The steps that show whether a queue of both goes on.
QUEUES = ("counter", "mixed counter", "order")
WORDS = {"waits": "yes", "shares": "shares", "beside": "NO", "refused": "refused", "hangs": "hangs", "fails": "fails",
         "dies": "dies"}


def markdown(head, rows):
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


class Readings:
    """What was found, by ours and theirs."""

    def __init__(self, results):
        self.results = results
        self.known = table.table()
        self.columns = self.known["column"]
        self.cells = {(one["ours"], one["library"], one["kind"]): one for one in results["cells"]}

    def cell(self, ours, peer):
        return self.cells[ours, *peer.split()]

    def word(self, ours, peer, way):
        """As the tables have it. Who waits, and is not always granted in its turn, hangs."""
        cell = self.cell(ours, peer)
        steps = cell.get("steps", {})
        stuck = any(not steps[name]["passed"] for name in QUEUES if name in steps)
        met = cell[way]["met"]
        if met == "beside" and table.is_reader(ours) and table.is_reader(peer.split()[1]):
            met = "shares"
        return WORDS["hangs" if met == "waits" and stuck else met]

    def only(self, words, where):
        assert len(set(words)) == 1, f"{where}: {words} differ, and share a line of the table"
        return words[0]

    def line(self, row, way):
        """A row of a table: locks of theirs, and for each column of ours a word that is true of all."""
        return [self.only([self.word(ours, peer, way) for ours in column["ours"] for peer in row["peers"]],
                          f"{row['title']}, {column['title']}") for column in self.columns]


# ---- Who sees whom ---------------------------------------------------------------------------------------------------

def sees(readings, way):
    rows = [[row["title"], *(bold(word) for word in readings.line(row, way))] for row in readings.known["row"]]
    return markdown(["", *(column["title"] for column in readings.columns)], rows)


def bold(word):
    return word if word in ("yes", "shares", "refused") else f"**{word}**"


def header_lines(readings):
    columns = readings.columns
    head = " *      " + "waits for a holder with".ljust(33) + "".join(one["short"].ljust(one["width"]) for one in columns)
    yield head.rstrip() + "\n"
    for row in readings.known["row"]:
        words = readings.line(row, "they")
        said = "".join(word.ljust(one["width"]) for word, one in zip(words, columns))
        yield (" *      " + row["short"].ljust(33) + said).rstrip() + "\n"


# ---- What was measured ------------------------------------------------------------------------------------------------

def steps_of(readings):
    """A row for each sound cell: what all steps said."""
    rows = []
    for cell in table.load():
        steps = readings.cells[cell.ours, cell.library, cell.kind].get("steps")
        if steps:
            failed = [name for name, one in steps.items() if not one["passed"]]
            title = f"{readings.known['ours'][cell.ours]} and {theirs_title(readings, cell.peer)}"
            rows.append([title, counted(steps), killed(steps), f"{len(steps) - len(failed)} of {len(steps)}",
                         "; ".join(failed)])
    return markdown(["", "acquisitions, overlaps, lost updates", "a killed holder's lock passes on after", "steps passed",
                     "failed"], rows)


def counted(steps):
    one = steps.get("counter", steps.get("mixed counter"))
    return f"{one['acquisitions']:,}, {one['overlaps']}, {one['lost']}" if one["passed"] else "**failed**"


def killed(steps):
    """Of a session timeout of two seconds."""
    said = [steps.get(f"holder killed, {side}", {}).get("granted_after_s") for side in ("ours", "theirs")]
    return ", ".join(f"{one} s" for one in said if one is not None)


def theirs_title(readings, peer):
    return f"{readings.known['library'][peer['library']]} {peer['title']}"


def defects(readings):
    """Steps that fail, with what the peer does alone."""
    said = []
    for cell in table.load():
        found = readings.cells[cell.ours, cell.library, cell.kind]
        for step, one in found.get("steps", {}).items():
            if not one["passed"]:
                said.append((theirs_title(readings, cell.peer), cell.defect_of(step)["text"], step))
    rows = {}
    for title, text, step in said:
        steps = rows.setdefault((title, text), [])
        if step not in steps:
            steps.append(step)
    return markdown(["", "what goes wrong, alone as well", "steps that show it"],
                    [[title, text, "; ".join(steps)] for (title, text), steps in rows.items()])


# ---- Each NO -----------------------------------------------------------------------------------------------------------

def reasons(readings):
    """Of each NO; one that has none is an error."""
    entries = readings.known["no"]
    for cell in table.load():
        peer = f"{cell.library} {cell.kind}"
        words = {readings.word(cell.ours, peer, way) for way in ("they", "we")}
        if words & {"NO", "fails", "dies"} and not reason_of(entries, cell.ours, peer):
            raise ValueError(f"{cell.name}: a NO without a reason in cells.toml")
    return markdown(["who does not wait", "for", "why", "what a yes would cost; what to do"],
                    [[one["who"], one["whom"], one["why"], one["cost"]] for one in entries])


def reason_of(entries, ours, peer):
    return any(peer in one["peers"] and ours not in one.get("not", []) for one in entries)


def run(readings):
    versions = "; ".join(f"{name} {version}" for name, version in readings.results["versions"].items())
    steps = sum(len(one.get("steps", {})) for one in readings.cells.values())
    return (f"Measured on {readings.results['date']}: {len(readings.cells)} cells, {steps} steps. Versions: {versions}.\n")


# ---- Files -------------------------------------------------------------------------------------------------------------

def texts_of(results):
    """By path."""
    readings = Readings(results)
    parts = {"run": run(readings), "they": sees(readings, "they"), "we": sees(readings, "we"),
             "steps": steps_of(readings), "defects": defects(readings), "reasons": reasons(readings)}
    header = "".join(header_lines(readings))
    assert HEADER_PLACE.search(read(HEADER)), "zklock.h: no table of who sees whom"
    return {PAGE: filled(PAGE, parts), PROTOCOL: filled(PROTOCOL, {"they": parts["they"]}),
            HEADER: HEADER_PLACE.sub(lambda _: header, read(HEADER), count=1)}


def filled(path, parts):
    """Each part in its place. One that has no place, or a place that has no part, is an error."""
    text = read(path)
    places = [found[2] for found in PLACE.finditer(text)]
    if sorted(places) != sorted(parts):
        raise ValueError(f"{path}: its places are {', '.join(places)}; the parts are {', '.join(parts)}")
    return PLACE.sub(lambda found: f"{found[1]}\n{parts[found[2]]}\n{found[4]}", text)


def published(results):
    """Without what differs from run to run and nobody reads."""
    if isinstance(results, dict):
        return {name: published(one) for name, one in results.items() if name != "took_s"}
    return [published(one) for one in results] if isinstance(results, list) else results


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def publish(path):
    results = published(json.loads(read(path)))
    wrong = mismatches(results)
    if wrong:
        print("tests/interop/run: what was found is not what cells.toml expects:", *wrong, sep="\n", file=sys.stderr)
        return 1
    write(RESULTS, json.dumps(results, ensure_ascii=False, indent=0, sort_keys=True) + "\n")
    results = json.loads(read(RESULTS))  # in the order in which --check has them
    for name, text in texts_of(results).items():
        write(name, text)
    return 0


def untested_lines():
    """Of the page's classes in Python: those that the contender has not."""
    contender = read(f"{TOP}/tests/interop/contenders/kazoo_contender.py")
    blocks = re.findall(r"```python\n(.*?)```", read(PAGE), re.S)
    return [line for block in blocks for line in block.splitlines()
            if line.startswith("    ") and "#" not in line and line not in contender]


def check():
    results = json.loads(read(RESULTS))
    wrong = [f"docs/interoperability/results.json and tests/interop/cells.toml: {one}" for one in mismatches(results)]
    wrong += [f"{os.path.relpath(path, TOP)}: not what docs/interoperability/results.json gives;"
              " tests/interop/run --publish --output docs/interoperability/results.json writes it"
              for path, text in texts_of(results).items() if text != read(path)]
    wrong += [f"docs/interoperability.md: not what kazoo_contender.py has: {line}" for line in untested_lines()]
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--publish")
    asked = parser.parse_args()
    return publish(asked.publish) if asked.publish else check()


if __name__ == "__main__":
    sys.exit(main())
