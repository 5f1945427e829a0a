"""A detector of another program: from memory against OpenVINO's benchmark_app and ONNX Runtime, and from files to boxes
against ONNX Runtime with the family's own preparation and decoding."""

import os
import pathlib
import shutil

from common import compare
from common.context import say

TITLE = "A detector of another program (YOLOX-Nano): images/s from memory, and from files to boxes"
NEEDS_PEERS = True
THEME = "faces"
ENVIRONMENT = {"EVENER_YOLOX": "yolox_nano.onnx", "EVENER_PHOTOS": "a:b"}

NETWORK_TARGET, FILES_TARGET = 1.0, 1.3
BATCHES = (1, 8)
SIDE = 416


def run(context):
    model = os.environ.get("EVENER_YOLOX")
    sources = [pathlib.Path(folder) for folder in os.environ.get("EVENER_PHOTOS", "").split(":") if folder]
    if not model or not sources:
        say("  left out: EVENER_YOLOX names no file of a YOLOX for 416x416 pixels, or EVENER_PHOTOS no folders of photos (a:b)")
        return {"comparisons": []}
    with context.folder() as folder:
        photos, one_round = copied(context, sources, pathlib.Path(folder) / "photos")
        context.evener_text(
            *("quantize", model, "--data", photos, "--images", 16 if context.quick else 300, "--seconds", 0.1),
            *("--on", f"cpu/t{context.threads}", "--out", f"{folder}/int8", "--quiet"),
        )
        comparisons = []
        for batch in BATCHES if context.wants("memory") else ():
            comparisons += from_memory(context, model, f"{folder}/int8", batch)
        for batch in BATCHES if context.wants("files") else ():
            comparisons += from_files(context, model, f"{folder}/int8", photos, one_round, batch)
    return {"comparisons": [one.json() for one in comparisons]}


def copied(context, sources, folder):
    """Copies the photos as often as evener works on for some seconds, for it reads each file once; and the names of those
    copied first, which are each photo once."""
    found = sorted(path for source in sources for path in source.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg", ".png"))
    folder.mkdir()
    names = []
    for i in range(len(found) * -(-(16 if context.quick else 256) // len(found))):
        photo = found[i % len(found)]
        names.append(folder / f"{i:04}{photo.suffix.lower()}")
        shutil.copyfile(photo, names[-1])
    return folder, names[: len(found)]


def detect(context, model, photos, batch):
    return context.evener(
        *("detect", model, photos, "--batch", batch, "--on", f"cpu/t{context.threads}", "--precision", "fp32"),
        *("--format", "none", "--json", "-", "--quiet"),
    )


def network_alone(context, model, batch):
    """From memory: the same network by evener infer, which measures it without reading."""
    record = context.evener(
        *("infer", model, f"random:{4 * batch * context.threads}", "--batch", batch, "--on", f"cpu/t{context.threads}"),
        *("--precision", "fp32", "--seconds", 1 if context.quick else 4, "--json", "-", "--quiet"),
    )
    return record["metrics"]["network_images_per_s"]["value"]


def from_memory(context, model, int8, batch):
    """ONNX Runtime is asked for single images alone, to which the file is fixed."""
    words = ("--batch", batch, "--size", SIDE, "--threads", context.threads, "--seconds", 1 if context.quick else 4)

    def peer(software, file):
        return lambda: context.rate("inference_peers.py", software, "yolox", file, *words)

    sides = {
        "fp32": lambda: network_alone(context, model, batch),
        "int8": lambda: network_alone(context, int8, batch),
        "OpenVINO": peer("openvino", model),
        "OpenVINO int8": peer("openvino", f"{int8}/quantized.xml"),
    }
    if batch == 1:
        sides["ONNX Runtime"] = peer("onnxruntime", model)
    rates = compare.interleaved(context, "images/s", sides)

    def against(name, precision, of_peer):
        about = {"job": f"YOLOX-Nano at {SIDE}x{SIDE} from memory, batch {batch}", "precision": precision, "against": name}
        ours = rates[precision]
        return compare.of_rates(f"{precision} {batch}", "images/s", NETWORK_TARGET, ours, rates[of_peer], **about)

    results = [against("OpenVINO", "fp32", "OpenVINO"), against("OpenVINO", "int8", "OpenVINO int8")]
    if batch == 1:
        results.append(against("ONNX Runtime", "fp32", "ONNX Runtime"))
    print(compare.table(results, "the peer"), flush=True)
    return results


def from_files(context, model, int8, photos, one_round, batch):
    """ONNX Runtime computes one image at a time, as the file is fixed to it; photos are prepared by threads meanwhile."""

    def peer():
        words = ("--family", "yolox", "--threads", context.threads, "--seconds", 1 if context.quick else 5)
        return context.rate("detector_peers.py", "rate", model, *one_round, *words)

    about = {"job": f"JPEG files to boxes, YOLOX-Nano at {SIDE}x{SIDE}, batch {batch}", "precision": "fp32"}
    sides = {
        "fp32": lambda: detect(context, model, photos, batch)["images_per_s"],
        "int8": lambda: detect(context, int8, photos, batch)["images_per_s"],
        "onnxruntime": peer,
    }
    rates = compare.interleaved(context, "images/s", sides)
    unit = "images/s"
    results = [
        compare.of_rates(f"files {batch}", unit, FILES_TARGET, rates["fp32"], rates["onnxruntime"], against="ONNX Runtime", **about),
        compare.of_rates(
            *(f"int8 {batch}", unit, None, rates["int8"], rates["fp32"]),
            **(about | {"against": "evener, fp32", "precision": "int8", "against_precision": "fp32"}),
        ),
    ]
    print(compare.table(results, "against"), flush=True)
    return results
