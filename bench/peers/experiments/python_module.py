"""What asking from Python costs: a loaded network in a loop against `evener infer`, images in memory on both sides."""

from common import compare

from . import inference

TITLE = "Inference from Python, evener.load(...)(images) in a loop, against evener infer: 224x224, batches of 16"
NEEDS_PEERS = False
THEME = "inference"

BATCH = 16
TARGET = 0.97
# Of a call: one batch, or many.
IMAGES = (BATCH, 16 * BATCH)


def run(context):
    comparisons = []
    for network in ("resnet18",) if context.quick else ("resnet18", "mobilenet_v2"):
        for precision in context.precisions:
            for images in IMAGES:
                comparisons.append(of_call(context, network, precision, images))
                print(compare.table(comparisons[-1:], "evener infer"), flush=True)
    return {"comparisons": [comparison.json() for comparison in comparisons]}


def of_call(context, network, precision, images):
    words = ("--batch", BATCH, "--precision", precision, "--on", f"cpu/t{context.threads}")
    seconds = ("--seconds", inference.seconds_of_a_run(context))
    return compare.rounds(
        context,
        f"{network} {precision}, {images} images a call",
        "images/s",
        TARGET,
        ours=lambda: context.module("python_module.py", network, "--images", images, *words, *seconds)["images_per_s"],
        peer=lambda: inference.our_rate(context, network, BATCH, "--precision", precision),
        job=f"{inference.job(network, BATCH)}, from Python, {images} images a call",
        against="evener infer",
        precision=precision,
    )
