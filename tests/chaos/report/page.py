"""Writes docs/reliability.md of what a run has left (tests/chaos/publish), or says whether it is what its JSON gives."""
import argparse
import json
import os
import re
import sys

from world.servers import TOP

from . import plots
from .unavailability import KINDS, TERMS, bound_ms

PAGE = f"{TOP}/docs/reliability.md"
FOLDER = f"{TOP}/docs/reliability"
PLACE = re.compile(r"(<!-- tests/chaos: (\w+) -->\n)(.*?)(<!-- end -->\n)", re.S)
SOAK_S = 7200
SOAK_GRANTS = 10**6
# What is measured, in words, and in which unit.
THINGS = {"rss_kb": ("resident memory of a process", "MB"), "anonymous_kb": ("heaps and stacks of a process", "MB"),
          "descriptors": ("descriptors of a process", ""), "threads": ("threads of a process", ""),
          "heap_kb": ("heap of a server, after a collection", "MB"), "watches": ("watches, of all servers", ""),
          "nodes": ("nodes", ""), "connections": ("connections, of all servers", ""), "sessions": ("sessions", "")}


def table(head, rows):
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def plain(text):
    """What can stand in a table."""
    return " ".join(str(text).replace("|", "\\|").split())


def seconds(milliseconds):
    return f"{milliseconds / 1000:.1f} s"


def length(of_seconds):
    return f"{of_seconds / 3600:.1f} hours" if of_seconds >= 3600 else f"{of_seconds / 60:.1f} minutes"


def times(count):
    return "once" if count == 1 else f"{count:,} times"


def counted(results):
    return {kind: facts for kind, facts in results["faults"].items() if facts["counted"]}


# ---- The parts ------------------------------------------------------------------------------------------------------

def run(results):
    faults, machine = counted(results), results["machine"]
    said = [f"The run of {results['date']}, at {results['commit'][:8] or 'no commit'}, with seed `{plain(results['seed'])}`:"
            f" **{length(results['seconds'])}, {results['grants']:,} grants,"
            f" {sum(facts['counted'] for facts in faults.values()):,} faults of {len(faults)} kinds**, on ZooKeeper"
            f" {results['zookeeper']}, on one machine with {machine['cores']} processors and Linux"
            f" {machine['kernel']}. [The figures as JSON](reliability/results.json)."]
    if results["seconds"] < SOAK_S or results["grants"] < SOAK_GRANTS:
        said.append("These are the figures so far: this page stands for a run of two hours and a million grants, and that"
                    " one is not published yet.")
    if results["revived"]:
        said.append(f"{times(results['revived']).capitalize()} a server ended by itself, for want of an ACL in a snapshot"
                    " (ZOOKEEPER-4846), and got all data anew.")
    return " ".join(said) + "\n\n" + verdict(results)


def verdict(results):
    wrong = [*(f"{plain(rule)}: violated {times(count)}." for rule, count in results["violations"].items()),
             *(f"{plain(one).rstrip('.')}." for one in results["wrong"])]  # also what grows
    if not wrong:
        grew = "nothing grew" if results["growth"] else "it was too short to tell what grows"
        return f"**No promise was violated, nothing was left at the end, and {grew}.**\n"
    return "**What went wrong in this run:**\n\n" + "".join(f"- {one}\n" for one in wrong)


def survived(results):
    rows = []
    for kind, facts in sorted(counted(results).items()):
        bound = bound_ms(kind, results["settings"], facts["lasts_ms"])
        longest = facts["longest_without_grant_ms"]
        measured = seconds(longest) if bound is None or longest <= bound else f"**{seconds(longest)}**"
        rows.append([plain(kind), f"{facts['counted']:,}", plain(", ".join(facts["proofs"])), f"{facts['grants']:,}",
                     f"{facts['losses']:,}", measured, "none is stated" if bound is None else seconds(bound),
                     " + ".join(KINDS.get(kind, ()))])
    return table(["fault", "times", "proven by", "grants meanwhile", "losses told", "longest time without a grant", "bound",
                  "which is"], rows)


def terms(results):
    rows = [[name, words, "" if length_of is None else seconds(length_of(results["settings"])), why]
            for name, (length_of, words, why) in TERMS.items()]
    return table(["", "how long", "here", "why"], rows)


def left_out(results):
    """What this run has not shown."""
    faults = counted(results)
    missing = [kind for kind in KINDS if kind not in faults]
    said = [f"- These faults have not taken effect in this run: {plain(', '.join(missing))}.\n"] if missing else []
    said += [f"- One that was dealt out, and does not count: {plain(one['kind'])} ({plain(one['why'])}).\n"
             for one in results["not_counted"]]
    return "".join(said) or "- No kind of fault is missing in this run.\n"


