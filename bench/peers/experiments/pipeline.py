"""Layers divided over two stages of one thread each: against one thread, against two replicas, and against what the
simulation of the schedule says."""

import statistics

from common import compare, training
from common.context import say

TITLE = "ResNet-34 and an MLP, batch 64 in 8 micro-batches: two stages of one thread against one thread, images/s of training steps"
NEEDS_PEERS = False
THEME = "replicas"

WORKS = {
    "resnet34": training.Work("resnet34", 1, 96, 96, batch=64, classes=9, steps=10),
    "mlp": training.Work("mlp:784-1024-1024-1024-10", 1, 28, 28, batch=64, classes=10, steps=400, data="synth:digits:26240"),
}
JOBS = {"resnet34": "ResNet-34 training, 1x96x96, batch 64", "mlp": "MLP 784-1024-1024-1024-10 training, batch 64"}
OF_IDEAL = 0.9  # of 2 x one thread x (1 - simulated bubble)
OF_SIMULATION = 0.10  # that the measured bubble may lie beside the simulated one
OF_PREDICTION = 0.15  # that a stage's memory may lie beside the predicted one
STAGES = "cpu/t1..cpu/t1"
SCHEDULES = ("1f1b", "zero-bubble")


def metric(record, name):
    return record["metrics"][name]["value"]


def run(context):
    comparisons, report, remarks = [], {}, []
    for name, work in WORKS.items():
        steps, seen = 3 if context.quick else work.steps, {schedule: [] for schedule in SCHEDULES}

        def rate(on, *options, into=None):
            always = ("--batch-norm", "local", "--engine", "torch")
            record = training.evener_record(context, work, context.precision, steps, on, (*always, *options))
            measured, notes = training.rate_of(record)
            remarks.extend(f"{name}, {' '.join(map(str, (on, *options)))}: {note}" for note in notes)
            if into is not None:
                into.append(record)
            return measured

        sides = {"cpu/t1": lambda: rate("cpu/t1"), "2xcpu/t1": lambda: rate("2xcpu/t1")}
        for schedule in SCHEDULES:
            sides[schedule] = lambda schedule=schedule: rate(
                STAGES, "--micro-batches", 8, "--pipeline-schedule", schedule, into=seen[schedule]
            )
        rates = compare.interleaved(context, "images/s", sides)
        for schedule in SCHEDULES:
            comparisons.append(
                of_ideal(
                    *(f"{name} {schedule}", rates[schedule], rates["cpu/t1"], seen[schedule]),
                    job=f"{JOBS[name]}, two stages, {schedule}",
                    against="evener, cpu/t1",
                    precision=context.precision,
                )
            )
        comparisons.append(
            compare.of_rates(
                *(f"{name} 2x", "images/s", None, rates["2xcpu/t1"], rates["cpu/t1"]),
                job=f"{JOBS[name]}, two replicas",
                against="evener, cpu/t1",
                precision=context.precision,
            )
        )
        report[name] = {"steps": steps, "rates": rates, "stages": {s: told(name, s, seen[s]) for s in SCHEDULES}}
    comparisons[0].notes.append(
        f"ratios are to cpu/t1; the target is {OF_IDEAL} x 2 x (1 - simulated bubble); 2x: two replicas, no target"
    )
    comparisons[0].notes += remarks
    print(compare.table(comparisons, "cpu/t1"), flush=True)
    return {"works": report, "comparisons": [comparison.json() for comparison in comparisons]}


def of_ideal(label, ours, one_thread, records, **about):
    simulated = statistics.median(metric(record, "pipeline_bubble_simulated") for record in records)
    target = round(OF_IDEAL * 2 * (1 - simulated), 2)
    return compare.of_rates(label, "images/s", target, ours, one_thread, **about)


def told(name, schedule, records):
    """What the runs say of their bubbles and of each stage's memory; said, too."""
    pairs = [(metric(r, "pipeline_bubble"), metric(r, "pipeline_bubble_simulated")) for r in records]
    measured, simulated = (statistics.median(values) for values in zip(*pairs))
    off = abs(measured / simulated - 1)
    say(f"  {name} {schedule}: bubble {measured:.3f}, simulated {simulated:.3f}: {off:.0%} beside it "
        f"({'met' if off <= OF_SIMULATION else 'missed'} at {OF_SIMULATION:.0%})")  # fmt: skip
    stages = [
        {"measured_bytes": stage["memory_bytes"], "predicted_bytes": stage["predicted_memory_bytes"]}
        for stage in records[-1]["placement"]["replicas"][0]["stages"]
    ]
    for number, stage in enumerate(stages):
        ratio = stage["measured_bytes"] / stage["predicted_bytes"]
        say(f"  {name} {schedule}: stage {number} took {stage['measured_bytes'] / 1e6:.0f} MB, {ratio:.2f} of the prediction "
            f"({'met' if abs(ratio - 1) <= OF_PREDICTION else 'missed'} at {OF_PREDICTION:.0%})")  # fmt: skip
    return {"bubble": measured, "simulated_bubble": simulated, "memory": stages}
