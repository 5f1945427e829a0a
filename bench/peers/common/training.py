"""Training steps of one network in evener and in Python PyTorch, in the way that suits the latter best."""

from dataclasses import dataclass, field

from common import compare, machine
from common.context import Failure, measured, say

WARM_UP = 10  # steps; evener's record leaves out as many of a single epoch, and the first one of several
# In what ways PyTorch is used, and the options of its script. What torch.compile makes chooses its layouts itself.
WAYS = {
    "eager": ("--layout", "channels_last"),
    "eager, contiguous": ("--layout", "contiguous"),
    "compiled": ("--layout", "channels_last", "--compile"),
}
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
    steps: int = 4  # measured ones of a run, behind as many to warm up: many short rounds say more than few long ones
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


def warm_up_of(steps):
    return min(WARM_UP, steps)


def epochs_of(steps):
    """One with its first steps left out, or two, if few steps are measured; the first is left out of them."""
    return 2 if steps < WARM_UP else 1


def images_of(work, steps):
    """In the data set."""
    return work.batch * (warm_up_of(steps) + steps) // epochs_of(steps)


def run(context, work):
    """Compares in each precision that was asked for; prints a table, returns what goes into the JSON."""
    steps = 3 if context.quick else work.steps
    comparisons, rates = [], {}
    for precision in context.precisions:
        say(f"  {work.model} {precision}")
        rates[precision], found = of_precision(context, work, precision, steps)
        comparisons += found
    print(compare.table(comparisons, "PyTorch"), flush=True)
    return {"steps": steps, "rates": rates, "comparisons": [comparison.json() for comparison in comparisons]}


def of_precision(context, work, precision, steps):
    """All rates, and the comparisons of speed and memory with PyTorch in the way that is its fastest."""
    ways = {way: f"PyTorch {way}" for way in WAYS}
    peaks = {name: [] for name in ("evener", "evener avx2", *ways.values())}
    remarks, busy = [], []

    def ours(name, **how):
        rate, notes = evener(context, work, precision, steps, peaks[name], **how)
        remarks.extend(f"{name}: {note}" for note in notes)
        return rate

    sides = {"evener": lambda: ours("evener")}
    if work.avx2_target and precision == "fp32" and machine.has_avx512():  # elsewhere nothing else is there
        sides["evener avx2"] = lambda: ours("evener avx2", simd="avx2")
    sides |= {name: lambda n=name, way=way: pytorch(context, work, precision, steps, peaks[n], WAYS[way]) for way, name in ways.items()}
    rates = compare.interleaved(context, "images/s", sides, ways=[list(ways.values())], busy=busy)
    best, note = compare.better(rates, ways)
    about = {"against": "PyTorch", "precision": precision}
    speed = compare.of_rates(
        *(precision, "images/s", work.targets[precision], rates["evener"], rates[ways[best]]),
        goal=work.goals.get(precision),
        job=work.job,
        **about,
    )
    speed.notes += [f"{precision}: PyTorch {note}", *remarks]
    speed.busy = busy
    ours_gb, peer_gb = ([value / 1e9 for value in peaks[name]] for name in ("evener", ways[best]))
    # Ours holds the data set too, the peer four batches.
    memory = compare.of_rates("GB", "GB", 1.0, ours_gb, peer_gb, job=f"{work.job}, peak memory", better="lower", **about)
    memory.peer_version, memory.settings = speed.peer_version, speed.settings
    found = [speed, memory]
    if "evener avx2" in rates:
        about |= {"job": f"{work.job}, held to AVX2", "note": "PyTorch isn't held to AVX2"}
        found.append(compare.of_rates("fp32 avx2", "images/s", work.avx2_target, rates["evener avx2"], rates[ways[best]], **about))
    return rates, found


def evener(context, work, precision, steps, peaks, on=None, options=(), cpu=None, simd=None):
    """Rate of the measured steps, as in the record, and what the record remarks. `cpu`: the only one that it may use. `simd`:
    the widest instructions of its own kernels."""
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
    """What evener says of the steps. `how`: as Context.evener() takes it."""
    with context.folder() as folder:
        return context.evener(
            *("train", work.model, "--data", work.data or f"synth:masks:{images_of(work, steps)}", "--split", "100/0"),
            *("--size", f"{work.width}x{work.height}", "--channels", work.channels, "--batch", work.batch, "--epochs", epochs_of(steps)),
            *("--on", on or f"cpu/t{context.threads}", "--precision", precision, *work.optimiser),
            *("--seed", context.seed, "--out", f"{folder}/run", "--json", "-", "--quiet", *options),
            **how,
        )


def pytorch(context, work, precision, steps, peaks, way=WAYS["eager"], threads=None):
    """Rate of PyTorch's steps. `way`: one of WAYS's options."""
    result = context.peer(
        work.script,
        *work.script_options,
        *("--model", work.model, "--classes", work.classes, "--input", f"{work.channels}x{work.height}x{work.width}"),
        *("--batch", work.batch, "--precision", precision, "--threads", threads or context.threads, *way),
        *("--warm-up", warm_up_of(steps), "--steps", steps, "--seed", context.seed),
    )
    peaks.append(result["peak_rss_bytes"])
    return measured(result)
