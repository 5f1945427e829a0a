"""Reading images with PASCAL VOC's XML against a Python process pool with Pillow and ElementTree, on the same cores."""

import os
import pathlib

from common import compare

TITLE = "Images with VOC's XML brought to 3x224x224: images/s of reading, decoding and resizing, all cores"
NEEDS_PEERS = True
THEME = "reading"
ENVIRONMENT = {"EVENER_VOC": "voc/"}

SIZE = "224x224"
TARGETS = {"exact": 1.3, "fast": 2.0}
JOB = "Images with VOC's XML read, decoded and resized to 224x224"
SCALING = 1.8  # two workers against one


def run(context):
    with context.folder() as folder:
        data = given_data() or made_data(context, pathlib.Path(folder))
        evener_rate(context, data, "exact", context.threads)  # the files are in the page cache from here on
        comparisons = [
            compare.rounds(
                context,
                mode,
                "images/s",
                target,
                ours=lambda: evener_rate(context, data, mode, context.threads),
                peer=lambda: context.rate("voc_peers.py", data, "--size", SIZE, "--workers", context.threads),
                job=JOB,
                against="Pillow and ElementTree",
                precision=f"{mode} decoding",
                against_precision="exact decoding",
            )
            for mode, target in TARGETS.items()
        ]
        scaling = []
        if context.threads >= 2:
            scaling.append(
                compare.rounds(
                    context,
                    "two workers",
                    "images/s",
                    SCALING,
                    ours=lambda: evener_rate(context, data, "exact", 2),
                    peer=lambda: evener_rate(context, data, "exact", 1),
                    job=f"{JOB}, 2 workers",
                    against="evener, 1 worker",
                    precision="exact decoding",
                    threads=2,
                )
            )
    print(compare.table(comparisons, "Pillow and ElementTree"), flush=True)
    if scaling:
        print(compare.table(scaling, "one worker"), flush=True)
    return {"data": str(data), "comparisons": [comparison.json() for comparison in [*comparisons, *scaling]]}


def given_data():
    """The folder that EVENER_VOC names: JPEGImages/ and Annotations/, or several such trees in it."""
    named = os.environ.get("EVENER_VOC")
    return pathlib.Path(named).resolve() if named else None


def made_data(context, folder):
    context.peer("voc_peers.py", folder / "made", "--make", 64 if context.quick else 600)
    return folder / "made"


def evener_rate(context, data, mode, threads):
    info = context.evener("data", "info", data, "--size", SIZE, "--decode", mode, "--threads", threads, "--json", "-")
    return info["images"] / info["seconds"]
