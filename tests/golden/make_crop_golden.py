#!/usr/bin/env python3
"""Writes tests/golden/crops.json: what torchvision makes of pictures of noise that it scales, antialiased, and crops.

    python3 -m venv venv && venv/bin/pip install torch==2.11.0 torchvision==0.26.0 pillow==13.0.0 numpy
    venv/bin/python tests/golden/make_crop_golden.py

Pictures are computed from the formula of src/base/random.h, as the test does: byte i of a picture is the i-th number of
Random(7, kSynthetic, width, height) below 256. "centre" is Resize(shorter), which leaves the proportion as it is, and
CenterCrop(side); "letterbox" is Resize((height, width)) of the whole picture and black beside it, by Pad. Pillow does the
scaling, of which older versions (11.3) take rows and columns in another order, and so round otherwise, where rows become
far fewer. Stored is of each case the size of the scaled picture, the CRC-32 of all values, (C, H, W), and the first of them
for whoever looks for a mistake.
"""

import json
import pathlib
import zlib

import numpy as np
from PIL import Image
from torchvision.transforms import v2

GOLDEN, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1
K_SYNTHETIC = 6
FIRST = 8

SIZES = [(53, 37), (37, 53), (40, 40), (91, 21), (20, 91), (33, 32), (28, 28), (14, 9)]  # width, height
CENTRES = [(28, 32), (21, 24), (10, 15), (9, 12), (16, 16)]  # side of the crop, of the whole
BORDERS = [(30, 30), (24, 40), (41, 27)]  # width, height
FILTERS = {
    "bilinear": v2.InterpolationMode.BILINEAR,
    "bicubic": v2.InterpolationMode.BICUBIC,
    "lanczos": v2.InterpolationMode.LANCZOS,
}


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def picture(width, height):
    key = 0
    for part in (7, K_SYNTHETIC, width, height):
        key = mix((key ^ part) + GOLDEN & MASK)
    values = [mix(key + (i + 1) * GOLDEN & MASK) % 256 for i in range(3 * width * height)]
    return Image.fromarray(np.array(values, np.uint8).reshape(height, width, 3))


def described(image, scaled):
    values = np.asarray(image).transpose(2, 0, 1).tobytes()
    return {"scaled": list(scaled.size), "crc32": zlib.crc32(values), "first": list(values[:FIRST])}


def centre(image, side, shorter, interpolation):
    scaled = v2.Resize(shorter, interpolation=interpolation, antialias=True)(image)
    return described(v2.CenterCrop(side)(scaled), scaled)


def letterbox(image, width, height, interpolation):
    """Halves are rounded up where sizes are scaled; of an odd number of black lines one more is behind."""
    scale = min(width / image.width, height / image.height)
    size = [max(1, int(scale * extent + 0.5)) for extent in (image.height, image.width)]
    scaled = v2.Resize(size, interpolation=interpolation, antialias=True)(image)
    right, below = width - scaled.width, height - scaled.height
    return described(v2.Pad([right // 2, below // 2, right - right // 2, below - below // 2])(scaled), scaled)


def main():
    cases = []
    for width, height in SIZES:
        image = picture(width, height)
        for name, interpolation in FILTERS.items():
            of = {"picture": [width, height], "filter": name}
            for side, shorter in CENTRES:
                crop = centre(image, side, shorter, interpolation)
                cases.append({**of, "crop": "centre", "input": [side, side], "shorter": shorter, **crop})
            for to_width, to_height in BORDERS:
                crop = letterbox(image, to_width, to_height, interpolation)
                cases.append({**of, "crop": "letterbox", "input": [to_width, to_height], **crop})
    path = pathlib.Path(__file__).parent / "crops.json"
    path.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
    print(f"{path}: {len(cases)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
