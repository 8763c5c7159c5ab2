"""Draws what processes and servers had over time, as SVG; gnuplot does, with the look of the comparison's plots."""
import collections
import subprocess

from fleet.growth import NS, OF_ALL_SERVERS, is_server, of_all_servers

HEAD = """set terminal svg size 900,360 font 'sans-serif,12' background 'white'
set output '{output}'
set encoding utf8
set title "{title}"
set key outside right top samplen 1 font ',10' noenhanced
set grid xtics ytics lt 1 lw 0.5 lc rgb '#dddddd'
set xlabel 'minutes'
set yrange [0:*]
set offsets 0, 0, graph 0.1, 0
"""
COLOURS = ("#dc2626", "#1d4ed8", "#d97706", "#0891b2", "#65a30d", "#9333ea", "#444444")
# A line has no more points than are seen.
POINTS = 300
MB = 1024


def thinned(points):
    return points[::len(points) // POINTS + 1]


def block(number, lines):
    """gnuplot's data: a pen is lifted at each empty line."""
    return f"$data{number} << END\n" + "\n".join("".join(f"{at:.2f} {value:g}\n" for at, value in thinned(line))
                                                for line in lines) + "END\n"


def draw(path, title, series):
    """`series`: {name: lines of (minutes, value)}; those of one name have one colour. False: there is nothing to draw."""
    series = {name: lines for name, lines in series.items() if any(lines)}
    if not series:
        return False
    blocks = "".join(block(number, lines) for number, lines in enumerate(series.values()))
    shown = ", ".join(f"$data{number} using 1:2 with lines lw 1.2 lc rgb '{COLOURS[number % len(COLOURS)]}' title '{name}'"
                      for number, name in enumerate(series))
    subprocess.run(["gnuplot"], input=f"{HEAD.format(output=path, title=title)}{blocks}plot {shown}\n", text=True, check=True)
    return True


def of_members(samples, what, unit=1):
    """A line for each process, by the name of its program."""
    lives = collections.defaultdict(list)
    for one in samples:
        if not is_server(one):
            lives[one["program"], one["of"], one["process"]].append((minutes(one, samples), one[what] / unit))
    found = collections.defaultdict(list)
    for (program, *_), line in sorted(lives.items()):
        found[program].append(line)
    return {f"{program} ({len(lines)})": lines for program, lines in found.items()}


def minutes(one, samples):
    return (one["at"] - samples[0]["at"]) / NS / 60


def heaps(samples):
    """A line for each server, at rest, over all its starts."""
    found = collections.defaultdict(list)
    for one in samples:
        if one["at_rest"] and "heap_kb" in one:
            found[one["of"]].append((minutes(one, samples), one["heap_kb"] / MB))
    return {name: [line] for name, line in sorted(found.items())}


def kept(samples):
    """What all servers have together, at rest."""
    rounds = collections.defaultdict(list)
    for one in samples:
        if one["at_rest"] and is_server(one):
            rounds[one["at"]].append(one)
    found = {what: [] for what in OF_ALL_SERVERS}
    for some in rounds.values():
        for what, value in of_all_servers(some):
            found[what].append((minutes(some[0], samples), value))
    return {what: [line] for what, line in found.items()}


PLOTS = (
    ("memory", "Memory of each process of the fleet: heaps and stacks, MB", lambda some: of_members(some, "anonymous_kb", MB)),
    ("descriptors", "Descriptors of each process of the fleet", lambda some: of_members(some, "descriptors")),
    ("threads", "Threads of each process of the fleet", lambda some: of_members(some, "threads")),
    ("heaps", "Heap of each server after its last collection, at rest, MB", heaps),
    ("servers", "What the servers keep for their clients, at rest", kept),
)


def draw_all(folder, samples):
    """The names of those for which there is anything to draw."""
    return [name for name, title, of in PLOTS if draw(f"{folder}/{name}.svg", title, of(samples))]
