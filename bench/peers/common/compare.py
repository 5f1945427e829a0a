"""Interleaved rounds of two sides, their ratio with an interval, and the verdict on a target."""

import math
import random
import statistics
from collections import Counter
from dataclasses import asdict, dataclass, field

from common.context import say

LEAST_ROUNDS = 6  # below, the range of the ratios is told and nothing is judged


@dataclass
class Comparison:
    """Rates (larger is better) of both sides, one per round, and how often the others' rate ours is."""

    label: str
    unit: str
    target: float | None  # None: the ratio is told, not judged
    goal: float | None = None  # beyond the target; named, not judged as one
    ours: list = field(default_factory=list)
    peer: list = field(default_factory=list)
    order: list = field(default_factory=list)  # which side began each round
    busy: list = field(default_factory=list)  # others' share of the processor before each run
    notes: list = field(default_factory=list)
    ratio: float = 0.0
    interval: tuple | None = None  # of 95 %, of the ratio; None: too few rounds
    range: tuple = ()  # of the rounds' ratios
    verdict: str = ""  # on the target
    goal_verdict: str = ""

    def json(self):
        return {**asdict(self), "ratios": [a / b for a, b in zip(self.ours, self.peer)]}


def rounds(context, label, unit, target, ours, peer, goal=None):
    """Calls ours() and peer() once per round, in an order that alternates from a seeded start. Each returns a rate, or a
    rate and a list of remarks."""
    comparison = Comparison(label, unit, target, goal)
    first = random.Random(f"{context.seed} {label}").randrange(2)
    for index in range(context.runs):
        sides = [("ours", ours), ("peer", peer)]
        if (index + first) % 2:
            sides.reverse()
        comparison.order.append(sides[0][0])
        for name, side in sides:
            comparison.busy.append(context.rest())
            outcome = side()
            rate, notes = outcome if isinstance(outcome, tuple) else (outcome, [])
            comparison.notes += [f"round {index + 1}, {name}: {note}" for note in notes]
            getattr(comparison, name).append(rate)
            say(f"  {label}, round {index + 1} of {context.runs}: {name} {rate:.3g} {unit}")
    judge(comparison)
    return comparison


def interleaved(context, unit, sides):
    """Rates of several sides (name -> function), one of each per round, in an order that turns from round to round."""
    rates = {name: [] for name in sides}
    names = list(sides)
    for index in range(context.runs):
        for name in names[index % len(names) :] + names[: index % len(names)]:
            context.rest()
            rates[name].append(sides[name]())
            say(f"  round {index + 1} of {context.runs}: {name} {rates[name][-1]:.3g} {unit}")
    return rates


def of_rates(label, unit, target, ours, peer, goal=None):
    """A comparison of two sides that were measured in the same rounds."""
    comparison = Comparison(label, unit, target, goal, ours=ours, peer=peer)
    judge(comparison)
    return comparison


def judge(comparison):
    """The median of the rounds' ratios, its interval, and what that says of the target and the goal."""
    ratios = [ours / peer for ours, peer in zip(comparison.ours, comparison.peer)]
    comparison.ratio = statistics.median(ratios)
    comparison.range = (min(ratios), max(ratios))
    comparison.interval = interval(ratios)
    comparison.verdict = verdict(comparison.interval, comparison.target)
    comparison.goal_verdict = verdict(comparison.interval, comparison.goal)


def verdict(between, target):
    """met: the whole interval is at the target or above it; missed: all of it lies below; else undecided."""
    if target is None:
        return ""
    if between is None:
        return f"not judged: needs {LEAST_ROUNDS} rounds"
    low, high = between
    return "met" if low >= target else "missed" if high < target else "undecided"


def interval(values):
    """95 % interval of the median, between two of the values, as a sign test has it: so whatever their distribution, if
    they don't depend on each other, as the ratios of interleaved rounds don't. None for fewer than LEAST_ROUNDS."""
    count = len(values)
    if count < LEAST_ROUNDS:
        return None
    place, below = 0, 0
    while 2 * (below := below + math.comb(count, place)) <= 0.05 * 2**count:
        place += 1
    ordered = sorted(values)
    return ordered[place - 1], ordered[count - place]


def spread_text(between, all_values, digits=3, scale=1.0):
    """"95 %: 1.020 to 1.100", or the range of too few rounds."""
    low, high = between or all_values
    return f"{'95 %' if between else 'range'}: {scale * low:.{digits}f} to {scale * high:.{digits}f}"


def table(comparisons, peer_name):
    """A line per comparison, for stdout."""
    lines = [f"{'':<8}{'evener':>10}{peer_name:>26}{'ratio':>9}   {'of the ratio':<24}target"]
    for c in comparisons:
        target = "" if c.target is None else f"{c.target} {c.verdict}"
        goal = "" if c.goal is None else f"; goal {c.goal} {c.goal_verdict}"
        lines.append(
            f"{c.label:<8}{statistics.median(c.ours):>10.2f}{statistics.median(c.peer):>26.2f}{c.ratio:>9.3f}   "
            f"{spread_text(c.interval, c.range):<24}{target}{goal}"
        )
    notes = Counter(note for c in comparisons for note in c.notes)
    return "\n".join(lines + [f"  note: {note}" + (f" ({count} times)" if count > 1 else "") for note, count in notes.items()])
