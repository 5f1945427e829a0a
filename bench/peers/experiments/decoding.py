"""Reading, decoding and resizing JPEG files against torchvision's ImageFolder and DataLoader, on the same cores."""

from common import compare

TITLE = "JPEG files of 500x375 pixels brought to 3x224x224: images/s of reading, decoding and resizing, all cores"
NEEDS_PEERS = True
THEME = "reading"

SIZE = "224x224"
TARGETS = {"exact": 1.3, "fast": 2.0}


def run(context):
    images = 64 if context.quick else 500
    comparisons = []
    with context.folder() as folder:
        context.peer("pytorch_load.py", folder, "--make", images)
        evener_rate(context, folder, "exact")  # the files are in the page cache from here on
        for mode, target in TARGETS.items():
            comparisons.append(
                compare.rounds(
                    context,
                    mode,
                    "images/s",
                    target,
                    ours=lambda: evener_rate(context, folder, mode),
                    peer=lambda: context.rate("pytorch_load.py", folder, "--size", SIZE, "--workers", context.threads),
                    job="JPEG files of 500x375 read, decoded and resized to 224x224",
                    against="torchvision",
                    precision=f"{mode} decoding",
                    against_precision="exact decoding",
                )
            )
    print(compare.table(comparisons, "torchvision 0.26"), flush=True)
    return {"images": images, "comparisons": [comparison.json() for comparison in comparisons]}


def evener_rate(context, folder, mode):
    info = context.evener("data", "info", folder, "--size", SIZE, "--decode", mode, "--threads", context.threads, "--json", "-")
    return info["images"] / info["seconds"]
