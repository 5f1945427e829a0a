#!/usr/bin/env python3
"""Compares what evener and PyTorch make of the same weights on the same images: correct answers and summed loss.

    python tests/golden/check_weights.py --evener build/release/bin/evener --data FOLDER resnet20=FILE.th resnet56=FILE.th

FOLDER has test/CLASS/*.jpg|png of 32x32. Both normalise by ImageNet's mean and standard deviation. The summed loss moves
with every single answer, so equal sums mean equal answers image by image.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np
import torch
from PIL import Image
from resnet_cifar import CifarResNet

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def images_of(folder):
    pixels, labels = [], []
    for label, name in enumerate(sorted(path.name for path in folder.iterdir() if path.is_dir())):
        for path in sorted((folder / name).iterdir()):
            pixels.append(np.asarray(Image.open(path).convert("RGB")))
            labels.append(label)
    return torch.from_numpy(np.stack(pixels)).permute(0, 3, 1, 2), torch.tensor(labels)


def by_pytorch(model, weights, data, dtype):
    state = torch.load(weights, map_location="cpu", weights_only=True)
    state = {name.removeprefix("module."): value for name, value in state.get("state_dict", state).items()}
    network = CifarResNet(int(model.removeprefix("resnet"))).to(dtype).eval()
    problems = network.load_state_dict(state, strict=False)
    assert all(name.endswith("num_batches_tracked") for name in problems.missing_keys) and not problems.unexpected_keys
    pixels, labels = images_of(pathlib.Path(data) / "test")
    images = pixels.to(dtype) / 255
    images = (images - torch.tensor(MEAN, dtype=dtype).view(1, 3, 1, 1)) / torch.tensor(DEVIATION, dtype=dtype).view(1, 3, 1, 1)
    with torch.no_grad():
        logits = torch.cat([network(batch) for batch in images.split(100)])
    loss = torch.nn.functional.cross_entropy(logits.double(), labels, reduction="sum")
    return len(labels), int((logits.argmax(1) == labels).sum()), float(loss)


def by_evener(program, model, weights, data, count):
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", model, "--weights", weights, "--data", data, "--epochs", "0", "--normalize", "imagenet"]
        result = subprocess.run(command + ["--out", folder + "/out", "--json", "-"], check=True, capture_output=True)
    accuracy = json.loads(result.stdout)["accuracy"]
    return round(accuracy["test"] * count), accuracy["test_loss"] * count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evener", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("weights", nargs="+", metavar="MODEL=FILE")
    options = parser.parse_args()
    for item in options.weights:
        model, weights = item.split("=", 1)
        count, correct64, loss64 = by_pytorch(model, weights, options.data, torch.float64)
        _, correct32, loss32 = by_pytorch(model, weights, options.data, torch.float32)
        correct, loss = by_evener(options.evener, model, weights, options.data, count)
        print(f"{model}: of {count} images correct: evener {correct}, PyTorch {correct32} (float64 {correct64});"
              f" summed loss: evener {loss:.5f}, PyTorch {loss32:.5f} (float64 {loss64:.5f})")  # fmt: skip


if __name__ == "__main__":
    main()
