"""Running trained classifiers: images per second of the network alone, against OpenVINO's benchmark_app, ONNX Runtime,
PyTorch and ncnn."""

from common import compare, training
from common.context import say

TITLE = "Inference at 224x224 from memory: ResNet-18 and MobileNetV2"
NEEDS_PEERS = True
THEME = "inference"

# What the peer is and computes, and the least ratio: OpenVINO at our precision, the others at fp32 against our best. ncnn
# has no target: it is beside them for its Winograd convolutions.
SAME_PRECISION_TARGET = 0.97
BEST_PRECISION_TARGETS = {"onnxruntime": 1.7, "pytorch": 2.2, "ncnn": None}
SOFTWARE = {"openvino": "OpenVINO's benchmark_app", "onnxruntime": "ONNX Runtime", "pytorch": "PyTorch", "ncnn": "ncnn"}


def run(context):
    results = []
    with context.folder() as folder:
        for network in ("resnet18",) if context.quick else ("resnet18", "mobilenet_v2"):
            onnx = f"{folder}/{network}.onnx"
            context.evener_text("export", network, "--onnx", onnx)
            for batch in (16,) if context.quick else (1, 16):
                results += of_batch(context, network, onnx, batch)
    return {"comparisons": [comparison.json() for comparison in results]}


def job(network, batch):
    """What results/ calls it."""
    return f"{training.NAMES[network]} inference, 3x224x224, batch {batch}"


def seconds_of_a_run(context):
    return 1 if context.quick else 4


def our_rate(context, network, batch, *options, on=None):
    record = context.evener(
        *("infer", network, f"random:{4 * batch * context.threads}", "--batch", batch),
        *("--on", on or f"cpu/t{context.threads}"),
        *("--seconds", seconds_of_a_run(context), "--json", "-", "--quiet", *options),
    )
    return record["metrics"]["network_images_per_s"]["value"]


def peer_rate(context, software, network, onnx, batch, precision):
    words = ("--threads", context.threads, "--seconds", seconds_of_a_run(context))
    return context.peer(
        "inference_peers.py", software, network, onnx, "--batch", batch, "--precision", precision, *words
    )["images_per_s"]


def of_batch(context, network, onnx, batch):
    def ours(precision):
        return our_rate(context, network, batch, "--precision", precision)

    def peer(software, precision):
        return peer_rate(context, software, network, onnx, batch, precision)

    sides = {f"evener {precision}": lambda p=precision: ours(p) for precision in context.precisions}
    sides |= {f"openvino {precision}": lambda p=precision: peer("openvino", p) for precision in context.precisions}
    sides |= {software: lambda s=software: peer(s, "fp32") for software in BEST_PRECISION_TARGETS}
    if "bf16" in context.precisions:
        sides["pytorch bf16"] = lambda: peer("pytorch", "bf16")  # of the three it alone has it
    say(f"  {network}, batch {batch}")
    rates = compare.interleaved(context, "images/s", sides)
    best = rates[f"evener {context.precisions[-1]}"]
    comparisons = [
        compare.of_rates(
            f"{network} {batch} {precision}",
            "images/s",
            SAME_PRECISION_TARGET,
            rates[f"evener {precision}"],
            rates[f"openvino {precision}"],
            job=job(network, batch),
            against=SOFTWARE["openvino"],
            precision=precision,
        )
        for precision in context.precisions
    ]
    print(compare.table(comparisons, "benchmark_app"), flush=True)
    if "pytorch bf16" in rates:
        about = {"job": job(network, batch), "against": SOFTWARE["pytorch"], "precision": "bf16"}
        sides = (rates["evener bf16"], rates["pytorch bf16"])
        comparisons.append(compare.of_rates(f"{network} {batch} bf16", "images/s", None, *sides, **about))
        print(compare.table(comparisons[-1:], "pytorch bf16"), flush=True)
    for software, target in BEST_PRECISION_TARGETS.items():
        about = {"job": job(network, batch), "against": SOFTWARE[software], "against_precision": "fp32"}
        unequal = context.precision != "fp32"
        # Both at fp32, which has a target only where our best is fp32, too.
        if "fp32" in context.precisions:
            comparisons.append(
                compare.of_rates(
                    *(f"{network} {batch} fp32", "images/s", None if unequal else target, rates["evener fp32"], rates[software]),
                    precision="fp32",
                    **about,
                )
            )
            print(compare.table(comparisons[-1:], software), flush=True)
        if unequal:
            comparisons.append(
                compare.of_rates(f"{network} {batch}", "images/s", target, best, rates[software], precision=context.precision, **about)
            )
            print(compare.table(comparisons[-1:], f"{software} fp32"), flush=True)
    return comparisons
