"""Small modules of volumes, [channels, depth, height, width], and of pools of any dims, for pytorch_small.py."""
import torch
from torch import nn

VOLUME, IMAGE = (4, 5, 6, 7), (3, 6, 8)


class Chain(nn.Module):
    """Layers one behind the other."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return (self.layers(x) ** 2).mean()


class Pools(nn.Module):
    """The sum of two pools of a product with numbers."""

    def __init__(self, first, second):
        super().__init__()
        self.first, self.second, self.scale = first, second, nn.Parameter(torch.randn(7))

    def forward(self, x):
        x = x * self.scale[: x.shape[-1]] if x.shape[-1] < 8 else x
        return ((self.first(x) + self.second(x)) ** 2).mean()


def pools(*arguments, **options):
    return Pools(nn.MaxPool3d(*arguments, **options), nn.AvgPool3d(*arguments, **options))


CASES = {
    "volumes": (Chain(nn.Conv3d(4, 6, 3, padding=1)), VOLUME),
    "volumes by strides, groups and dilation": (Chain(
        nn.Conv3d(4, 6, (2, 3, 1), stride=(2, 1, 2), padding=(1, 0, 1), groups=2), nn.Tanh(),
        nn.Conv3d(6, 6, (2, 1, 2), dilation=(2, 1, 1), groups=6)), VOLUME),
    "patches of volumes": (Chain(nn.Conv3d(4, 6, 2, stride=2)), VOLUME),
    "images and depth apart": (Chain(nn.Conv3d(4, 6, (1, 3, 3), padding="same"),
                                     nn.Conv3d(6, 3, (3, 1, 1), padding=(1, 0, 0))), VOLUME),
    "the whole depth at once": (Chain(nn.Conv3d(4, 6, 5)), VOLUME),
    "volumes twice as large": (Chain(nn.ConvTranspose3d(4, 6, 2, stride=2)), VOLUME),
    "transposed convolutions of volumes": (Chain(
        nn.ConvTranspose3d(4, 6, 3, stride=(2, 1, 2), padding=1, output_padding=(1, 0, 1), groups=2), nn.Tanh(),
        nn.ConvTranspose3d(6, 2, 3, padding=(2, 1, 0), dilation=(2, 1, 1), bias=False)), VOLUME),
    "pools of volumes": (pools(2), VOLUME),
    "pools of volumes that overlap": (pools(3, stride=(2, 1, 2), padding=1), VOLUME),
    "batch norm of convolved volumes": (Chain(nn.Conv3d(4, 3, 3), nn.BatchNorm3d(3), nn.Sigmoid()), VOLUME),
    "adaptive pools of volumes": (Pools(nn.AdaptiveAvgPool3d((1, 3, 1)), nn.AdaptiveAvgPool3d(1)), VOLUME),
    "adaptive pools of images": (Pools(nn.AdaptiveAvgPool2d((2, 4)), nn.AdaptiveAvgPool2d((2, 1))), IMAGE),
}
