"""Draws the page's plots as SVG; gnuplot does. A lock is one point, or one line of points, with its name beside it."""
import math
import subprocess

from .readings import AT_ONCE_S, kind_of

# Each kind has one colour and one shape in all plots: gnuplot's numbers of a full shape, and of the same one empty.
COLOURS = {"database": "#444444", "Redis": "#d97706", "Redlock": "#9333ea", "etcd": "#0891b2", "ZooKeeper": "#1d4ed8",
           "zklock": "#dc2626", "other": "#65a30d"}
SHAPES = {"database": (5, 4), "Redis": (7, 6), "Redlock": (9, 8), "etcd": (13, 12), "ZooKeeper": (11, 10),
          "zklock": (15, 14), "other": (3, 3)}
LABEL_SIZE = 10
# Of a letter of a label, and of a line, in pixels of the picture.
LETTER, LINE = 7, 13
HEAD = """set terminal svg size {width},{height} font 'sans-serif,12' background 'white'
set output '{output}'
set encoding utf8
set title "{title}"
set key above center horizontal samplen 1 font ',10'
"""
SIZE = {"width": 1160, "height": 1000}
# The area of the points, as parts of the picture.
AREA = {"left": 0.08, "right": 0.98, "bottom": 0.07, "top": 0.87}


def draw_all(folder, readings):
    """(name, title) of those for which there is anything to draw."""
    return [(name, title) for name, title, draw in PLOTS
            if draw(readings, {"output": f"{folder}/{name}.svg", "title": title})]


def run_gnuplot(script):
    subprocess.run(["gnuplot"], input=script, text=True, check=True)
    return True


def block(name, rows):
    return f"${name} << END\n" + "".join(" ".join(map(str, row)) + "\n" for row in rows) + "END\n"


def kinds_of(names, readings):
    """{kind: its names}, in the order of COLOURS."""
    found = {kind: [name for name in names if kind_of(readings.mechanisms[name]) == kind] for kind in COLOURS}
    return {kind: members for kind, members in found.items() if members}


# ---- Speed against harm ---------------------------------------------------------------------------------------------

class Place:
    """Where values are in the picture, in pixels from its lower left."""

    def __init__(self, ratios):
        self.low = math.log10(min(ratios) / 1.3)
        self.high = math.log10(max(ratios) * 1.6)
        self.left, self.right = AREA["left"] * SIZE["width"], AREA["right"] * SIZE["width"]
        self.bottom, self.top = AREA["bottom"] * SIZE["height"], AREA["top"] * SIZE["height"]

    def point(self, ratio, share):
        return (self.left + (math.log10(ratio) - self.low) / (self.high - self.low) * (self.right - self.left),
                self.bottom + (share - SHARES[0]) / (SHARES[1] - SHARES[0]) * (self.top - self.bottom))


# The share of rounds, with room for labels below and above.
SHARES = (-0.2, 1.1)


def touch(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def room_for(point, text, taken, place):
    """The nearest place for a label that touches nothing: its lower left corner."""
    width = len(text) * LETTER
    beside = [(ring * 4, LINE * row) for ring in range(2, 40) for row in range(-ring, ring + 1)]
    corners = [(point[0] + side * across - (width if side < 0 else 0), point[1] + up - LINE / 2)
               for across, up in beside for side in (1, -1)]
    for x, y in sorted(corners, key=lambda corner: distance(point, corner, width)):
        box = (x - 2, y, x + width + 2, y + LINE)
        inside = box[0] > place.left and box[2] < place.right and box[1] > place.bottom and box[3] < place.top
        if inside and not any(touch(box, other) for other in taken):
            return x, y
    return point


def distance(point, corner, width):
    across = max(corner[0] - point[0], 0, point[0] - corner[0] - width)
    return math.hypot(across, 1.5 * (corner[1] + LINE / 2 - point[1]))


def labels(points, place, kinds):
    """gnuplot's commands for the name of each point, and for a line to it where it is not beside it."""
    colours = {name: COLOURS[kind] for kind, names in kinds.items() for name in names}
    shown = [place.point(*point) for both in points.values() for point in both]
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in shown]
    for name, (first, *_) in sorted(points.items(), key=lambda item: item[1][0]):
        point = place.point(*first)
        x, y = room_for(point, name, taken, place)
        width = len(name) * LETTER
        taken.append((x - 2, y, x + width + 2, y + LINE))
        end = (x if x > point[0] else x + width if x + width < point[0] else point[0], y + LINE / 2)
        if math.dist(end, point) > 16:
            yield f"set arrow from {screen(point)} to {screen(end)} nohead lw 0.5 lc rgb '#aaaaaa'\n"
        side, edge = ("left", x) if x + width / 2 > point[0] else ("right", x + width)
        yield (f"set label '{name}' at {screen((edge, y + LINE / 2))} {side} font ',{LABEL_SIZE}'"
               f" tc rgb '{colours[name]}'\n")


