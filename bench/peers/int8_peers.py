#!/usr/bin/env python3
"""Quantises an ONNX file with NNCF's post-training quantisation, as its documentation does; prints JSON.

Run by bench/peers/run in its own environment.
"""

import argparse
import contextlib
import json
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
    return parser.parse_args()


def main():
    options = parse()
    generator = numpy.random.default_rng(1)

    def images():
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
