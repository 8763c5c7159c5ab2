"""What is written: the numbers as JSON, tables in Markdown, plots as SVG (gnuplot draws them)."""
import json
import os
import subprocess

from . import figures, ratios

# What the table of a work shows: a title, a metric, and whether it is a ratio to the first peer.
TIMED = [("pair p50", "pair_p50_us", True), ("pair p90", "pair_p90_us", True), ("hand-off p50", "hand_off_p50_us", True),
         ("hand-off p90", "hand_off_p90_us", True), ("acquisitions/s", "rate", True), ("client CPU", "cpu_us", True),
         ("servers' CPU", "server_cpu_us", True), ("requests", "requests", False), ("reads", "reads", False), ("writes", "writes", False),
         ("bytes", "bytes", False), ("watches fired", "fired", False)]
PAIR = ("pair_p50_us", "pair_p90_us")
COLUMNS = {
    "timed": TIMED,
    "counted": [("requests", "requests", False), ("bytes", "bytes", False), ("watches fired", "fired", False)],
    "blocked try": [("reads", "reads", False), ("writes", "writes", False), ("bytes", "bytes", False)],
    "many": [("time for all", "seconds", True), ("client CPU", "cpu_us", True), ("time per hand-off", "move_us", True),
             ("bytes of heap each, with libzookeeper's", "bytes_each", False)],
    "leader killed": [("longest gap", "longest_gap_ms", True)],
}
# Each peer has one colour in all plots.
COLOURS = {"raw": "#666666", "zklock": "#d62728", "curator": "#1f77b4", "kazoo": "#2ca02c", "naive": "#ff7f0e"}
TITLE = "# Benchmark: results\n"
PLOT = """set terminal svg size 800,420 font 'sans-serif,12' background 'white'
set output '{output}'
set grid ytics lc rgb '#dddddd'
set key outside right top
set title '{title}'
set ylabel '{ylabel}'
set bars small
"""
LINES = """set logscale x 2
set xrange [1.5:200]
set xlabel 'sessions'
set yrange [0:*]
plot {lines}
"""
BARS = """set style data histogram
set style histogram errorbars gap 1 lw 1
set style fill solid 0.7
set yrange [0:*]
plot {bars}
"""


def write(folder, results):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/results.json", "w", encoding="utf-8") as file:
        json.dump(rounded(results), file, separators=(",", ":"))
        file.write("\n")
    rows = figures.evaluate(results["works"])
    plots = draw_all(folder, results["works"])
    with open(f"{folder}/results.md", "w", encoding="utf-8") as file:
        file.write("\n".join(page(results, rows, plots)))
    return rows


