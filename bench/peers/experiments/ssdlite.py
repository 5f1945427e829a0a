"""Training steps of SSDLite on MobileNetV2, a detector, against the same definition of torchvision's pieces."""

import pathlib
from dataclasses import replace

from common import training
from common.context import Failure

TITLE = "SSDLite on MobileNetV2, 3 classes, input 3x240x320, batch 16: images/s of training steps, all cores"
NEEDS_PEERS = True
THEME = "faces"

WORK = training.Work(
    *("ssdlite_mobilenet_v2", 3, 240, 320),
    batch=16,
    classes=3,
    targets={"fp32": 1.5, "bf16": 1.5},
    script="ssdlite_peers.py",
    optimiser=("--lr", 0.001),
)


def run(context):
    with context.folder() as folder:
        data = pathlib.Path(folder) / "cells"
        make(context, data)
        check_parameters(context, data)
        return training.run(context, replace(WORK, data=str(data), script_options=("--data", data)))


def make(context, data):
    """Images for the measured steps, and at least for the peer's four batches."""
    steps = 4 if context.quick else WORK.steps
    context.peer("ssdlite_peers.py", "--data", data, "--make", training.images_of(WORK, steps))


def check_parameters(context, data):
    """That both sides train networks of one size."""
    ours = context.evener("info", WORK.model, "--size", f"{WORK.width}x{WORK.height}", "--classes", WORK.classes, "--json", "-")["parameters"]
    peer = context.peer("ssdlite_peers.py", "--data", data, "--warm-up", 0, "--steps", 1)["parameters"]
    if ours != peer:
        raise Failure(f"the networks differ: {ours} parameters against {peer}")
