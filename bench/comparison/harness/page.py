"""The results as JSON and as a page's tables."""
import os
import re

from .experiments import EXPERIMENTS

BRANCH = re.compile(r"\b(?:if|for|while|case|except|elif|catch)\b|&&|\|\||\?")


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
            "token": mechanism.token, "cannot": mechanism.cannot, **complexity(folder, mechanism.files), "cells": []}
    for experiment in EXPERIMENTS:
        for fence in (False, True):
            cell = found.get((mechanism.name, experiment, fence))
            if cell is not None:
                said["cells"].append({
                    "experiment": experiment, "fence": fence, "rounds": cell.rounds, "harmed": cell.harmed,
                    "oversold": cell.oversold, "bound": cell.bound(), "stuck_median_s": cell.stuck_median(),
                    "never": cell.never, "theory": mechanism.expects(experiment, fence),
                    "not_seen": cell.not_seen, "failed": cell.failed, "text": cell.text()})
    return said


def text_of(results):
    """A table for each family: in how many rounds an experiment did harm."""
    parts = ["<!-- Written by bench/compare. -->\n"]
    for family in results["families"]:
        parts += [f"\n### {family['family']}\n\n", *table_of(family["mechanisms"])]
    for work, by_name in results["speed"].items():
        parts += [f"\n### {work.replace('x', ' buyers, ')} products\n\n", *speeds_of(by_name)]
    return "".join(parts)


def speeds_of(by_name):
    """The ratios, fastest first; the bounds say which differ."""
    yield "| mechanism | sales ÷ zklock's | p50, p99 of the wait, ms | longest, ms | overtaking | server CPU per sale, ms | requests |\n"
    yield "| --- | --- | --- | --- | --- | --- | --- |\n"
    for name, said in sorted(by_name.items(), key=lambda item: -(item[1]["ratio"] or [0])[0]):
        ratio = "-" if said["ratio"] is None else "{:.2f} ({:.2f} to {:.2f})".format(*said["ratio"])
        yield (f"| {name} | {ratio} | {number(said['wait_p50_ms'])}, {number(said['wait_p99_ms'])} |"
               f" {number(said['longest_wait_ms'])} | {number(said['overtaking'])} |"
               f" {number(said['lock_cpu_ms'])} + {number(said['database_cpu_ms'])} | {number(said['lock_requests'])} |\n")


def number(value):
    return "-" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.2g}"


def table_of(mechanisms):
    yield "| mechanism | " + " | ".join(EXPERIMENTS) + " | lines, branches |\n"
    yield "| --- |" + " --- |" * (len(EXPERIMENTS) + 1) + "\n"
    for mechanism in mechanisms:
        if mechanism["cannot"]:
            yield f"| {mechanism['title']} | not measured: {mechanism['cannot']} |" + " |" * len(EXPERIMENTS) + "\n"
            continue
        for fence in (False, True) if mechanism["token"] else (False,):
            texts = {cell["experiment"]: cell["text"] for cell in mechanism["cells"] if cell["fence"] == fence}
            row = " | ".join(texts.get(experiment, "") for experiment in EXPERIMENTS)
            title = mechanism["title"] + (", with a fence" if fence else "")
            yield f"| {title} | {row} | {mechanism['lines']}, {mechanism['branches']} |\n"
