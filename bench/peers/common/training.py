"""Training steps of one network in evener and in Python PyTorch, in the memory layout that suits the latter best."""

from dataclasses import dataclass, field

from common import compare
from common.context import Failure, say

WARM_UP = 10  # steps; evener's record leaves out as many
LAYOUTS = ("channels_last", "contiguous")
NAMES = {
    "resnet18": "ResNet-18",
    "resnet20": "ResNet-20",
    "resnet34": "ResNet-34",
    "resnet50": "ResNet-50",
    "resnet56": "ResNet-56",
    "mobilenet_v2": "MobileNetV2",
    "ssdlite_mobilenet_v2": "SSDLite on MobileNetV2",
}


@dataclass
class Work:
    model: str
    channels: int
    height: int
    width: int
    batch: int
    classes: int
    steps: int = 10  # measured ones of a run: many short rounds say more than few long ones
    targets: dict = field(default_factory=lambda: {"fp32": 1.0, "bf16": 1.0})
    goals: dict = field(default_factory=dict)
    avx2_target: float | None = None  # evener held to AVX2 in fp32, against PyTorch with what there is; None = not measured
    data: str | None = None  # generated images with a class each, unless it is given
    optimiser: tuple = ("--lr", 0.01, "--momentum", 0.9)
    script: str = "pytorch_train.py"  # the other side
    script_options: tuple = ()

    @property
    def job(self):
        """What results/ calls it."""
        name = NAMES.get(self.model, self.model)
        return f"{name} training, {self.channels}x{self.height}x{self.width}, batch {self.batch}"


def run(context, work):
    """Compares in each precision that was asked for; prints a table, returns what goes into the JSON."""
    steps = 3 if context.quick else work.steps
    comparisons, layouts, memory = [], {}, {}
    for precision in context.precisions:
        layouts[precision], tried = best_layout(context, work, precision, 2 if context.quick else min(8, steps))
        layout, peaks = layouts[precision], {"ours": [], "peer": []}
        comparison = compare.rounds(
            context,
            precision,
            "images/s",
            work.targets[precision],
            ours=lambda: evener(context, work, precision, steps, peaks["ours"]),
            peer=lambda: pytorch(context, work, precision, layout, steps, peaks["peer"]),
            goal=work.goals.get(precision),
            job=work.job,
            against="PyTorch",
            precision=precision,
        )
        comparison.notes.insert(0, f"{precision}: PyTorch in {layout}, the better of " + ", ".join(tried))
        memory[precision] = peaks
        comparisons += [comparison, of_memory(work, precision, peaks)]
    if work.avx2_target and "fp32" in context.precisions:
        comparisons.append(
            compare.rounds(
                context,
                "fp32 avx2",
                "images/s",
                work.avx2_target,
                ours=lambda: evener(context, work, "fp32", steps, [], simd="avx2"),
                peer=lambda: pytorch(context, work, "fp32", layouts["fp32"], steps, []),
                job=f"{work.job}, held to AVX2",
                against="PyTorch",
                precision="fp32",
                note="PyTorch isn't held to AVX2",
            )
        )
    print(compare.table(comparisons, "pytorch 2.11"), flush=True)
    return {
        "layouts": layouts,
        "steps": steps,
        "peak_rss_bytes": memory,
        "comparisons": [comparison.json() for comparison in comparisons],
    }


def evener(context, work, precision, steps, peaks, on=None, options=(), cpu=None, simd=None):
    """Rate of one epoch's steps after the tenth, as in the record, and what the record remarks. `cpu`: the only one that
    it may use. `simd`: the widest instructions of its own kernels."""
    record = evener_record(context, work, precision, steps, on, options, cpu=cpu, simd=simd)
    peaks.append(record["memory"]["peak_rss_bytes"])
    return rate_of(record)


def rate_of(record):
    """images/s of a record of evener, and what it remarks on whether its times are valid."""
    if record.get("images_per_s") is None:
        reason = record.get("missing", {}).get("images_per_s", "no reason given")
        raise Failure(f"evener's record has no images_per_s: {reason}")
    validity = record.get("validity", {})
    notes = [] if validity.get("valid", True) else [f"INVALID: {reason.get('what', reason)}" for reason in validity["reasons"]]
    return record["images_per_s"], notes


def evener_record(context, work, precision, steps, on=None, options=(), **how):
    """What evener says of one epoch. `how`: as Context.evener() takes it."""
    with context.folder() as folder:
        return context.evener(
            *("train", work.model, "--data", work.data or f"synth:masks:{work.batch * (WARM_UP + steps)}", "--split", "100/0"),
            *("--size", f"{work.width}x{work.height}", "--channels", work.channels, "--batch", work.batch, "--epochs", 1),
            *("--on", on or f"cpu/t{context.threads}", "--precision", precision, *work.optimiser),
            *("--seed", context.seed, "--out", f"{folder}/run", "--json", "-", "--quiet", *options),
            **how,
        )


def pytorch(context, work, precision, layout, steps, peaks):
    result = context.peer(
        work.script,
        *work.script_options,
        *("--model", work.model, "--classes", work.classes, "--input", f"{work.channels}x{work.height}x{work.width}"),
        *("--batch", work.batch, "--precision", precision, "--layout", layout, "--threads", context.threads),
        *("--warm-up", 2 if context.quick else WARM_UP, "--steps", steps, "--seed", context.seed),
    )
    peaks.append(result["peak_rss_bytes"])
    return result["images_per_s"]


def best_layout(context, work, precision, steps):
    """The layout in which PyTorch is faster, from two shorter runs of each; and what was tried, as text."""
    rates = dict.fromkeys(LAYOUTS, 0.0)
    for layout in LAYOUTS * (1 if context.quick else 2):
        context.rest()
        rates[layout] = max(rates[layout], pytorch(context, work, precision, layout, steps, []))
        say(f"  {precision}: pytorch in {layout} {rates[layout]:.3g} images/s")
    return max(rates, key=rates.get), [f"{layout} {rate:.1f}" for layout, rate in rates.items()]


def of_memory(work, precision, peaks):
    """No more than PyTorch's is the target. Ours holds the data set too, the peer four batches."""
    ours, peer = ([value / 1e9 for value in peaks[side]] for side in ("ours", "peer"))
    return compare.of_rates(
        "GB", "GB", 1.0, ours, peer, job=f"{work.job}, peak memory", against="PyTorch", precision=precision, better="lower"
    )
