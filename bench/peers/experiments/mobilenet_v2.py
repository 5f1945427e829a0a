"""Training steps of MobileNetV2, whose depthwise layers are the weak spot of CPU training, against Python PyTorch."""

from common import training

TITLE = "MobileNetV2, 9 classes, input 3x224x224, batch 32: images/s of training steps, all cores"
NEEDS_PEERS = True
THEME = "training"


def run(context):
    targets, goals = ({"fp32": share, "bf16": share} for share in (1.5, 2.5))
    return training.run(
        context, training.Work("mobilenet_v2", 3, 224, 224, batch=32, classes=9, targets=targets, goals=goals)
    )
