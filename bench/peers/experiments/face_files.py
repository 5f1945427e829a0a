"""Faces found and embedded by two ONNX files, SCRFD and a network for faces, against ONNX Runtime with OpenCV on the same files."""

import os
import pathlib

from common import compare
from common.context import Failure

TITLE = "Faces on photos of about 1 megapixel by files: photos/s of reading, finding (SCRFD), turning upright and embedding"
NEEDS_PEERS = True
THEME = "faces"
ENVIRONMENT = {"EVENER_PHOTOS": "a:b", "EVENER_FACE_DETECTOR": "scrfd.onnx", "EVENER_FACE_EMBEDDER": "mobilefacenet.onnx"}

TARGET = 3.0
LEAST_OVERLAP = 0.99
LARGEST_SCORE_DIFFERENCE = 0.001
NORMALIZE = "0.5/0.502"
JOB = "Faces by two ONNX files (SCRFD, embedder), photos of 1 megapixel"


def run(context):
    sources = [pathlib.Path(folder) for folder in os.environ.get("EVENER_PHOTOS", "").split(":") if folder]
    detector, embedder = (os.environ.get(name) for name in ("EVENER_FACE_DETECTOR", "EVENER_FACE_EMBEDDER"))
    if not (sources and detector and embedder):
        raise Failure(
            "name folders with photos of faces in the environment variable EVENER_PHOTOS (a:b), an SCRFD file with points in "
            "EVENER_FACE_DETECTOR, and a network that embeds faces in EVENER_FACE_EMBEDDER (both .onnx)"
        )
    photos = 12 if context.quick else 100
    comparisons, figures = [], []
    with context.folder() as name:
        folder, out = pathlib.Path(name) / "photos", pathlib.Path(name) / "out"
        folder.mkdir()
        context.peer("faces_peers.py", folder, "--make", *sources, "--photos", photos)
        files = ("--detector", detector, "--embedder", embedder, "--normalize", NORMALIZE)

        def ours(precision):
            record = context.evener(
                *("faces", folder, *files, "--cut", "upright", "--on", f"cpu/t{context.threads}", "--precision", precision),
                *("--out", out, "--overwrite", "--quiet", "--json", "-"),
            )
            return record["images_per_s"]

        def theirs():
            return context.rate("face_files_peers.py", folder, *files, "--threads", context.threads, name="photos_per_s")

        for precision in context.precisions:
            ours(precision)  # compiled graphs are kept from here on
            same = context.peer("face_files_peers.py", folder, *files, "--compare", out / "faces.csv")
            figures += same_boxes(same, precision)
        sides = {precision: lambda p=precision: ours(p) for precision in context.precisions}
        rates = compare.interleaved(context, "photos/s", sides | {"ONNX Runtime": theirs})
    about = {"job": JOB, "precision": context.precision}
    if "fp32" in rates:  # the peer has no other precision on CPUs
        equal = about | {"against": "ONNX Runtime, OpenCV", "precision": "fp32"}
        comparisons.append(compare.of_rates("fp32", "photos/s", TARGET, rates["fp32"], rates["ONNX Runtime"], **equal))
    if len(context.precisions) > 1:
        own = about | {"against": "evener, fp32", "against_precision": "fp32"}
        comparisons.append(compare.of_rates(context.precision, "photos/s", None, rates[context.precision], rates["fp32"], **own))
    print(compare.table(comparisons, "against"), flush=True)
    return {
        "photos": photos,
        "comparisons": [comparison.json() for comparison in comparisons],
        "figures": [figure.json() for figure in figures],
    }


def same_boxes(same, precision):
    """How far the faces are from the peer's."""
    figures = []
    for what, key, unit, target, better in (
        ("least overlap of a face with the peer's", "least_overlap", "IoU", LEAST_OVERLAP, "higher"),
        ("largest difference of a score", "score_difference", "", LARGEST_SCORE_DIFFERENCE, "lower"),
        ("photos with another number of faces", "photos_with_others", "photos", 0, "lower"),
    ):
        value = same[key]
        met = value >= target if better == "higher" else value <= target
        print(f"{precision}: {what} {value:.5g}, target {target}: {'met' if met else 'missed'}", flush=True)
        figures.append(
            compare.Figure(f"{JOB}: {what}", unit, value, target, "met" if met else "missed", better=better, precision=precision)
        )
    return figures
