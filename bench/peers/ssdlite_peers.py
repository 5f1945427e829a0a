#!/usr/bin/env python3
"""Times training steps of SSDLite on MobileNetV2 in Python PyTorch, on data that lies in memory; prints JSON.

Run by bench/peers/run in its own environment. The network is evener's ssdlite_mobilenet_v2 of torchvision's pieces: its
MobileNetV2, cut where the strides are, its extra levels, heads, anchors, matching and loss. A step is forward, matching and
loss, backward, clipping and AdamW; its images are ready as normalised floats in the model's layout. --make writes a set
for both sides first: images with VOC's XML, as many objects on each as photos of blood cells have. With --compile the network
and its gradients are torch.compile's, which the warm-up compiles; matching and loss, whose shapes change with each batch, stay eager.
"""

import argparse
import contextlib
import functools
import json
import pathlib
import resource
import statistics
import time
import xml.etree.ElementTree
from collections import OrderedDict

from common import software

software.with_preloads()

import numpy  # noqa: E402
import torch  # noqa: E402
import torchvision  # noqa: E402
from PIL import Image, ImageDraw  # noqa: E402
from torchvision.models.detection import ssd, ssdlite  # noqa: E402
from torchvision.models.detection.anchor_utils import DefaultBoxGenerator  # noqa: E402
from torchvision.models.detection.image_list import ImageList  # noqa: E402
from torchvision.ops import box_iou  # noqa: E402

BATCHES = 4  # different ones, taken in turn
CLASSES = ("red", "violet", "grey")  # sorted as the numbers of their classes are


def parse():
    parser = argparse.ArgumentParser(description="Times training steps of SSDLite on MobileNetV2.")
    parser.add_argument("--data", type=pathlib.Path, required=True, help="the folder that --make writes")
    parser.add_argument("--make", type=int, metavar="N", help="write N images with XML there, and stop")
    parser.add_argument("--model", help="is always ssdlite_mobilenet_v2")
    parser.add_argument("--classes", type=int, default=len(CLASSES))
    parser.add_argument("--input", default="3x240x320", metavar="CxHxW")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--layout", choices=("channels_last", "contiguous"), default="channels_last")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--warm-up", type=int, default=10)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def make(folder, count, channels, height, width):
    """Discs of three colours on a bright ground: a dozen red ones, and now and then a violet or a grey one."""
    (folder / "JPEGImages").mkdir(parents=True)
    (folder / "Annotations").mkdir()
    sizes = {"red": (52, 62), "violet": (70, 110), "grey": (20, 30)}
    colours = {"red": (208, 120, 130), "violet": (110, 70, 150), "grey": (150, 150, 165)}
    for index in range(count):
        random = numpy.random.default_rng(index)
        ground = random.normal(215, 6, (height, width, channels)).clip(0, 255).astype(numpy.uint8)
        image = Image.fromarray(ground)
        draw, objects = ImageDraw.Draw(image), ""
        for name in ["red"] * int(random.integers(8, 16)) + ["violet"] * int(random.integers(2)) + ["grey"] * int(random.integers(3)):
            side = int(random.integers(*sizes[name]))
            left, top = int(random.integers(1, width - side)), int(random.integers(1, height - side))
            draw.ellipse((left, top, left + side, top + side), fill=colours[name], outline=(90, 60, 80))
            objects += (
                f"<object><name>{name}</name><difficult>0</difficult><bndbox><xmin>{left + 1}</xmin><ymin>{top + 1}</ymin>"
                f"<xmax>{left + side + 1}</xmax><ymax>{top + side + 1}</ymax></bndbox></object>\n"
            )
        image.save(folder / "JPEGImages" / f"{index:04}.jpg", quality=92)
        (folder / "Annotations" / f"{index:04}.xml").write_text(
            f"<annotation><filename>{index:04}.jpg</filename><size><width>{width}</width><height>{height}</height></size>\n"
            f"{objects}</annotation>\n"
        )


def read(path):
    """An image from -1 to 1, and its targets."""
    names = sorted(CLASSES)
    image = numpy.asarray(Image.open(path.parent.parent / "JPEGImages" / f"{path.stem}.jpg").convert("RGB"))
    boxes, labels = [], []
    for found in xml.etree.ElementTree.parse(path).getroot().iter("object"):
        x1, y1, x2, y2 = (float(found.find(f"bndbox/{name}").text) for name in ("xmin", "ymin", "xmax", "ymax"))
        boxes.append((x1 - 1, y1 - 1, x2, y2))
        labels.append(names.index(found.find("name").text) + 1)
    pixels = torch.from_numpy(image.copy()).permute(2, 0, 1).float() / 127.5 - 1
    return pixels, {"boxes": torch.tensor(boxes).reshape(-1, 4), "labels": torch.tensor(labels, dtype=torch.int64)}


