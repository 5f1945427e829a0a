"""Small networks of the operations that no classifier of the first golden files has, for make_golden.py. The same networks
in C++ are in tests/engine/golden_helpers.cpp: names and order of parameters are those here."""

import torch
from torch import nn


class Windows(nn.Module):
    """Windows that are no squares, strides and paddings that differ along both sides, pooling that rounds up, PReLU."""

    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, (3, 5), stride=(2, 1), padding=(1, 0))
        self.prelu1 = nn.PReLU(6)
        self.pool1 = nn.MaxPool2d(3, 2, ceil_mode=True)
        self.conv2 = nn.Conv2d(6, 8, (1, 7), padding=(0, 3), bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.silu = nn.SiLU()
        self.pool2 = nn.AvgPool2d((2, 3), stride=(2, 3), padding=(1, 1), ceil_mode=True)
        self.depthwise = nn.Conv2d(8, 8, (3, 1), padding=(1, 0), groups=8, bias=False)
        self.fc1 = nn.Linear(96, 10)
        self.prelu2 = nn.PReLU(10)
        self.fc2 = nn.Linear(10, classes)

    def forward(self, x):
        x = self.pool1(self.prelu1(self.conv1(x)))
        x = self.pool2(self.silu(self.bn(self.conv2(x))))
        return self.fc2(self.prelu2(self.fc1(self.depthwise(x).flatten(1))))


class Branches(nn.Module):
    """Concatenation, squeeze and excitation, products, a branch that is dropped for some samples. `drop`: the module that
    drops them."""

    def __init__(self, classes, drop):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.swish = nn.Hardswish()
        self.mean = nn.AvgPool2d(3, 1, 1, count_include_pad=False)
        self.most = nn.MaxPool2d(3, 1, 1)
        self.conv2 = nn.Conv2d(8, 6, 3, padding=1)
        self.gate = nn.Hardsigmoid()
        self.fc1 = nn.Conv2d(22, 4, 1)
        self.silu = nn.SiLU()
        self.fc2 = nn.Conv2d(4, 22, 1)
        self.scale = nn.Hardsigmoid()
        self.conv3 = nn.Conv2d(22, 8, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(8)
        self.drop = drop
        self.conv4 = nn.Conv2d(8, 8, 1)
        self.pool = nn.MaxPool2d(3, 2, ceil_mode=True)
        self.linear1 = nn.Linear(8, 6)
        self.silu2 = nn.SiLU()
        self.linear2 = nn.Linear(14, classes)

    def forward(self, x):
        trunk = self.swish(self.bn1(self.conv1(x)))
        x = torch.cat([self.mean(trunk), self.gate(self.conv2(trunk)), self.most(trunk)], dim=1)
        x = x * self.scale(self.fc2(self.silu(self.fc1(x.mean(dim=(2, 3), keepdim=True)))))
        x = self.drop(self.bn2(self.conv3(x))) + trunk
        x = self.pool(x * self.conv4(x)).mean(dim=(2, 3))
        return self.linear2(torch.cat([x, self.silu2(self.linear1(x))], dim=1))
