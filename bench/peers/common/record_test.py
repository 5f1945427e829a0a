"""What --record writes down, and that every experiment gives it what it takes. Run by ctest, or by python3 -m unittest."""

import argparse
import collections
import contextlib
import importlib
import io
import json
import os
import pathlib
import random
import tempfile
import unittest
from unittest import mock

from common import compare, context, environment, machine, record, software

PEERS = pathlib.Path(__file__).resolve().parent.parent
MACHINE = {"cpu": "AMD EPYC 9R14 96-Core Processor", "amx": False, "zen": "Zen 4", "cores": 2}


def result(rounds=6, quick=False, **about):
    about = {"job": "a job", "against": "PyTorch", "precision": "bf16", **about}
    ours = [2.0 + index / 100 for index in range(rounds)]
    target = about.pop("target", 1.5)
    comparison = compare.of_rates("x", "images/s", target, ours, [1.0] * rounds, **about)
    return {
        **{"finished": "2026-11-27T10:00:00Z", "machine": MACHINE, "threads": 2, "quick": quick},
        "comparisons": [comparison.json()],
        "figures": [compare.Figure("a figure", "GB", 1.25, 1.5, "met", better="lower").json()],
    }


def rows_of(*args, **about):
    return record.rows_of(result(*args, **about), "bench/peers/run --only x", "abc1234+")


class Rows(unittest.TestCase):
    def test_of_a_comparison(self):
        row = rows_of()[0]
        expected = {
            **{"date": "2026-11-27", "commit": "abc1234+", "processor": "AMD EPYC 9R14", "cores": "2", "threads": "2"},
            **{"job": "a job", "precision": "bf16", "peer": "PyTorch", "peer_precision": "bf16", "unit": "images/s"},
            **{"ours": "2.025", "theirs": "1", "ratio": "2.025", "interval": "95 %", "low": "2.000", "high": "2.050"},
            **{"rounds": "6", "target": "1.5", "verdict": "met", "goal": "", "goal_verdict": "", "better": "higher"},
        }
        self.assertEqual({name: row[name] for name in expected}, expected)
        self.assertIsNone(record.table.problem(row))

    def test_of_a_figure(self):
        row = rows_of()[1]
        self.assertEqual([row[name] for name in ("ours", "unit", "target", "verdict", "better")], ["1.25", "GB", "1.5", "met", "lower"])
        self.assertEqual([row[name] for name in ("peer", "peer_precision", "theirs", "ratio", "low")], [""] * 5)

    def test_have_what_the_peer_says_of_itself(self):
        told = context.measured({"images_per_s": 1.0, "version": "torch 2.11.0", "settings": "compiled, 2 threads"})
        found = result()
        found["comparisons"] = [compare.of_rates("x", "images/s", None, [2.0] * 6, [told] * 6, job="a job", against="PyTorch").json()]
        row = record.rows_of(json.loads(json.dumps(found)), "run it", "")[0]
        self.assertEqual((row["peer_version"], row["settings"]), ("torch 2.11.0", "compiled, 2 threads"))

    def test_few_rounds_have_a_range_and_no_verdict(self):
        row = rows_of(5)[0]
        self.assertEqual([row[name] for name in ("interval", "low", "high", "verdict")], ["range", "2.000", "2.040", "none"])

    def test_unequal_precisions_stay_apart(self):
        row = rows_of(against_precision="fp32")[0]
        self.assertEqual((row["precision"], row["peer_precision"]), ("bf16", "fp32"))
        self.assertFalse(record.table.has_equal_precisions(row))

    def test_of_values_that_should_be_low_the_ratio_is_the_others_over_ours(self):
        row = rows_of(better="lower", target=1.0)[0]
        self.assertEqual((row["ratio"], row["verdict"]), ("0.494", "missed"))

    def test_quick_is_never_recorded(self):
        self.assertEqual(rows_of(quick=True), [])

    def test_what_has_no_job_is_not_recorded(self):
        self.assertEqual(len(rows_of(job="")), 1)  # the figure

    def test_are_added_behind_those_that_are_there(self):
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                self.assertEqual(record.record(pathlib.Path(folder), "training", result(), "a command", ""), 2)
            rows = record.table.read(pathlib.Path(folder) / "training.csv")
        self.assertEqual([row["job"] for row in rows], ["a job", "a figure"] * 2)


class Command(unittest.TestCase):
    def of(self, given, **about):
        about = {"precision": None, "work": None, "threads": None, "runs": None, "pause": 2.0, "seed": 1, **about}
        return record.command_of("mlp", argparse.Namespace(**about), {"EVENER_MNIST": "mnist/"}, given)

    def test_has_what_was_asked_for(self):
        self.assertEqual(self.of({}), "bench/peers/run --only mlp")
        self.assertEqual(
            self.of({}, precision=["fp32"], work=["ResNet-34 fp32"], runs=6, pause=0.2),
            "bench/peers/run --only mlp --precision fp32 --work 'ResNet-34 fp32' --runs 6 --pause 0.2",
        )

    def test_names_no_folder_of_this_machine(self):
        self.assertEqual(self.of({"EVENER_MNIST": "digits/of/mine"}), "EVENER_MNIST=mnist/ bench/peers/run --only mlp")


