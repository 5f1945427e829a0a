"""Interleaved rounds of two sides, their ratio with an interval, and the verdict on a target."""

import random
import statistics
from dataclasses import asdict, dataclass, field

from common.context import say

RESAMPLES = 10_000
LEAST_ROUNDS = 3  # below, no interval and no verdict


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
    interval: tuple | None = None
    verdict: str = ""

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
    judge(comparison, context.seed)
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


def of_rates(label, unit, target, ours, peer, seed):
    """A comparison of two sides that were measured in the same rounds."""
    comparison = Comparison(label, unit, target, ours=ours, peer=peer)
    judge(comparison, seed)
    return comparison


def judge(comparison, seed):
    """Median of the rounds' ratios with a 95 % bootstrap interval. A target is missed when all of it lies below."""
    ratios = [ours / peer for ours, peer in zip(comparison.ours, comparison.peer)]
    comparison.ratio = statistics.median(ratios)
    if len(ratios) < LEAST_ROUNDS:
        comparison.verdict = f"not judged: needs {LEAST_ROUNDS} rounds"
        return
    comparison.interval = interval(ratios, seed)
    if comparison.target is None:
        comparison.verdict = "-"
        return
    low, high = comparison.interval
    if high < comparison.target:
        comparison.verdict = "missed"
    elif low >= comparison.target:
        comparison.verdict = "met"
    else:
        comparison.verdict = "undecided: the interval holds the target"


def goal_text(comparison):
    if comparison.goal is None:
        return ""
    return f"; goal {comparison.goal} {'reached' if comparison.ratio >= comparison.goal else 'not reached'}"


def interval(values, seed):
    """95 % bootstrap interval of the median."""
    generator = random.Random(seed)
    medians = sorted(statistics.median(generator.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES) - 1]


def table(comparisons, peer_name):
    """A line per comparison, for stdout."""
    lines = [f"{'':<8}{'evener':>10}{peer_name:>26}{'ratio':>9}   {'95 %':<16}target"]
    for c in comparisons:
        between = f"{c.interval[0]:.3f} to {c.interval[1]:.3f}" if c.interval else "-"
        lines.append(
            f"{c.label:<8}{statistics.median(c.ours):>10.2f}{statistics.median(c.peer):>26.2f}{c.ratio:>9.3f}   {between:<16}"
            f"{'' if c.target is None else c.target} {c.verdict}{goal_text(c)}"
        )
    notes = [note for c in comparisons for note in c.notes]
    return "\n".join(lines + [f"  note: {note}" for note in notes])