class Levels(torch.nn.Module):
    """MobileNetV2 with the widened images of its last two strides, and four levels after it."""

    def __init__(self, norm_layer):
        super().__init__()
        features = torchvision.models.mobilenet_v2().features
        sequence = torch.nn.Sequential
        self.features = torch.nn.ModuleList([
            sequence(*features[:7], features[7].conv[0]),
            sequence(features[7].conv[1:], *features[8:14], features[14].conv[0]),
            sequence(features[14].conv[1:], *features[15:]),
        ])  # fmt: skip
        channels = [1280, 512, 256, 256, 128]
        self.extra = torch.nn.ModuleList(ssdlite._extra_block(a, b, norm_layer) for a, b in zip(channels, channels[1:]))
        ssdlite._normal_init(self.extra)
        self.channels = [192, 576, *channels]

    def forward(self, x):
        found = OrderedDict()
        for part in [*self.features, *self.extra]:
            x = part(x)
            found[str(len(found))] = x
        return found


def make_model(classes, size):
    norm_layer = functools.partial(torch.nn.BatchNorm2d, eps=0.001, momentum=0.03)
    levels = Levels(norm_layer)
    anchors = DefaultBoxGenerator([[2, 3] for _ in levels.channels], min_ratio=0.1, max_ratio=0.95)
    head = ssdlite.SSDLiteHead(levels.channels, anchors.num_anchors_per_location(), classes + 1, norm_layer)
    return ssd.SSD(levels, anchors, size, classes + 1, head=head).train()


def network_of(model):
    """Images -> feature maps and raw outputs."""

    def network(images):
        features = list(model.backbone(images).values())
        return features, {name: values.float() for name, values in model.head(features).items()}

    return network


def loss_of(model, network, images, targets, mixed):
    """SSD.forward in training, without the transform: the images have their size."""
    with mixed():
        features, outputs = network(images)
    anchors = model.anchor_generator(ImageList(images, [tuple(images.shape[-2:])] * len(images)), features)
    matched = [
        model.proposal_matcher(box_iou(target["boxes"], own))
        if len(target["boxes"])
        else torch.full((len(own),), -1, dtype=torch.int64)
        for own, target in zip([each.float() for each in anchors], targets)
    ]
    losses = model.compute_loss(targets, outputs, [each.float() for each in anchors], matched)
    return losses["bbox_regression"] + losses["classification"]


def main():
    options = parse()
    channels, height, width = map(int, options.input.split("x"))
    if options.make:
        make(options.data, options.make, channels, height, width)
        print(json.dumps({"images": options.make}))
        return
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    layout = torch.channels_last if options.layout == "channels_last" else torch.contiguous_format
    model = make_model(options.classes, (width, height)).to(memory_format=layout)
    samples = [read(path) for path in sorted(options.data.rglob("*.xml"))[: BATCHES * options.batch]]
    images = [torch.stack([image for image, _ in samples[i :: BATCHES]]).to(memory_format=layout) for i in range(BATCHES)]
    targets = [[target for _, target in samples[i :: BATCHES]] for i in range(BATCHES)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.001, weight_decay=0.01, fused=True)

    network = network_of(model)
    if options.compile:
        network = torch.compile(network, dynamic=False)

    def mixed():
        return torch.autocast("cpu", torch.bfloat16) if options.precision == "bf16" else contextlib.nullcontext()

    def step(index):
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model, network, images[index % BATCHES], targets[index % BATCHES], mixed)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10)
        optimizer.step()
        return loss.item()

    seconds, losses = [], []
    for index in range(options.warm_up + options.steps):
        begin = time.perf_counter()
        losses.append(step(index))
        seconds.append(time.perf_counter() - begin)
    first, seconds = seconds[0], seconds[options.warm_up :]
    print(json.dumps({
        "images_per_s": statistics.median(options.batch / s for s in seconds),
        "step_s": seconds,
        "first_loss": losses[0],
        "last_loss": losses[-1],
        "parameters": sum(p.numel() for p in model.parameters()),
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "compile_s": first - statistics.median(seconds) if options.compile else 0.0,
        **software.told("torch", "torchvision", settings=[software.mode(options), options.layout, software.threads(options)]),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
