"""Int8 after training: ResNet-18's images per second against our bf16 and fp32, and against NNCF's on OpenVINO.

Weights and images are random: the speed is the same, and accuracy is another matter.
"""

from common import compare
from common.context import say

TITLE = "Int8 after training: ResNet-18 at 224x224"
NEEDS_PEERS = True

BATCH = 16
IMAGES, FEW_IMAGES = 300, 16  # that both calibrate with; the few to see that it runs
NNCF_TARGET, BF16_TARGET, FP32_TARGET = 0.97, 1.6, 3.0


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
            return context.peer("inference_peers.py", "openvino", "resnet18", nncf, *words, "--seconds", seconds)[
                "images_per_s"
            ]

        sides = {"evener int8": lambda: ours(f"{folder}/int8", context.precision), "nncf int8": peer}
        sides |= {f"evener {name}": lambda p=name: ours("resnet18", p) for name in context.precisions}
        rates = compare.interleaved(context, "images/s", sides)
    targets = {"nncf int8": NNCF_TARGET, "evener bf16": BF16_TARGET, "evener fp32": FP32_TARGET}
    results = []
    for other, target in targets.items():
        if other not in rates:
            continue
        results.append(compare.of_rates(f"int8 to {other}", "images/s", target, rates["evener int8"], rates[other]))
        print(compare.table([results[-1]], other), flush=True)
    return {"comparisons": [comparison.json() for comparison in results]}
