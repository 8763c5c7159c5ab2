"""What is written: the results as JSON, all cells as tables, and the parts of docs/comparison.md."""
import collections
import functools
import os
import re

from . import claims
from .experiments import EXPERIMENTS
from .mechanism import HARMFUL, SAFE
from .readings import (DURABLE, HOT, ROUNDS_OF_WRONG, ROUNDS_TO_TELL, Readings, against_one, number, percent, ratio_text,
                       servers_of, upper_bound)

BRANCH = re.compile(r"\b(?:if|for|while|case|except|elif|catch)\b|&&|\|\||\?")
# One experiment looks at the number itself; if in another one a unit is sold twice in spite of a fence, it went back.
COUNTER = "counter-goes-back"
SERVERS_LOST = (COUNTER, "server-restarted", "primary-lost", "leader-killed", "majority-forgets")
# What nobody looks for in a table: it has no mechanism, or no experiment.
NOT_MEASURED = (
    "Other machines: servers and buyers share one with two cores, and the network is its loopback. So speeds are mostly"
    " CPU per sale, and their ratios will be others where a network or a disk is what one waits for.",
    "Partitions between servers, and power failures: servers are killed, and the machine's cache of the disk survives.",
    "ZooKeeper as most run it: its tick is 500 ms here, so that sessions can be 1 s; with its usual 2 s none is shorter"
    " than 4 s. etcd is as packaged: no lease is shorter than 2 s. Compare their recovery with that in mind.",
    "Java with one process and many threads: each of its buyers is a virtual machine of its own, compiled by C1 alone.",
    "Disks of other kinds: what each server's commit waits for is in the table above, and only that was measured.",
    "Servers in several data centres, and clusters of Redis that share keys out.",
    "Clocks of servers in Go (etcd), which ask the kernel and not the C library, and of ZooKeeper's: none is stepped.",
    "More than 64 buyers, and sales that go on for hours.",
    "Locks of other languages' libraries than those in the tables, and other versions of these.",
)


# ---- JSON -----------------------------------------------------------------------------------------------------------

