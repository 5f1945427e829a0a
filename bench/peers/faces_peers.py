#!/usr/bin/env python3
"""Makes photos of about one megapixel, and times facenet-pytorch on them; prints JSON.

Run by bench/peers/run in its own environment. Photos are done as its README does: one after the other, all faces of each
found, cut out and embedded. The embedder has random weights, which take as long as trained ones.
"""

import argparse
import importlib.machinery
import json
import pathlib
import sys
import time
import types

PIXELS = 1_000_000
LEAST_PIXELS = 350_000  # of a photo that is enlarged
WARM_UP = 3


def parse():
    parser = argparse.ArgumentParser(description="Times facenet-pytorch on a folder of photos.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--make", nargs="+", type=pathlib.Path, metavar="DIR", help="fill the folder from these")
    parser.add_argument("--photos", type=int, default=100, help="how many to make")
    parser.add_argument("--weights", type=pathlib.Path, help="for --make: facenet-pytorch's detector weights go here")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def facenet():
    """facenet_pytorch, which imports what it downloads weights with; nothing is downloaded here."""
    for name in ("requests", "requests.adapters", "tqdm", "tqdm.auto"):
        module = sys.modules.setdefault(name, types.ModuleType(name))
        if module.__spec__ is None:
            module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    sys.modules["requests.adapters"].HTTPAdapter = object
    sys.modules["tqdm"].tqdm = sys.modules["tqdm.auto"].tqdm = object
    import facenet_pytorch

    return facenet_pytorch


def make(options):
    from PIL import Image

    files = [f for source in options.make for f in sorted(source.rglob("*")) if f.suffix in (".jpg", ".jpeg", ".png")]
    images = [image for image in map(Image.open, files) if image.width * image.height >= LEAST_PIXELS]
    for number in range(options.photos):
        # Each round a little smaller, so that no two photos are the same.
        image = images[number % len(images)].convert("RGB")
        scale = (PIXELS / (image.width * image.height)) ** 0.5 * (1 - 0.01 * (number // len(images)))
        size = (round(image.width * scale), round(image.height * scale))
        image.resize(size, Image.Resampling.BICUBIC).save(options.folder / f"photo{number:04}.jpg", quality=90)
    if options.weights:
        options.weights.mkdir()
        data = pathlib.Path(facenet().__file__).parent / "data"
        for part in ("pnet.pt", "rnet.pt", "onet.pt"):
            (options.weights / part).write_bytes((data / part).read_bytes())
    return {"photos": options.photos}


def measure(options):
    import torch
    from PIL import Image

    torch.set_num_threads(options.threads)
    library = facenet()
    detector = library.MTCNN(keep_all=True)
    embedder = library.InceptionResnetV1(classify=False).eval()
    files = sorted(options.folder.glob("*.jpg"))

    def look(file):
        image = Image.open(file).convert("RGB")
        with torch.inference_mode():
            boxes, _ = detector.detect(image)
            crops = None if boxes is None else detector.extract(image, boxes, None)
            return 0 if crops is None else len(embedder(crops))

    for file in files[:WARM_UP]:
        look(file)
    begin = time.perf_counter()
    faces = sum(map(look, files))
    return {"photos_per_s": len(files) / (time.perf_counter() - begin), "faces": faces}


if __name__ == "__main__":
    chosen = parse()
    print(json.dumps(make(chosen) if chosen.make else measure(chosen)))