def rules(results):
    rows = [[plain(name), plain(sentence), f"{results['violations'].get(name, 0):,}"]
            for name, sentence in results["rules"].items()]
    return (f"{results['plants']} kinds of violations are planted in runs that are made up, and the checker finds each by"
            f" the rule that it violates.\n\n" + table(["rule", "what is promised", "violations"], rows))


def amount(what, value):
    return f"{value / 1024:.1f} MB" if THINGS[what][1] else f"{value:.4g}"


def flat(results):
    rows = []
    for what, (words, _) in THINGS.items():
        lines = [one for one in results["growth"] if one["what"] == what]
        if lines:
            worst = max(lines, key=lambda one: one["risen"] - one["may_rise"])
            rows.append([words, f"{len(lines)}", f"{sum(one['grows'] for one in lines)}",
                         f"{amount(what, worst['median'])} ({worst['of']}, {length(worst['seconds'])})",
                         amount(what, worst["risen"]), amount(what, worst["may_rise"])])
    if not rows:
        return f"No process lived long enough to be judged in this run ({results['samples']:,} times all was at rest).\n"
    return (f"{results['samples']:,} times all was at rest, and what there was is below: of each thing the line that came"
            " nearest to its limit.\n\n"
            + table(["", "lines judged", "that grow", "median of the worst", "it rose by", "and may rise by"], rows))


def pictures(drawn):
    titles = {name: title for name, title, _ in plots.PLOTS}
    return "".join(f"![{titles[name]}](reliability/{name}.svg)\n\n" for name in drawn) or "Nothing was sampled.\n"


def parts_of(results, drawn):
    return {"run": run(results), "survived": survived(results), "terms": terms(results), "missing": left_out(results),
            "rules": rules(results), "flat": flat(results), "plots": pictures(drawn)}


# ---- Files ----------------------------------------------------------------------------------------------------------

def filled(text, parts):
    """The page with each part in its place. One that has no place, or a place that has no part, is an error."""
    places = [found[2] for found in PLACE.finditer(text)]
    if sorted(places) != sorted(parts):
        raise ValueError(f"docs/reliability.md: its places are {', '.join(places)}; the parts are {', '.join(parts)}")
    return PLACE.sub(lambda found: f"{found[1]}{parts[found[2]]}{found[4]}", text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def drawn_before():
    return [name for name, *_ in plots.PLOTS if os.path.exists(f"{FOLDER}/{name}.svg")]


def page_of(results, drawn):
    return filled(read(PAGE), parts_of(results, drawn))


def stale():
    """What is wrong with the page, as text."""
    results = json.loads(read(f"{FOLDER}/results.json"))
    wrong = [] if read(PAGE) == page_of(results, drawn_before()) else [
        "docs/reliability.md: not what docs/reliability/results.json gives; tests/chaos/publish --again writes it"]
    return wrong + [f"docs/reliability.md: not a whole sentence: {one}" for one in not_whole(read(PAGE))]


def not_whole(text):
    """Paragraphs and items that do not end as sentences do, or that have a value in them that is none."""
    bare = re.sub(r"^```.*?^```$|^<!--.*?-->$|^\|.*$|^#.*$|^!\[.*$", "", text, flags=re.S | re.M)
    for paragraph in re.split(r"\n\s*\n|\n(?=- )", bare):
        words = " ".join(paragraph.split())
        if words and (not re.search(r"[.:]\**\)?$", words) or re.search(r"\b(None|nan|inf)\b|[{}]", words)):
            yield words


def publish(directory):
    from . import reading  # the checker's plants, which nobody needs to compare a page
    results, samples = reading.published(directory)
    os.makedirs(FOLDER, exist_ok=True)
    for name in drawn_before():
        os.unlink(f"{FOLDER}/{name}.svg")
    drawn = plots.draw_all(FOLDER, samples)
    write(f"{FOLDER}/results.json", json.dumps(results, ensure_ascii=False, indent=0) + "\n")
    write(PAGE, page_of(results, drawn))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--of", help="the directory that a run has left; without it nothing is run or drawn")
    parser.add_argument("--again", action="store_true")
    asked = parser.parse_args()
    if asked.of is not None:
        if not os.path.exists(f"{asked.of}/result.json"):
            print(f"tests/chaos/publish: {asked.of} has no result.json: run tests/chaos/run first", file=sys.stderr)
            return 1
        publish(asked.of)
    elif asked.again:
        write(PAGE, page_of(json.loads(read(f"{FOLDER}/results.json")), drawn_before()))
    wrong = stale()
    for one in wrong:
        print(f"tests/chaos/publish: {one}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
