#!/usr/bin/env python3
"""Writes ssdlite_*.safetensors beside it: a training step of torchvision's detector, to test our engine against.

Run like make_golden.py, whose formulas of weights, images and probes it uses, and whose README describes the tensors. The
network, its anchors, the matching of anchors with objects and the loss are torchvision's own (ssdlite.py, ssd.py); the
transform that scales images is left out, so that any size can be given.
"""

import pathlib
from dataclasses import dataclass

import make_golden as golden
import numpy as np
import torch
import torchvision
from torchvision.models.detection import ssdlite320_mobilenet_v3_large
from torchvision.ops import generalized_box_iou_loss

DEVIATION = 0.03  # of first weights, as torchvision's _normal_init has it


@dataclass
class Case:
    name: str
    shape: tuple  # (C, H, W)
    classes: int
    batch: int
    seed: int
    giou: bool = False


CASES = [Case("ssdlite_smooth_l1", (3, 96, 128), 3, 4, 3), Case("ssdlite_giou", (3, 96, 128), 3, 4, 3, giou=True)]


def first_value(name, tensor):
    """The first values of a detector: normal for convolutions, zeros for their biases."""
    count, shape = tensor.numel(), tuple(tensor.shape)
    if tensor.dim() == 4:
        u = golden.uniforms(golden.K_INIT, golden.hash_text(name), 0, count + count % 2)
        radius = DEVIATION * np.sqrt(-2 * np.log(1 - u[0::2]))
        values = np.empty(count + count % 2)
        values[0::2] = radius * np.cos(2 * np.pi * u[1::2])
        values[1::2] = radius * np.sin(2 * np.pi * u[1::2])
        values = values[:count]
    else:
        is_norm_weight = name.endswith("weight") or name.endswith("running_var")
        values = np.full(count, 1.0 if is_norm_weight else 0.0)
    return torch.from_numpy(values.astype(np.float32).reshape(shape))


def make_model(case):
    model = ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=case.classes + 1)
    with torch.no_grad():
        for name, tensor in list(model.named_parameters()) + list(model.named_buffers()):
            if tensor.dim() > 0:
                tensor.copy_(first_value(name, tensor))
    return model


def objects(case):
    """A few of all sizes on most images, none on the last, and a crowd of equal ones on the third."""
    random = np.random.default_rng(case.seed)
    _, height, width = case.shape
    boxes, labels = [], []
    for image in range(case.batch):
        count = 0 if image == case.batch - 1 else 12 if image == 2 else 3
        size = np.array([width, height]) * random.uniform(0.08, 0.6, (count, 2))
        if image == 2:
            size[:6] = np.array([width, height]) * 0.2
        low = random.uniform(0, 1, (count, 2)) * (np.array([width, height]) - size)
        boxes.append(np.concatenate([low, low + size], 1).astype(np.float32))
        labels.append(random.integers(0, case.classes, count))
    return boxes, labels


def losses_of(case, model, features, boxes, labels, size):
    heads = model.head(features)
    images = torchvision.models.detection.image_list.ImageList(torch.empty(len(boxes), 1, *size), [size] * len(boxes))
    anchors = model.anchor_generator(images, features)
    targets = [{"boxes": torch.from_numpy(b).to(anchors[0]), "labels": torch.from_numpy(l) + 1} for b, l in zip(boxes, labels)]
    matched = []
    for own, target in zip(anchors, targets):
        if target["boxes"].numel() == 0:
            matched.append(torch.full((own.shape[0],), -1, dtype=torch.int64))
        else:
            matched.append(model.proposal_matcher(torchvision.ops.box_iou(target["boxes"], own)))
    losses = model.compute_loss(targets, heads, anchors, matched)
    count = sum(int((m >= 0).sum()) for m in matched)
    if case.giou:
        terms = []
        for own, target, match, found in zip(anchors, targets, matched, heads["bbox_regression"]):
            on = match >= 0
            decoded = model.box_coder.decode_single(found[on], own[on])
            terms.append(generalized_box_iou_loss(decoded, target["boxes"][match[on]], reduction="sum"))
        losses["bbox_regression"] = sum(terms) / max(1, count)
    return losses["bbox_regression"], losses["classification"], count, matched, anchors[0]


