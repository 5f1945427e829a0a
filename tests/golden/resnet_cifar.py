"""The ResNets for CIFAR-10 in PyTorch, written from the paper (He et al. 2015, section 4.2), for make_golden.py and
check_weights.py. Parameters are named as in the weights that are passed around for them."""

import torch
from torch.nn import functional


class Block(torch.nn.Module):
    def __init__(self, inputs, channels, stride):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(inputs, channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(channels)
        self.relu1 = torch.nn.ReLU()
        self.conv2 = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(channels)
        self.relu2 = torch.nn.ReLU()
        self.stride, self.added = stride, channels - inputs

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu1(self.bn1(self.conv1(x)))))
        shortcut = x[:, :, :: self.stride, :: self.stride]
        half = self.added // 2
        return self.relu2(y + functional.pad(shortcut, (0, 0, 0, 0, half, self.added - half)))


class CifarResNet(torch.nn.Module):
    def __init__(self, depth, classes=10, channels=3):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(channels, 16, 3, padding=1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(16)
        self.relu = torch.nn.ReLU()
        inputs = 16
        for stage in (1, 2, 3):
            width = 8 * 2**stage
            blocks = []
            for block in range((depth - 2) // 6):
                blocks.append(Block(inputs, width, 2 if stage > 1 and block == 0 else 1))
                inputs = width
            self.add_module(f"layer{stage}", torch.nn.Sequential(*blocks))
        self.linear = torch.nn.Linear(64, classes)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(self.relu(self.bn1(self.conv1(x))))))
        return self.linear(x.mean(dim=(2, 3)))