def screen(point):
    return f"screen {point[0] / SIZE['width']:.5f}, screen {point[1] / SIZE['height']:.5f}"


def draw_harm(readings, head):
    """Across: sales per second. Up: in how many rounds a unit was sold twice; empty: with a fence."""
    points = {}
    for one in readings.can():
        ratio, share = readings.ratio(one["name"]), readings.oversold_share(one["name"])
        if ratio and ratio[0] and share is not None:
            fenced = readings.oversold_share(one["name"], True)
            points[one["name"]] = [(ratio[0], share), *([] if fenced is None else [(ratio[0], fenced)])]
    if not points:
        return False
    place = Place([first[0] for first, *_ in points.values()])
    kinds = kinds_of(points, readings)
    script = HEAD.format(**head, **SIZE) + "".join(labels(points, place, kinds)) + HARM.format(
        **AREA, low=10**place.low, high=10**place.high, shares=SHARES)
    blocks, plots = "", []
    for number, (kind, names) in enumerate(kinds.items()):
        blocks += block(f"open{number}", [points[name][0] for name in names])
        colour, (full, empty) = f"lc rgb '{COLOURS[kind]}'", SHAPES[kind]
        plots.append(f"$open{number} using 1:2 with points pt {full} ps 0.7 {colour} title '{kind}'")
        fenced = [(*points[name][0], points[name][1][1]) for name in names if len(points[name]) > 1]
        if fenced:
            blocks += block(f"fenced{number}", fenced)
            plots += [f"$fenced{number} using 1:2:(0):($3-$2) with vectors nohead dt 3 lw 0.7 {colour} notitle",
                      f"$fenced{number} using 1:3 with points pt {empty} ps 0.7 {colour} title '{kind}, with a fence'"]
    return run_gnuplot(script + blocks + "plot " + ", ".join(plots) + "\n")


HARM = """set lmargin at screen {left}
set rmargin at screen {right}
set bmargin at screen {bottom}
set tmargin at screen {top}
set logscale x
set xrange [{low}:{high}]
set yrange [{shares[0]}:{shares[1]}]
set ytics ('0' 0, '20 %%' 0.2, '40 %%' 0.4, '60 %%' 0.6, '80 %%' 0.8, '100 %%' 1)
set grid xtics ytics lt 1 lw 0.5 lc rgb '#dddddd'
set xlabel 'sales per second ÷ those of zklock, 8 buyers on one hot product'
set ylabel 'rounds in which a unit was sold twice (mean of the experiments)' offset 1
"""


# ---- One line for each lock -----------------------------------------------------------------------------------------

ROW, ABOVE, WIDTH = 15, 110, 900


def lines_of(names, head, across):
    """The part of a script that names the lines, from above: the first is at 0."""
    ticks = ", ".join(f"'{name}' {-number}" for number, name in enumerate(names))
    return (HEAD.format(**head, width=WIDTH, height=ABOVE + ROW * len(names))
            + f"set ytics ({ticks}) font ',{LABEL_SIZE}'\nset yrange [{-len(names) + 0.3}:0.7]\nset xlabel '{across}'\n"
            + "set grid xtics ytics lt 1 lw 0.5 lc rgb '#dddddd'\n")


