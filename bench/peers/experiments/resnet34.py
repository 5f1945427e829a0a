"""Training steps of ResNet-34 on grey fish-like masks against Python PyTorch, in the memory layout that suits it best."""

from common import compare
from common.context import Failure, say

TITLE = "ResNet-34, 9 classes, input 1x148x197, batch 32: images/s of training steps, all cores"
NEEDS_PEERS = True

BATCH, CLASSES, WIDTH, HEIGHT = 32, 9, 197, 148
WARM_UP = 10  # evener's record leaves out as many
LAYOUTS = ("channels_last", "contiguous")
TARGET = 1.0


def run(context):
    steps = 3 if context.quick else 20
    comparisons, layouts = [], {}
    for precision in ("fp32", "bf16"):
        layouts[precision], tried = best_layout(context, precision, 2 if context.quick else 8)
        layout = layouts[precision]
        comparison = compare.rounds(
            context,
            precision,
            "images/s",
            TARGET,
            ours=lambda: evener_rate(context, precision, steps),
            peer=lambda: pytorch(context, precision, layout, steps)["images_per_s"],
        )
        comparison.notes.insert(0, f"{precision}: PyTorch in {layout}, the better of " + ", ".join(tried))
        comparisons.append(comparison)
    print(compare.table(comparisons, "pytorch 2.11"), flush=True)
    return {"layouts": layouts, "steps": steps, "comparisons": [comparison.json() for comparison in comparisons]}


def evener_rate(context, precision, steps):
    """Rate of one epoch's steps after the tenth, as in the record, and what the record remarks."""
    with context.folder() as folder:
        record = context.evener(
            *("train", "resnet34", "--data", f"synth:masks:{BATCH * (WARM_UP + steps)}", "--split", "100/0"),
            *("--size", f"{WIDTH}x{HEIGHT}", "--channels", 1, "--batch", BATCH, "--epochs", 1),
            *("--on", f"cpu/t{context.threads}", "--precision", precision, "--lr", 0.01, "--momentum", 0.9),
            *("--seed", context.seed, "--out", f"{folder}/run", "--json", "-", "--quiet"),
        )
    if record.get("images_per_s") is None:
        reason = record.get("missing", {}).get("images_per_s", "no reason given")
        raise Failure(f"evener's record has no images_per_s: {reason}")
    validity = record.get("validity", {})
    notes = [] if validity.get("valid", True) else [f"INVALID: {reason.get('what', reason)}" for reason in validity["reasons"]]
    return record["images_per_s"], notes


def pytorch(context, precision, layout, steps):
    return context.peer(
        "pytorch_train.py",
        *("--model", "resnet34", "--classes", CLASSES, "--input", f"1x{HEIGHT}x{WIDTH}", "--batch", BATCH),
        *("--precision", precision, "--layout", layout, "--threads", context.threads),
        *("--warm-up", 2 if context.quick else WARM_UP, "--steps", steps, "--seed", context.seed),
    )


def best_layout(context, precision, steps):
    """The layout in which PyTorch is faster, from two shorter runs of each; and what was tried, as text."""
    rates = dict.fromkeys(LAYOUTS, 0.0)
    for layout in LAYOUTS * (1 if context.quick else 2):
        context.rest()
        rates[layout] = max(rates[layout], pytorch(context, precision, layout, steps)["images_per_s"])
        say(f"  {precision}: pytorch in {layout} {rates[layout]:.3g} images/s")
    return max(rates, key=rates.get), [f"{layout} {rate:.1f}" for layout, rate in rates.items()]
