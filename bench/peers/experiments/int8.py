"""Int8 after training: ResNet-18's images per second against our bf16 and fp32, and against NNCF's on OpenVINO.

Weights and images of ResNet-18 are random: the speed is the same. Accuracy is compared on ResNet-20, where EVENER_CIFAR10
names a folder with test/ (a folder for each class) and a training file (.bin.gz), and EVENER_RESNET20 its weights (.th).
"""

import os
import pathlib

from common import compare
from common.context import Failure, say

from . import inference

TITLE = "Int8 after training: ResNet-18 at 224x224"
NEEDS_PEERS = True
THEME = "quantisation"
ENVIRONMENT = {"EVENER_CIFAR10": "cifar10/", "EVENER_RESNET20": "resnet20.th"}

BATCH = 16
IMAGES, FEW_IMAGES = 300, 16  # that both calibrate with; the few to see that it runs
NNCF_TARGET, BF16_TARGET, FP32_TARGET = 1.0, 1.6, 3.0
AGAINST = {
    "nncf int8": ("OpenVINO with NNCF", "int8"),
    "evener bf16": ("evener, bf16", "bf16"),
    "evener fp32": ("evener, fp32", "fp32"),
}
ACCURACY_TARGET = -0.002  # against NNCF's, a share of the test images


def run(context):
    seconds, images = (1, FEW_IMAGES) if context.quick else (4, IMAGES)
    placement = f"cpu/t{context.threads}"
    with context.folder() as folder:
        say("  quantising with evener and with NNCF")
        onnx, nncf = f"{folder}/resnet18.onnx", f"{folder}/nncf.xml"
        context.evener_text("export", "resnet18", "--onnx", onnx)
        context.evener_text(
            *("quantize", "resnet18", "--data", f"random:{images}", "--images", images, "--on", placement),
            *("--seconds", 0.1, "--out", f"{folder}/int8", "--quiet"),
        )
        context.peer("int8_peers.py", onnx, nncf, "--images", images)

        def ours(model, precision):
            record = context.evener(
                *("infer", model, f"random:{4 * BATCH * context.threads}", "--batch", BATCH, "--on", placement),
                *("--precision", precision, "--seconds", seconds, "--json", "-", "--quiet"),
            )
            return record["metrics"]["network_images_per_s"]["value"]

        def peer():
            words = ("--batch", BATCH, "--precision", context.precision, "--threads", context.threads)
            return context.rate("inference_peers.py", "openvino", "resnet18", nncf, *words, "--seconds", seconds)

        sides = {"evener int8": lambda: ours(f"{folder}/int8", context.precision), "nncf int8": peer}
        sides |= {f"evener {name}": lambda p=name: ours("resnet18", p) for name in context.precisions}
        rates = compare.interleaved(context, "images/s", sides)
    targets = {"nncf int8": NNCF_TARGET, "evener bf16": BF16_TARGET, "evener fp32": FP32_TARGET}
    results = []
    for other, target in targets.items():
        if other not in rates:
            continue
        against, precision = AGAINST[other]
        results.append(
            compare.of_rates(
                *(f"int8 to {other}", "images/s", target, rates["evener int8"], rates[other]),
                job=inference.job("resnet18", BATCH),
                against=against,
                precision="int8",
                against_precision=precision,
            )
        )
        print(compare.table([results[-1]], other), flush=True)
    accuracy, figures = accuracies(context, images), []
    if accuracy:
        figures.append(
            compare.Figure(
                "ResNet-20 accuracy after PTQ, CIFAR-10, 300 images to calibrate",
                *("%", 100 * accuracy["evener int8"], None, accuracy["verdict"]),
                precision="int8",
                against="OpenVINO with NNCF",
                against_value=100 * accuracy["nncf int8"],
                note=f"the target is {-100 * ACCURACY_TARGET:g} points less at most; in float it is {100 * accuracy['float']:.2f} %",
            ).json()
        )
    return {"comparisons": [comparison.json() for comparison in results], "accuracy": accuracy, "figures": figures}


def accuracies(context, images):
    """Of ResNet-20 in float, quantised by evener, and by NNCF with the same calibration images; None without data."""
    data, weights = os.environ.get("EVENER_CIFAR10"), os.environ.get("EVENER_RESNET20")
    if not data or not weights:
        print("accuracy against NNCF's: not compared, for EVENER_CIFAR10 and EVENER_RESNET20 name no data", flush=True)
        return None
    test = pathlib.Path(data) / "test"
    training = next(pathlib.Path(data).glob("*.bin.gz"), None)
    if training is None or not test.is_dir():
        raise Failure(f"EVENER_CIFAR10 is {data}, which has no test/ or no training file (.bin.gz)")
    placement = f"cpu/t{context.threads}"
    with context.folder() as folder:
        onnx, nncf, labels = f"{folder}/resnet20.onnx", f"{folder}/nncf.xml", pathlib.Path(folder) / "labels.txt"
        labels.write_text("\n".join(sorted(path.name for path in test.iterdir())) + "\n", encoding="utf-8")
        model = ("resnet20", "--weights", weights)
        shown = ("--normalize", "imagenet", "--crop", "stretch")
        context.evener_text("export", *model, "--onnx", onnx)
        ours = context.evener(
            *("quantize", *model, *shown, "--data", test, "--calibration-data", training),
            *("--images", images, "--on", placement, "--seconds", 0.1, "--out", f"{folder}/int8"),
            *("--json", "-", "--quiet"),
        )["metrics"]
        context.peer("int8_peers.py", onnx, nncf, "--images", images, "--cifar", training)
        theirs = context.evener(
            *("infer", nncf, test, "--labels", labels, *shown, "--on", placement),
            *("--json", "-", "--quiet"),
        )["metrics"]
    found = {
        "float": ours["float_accuracy"]["value"],
        "evener int8": ours["accuracy"]["value"],
        "nncf int8": theirs["accuracy"]["value"],
    }
    difference = found["evener int8"] - found["nncf int8"]
    verdict = "met" if difference >= ACCURACY_TARGET else "missed"
    text = ", ".join(f"{name} {100 * value:.2f} %" for name, value in found.items())
    print(
        f"accuracy of ResNet-20: {text}; evener's is {100 * difference:+.2f} points of NNCF's "
        f"(target {100 * ACCURACY_TARGET:+.1f}): {verdict}",
        flush=True,
    )
    return {**found, "target": ACCURACY_TARGET, "verdict": verdict}
