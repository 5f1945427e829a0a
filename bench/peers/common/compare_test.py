"""What compare.py calls 95 % covers 95 %, and targets are judged by the interval. Run by ctest, or by python3 -m unittest."""

import contextlib
import io
import random
import statistics
import unittest

from common import compare
from common.context import Measured


def ratios(generator, rounds, kind):
    """Of two equally fast sides that share a machine whose speed wanders; the median ratio is 1."""
    values, pace = [], 0.0
    for _ in range(rounds):
        pace = 0.9 * pace + generator.gauss(0, 0.1)
        noise = [1 + 0.02 * generator.gauss(0, 1) if kind == "normal" else 1 + 0.05 * generator.expovariate(1) for _ in "ab"]
        ours, peer = (2.0**pace / one for one in noise)
        values.append(ours / peer)
    return values


class Interval(unittest.TestCase):
    def test_covers_the_truth_as_often_as_it_says(self):
        for kind in ("normal", "skewed"):
            for rounds in range(3, 31, 3):
                generator = random.Random(f"{kind} {rounds}")
                found = [compare.interval(ratios(generator, rounds, kind)) for _ in range(600)]
                given = [between for between in found if between is not None]
                held = sum(low <= 1 <= high for low, high in given)
                self.assertGreaterEqual(held, 0.93 * len(given), f"{kind}, {rounds} rounds")

    def test_of_few_rounds_there_is_none(self):
        self.assertIsNone(compare.interval([1.0] * 5))
        self.assertEqual(compare.interval([3, 1, 2, 6, 5, 4]), (1, 6))
        self.assertEqual(compare.interval(list(range(9))), (1, 7))


class Verdict(unittest.TestCase):
    def of(self, values, target, goal=None):
        comparison = compare.Comparison("x", "images/s", target, goal, ours=values, peer=[1.0] * len(values))
        compare.judge(comparison)
        return comparison

    def test_is_by_the_whole_interval(self):
        values = [1.02, 1.04, 1.06, 1.08, 1.1, 1.12, 1.14, 1.16, 1.18]  # 95 %: 1.04 to 1.16
        self.assertEqual(self.of(values, 1.04).verdict, "met")
        self.assertEqual(self.of(values, 1.05).verdict, "undecided")
        self.assertEqual(self.of(values, 1.17).verdict, "missed")
        goals = [self.of(values, 1.0, goal).goal_verdict for goal in (1.04, 1.09, 1.17)]
        self.assertEqual(goals, ["met", "undecided", "missed"])
        self.assertGreater(statistics.median(values), 1.09)  # which is not enough

    def test_needs_enough_rounds(self):
        few = self.of([2.0, 2.1, 2.2], 1.0)
        self.assertEqual(few.verdict, "not judged: needs 6 rounds")
        self.assertIn("range: 2.000 to 2.200", compare.table([few], "peer"))


class Still:
    """A context that doesn't wait."""

    runs = 6

    def rest(self):
        return 0.0


class Ways(unittest.TestCase):
    """A peer in several ways, of which the fastest counts."""

    def rates(self, **values):
        sides = {name: lambda value=value: Measured(value, "torch 2.11.0", name, 3.0) for name, value in values.items()}
        with contextlib.redirect_stderr(io.StringIO()):
            return compare.interleaved(Still(), "images/s", {"evener": lambda: 12.0, **sides}, ways=[list(values)])

    def test_clearly_slower_ones_take_part_in_the_first_round_alone(self):
        rates = self.rates(eager=9.0, compiled=10.0, near=9.6)
        self.assertEqual({name: len(found) for name, found in rates.items()}, {"evener": 6, "eager": 1, "compiled": 6, "near": 6})

    def test_the_fastest_counts_and_all_are_told(self):
        rates = self.rates(eager=9.0, compiled=10.0)
        best, note = compare.better(rates, {"eager": "eager", "compiled": "compiled"})
        self.assertEqual(best, "compiled")
        self.assertIn("compiled counts of: eager 9", note)
        comparison = compare.of_rates("x", "images/s", None, rates["evener"], rates[best]).json()
        self.assertEqual((comparison["ratio"], comparison["peer_version"]), (1.2, "torch 2.11.0"))
        self.assertRegex(comparison["settings"], "slower: eager 9.*in the first round")

    def test_one_fast_round_is_not_enough(self):
        rates = {"eager": [11.0] + [9.0] * 5, "compiled": [10.0] * 6, "dropped": [20.0]}
        self.assertEqual(compare.better(rates, {name: name for name in rates})[0], "compiled")


if __name__ == "__main__":
    unittest.main()