def in_order(readings, has):
    """The names for which there is something to show, kind by kind."""
    names = [one["name"] for one in readings.can() if has(one["name"])]
    return [name for members in kinds_of(names, readings).values() for name in members]


# What never comes is drawn there.
NEVER_S = 30


def draw_recovery(readings, head):
    """The median; at the right edge, as a cross, those after which nobody sold in any round."""
    names = in_order(readings, lambda name: readings.cell(name, "holder-killed"))
    if not names:
        return False
    script = lines_of(names, head, "seconds (a cross: nobody sold any more, in some round)")
    blocks, plots = "", []
    for number, (kind, members) in enumerate(kinds_of(names, readings).items()):
        rows = [(max(readings.stuck(name), AT_ONCE_S), -names.index(name)) for name in members
                if readings.stuck(name) is not None]
        if rows:
            blocks += block(f"rows{number}", rows)
            shape = f"pt {SHAPES[kind][0]} ps 0.7 lc rgb '{COLOURS[kind]}'"
            plots.append(f"$rows{number} using 1:2 with points {shape} title '{kind}'")
    never = [(NEVER_S, -names.index(name)) for name in names if readings.cell(name, "holder-killed")["never"]]
    if never:
        blocks += block("never", never)
        plots.append("$never using 1:2 with points pt 2 lw 2 lc rgb 'black' title 'nobody, in some round'")
    scale = (f"set logscale x\nset xrange [{AT_ONCE_S * 0.8}:{NEVER_S * 1.5}]\n"
             f"set xtics ('at once' {AT_ONCE_S}, 0.1, 0.3, 1, 3, 10, 'never' {NEVER_S})\n")
    return run_gnuplot(script + scale + blocks + "plot " + ", ".join(plots) + "\n")


BUYERS = {1: "#93c5fd", 8: "#3b82f6", 64: "#1e3a8a"}
LEAST_MS = 0.01


def draw_waits(readings, head):
    """From the p50, full, to the p99, empty: a line for each number of buyers."""
    works = [f"{buyers}x1" for buyers in BUYERS if f"{buyers}x1" in readings.speeds]
    names = in_order(readings, lambda name: any(readings.figure(name, "wait_p99_ms", work) for work in works))
    if not names:
        return False
    script = lines_of(names, head, "milliseconds: p50 (full) to p99 (empty)") + "set logscale x\n"
    plots = []
    for place, (buyers, colour) in enumerate(BUYERS.items()):
        rows = [(*waits, 0.25 - 0.25 * place - number) for number, name in enumerate(names)
                if (waits := waits_of(readings, name, f"{buyers}x1"))]
        if rows:
            script += block(f"waits{place}", rows)
            colour = f"lc rgb '{colour}'"
            plots += [f"$waits{place} using 1:3:($2-$1):(0) with vectors nohead lw 2 {colour} notitle",
                      f"$waits{place} using 1:3 with points pt 7 ps 0.4 {colour} title 'buyers: {buyers}'",
                      f"$waits{place} using 2:3 with points pt 6 ps 0.4 {colour} notitle"]
    return run_gnuplot(script + "plot " + ", ".join(plots) + "\n")


def waits_of(readings, name, work):
    """[p50, p99], or None."""
    waits = [readings.figure(name, what, work) for what in ("wait_p50_ms", "wait_p99_ms")]
    return None if None in waits else [max(wait, LEAST_MS) for wait in waits]


PLOTS = [("harm", "Speed, and how often a unit was sold twice", draw_harm),
         ("recovery", "Seconds until somebody else sells, after the holder was killed", draw_recovery),
         ("waits", "Waits for the lock: 1, 8 and 64 buyers on one hot product", draw_waits)]
