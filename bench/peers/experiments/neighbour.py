"""Work beside busy programs: what is left of the quiet speed, against one thread and against PyTorch beside the same; two
neighbours, one that comes and goes, and a quota of processor time."""

import contextlib
import os
import pathlib
import signal
import statistics
import subprocess
import uuid
from dataclasses import dataclass, replace
from typing import Callable

from common import compare, training
from common.context import Failure, say

from . import inference, mlp, ssdlite

TITLE = "All cores beside one busy loop, and beside others: images/s"
NEEDS_PEERS = True
THEME = "robustness"

LEFT, GOAL = 0.65, 0.72  # of the quiet speed beside one loop; two cores have 0.75
REPLICAS_LEFT = 0.6
OF_PEER = 2.0
OF_WHAT_IS_LEFT = 0.8  # beside other loads

BUSY = "while :; do :; done"
COMES_AND_GOES = f'while :; do timeout 1 sh -c "{BUSY}"; sleep 1; done'
RESNET34 = training.Work("resnet34", 1, 64, 64, batch=32, classes=9, steps=10)
MOBILENET_V2 = training.Work("mobilenet_v2", 3, 64, 64, batch=32, classes=9, steps=10)
EPOCHS = 2  # of the perceptron
LOADS = {
    "two": "beside two busy loops",
    "on/off": "beside a loop that comes and goes",
    "quota": "with a quota of half a CPU less",
}


@dataclass
class Job:
    name: str
    ours: Callable  # placement -> images/s
    peer: Callable  # number of threads -> images/s, in PyTorch
    replicas: bool = False  # also as a process for each core
    work: str = ""  # what results/ calls it
    precision: str = "fp32"


@contextlib.contextmanager
def neighbours(program, count=1):
    """`count` shells that run `program`."""
    shells = [subprocess.Popen(["sh", "-c", program], process_group=0) for _ in range(count)]
    try:
        yield
    finally:
        for shell in shells:
            os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()