def rounded(value):
    """To five digits, which is more than the numbers are worth."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


# ---- Markdown ----------------------------------------------------------------------------------------

def table(head, lines):
    return ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |",
            *("| " + " | ".join(line) + " |" for line in lines), ""]


def page(results, rows, plots):
    facts = results["facts"]
    yield TITLE
    yield (f"Written by `bench/run`, {facts['date']}, at {facts['commit']}. {facts['processors']} processors shared by "
           f"three servers of ZooKeeper {facts['zookeeper']} ({facts['storage']}) and all clients; "
           f"{facts['slices']} interleaved slices of {facts['slice_ms']} ms. In brackets: where the median lies with 95 %.")
    yield ""
    if facts["quick"]:
        yield "**A quick run: it shows that everything works, and orders of magnitude. Few slices, wide bounds.**\n"
    yield "[What is measured, and how to read it](../benchmarks.md)\n"
    yield "## Figures to reach\n"
    yield from table(["figure", "measured", "must reach", ""],
                     [[each["figure"], each["measured"], each["target"], each["verdict"]] for each in rows])
    yield "## Plots\n"
    yield from (f"![{title}]({name}.svg)\n" for name, title in plots)
    yield "## All works\n"
    yield "Times, rates and CPU are ratios to the first line of each table. Requests, bytes and watches are those at the servers, per acquisition.\n"
    for work in results["works"]:
        yield from work_table(work)


def work_table(work):
    peers = list(work["peers"])
    # There a pair is the whole turn in the queue.
    queue = ratios.middle_of(work, "hand_off_p50_us", peers[0]) is not None
    columns = [column for column in COLUMNS[work["kind"]]
               if ratios.middle_of(work, column[1], peers[0]) is not None and not (queue and column[1] in PAIR)]
    delayed = f", {work['delay_ms']:g} ms each way" if work["delay_ms"] else ""
    count = f" ({work['count']})" if work["count"] else ""
    yield f"### {work['name']}: {work['title']}{count}{delayed}\n"
    yield from table(["", *(column[0] for column in columns)],
                     [[peer, *(cell(work, column, peer, peers[0]) for column in columns)] for peer in peers])
    if work["kind"] == "counted":
        yield from opcode_table(work)


def cell(work, column, peer, base):
    _, metric, is_ratio = column
    if is_ratio:
        return "1" if peer == base else str(ratios.of(work, metric, peer, base))
    middle = ratios.middle_of(work, metric, peer)
    return "-" if middle is None else f"{middle:.0f}" if middle >= 100 else f"{middle:.2f}"


def opcode_table(work):
    last = {peer: slices[-1].get("opcodes", {}) for peer, slices in work["peers"].items()}
    names = sorted(set().union(*last.values()))
    return table(["by opcode", *names],
                 [[peer, *(f"{counts.get(name, 0):.2f}" for name in names)] for peer, counts in last.items()])


# ---- Plots -------------------------------------------------------------------------------------------

def data_line(place, ratio):
    return f"{place} {ratio.median} {ratio.low} {ratio.high}"


def block(peer, lines):
    return f"$data_{peer} << END\n" + "\n".join(lines) + "\nEND\n"


def run_gnuplot(folder, name, title, ylabel, blocks, rest):
    script = PLOT.format(output=f"{folder}/{name}.svg", title=title, ylabel=ylabel) + blocks + rest
    subprocess.run(["gnuplot"], input=script, text=True, check=True)
    return name, title


def draw_lines(folder, name, title, ylabel, works, value_of):
    """value_of(work, peer): a Ratio."""
    peers = [peer for peer in COLOURS if any(peer in work["peers"] for work in works)]
    blocks, lines = "", []
    for peer in peers:
        points = [(work["words"]["sessions"], value_of(work, peer)) for work in works if work["words"]["sessions"] == work["words"]["threads"]]
        points = [data_line(sessions, ratio) for sessions, ratio in points if ratio.known]
        if points:
            blocks += block(peer, points)
            lines.append(f"$data_{peer} using 1:2:3:4 with yerrorlines title '{peer}' lw 2 pt 7 ps 0.5 lc rgb '{COLOURS[peer]}'")
    return run_gnuplot(folder, name, title, ylabel, blocks, LINES.format(lines=", ".join(lines))) if lines else None


def draw_bars(folder, name, title, ylabel, works, metric, base):
    """A group of bars for each work, one bar for each peer."""
    peers = [peer for peer in works[0]["peers"] if peer != base]
    blocks, bars = "", []
    for peer in peers:
        points = []
        for work in works:
            ratio = ratios.of(work, metric, peer, base)
            if ratio.known:
                label = f"{work['delay_ms']:g} ms each way" if work["delay_ms"] else "loopback"
                points.append(f'"{label}" {ratio.median} {ratio.low} {ratio.high}')
        if points:
            blocks += block(peer, points)
            bars.append(f"$data_{peer} using 2:3:4:xtic(1) title '{peer}' lc rgb '{COLOURS[peer]}'")
    return run_gnuplot(folder, name, title, ylabel, blocks, BARS.format(bars=", ".join(bars))) if bars else None


def draw_all(folder, works):
    queues = [work for work in works if work["name"].startswith("hand-off-")]
    plots = []
    pairs = [work for work in works if work["name"].startswith("pair")]
    if pairs:
        plots.append(draw_bars(folder, "pair", "Uncontended acquire and release (p50)", "time ÷ raw calls", pairs,
                               "pair_p50_us", "raw"))
    for suffix, where in (("", "loopback"), ("-delayed", "delayed")):
        chosen = [work for work in queues if bool(work["delay_ms"]) == bool(suffix)]
        for name, title, metric in (("hand-off", "Hand-off from one session to the next (p50)", "hand_off_p50_us"),
                                    ("rate", "Hand-offs per second", "rate")):
            plots.append(draw_lines(folder, f"{name}{suffix}", f"{title}, {where}", "÷ raw calls", chosen,
                                    lambda work, peer, metric=metric: ratios.of(work, metric, peer, "raw")))
        plots.append(draw_lines(folder, f"requests{suffix}", f"Requests at the servers per acquisition, {where}", "requests",
                                chosen, lambda work, peer: ratios.Ratio(
                                    [each["requests"] for each in work["peers"].get(peer, [])],
                                    [1] * len(work["peers"].get(peer, [])))))
    return [plot for plot in plots if plot]
