"""As resnet34, with the larger batch of the thesis; fewer steps in a run, because each takes four times as long."""

from common import training

TITLE = "ResNet-34, 9 classes, input 1x148x197, batch 128: images/s of training steps, all cores"
NEEDS_PEERS = True
THEME = "training"


def run(context):
    work = training.Work("resnet34", 1, 148, 197, batch=128, classes=9, steps=3, goals={"fp32": 1.1, "bf16": 1.1})
    return training.run(context, work)
