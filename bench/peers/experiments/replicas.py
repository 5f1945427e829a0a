"""Equal replicas: two processes of one thread against one of two threads, and against PyTorch's DDP over Gloo."""

import statistics

from common import compare, training
from common.context import say

TITLE = "ResNet-34, input 1x148x197, batch 32: two replicas of one thread each, images/s of training steps"
NEEDS_PEERS = True
THEME = "replicas"

WORK = training.Work("resnet34", 1, 148, 197, batch=32, classes=9)


def run(context):
    steps = 3 if context.quick else WORK.steps

    def evener(on, *options):
        return lambda: training.evener(context, WORK, context.precision, steps, [], on=on, options=options)[0]

    def ddp():
        return context.rate(
            "pytorch_ddp.py",
            *("--model", WORK.model, "--classes", WORK.classes, "--input", "1x148x197", "--batch", WORK.batch),
            *("--warm-up", training.warm_up_of(steps), "--steps", steps, "--seed", context.seed),
            *("--precision", context.precision),
        )

    rates = compare.interleaved(
        context,
        "images/s",
        {
            "cpu/t2": evener("cpu/t2"),
            "2xcpu/t1, batch-norm local": evener("2xcpu/t1", "--batch-norm", "local"),
            "2xcpu/t1, batch-norm synchronised": evener("2xcpu/t1"),
            "PyTorch DDP, 2 processes": ddp,
        },
    )
    for name, values in rates.items():
        say(f"  {name}: {statistics.median(values):.2f} images/s")
    local, two_threads = rates["2xcpu/t1, batch-norm local"], rates["cpu/t2"]

    def ratio(label, target, ours, peer, against, job=f"{WORK.job}, two replicas"):
        about = {"job": job, "against": against, "precision": context.precision, "threads": 2}
        return compare.of_rates(label, "images/s", target, ours, peer, **about)

    synchronised = rates["2xcpu/t1, batch-norm synchronised"]
    comparisons = [
        ratio("2x/t2", 0.95, local, two_threads, "evener, one replica of 2 threads"),
        ratio("2x/DDP", 1.05, local, rates["PyTorch DDP, 2 processes"], "PyTorch DDP"),
        ratio(
            *("sync/loc", None, synchronised, local, "evener, local batch normalisation"),
            job=f"{WORK.job}, two replicas, synchronised",
        ),
    ]
    comparisons[0].notes.append("2x/t2: 2xcpu/t1 against cpu/t2, both evener")
    comparisons[1].notes.append("2x/DDP: 2xcpu/t1 against PyTorch's DistributedDataParallel over Gloo")
    comparisons[2].notes.append("sync/loc: what synchronised batch-norm costs; no target")
    print(compare.table(comparisons, "against"), flush=True)
    return {"steps": steps, "rates": rates, "comparisons": [comparison.json() for comparison in comparisons]}
