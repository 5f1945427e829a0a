#!/usr/bin/env python3
"""Times torchvision's way from JPEG files to answers: ImageFolder, its transforms, a DataLoader, a network; prints JSON.

Run by bench/peers/run in its own environment, on files that pytorch_load.py --make wrote. The workers are up, the network is
compiled, and the files are in the page cache before the clock runs. The network has random weights, the memory layout that is
faster on CPUs, and no gradients; with --compile torch.compile takes its weights for constants.
"""

import argparse
import json
import pathlib
import time

from common import software

software.with_preloads()

import torch  # noqa: E402
import torchvision  # noqa: E402
from torchvision import datasets, transforms  # noqa: E402


def parse():
    parser = argparse.ArgumentParser(description="Times answers to a folder of images.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--network", default="resnet18", help="name in torchvision")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--workers", type=int, default=0, help="processes that decode; 0: this one does")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--batch", type=int, default=16)
    return parser.parse_args()


def main():
    options = parse()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    network = torchvision.models.get_model(options.network).eval().to(memory_format=torch.channels_last)
    transform = transforms.Compose(
        [
            transforms.Resize(256),
            transforms.CenterCrop(224),
            transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )
    data = datasets.ImageFolder(options.folder, transform=transform)
    workers = options.workers
    loader = torch.utils.data.DataLoader(data, batch_size=options.batch, num_workers=workers, persistent_workers=workers > 0)
    if options.compile:
        network = software.compiled(network)

    def answers():
        found = []
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bf16"):
            for images, _ in loader:
                scores = network(images.contiguous(memory_format=torch.channels_last))
                found += scores.float().softmax(1).topk(5).indices.tolist()
        return found

    begin = time.perf_counter()
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bf16"):
        network(torch.rand(options.batch, 3, 224, 224).contiguous(memory_format=torch.channels_last))
    compile_s = time.perf_counter() - begin if options.compile else 0.0
    answers()
    begin = time.perf_counter()
    count = len(answers())
    seconds = time.perf_counter() - begin
    settings = [software.mode(options), "channels_last", f"{workers} DataLoader workers", software.threads(options)]
    told = software.told("torch", "torchvision", "pillow", settings=settings)
    print(json.dumps({"images": count, "seconds": seconds, "images_per_s": count / seconds, "compile_s": compile_s, **told}))


if __name__ == "__main__":
    main()
