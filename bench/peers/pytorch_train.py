#!/usr/bin/env python3
"""Times training steps of a torchvision model in Python PyTorch, on data that lies in memory; prints JSON.

Run by bench/peers/run in its own environment. A step is forward, loss, backward and SGD with momentum, the usual loop;
its images are ready as normalised floats in the model's layout, so nothing but the step is in the time. With --compile
forward and loss, and what autograd makes of them, are torch.compile's, which the warm-up compiles.
"""

import argparse
import contextlib
import json
import resource
import statistics
import time

from common import software

software.with_preloads()

import torch  # noqa: E402
import torchvision  # noqa: E402

BATCHES = 4  # different ones, taken in turn


def parse():
    parser = argparse.ArgumentParser(description="Times training steps of a torchvision model.")
    parser.add_argument("--model", required=True)
    parser.add_argument("--classes", type=int, required=True)
    parser.add_argument("--input", required=True, metavar="CxHxW")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--layout", choices=("channels_last", "contiguous"), default="channels_last")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--warm-up", type=int, default=10)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def make_model(options, channels):
    model = getattr(torchvision.models, options.model)(num_classes=options.classes)
    if channels != 3:
        old = model.conv1
        model.conv1 = torch.nn.Conv2d(channels, old.out_channels, old.kernel_size, old.stride, old.padding, bias=False)
    return model.train()


def main():
    options = parse()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    channels, height, width = map(int, options.input.split("x"))
    layout = torch.channels_last if options.layout == "channels_last" else torch.contiguous_format
    model = make_model(options, channels).to(memory_format=layout)
    images = [torch.randn(options.batch, channels, height, width).to(memory_format=layout) for _ in range(BATCHES)]
    labels = [torch.randint(options.classes, (options.batch,)) for _ in range(BATCHES)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)
    loss_function = torch.nn.CrossEntropyLoss()

    def forward(batch, expected):
        return loss_function(model(batch), expected)

    loss_of = torch.compile(forward, dynamic=False) if options.compile else forward

    def mixed():
        return torch.autocast("cpu", torch.bfloat16) if options.precision == "bf16" else contextlib.nullcontext()

    def step(index):
        optimizer.zero_grad(set_to_none=True)
        with mixed():
            loss = loss_of(images[index % BATCHES], labels[index % BATCHES])
        loss.backward()
        optimizer.step()
        return loss.item()

    seconds = []
    for index in range(options.warm_up + options.steps):
        begin = time.perf_counter()
        step(index)
        seconds.append(time.perf_counter() - begin)
    first, seconds = seconds[0], seconds[options.warm_up :]
    rates = [options.batch / s for s in seconds]
    print(json.dumps({
        "images_per_s": statistics.median(rates),
        "step_s": seconds,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "compile_s": first - statistics.median(seconds) if options.compile else 0.0,
        **software.told("torch", "torchvision", settings=[software.mode(options), options.layout, software.threads(options)]),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
