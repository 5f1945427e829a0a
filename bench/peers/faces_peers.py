#!/usr/bin/env python3
"""Makes photos of about one megapixel, and times facenet-pytorch on them; prints JSON.

Run by bench/peers/run in its own environment. All faces of each photo are found, cut out and embedded: photo by photo, as its
README does, or --together N photos, whose faces are found in one call, for which they are padded to the size of the largest, and
embedded in one. The embedder has random weights, which take as long as trained ones; --precision is its precision.
"""

import argparse
import importlib.machinery
import json
import pathlib
import sys
import time
import types

from common import software

PIXELS = 1_000_000
LEAST_PIXELS = 350_000  # of a photo that is enlarged
WARM_UP = 3


def parse():
    parser = argparse.ArgumentParser(description="Times facenet-pytorch on a folder of photos.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--make", nargs="+", type=pathlib.Path, metavar="DIR", help="fill the folder from these")
    parser.add_argument("--photos", type=int, default=100, help="how many to make")
    parser.add_argument("--weights", type=pathlib.Path, help="for --make: facenet-pytorch's detector weights go here")
    parser.add_argument("--together", type=int, default=1, metavar="N")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
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
    # Those of a size are neighbours, so that little is padded.
    files = sorted(options.folder.glob("*.jpg"), key=lambda file: (Image.open(file).size, file))

    def look(some):
        images = padded([Image.open(file).convert("RGB") for file in some])
        with torch.inference_mode():
            boxes, _ = detector.detect(images)
            crops = [detector.extract(*one, None) for one in zip(images, boxes) if one[1] is not None]
            if not crops:
                return 0
            with torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bf16"):
                return len(embedder(torch.cat(crops)))

    groups = [files[first : first + options.together] for first in range(0, len(files), options.together)]
    for some in groups[: -(-WARM_UP // options.together)]:
        look(some)
    begin = time.perf_counter()
    faces = sum(map(look, groups))
    rate = len(files) / (time.perf_counter() - begin)
    settings = ["photo by photo" if options.together == 1 else f"{options.together} photos together", software.threads(options)]
    told = software.told("facenet-pytorch", "torch", "pillow", settings=settings)
    return {"photos_per_s": rate, "faces": faces, **told}


def padded(images):
    """All of the size of the largest, black on the right and below."""
    from PIL import ImageOps

    width, height = (max(image.size[axis] for image in images) for axis in (0, 1))
    return [ImageOps.expand(image, (0, 0, width - image.width, height - image.height)) for image in images]


if __name__ == "__main__":
    chosen = parse()
    if not chosen.make:
        software.with_preloads()
    print(json.dumps(make(chosen) if chosen.make else measure(chosen)))
