"""Epochs of a two-layer perceptron on MNIST: our own kernels against NumPy by hand and PyTorch, against
themselves on one thread, as two processes and in bf16."""

import gzip
import os
import pathlib
import random
import shutil
import statistics
import struct

from common import compare
from common.context import Failure, measured, say

TITLE = "MLP 784-256-10, MNIST, batch 64: images/s of training, --engine native"
NEEDS_PEERS = True
THEME = "training"
ENVIRONMENT = {"EVENER_MNIST": "mnist/"}

MODEL, HIDDEN, BATCH, RATE = "mlp:784-256-10", 256, 64, 0.3
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")
IMAGES = 60_000
EPOCHS = 3
JOB = "MLP 784-256-10 training, MNIST, batch 64"


def run(context):
    epochs = 1 if context.quick else EPOCHS
    losses, peaks, fastest = {}, {}, {}
    with context.folder() as folder:
        source = make_data(pathlib.Path(folder) / "mnist")

        def ours(name, on, *options):
            def one():
                record = context.evener(
                    *("train", MODEL, "--data", f"{folder}/mnist", "--split", "100/0", "--batch", BATCH),
                    *("--epochs", epochs, "--lr", RATE, "--engine", "native", "--on", on, "--seed", context.seed),
                    *("--out", f"{folder}/run", "--overwrite", "--json", "-", "--quiet", *options),
                )
                keep(name, record["epochs"][-1]["train_loss"], record["memory"]["peak_rss_bytes"])
                seconds = [epoch["seconds"] for epoch in record["epochs"]]
                fastest[name] = min(fastest.get(name, seconds[0]), *seconds)
                return IMAGES * epochs / sum(seconds)

            return one

        def peer(name, library, threads, *more):
            def one():
                result = context.peer(
                    "mlp_train.py",
                    *("--library", library, *more, "--data", f"{folder}/mnist", "--hidden", HIDDEN, "--batch", BATCH),
                    *("--epochs", epochs, "--lr", RATE, "--threads", threads, "--seed", context.seed),
                )
                keep(name, result["train_loss"][-1], result["peak_rss_bytes"])
                return measured(result)

            return one

        def keep(name, loss, peak):
            losses.setdefault(name, []).append(loss)
            peaks.setdefault(name, []).append(peak)

        every = context.threads
        sides = {
            "native fp32": ours("native fp32", f"cpu/t{every}"),
            "NumPy": peer("NumPy", "numpy", every),
            "PyTorch eager": peer("PyTorch eager", "pytorch", every),
            "PyTorch compiled": peer("PyTorch compiled", "pytorch", every, "--compile"),
            "native 1 thread": ours("native 1 thread", "cpu/t1"),
            "native 2 threads": ours("native 2 threads", "cpu/t2"),
            "native 2 processes": ours("native 2 processes", "2xcpu/t1"),
            "NumPy 1 thread": peer("NumPy 1 thread", "numpy", 1),
            "PyTorch eager 1 thread": peer("PyTorch eager 1 thread", "pytorch", 1),
            "PyTorch compiled 1 thread": peer("PyTorch compiled 1 thread", "pytorch", 1, "--compile"),
        }
        if "bf16" in context.precisions:
            sides["native bf16"] = ours("native bf16", f"cpu/t{every}", "--precision", "bf16")
        ways = {every: {}, 1: {}}
        for threads, end in ((every, ""), (1, " 1 thread")):
            ways[threads] |= {way: f"PyTorch {way}{end}" for way in ("eager", "compiled")}
        rates = compare.interleaved(context, "images/s", sides, ways=[list(names.values()) for names in ways.values()])

    for name, values in rates.items():
        seconds = 10 * IMAGES / statistics.median(values)
        loss, peak = statistics.median(losses[name]), statistics.median(peaks[name])
        print(f"{name:<20}{statistics.median(values):>10.0f} images/s, 10 epochs in {seconds:6.2f} s, last loss {loss:.4f}, "
              f"peak memory {peak / 1e6:.0f} MB", flush=True)  # fmt: skip

    def ratio(label, target, side, other, against, threads=every, job=JOB, **about):
        about = {"precision": "fp32", "job": job, "against": against, "threads": threads, **about}
        return compare.of_rates(label, "images/s", target, rates[side], rates[other], **about)

    best, notes = {}, []
    for threads, names in ways.items():
        way, note = compare.better(rates, names)
        best[threads] = names[way]
        notes.append(f"PyTorch with {threads} threads: {note}")
    comparisons = [
        ratio("numpy", 2.0, "native fp32", "NumPy", "NumPy by hand"),
        ratio("pytorch", 3.5, "native fp32", best[every], "PyTorch"),
        ratio("pytorch1", 3.0, "native 1 thread", best[1], "PyTorch", threads=1),
        ratio("numpy1", None, "native 1 thread", "NumPy 1 thread", "NumPy by hand", threads=1),
        ratio("t2/t1", 1.85, "native 2 threads", "native 1 thread", "evener, 1 thread", threads=2),
        ratio("2x/t1", 1.7, "native 2 processes", "native 1 thread", "evener, 1 thread", 2, job=f"{JOB}, 2 processes"),
    ]
    if "native bf16" in rates:
        pair = ("native bf16", "native fp32", "evener, fp32")
        comparisons.append(ratio("bf16", 1.4, *pair, precision="bf16", against_precision="fp32"))
    if source != "MNIST":
        for comparison in comparisons:
            comparison.note = "made-up pixels of MNIST's shape"
    comparisons[1].notes += notes
    print(compare.table(comparisons, "against"), flush=True)
    one = fastest["native 1 thread"]
    print("fastest epochs of all rounds, where others on the machine disturbed least (not judged): " + ", ".join(
        f"{name} {1e3 * seconds:.0f} ms ({one / seconds:.2f} times 1 thread)" for name, seconds in fastest.items()), flush=True)  # fmt: skip
    return {
        "data": source,
        "epochs": epochs,
        "rates": rates,
        "last_train_loss": losses,
        "peak_rss_bytes": peaks,
        "fastest_epoch_s": fastest,
        "comparisons": [comparison.json() for comparison in comparisons],
    }


def make_data(folder):
    """The training part of MNIST from the folder that EVENER_MNIST names, or files of its shape."""
    folder.mkdir()
    given = os.environ.get("EVENER_MNIST")
    if not given:
        say("  EVENER_MNIST names no folder with MNIST: made-up pixels of the same shape, which cost the same")
        generator = random.Random(1)
        (folder / FILES[0]).write_bytes(struct.pack(">4i", 2051, IMAGES, 28, 28) + generator.randbytes(IMAGES * 784))
        labels = bytes(generator.choices(range(10), k=IMAGES))
        (folder / FILES[1]).write_bytes(struct.pack(">2i", 2049, IMAGES) + labels)
        return "made up"
    for name in FILES:
        plain, packed = pathlib.Path(given) / name, pathlib.Path(given) / f"{name}.gz"
        if not plain.exists() and not packed.exists():
            raise Failure(f"EVENER_MNIST is {given}, which has no {name} or {name}.gz ('evener data fetch mnist')")
        with open(plain, "rb") if plain.exists() else gzip.open(packed) as source, open(folder / name, "wb") as target:
            shutil.copyfileobj(source, target)
    return "MNIST"
