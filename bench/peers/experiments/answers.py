"""Whether evener, PyTorch and ONNX Runtime on the file that `evener export` wrote give the same answers in fp32."""

import json
import math

from common import compare

TITLE = "The answers of every network of the zoo at 128, 224 and 512 pixels: evener, PyTorch, ONNX Runtime on the export"
NEEDS_PEERS = True
THEME = "inference"

NETWORKS = ("resnet18", "resnet34", "resnet50", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0") + tuple(
    f"resnet{depth}" for depth in (20, 32, 44, 56)
)
DETECTORS = ("ssdlite320_mobilenet_v3_large",)  # torchvision has no other of ours
SIZES = (128, 224, 512)
TARGET = 1e-4  # the largest difference, of the largest answer


def run(context):
    networks, sizes = (("resnet18", "resnet20"), SIZES[:1]) if context.quick else (NETWORKS, SIZES)
    networks += DETECTORS
    print(f"{'network':<30}{'pixels':>7}{'PyTorch':>12}{'ONNX Runtime':>14}   target {TARGET:g}", flush=True)
    results = [of_network(context, network, size) for network in networks for size in sizes]
    return {"target": TARGET, "differences": results, "figures": [figure(results, side) for side in ("pytorch", "onnxruntime")]}


def figure(results, side):
    """The largest difference of all networks and sizes."""
    name = {"pytorch": "PyTorch", "onnxruntime": "ONNX Runtime on the export"}[side]
    largest = max(one[side] for one in results)
    verdict = "met" if largest <= TARGET else "missed"
    job = f"Largest difference of a prediction from {name}'s, {len({one['network'] for one in results})} networks"
    return compare.Figure(job, "of the largest value", largest, TARGET, verdict, better="lower", precision="fp32").json()


def of_network(context, network, size):
    """Differences from evener's answers."""
    with context.folder() as folder:
        words = ("--network", network, "--size", size, "--threads", context.threads)
        pytorch = context.peer("answers_peers.py", "pytorch", folder, *words)["answers"]
        model = (network, "--weights", f"{folder}/weights.pth", "--normalize", "imagenet", "--size", f"{size}x{size}")
        context.evener_text("export", *model, "--onnx", f"{folder}/model.onnx")
        if network in DETECTORS:  # whose raw outputs no command tells
            module = ("--module", context.root / "build" / "release" / "python")
            ours = context.peer("answers_peers.py", "evener", folder, *words, *module)["answers"]
        else:
            ours = {"output": evener(context, *model, f"{folder}/images.npy")}
        onnxruntime = context.peer("answers_peers.py", "onnxruntime", folder, "--threads", context.threads)["answers"]
    to_pytorch, to_onnxruntime = difference(ours, pytorch), difference(ours, onnxruntime)
    verdict = "met" if max(to_pytorch, to_onnxruntime) <= TARGET else "missed"
    print(f"{network:<30}{size:>7}{to_pytorch:>12.1e}{to_onnxruntime:>14.1e}   {verdict}", flush=True)
    return {"network": network, "size": size, "pytorch": to_pytorch, "onnxruntime": to_onnxruntime, "verdict": verdict}


def evener(context, *words):
    """The scores of each image, by class."""
    lines = context.evener_lines(
        *("infer", *words, "--precision", "fp32", "--on", f"cpu/t{context.threads}", "--topk", 1000000),
        *("--output-type", "logit", "--format", "jsonl", "--quiet"),
    )
    answers = []
    for line in lines:
        scores = {answer["index"]: answer["probability"] for answer in json.loads(line)["predictions"]}
        answers.append([scores[index] for index in range(len(scores))])
    return answers


def difference(ours, theirs):
    """The largest, of the largest answer of its output."""
    if ours.keys() != theirs.keys():
        return math.inf
    return max(largest_difference(numbers(ours[name]), numbers(theirs[name])) for name in ours)


def largest_difference(ours, theirs):
    if len(ours) != len(theirs):
        return math.inf
    return max(abs(a - b) for a, b in zip(ours, theirs)) / max(map(abs, theirs))


def numbers(answers):
    return [number for part in answers for number in numbers(part)] if isinstance(answers, list) else [answers]
