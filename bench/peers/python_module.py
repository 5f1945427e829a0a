#!/usr/bin/env python3
"""Times a network that evener's Python module has loaded, with images that are in memory already; prints JSON.

Run by bench/peers/run with the module that was built, in the Python that it was built for.
"""

import argparse
import json
import time

import evener
import numpy


def main():
    parser = argparse.ArgumentParser(description="Times evener.load(...)(images).")
    parser.add_argument("network")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--images", type=int, default=16, help="of a call")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--on", default="cpu")
    parser.add_argument("--seconds", type=float, default=4)
    options = parser.parse_args()
    network = evener.load(options.network, batch=options.batch, precision=options.precision, on=options.on)
    shape = (options.images, *network.input_shape)
    images = numpy.random.default_rng(1).integers(0, 256, shape, numpy.uint8)
    network(images, as_they_are=True)
    calls, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < options.seconds:
        network(images, as_they_are=True)
        calls += 1
    print(json.dumps({"images_per_s": calls * options.images / (time.perf_counter() - begin)}))


if __name__ == "__main__":
    main()
