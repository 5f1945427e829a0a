#!/usr/bin/env python3
"""Times the training of a two-layer perceptron on MNIST, in NumPy by hand or in PyTorch; prints JSON.

Run by bench/peers/run in its own environment. The images lie in memory as normalised float32, a batch is gathered by an
index array, a step is forward, softmax cross-entropy, backward and plain SGD. With --compile PyTorch's forward and loss, and
what autograd makes of them, are torch.compile's, compiled before the first epoch.
"""

import argparse
import json
import os
import pathlib
import resource
import struct
import sys
import time

from common import software

if "pytorch" in sys.argv:
    software.with_preloads()


def parse():
    parser = argparse.ArgumentParser(description="Times the training of 784-HIDDEN-10 on IDX files.")
    parser.add_argument("--library", choices=("numpy", "pytorch"), required=True)
    parser.add_argument("--compile", action="store_true", help="of PyTorch")
    parser.add_argument("--data", required=True, metavar="DIR", help="with train-images-idx3-ubyte and its labels")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.3)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def images_and_labels(np, folder):
    def payload(name, header):
        data = (pathlib.Path(folder) / name).read_bytes()
        return struct.unpack(f">{header}i", data[: 4 * header]), np.frombuffer(data, np.uint8, offset=4 * header)

    (_, count, height, width), pixels = payload("train-images-idx3-ubyte", 4)
    _, labels = payload("train-labels-idx1-ubyte", 2)
    images = pixels.reshape(count, height * width).astype(np.float32) / 255
    return (images - images.mean()) / images.std(), labels.astype(np.int64)


def uniform(np, generator, shape, fan_in):
    limit = fan_in**-0.5
    return generator.uniform(-limit, limit, shape).astype(np.float32)


def train_numpy(np, options, images, labels):
    """Weights as (inputs, outputs); results go into arrays that are kept, updates are in place."""
    generator = np.random.default_rng(options.seed)
    inputs, classes = images.shape[1], 10
    w1, b1 = (uniform(np, generator, shape, inputs) for shape in ((inputs, options.hidden), options.hidden))
    w2, b2 = (uniform(np, generator, shape, options.hidden) for shape in ((options.hidden, classes), classes))
    g1, g2 = np.empty_like(w1), np.empty_like(w2)
    losses, seconds = [], []
    for _ in range(options.epochs):
        begin = time.perf_counter()
        order = generator.permutation(len(images))
        total = 0.0
        for first in range(0, len(order), options.batch):
            chosen = order[first : first + options.batch]
            x, target = images[chosen], labels[chosen]
            rows = np.arange(len(chosen))
            h = x @ w1
            h += b1
            np.maximum(h, 0, out=h)
            z = h @ w2
            z += b2
            z -= z.max(axis=1, keepdims=True)
            e = np.exp(z)
            sums = e.sum(axis=1, keepdims=True)
            total += float(np.log(sums).sum() - z[rows, target].sum())
            e /= sums
            e[rows, target] -= 1
            e *= options.lr / len(chosen)
            dh = e @ w2.T
            dh *= h > 0
            np.dot(h.T, e, out=g2)
            np.dot(x.T, dh, out=g1)
            w2 -= g2
            b2 -= e.sum(axis=0)
            w1 -= g1
            b1 -= dh.sum(axis=0)
        seconds.append(time.perf_counter() - begin)
        losses.append(total / len(images))
    correct = int((np.maximum(images @ w1 + b1, 0) @ w2 + b2).argmax(axis=1).__eq__(labels).sum())
    return losses, seconds, correct / len(images)


def train_pytorch(options, images, labels):
    import torch

    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    images, labels = torch.from_numpy(images), torch.from_numpy(labels)
    model = torch.nn.Sequential(
        torch.nn.Linear(images.shape[1], options.hidden), torch.nn.ReLU(), torch.nn.Linear(options.hidden, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, fused=True)
    loss_function = torch.nn.CrossEntropyLoss()

    def forward(batch, expected):
        return loss_function(model(batch), expected)

    loss_of = torch.compile(forward, dynamic=False) if options.compile else forward
    begin = time.perf_counter()
    for size in {options.batch, len(images) % options.batch or options.batch}:  # the last batch is a smaller one
        loss_of(images[:size], labels[:size]).backward()
    compile_s = time.perf_counter() - begin if options.compile else 0.0
    losses, seconds = [], []
    for _ in range(options.epochs):
        begin = time.perf_counter()
        order = torch.randperm(len(images))
        total = torch.zeros(())
        for first in range(0, len(order), options.batch):
            chosen = order[first : first + options.batch]
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(images[chosen], labels[chosen])
            loss.backward()
            optimizer.step()
            total += loss.detach() * len(chosen)
        losses.append(total.item() / len(images))
        seconds.append(time.perf_counter() - begin)
    with torch.no_grad():
        accuracy = (model(images).argmax(1) == labels).float().mean().item()
    return losses, seconds, accuracy, compile_s


def blas_of_numpy():
    """Its library and the kernels that this has chosen: "OpenBLAS 0.3.29, SkylakeX"."""
    import threadpoolctl

    found = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]
    return ", ".join(f"{one['internal_api']} {one['version']} with kernels for {one.get('architecture')}" for one in found)


def main():
    options = parse()
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # read when NumPy is imported
        os.environ[name] = str(options.threads)
    import numpy as np

    images, labels = images_and_labels(np, options.data)
    if options.library == "numpy":
        losses, seconds, accuracy = train_numpy(np, options, images, labels)
        compile_s, told = 0.0, software.told("numpy", settings=[blas_of_numpy(), software.threads(options)])
    else:
        losses, seconds, accuracy, compile_s = train_pytorch(options, images, labels)
        told = software.told("torch", settings=[software.mode(options), software.threads(options)])
    print(json.dumps({
        "images_per_s": len(images) * options.epochs / sum(seconds),
        "epoch_s": seconds,
        "compile_s": compile_s,
        **told,
        "train_loss": losses,
        "train_accuracy": accuracy,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }))  # fmt: skip


if __name__ == "__main__":
    main()
