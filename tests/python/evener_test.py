"""The Python module as programs use it. Run by CTest with the built package on PYTHONPATH and EVENER_PROGRAM set."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

try:
    import numpy
except ImportError:
    print("SKIPPED: there is no NumPy (Debian: python3-numpy)")
    sys.exit(77)

import evener
import evener_command

DIGITS = {"data": "synth:digits:200", "engine": "native", "on": "cpu/t1", "batch": 16, "lr": 0.5}


def command(*words):
    done = subprocess.run([os.environ["EVENER_PROGRAM"], *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


class EvenerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def train(self, name="run", **options):
        return evener.train("mlp:784-16-10", out=self.folder / name, **{**DIGITS, "epochs": 2, **options})

    def test_trains_with_callbacks(self):
        epochs, notes = [], []
        run = self.train(on_epoch=epochs.append, on_note=notes.append)
        self.assertEqual(run.status, "done")
        self.assertEqual([epoch["epoch"] for epoch in epochs], [1, 2])
        self.assertEqual(run.record["kind"], "train")
        self.assertEqual(run.record, json.loads((run.folder / "record.json").read_text()))
        self.assertTrue(notes)

    def test_learns_what_the_command_learns(self):
        run = self.train()
        command("train", "mlp:784-16-10", "--out", self.folder / "command", "--epochs", 2, "--quiet",
                *(word for name, value in DIGITS.items() for word in (f"--{name}", value)))
        for name in ("last.safetensors", "best.safetensors"):
            self.assertEqual(tensors(run.folder / name), tensors(self.folder / "command" / name))

    def test_answers_bit_by_bit_as_the_command(self):
        run = self.train()
        images = numpy.random.default_rng(1).integers(0, 256, (37, 1, 28, 28)).astype(numpy.float32)
        numpy.save(self.folder / "images.npy", images)
        lines = command("infer", run.folder, self.folder / "images.npy", "--batch", 16, "--streams", 1, "--format",
                        "jsonl", "--output-type", "logit", "--topk", 10, "--quiet").splitlines()
        network = evener.load(run.folder, batch=16, streams=1)
        logits = network(images)[network.main_output]
        self.assertEqual(logits.shape, (37, 10))
        self.assertEqual(logits.dtype, numpy.float32)
        told = numpy.empty_like(logits)
        for image, line in enumerate(lines):
            for one in json.loads(line)["predictions"]:
                told[image, one["index"]] = one["logit"]
        numpy.testing.assert_array_equal(told, logits)

        numpy.testing.assert_array_equal(network(images[:3])[network.main_output], logits[:3])
        numpy.testing.assert_array_equal(network(images[5])[network.main_output], logits[5:6])  # one image
        spread = numpy.repeat(images, 2, axis=0)[::2]  # not dense
        numpy.testing.assert_array_equal(network(spread)[network.main_output], logits)

    def test_a_calibrated_network_knows_what_is_unknown(self):
        run = self.train(data="synth:digits:400", split="60/20/20")
        self.assertTrue((run.folder / "best.calibration.safetensors").exists())
        images = numpy.random.default_rng(3).integers(0, 256, (11, 1, 28, 28)).astype(numpy.float32)
        numpy.save(self.folder / "images.npy", images)
        lines = command("infer", run.folder, self.folder / "images.npy", "--batch", 4, "--streams", 1, "--format",
                        "jsonl", "--quiet").splitlines()
        told = numpy.array([json.loads(line)["unknown"] for line in lines], numpy.float32)
        network = evener.load(run.folder, batch=4, streams=1)
        for count in (11, 3):  # several calls, and one
            answers = network(images[:count])
            self.assertEqual(set(answers), {network.main_output, "unknown"})
            numpy.testing.assert_array_equal(answers["unknown"][:, 0], told[:count])

    def test_answers_pictures_as_the_command_answers_files(self):
        pictures = numpy.random.default_rng(2).integers(0, 256, (3, 40, 30, 3)).astype(numpy.uint8)
        for number, picture in enumerate(pictures):
            with open(self.folder / f"{number}.ppm", "wb") as file:
                file.write(b"P6 30 40 255\n" + picture.tobytes())
        weights = self.folder / "weights"
        self.train("weights")
        lines = command("infer", weights, self.folder / "?.ppm", "--batch", 2, "--streams", 1, "--format", "jsonl",
                        "--output-type", "logit", "--topk", 1, "--quiet").splitlines()
        network = evener.load(weights, batch=2, streams=1)
        logits = network(pictures)[network.main_output]
        self.assertEqual([json.loads(line)["predictions"][0]["logit"] for line in lines],
                         [float(numpy.float32(row.max())) for row in logits])

    def test_mistakes_are_told(self):
        with self.assertRaisesRegex(evener.UsageError, "did you mean 'epochs'"):
            evener.train("mlp:784-16-10", epoch=3)
        with self.assertRaisesRegex(evener.UsageError, "not a whole number"):
            evener.train("mlp:784-16-10", epochs="many")
        with self.assertRaisesRegex(TypeError, "'epochs' can't be a dict"):
            evener.train("mlp:784-16-10", epochs={})
        with self.assertRaises(evener.Error):
            evener.load(self.folder / "nowhere")
        network = evener.load(self.train().folder)
        with self.assertRaisesRegex(ValueError, r"not \(2, 28, 28, 7\)"):
            network(numpy.zeros((2, 28, 28, 7), numpy.uint8))
        with self.assertRaisesRegex(TypeError, r"numpy\.asarray\(\.\.\., numpy\.float32\) makes one"):
            network(numpy.zeros((2, 1, 28, 28), numpy.float64))
        with self.assertRaisesRegex(evener.Error, "takes samples of shape"):
            network(numpy.zeros((2, 1, 14, 14), numpy.float32))
        with self.assertRaisesRegex(TypeError, "not a ndarray of dtype >f4"):
            network(numpy.zeros((2, 1, 28, 28), ">f4"))
        with self.assertRaisesRegex(TypeError, "takes arrays .*, not a list;"):
            network([[1, 2], [3, 4]])
        with self.assertRaisesRegex(TypeError, "takes arrays .*, not a NoneType;"):
            network(None)
        with self.assertRaisesRegex(ValueError, r"not \(\);"):
            network(numpy.array(1, numpy.uint8))
        with self.assertRaisesRegex(evener.Error, "extents go from 1"):
            network(numpy.zeros((2, 0, 28, 1), numpy.uint8))

    def test_no_images_have_no_answers(self):
        network = evener.load(self.train().folder)
        for images, as_they_are in ((numpy.zeros((0, 1, 28, 28), numpy.float32), False),
                                    (numpy.zeros((0, 1, 28, 28), numpy.uint8), True),
                                    (numpy.zeros((0, 40, 30, 3), numpy.uint8), False)):
            self.assertEqual(network(images, as_they_are)[network.main_output].shape, (0, 10))

    def test_what_a_callback_raises_comes_out(self):
        def stumble(_):
            raise KeyError("from the callback")

        with self.assertRaisesRegex(KeyError, "from the callback"):
            self.train(epochs=5000, on_epoch=stumble)
        self.assertTrue((self.folder / "run" / "last.safetensors").exists())

    def test_ctrl_c_saves(self):
        def interrupt(epoch):
            if epoch["epoch"] == 2:
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            self.train(epochs=5000, on_epoch=interrupt)
        self.assertTrue((self.folder / "run" / "last.safetensors").exists())
        self.assertEqual(json.loads((self.folder / "run" / "record.json").read_text())["status"], "interrupted")

    def sweep(self, **options):
        words = ["train", "mlp:784-16-10", "--epochs", "1", "--batch", "16,32"]
        words += [word for name in ("data", "engine", "on") for word in (f"--{name}", DIGITS[name])]
        return evener.sweep(words, repeats=2, no_html=True, out=self.folder / "sweep", **options)

    def test_sweeps_with_callbacks(self):
        notes, shown = [], []
        done = self.sweep(on_note=notes.append, on_progress=shown.append)
        self.assertEqual(done.status, "done")
        self.assertEqual([cell["values"]["batch"] for cell in done.record["cells"]], ["16", "32"])
        self.assertEqual(sum("block" in note for note in notes), 4)
        self.assertTrue(shown)
        self.assertEqual(len((self.folder / "sweep" / "runs.csv").read_text().splitlines()), 1 + 4)

    def test_ctrl_c_keeps_the_runs_of_a_sweep(self):
        with self.assertRaises(KeyboardInterrupt):
            self.sweep(on_note=lambda _: os.kill(os.getpid(), signal.SIGINT))
        notes = []
        self.sweep(on_note=notes.append)
        self.assertEqual(sum("block" in note for note in notes), 3)

    def test_other_threads_run_meanwhile(self):
        counted = 0
        ends = threading.Event()

        def count():
            nonlocal counted
            while not ends.is_set():
                counted += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        before = counted
        self.train(epochs=20)
        after = counted
        ends.set()
        thread.join()
        self.assertGreater(after, before + 2)

    def test_options_are_those_of_the_command(self):
        told = command("train", "--help")
        for option in evener.options("train"):
            if option["name"] != "model":
                self.assertIn("--" + option["name"], told)

    def test_a_wheel_of_another_version_is_one_sentence(self):
        with mock.patch("evener_command._pinned", return_value={"numpy": numpy.__version__}):
            self.assertEqual(evener_command.complaint(), "")
        with mock.patch("evener_command._pinned", return_value={"numpy": "0.1"}):
            self.assertRegex(evener_command.complaint(), r"^evener was built for numpy 0\.1, .*: pip install numpy==0\.1$")
        with mock.patch("evener_command._pinned", return_value={"no-such-wheel": "2.0"}):
            self.assertIn("no-such-wheel 2.0, which is not installed", evener_command.complaint())

    def test_a_second_job_of_a_process_answers_too(self):
        """In processes of their own, as a child that were forked would wait for threads that only its parent has."""
        run = self.train().folder
        (self.folder / "tiny.onnx").write_bytes(tiny_onnx())
        (self.folder / "photos").mkdir()
        (self.folder / "photos" / "a.ppm").write_bytes(b"P6 8 8 255\n" + bytes(range(192)))
        program = "import sys, evener\n" + "\n".join([
            "def infer(): evener.infer('tiny.onnx', images='photos')",
            "def load(): evener.load('tiny.onnx')",
            f"def infer_run(): evener.infer({str(run)!r}, images='random:20')",
            f"def train(): evener.train('mlp:784-16-10', epochs=1, **{DIGITS!r})",
            "for word in sys.argv[1:]: globals()[word]()"])
        for words in (["infer", "infer"], ["infer_run", "load"], ["load", "infer"], ["train", "infer", "load", "train"]):
            with self.subTest(words):
                try:
                    done = subprocess.run([sys.executable, "-c", program, *words], cwd=self.folder, timeout=120,
                                          capture_output=True, text=True, check=False)
                except subprocess.TimeoutExpired:
                    self.fail("it hangs")
                if "openvino" in done.stderr and "not built" in done.stderr:
                    self.skipTest("OpenVINO is not built")
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_results_tell_themselves_shortly(self):
        run = self.train()
        self.assertEqual(repr(run), f"<evener.Result done, {run.folder}>")
        with mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(ImportError, r"pip install pandas.*\.rows\('epochs'\)"):
                run.table("epochs")
        rows = run.rows("epochs")
        self.assertEqual([row["epoch"] for row in rows], ["1", "2"])
        with self.assertRaisesRegex(evener.Error, r"no table 'epoch'.* epochs"):
            run.rows("epoch")

    def test_stubs_know_every_option(self):
        stubs = (pathlib.Path(evener.__file__).parent / "__init__.pyi").read_text()
        compile(stubs, "__init__.pyi", "exec")
        self.assertIn("    class_: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,", stubs)
        self.assertIn("    epochs: int | None = None,", stubs)


def tiny_onnx():
    """A network of three classes for one image of 3x8x8: the mean of each channel. Fields are those of onnx.proto."""
    def number(field, value):
        return bytes([field << 3, value]) if field < 16 else bytes([(field << 3 & 127) | 128, field >> 4, value])

    def words(field, content):
        return bytes([field << 3 | 2, len(content) & 127 | 128, len(content) >> 7]) + content

    def value(name, shape):
        extents = b"".join(words(1, number(1, extent)) for extent in shape)
        return words(1, name) + words(2, words(1, number(1, 1) + words(2, extents)))

    axes = words(1, b"axes") + number(8, 2) + number(8, 3) + number(20, 7)
    keep = words(1, b"keepdims") + number(3, 0) + number(20, 2)
    node = words(1, b"input") + words(2, b"output") + words(4, b"ReduceMean") + words(5, axes) + words(5, keep)
    graph = words(1, node) + words(2, b"tiny") + words(11, value(b"input", (1, 3, 8, 8))) + words(12, value(b"output", (1, 3)))
    return number(1, 8) + words(7, graph) + words(8, words(1, b"") + number(2, 13))


def tensors(path):
    """What follows the header of a .safetensors file."""
    data = path.read_bytes()
    return data[8 + int.from_bytes(data[:8], "little"):]


if __name__ == "__main__":
    unittest.main()
