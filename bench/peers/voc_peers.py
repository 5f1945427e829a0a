#!/usr/bin/env python3
"""Times a pool of Python processes that reads images with PASCAL VOC's XML; prints JSON.

Run by bench/peers/run in its own environment. Each task of the pool is one XML file: ElementTree reads its boxes, Pillow
decodes the image and brings it to the size, and the boxes are scaled along. --make writes a set first.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import time
import xml.etree.ElementTree

import numpy
from PIL import Image

import pytorch_load
from common import software


def parse():
    parser = argparse.ArgumentParser(description="Times a process pool over images with VOC's XML.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--make", type=int, metavar="N", help="write N photo-like images of 500x375 pixels with XML, and stop")
    parser.add_argument("--size", default="224x224", metavar="WxH")
    parser.add_argument("--workers", type=int, default=1)
    return parser.parse_args()


def make(folder, count):
    """The photos of pytorch_load.py, each with as many boxes as VOC's images have."""
    pytorch_load.make(folder / "JPEGImages", count)
    (folder / "Annotations").mkdir()
    for index, photo in enumerate(sorted((folder / "JPEGImages").rglob("*.jpg"))):
        photo = photo.rename(folder / "JPEGImages" / photo.name)
        generator = numpy.random.default_rng(index)
        objects = ""
        for _ in range(generator.integers(1, 6)):
            left, top = generator.integers(1, 400), generator.integers(1, 300)
            right, bottom = left + generator.integers(20, 100), top + generator.integers(20, 75)
            objects += (
                f"<object><name>thing{generator.integers(20)}</name><difficult>0</difficult><bndbox><xmin>{left}</xmin>"
                f"<ymin>{top}</ymin><xmax>{right}</xmax><ymax>{bottom}</ymax></bndbox></object>\n"
            )
        (folder / "Annotations" / f"{photo.stem}.xml").write_text(
            f"<annotation><filename>{photo.name}</filename><size><width>500</width><height>375</height></size>{objects}</annotation>\n"
        )
    for empty in (folder / "JPEGImages" / "a", folder / "JPEGImages" / "b"):
        if empty.exists():
            empty.rmdir()


def read(task):
    xml_path, width, height = task
    root = xml.etree.ElementTree.parse(xml_path).getroot()
    image_path = xml_path.parent.parent / "JPEGImages" / f"{xml_path.stem}.jpg"
    with Image.open(image_path) as image:
        wider, higher = width / image.width, height / image.height
        pixels = numpy.asarray(image.convert("RGB").resize((width, height), Image.BILINEAR))
    boxes = []
    for found in root.iter("object"):
        box = found.find("bndbox")
        x1, y1, x2, y2 = (float(box.find(name).text) for name in ("xmin", "ymin", "xmax", "ymax"))
        boxes.append((found.find("name").text, (x1 - 1) * wider, (y1 - 1) * higher, x2 * wider, y2 * higher))
    return pixels, boxes


def main():
    options = parse()
    if options.make:
        make(options.folder, options.make)
        print(json.dumps({"images": options.make}))
        return
    width, height = map(int, options.size.split("x"))
    tasks = [(path, width, height) for path in sorted(options.folder.rglob("*.xml"))]
    with multiprocessing.Pool(options.workers) as pool:
        pool.map(read, tasks[: 4 * options.workers])  # the processes are up
        begin = time.perf_counter()
        images = sum(1 for _ in pool.imap_unordered(read, tasks, chunksize=8))
        seconds = time.perf_counter() - begin
    told = software.told("pillow", settings=[f"{options.workers} processes"])
    print(json.dumps({"images": images, "seconds": seconds, "images_per_s": images / seconds, "pid": os.getpid(), **told}))


if __name__ == "__main__":
    main()
