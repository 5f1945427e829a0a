"""Unequal replicas: one core and a second that is slowed to F of its speed, against what both compute side by side."""

import concurrent.futures
import statistics

from common import compare, training

TITLE = "ResNet-34, input 1x148x197, batch 128: cpu/t1+cpu/t1@F, images/s of training steps"
NEEDS_PEERS = False
THEME = "replicas"

WORK = training.Work("resnet34", 1, 148, 197, batch=128, classes=9, steps=10)
FACTORS = (0.5, 0.25, 0.1)


def run(context):
    steps = 2 if context.quick else WORK.steps
    comparisons = []
    for factor in FACTORS:
        comparison = compare.rounds(
            context,
            f"F={factor}",
            "images/s",
            0.95,
            ours=lambda: together(context, factor, steps),
            peer=lambda: side_by_side(context, factor, steps),
            job=f"{WORK.job}, cpu/t1+cpu/t1@{factor}",
            against="evener, both replicas side by side",
            precision=context.precision,
        )
        comparison.notes.append(f"F={factor}: against both replicas as runs of their own at the same time, added up")
        comparisons.append(comparison)
    comparisons.append(hopeless(context))
    print(compare.table(comparisons, "against"), flush=True)
    return {"steps": steps, "comparisons": [comparison.json() for comparison in comparisons]}


def together(context, factor, steps):
    on = f"cpu/t1+cpu/t1@{factor}"
    return training.evener(context, WORK, context.precision, steps, [], on=on, options=("--batch-norm", "local"))[0]


def side_by_side(context, factor, steps):
    """Each with its share of the batch, so that their steps last equally long; on a core of its own."""
    slow = max(1, round(WORK.batch * factor / (1 + factor)))
    sizes = {"cpu/t1": WORK.batch - slow, f"cpu/t1@{factor}": slow}

    def rate(index, on, batch):
        work = training.Work("resnet34", 1, 148, 197, batch=batch, classes=9)
        return training.evener(context, work, context.precision, steps, [], on=on, cpu=index)[0]

    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = [pool.submit(rate, index, on, batch) for index, (on, batch) in enumerate(sizes.items())]
        return sum(run.result() for run in runs)


def hopeless(context):
    """F = 0.01 on a network whose steps are short enough to see the replica leave: not slower than without it."""
    work = training.Work("resnet18", 1, 48, 64, batch=128, classes=9)
    steps = 20 if context.quick else 60

    def rate(on):
        return training.evener(context, work, context.precision, steps, [], on=on)[0]

    comparison = compare.rounds(
        context,
        "F=0.01",
        "images/s",
        0.99,
        ours=lambda: rate("cpu/t1+cpu/t1@0.01"),
        peer=lambda: rate("cpu/t1"),
        job=f"{work.job}, cpu/t1+cpu/t1@0.01",
        against="evener, cpu/t1",
        precision=context.precision,
    )
    comparison.notes.append("F=0.01: ResNet-18 at 1x48x64, against cpu/t1 alone")
    return comparison