class Environment(unittest.TestCase):
    def test_lacks_what_is_not_there_in_the_pinned_version(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for found in ("intel_openmp-2026.2.0", "numpy-2.0.0"):
                (folder / "lib/python3.11/site-packages" / f"{found}.dist-info").mkdir(parents=True)
            pins = folder / "pins.txt"
            pins.write_text('# those\nintel-openmp==2026.2.0\nnumpy==2.2.6\nnever==1; python_version >= "3.99"\n')
            self.assertEqual(environment.missing(folder, pins), ["numpy==2.2.6"])


class Processor(unittest.TestCase):
    def name(self, cpu, amx=False, zen=None):
        return record.processor({"cpu": cpu, "amx": amx, "zen": zen})

    def test_has_no_marks(self):
        self.assertEqual(self.name("Intel(R) Xeon(R) Platinum 8488C CPU @ 2.40GHz", amx=True), "Intel Xeon Platinum 8488C")
        self.assertEqual(self.name(""), "unknown")

    def test_is_told_by_what_it_has_where_its_model_is_hidden(self):
        self.assertEqual(self.name("Intel(R) Xeon(R) Processor", amx=True), "Intel Xeon with AMX")
        self.assertEqual(self.name("Intel(R) Xeon(R) Processor"), "Intel Xeon")
        self.assertEqual(self.name("AMD EPYC", zen="Zen 3"), "AMD EPYC, Zen 3")


    def test_tells_the_generation_of_amds_cores(self):
        def zen(vendor, family, flags):
            lines = [f"vendor_id\t: {vendor}", f"cpu family\t: {family}", f"flags\t\t: fpu {flags}"]
            with mock.patch.object(machine, "_lines", return_value=lines):
                return machine.zen()

        self.assertEqual(zen("AuthenticAMD", 25, "avx2"), "Zen 3")
        self.assertEqual(zen("AuthenticAMD", 25, "avx2 avx512f"), "Zen 4")
        self.assertEqual(zen("AuthenticAMD", 26, "avx2 avx512f"), "Zen 5")
        self.assertIsNone(zen("AuthenticAMD", 23, "avx2"))
        self.assertIsNone(zen("GenuineIntel", 25, "avx2"))


class Mode(unittest.TestCase):
    def test_names_the_compiler_that_is_not_pytorchs_own(self):
        def mode(**options):
            return software.mode(argparse.Namespace(**options))

        self.assertEqual(mode(compile=False, backend="zentorch"), "eager")
        self.assertEqual(mode(compile=True), "compiled")
        self.assertEqual(mode(compile=True, backend="inductor"), "compiled")
        self.assertEqual(mode(compile=True, backend="zentorch"), "compiled by zentorch")


class MadeUp(context.Context):
    """Starts nothing. What both sides are said to measure is made up."""

    def rest(self):
        return 0.0

    def evener(self, *words, **_):
        number = self.generator.uniform
        one = {
            **{name: number(90, 110) for name in ("images_per_s", "images", "seconds", "parameters")},
            "parameters": 100,
            "validity": {"valid": True, "reasons": []},
            "memory": {"peak_rss_bytes": number(0.9e9, 1.1e9)},
            "metrics": collections.defaultdict(lambda: {"value": number(0.9, 1.1)}, test_map_50={"value": 0.9}),
            "epochs": [
                {"seconds": number(1, 2), "train_loss": 1.0, "phases_s": {"read": 0.001, "exchange": 0.1}} for _ in range(10)
            ],
            "times_s": {"load": 0.01, "total": number(10, 20), "train": 10.0},
            "phases_s": {},
            "accuracy": {"val": number(0.95, 1), "test": number(0.95, 1)},
            "data": {"split": {"train": 240, "val": 62}},
            "cpu": {"seconds": number(1, 2)},
            "placement": {
                "replicas": [{"busy_s": 9.0, "stages": [{"memory_bytes": 100, "predicted_memory_bytes": 101}] * 2}],
            },
        }
        if words[0] == "plan":
            places = ("cpu/t1", "cpu/t2", "2xcpu/t1")
            rows = [{"placement": place, "images_per_s": number(90, 110), "basis": "tried"} for place in places]
            return {"choice": "cpu/t2", "placements": rows}
        return one

    def peer(self, script, *words):
        number = self.generator.uniform
        return {
            **{name: number(40, 60) for name in ("images_per_s", "photos_per_s", "frames_per_s", "embeddings_per_s", "seconds")},
            **{"version": "torch 2.11.0", "settings": "compiled, 2 threads", "compile_s": 60.0},
            **{"peak_rss_bytes": number(0.9e9, 1.1e9), "parameters": 100, "train_loss": [1.0]},
            "answers": {"output": [[1.0, 2.0]]},
            **{"faces": 20, "photos_with_others": 0, "least_overlap": number(0.98, 1), "score_difference": number(0, 0.002)},
        }

    module = peer

    def evener_text(self, *words):
        pass

    def evener_lines(self, *words):
        scores = [{"index": 0, "probability": 1.0}, {"index": 1, "probability": 2.0}]
        return [f'{{"file": "00000.jpg", "predictions": {scores}}}'.replace("'", '"')]

    def timed(self, *command):
        if "infer" in command and "jsonl" in command:
            return 0, 1.0, '{"file": "00000.jpg", "predictions": [{"class": "ant"}]}'
        return 0, 1.0, '{"classes": {"00000.jpg": "ant"}}'


def made_up(folder, **about):
    made = MadeUp(
        **{"root": PEERS.parent.parent, "program": pathlib.Path("evener"), "python": pathlib.Path("python3"), "results": folder},
        **{"threads": 2, "runs": 6, "quick": False, "pause_s": 0.0, "seed": 1, **about},
    )
    made.generator = random.Random(1)
    return made


class Experiments(unittest.TestCase):
    """Each gives rows without a line of its own in record.py."""

    def setUp(self):
        ends = contextlib.ExitStack()
        self.addCleanup(ends.close)
        self.folder = pathlib.Path(ends.enter_context(tempfile.TemporaryDirectory()))
        photos = self.folder / "photos"
        for part in ("train", "val"):
            (photos / part / "ant").mkdir(parents=True)
            (photos / part / "ant" / "a.jpg").touch()
        cifar = self.folder / "cifar"
        (cifar / "test" / "cat").mkdir(parents=True)
        (cifar / "train.bin.gz").touch()
        names = {f"EVENER_{name}": photos for name in ("PHOTOS", "ANTS_BEES", "BCCD")}
        names |= {f"EVENER_{name}": cifar for name in ("CIFAR10", "RESNET20", "FACE_DETECTOR", "FACE_EMBEDDER", "YOLOX")}
        others = {name: value for name, value in os.environ.items() if not name.startswith("EVENER_")}
        ends.enter_context(mock.patch.dict(os.environ, {**others, **{name: str(path) for name, path in names.items()}}, clear=True))

    def test_each_has_rows_that_can_be_recorded(self):
        names = sorted(path.stem for path in (PEERS / "experiments").glob("*.py") if not path.stem.startswith("_"))
        for name in names:
            with self.subTest(name):
                rows = self.rows_of(name)
                self.assertTrue(rows)
                seen = [tuple(row[column] for column in record.table.SAME) for row in rows]
                self.assertEqual(len(seen), len(set(seen)), f"two rows of {name} count for the same: {sorted(seen)}")
                for row in rows:
                    self.assertIsNone(record.table.problem(row), row)
                    self.assertTrue(row["peer"] == "" or row["precision"], f"{name}: {row['job']} names no precision")
                    self.assertLessEqual(len(row["job"]), 120)

    def rows_of(self, name):
        module = importlib.import_module(f"experiments.{name}")
        made = made_up(self.folder)
        silent = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
        with silent[0], silent[1], without_waiting(module):
            found = module.run(made)
        whole = {"finished": "2026-11-27T10:00:00Z", "machine": MACHINE, "threads": 2, "quick": False, **found}
        return record.rows_of(whole, "a command", "")


@contextlib.contextmanager
def without_waiting(module):
    """Of the experiments that start servers and neighbours, or make much data, by themselves: they don't."""
    with contextlib.ExitStack() as ends:
        if module.__name__.endswith(".serve"):
            sides = ("evener", "torch.compile", "torch.compile, frozen")
            ends.enter_context(mock.patch.object(module, "started_all", lambda *_: dict.fromkeys(sides, None)))
            ends.enter_context(mock.patch.object(module, "requests_of", lambda _: {"bytes": ((), ()), "JPEG": ((), ())}))
            ends.enter_context(mock.patch.object(module, "scores_of", lambda *_: [1.0, 2.0]))
            ends.enter_context(mock.patch.object(module, "rate", lambda *words: words[-1].append(1.0) or 10.0))
        if module.__name__.endswith(".neighbour"):
            ends.enter_context(mock.patch.object(module, "neighbours", lambda *_: contextlib.nullcontext()))
            ends.enter_context(mock.patch.object(module, "quota", lambda _: contextlib.nullcontext(())))
        if module.__name__.endswith(".video"):
            ends.enter_context(mock.patch.object(module, "make_video", lambda path, _: path))
        if module.__name__.endswith((".mlp", ".neighbour", ".cores")):
            perceptron = importlib.import_module("experiments.mlp")
            ends.enter_context(mock.patch.object(perceptron, "make_data", lambda folder: "MNIST"))
        yield


if __name__ == "__main__":
    unittest.main()
