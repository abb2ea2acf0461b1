"""Residual networks as torchvision writes them, with batch norm, small: the modules and names of ResNet-18 and
ResNet-50. Needs torch."""
import torch
from torch import nn


class Basic(nn.Module):
    """The block of ResNet-18: two convolutions of 3 x 3."""

    widens = 1

    def __init__(self, before, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.downsample = shortcut(before, width, stride)

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """The block of ResNet-50: a convolution of 3 x 3 between two of 1 x 1, of which the last widens."""

    widens = 4

    def __init__(self, before, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = shortcut(before, 4 * width, stride)

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


def shortcut(before, after, stride):
    if stride == 1 and before == after:
        return None
    return nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))


class ResNet(nn.Module):
    def __init__(self, block, layers, width, classes=5):
        super().__init__()
        self.before = width
        self.conv1, self.bn1 = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        self.layer1 = self.stage(block, width, layers[0], 1)
        self.layer2 = self.stage(block, 2 * width, layers[1], 2)
        self.layer3 = self.stage(block, 4 * width, layers[2], 2)
        self.layer4 = self.stage(block, 8 * width, layers[3], 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8 * width * block.widens, classes)

    def stage(self, block, width, count, stride):
        blocks = []
        for _ in range(count):
            blocks.append(block(self.before, width, stride))
            self.before, stride = width * block.widens, 1
        return nn.Sequential(*blocks)

    def forward(self, images):
        x = self.maxpool(self.relu(self.bn1(self.conv1(images))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet18():
    return ResNet(Basic, (2, 2, 2, 2), 4)


def resnet50():
    return ResNet(Bottleneck, (3, 4, 6, 3), 4)


class Averages(nn.Module):
    """Batch norm of rows and of sequences: without momentum, without a weight, without running statistics, and in
    eval mode."""

    def __init__(self):
        super().__init__()
        self.start, self.first = nn.Linear(6, 12), nn.BatchNorm1d(12, momentum=None)
        self.second = nn.BatchNorm1d(4, affine=False, eps=1e-3)
        self.third = nn.BatchNorm1d(4, track_running_stats=False)
        self.fixed = nn.BatchNorm1d(12).eval()
        self.last = nn.Linear(12, 3)
        with torch.no_grad():
            self.fixed.running_mean.fill_(0.25)
            self.fixed.running_var.fill_(0.5)

    def train(self, mode=True):
        super().train(mode)
        self.fixed.eval()
        return self

    def forward(self, features):
        x = self.first(torch.tanh(self.start(features)))
        x = x + self.second(x.unflatten(1, (4, 3))).flatten(1)
        x = x * self.third(x.unflatten(1, (4, 3)) + 0.1).flatten(1)
        return self.last(self.fixed(x))
