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
        epochs, steps, notes, shown = [], [], [], []
        run = self.train(on_epoch=epochs.append, on_step=steps.append, on_note=notes.append,
                         on_progress=shown.append)
        self.assertEqual(run.status, "done")
        self.assertEqual([epoch["epoch"] for epoch in epochs], [1, 2])
        for epoch, told in zip(epochs, run.record["epochs"]):
            self.assertEqual(epoch["learning_rate"], told["lr"])
            for name in ("seconds", "train_loss", "train_accuracy", "val_loss", "val_accuracy"):
                self.assertEqual(epoch[name], told[name], name)
        self.assertIs(epochs[0]["best"], True)
        last = steps[-1]
        self.assertEqual((last["epoch"], last["step"], last["steps_per_epoch"]), (2, 10, 10))
        self.assertAlmostEqual(last["loss"], epochs[1]["train_loss"], 5)
        self.assertGreater(last["images_per_s"], 0)
        self.assertTrue(all(isinstance(text, str) for text in notes + shown))
        self.assertEqual(run.record["kind"], "train")
        self.assertEqual(run.record, json.loads((run.folder / "record.json").read_text()))
        self.assertTrue(notes)

    def test_options_may_be_of_any_kind_of_number_text_or_list(self):
        run = self.train(epochs=numpy.int64(1), lr=numpy.float32(0.25), momentum=numpy.float64(0.5), nesterov=True,
                         freeze=("0.weight", "0.b*"), batch="32", seed=None, split=pathlib.PurePath("70/20/10"))
        expected = {"epochs": 1, "lr": 0.25, "momentum": 0.5, "nesterov": True, "freeze": ["0.weight", "0.b*"],
                    "batch": 32, "split": [70, 20, 10]}
        self.assertEqual({name: run.record["config"][name] for name in expected}, expected)
        self.assertFalse(self.train("other", epochs=1, nesterov=False).record["config"]["nesterov"])
        with self.assertRaisesRegex(TypeError, "'freeze' can't be a dict"):
            evener.train("mlp:784-16-10", freeze=["a", {}])
        with self.assertRaisesRegex(evener.UsageError, "class"):  # not "unknown option 'class_'"
            self.train("classes", class_=["a"], data=self.folder)

    def test_options_are_described(self):
        of_train = {option.pop("name"): option for option in evener.options("train")}
        self.assertEqual(of_train["optimizer"]["choices"], ["sgd", "adamw"])
        kinds = {name: of_train[name]["kind"] for name in ("nesterov", "epochs", "freeze", "resume")}
        self.assertEqual(kinds, {"nesterov": "switch", "epochs": "value", "freeze": "values",
                                 "resume": "switch or value"})
        epochs = of_train["epochs"]
        self.assertTrue(epochs.pop("help"))
        self.assertEqual(epochs, {"kind": "value", "value": "N", "value_kind": "a whole number", "default": "10",
                                  "choices": [], "required": False})
        self.assertIsNone(of_train["out"]["default"])
        self.assertIs(of_train["data"]["required"], True)
        with self.assertRaisesRegex(evener.UsageError, "did you mean 'train'"):
            evener.options("trian")

    def test_errors_are_of_their_kind(self):
        self.assertTrue(issubclass(evener.UsageError, evener.Error))
        self.assertTrue(issubclass(evener.Interrupted, evener.Error))
        self.assertTrue(issubclass(evener.Error, RuntimeError))
        self.assertFalse(issubclass(evener.Interrupted, evener.UsageError))
        self.assertIn(evener.__version__, command("--version"))
        nowhere = self.folder / "nowhere"
        for call in (evener.infer, evener.detect):
            with self.assertRaisesRegex(evener.Error, "nowhere"):
                call(nowhere, "random:3")
        for call in (evener.faces, evener.quantize):
            with self.assertRaisesRegex(evener.Error, "nowhere"):
                call(nowhere)

    def test_answers_are_told_in_the_format_that_was_asked_for(self):
        run = self.train()
        lines, notes, quiet = [], [], []
        done = evener.infer(run.folder, "random:5", format="csv", topk=1, on_answers=lines.append, on_note=notes.append)
        self.assertEqual(done.status, "done")
        self.assertEqual(done.reason, "")
        self.assertEqual(len("".join(lines).splitlines()), 1 + 5)
        self.assertTrue(notes)
        self.assertIsNone(done.folder)
        with self.assertRaisesRegex(evener.Error, "give the job a folder with out="):
            done.rows("predictions")
        written = evener.infer(run.folder, "random:5", out=self.folder / "answers", on_answers=quiet.append)
        self.assertEqual("".join(quiet), "")
        self.assertEqual(written.folder, self.folder / "answers")
        self.assertEqual(written.record["kind"], "infer")

    def test_quantizes_and_says_what_it_costs(self):
        run = self.train()
        small = evener.quantize(run.folder, images=20, seconds=0.01, on="cpu/t1", out=self.folder / "int8")
        self.assertEqual(small.status, "done")
        self.assertEqual(small.record["kind"], "quantize")
        self.assertEqual(small.folder, self.folder / "int8")
        self.assertTrue(small.summary)
        self.assertTrue(all(isinstance(line, str) and "\n" not in line for line in small.summary))

    def test_a_network_tells_what_it_is(self):
        run = self.train()
        network = evener.load(run.folder, streams=None)
        self.assertEqual(network.name, "mlp:784-16-10")
        self.assertEqual(network.input_shape, (1, 28, 28))
        self.assertEqual(network.classes, [str(digit) for digit in range(10)])
        self.assertIn(network.main_output, network(numpy.zeros((1, 28, 28, 1), numpy.uint8)))
        self.assertEqual(repr(network), "<evener.Network mlp:784-16-10, input 1x28x28>")
        self.assertTrue(any("random" in note for note in evener.load("mlp:784-10", size="28x28", channels=1).notes))

    def test_pictures_may_be_grey_single_or_as_they_are(self):
        network = evener.load(self.train().folder, batch=4, streams=1)
        grey = numpy.random.default_rng(5).integers(0, 256, (3, 28, 28, 1)).astype(numpy.uint8)
        logits = network(grey)[network.main_output]
        planes = grey.reshape(3, 1, 28, 28)
        for same in (grey[1], grey[1, :, :, 0]):
            numpy.testing.assert_array_equal(network(same)[network.main_output], logits[1:2])
        numpy.testing.assert_allclose(network(planes.astype(numpy.float32))[network.main_output], logits, atol=1e-4)
        numpy.testing.assert_array_equal(network(planes, as_they_are=True)[network.main_output], logits)
        numpy.testing.assert_array_equal(network(planes[2], True)[network.main_output], logits[2:])
        colour = numpy.repeat(grey, 3, axis=3)
        numpy.testing.assert_allclose(network(colour)[network.main_output], logits, atol=0.05)
        numpy.testing.assert_array_equal(network(colour[1])[network.main_output],
                                         network(colour)[network.main_output][1:2])
        with self.assertRaisesRegex(ValueError, r"not \(5,\);"):
            network(numpy.zeros(5, numpy.uint8))

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
            with self.assertRaisesRegex(SystemExit, "^evener: evener needs no-such-wheel 2.0"):
                evener_command.main()
        with (mock.patch("evener_command._pinned", return_value={"torch": "2.11.0"}),
              mock.patch("importlib.metadata.version", return_value="2.11.0+cpu")):
            self.assertEqual(evener_command.complaint(), "")
        with (mock.patch("evener_command.complaint", return_value=""), mock.patch("os.execv") as called,
              mock.patch.object(sys, "argv", ["/bin/evener", "info", "a b"])):
            evener_command.main()
        called.assert_called_once_with(evener_command.PROGRAM, ["evener", "info", "a b"])

    def test_the_wheels_that_it_was_built_for_are_those_of_the_package(self):
        lines = ["torch==2.11.0", "numpy>=1.2", "openvino == 2026.1 ; python_version > '3'"]
        with (mock.patch("evener_command.PROGRAM", pathlib.Path(__file__)),
              mock.patch("importlib.metadata.requires", return_value=lines)):
            self.assertEqual(evener_command._pinned(), {"torch": "2.11.0", "openvino": "2026.1"})
        with (mock.patch("evener_command.PROGRAM", self.folder / "nothing"),
              mock.patch("importlib.metadata.requires", return_value=lines)):
            self.assertEqual(evener_command._pinned(), {})

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
        self.assertEqual(repr(evener.Result("diverged", "why", None, {}, [])), "<evener.Result diverged, why>")
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
        self.assertIn("    lr: float | None = None,", stubs)
        self.assertIn("    nesterov: bool | None = None,", stubs)
        self.assertIn("    resume: bool | str | PathLike[str] | None = None,", stubs)
        self.assertIn("    optimizer: Literal['sgd', 'adamw'] | None = None,", stubs)
        self.assertIn("def infer(\n    model: str | PathLike[str],\n    images: ", stubs)
        self.assertIn("    *,\n    on_answers: Callable[[str], object] | None = None,\n    on_note: ", stubs)
        self.assertIn("def train(\n    model: str | PathLike[str] | None = None,\n    *,\n"
                      "    on_epoch: Callable[[dict[str, Any]], object] | None = None,\n    on_step: ", stubs)
        self.assertIn(") -> Network: ...", stubs)
        self.assertEqual(stubs.count("\ndef "), 8)


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
