#!/usr/bin/env python3
"""Writes tests/golden/ssdlite320_mobilenet_v3_large.safetensors: what torchvision computes in one training step of it.

    python3 -m venv venv && venv/bin/pip install torch==2.11.0 torchvision==0.26.0 numpy
    venv/bin/python tests/golden/make_detector_golden.py

The network is torchvision's own, as are its anchors, its matching and its loss (SSD.forward without the transform that
brings images to 320x320; its mean and deviation of 0.5 are in the batch). The truth is float64. What is stored is what
make_golden.py stores, with fewer probes, and "boxes": the image, the class and the corners of each object. "losses" are the
sum, the loss of boxes and that of classes, over the matched anchors.
"""

import argparse
import pathlib

import make_golden as golden
import numpy as np
import torch
from torchvision.models.detection import ssdlite320_mobilenet_v3_large
from torchvision.models.detection.image_list import ImageList
from torchvision.ops import box_iou

golden.PROBES, golden.SAMPLES = 2, 6

# A seed that keeps activations and the choice of hard anchors away from where rounding decides: see make_golden.py, and
# --margins.
CASE = golden.Case("ssdlite320_mobilenet_v3_large", "ssdlite320_mobilenet_v3_large", (3, 64, 80), 3, 5, 0.0,
                   loss="multi-box", seed=1, mean=(0.5, 0.5, 0.5), deviation=(0.5, 0.5, 0.5), momentum=0.0,
                   weight_decay=0.0)  # fmt: skip

# Of each image, class and corners: two that overlap, none, one over the whole image and one on it, a tiny one beside a large
# one, equal ones. Each level of the network has an anchor that is matched.
BOXES = [
    [(0, 4.5, 6, 40, 52.25), (2, 20, 10, 70, 60)],
    [],
    [(1, 0, 0, 80, 64), (0, 26, 5, 54, 27.5)],
    [(0, 60.5, 50, 64, 53), (1, 8, 4, 50.75, 60)],
    [(2, 30, 20, 62, 44), (0, 30, 20, 62, 44)],
]


def initial_state(model):
    """As the network describes it: all convolutions normal with a deviation of 0.03, biases 0, batch-norms 1 and 0."""
    state = model.state_dict()
    for name, tensor in state.items():
        if name.endswith("num_batches_tracked"):
            continue
        if tensor.dim() == 4:
            count = tensor.numel()
            even = count + count % 2
            u = golden.uniforms(golden.K_INIT, golden.hash_text(name), 0, even)
            radius = 0.03 * np.sqrt(-2 * np.log(1 - u[0::2]))
            values = np.empty(even)
            values[0::2] = radius * np.cos(2 * np.pi * u[1::2])
            values[1::2] = radius * np.sin(2 * np.pi * u[1::2])
            values = values[:count]
        else:
            is_normalisation = name.rpartition(".")[0] + ".running_var" in state
            one = name.endswith("running_var") or (is_normalisation and name.endswith("weight"))
            values = np.full(tensor.numel(), 1.0 if one else 0.0)
        state[name] = torch.from_numpy(values.astype(np.float32).reshape(tensor.shape))
    return state


def make_model():
    model = ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=CASE.classes + 1)
    model.load_state_dict(initial_state(model))
    return model


def losses_of(model, batch, targets):
    """SSD.forward in training, from prepared images on."""
    features = list(model.backbone(batch).values())
    outputs = model.head(features)
    sizes = [tuple(batch.shape[-2:])] * len(batch)
    anchors = model.anchor_generator(ImageList(batch, sizes), features)
    matched = []
    for own, target in zip(anchors, targets):
        if target["boxes"].numel() == 0:
            matched.append(torch.full((len(own),), -1, dtype=torch.int64))
        else:
            matched.append(model.proposal_matcher(box_iou(target["boxes"], own)))
    found = model.compute_loss(targets, outputs, anchors, matched)
    return found["bbox_regression"], found["classification"], sum(int((m >= 0).sum()) for m in matched)


