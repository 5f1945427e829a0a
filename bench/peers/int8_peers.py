#!/usr/bin/env python3
"""Quantises an ONNX file with NNCF's post-training quantisation, as its documentation does; prints JSON.

Run by bench/peers/run in its own environment.
"""

import argparse
import contextlib
import gzip
import json
import pathlib
import sys
import time

import numpy
import openvino

# NNCF tells its progress on stdout, which is for the result.
with contextlib.redirect_stdout(sys.stderr):
    import nncf


def parse():
    parser = argparse.ArgumentParser(description="Quantises with NNCF.")
    parser.add_argument("onnx")
    parser.add_argument("xml", help="file to write")
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--cifar", type=pathlib.Path, help="CIFAR-10's records (.bin.gz) to calibrate with, not noise")
    return parser.parse_args()


def cifar_images(path, count):
    """Evenly spread over the file, normalised as ImageNet's, a batch of one each."""
    records = numpy.frombuffer(gzip.decompress(path.read_bytes()), numpy.uint8).reshape(-1, 1 + 3 * 32 * 32)
    count = min(count, len(records))
    mean, deviation = numpy.array((0.485, 0.456, 0.406)), numpy.array((0.229, 0.224, 0.225))
    for index in range(count):
        pixels = records[index * len(records) // count, 1:].reshape(3, 32, 32) / 255
        yield ((pixels - mean[:, None, None]) / deviation[:, None, None]).astype(numpy.float32)[None]


def main():
    options = parse()
    generator = numpy.random.default_rng(1)

    def images():
        if options.cifar:
            yield from cifar_images(options.cifar, options.images)
            return
        for _ in range(options.images):
            yield generator.standard_normal((1, 3, options.size, options.size), dtype=numpy.float32)

    begin = time.perf_counter()
    model = openvino.Core().read_model(options.onnx)
    with contextlib.redirect_stdout(sys.stderr):
        quantized = nncf.quantize(model, nncf.Dataset(images()), subset_size=options.images)
    openvino.save_model(quantized, options.xml, compress_to_fp16=False)
    print(json.dumps({"seconds": time.perf_counter() - begin}))


if __name__ == "__main__":
    main()
