"""Writes docs/comparison.md, what belongs to it, and the figures of docs/faq.md, of the results of a run; or says whether
they are what these give."""
import argparse
import json
import os
import re
import sys

from . import page, plots, published
from .readings import Readings
from .published import FOLDER
from .servers import TOP

PAGE = f"{TOP}/docs/comparison.md"
FAQ = f"{TOP}/docs/faq.md"
PLACE = re.compile(r"(<!-- bench/compare: (\w+) -->\n)(.*?)(<!-- end -->\n)", re.S)


def filled(text, parts):
    """The page with each part in its place. One that has no place, or a place that has no part, is an error."""
    places = [found[2] for found in PLACE.finditer(text)]
    if sorted(places) != sorted(parts):
        raise ValueError(f"a page's places are {', '.join(places)}; the parts are {', '.join(parts)}")
    return PLACE.sub(lambda found: f"{found[1]}{parts[found[2]]}{found[4]}", text)


def emptied(text):
    return PLACE.sub(lambda found: found[1] + found[4], text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def plots_there(folder):
    """(name, title): those that the page shows."""
    return [(name, title) for name, title, _ in plots.PLOTS if os.path.exists(f"{folder}/{name}.svg")]


def texts_of(results, drawn):
    """By path, all that is written of these results but the plots."""
    return {f"{FOLDER}/results.json": json.dumps(results, ensure_ascii=False, separators=(",", ":")) + "\n",
            f"{FOLDER}/results.md": page.text_of(results),
            PAGE: filled(read(PAGE), page.parts_of(results, drawn)),
            FAQ: filled(read(FAQ), page.answers_of(results))}


def completed(results):
    """With what was published before of the same tree, and is more than this run has."""
    trees = results["trees"]
    published.Published(published.results(), lambda name, experiment: trees.get(name, {}).get(experiment or "speed")
                        ).complete(results)


def publish(results):
    os.makedirs(FOLDER, exist_ok=True)
    for path, text in texts_of(results, plots.draw_all(FOLDER, Readings(results))).items():
        write(path, text)


def stale():
    """What is not what the committed results give. Where none are committed the page has no figures."""
    if not os.path.exists(f"{FOLDER}/results.json"):
        return [f"{os.path.relpath(path, TOP)}: figures, and no results.json" for path in (PAGE, FAQ)
                if read(path) != emptied(read(path))]
    texts = texts_of(json.loads(read(f"{FOLDER}/results.json")), plots_there(FOLDER))
    return [f"{os.path.relpath(path, TOP)}: not what results.json gives; bench/compare --publish"
            " --output docs/comparison writes it" for path, text in texts.items() if read(path) != text]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", help="the folder of a run's results.json; without it nothing is written")
    asked = parser.parse_args()
    if asked.output is None:
        wrong = stale()
        print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
        return 1 if wrong else 0
    if not os.path.exists(f"{asked.output}/results.json"):
        print(f"bench/compare: {asked.output} has no results.json: run it first, without --publish", file=sys.stderr)
        return 1
    results = json.loads(read(f"{asked.output}/results.json"))
    if not results["facts"]["quick"]:
        completed(results)
    publish(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
