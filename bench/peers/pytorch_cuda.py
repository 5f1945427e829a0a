#!/usr/bin/env python3
"""Times training on a GPU in Python PyTorch, all data on the GPU and each whole step a CUDA graph; prints JSON.

With --no-graph each kernel is started anew; with --compile torch.compile joins kernels before the step is captured.

Run by tools/gpu-check. What a step does is what pytorch_train.py's does; nothing waits for it: losses are added up on the
GPU, and the time of a round of steps is taken with the GPU's work done at both ends.
"""

import argparse
import json
import statistics
import time

import torch

BATCHES = 16  # different ones, taken in turn
WARM_UP = 5  # eager steps before the capture, as PyTorch's manual asks for


def parse():
    parser = argparse.ArgumentParser(description="Times training on a GPU with CUDA graphs.")
    parser.add_argument("--model", required=True, help="a torchvision model, or mlp:784-256-10")
    parser.add_argument("--classes", type=int, required=True)
    parser.add_argument("--input", required=True, metavar="CxHxW")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--precision", choices=("fp32", "tf32", "bf16"), default="fp32")
    parser.add_argument("--layout", choices=("channels_last", "contiguous"), default="channels_last")
    parser.add_argument("--no-graph", action="store_true", help="start every kernel anew")
    parser.add_argument("--compile", action="store_true", help="let torch.compile join kernels")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="that a round takes, about")
    return parser.parse_args()


def make_model(options, channels):
    if options.model.startswith("mlp:"):
        sizes = [int(size) for size in options.model[4:].split("-")]
        layers = [torch.nn.Flatten()]
        for i, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
            layers.append(torch.nn.Linear(inputs, outputs))
            if i + 2 < len(sizes):
                layers.append(torch.nn.ReLU())
        return torch.nn.Sequential(*layers).train()
    import torchvision

    model = getattr(torchvision.models, options.model)(num_classes=options.classes)
    if channels != 3:
        old = model.conv1
        model.conv1 = torch.nn.Conv2d(channels, old.out_channels, old.kernel_size, old.stride, old.padding, bias=False)
    return model.train()


def main():
    options = parse()
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = options.precision == "tf32"
    device = torch.device("cuda:0")
    channels, height, width = map(int, options.input.split("x"))
    layout = torch.channels_last if options.layout == "channels_last" else torch.contiguous_format
    model = make_model(options, channels).to(device, memory_format=layout)
    images = [
        torch.randn(options.batch, channels, height, width, device=device).to(memory_format=layout)
        for _ in range(BATCHES)
    ]
    labels = [torch.randint(options.classes, (options.batch,), device=device) for _ in range(BATCHES)]
    network = torch.compile(model) if options.compile else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)
    loss_function = torch.nn.CrossEntropyLoss()
    image, label = images[0].clone(memory_format=torch.preserve_format), labels[0].clone()
    total = torch.zeros((), device=device)

    def work():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=options.precision == "bf16", cache_enabled=False):
            loss = loss_function(network(image), label)
        loss.backward()
        optimizer.step()
        total.add_(loss.detach())

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP):
            work()
    torch.cuda.current_stream().wait_stream(side)
    run = work
    if not options.no_graph:
        graph = torch.cuda.CUDAGraph()
        optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            work()
        run = graph.replay

    def steps(count):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for index in range(count):
            image.copy_(images[index % BATCHES])
            label.copy_(labels[index % BATCHES])
            run()
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    steps(WARM_UP)
    count = max(10, int(options.seconds / max(1e-6, steps(10) / 10)))
    rates = [options.batch * count / steps(count) for _ in range(options.rounds)]
    print(json.dumps({
        "images_per_s": statistics.median(rates),
        "rates": rates,
        "steps": count,
        "peak_memory_bytes": torch.cuda.max_memory_reserved(),
        "torch": torch.__version__,
    }))  # fmt: skip


if __name__ == "__main__":
    main()
