"""ResNet-18 in fp32 by Winograd's convolutions, against OpenVINO, and ncnn, which has them too."""

from common import compare
from common.context import say

from . import inference

TITLE = "Inference of ResNet-18 at 224x224 in fp32 by --engine torch, whose convolutions are Winograd's"
NEEDS_PEERS = True
THEME = "inference"

NETWORK = "resnet18"
TARGETS = {"openvino": 1.25, "ncnn": 1.0}


def run(context):
    results = []
    with context.folder() as folder:
        onnx = f"{folder}/{NETWORK}.onnx"
        context.evener_text("export", NETWORK, "--onnx", onnx)
        batches = (16,) if context.quick else (1, 16)
        for batch in (batch for batch in batches if context.wants(inference.job(NETWORK, batch))):
            sides = {
                "evener": lambda b=batch: inference.our_rate(
                    context, NETWORK, b, "--precision", "fp32", "--engine", "torch"
                )
            }
            sides |= {
                software: lambda s=software, b=batch: inference.peer_rate(context, s, NETWORK, onnx, b, "fp32")
                for software in TARGETS
            }
            say(f"  {NETWORK}, batch {batch}")
            rates = compare.interleaved(context, "images/s", sides)
            for software, target in TARGETS.items():
                comparison = compare.of_rates(
                    *(f"batch {batch}", "images/s", target, rates["evener"], rates[software]),
                    job=f"{inference.job(NETWORK, batch)}, --engine torch",
                    against=inference.SOFTWARE[software],
                    precision="fp32",
                )
                print(compare.table([comparison], software), flush=True)
                results.append(comparison)
    return {"comparisons": [comparison.json() for comparison in results]}
