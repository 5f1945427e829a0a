"""From own photos to a network in use, with defaults alone: how right, how soon, in how much memory; and what comes after.

EVENER_ANTS_BEES names the photos (train/ and val/ with a folder for each class), EVENER_BCCD images with boxes (VOC's tree with a
part to test on), EVENER_MOBILENET_V2 the file of MobileNetV2's weights and EVENER_BACKBONE that of the detector's, where it is
another. Without them the published weights are fetched once. What isn't named isn't measured.
"""

import json
import os
import pathlib
import shutil
import statistics

from common import compare, environment
from common.context import Failure, say

TITLE = "Own photos: MobileNetV2 on folders of photos and SSDLite on images with boxes, no option but data and weights"
NEEDS_PEERS = False  # ONNX Runtime, in the other software's environment, is a step of the chain where it is there
THEME = "training"
ENVIRONMENT = {
    "EVENER_ANTS_BEES": "ants_bees/",
    "EVENER_MOBILENET_V2": "mobilenet_v2-b0353104.pth",
    "EVENER_BACKBONE": "backbone.pth",
    "EVENER_BCCD": "BCCD/",
}

SEEDS = (1, 2, 3, 4, 5)
ACCURACY_MEAN, ACCURACY_LEAST = 0.95, 0.93
SECONDS, BYTES = 60, 1.5e9  # of each training of a classifier
MAP_50, DETECTOR_SECONDS = 0.87, 480
PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff")


def run(context):
    photos, boxes = named("EVENER_ANTS_BEES"), named("EVENER_BCCD")
    weights = named("EVENER_MOBILENET_V2") or "imagenet"
    result = {"figures": []}
    with context.folder() as name:
        folder = pathlib.Path(name)
        if photos:
            result |= {"trainings": trainings(context, folder, photos, weights, result["figures"])}
            result |= {"chain": chain(context, folder, photos, result["figures"])}
        else:
            print("folders of photos: not measured, for EVENER_ANTS_BEES names none", flush=True)
        if boxes:
            backbone = named("EVENER_BACKBONE") or weights
            result |= {"detector": detector(context, folder, boxes, backbone, result["figures"])}
        else:
            print("images with boxes: not measured, for EVENER_BCCD names none", flush=True)
    return result


def named(variable):
    """What an environment variable names; None where there is none."""
    text = os.environ.get(variable)
    if not text:
        return None
    path = pathlib.Path(text).resolve()
    if not path.exists():
        raise Failure(f"{variable} is {text}, which does not exist")
    return path


def judged(figures, figure, is_met, text):
    """Says whether a figure meets its target, and keeps it."""
    figure.verdict = "met" if is_met else "missed"
    figures.append(figure.json())
    print(f"  {figure.job}: {text}: {figure.verdict}", flush=True)


def trainings(context, folder, photos, weights, figures):
    """A training for each seed, the first of which is gone on with."""
    results = []
    for seed in SEEDS[:1] if context.quick else SEEDS:
        context.rest()
        record = context.evener(
            *("train", "mobilenet_v2", "--data", photos, "--weights", weights, "--seed", seed),
            *("--out", folder / f"run-{seed}", "--json", "-", "--quiet"),
            *(("--epochs", 2) if context.quick else ()),
        )
        results.append(
            {
                "seed": seed,
                "accuracy": record["accuracy"]["val"],
                "images": record["data"]["split"]["val"],
                "seconds": record["times_s"]["total"],
                "peak_bytes": record["memory"]["peak_rss_bytes"],
                "notes": [reason["what"] for reason in record["validity"]["reasons"]],
            }
        )
        one = results[-1]
        was_busy = any(reason["rule"] == "other load" for reason in record["validity"]["reasons"])
        print(
            f"  seed {seed}: {round(one['accuracy'] * one['images'])} of {one['images']} right ({100 * one['accuracy']:.1f} %), "
            f"{one['seconds']:.0f} s, {one['peak_bytes'] / 1e9:.2f} GB"
            + (", while others used the machine" if was_busy else ""),
            flush=True,
        )
    accuracies, seconds, peaks = ([one[name] for one in results] for name in ("accuracy", "seconds", "peak_bytes"))
    mean, least = statistics.mean(accuracies), min(accuracies)

    def judge(what, value, unit, target, is_met, text, better="higher"):
        figure = compare.Figure(f"MobileNetV2 on photos of ants and bees, {what}", unit, value, target, better=better)
        judged(figures, figure, is_met, text)

    judge(f"mean accuracy of {len(results)}", 100 * mean, "%", 100 * ACCURACY_MEAN, mean >= ACCURACY_MEAN,
          f"{100 * mean:.1f} % (target {100 * ACCURACY_MEAN:.0f} %)")  # fmt: skip
    judge(f"least accuracy of {len(results)}", 100 * least, "%", 100 * ACCURACY_LEAST, least >= ACCURACY_LEAST,
          f"{100 * least:.1f} % (target {100 * ACCURACY_LEAST:.0f} %)")  # fmt: skip
    judge("longest training", max(seconds), "s", SECONDS, max(seconds) < SECONDS,
          f"{min(seconds):.0f} to {max(seconds):.0f} s (target below {SECONDS} s)", "lower")  # fmt: skip
    judge("peak memory", max(peaks) / 1e9, "GB", BYTES / 1e9, max(peaks) <= BYTES,
          f"{max(peaks) / 1e9:.2f} GB (target {BYTES / 1e9:.1f} GB)", "lower")  # fmt: skip
    return results


