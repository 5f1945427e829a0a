#!/usr/bin/env python3
"""Writes tests/golden/detections.json: what other software makes of a detector's outputs and of boxes.

    python3 -m venv venv && venv/bin/pip install torch==2.11.0 torchvision==0.26.0 pycocotools==2.0.11
    venv/bin/python tests/golden/make_detection_golden.py

"decode": torchvision's SSD.postprocess_detections of random outputs.
"quality": random scenes, and of each pycocotools' summary and precision per class, or those of VOC's devkit, whose
VOCevaldet.m and VOCap.m (2007 and 2010) are followed in evaluate_voc(). Coordinates are multiples of 0.5 and scores of
1/64: no rounding decides anything, and there are ties. A value that the software calls absent (-1, NaN) is null.
Boxes are [label, x1, y1, x2, y2, score] and [label, x1, y1, x2, y2, difficult, crowd, area or null].
"""
import contextlib
import io
import json
import math
import pathlib

import numpy as np
import torch
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from torchvision.models.detection.anchor_utils import DefaultBoxGenerator
from torchvision.models.detection.image_list import ImageList
from torchvision.models.detection.ssd import SSD

FILE = pathlib.Path(__file__).parent / "detections.json"


def random_box(rng, side, extent):
    w, h = extent * np.exp(rng.normal(0, 0.5, 2))
    x, y = rng.uniform(0, side, 2)
    x1, y1 = max(0, round(2 * (x - w / 2)) / 2), max(0, round(2 * (y - h / 2)) / 2)
    return [float(x1), float(y1), float(x1 + max(1, round(2 * w) / 2)), float(y1 + max(1, round(2 * h) / 2))]


def moved(rng, box, by):
    w, h = box[2] - box[0], box[3] - box[1]
    x1 = box[0] + round(2 * by * w * rng.normal()) / 2
    y1 = box[1] + round(2 * by * h * rng.normal()) / 2
    w = max(0.5, round(2 * w * math.exp(by * rng.normal())) / 2)
    h = max(0.5, round(2 * h * math.exp(by * rng.normal())) / 2)
    return [float(x1), float(y1), float(x1 + w), float(y1 + h)]


def scene(rng, images, classes, boxes, side, *, used=None, difficult=0.0, crowd=0.0, stray=3, copies=2,
          extents=(12, 50, 150), fewest=0):
    result = []
    for _ in range(images):
        truth, found = [], []
        for _ in range(rng.integers(fewest, boxes + 1)):
            label = int(rng.choice(used or range(classes)))
            box = random_box(rng, side, rng.choice(extents))
            is_crowd = bool(rng.random() < crowd)
            area = None if rng.random() < 0.7 else float(round((box[2] - box[0]) * (box[3] - box[1]) * 0.6))
            truth.append([label, *box, bool(rng.random() < difficult), is_crowd, area])
            for _ in range(rng.integers(0, copies + 1) * (3 if is_crowd else 1)):
                found.append([label if rng.random() < 0.85 else int(rng.integers(classes)), *moved(rng, box, 0.12),
                              int(rng.integers(1, 64)) / 64])
        for _ in range(rng.integers(0, stray + 1)):
            found.append([int(rng.integers(classes)), *random_box(rng, side, 40), int(rng.integers(1, 40)) / 64])
        order = rng.permutation(len(found))
        result.append({"truth": truth, "found": [found[i] for i in order]})
    return {"classes": classes, "images": result}


def absent(value):
    return None if value is None or math.isnan(value) or value < 0 else float(value)


