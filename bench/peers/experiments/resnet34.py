"""Training steps of ResNet-34 on grey fish-like masks against Python PyTorch."""

from common import training

TITLE = "ResNet-34, 9 classes, input 1x148x197, batch 32: images/s of training steps, all cores"
NEEDS_PEERS = True
THEME = "training"


def run(context):
    work = training.Work(
        *("resnet34", 1, 148, 197),
        batch=32,
        classes=9,
        targets={"fp32": 1.4, "bf16": 1.15},
        goals={"fp32": 1.6, "bf16": 1.3},
        avx2_target=1.4,
    )
    return training.run(context, work)
