"""evener: train, run, embed and detect with image networks on every processor a machine has.

    run = evener.train("resnet18", data="photos/", epochs=5, on="cpu/t4", on_epoch=print)
    network = evener.load(run.folder, batch=16)
    scores = network(images)[network.main_output]        # images: uint8 (N, height, width, 3)

Options are those of the commands, with '_' for '-': options("train") lists them. Ctrl-C ends work in good order, a
training with a checkpoint, and raises KeyboardInterrupt then.
"""
import csv
import dataclasses
import json
import os
import pathlib

from evener_command import complaint

if _problem := complaint():  # before libraries are opened that don't fit
    raise ImportError(_problem)

from . import _evener  # noqa: E402
from ._evener import Error, Interrupted, UsageError  # noqa: E402

__all__ = ["Error", "Interrupted", "Network", "Result", "UsageError", "detect", "faces", "infer", "load", "options",
           "quantize", "sweep", "train"]
__version__ = _evener.version()


@dataclasses.dataclass(frozen=True, repr=False)
class Result:
    """What a job came to: its record as `record.json` has it, and the folder of its files, if there are any."""

    status: str  # "done", "interrupted" or "diverged"
    reason: str
    folder: pathlib.Path | None
    record: dict
    summary: list[str]

    def table(self, name):
        """A table that the job wrote, such as "epochs" or "predictions", for pandas (pip install pandas)."""
        path = self._table_file(name)
        try:
            import pandas
        except ImportError:
            raise ImportError(f"table() makes tables of pandas, which is not installed: pip install pandas; "
                              f"without it .rows({name!r}) gives the rows as dicts") from None
        return pandas.read_csv(path)

    def rows(self, name):
        """The same as a list of dicts of texts, without pandas."""
        with open(self._table_file(name), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def _table_file(self, name):
        if self.folder is None:
            raise Error("no files were asked for: give the job a folder with out=")
        path = self.folder / f"{name}.csv"
        if not path.exists():
            there = ", ".join(sorted(file.stem for file in self.folder.glob("*.csv"))) or "none"
            raise Error(f"there is no table {name!r} in '{self.folder}'; there are {there}")
        return path

    def __repr__(self):
        words = [self.status, self.reason, str(self.folder or "")]
        return f"<evener.Result {', '.join(word for word in words if word)}>"


def _run(job, options, **callbacks):
    options = {name: value for name, value in options.items() if value is not None}
    callbacks = {name: call for name, call in callbacks.items() if call is not None}
    status, reason, folder, record, summary = job(options, callbacks)
    return Result(status, reason, pathlib.Path(folder) if folder else None, json.loads(record), summary)


def train(model=None, *, on_epoch=None, on_step=None, on_note=None, on_progress=None, **options):
    """Trains a network. on_epoch and on_step are called with dicts, on_note and on_progress with texts."""
    return _run(_evener.train, {"model": model, **options}, epoch=on_epoch, step=on_step, note=on_note,
                progress=on_progress)


def infer(model, images=None, *, on_answers=None, on_note=None, on_progress=None, **options):
    """Shows images to a trained network. on_answers is called with lines in the format of format="jsonl" or "csv"."""
    return _run(_evener.infer, {"model": model, "images": images, **options}, answers=on_answers, note=on_note,
                progress=on_progress)


def faces(dir, *, on_note=None, on_progress=None, **options):
    """Finds the faces on the photos below a folder, and who is like whom."""
    return _run(_evener.faces, {"dir": dir, **options}, note=on_note, progress=on_progress)


def detect(model, images=None, *, on_answers=None, on_note=None, on_progress=None, **options):
    """Finds objects on photos with a trained detector."""
    return _run(_evener.detect, {"model": model, "images": images, **options}, answers=on_answers, note=on_note,
                progress=on_progress)


def quantize(model, *, on_note=None, on_progress=None, **options):
    """Makes a trained network one of 8-bit weights and activations."""
    return _run(_evener.quantize, {"model": model, **options}, note=on_note, progress=on_progress)


def sweep(what, *, on_note=None, on_progress=None, **options):
    """Runs the same work in every way: an experiment's file, or the words of a command whose values with commas are axes.

        evener.sweep(["train", "resnet18", "--data", "photos/", "--on", "cpu/t1,cpu/t2"], repeats=5, out="runs/threads")

    Each run is a process of its own. The record is that of `evener report --json`; table("runs") has a row for each run.
    The same call goes on with a sweep that was stopped.
    """
    return _run(_evener.sweep, {"what": what, **options}, note=on_note, progress=on_progress)


def options(job):
    """The options of a job ("train", "infer", "faces", "detect", "quantize", "sweep") or of load(), as a list of dicts."""
    return _evener.options_of(job)


class Network:
    """A trained network that answers for arrays; see load()."""

    def __init__(self, model, options):
        self._network = _evener.LoadedNetwork(os.fspath(model), options)
        self.name = self._network.name
        self.input_shape = tuple(self._network.input_shape)
        self.classes = list(self._network.classes)
        self.main_output = self._network.main_output
        self.notes = list(self._network.notes)

    def __call__(self, array, as_they_are=False):
        """The outputs by their names, as float32 arrays with the number of images first.

        Arrays of uint8 are pictures of any size, (N, height, width, channels) or one of them; each is brought to the
        network's size as `evener infer` does with files. Arrays of float32, and with as_they_are those of uint8, have
        the network's own shape: (N, channels, height, width) with values from 0 to 255, or (N, features). Whatever
        has NumPy's or DLPack's interface in this machine's memory is read where it lies, if its values are dense. No
        images, as in an array of shape (0, height, width, channels), give outputs of shape (0, ...), as (0, classes).
        """
        return self._network.run(array, as_they_are)

    def __repr__(self):
        return f"<evener.Network {self.name}, input {'x'.join(map(str, self.input_shape))}>"


def load(model, **options):
    """Loads a trained network: a run's folder, a file (.safetensors, .onnx, .tflite, .xml), or one of the zoo."""
    return Network(model, options)
