"""Whether what a run's processes have stays as much as it is, by its samples at rest (samples.py).

A line is what one process has of one thing. What all servers together keep for their clients outlives each server, as does
what one of them holds in its heap: so these are one line each, however often servers start. Of a line that is long enough
the first part is left out, in which all is made that stays. The rest is cut into windows. The median of all slopes between
the windows' medians (Theil and Sen's) says how much it has risen from the first window to the last, whatever single windows
say: a line that has risen by more than its limit grows.
"""
import collections
import itertools
import json
import statistics

NS = 10**9
# Shorter ones say nothing: a process that has just begun grows.
LIVED_S = 600
LEAST_SAMPLES = 24
WARM_UP = 0.25
WINDOWS = 8

# By what is measured: the share of its median by which a line may rise, and how much it may anyway.
LIMITS = {"rss_kb": (0.1, 2048), "anonymous_kb": (0.1, 1024), "descriptors": (0.1, 2), "threads": (0.1, 2),
          "heap_kb": (0.25, 4096), "watches": (0.2, 10), "nodes": (0.2, 20), "connections": (0.2, 4), "sessions": (0.2, 4)}
OF_MEMBERS = ("rss_kb", "anonymous_kb", "descriptors", "threads")
# Each server has its own watches and connections, and knows all nodes and sessions.
OF_ALL_SERVERS = {"watches": sum, "connections": sum, "nodes": max, "sessions": max}
ALL_SERVERS = "servers"
# Whose memory is theirs to collect, and is not judged here.
OTHERS = ("java", "python")


def samples_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def lines_of(samples):
    """{(of, process or None, what): [(seconds, value)]}, of samples at rest."""
    lines, rounds = collections.defaultdict(list), collections.defaultdict(list)
    for one in samples:
        if not one["at_rest"]:
            continue
        at = one["at"] / NS
        if is_server(one):
            rounds[at].append(one)
            if "heap_kb" in one:
                lines[one["of"], None, "heap_kb"].append((at, one["heap_kb"]))
        elif not one["program"].startswith(OTHERS):
            for what in OF_MEMBERS:
                lines[one["of"], one["process"], what].append((at, one[what]))
    for at, servers in rounds.items():
        for what, value in of_all_servers(servers):
            lines[ALL_SERVERS, None, what].append((at, value))
    return lines


def is_server(sample):
    return sample["of"].startswith("server-")


def of_all_servers(samples):
    """(what, value), of what was asked at one time."""
    for what, of in OF_ALL_SERVERS.items():
        told = [one[what] for one in samples if what in one]
        if told:
            yield what, of(told)


def medians(line):
    """(seconds, value) of each window behind the first part; empty: the line is too short."""
    began, ended = line[0][0], line[-1][0]
    if ended - began < LIVED_S or len(line) < LEAST_SAMPLES:
        return []
    first = began + (ended - began) * WARM_UP
    windows = collections.defaultdict(list)
    for at, value in line:
        if at >= first:
            windows[min(int((at - first) / (ended - first) * WINDOWS), WINDOWS - 1)].append((at, value))
    return [tuple(statistics.median(column) for column in zip(*windows[number])) for number in sorted(windows)]


def rise(points):
    """From the first of them to the last, by the median of all slopes between two."""
    slopes = [(later - earlier) / (then - at) for (at, earlier), (then, later) in itertools.combinations(points, 2)]
    return statistics.median(slopes) * (points[-1][0] - points[0][0]) if slopes else 0


def judge(of, process, what, line):
    """None: it is too short to say anything."""
    points = medians(line)
    if len(points) < 2:
        return None
    middle = statistics.median(value for _, value in points)
    share, anyway = LIMITS[what]
    risen, may_rise = rise(points), share * middle + anyway
    return {"of": of, "process": process, "what": what, "samples": len(line), "seconds": round(line[-1][0] - line[0][0]),
            "median": middle, "risen": round(risen, 1), "may_rise": round(may_rise, 1), "grows": risen > may_rise}


def growth(samples):
    """What became of each line that is long enough."""
    judged = (judge(*key, line) for key, line in lines_of(samples).items())
    return [one for one in judged if one]