def evaluate_coco(case):
    data = {"images": [{"id": i + 1} for i in range(len(case["images"]))],
            "categories": [{"id": c + 1} for c in range(case["classes"])], "annotations": []}
    found = []
    for i, image in enumerate(case["images"]):
        for label, x1, y1, x2, y2, _, crowd, area in image["truth"]:
            box = [x1, y1, x2 - x1, y2 - y1]
            data["annotations"].append({"id": len(data["annotations"]) + 1, "image_id": i + 1, "category_id": label + 1,
                                        "bbox": box, "iscrowd": int(crowd),
                                        "area": box[2] * box[3] if area is None else area})
        for label, x1, y1, x2, y2, score in image["found"]:
            found.append({"image_id": i + 1, "category_id": label + 1, "bbox": [x1, y1, x2 - x1, y2 - y1],
                          "score": score})
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = data
        truth.createIndex()
        evaluation = COCOeval(truth, truth.loadRes(found) if found else COCO(), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    precision = evaluation.eval["precision"][:, :, :, 0, 2]  # limits, recalls, classes

    def of_class(values):
        return None if not (values > -1).any() else float(values.mean())

    return {"coco": [absent(value) for value in evaluation.stats],
            "coco_classes": [of_class(precision[:, :, c]) for c in range(case["classes"])],
            "coco_50_classes": [of_class(precision[0, :, c]) for c in range(case["classes"])]}


def evaluate_voc(case):
    per_class_2007, per_class_2010 = [], []
    for label in range(case["classes"]):
        detections = sorted(((box[5], i, box[1:5]) for i, image in enumerate(case["images"]) for box in image["found"]
                             if box[0] == label), key=lambda one: -one[0])  # stable
        truths = [[box for box in image["truth"] if box[0] == label] for image in case["images"]]
        taken = [[False] * len(boxes) for boxes in truths]
        positives = sum(not box[5] for boxes in truths for box in boxes)
        if positives == 0:
            per_class_2007.append(None)
            per_class_2010.append(None)
            continue
        right, wrong = np.zeros(len(detections)), np.zeros(len(detections))
        for d, (_, i, box) in enumerate(detections):
            best, overlap = None, -math.inf
            for t, (_, x1, y1, x2, y2, *_) in enumerate(truths[i]):
                # The devkit's coordinates are of whole pixels, from 1: xmin = x1 + 1, xmax = x2.
                width = min(box[2], x2) - (max(box[0], x1) + 1) + 1
                height = min(box[3], y2) - (max(box[1], y1) + 1) + 1
                if width > 0 and height > 0:
                    both = width * height
                    union = (box[2] - box[0]) * (box[3] - box[1]) + (x2 - x1) * (y2 - y1) - both
                    if both / union > overlap:
                        best, overlap = t, both / union
            if overlap >= 0.5:
                if not truths[i][best][5]:
                    if not taken[i][best]:
                        right[d] = 1
                        taken[i][best] = True
                    else:
                        wrong[d] = 1
            else:
                wrong[d] = 1
        right, wrong = np.cumsum(right), np.cumsum(wrong)
        recall = right / positives
        precision = right / np.maximum(right + wrong, np.finfo(float).eps)
        points = [k * 0.1 if k <= 5 else 1 - (10 - k) * 0.1 for k in range(11)]  # as MATLAB rounds 0:0.1:1
        per_class_2007.append(sum(max(precision[recall >= t], default=0) / 11 for t in points))
        mrec, mpre = np.concatenate(([0], recall, [1])), np.concatenate(([0], precision, [0]))
        for k in range(len(mpre) - 2, -1, -1):
            mpre[k] = max(mpre[k], mpre[k + 1])
        steps = np.nonzero(mrec[1:] != mrec[:-1])[0] + 1
        per_class_2010.append(float(np.sum((mrec[steps] - mrec[steps - 1]) * mpre[steps])))

    def mean(values):
        values = [value for value in values if value is not None]
        return sum(values) / len(values) if values else None

    return {"voc_2007": mean(per_class_2007), "voc_2010": mean(per_class_2010),
            "voc_2007_classes": per_class_2007, "voc_2010_classes": per_class_2010}


def quality_cases():
    rng = np.random.default_rng(20)
    cases = {
        "mixed": scene(rng, 25, 4, 6, 400),
        "crowded": scene(rng, 2, 2, 140, 500, copies=5, extents=(15, 30), fewest=110),
        "crowds": scene(rng, 15, 3, 7, 400, crowd=0.3),
        "difficult": scene(rng, 20, 3, 7, 300, difficult=0.35),
        "only difficult": scene(rng, 6, 2, 3, 200, difficult=1.0),
        "only crowds": scene(rng, 6, 2, 3, 200, crowd=1.0),
        "a class without boxes": scene(rng, 10, 3, 4, 300, used=[0, 2]),
        "nothing there": scene(rng, 4, 2, 0, 200),
        "nothing found": scene(rng, 5, 2, 4, 200, stray=0, copies=0),
        "no image": {"classes": 2, "images": []},
        "only small": scene(rng, 8, 2, 5, 200, extents=(8,)),
    }
    # Recalls and overlaps at the very limits: five boxes, three of them found, by boxes of half their area.
    exact = {"classes": 1, "images": [{"truth": [[0, 20.0 * k, 0.0, 20.0 * k + 10, 32.0, False, False, None]
                                                 for k in range(5)],
                                       "found": [[0, 20.0 * k, 0.0, 20.0 * k + 10, 16.0, 0.5] for k in range(3)] +
                                                [[0, 90.0, 50.0, 99.0, 60.0, 0.25]]}]}
    cases["at the limits"] = exact
    for name, case in cases.items():
        has_crowd = any(box[6] for image in case["images"] for box in image["truth"])
        has_difficult = any(box[5] for image in case["images"] for box in image["truth"])
        if not has_difficult and case["images"]:
            case.update(evaluate_coco(case))
        if not has_crowd:
            case.update(evaluate_voc(case))
        case["name"] = name
    return list(cases.values())


def decode_case():
    torch.manual_seed(3)
    generator = DefaultBoxGenerator([[2, 3], [2]], min_ratio=20, max_ratio=95)
    width, height = 96, 64
    maps = [torch.zeros(1, 1, 4, 6), torch.zeros(1, 1, 2, 3)]
    anchors = generator(ImageList(torch.zeros(1, 3, height, width), [(height, width)]), maps)[0]
    count = len(anchors)
    offsets = torch.randn(1, count, 4) * torch.tensor([3.0, 3.0, 2.0, 2.0])
    offsets[0, 5, 2:] = 100  # grows beyond what is allowed
    logits = torch.randn(1, count, 4) * 1.5
    ssd = SSD.__new__(SSD)
    torch.nn.Module.__init__(ssd)
    from torchvision.models.detection import _utils
    ssd.box_coder = _utils.BoxCoder(weights=(10.0, 10.0, 5.0, 5.0))
    ssd.score_thresh, ssd.nms_thresh, ssd.topk_candidates, ssd.detections_per_img = 0.05, 0.55, 40, 60
    outputs = {"bbox_regression": offsets, "cls_logits": logits}
    result = ssd.postprocess_detections(outputs, [anchors], [(height, width)])[0]
    found = [[int(label) - 1, *map(float, box), float(score)]
             for label, box, score in zip(result["labels"], result["boxes"], result["scores"])
             if box[2] > box[0] and box[3] > box[1]]
    size = torch.tensor([width, height, width, height])
    shares = anchors / size
    centres = torch.cat([(shares[:, :2] + shares[:, 2:]) / 2, shares[:, 2:] - shares[:, :2]], 1)
    return {"width": width, "height": height, "classes": 3, "confidence": 0.05, "iou": 0.55, "candidates": 40,
            "most": 60, "anchors": centres.flatten().tolist(), "offsets": offsets.flatten().tolist(),
            "scores": logits.flatten().tolist(), "found": found}


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return value


if __name__ == "__main__":
    golden = {"decode": rounded(decode_case()), "quality": quality_cases()}
    FILE.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    print(f"{FILE}: {FILE.stat().st_size} bytes")
