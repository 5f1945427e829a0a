#!/usr/bin/env python3
"""Makes weights, images and PyTorch's answers of a classifier or a detector, or gives ONNX Runtime's answers to those images, or
those of evener's Python module; prints JSON: each output by its name.

Run by bench/peers/run in its own environment. Weights are random, with batch-norm statistics taken from a pass over
random images: with the first values, 0 and 1, most networks' answers are the same for every image. A detector's outputs
are raw: how far boxes lie from their anchors, and the scores of each anchor.
"""

import argparse
import importlib.util
import json
import pathlib
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def parse():
    parser = argparse.ArgumentParser(description="Answers of PyTorch, of ONNX Runtime and of evener.")
    parser.add_argument("software", choices=("pytorch", "onnxruntime", "evener"))
    parser.add_argument("folder", type=pathlib.Path, help="of weights.pth, images.npy, model.onnx")
    parser.add_argument("--network", help="name in torchvision, a detector's too, or resnet20 to resnet56 (CIFAR)")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--images", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--module", type=pathlib.Path, help="folder of evener's Python module")
    return parser.parse_args()


def network_of(name):
    import torchvision

    if hasattr(torchvision.models, name):
        return getattr(torchvision.models, name)(weights=None)
    if hasattr(torchvision.models.detection, name):
        return getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None)
    spec = importlib.util.spec_from_file_location("resnet_cifar", ROOT / "tests" / "golden" / "resnet_cifar.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CifarResNet(int(name.removeprefix("resnet")))


def outputs_of(model, images):
    if not hasattr(model, "anchor_generator"):
        return {"output": model(images)}
    found = model.head(list(model.backbone(images).values()))
    return {"boxes": found["bbox_regression"], "scores": found["cls_logits"]}


def normalized(images):
    mean, deviation = (numpy.array(values, dtype=numpy.float32).reshape(1, 3, 1, 1) for values in (MEAN, DEVIATION))
    return (images.astype(numpy.float32) / 255 - mean) / deviation


def pytorch(options):
    import torch

    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    model = network_of(options.network)
    images = numpy.random.default_rng(1).integers(0, 256, (options.images, 3, options.size, options.size), dtype=numpy.uint8)
    with torch.inference_mode():
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.momentum = None  # the statistics are those of the pass
        outputs_of(model.train(), torch.from_numpy(normalized(numpy.random.default_rng(2).integers(0, 256, (8, 3, 128, 128)))))
        answers = outputs_of(model.eval(), torch.from_numpy(normalized(images)))
    torch.save(model.state_dict(), options.folder / "weights.pth")
    numpy.save(options.folder / "images.npy", images)
    return {name: output.numpy() for name, output in answers.items()}


def onnxruntime(options):
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(options.folder / "model.onnx", settings, providers=["CPUExecutionProvider"])
    images = numpy.load(options.folder / "images.npy")
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {session.get_inputs()[0].name: normalized(images)})))


def evener(options):
    sys.path.insert(0, str(options.module))
    import evener

    network = evener.load(
        options.network,
        weights=options.folder / "weights.pth",
        normalize="imagenet",
        size=f"{options.size}x{options.size}",
        precision="fp32",
        on=f"cpu/t{options.threads}",
    )
    return network(numpy.load(options.folder / "images.npy"), as_they_are=True)


def main():
    options = parse()
    answers = {"pytorch": pytorch, "onnxruntime": onnxruntime, "evener": evener}[options.software](options)
    print(json.dumps({"answers": {name: output.tolist() for name, output in answers.items()}}))


if __name__ == "__main__":
    main()