@contextlib.contextmanager
def quota(cpus):
    """What to start a program with, so that it gets the time of `cpus` CPUs at most; None where no group can be made."""
    name = f"evener-bench-{uuid.uuid4().hex[:8]}"
    for root, write in (
        (pathlib.Path("/sys/fs/cgroup/cpu"), {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": f"{cpus * 100_000:.0f}"}),
        (pathlib.Path("/sys/fs/cgroup"), {"cpu.max": f"{cpus * 100_000:.0f} 100000"}),
    ):
        group = root / name
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            for file, text in write.items():
                (group / file).write_text(text)
        except OSError:
            group.rmdir()
            continue
        try:
            yield ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh")
        finally:
            group.rmdir()
        return
    yield None


def training_job(context, name, work, precision, replicas=False):
    steps = 3 if context.quick else work.steps
    return Job(
        name,
        lambda on: training.evener(context, work, precision, steps, [], on=on)[0],
        lambda threads: training.pytorch(context, work, precision, steps, [], threads=threads),
        replicas,
        work.job,
        precision,
    )


def inference_job(context, folder):
    onnx = f"{folder}/resnet18.onnx"
    context.evener_text("export", "resnet18", "--onnx", onnx)
    return Job(
        "ResNet-18 inference fp32",
        lambda on: inference.our_rate(context, "resnet18", 16, "--precision", "fp32", on=on),
        lambda threads: inference.peer_rate(context, "pytorch", "resnet18", onnx, 16, "fp32", inference.WAYS["compiled"], threads),
        work=inference.job("resnet18", 16),
    )


def perceptron_job(context, folder):
    mlp.make_data(folder / "mnist")
    work = ("--data", folder / "mnist", "--batch", mlp.BATCH, "--epochs", EPOCHS, "--lr", mlp.RATE, "--seed", context.seed)

    def ours(on):
        record = context.evener(
            *("train", mlp.MODEL, *work, "--split", "100/0", "--engine", "native", "--on", on),
            *("--out", f"{folder}/run", "--overwrite", "--json", "-", "--quiet"),
        )
        return mlp.IMAGES * EPOCHS / sum(epoch["seconds"] for epoch in record["epochs"])

    def peer(threads):
        words = ("--library", "pytorch", "--hidden", mlp.HIDDEN, "--threads", threads)
        return context.rate("mlp_train.py", *words, *work)

    return Job("MLP fp32", ours, peer, replicas=True, work=mlp.JOB)


def jobs(context, folder):
    cells = folder / "cells"
    detector = replace(ssdlite.WORK, data=str(cells), script_options=("--data", cells))
    ssdlite.make(context, cells)
    yield perceptron_job(context, folder)
    yield inference_job(context, folder)
    for precision in context.precisions:
        yield training_job(context, f"ResNet-34 {precision}", RESNET34, precision, replicas=True)
    yield training_job(context, f"MobileNetV2 {context.precision}", MOBILENET_V2, context.precision)
    yield training_job(context, "SSDLite fp32", detector, "fp32")


def beside_one_loop(context, job):
    every, processes = f"cpu/t{context.threads}", f"{context.threads}xcpu/t1"

    def beside(side, *words):
        with neighbours(BUSY):
            return side(*words)

    sides = {
        "quiet": lambda: job.ours(every),
        "busy": lambda: beside(job.ours, every),
        "one thread": lambda: beside(job.ours, "cpu/t1"),
        "PyTorch": lambda: beside(job.peer, context.threads),
    }
    if job.replicas:
        sides |= {"replicas quiet": lambda: job.ours(processes), "replicas": lambda: beside(job.ours, processes)}
    rates = compare.interleaved(context, "images/s", sides)
    say(f"  {job.name}: " + ", ".join(f"{name} {statistics.median(values):.2f}" for name, values in rates.items()))

    def ratio(label, target, ours, peer, against, of=job.work, goal=None):
        about = {"job": f"{of}, beside one busy loop", "against": against, "precision": job.precision}
        return compare.of_rates(label, "images/s", target, rates[ours], rates[peer], goal=goal, **about)

    comparisons = [
        ratio("left", LEFT, "busy", "quiet", "evener, quiet", goal=GOAL),
        ratio("/t1", 1.0, "busy", "one thread", "evener, cpu/t1 beside it"),
        ratio("/PyTorch", OF_PEER, "busy", "PyTorch", "PyTorch beside it"),
    ]
    if job.replicas:
        of = f"{job.work}, a process for each core"
        comparisons.append(ratio("replicas", REPLICAS_LEFT, "replicas", "replicas quiet", "evener, quiet", of=of))
    print(f"{job.name}\n{compare.table(comparisons, 'against')}", flush=True)
    return rates, comparisons


def whole_rate(context, on, under=()):
    """Of all images and all seconds: a median over steps would tell of one half of the time, if loads come and go."""
    steps = 3 if context.quick else RESNET34.steps
    epochs = training.evener_record(context, RESNET34, "fp32", steps, on, under=under)["epochs"]
    return len(epochs) * training.images_of(RESNET34, steps) / sum(epoch["seconds"] for epoch in epochs)


def beside_other_loads(context):
    """ResNet-34 in fp32, against the quiet speed of the same rounds."""
    every, cores = f"cpu/t{context.threads}", context.threads

    def beside(program, count=1):
        with neighbours(program, count):
            return whole_rate(context, every)

    def held(cpus):
        with quota(cpus) as under:
            return whole_rate(context, every, under)

    with quota(cores) as under:
        can_hold = under is not None
    # A loop takes half of one CPU from the thread that is there.
    sides = {
        "quiet": (1, lambda: whole_rate(context, every)),
        "two": (1 - 2 * 0.5 / cores, lambda: beside(BUSY, 2)),
        "on/off": (1 - 0.5 * 0.5 / cores, lambda: beside(COMES_AND_GOES)),
    }
    if can_hold:
        sides["quota"] = (1 - 0.5 / cores, lambda: held(cores - 0.5))
    else:
        say("  no group of processes can be made here, so no quota is tried")
    rates = compare.interleaved(context, "images/s", {name: side for name, (_, side) in sides.items()})
    comparisons = []
    for name, (left, _) in sides.items():
        if name == "quiet":
            continue
        comparisons.append(
            compare.of_rates(
                *(name, "images/s", round(OF_WHAT_IS_LEFT * left, 3), rates[name], rates["quiet"]),
                job=f"{RESNET34.job}, {LOADS[name]}",
                against="evener, quiet",
                precision="fp32",
            )
        )
        comparisons[-1].notes.append(f"{name}: {left:.3f} of the machine is left, the target is {OF_WHAT_IS_LEFT} of that")
    print("ResNet-34 fp32 beside other loads: two loops; one that comes and goes each second; a quota of half a CPU less\n"
          + compare.table(comparisons, "quiet"), flush=True)  # fmt: skip
    return rates, comparisons


def run(context):
    everything, comparisons = {}, {}
    with context.folder() as folder:
        for job in jobs(context, pathlib.Path(folder)):
            if context.wants(job.name):
                everything[job.name], comparisons[job.name] = beside_one_loop(context, job)
    if context.wants("other loads"):
        everything["other loads"], comparisons["other loads"] = beside_other_loads(context)
    if not everything:
        raise Failure(f"no work has one of these words in its name: {', '.join(context.works)}")
    print("left: beside the loop against the same on a quiet machine; /t1: against cpu/t1 beside it; /PyTorch: against that "
          "beside it; replicas: as left, of a process for each core", flush=True)  # fmt: skip
    return {
        "rates": everything,
        "comparisons": [{"work": name, **one.json()} for name, some in comparisons.items() for one in some],
    }