def chain(context, folder, photos, figures):
    """What comes after a training, step by step; ends with whether ONNX Runtime names the same classes as evener."""
    run, others, onnx = folder / f"run-{SEEDS[0]}", folder / "others", folder / "network.onnx"
    others.mkdir()
    for index, photo in enumerate(sorted(path for path in (photos / "val").rglob("*") if path.suffix.lower() in PICTURES)):
        shutil.copy(photo, others / f"{index:05}{photo.suffix}")
    if not any(others.iterdir()):
        raise Failure(f"{photos} has no photos in val/")
    steps = []

    def step(name, words, how):
        context.rest()
        code, seconds, output = how(*words)
        steps.append({"step": name, "seconds": seconds, "exit_code": code})
        print(f"  {name:<28}{seconds / 60:>7.2f} min   exit code {code}", flush=True)
        if code != 0:
            say("\n".join(output.strip().splitlines()[-5:]))
        return output if code == 0 else None

    step("share", ("share", run), context.timed_evener)
    step("infer --sort", ("infer", run, others, "--sort", folder / "sorted", "--quiet"), context.timed_evener)
    step("quantize", ("quantize", run, "--out", folder / "int8", "--quiet"), context.timed_evener)
    step("export --onnx", ("export", run, "--onnx", onnx), context.timed_evener)
    answers = step("infer", ("infer", run, others, "--format", "jsonl", "--quiet"), context.timed_evener)
    sorted_photos = sum(1 for path in (folder / "sorted").rglob("*") if path.is_file())
    print(f"  {sorted_photos} of {len(list(others.iterdir()))} photos sorted", flush=True)
    python = context.python or environment.installed_python(context.root)
    if python is None:
        print("  ONNX Runtime: not run, for it isn't installed (experiments with other software install it)", flush=True)
        return {"steps": steps, "sorted": sorted_photos, "same_classes": None}
    script = context.root / "bench" / "peers" / "own_photos_peers.py"
    words = (python, script, onnx, others, "--threads", context.threads)
    theirs = step("ONNX Runtime on the export", words, context.timed)
    if answers is None or theirs is None:
        return {"steps": steps, "sorted": sorted_photos, "same_classes": None}
    theirs = json.loads(theirs)["classes"]
    ours = {}
    for line in answers.splitlines():
        answer = json.loads(line)
        ours[pathlib.Path(answer["file"]).name] = answer["predictions"][0]["class"]
    same = sum(1 for photo, name in ours.items() if theirs.get(photo) == name)
    verdict = "met" if same == len(ours) == len(theirs) else "missed"
    figures.append(
        compare.Figure(
            "MobileNetV2 on photos of ants and bees, same class in ONNX Runtime", f"of {len(ours)}", same, len(ours), verdict
        ).json()
    )
    print(f"  ONNX Runtime names the class that evener does of {same} of {len(ours)} photos (target: all): {verdict}", flush=True)
    return {"steps": steps, "sorted": sorted_photos, "same_classes": same, "photos": len(ours), "verdict": verdict}


def detector(context, folder, boxes, weights, figures):
    """One training of a detector, judged by the part to test on."""
    context.rest()
    record = context.evener(
        *("train", "ssdlite_mobilenet_v2", "--data", boxes, "--weights", weights, "--seed", context.seed),
        *("--out", folder / "detector", "--json", "-", "--quiet"),
        *(("--epochs", 1) if context.quick else ()),
    )
    if "test_map_50" not in record["metrics"]:
        raise Failure(f"{boxes} has no part to test on: ImageSets/Main/test.txt of VOC's tree names it")
    found, seconds = record["metrics"]["test_map_50"]["value"], record["times_s"]["total"]
    print(f"  detector: {record['data']['split']['train']} images, {record['memory']['peak_rss_bytes'] / 1e9:.2f} GB", flush=True)
    judged(figures, compare.Figure("SSDLite on BCCD, mAP@0.5", "", found, MAP_50), found >= MAP_50,
           f"{found:.3f} on the test part (target {MAP_50})")  # fmt: skip
    minutes, most = seconds / 60, DETECTOR_SECONDS / 60
    judged(figures, compare.Figure("SSDLite on BCCD, training", "minutes", minutes, most, better="lower"), minutes <= most,
           f"{minutes:.1f} minutes (target {most:.0f})")  # fmt: skip
    return {
        "map_50": found,
        "map": record["metrics"]["test_map"]["value"],
        "seconds": seconds,
        "peak_bytes": record["memory"]["peak_rss_bytes"],
        "epochs": len(record["epochs"]),
        "notes": [reason["what"] for reason in record["validity"]["reasons"]],
    }
