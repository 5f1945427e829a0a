"""Interleaved rounds of two sides, their ratio with an interval, and the verdict on a target."""

import math
import random
import statistics
from collections import Counter
from dataclasses import asdict, dataclass, field

from common.context import Measured, say

LEAST_ROUNDS = 6  # below, the range of the ratios is told and nothing is judged
CLEARLY_SLOWER = 0.95  # of a peer's fastest way in the first round; a way below it takes no part in later ones


@dataclass
class Comparison:
    """What both sides came to, one value per round, and how many times as good as the other's ours is. The fields up to `better`
    are what --record writes down beside the figures; without a job a comparison isn't recorded."""

    label: str  # short, for the table on stdout
    unit: str
    target: float | str | None  # of the ratio; a text is judged by the experiment; None: the ratio is told, not judged
    goal: float | None = None  # beyond the target; named, not judged as one
    job: str = ""
    against: str = ""  # the other software; "evener, ..." is ourselves in another way
    precision: str = ""
    against_precision: str = ""  # empty: the same
    threads: int | None = None  # of both sides, where they aren't all that the run was given
    better: str = "higher"  # or "lower", of values such as bytes: the ratio is the other's value over ours then
    note: str = ""  # what a reader of the row has to know
    peer_version: str = ""  # of the other software, and how it was used: what its rates say, if they are Measured
    settings: str = ""
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
        return {**asdict(self), "ratios": ratios(self)}


@dataclass
class Figure:
    """A value of ours that has no other side, as --record writes it down."""

    job: str
    unit: str
    value: float
    target: float | None = None
    verdict: str = ""
    better: str = "higher"  # or "lower"
    precision: str = ""
    interval: tuple | None = None  # of 95 %
    range: tuple = ()
    rounds: int | None = None
    against: str = ""  # only where both values are known, and no ratio makes sense
    against_value: float | None = None
    note: str = ""

    def json(self):
        return asdict(self)


def rounds(context, label, unit, target, ours, peer, goal=None, **about):
    """Calls ours() and peer() once per round, in an order that alternates from a seeded start. Each returns a rate, or a
    rate and a list of remarks. `about`: further fields of the comparison."""
    comparison = Comparison(label, unit, target, goal, **about)
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


def interleaved(context, unit, sides, ways=(), busy=None):
    """Rates of several sides (name -> function), one of each per round, in an order that turns from round to round. `ways`: lists
    of names that are one peer used in several ways; those that are clearly slower in the first round are left out later. `busy`: a list,
    to which others' share of the processor before each run is added."""
    rates = {name: [] for name in sides}
    names = list(sides)
    for index in range(context.runs):
        for name in names[index % len(names) :] + names[: index % len(names)]:
            share = context.rest()
            if busy is not None:
                busy.append(share)
            rates[name].append(sides[name]())
            say(f"  round {index + 1} of {context.runs}: {name} {rates[name][-1]:.3g} {unit}")
        if index == 0:
            for group in ways:
                fastest = max(rates[name][0] for name in group)
                names = [name for name in names if name not in group or rates[name][0] >= CLEARLY_SLOWER * fastest]
    return rates


def better(rates, ways):
    """The label of a peer's fastest way (label -> name in `rates`) of those that went through all rounds, and a note on all."""
    rounds = max(len(rates[name]) for name in ways.values())
    medians = {label: statistics.median(rates[name]) for label, name in ways.items()}
    best = max((label for label, name in ways.items() if len(rates[name]) == rounds), key=medians.get)
    words = [way_text(label, rates[name], rounds) for label, name in ways.items()]
    if len(words) > 1:
        others = [word for label, word in zip(ways, words) if label != best]
        for rate in rates[ways[best]]:
            if isinstance(rate, Measured):
                rate.settings += f"; slower: {', '.join(others)}"
    return best, f"{best} counts of: {', '.join(words)}"


def way_text(label, values, rounds):
    text = f"{label} {statistics.median(values):.3g}"
    seconds = [getattr(value, "compile_s", 0.0) for value in values]
    if any(seconds):
        text += f" (compiling took {max(seconds):.0f} s, then {min(seconds):.0f} s)"
    return text if len(values) == rounds else f"{text} in the first round"


def of_rates(label, unit, target, ours, peer, goal=None, **about):
    """A comparison of two sides that were measured in the same rounds. `about`: further fields of it."""
    comparison = Comparison(label, unit, target, goal, ours=ours, peer=peer, **about)
    judge(comparison)
    return comparison


def ratios(comparison):
    """Of each round; above 1 ours is the better one."""
    pairs = zip(comparison.ours, comparison.peer)
    return [ours / peer if comparison.better == "higher" else peer / ours for ours, peer in pairs]


def judge(comparison):
    """The median of the rounds' ratios, its interval, and what that says of the target and the goal."""
    values = ratios(comparison)
    for rate in comparison.peer:
        if isinstance(rate, Measured):
            comparison.peer_version, comparison.settings = rate.version, rate.settings
    comparison.ratio = statistics.median(values)
    comparison.range = (min(values), max(values))
    comparison.interval = interval(values)
    comparison.verdict = verdict(comparison.interval, comparison.target)
    comparison.goal_verdict = verdict(comparison.interval, comparison.goal)


def verdict(between, target):
    """met: the whole interval is at the target or above it; missed: all of it lies below; else undecided."""
    if target is None or isinstance(target, str):
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
