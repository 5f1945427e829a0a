#!/usr/bin/env python3
"""Names the class of each photo in a folder by ONNX Runtime and Pillow, from the file that `evener export` wrote; prints JSON.

Run in the environment of bench/peers/run. Nothing of evener is used: names of classes, mean, deviation and how pictures come to the
network's size are read from the file's metadata, as anybody's program would.
"""

import argparse
import json
import pathlib

import numpy
import onnxruntime
from PIL import Image, ImageOps


def parse():
    parser = argparse.ArgumentParser(description="Names the class of each photo in a folder.")
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("photos", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def fitted(picture, width, height, crop):
    """The picture in the network's size, as the file says that it was trained."""
    scaled = {"stretch": (width, height)}
    # The side that has to be stretched more decides; of the other, the middle is taken.
    if picture.height * width <= picture.width * height:
        scaled["centre"] = (max(width, height * picture.width // picture.height), height)
    else:
        scaled["centre"] = (width, max(height, width * picture.height // picture.width))
    if crop not in scaled:
        raise SystemExit(f"the network wants pictures brought to its size by '{crop}', which this script can't")
    picture = picture.resize(scaled[crop], Image.Resampling.BILINEAR)
    left, top = round((picture.width - width) / 2), round((picture.height - height) / 2)
    return picture.crop((left, top, left + width, top + height))


def main():
    options = parse()
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(options.model, settings, providers=["CPUExecutionProvider"])
    told = session.get_modelmeta().custom_metadata_map
    classes = json.loads(told["classes"])
    mean, deviation = (numpy.array(json.loads(told[key]), numpy.float32) for key in ("mean", "standard_deviation"))
    _, height, width = json.loads(told["input"])
    source = session.get_inputs()[0].name
    found = {}
    for photo in sorted(options.photos.iterdir()):
        picture = fitted(ImageOps.exif_transpose(Image.open(photo)).convert("RGB"), width, height, told["crop"])
        pixels = (numpy.asarray(picture, numpy.float32) / 255 - mean) / deviation
        scores = session.run(None, {source: pixels.transpose(2, 0, 1)[None]})[0]
        found[photo.name] = classes[int(scores[0].argmax())]
    print(json.dumps({"classes": found}))


if __name__ == "__main__":
    main()
