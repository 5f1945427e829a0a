#!/usr/bin/env python3
"""Times other software on a classifier, with images that are in memory already; prints JSON.

Run by bench/peers/run in its own environment. openvino is benchmark_app of the OpenVINO wheel in its best mode
(throughput, its own number of streams); onnxruntime and pytorch compute one call after the other on all threads, ncnn one
image after the other, as it has no batches. --compile is torch.compile with frozen weights, or with --backend another package's.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from common import software

if "pytorch" in sys.argv:
    software.with_preloads()

import numpy  # noqa: E402


def parse():
    parser = argparse.ArgumentParser(description="Times a classifier.")
    parser.add_argument("software", choices=("openvino", "onnxruntime", "pytorch", "ncnn"))
    parser.add_argument("network", help="name in torchvision")
    parser.add_argument("onnx", help="the network as an ONNX file")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--compile", action="store_true", help="of PyTorch")
    parser.add_argument("--backend", choices=("inductor", "zentorch"), default="inductor", help="of --compile")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5)
    return parser.parse_args()


def openvino_rate(options):
    command = [
        *(sys.executable, "-c", "from openvino.tools.benchmark.main import main; main()"),
        *("-m", options.onnx, "-d", "CPU", "-hint", "throughput", "-t", str(max(1, round(options.seconds)))),
        *("-data_shape", f"[{options.batch},3,{options.size},{options.size}]"),
        *("-shape", f"[{options.batch},3,{options.size},{options.size}]"),
        *("-infer_precision", {"fp32": "f32", "bf16": "bf16"}[options.precision]),
    ]
    # With a hint it takes no number of threads: it gets as many CPUs instead.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"Throughput:\s+([\d.]+) FPS", done.stdout)
    if found is None:
        sys.exit(f"benchmark_app failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    streams = re.search(r"NUM_STREAMS:\s+(\d+)", done.stdout)
    settings = ["throughput", f"{streams[1]} streams" if streams else "", software.threads(options)]
    return float(found[1]), software.told("openvino", settings=settings)


def timed(call, batch, seconds):
    for _ in range(3):
        call()
    calls, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        call()
        calls += 1
    return calls * batch / (time.perf_counter() - begin)


def onnxruntime_rate(options, images):
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(options.onnx, settings, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    rate = timed(lambda: session.run(None, {name: images}), options.batch, options.seconds)
    return rate, software.told("onnxruntime", settings=[software.threads(options)])


def pytorch_rate(options, images):
    import torch
    import torchvision

    torch.set_num_threads(options.threads)
    model = getattr(torchvision.models, options.network)(weights=None).eval().to(memory_format=torch.channels_last)
    batch = torch.from_numpy(images).to(memory_format=torch.channels_last)
    packages, settings = ["torch", "torchvision"], [software.mode(options), "channels_last", software.threads(options)]
    if options.compile:
        model = software.compiled(model, options.backend)
    if options.backend != "inductor":
        packages.append(options.backend)
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bf16"):
        begin = time.perf_counter()
        model(batch)
        compile_s = time.perf_counter() - begin if options.compile else 0.0
        rate = timed(lambda: model(batch), options.batch, options.seconds)
    return rate, {"compile_s": compile_s, **software.told(*packages, settings=settings)}


def ncnn_rate(options, images):
    import ncnn
    import pnnx

    with tempfile.TemporaryDirectory() as folder:
        file = shutil.copy(options.onnx, f"{folder}/network.onnx")  # what it becomes is written beside it
        shape = f"inputshape=[1,3,{options.size},{options.size}]"
        subprocess.run([pnnx.EXEC_PATH, file, shape, "fp16=0"], capture_output=True, check=True, cwd=folder)
        network = ncnn.Net()
        network.opt.num_threads = options.threads
        network.opt.use_fp16_packed = network.opt.use_fp16_storage = network.opt.use_fp16_arithmetic = False
        if network.load_param(f"{folder}/network.ncnn.param") != 0 or network.load_model(f"{folder}/network.ncnn.bin") != 0:
            sys.exit("ncnn can't read what pnnx made of the ONNX file")
    batch = [ncnn.Mat(image) for image in images]

    def call():
        for image in batch:
            extractor = network.create_extractor()
            extractor.input("in0", image)
            numpy.array(extractor.extract("out0")[1])

    rate = timed(call, options.batch, options.seconds)
    return rate, software.told("ncnn", "pnnx", settings=["image by image", software.threads(options)])


def main():
    options = parse()
    images = numpy.random.default_rng(1).random((options.batch, 3, options.size, options.size), dtype=numpy.float32)
    rates = {"onnxruntime": onnxruntime_rate, "pytorch": pytorch_rate, "ncnn": ncnn_rate}
    rate, told = openvino_rate(options) if options.software == "openvino" else rates[options.software](options, images)
    print(json.dumps({"images_per_s": rate, **told}))


if __name__ == "__main__":
    main()
