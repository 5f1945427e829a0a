"""Training and inference on 1, 2, 4, ... cores of one machine, and with more threads than it has cores, beside PyTorch."""

import pathlib
import statistics

from common import compare, machine
from common.context import Failure, say

from . import neighbour

TITLE = "1, 2, 4, ... threads up to all cores, and beyond with --threads N: images/s of the same work"
NEEDS_PEERS = True
THEME = "replicas"

TOO_MANY_TARGET = 0.9  # of the speed with a thread for each core, with more threads than cores


def run(context):
    cores = machine.cores()
    if cores <= 2:
        say(f"  this machine has {cores} cores, on which there is little to see of scaling")
    rates, comparisons = {}, []
    with context.folder() as folder:
        for job in jobs(context, pathlib.Path(folder)):
            if context.wants(job.name):
                rates[job.name], found = of_job(context, job, cores)
                comparisons += found
    if not rates:
        raise Failure(f"no work has one of these words in its name: {', '.join(context.works)}")
    return {"rates": rates, "comparisons": [comparison.json() for comparison in comparisons]}


def jobs(context, folder):
    yield neighbour.perceptron_job(context, folder)
    yield neighbour.inference_job(context, folder)
    yield neighbour.training_job(context, f"ResNet-34 {context.precision}", neighbour.RESNET34, context.precision)
    yield neighbour.training_job(context, f"MobileNetV2 {context.precision}", neighbour.MOBILENET_V2, context.precision)


def numbers(threads, cores):
    """Powers of two below the most threads, these, and a thread for each core."""
    powers = [2**exponent for exponent in range(threads.bit_length())]
    return sorted({number for number in (*powers, cores, threads) if number <= threads})


def of_job(context, job, cores):
    every = numbers(context.threads, cores)
    sides = {}
    for number in every:
        sides[f"evener {number}"] = lambda n=number: job.ours(f"cpu/t{n}")
        sides[f"PyTorch {number}"] = lambda n=number: job.peer(n)
    say(f"  {job.name}")
    rates = compare.interleaved(context, "images/s", sides)
    print(f"{job.name}\n{table(rates, every)}", flush=True)

    def ratio(number, peer, against, target=None):
        words = "1 thread" if number == 1 else f"{number} threads"
        about = {"job": f"{job.work}, {words}", "against": against, "precision": job.precision, "threads": number}
        return compare.of_rates(f"{number}", "images/s", target, rates[f"evener {number}"], rates[peer], **about)

    comparisons = [ratio(number, f"PyTorch {number}", "PyTorch") for number in every]
    comparisons += [ratio(number, "evener 1", "evener, 1 thread") for number in every if number > 1]
    too_many = [number for number in every if number > cores >= 2 and cores in every]
    comparisons += [ratio(number, f"evener {cores}", f"evener, {cores} threads", TOO_MANY_TARGET) for number in too_many]
    print(compare.table(comparisons, "PyTorch, or fewer threads"), flush=True)
    return rates, comparisons


def table(rates, every):
    """Efficiency is the speed of one thread, by the number of threads."""
    lines = [f"{'threads':>7}{'evener':>12}{'efficiency':>12}{'PyTorch':>12}{'efficiency':>12}"]
    for number in every:
        line = f"{number:>7}"
        for side in ("evener", "PyTorch"):
            rate, one = (statistics.median(rates[f"{side} {count}"]) for count in (number, 1))
            line += f"{rate:>12.1f}{100 * rate / (number * one):>10.0f} %"
        lines.append(line)
    return "\n".join(lines)