def complexity(folder, files):
    """Lines that are neither empty nor a comment, and branches: of the mechanism alone."""
    lines = branches = 0
    for name in files:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            code = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read(), flags=re.S)
        kept = [line for line in code.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        lines += len(kept)
        branches += sum(len(BRANCH.findall(line)) for line in kept)
    return {"lines": lines, "branches": branches}


def results_of(families, found):
    return [{"family": title, "mechanisms": [one_of(mechanism, folder, found) for mechanism in mechanisms]}
            for title, folder, mechanisms in families]


def one_of(mechanism, folder, found):
    said = {"name": mechanism.name, "title": mechanism.title, "source": mechanism.source, "servers": mechanism.servers,
            "database": mechanism.database, "ours": mechanism.ours, "timeout_ms": mechanism.timeout_ms,
            "token": mechanism.token, "cannot": mechanism.cannot, **complexity(folder, mechanism.files), "cells": []}
    for experiment in EXPERIMENTS:
        for fence in (False, True):
            cell = found.get((mechanism.name, experiment, fence))
            if cell is not None:
                said["cells"].append({
                    "experiment": experiment, "fence": fence, "rounds": cell.rounds, "harmed": cell.harmed,
                    "oversold": cell.oversold, "overselling": cell.overselling, "sold": cell.sold,
                    "bound": cell.bound(), "stuck_median_s": cell.stuck_median(), "never": cell.never,
                    "measures": cell.medians(), "theory": mechanism.expects(experiment, fence),
                    "unseen": cell.unseen, "not_seen": cell.not_seen, "failed": cell.failed})
    return said


def experiments():
    """What each one does, in the words of its function."""
    return {name: described(function) for name, function in EXPERIMENTS.items()}


def described(function):
    while isinstance(function, functools.partial):
        function = function.func
    return " ".join(re.sub(r"^\(\w\) ", "", function.__doc__ or "").split())


def rounded(value):
    """To five digits, which is more than the numbers are worth."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(each) for each in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


# ---- All cells ------------------------------------------------------------------------------------------------------

def table(head, rows):
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def plain(text):
    """What can stand in a table."""
    return " ".join(text.replace("|", "\\|").split())


def text_of(results):
    """A table for each family, of all its experiments, and the speeds."""
    parts = ["<!-- Written by bench/compare. -->\n\n# The comparison: all cells\n\n",
             "In how many rounds each experiment did harm. [What that means](../comparison.md)\n"]
    for family in results["families"]:
        said = "".join(remarks(family["mechanisms"]))
        parts += [f"\n## {family['family']}\n\n", all_cells(family["mechanisms"]), f"\n{said}" if said else ""]
    readings = Readings(results)
    for work in readings.speeds:
        parts += [f"\n## {work_title(work)}\n\n", speeds_of(readings, work)]
    return "".join(parts)


def all_cells(mechanisms):
    """The experiments that none of them has are left out."""
    names = list(dict.fromkeys(cell["experiment"] for one in mechanisms for cell in one["cells"]))
    rows = []
    for one in mechanisms:
        if one["cannot"]:
            rows.append([f"`{one['name']}`", f"not measured: {plain(one['cannot'])}"] + [""] * (len(names) + 1))
            continue
        for fence in fences(one):
            cells = {cell["experiment"]: cell_text(cell) for cell in one["cells"] if cell["fence"] == fence}
            rows.append([f"`{one['name']}`", "yes" if fence else "no", *(cells.get(name, "") for name in names),
                         f"{one['lines']}, {one['branches']}"])
    return table(["mechanism", "fence", *names, "lines, branches"], rows)


def fences(mechanism):
    return (False, True) if mechanism["token"] else (False,)


def cell_text(cell):
    """What was found, and what theory says where that is something else."""
    if not cell["rounds"]:
        return "failed" if cell["failed"] else "not seen"
    said = f"{cell['harmed']} of {cell['rounds']}"
    if not cell["harmed"]:
        said += f" (≤ {percent(upper_bound(cell['rounds']))})"
    if cell["unseen"]:
        said += f", {cell['unseen']} not seen"
    if cell["failed"]:
        said += ", some failed"
    return f"{said} **theory: {cell['theory']}**" if against_theory(cell) else said


def against_theory(cell):
    return bool(cell["rounds"]) and cell["theory"] == (SAFE if cell["harmed"] else HARMFUL)


def remarks(mechanisms):
    """What else was measured, and why cells say nothing, or less than they could."""
    for one in mechanisms:
        for cell in one["cells"]:
            said = [f"{name.replace('_', ' ')} {number(value)}" for name, value in cell["measures"].items()]
            if cell["failed"]:
                said.append(f"failed: {plain(cell['failed'])}")
            elif not cell["rounds"]:
                said.append(f"not seen: {plain(cell['not_seen'])}")
            if said:
                fence = ", with a fence" if cell["fence"] else ""
                yield f"- `{one['name']}`, {cell['experiment']}{fence}: {'; '.join(said)}\n"


# ---- Speeds ---------------------------------------------------------------------------------------------------------

def work_title(work):
    buyers, _, products = work.removesuffix("-disk").partition("x")
    return (f"{buyers} {'buyer' if buyers == '1' else 'buyers'},"
            f" {'one hot product' if products == '1' else f'{products} products'}"
            f"{', all commits wait for a disk' if work == DURABLE else ''}")


def speeds_of(readings, work):
    """By the median, which is no order where intervals overlap."""
    rows, by_name = [], readings.speeds[work]
    known = {name: readings.ratio(name, work) for name in by_name if readings.ratio(name, work)}
    for name in sorted(known, key=lambda name: -known[name][0]):
        said = by_name[name]
        longest, middle = said["longest_wait_ms"], said["wait_p50_ms"]
        rows.append([f"`{name}`", ratio_text(known[name]), against_one(known[name]),
                     f"{number(middle)}, {number(said['wait_p99_ms'])}",
                     number(longest / middle if longest and middle else None),
                     "-" if said["overtaking"] is None else percent(said["overtaking"]),
                     f"{number(said['lock_cpu_ms'])} + {number(said['database_cpu_ms'])}",
                     number(said["lock_requests"]), number(said["wakeups"])])
    rows += [[f"`{name}`", "not measured"] + ["-"] * 7 for name in by_name if name not in known]
    return table(["mechanism", "sales ÷ zklock's", "than zklock", "wait p50, p99, ms", "longest ÷ p50", "overtaking",
                  "CPU per sale: lock + stock, ms", "requests", "wake-ups"], rows)


# ---- The parts of docs/comparison.md --------------------------------------------------------------------------------

def parts_of(results, plots):
    """By the name of the place that each has on the page; `plots`: (file, title)."""
    readings = Readings(results)
    pictures = {name: f"![{title}](comparison/{name}.svg)\n" for name, title in plots}
    return {"run": run_text(results),
            "against": "".join(f"- {sentence}\n" for sentence in claims.against(readings)),
            "guide": table(["when", "take", "figures"], claims.guide(readings)),
            **{name: pictures.get(name, "Not measured.\n") for name in ("harm", "recovery", "waits")},
            "stars": table(["", "stars of articles", "measured", "sales ÷ zklock's", "sold twice, without a fence",
                            "sold twice, with one", "lines, branches, servers, their memory"], claims.stars(readings)),
            "claims": table(["claim", "measured", "verdict"], [[claim, plain(figures), f"**{verdict}**"]
                                                               for claim, figures, verdict in claims.claims(readings)]),
            "families": "".join(f"### {family['family']}\n\n{summary_of(family['mechanisms'])}\n"
                                for family in results["families"]),
            "speeds": speed_parts(readings),
            "experiments": "".join(f"- `{name}`{f': {text}' if text else ''}\n"
                                   for name, text in results["experiments"].items()),
            "settings": settings_text(results), "cannot": cannot_text(readings)}


def answers_of(results):
    """The parts of docs/faq.md."""
    return {name: f"{plain(text)}\n" for name, text in claims.answers(Readings(results)).items()}


def unseen_text(cells):
    """A round in which the fault did not come about says nothing, and does not count."""
    unseen = [cell for cell in cells if cell["unseen"]]
    if not unseen:
        return ""
    none = sum(cell["rounds"] == 0 for cell in unseen)
    return (f" In {len(unseen):,} of {len(cells):,} the fault was not seen in some rounds, which do not count; in"
            f" {none:,} of these it was seen in none.")


def run_text(results):
    facts = results["facts"]
    quick = " **A quick run: it shows that everything works, and says little.**" if facts["quick"] else ""
    cells = [cell for family in results["families"] for one in family["mechanisms"] for cell in one["cells"]]
    rounds = sum(cell["rounds"] for cell in cells)
    few = sum(cell["rounds"] + cell["unseen"] < ROUNDS_TO_TELL for cell in cells)
    short = (f" A cell is one lock in one experiment, and has {ROUNDS_OF_WRONG} rounds where theory calls it wrong or the"
             f" lock is zklock's, {ROUNDS_TO_TELL} elsewhere.")
    if few:
        short += (f" In {few:,} of {len(cells):,} there are fewer than {ROUNDS_TO_TELL} yet: they tell where harm is, not"
                  " where none is.")
    short += unseen_text(cells)
    missing = [f"`{one['name']}`" for family in results["families"] for one in family["mechanisms"]
               if not one["cannot"] and not one["cells"]]
    short += f" There are no rounds yet of: {', '.join(missing)}." if missing else ""
    return (f"The run of {facts['date']}, at {facts['commit']}, on {facts['processors']} processors that all servers"
            f" and buyers share: {rounds:,} rounds. [All cells](comparison/results.md),"
            f" [the same as JSON](comparison/results.json).{short}{quick}\n")


def summary_of(mechanisms):
    rows = []
    for one in mechanisms:
        name = f"`{one['name']}`: {plain(one['title'])}"
        if one["cannot"]:
            rows.append([name, f"not measured: {plain(one['cannot'])}", "", "", "", "", ""])
            continue
        for fence in fences(one):
            cells = [cell for cell in one["cells"] if cell["fence"] == fence]
            rows.append([f"`{one['name']}` **with a fence**" if fence else name, sold_twice(cells), other_harm(cells),
                         no_harm_text(cells), says_nothing(cells), plain(one["token"]) + goes_back(cells) if fence else "",
                         f"{one['lines']}, {one['branches']}, {servers_of(one)}"])
    return table(["lock", "a unit was sold twice", "other harm", "no harm", "says nothing",
                  "where the number of its fence comes from", "lines, branches, servers"], rows)


def says_nothing(cells):
    return "; ".join(f"{cell['experiment']}: {'failed: ' + plain(cell['failed']) if cell['failed'] else 'not seen'}"
                     for cell in cells if cell["failed"] or not cell["rounds"])


def goes_back(cells):
    """In how many rounds its number was no greater than before, when its servers had been lost."""
    return "".join(f"; {cell['experiment']}: it went back in {went_back(cell)} of {cell['rounds']}"
                   for cell in cells if cell["experiment"] in SERVERS_LOST and cell["rounds"])


def went_back(cell):
    return cell["harmed"] - cell["never"] if cell["experiment"] == COUNTER else cell["overselling"]


def sold_twice(cells):
    return harm_text(cells, lambda cell: cell["overselling"])


def other_harm(cells):
    """Nobody sold any more, or two were inside and both found a unit."""
    return harm_text(cells, lambda cell: cell["harmed"] - cell["overselling"])


def harm_text(cells, count):
    if not any(cell["rounds"] for cell in cells):
        return "not measured"
    said = (f"{cell['experiment']} {count(cell)} of {cell['rounds']}"
            f"{' (theory: none)' if against_theory(cell) else ''}" for cell in cells if count(cell) > 0)
    return ", ".join(said) or "none seen"


def no_harm_text(cells):
    """Of how many experiments; experiments with as many rounds have the same bound."""
    harmless = [cell for cell in cells if cell["rounds"] and not cell["harmed"]]
    said = [f"{many} {'experiment' if many == 1 else 'experiments'}: 0 of {rounds} (≤ {percent(upper_bound(rounds))})"
            for rounds, many in sorted(collections.Counter(cell["rounds"] for cell in harmless).items(), reverse=True)]
    return "; ".join(said + [f"{cell['experiment']} (theory: harm)" for cell in harmless if against_theory(cell)])


def speed_parts(readings):
    if not readings.speeds:
        return "Not measured.\n"
    works = [HOT] if HOT in readings.speeds else []
    works += [work for work in readings.speeds if work != HOT]
    said = claims.durability(readings)
    return (f"{said}\n\n" if said else "") + "".join(f"### {work_title(work)}\n\n{speeds_of(readings, work)}\n"
                                                    for work in works)


def settings_text(results):
    rows = [[name, plain(said.get("waits_for") or f"not known: {said.get('failed', 'not asked')}"),
             number(said.get("memory_mb"))] for name, said in results["settings"].items()]
    programs = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return (table(["server", "its commit waits for", "memory at the end of the run, MB (all of its servers)"], rows)
            + f"\nVersions: {programs or 'not known'}.\n")


def cannot_text(readings):
    cannot = [f"{one['title']}: {one['cannot']}." for one in readings.mechanisms.values() if one["cannot"]]
    return "".join(f"- {plain(line)}\n" for line in (*cannot, *NOT_MEASURED))

