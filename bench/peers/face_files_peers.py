#!/usr/bin/env python3
"""Times ONNX Runtime with OpenCV on a folder of photos: faces found by an SCRFD file, turned upright, and embedded by
another file; prints JSON.

Run by bench/peers/run in its own environment. Photos are done one after the other, as InsightFace's package does them:
each is fitted into the detector's image, its faces are aligned by a similarity to ArcFace's five points, and all faces
of a photo are embedded in one call. --compare FILE compares the faces with those in a faces.csv of evener instead.
"""

import argparse
import csv
import json
import pathlib
import time

import cv2
import numpy
import onnxruntime

from common import software

STRIDES = (8, 16, 32)
LEAST_SCORE, OVERLAP = 0.5, 0.4
WARM_UP = 3
# SphereFace's five points in 96 x 112 pixels; ArcFace moved them by 8 pixels, into 112 x 112.
POINTS = numpy.float32([[30.2946, 51.6963], [65.5318, 51.5014], [48.0252, 71.7366], [33.5493, 92.3655], [62.7299, 92.2041]])


def parse():
    parser = argparse.ArgumentParser(description="Times ONNX Runtime with OpenCV on a folder of photos.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--detector", type=pathlib.Path, required=True)
    parser.add_argument("--embedder", type=pathlib.Path, required=True)
    parser.add_argument("--normalize", default="0.5/0.502", help="MEAN/STD of the embedder's values from 0 to 1")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compare", type=pathlib.Path, metavar="FILE", help="a faces.csv of evener")
    return parser.parse_args()


def session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def suppressed(boxes, scores):
    """Indices of the boxes that stay, the likeliest first; sides count both their pixels."""
    areas = (boxes[:, 2] - boxes[:, 0] + 1) * (boxes[:, 3] - boxes[:, 1] + 1)
    left, kept = scores.argsort()[::-1], []
    while left.size:
        best, left = left[0], left[1:]
        kept.append(best)
        upper = numpy.maximum(boxes[best, :2], boxes[left, :2])
        lower = numpy.minimum(boxes[best, 2:], boxes[left, 2:])
        shared = numpy.prod(numpy.maximum(0, lower - upper + 1), axis=1)
        left = left[shared / (areas[best] + areas[left] - shared) <= OVERLAP]
    return kept


class Detector:
    def __init__(self, path, threads):
        self.session = session(path, threads)
        self.input = self.session.get_inputs()[0].name
        height, width = self.session.get_inputs()[0].shape[2:]
        self.width, self.height = (size if isinstance(size, int) else 640 for size in (width, height))
        self.anchors = []
        for stride in STRIDES:
            rows, columns = numpy.mgrid[: self.height // stride, : self.width // stride]
            places = numpy.stack([columns, rows], axis=-1).reshape(-1, 2).astype(numpy.float32) * stride
            self.anchors.append(numpy.repeat(places, 2, axis=0))

    def find(self, photo):
        """Boxes with scores, and points, in pixels of the photo."""
        ratio = photo.shape[0] / photo.shape[1]
        if ratio > self.height / self.width:
            width, height = int(self.height / ratio), self.height
        else:
            width, height = self.width, int(self.width * ratio)
        image = numpy.zeros((self.height, self.width, 3), numpy.uint8)
        image[:height, :width] = cv2.resize(photo, (width, height))
        blob = cv2.dnn.blobFromImage(image, 1 / 128, (self.width, self.height), (127.5, 127.5, 127.5), swapRB=True)
        outputs = self.session.run(None, {self.input: blob})
        boxes, scores, points = [], [], []
        for level, (stride, anchors) in enumerate(zip(STRIDES, self.anchors)):
            likely = outputs[level].reshape(-1) >= LEAST_SCORE
            at = anchors[likely]
            sides = outputs[level + 3].reshape(-1, 4)[likely] * stride
            boxes.append(numpy.hstack([at - sides[:, :2], at + sides[:, 2:]]))
            scores.append(outputs[level].reshape(-1)[likely])
            points.append(at[:, None] + outputs[level + 6].reshape(-1, 5, 2)[likely] * stride)
        scale = height / photo.shape[0]
        boxes, scores, points = numpy.vstack(boxes) / scale, numpy.concatenate(scores), numpy.vstack(points) / scale
        kept = suppressed(boxes, scores)
        return numpy.hstack([boxes[kept], scores[kept, None]]), points[kept]


class Embedder:
    def __init__(self, path, normalize, threads):
        self.session = session(path, threads)
        self.input = self.session.get_inputs()[0].name
        self.height, self.width = self.session.get_inputs()[0].shape[2:]
        self.mean, self.deviation = map(float, normalize.split("/"))

    def embed(self, photo, all_points):
        target = POINTS * (self.height / 112) + [(self.width - 96 * self.height / 112) / 2, 0]
        faces = []
        for points in all_points:
            matrix, _ = cv2.estimateAffinePartial2D(points, target, method=cv2.LMEDS)
            face = cv2.warpAffine(photo, matrix, (self.width, self.height), borderValue=0)[:, :, ::-1]
            faces.append(((face / numpy.float32(255) - self.mean) / self.deviation).transpose(2, 0, 1))
        return self.session.run(None, {self.input: numpy.stack(faces).astype(numpy.float32)})[0] if faces else []


def files_of(options):
    return [path for path in sorted(options.folder.rglob("*")) if path.suffix.lower() in (".jpg", ".jpeg", ".png")]


def measure(options):
    detector = Detector(options.detector, options.threads)
    embedder = Embedder(options.embedder, options.normalize, options.threads)
    cv2.setNumThreads(options.threads)

    def look(file):
        photo = cv2.imread(str(file))
        return len(embedder.embed(photo, detector.find(photo)[1]))

    files = files_of(options)
    for file in files[:WARM_UP]:
        look(file)
    begin = time.perf_counter()
    faces = sum(map(look, files))
    rate = len(files) / (time.perf_counter() - begin)
    told = software.told("onnxruntime", "opencv-python-headless", settings=["photo by photo", software.threads(options)])
    return {"photos_per_s": rate, "faces": faces, **told}


def overlap(a, b):
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    shared = max(0, width) * max(0, height)
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)


def compare(options):
    detector = Detector(options.detector, options.threads)
    rows = {}
    with open(options.compare, newline="") as file:
        for row in csv.DictReader(file):
            numbers = [float(row[name]) for name in ("x1", "y1", "x2", "y2", "probability")]
            rows.setdefault(pathlib.Path(row["file"]).resolve(), []).append(numbers)
    found = {"faces": 0, "photos_with_others": 0, "least_overlap": 1.0, "score_difference": 0.0}
    for file in files_of(options):
        theirs, ours = detector.find(cv2.imread(str(file)))[0], rows.get(file.resolve(), [])
        found["faces"] += len(theirs)
        found["photos_with_others"] += len(theirs) != len(ours)
        for face in theirs:
            nearest = max(ours, key=lambda other: overlap(face, other), default=None)
            if nearest is None:
                found["least_overlap"] = 0.0
                continue
            found["least_overlap"] = min(found["least_overlap"], float(overlap(face, nearest)))
            found["score_difference"] = max(found["score_difference"], float(abs(face[4] - nearest[4])))
    return found


if __name__ == "__main__":
    chosen = parse()
    print(json.dumps(compare(chosen) if chosen.compare else measure(chosen)))
