"""The thesis's two questions to unequal and equal devices, asked of CPUs: which factor between the shares is best, and what
two devices bring when each gets as large a batch as one alone."""

import statistics

from common import compare, training
from common.context import say

TITLE = "ResNet-18, input 1x48x64: shares 4:1 to 32:1 with a device of an eighth of the speed; two devices, images/s"
NEEDS_PEERS = False
THEME = "replicas"

HELPED = "cpu/t1+cpu/t1@0.125"
FACTORS = (4, 8, 16, 32)
BATCH = 144  # whole shares of 8:1


def run(context):
    steps = 10 if context.quick else 20

    def rate(on, batch, *options):
        work = training.Work("resnet18", 1, 48, 64, batch=batch, classes=9)
        options = (*options, "--batch-norm", "local")
        return lambda: training.evener(context, work, context.precision, steps, [], on=on, options=options)[0]

    sides = {"cpu/t1 alone": rate("cpu/t1", BATCH), "measured shares": rate(HELPED, BATCH)}
    sides |= {f"shares {factor}:1": rate(HELPED, BATCH, "--shares", f"{factor}:1") for factor in FACTORS}
    for batch in (64, 128):
        sides[f"1 device, batch {batch}"] = rate("cpu/t1", batch)
        sides[f"2 devices, batch {batch} each"] = rate("2xcpu/t1", 2 * batch)
    rates = compare.interleaved(context, "images/s", sides)
    for name, values in rates.items():
        say(f"  {name}: {statistics.median(values):.1f} images/s")

    def against(label, target, ours, peer):
        about = {"job": f"ResNet-18 training, 1x48x64, {HELPED}, {ours}", "against": f"evener, {peer}"}
        if ours.startswith("2 devices"):
            about["job"] = f"ResNet-18 training, 1x48x64, {ours}"
        return compare.of_rates(label, "images/s", target, rates[ours], rates[peer], precision=context.precision, **about)

    best = max(FACTORS, key=lambda factor: statistics.median(rates[f"shares {factor}:1"]))
    comparisons = [
        against("measured", 0.97, "measured shares", f"shares {best}:1"),
        against("hybrid", 1.0, "measured shares", "cpu/t1 alone"),
        *(against(f"{factor}:1", None, f"shares {factor}:1", "cpu/t1 alone") for factor in FACTORS),
        *(against(f"2 x {b}", None, f"2 devices, batch {b} each", f"1 device, batch {b}") for b in (64, 128)),
    ]
    comparisons[0].notes.append(f"measured: shares by measured speed against the best fixed ones, {best}:1")
    comparisons[1].notes.append(f"hybrid: {HELPED} against cpu/t1 alone; 1.125 would be ideal")
    print(compare.table(comparisons, "against"), flush=True)
    return {"steps": steps, "rates": rates, "comparisons": [comparison.json() for comparison in comparisons]}