def step(case, variant):
    torch.set_num_threads(variant.threads)
    golden.set_seed(case.seed)
    count = case.batch * int(np.prod(case.shape))
    images = golden.below(256, golden.K_SYNTHETIC, golden.hash_text("images"), 0, count).astype(np.uint8)
    images = torch.from_numpy(images.reshape(case.batch, *case.shape))
    boxes, labels = objects(case)
    if variant.reverse:
        images, boxes, labels = images.flip(0), boxes[::-1], labels[::-1]
    model = make_model(case).to(variant.dtype).train()
    batch = (images.to(variant.dtype) / 255 - 0.5) / 0.5
    if variant.channels_last:
        batch, model = batch.to(memory_format=torch.channels_last), model.to(memory_format=torch.channels_last)
    features = list(model.backbone(batch).values())
    of_boxes, of_classes, matches, matched, anchors = losses_of(case, model, features, boxes, labels, case.shape[1:])
    (of_boxes + of_classes).backward()
    return {
        "losses": [(of_boxes + of_classes).item(), of_boxes.item(), of_classes.item()],
        "evaluations": [],
        "gradients": {n: p.grad.detach().double().contiguous() for n, p in model.named_parameters()},
        "buffers": {n: b.detach().double().clone() for n, b in model.named_buffers() if b.dim() > 0},
        "matches": matches,
        "matched": matched,
        "anchors": anchors.detach(),
    }


def make(case, folder):
    truth = step(case, golden.Variant(dtype=torch.float64, threads=2))
    variants = [(last, threads, threads == 2) for last in (False, True) for threads in (1, 2)]
    runs = [step(case, golden.Variant(torch.float32, False, *variant)) for variant in variants]
    deviations = golden.deviations(truth, runs)
    boxes, labels = objects(case)
    rows = [[i, *map(float, b), float(l)] for i in range(case.batch) for b, l in zip(boxes[i], labels[i])]
    tensors = {
        "losses": np.array(truth["losses"]),
        "losses.fp32_deviation": deviations["losses"],
        "objects": np.array(rows),
        "anchors": truth["anchors"].numpy(),
        "matched": np.stack([m.numpy() for m in truth["matched"]]).astype(np.float64),
    }
    for key in ("gradients", "buffers"):
        described = [golden.describe(name, tensor) for name, tensor in truth[key].items()]
        for i, what in enumerate(("norm", "projections", "samples")):
            tensors[f"{key}.{what}"] = np.array([row[i] for row in described])
        tensors[f"{key}.fp32_deviation"] = deviations[key]
    metadata = {
        "model": "ssdlite320_mobilenet_v3_large", "input": "x".join(map(str, case.shape)), "classes": str(case.classes),
        "batch": str(case.batch), "seed": str(case.seed), "box_loss": "giou" if case.giou else "smooth-l1",
        "matches": str(truth["matches"]), "trained": ",".join(truth["gradients"]), "buffers": ",".join(truth["buffers"]),
        "made_with": f"torch {torch.__version__}, torchvision {torchvision.__version__}",
    }  # fmt: skip
    golden.write_safetensors(folder / f"{case.name}.safetensors", tensors, metadata)
    norms = np.array([float(torch.linalg.norm(g)) for g in truth["gradients"].values()])
    relative = deviations["gradients"] / norms
    print(f"{case.name}: {truth['matches']} matches, losses {truth['losses']}, fp32 differs by {deviations['losses'].max():.1e};"
          f" gradients by {np.median(relative):.1e} (median), {relative.max():.1e} (most)")


def main():
    for case in CASES:
        make(case, pathlib.Path(__file__).parent)


if __name__ == "__main__":
    main()