def prepare(variant):
    torch.set_num_threads(variant.threads)
    images, _ = golden.images_and_labels(CASE)
    batch = (images.to(variant.dtype) / 255 - 0.5) / 0.5
    targets = [
        {
            "boxes": torch.tensor([box[1:] for box in boxes], dtype=variant.dtype).reshape(-1, 4),
            "labels": torch.tensor([box[0] + 1 for box in boxes], dtype=torch.int64),
        }
        for boxes in BOXES
    ]
    if variant.reverse:
        batch, targets = batch.flip(0), targets[::-1]
    model = make_model().to(variant.dtype).train()
    if variant.channels_last:
        batch, model = batch.to(memory_format=torch.channels_last), model.to(memory_format=torch.channels_last)
    return model, batch, targets


def step(variant):
    model, batch, targets = prepare(variant)
    boxes, classes, matches = losses_of(model, batch, targets)
    loss = boxes + classes
    loss.backward()
    return {
        "losses": [loss.item(), boxes.item(), classes.item()],
        "evaluations": [],
        "matches": matches,
        "gradients": {n: p.grad.detach().double().contiguous() for n, p in model.named_parameters()},
        "buffers": {n: b.detach().double().clone() for n, b in model.named_buffers() if b.dim() > 0},
    }


def main():
    parser = argparse.ArgumentParser(description="Writes the golden file of a detector's step beside this script.")
    parser.add_argument("--margins", type=int, metavar="N", help="print how far float32 is off for N seeds, write nothing")
    options = parser.parse_args()
    for seed in range(1, options.margins + 1) if options.margins else [CASE.seed]:
        CASE.seed = seed
        golden.set_seed(seed)
        truth = step(golden.Variant(dtype=torch.float64, threads=2))
        variants = [(last, threads, threads == 2) for last in (False, True) for threads in (1, 2)]
        runs = [step(golden.Variant(torch.float32, False, *variant)) for variant in variants]
        assert all(run["matches"] == truth["matches"] for run in runs), "rounding decides on a match: change the boxes"
        deviation = golden.deviations(truth, runs)
        norms = np.array([float(torch.linalg.norm(g)) for g in truth["gradients"].values()])
        assert norms.all(), "a level without a match has no gradient to compare"
        relative = deviation["gradients"] / norms
        print(f"seed {seed}: losses {truth['losses']}, {truth['matches']} matches; float32 is off by"
              f" {deviation['losses']}, gradients by {np.median(relative):.1e} (median), {relative.max():.1e} (most)",
              flush=True)
    if not options.margins:
        write(truth, deviation)


def write(truth, deviation):
    tensors = {"losses": np.array(truth["losses"]), "losses.fp32_deviation": deviation["losses"]}
    tensors["boxes"] = np.array([(i, *box) for i, boxes in enumerate(BOXES) for box in boxes], np.float64)
    for key in ("gradients", "buffers"):
        rows = [golden.describe(name, tensor) for name, tensor in truth[key].items()]
        for i, what in enumerate(("norm", "projections", "samples")):
            tensors[f"{key}.{what}"] = np.array([row[i] for row in rows])
        tensors[f"{key}.fp32_deviation"] = deviation[key]
    metadata = {
        "model": CASE.model, "input": "x".join(map(str, CASE.shape)), "classes": str(CASE.classes),
        "batch": str(CASE.batch), "learning_rate": "0", "momentum": "0", "weight_decay": "0", "loss": CASE.loss,
        "mean": ",".join(map(repr, CASE.mean)), "standard_deviation": ",".join(map(repr, CASE.deviation)),
        "seed": str(CASE.seed), "matches": str(truth["matches"]),
        "trained": ",".join(truth["gradients"]), "buffers": ",".join(truth["buffers"]),
        "made_with": f"torch {torch.__version__}",
    }  # fmt: skip
    path = pathlib.Path(__file__).parent / f"{CASE.name}.safetensors"
    golden.write_safetensors(path, tensors, metadata)
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
