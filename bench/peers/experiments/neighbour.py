"""Training beside a busy program: what is left of the quiet speed, against one thread and against PyTorch beside the same."""

import contextlib
import statistics
import subprocess

from common import compare, training
from common.context import say

TITLE = "ResNet-34, input 1x148x197, batch 32, all cores, beside one busy loop: images/s of training steps"
NEEDS_PEERS = True

WORK = training.Work("resnet34", 1, 148, 197, batch=32, classes=9)


@contextlib.contextmanager
def neighbour():
    """A program that would use a whole CPU all the time."""
    loop = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        yield
    finally:
        loop.kill()
        loop.wait()


def run(context):
    steps = 3 if context.quick else WORK.steps
    everything, comparisons = {}, []
    for precision in context.precisions:

        def evener(on, precision=precision):
            return training.evener(context, WORK, precision, steps, [], on=on)[0]

        def beside(side):
            with neighbour():
                return side()

        def pytorch(precision=precision):
            return training.pytorch(context, WORK, precision, "channels_last", steps, [])

        every = f"cpu/t{context.threads}"
        rates = compare.interleaved(
            context,
            "images/s",
            {
                "quiet": lambda: evener(every),
                "busy": lambda: beside(lambda: evener(every)),
                "busy, cpu/t1": lambda: beside(lambda: evener("cpu/t1")),
                "busy, PyTorch": lambda: beside(pytorch),
            },
        )
        for name, values in rates.items():
            say(f"  {precision}, {name}: {statistics.median(values):.2f} images/s")
        everything[precision] = rates
        comparisons += [
            compare.of_rates(f"{precision} left", "images/s", 0.65, rates["busy"], rates["quiet"]),
            compare.of_rates(f"{precision} /t1", "images/s", 1.0, rates["busy"], rates["busy, cpu/t1"]),
            compare.of_rates(f"{precision} /PT", "images/s", 2.0, rates["busy"], rates["busy, PyTorch"]),
        ]
    comparisons[0].notes.append("left: beside the neighbour against the same on a quiet machine, both evener")
    comparisons[0].notes.append("/t1: against cpu/t1 beside the neighbour; /PT: against PyTorch beside it")
    print(compare.table(comparisons, "against"), flush=True)
    return {"steps": steps, "rates": everything, "comparisons": [comparison.json() for comparison in comparisons]}
