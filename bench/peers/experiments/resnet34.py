"""Training steps of ResNet-34 on grey fish-like masks against Python PyTorch."""

from common import training

TITLE = "ResNet-34, 9 classes, input 1x148x197, batch 32: images/s of training steps, all cores"
NEEDS_PEERS = True


def run(context):
    return training.run(context, training.Work("resnet34", 1, 148, 197, batch=32, classes=9, target=1.0, goal=1.1))
