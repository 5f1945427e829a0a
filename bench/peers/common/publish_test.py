"""What bench/results/publish shows, and what it refuses. Run by ctest, or by python3 -m unittest."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "results"
sys.path.insert(0, str(RESULTS))

import picture  # noqa: E402
import rows as table  # noqa: E402


def script():
    """publish as a module."""
    loader = importlib.machinery.SourceFileLoader("publish", str(RESULTS / "publish"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("publish", loader))
    loader.exec_module(module)
    return module


publish = script()


def row(**about):
    """A comparison at equal precisions whose target is met."""
    return {
        **dict.fromkeys(table.COLUMNS, ""),
        **{"date": "2026-11-20", "processor": "Zen 5", "cores": "2", "threads": "2", "job": "a job", "command": "run it"},
        **{"precision": "bf16", "peer": "PyTorch", "peer_precision": "bf16", "ours": "30", "theirs": "20", "unit": "images/s"},
        **{"better": "higher", "ratio": "1.5", "interval": "95 %", "low": "1.4", "high": "1.6", "rounds": "6"},
        **{"target": "1.4", "verdict": "met"},
        **about,
    }


UNEQUAL = {"peer_precision": "fp32"}
ALONE = dict.fromkeys(("peer", "peer_precision", "theirs", "ratio", "low", "high", "interval", "target"), "") | {"verdict": "none"}


def one_of(**about):
    return {"label": "do it", "job": "a job", "precision": "bf16", "peer": "PyTorch", **about}


class Rows(unittest.TestCase):
    def test_the_newest_counts(self):
        old, new = row(), row(date="2026-11-21", ratio="1.45")
        self.assertEqual(table.newest([old, new]), [new])
        self.assertEqual(table.newest([new, old]), [new])

    def test_of_one_date_the_later_counts_and_a_day_is_newer_than_its_month(self):
        same, month = row(ratio="1.45"), row(date="2026-11")
        self.assertEqual(table.newest([row(), same]), [same])
        self.assertEqual(table.newest([same, month]), [same])

    def test_another_processor_precision_peer_or_number_of_threads_stays(self):
        others = [row(processor="Zen 4"), row(threads="1"), row(precision="fp32"), row(peer="ncnn"), row(**UNEQUAL)]
        self.assertEqual(len(table.newest([row(), *others])), 6)

    def test_what_is_wrong_is_said(self):
        for wrong, words in (
            ({"verdict": "great"}, "verdict"),
            ({"ratio": "1,5"}, "no number"),
            ({"peer": ""}, "no peer"),
            ({"command": ""}, "no command"),
            ({"rounds": "5"}, "six rounds"),
            ({"verdict": "missed"}, "1.4 to 1.6 at the target 1.4 is met"),
            ({"low": "1.3"}, "is undecided"),
        ):
            self.assertIn(words, table.problem(row(**wrong)) or "nothing is wrong")
        self.assertIsNone(table.problem(row()))
        self.assertIsNone(table.problem(row(**ALONE)))

    def test_small_figures_meet_targets_from_below(self):
        alone = {**ALONE, "better": "lower", "low": "0.9", "high": "1.1", "interval": "95 %", "target": "2", "verdict": "met"}
        self.assertIsNone(table.problem(row(**alone)))
        self.assertIn("is missed", table.problem(row(**{**alone, "target": "0.5"})))

    def test_a_file_of_other_columns_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.csv"
            path.write_text("date,job\n2026,x\n")
            with self.assertRaisesRegex(ValueError, "columns"):
                table.read(path)

    def test_all_that_are_published_are_sound(self):
        for found in publish.read(RESULTS).values():
            self.assertTrue(found)


class Page(unittest.TestCase):
    def test_has_no_other_software_at_another_precision(self):
        text = publish.section("Training", [row(**UNEQUAL, job="another", command="run that", note="slowly"), row()])
        self.assertIn("| a job | bf16 |", text)
        for word in ("another", "run that", "slowly"):
            self.assertNotIn(word, text)

    def test_unequal_work_is_named_in_words_and_stands_apart(self):
        text = publish.section("Reading", [row(precision="fast", peer_precision="exact"), row()])
        self.assertLess(text.index("| a job | bf16 |"), text.index("**With unequal work**"))
        self.assertIn("| a job | unequal work: fast against exact |", text)

    def test_two_precisions_of_ours_are_both_named(self):
        text = publish.section("Training", [row(**UNEQUAL, peer="evener, fp32")])
        self.assertLess(text.index("**evener in two ways**"), text.index("| a job | bf16 against fp32 |"))

    def test_tells_what_the_other_software_was(self):
        told = {"peer_version": "torch 2.11.0", "settings": "compiled, 2 threads; slower: eager 20"}
        text = publish.tables({"training": [row(**told), row(job="another", **told), row(peer="NumPy")]})
        self.assertIn("| PyTorch compiled: 20 |", text)
        self.assertEqual(text.count("- **PyTorch** (torch 2.11.0): compiled, 2 threads."), 1)
        self.assertNotIn("other software", publish.tables({"training": [row()]}))

    def test_a_range_is_called_so(self):
        self.assertEqual(publish.ratio(row()), "1.5 (1.4 to 1.6)")
        self.assertEqual(publish.ratio(row(interval="range")), "1.5 (range 1.4 to 1.6)")

    def test_each_row_names_its_command(self):
        text = publish.section("Training", [row(), row(job="another", command="run that", note="slowly")])
        self.assertIn("| Zen 5, 2026-11-20 | 1 |", text)
        self.assertIn("| Zen 5, 2026-11-20 | 2 a |", text)
        self.assertIn("1. `run it`\n2. `run that`", text)
        self.assertIn("- **a**: slowly.", text)

    def test_long_cells_are_refused(self):
        with self.assertRaisesRegex(publish.Failure, "121 characters"):
            publish.section("Training", [row(job="x" * 121)])

    def test_letters_go_on_after_z(self):
        self.assertEqual([publish.letters(index) for index in (0, 25, 26, 52)], ["a", "z", "aa", "ba"])


class Headline(unittest.TestCase):
    def test_takes_the_newest_of_all_processors(self):
        text = publish.headline([row(date="2026-12-01", processor="Zen 6", ratio="1.6"), row()], [one_of()])
        self.assertIn("| do it | bf16 | 30 images/s | PyTorch: 20 | 1.6 (1.4 to 1.6) | 1.4 met | Zen 6 |", text)

    def test_refuses_unequal_precisions(self):
        with self.assertRaisesRegex(publish.Failure, "unequal precisions: bf16 against fp32"):
            publish.headline([row(**UNEQUAL)], [one_of()])

    def test_takes_the_equal_of_both(self):
        self.assertIn("1.5 (", publish.headline([row(), row(ratio="9", **UNEQUAL)], [one_of()]))

    def test_wants_rows_that_are_there(self):
        with self.assertRaisesRegex(publish.Failure, "no row is of"):
            publish.headline([row()], [one_of(peer="Caffe")])

    def test_leaves_the_rest_of_readme_alone(self):
        readme = f"before\n{publish.BEGIN}\nold\n{publish.END}\nafter\n"
        self.assertEqual(publish.with_table(readme, "new"), f"before\n{publish.BEGIN}\nnew\n{publish.END}\nafter\n")
        with self.assertRaises(publish.Failure):
            publish.with_table("nothing", "new")


class Picture(unittest.TestCase):
    def test_has_other_software_at_equal_precisions_alone(self):
        self.assertTrue(picture.belongs(row()))
        for other in (UNEQUAL, ALONE, {"peer": "evener, 1 thread"}, {"unit": "GB"}, {"ratio": ""}, {"low": ""}):
            self.assertFalse(picture.belongs(row(**other)), other)

    def test_is_well_formed_whatever_the_words(self):
        text = picture.of({"Training": [row(job="<a> & b"), row(job="x" * 200, verdict="missed"), row(threads="1", verdict="none")]})
        xml.etree.ElementTree.fromstring(text)

    def test_keeps_texts_in_their_columns(self):
        self.assertEqual(picture.shortened("short", 200), "short")
        self.assertLessEqual(len(picture.shortened("x" * 200, 200)) * picture.CHARACTER, 200)

    def test_places_ratios_on_a_logarithmic_axis(self):
        scale = picture.Scale([row(low="0.5", high="8")])
        self.assertAlmostEqual(scale.x(4) - scale.x(2), scale.x(2) - scale.x(1), delta=0.2)


if __name__ == "__main__":
    unittest.main()
