"""Ratios of what was measured side by side, and how far their medians can be trusted."""
import math


def percentile(samples, percent):
    """By the nearest rank; None of nothing."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] if ordered else None


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def bounds(values):
    """Of the median, by order statistics: the interval with at least 95 %; of fewer than six values, all of them."""
    ordered = sorted(values)
    count = len(ordered)
    rank, below = 0, 0.0
    while rank < count // 2:
        below += math.comb(count, rank) / 2**count
        if below > 0.025:
            break
        rank += 1
    rank = max(rank, 1)
    return ordered[rank - 1], ordered[count - rank]


def text_of(number):
    """Three digits that count."""
    return f"{number:.0f}" if number >= 100 else f"{number:.2f}" if number >= 1 else f"{number:.3f}" if number >= 0.01 else f"{number:.2g}"


class Ratio:
    """Of one metric of two peers: slice by slice, as each was measured beside the other."""

    def __init__(self, above, below):
        self.values = [a / b for a, b in zip(above, below) if a is not None and b]
        self.known = len(self.values) > 0
        if self.known:
            self.median = median(self.values)
            self.low, self.high = bounds(self.values)

    def __str__(self):
        return f"{text_of(self.median)} ({text_of(self.low)} to {text_of(self.high)})" if self.known else "-"


def of(work, metric, peer, base):
    peers = work["peers"]
    if peer not in peers or base not in peers:
        return Ratio([], [])
    return Ratio([each.get(metric) for each in peers[peer]], [each.get(metric) for each in peers[base]])


def middle_of(work, metric, peer):
    values = [each[metric] for each in work["peers"].get(peer, []) if each.get(metric) is not None]
    return median(values) if values else None
