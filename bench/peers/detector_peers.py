#!/usr/bin/env python3
"""A detector's ONNX file in ONNX Runtime, with the preparation and the decoding of its family's own program.

    detector_peers.py boxes FILE.onnx PHOTOS...      a JSON line for each photo, as evener detect --format jsonl
    detector_peers.py compare FILE.onnx PHOTOS...    the same boxes in evener? --evener PROGRAM, --batch N
    detector_peers.py rate FILE.onnx PHOTOS...       photos a second from files to boxes; prints JSON

Families: yolox, yolo (v5 and v8), scrfd; --family says which. Needs numpy, onnxruntime, Pillow and OpenCV, and nothing of
evener's.
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import time

import cv2
import numpy
import onnxruntime
from PIL import Image, ImageOps

from common import software

ENDINGS = {".jpg", ".jpeg", ".png"}


def parse():
    parser = argparse.ArgumentParser(description="Finds objects with ONNX Runtime, as the family's own program does.")
    parser.add_argument("work", choices=("boxes", "compare", "rate"))
    parser.add_argument("file", help="the detector")
    parser.add_argument("photos", nargs="+", type=pathlib.Path, help="files and folders")
    parser.add_argument("--family", choices=("yolox", "yolo", "scrfd"), default="yolox")
    parser.add_argument("--confidence", type=float, default=0.3)
    parser.add_argument("--iou", type=float, help="of NMS (default: the family's)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1, help="evener's, of compare")
    parser.add_argument("--evener", default="evener", help="the program, for compare")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--limit", type=int, help="so many photos at most")
    return parser.parse_args()


def photos_of(options):
    found = []
    for path in options.photos:
        inside = sorted(p for p in path.rglob("*") if p.suffix.lower() in ENDINGS) if path.is_dir() else [path]
        found += inside
    return found[: options.limit]


def read(path):
    """Red, green, blue, turned as its EXIF says."""
    with Image.open(path) as image:
        return numpy.asarray(ImageOps.exif_transpose(image).convert("RGB"))


def planes(pixels):
    return numpy.ascontiguousarray(pixels.transpose(2, 0, 1)[None].astype(numpy.float32))


def prepare_yolox(image, height, width):
    ratio = min(height / image.shape[0], width / image.shape[1])
    small = cv2.resize(image, (int(image.shape[1] * ratio), int(image.shape[0] * ratio)), interpolation=cv2.INTER_LINEAR)
    padded = numpy.full((height, width, 3), 114, numpy.uint8)
    padded[: small.shape[0], : small.shape[1]] = small
    return planes(padded[:, :, ::-1]), (ratio, 0, 0)


def prepare_yolo(image, height, width):
    ratio = min(height / image.shape[0], width / image.shape[1])
    size = round(image.shape[1] * ratio), round(image.shape[0] * ratio)
    left, top = round((width - size[0]) / 2 - 0.1), round((height - size[1]) / 2 - 0.1)
    padded = numpy.full((height, width, 3), 114, numpy.uint8)
    padded[top : top + size[1], left : left + size[0]] = cv2.resize(image, size, interpolation=cv2.INTER_LINEAR)
    return planes(padded) / numpy.float32(255), (ratio, left, top)


def prepare_scrfd(image, height, width):
    ratio = image.shape[0] / image.shape[1]
    size = (int(height / ratio), height) if ratio > height / width else (width, int(width * ratio))
    padded = numpy.zeros((height, width, 3), numpy.uint8)
    padded[: size[1], : size[0]] = cv2.resize(image, size)
    return (planes(padded) - numpy.float32(127.5)) / numpy.float32(128), (size[1] / image.shape[0], 0, 0)


def best_classes(scores, boxes):
    """The likeliest class of each box (middle and extents)."""
    labels = scores.argmax(1)
    corners = numpy.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], 1)
    return corners, scores[numpy.arange(len(labels)), labels], labels


def decode_yolox(outputs, height, width):
    values = outputs[0][0].copy()
    grids, strides = [], []
    for stride in (8, 16, 32):
        y, x = numpy.meshgrid(numpy.arange(height // stride), numpy.arange(width // stride), indexing="ij")
        grids.append(numpy.stack([x, y], 2).reshape(-1, 2))
        strides.append(numpy.full((grids[-1].shape[0], 1), stride))
    grid, stride = numpy.concatenate(grids), numpy.concatenate(strides)
    middles = ((values[:, :2] + grid) * stride).astype(numpy.float32)
    extents = (numpy.exp(values[:, 2:4]) * stride).astype(numpy.float32)
    return best_classes(values[:, 4:5] * values[:, 5:], numpy.concatenate([middles, extents], 1))


def decode_yolo(outputs, height, width):
    values = outputs[0][0]
    if values.shape[0] < values.shape[1]:  # YOLOv8: a column for each place
        return best_classes(values[4:].T, values[:4].T)
    return best_classes(values[:, 4:5] * values[:, 5:], values[:, :4])


def decode_scrfd(outputs, height, width):
    """Two anchors at each place; distances of the sides from it, in strides."""
    levels = len(outputs) // 3
    boxes, scores = [], []
    for index in range(levels):
        stride = 8 * 2**index
        y, x = numpy.meshgrid(numpy.arange(height // stride), numpy.arange(width // stride), indexing="ij")
        places = numpy.repeat(numpy.stack([x, y], 2).reshape(-1, 2) * stride, 2, 0).astype(numpy.float32)
        sides = outputs[levels + index].reshape(-1, 4) * numpy.float32(stride)
        boxes.append(numpy.concatenate([places - sides[:, :2], places + sides[:, 2:]], 1))
        scores.append(outputs[index].reshape(-1))
    scores = numpy.concatenate(scores)
    return numpy.concatenate(boxes), scores, numpy.zeros(len(scores), int)


FAMILIES = {  # preparation, decoding, the limit of NMS, what a pixel adds to a side there
    "yolox": (prepare_yolox, decode_yolox, 0.45, 0),
    "yolo": (prepare_yolo, decode_yolo, 0.7, 0),
    "scrfd": (prepare_scrfd, decode_scrfd, 0.4, 1),
}


def overlap(box, others, pixel):
    """Intersection over union."""
    sides = numpy.minimum(box[2:], others[:, 2:]) - numpy.maximum(box[:2], others[:, :2]) + pixel
    both = numpy.maximum(sides, 0).prod(1)
    areas = (others[:, 2:] - others[:, :2] + pixel).prod(1)
    return both / ((box[2:] - box[:2] + pixel).prod() + areas - both)


def suppressed(boxes, scores, labels, limit, pixel):
    kept = []
    for label in numpy.unique(labels):
        order = numpy.flatnonzero(labels == label)
        order = order[numpy.argsort(-scores[order], kind="stable")]
        while order.size:
            kept.append(order[0])
            order = order[1:][overlap(boxes[order[0]], boxes[order[1:]], pixel) <= limit]
    return sorted(kept, key=lambda index: -scores[index])


class Peer:
    def __init__(self, options):
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        self.session = onnxruntime.InferenceSession(options.file, settings, providers=["CPUExecutionProvider"])
        entry = self.session.get_inputs()[0]
        self.name, (self.height, self.width) = entry.name, entry.shape[2:]
        self.prepare, self.decode, self.limit, self.pixel = FAMILIES[options.family]
        self.limit = options.iou or self.limit
        self.confidence = options.confidence

    def ready(self, image):
        return self.prepare(image, self.height, self.width)

    def boxes(self, image, ready=None):
        """Corners on the photo, scores and classes, the likeliest first."""
        planes_, (ratio, left, top) = ready or self.ready(image)
        boxes, scores, labels = self.decode(self.session.run(None, {self.name: planes_}), self.height, self.width)
        likely = scores > self.confidence
        boxes, scores, labels = boxes[likely], scores[likely], labels[likely]
        boxes = (boxes - numpy.array([left, top, left, top], numpy.float32)) / numpy.float32(ratio)
        kept = suppressed(boxes, scores, labels, self.limit, self.pixel)
        most = numpy.array([image.shape[1], image.shape[0]] * 2, numpy.float32)
        return [(numpy.clip(boxes[i], 0, most).tolist(), float(scores[i]), int(labels[i])) for i in kept]


def iou(a, b):
    return float(overlap(numpy.array(a), numpy.array([b]), 0)[0])


def compare(options, peer, photos):
    command = [options.evener, "detect", options.file, *map(str, photos), "--format", "jsonl", "--batch", str(options.batch)]
    command += ["--confidence", str(options.confidence), "--on", f"cpu/t{options.threads}"]
    if options.iou:
        command += ["--iou", str(options.iou)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    ours = {line["file"]: line["detections"] for line in map(json.loads, done.stdout.splitlines())}
    matched, missing, least_iou, most_apart = 0, [], 1.0, 0.0
    for photo in photos:
        theirs, left = peer.boxes(read(photo)), list(ours[str(photo)])
        for box, score, label in theirs:
            same = [d for d in left if d["index"] == label]
            best = max(same, key=lambda d: iou(d["box"], box), default=None)
            if best is None or iou(best["box"], box) < 0.99 or abs(best["score"] - score) > 1e-3:
                missing.append((str(photo), label, score, box))
                continue
            left.remove(best)
            matched += 1
            least_iou = min(least_iou, iou(best["box"], box))
            most_apart = max(most_apart, abs(best["score"] - score))
        missing += [(str(photo), d["index"], d["score"], d["box"]) for d in left]
    # A score beside the limit is on one side of it here and on the other there.
    missing = [each for each in missing if abs(each[2] - options.confidence) > 1e-4]
    print(json.dumps({"photos": len(photos), "same": matched, "different": len(missing), "least_iou": least_iou, "scores_apart": most_apart}))
    for each in missing[:20]:
        print(json.dumps(each), file=sys.stderr)
    return 1 if missing else 0


def rate(options, peer, photos):
    """Photos are read and prepared by threads while others are computed, as evener does it."""
    peer.boxes(read(photos[0]))
    with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
        done, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < options.seconds:
            images = pool.map(lambda path: (image := read(path), peer.ready(image)), photos)
            for image, ready in images:
                peer.boxes(image, ready)
                done += 1
        return done / (time.perf_counter() - begin)


def main():
    options = parse()
    peer, photos = Peer(options), photos_of(options)
    if options.work == "compare":
        sys.exit(compare(options, peer, photos))
    if options.work == "rate":
        settings = [software.threads(options), "photos prepared by threads meanwhile"]
        told = software.told("onnxruntime", "opencv-python-headless", "pillow", settings=settings)
        print(json.dumps({"images_per_s": rate(options, peer, photos), **told}))
        return
    for photo in photos:
        boxes = [{"index": label, "score": score, "box": box} for box, score, label in peer.boxes(read(photo))]
        print(json.dumps({"file": str(photo), "detections": boxes}))


if __name__ == "__main__":
    main()
