"""Faces from photos of about one megapixel against facenet-pytorch: found by MTCNN, embedded by InceptionResnetV1."""

import os
import pathlib

from common import compare
from common.context import Failure

TITLE = "Faces on photos of about 1 megapixel: photos/s of reading, finding (MTCNN) and embedding (InceptionResnetV1)"
NEEDS_PEERS = True
THEME = "faces"
ENVIRONMENT = {"EVENER_PHOTOS": "a:b"}

TARGET, GOAL = 5.0, 8.0
WORKERS_TARGET = 1.8
TOGETHER = (1, 8)  # photos that facenet-pytorch is given in one call
JOB = "Faces found and embedded, photos of 1 megapixel"


def run(context):
    sources = [pathlib.Path(folder) for folder in os.environ.get("EVENER_PHOTOS", "").split(":") if folder]
    if not sources:
        raise Failure("name folders with photos of faces in the environment variable EVENER_PHOTOS (a:b)")
    photos = 12 if context.quick else 48
    comparisons = []
    with context.folder() as name:
        folder = pathlib.Path(name) / "photos"
        weights = pathlib.Path(name) / "mtcnn"
        folder.mkdir()
        context.peer("faces_peers.py", folder, "--make", *sources, "--photos", photos, "--weights", weights)

        def ours(threads, precision):
            out = pathlib.Path(name) / "out"
            record = context.evener(
                *("faces", folder, "--detector-weights", weights, "--on", f"cpu/t{threads}", "--precision", precision),
                *("--out", out, "--overwrite", "--quiet", "--json", "-"),
            )
            return record["images_per_s"]

        def theirs(together, precision):
            words = ("--together", together, "--precision", precision, "--threads", context.threads)
            return context.rate("faces_peers.py", folder, *words, name="photos_per_s")

        ours(context.threads, context.precision)  # compiled graphs are kept from here on
        for precision in context.precisions:
            comparisons.append(against_facenet(context, precision, ours, theirs))
        print(compare.table(comparisons, "facenet-pytorch 2.6"), flush=True)
        workers = compare.rounds(
            context,
            "workers",
            "photos/s",
            WORKERS_TARGET,
            ours=lambda: ours(2, context.precision),
            peer=lambda: ours(1, context.precision),
            job=f"{JOB}, 2 workers",
            against="evener, 1 worker",
            precision=context.precision,
            threads=2,
        )
        print(compare.table([workers], "1 worker"), flush=True)
    comparisons.append(workers)
    return {"photos": photos, "comparisons": [comparison.json() for comparison in comparisons]}


def against_facenet(context, precision, ours, theirs):
    """Both sides find faces in fp32 always, and embed them in `precision`."""
    ways = {f"{count} photos together" if count > 1 else "photo by photo": count for count in TOGETHER}
    sides = {"evener": lambda: ours(context.threads, precision)}
    sides |= {way: lambda count=count: theirs(count, precision) for way, count in ways.items()}
    rates = compare.interleaved(context, "photos/s", sides, ways=[list(ways)])
    best, note = compare.better(rates, {way: way for way in ways})
    comparison = compare.of_rates(
        *(precision, "photos/s", TARGET, rates["evener"], rates[best]),
        goal=GOAL,
        job=JOB,
        against="facenet-pytorch",
        precision=precision,
        note="" if precision == "fp32" else f"both find faces in fp32 and embed them in {precision}",
    )
    comparison.notes.append(f"{precision}: facenet-pytorch {note}")
    return comparison
