"""Running trained classifiers: images per second of the network alone, against OpenVINO's benchmark_app, ONNX Runtime,
PyTorch and ncnn, each at our precision."""

from common import compare, environment, training
from common.context import say

TITLE = "Inference at 224x224 from memory: ResNet-18 and MobileNetV2"
NEEDS_PEERS = True
THEME = "inference"

# Least ratios at equal precisions. ncnn has none: it is beside the others for its Winograd convolutions.
TARGETS = {"openvino": 0.97, "onnxruntime": None, "pytorch": None, "ncnn": None}
SOFTWARE = {"openvino": "OpenVINO's benchmark_app", "onnxruntime": "ONNX Runtime", "pytorch": "PyTorch", "ncnn": "ncnn"}
WITH_BF16 = ("openvino", "pytorch")  # of whom the others have fp32 alone on these processors
# In what ways PyTorch is used, and the options of its script; zentorch is AMD's.
WAYS = {"eager": (), "compiled": ("--compile",)}
ZENTORCH = {"compiled by zentorch": ("--compile", "--backend", "zentorch")}


def run(context):
    results = []
    with context.folder() as folder:
        for network in ("resnet18",) if context.quick else ("resnet18", "mobilenet_v2"):
            onnx = f"{folder}/{network}.onnx"
            context.evener_text("export", network, "--onnx", onnx)
            for batch in (16,) if context.quick else (1, 16):
                if context.wants(job(network, batch)):
                    results += of_batch(context, network, onnx, batch)
    return {"comparisons": [comparison.json() for comparison in results]}


def job(network, batch):
    """What results/ calls it."""
    return f"{training.NAMES[network]} inference, 3x224x224, batch {batch}"


def seconds_of_a_run(context):
    return 1 if context.quick else 2


def our_rate(context, network, batch, *options, on=None):
    record = context.evener(
        *("infer", network, f"random:{4 * batch * context.threads}", "--batch", batch),
        *("--on", on or f"cpu/t{context.threads}"),
        *("--seconds", seconds_of_a_run(context), "--json", "-", "--quiet", *options),
    )
    return record["metrics"]["network_images_per_s"]["value"]


def peer_rate(context, software, network, onnx, batch, precision, way=(), threads=None):
    words = ("--threads", threads or context.threads, "--seconds", seconds_of_a_run(context), *way)
    return context.rate("inference_peers.py", software, network, onnx, "--batch", batch, "--precision", precision, *words)


def ways_of_pytorch(context):
    return WAYS | (ZENTORCH if environment.has_zentorch(context.python) else {})


def of_batch(context, network, onnx, batch):
    sides, ways = {}, {}
    for precision in context.precisions:
        sides[f"evener {precision}"] = lambda p=precision: our_rate(context, network, batch, "--precision", p)
        for software in TARGETS:
            if precision == "fp32" or software in WITH_BF16:
                several = ways_of_pytorch(context) if software == "pytorch" else {"": ()}
                ways[software, precision] = {way: f"{software} {precision} {way}".rstrip() for way in several}
                sides |= {
                    f"{software} {precision} {way}".rstrip(): lambda s=software, p=precision, w=words: peer_rate(
                        context, s, network, onnx, batch, p, w
                    )
                    for way, words in several.items()
                }
    say(f"  {network}, batch {batch}")
    rates = compare.interleaved(context, "images/s", sides, ways=[list(names.values()) for names in ways.values()])
    comparisons = []
    for (software, precision), names in ways.items():
        best, note = compare.better(rates, names)
        comparison = compare.of_rates(
            *(f"{network} {batch} {precision}", "images/s", TARGETS[software], rates[f"evener {precision}"], rates[names[best]]),
            job=job(network, batch),
            against=SOFTWARE[software],
            precision=precision,
        )
        if len(names) > 1:
            comparison.notes.append(note)
        if "bf16" in context.precisions and software not in WITH_BF16:
            comparison.note = "the peer has no bf16 on this processor"
        print(compare.table([comparison], software), flush=True)
        comparisons.append(comparison)
    return comparisons
