#!/usr/bin/env python3
"""Times torchvision's ImageFolder with a DataLoader: reading, decoding and resizing; prints JSON.

Run by bench/peers/run in its own environment. The images stay 8 bit, as evener's do, and the workers are up before the
clock runs: nothing but reading, decoding, resizing and batching is in the time. --make writes the photos first.
"""

import argparse
import json
import os
import pathlib
import time

import numpy
import torch
from PIL import Image
from torchvision import datasets, transforms

from common import software


def parse():
    parser = argparse.ArgumentParser(description="Times ImageFolder and DataLoader.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--make", type=int, metavar="N", help="write N photo-like JPEG files of 500x375 pixels, and stop")
    parser.add_argument("--size", default="224x224", metavar="WxH")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32)
    return parser.parse_args()


def make(folder, count):
    """Random fields of all scales, whose spectrum falls as that of photos does."""
    for index in range(count):
        generator = numpy.random.default_rng(index)
        image = numpy.zeros((375, 500, 3))
        for step in (125, 50, 25, 10, 5, 2, 1):
            small = generator.normal(0, step**0.7, (375 // step + 1, 500 // step + 1, 3))
            layer = [Image.fromarray(small[:, :, c].astype("float32")).resize((500, 375), Image.BICUBIC) for c in range(3)]
            image += numpy.stack([numpy.asarray(plane) for plane in layer], -1)
        image = 128 + image * (50 / image.std())
        path = folder / ("a" if index % 2 else "b") / f"{index:05}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image.clip(0, 255).astype("uint8")).save(path, quality=90)


def main():
    options = parse()
    if options.make:
        make(options.folder, options.make)
        print(json.dumps({"images": options.make}))
        return
    torch.set_num_threads(1)
    width, height = map(int, options.size.split("x"))
    transform = transforms.Compose([transforms.Resize((height, width)), transforms.PILToTensor()])
    data = datasets.ImageFolder(options.folder, transform=transform)
    # 0 workers decode in this process, which is faster than one worker beside it.
    workers = 0 if options.workers == 1 else options.workers
    loader = torch.utils.data.DataLoader(data, batch_size=options.batch, num_workers=workers, persistent_workers=workers > 0)
    for _ in loader:  # starts the workers and fills the page cache
        pass
    begin = time.perf_counter()
    images = sum(len(labels) for _, labels in loader)
    seconds = time.perf_counter() - begin
    told = software.told("torch", "torchvision", "pillow", settings=[f"{workers} DataLoader workers"])
    print(json.dumps({"images": images, "seconds": seconds, "images_per_s": images / seconds, "pid": os.getpid(), **told}))


if __name__ == "__main__":
    main()
