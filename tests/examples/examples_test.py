"""The examples in Python and TOML, as a reader starts them. Run by CTest with the built package on PYTHONPATH and
EVENER_PROGRAM set; those in C++ are run by tests/package/installed.cmake."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy  # noqa: F401, which the examples import
except ImportError:
    print("SKIPPED: there is no NumPy (Debian: python3-numpy)")
    sys.exit(77)

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


class ExamplesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, *words):
        done = subprocess.run(list(map(str, words)), cwd=self.folder, capture_output=True, text=True, check=False)
        if "openvino" in done.stderr and "not built" in done.stderr or "torch" in done.stderr and "not built" in done.stderr:
            self.skipTest("an engine is not built")
        return done

    def python(self, name, *words):
        return self.start(sys.executable, "-B", EXAMPLES / "python" / name, *words)

    def output(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_trains_and_predicts(self):
        told = self.output(self.python("train.py"))
        self.assertEqual(len(re.findall(r"^epoch \d: loss [\d.]+, validation accuracy [\d.]+%$", told, re.MULTILINE)), 5)
        accuracy = float(re.search(r"not seen: ([\d.]+)%", told)[1])
        self.assertGreater(accuracy, 70)  # ten classes; it was 88

        told = self.output(self.python("predict.py", "runs/digits"))
        self.assertEqual(len(re.findall(r"^synth:digits#\d+: \d \([\d.]+%\)$", told, re.MULTILINE)), 130)
        self.assertRegex(told, r"a frame of noise: \d, score")

        (self.folder / "a.pgm").write_bytes(b"P5 28 28 255\n" + bytes(28 * 28))
        self.assertRegex(self.output(self.python("predict.py", "runs/digits", "a.pgm")), r"a\.pgm: \d \([\d.]+%\)")

    def test_groups_generated_faces(self):
        told = self.output(self.python("faces.py"))
        self.assertIn("random weights", told)
        groups = re.findall(r"^group \d: (.*)$", told, re.MULTILINE)
        self.assertEqual(groups, [", ".join(f"{letter}{number}.ppm" for number in range(1, 5)) for letter in "abc"])
        again = self.output(self.python("faces.py", "runs/faces-images", "--out", "runs/again"))
        self.assertEqual(again, told)

    def test_says_what_is_missing(self):
        for words in (["train.py", "no-network"], ["predict.py", "nowhere"], ["predict.py"], ["faces.py", "nowhere"]):
            with self.subTest(words):
                done = self.python(*words)
                self.assertEqual(done.returncode, 1)
                self.assertNotIn("Traceback", done.stderr)

    def test_plans_a_sweep_by_a_file(self):
        told = self.output(self.start(os.environ["EVENER_PROGRAM"], "sweep", EXAMPLES / "sweep.toml", "--repeats", "3", "--dry-run"))
        self.assertIn("cpu/t1..cpu/t1", told)

    def test_trains_by_a_file(self):
        self.output(self.start(os.environ["EVENER_PROGRAM"], "train", "--config", EXAMPLES / "train.toml"))
        record = json.loads((self.folder / "runs" / "from-toml" / "record.json").read_text())
        self.assertEqual(record["config"]["schedule"], "cosine")
        self.assertGreater(record["accuracy"]["test"], 0.7)  # ten classes; it was 0.98


if __name__ == "__main__":
    unittest.main()
