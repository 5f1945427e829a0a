#!/usr/bin/env python3
"""Times training steps of a torchvision model in PyTorch's DistributedDataParallel over Gloo; prints JSON.

Run by bench/peers/run in its own environment. Starts one process per replica with --threads threads each, every one
with its part of the batch in memory as normalised floats; rank 0's times are printed. Batch-norm is local, DDP's usual.
"""

import argparse
import json
import os
import statistics
import tempfile
import time

from common import software

software.with_preloads()

import torch  # noqa: E402
import torch.distributed  # noqa: E402
import torch.multiprocessing  # noqa: E402

from pytorch_train import BATCHES, make_model  # noqa: E402


def parse():
    parser = argparse.ArgumentParser(description="Times training steps in DistributedDataParallel over Gloo.")
    parser.add_argument("--model", required=True)
    parser.add_argument("--classes", type=int, required=True)
    parser.add_argument("--input", required=True, metavar="CxHxW")
    parser.add_argument("--batch", type=int, required=True, help="of all replicas together")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of each replica")
    parser.add_argument("--warm-up", type=int, default=10)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def replica(rank, options, store, results):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[rank * options.threads : (rank + 1) * options.threads])
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=options.replicas)
    channels, height, width = map(int, options.input.split("x"))
    share = options.batch // options.replicas
    layout = torch.channels_last
    model = torch.nn.parallel.DistributedDataParallel(make_model(options, channels).to(memory_format=layout))
    images = [torch.randn(share, channels, height, width).to(memory_format=layout) for _ in range(BATCHES)]
    labels = [torch.randint(options.classes, (share,)) for _ in range(BATCHES)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)
    loss_function = torch.nn.CrossEntropyLoss()
    seconds = []
    for index in range(options.warm_up + options.steps):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bf16"):
            loss = loss_function(model(images[index % BATCHES]), labels[index % BATCHES])
        loss.backward()
        optimizer.step()
        loss.item()
        if index >= options.warm_up:
            seconds.append(time.perf_counter() - begin)
    if rank == 0:
        results.put(seconds)
    torch.distributed.destroy_process_group()


def main():
    options = parse()
    results = torch.multiprocessing.get_context("spawn").SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        processes = torch.multiprocessing.spawn(
            replica, (options, os.path.join(folder, "store"), results), nprocs=options.replicas, join=False
        )
        seconds = results.get()
        processes.join()
    rates = [options.batch / s for s in seconds]
    settings = ["eager", "channels_last", f"{options.replicas} processes of {software.threads(options)}", "Gloo"]
    told = software.told("torch", "torchvision", settings=settings)
    print(json.dumps({"images_per_s": statistics.median(rates), "step_s": seconds, **told}))


if __name__ == "__main__":
    main()
