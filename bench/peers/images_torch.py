#!/usr/bin/env python3
"""ResNet-18 at 32 x 32 pixels and ViT-S/16 at 224 x 224 in PyTorch: eager or compiled, channels-last or not. With
--export it writes the module as graph IR, and images and labels, in a folder and stops."""

import sys
from pathlib import Path

import peer

parser = peer.arguments(__doc__)
parser.add_argument("--model", choices=("resnet18", "vit-s"), default="resnet18")
parser.add_argument("--compile", action="store_true", help="torch.compile of forward and backward")
parser.add_argument("--channels-last", action="store_true", help="images and weights as [.., height, width, channels]")
parser.add_argument("--export", metavar="FOLDER", help="write model.mlir, images.npy and targets.npy")
args = parser.parse_args()
peer.fix_threads(args.threads)

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(args.threads)


class Basic(nn.Module):
    """Two convolutions of 3 x 3 with batch norm, and what goes around them."""

    def __init__(self, before, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.shortcut = nn.Identity() if stride == 1 and before == width else nn.Sequential(
            nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet18(nn.Module):
    """The network for small images: its first convolution has 3 x 3 pixels and keeps the size."""

    def __init__(self, classes=10):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64)
        widths, before, layers = (64, 128, 256, 512), 64, []
        for at, width in enumerate(widths):
            layers += [Basic(before, width, 1 if at == 0 else 2), Basic(width, width, 1)]
            before = width
        self.layers, self.fc = nn.Sequential(*layers), nn.Linear(512, classes)

    def forward(self, images):
        x = self.layers(F.relu(self.bn1(self.conv1(images))))
        return self.fc(x.mean((2, 3)))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width, 1e-6), nn.LayerNorm(width, 1e-6)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class VitS(nn.Module):
    def __init__(self, width=384, heads=6, layers=12, classes=1000):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.token, self.positions = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(
            0.02 * torch.randn(1, 197, width))
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width, 1e-6), nn.Linear(width, classes)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


MODELS = {"resnet18": (ResNet18, 32, 10), "vit-s": (VitS, 224, 1000)}


def main():
    torch.manual_seed(1)
    make, size, classes = MODELS[args.model]
    module, layout = make(), torch.channels_last if args.channels_last else torch.contiguous_format
    if args.export:
        sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
        import dtc
        import numpy
        inputs = {"images": torch.randn(2 * args.batch, 3, size, size),
                  "targets": torch.randint(classes, (2 * args.batch,))}
        folder = Path(args.export)
        dtc.export(module, inputs, folder / "model.mlir", loss="cross_entropy")
        numpy.save(folder / "images.npy", inputs["images"].numpy())
        numpy.save(folder / "targets.npy", inputs["targets"].int().numpy())
        return
    module = module.to(memory_format=layout)
    groups = [{"params": [p for p in module.parameters() if p.dim() > 1], "weight_decay": peer.WEIGHT_DECAY},
              {"params": [p for p in module.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=peer.LEARNING_RATE, betas=peer.BETAS, eps=peer.EPSILON, fused=True)
    run = torch.compile(module) if args.compile else module
    generator = torch.Generator().manual_seed(0)

    def step():
        images = torch.randn(args.batch, 3, size, size, generator=generator).to(memory_format=layout)
        targets = torch.randint(classes, (args.batch,), generator=generator)
        loss = F.cross_entropy(run(images), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(module.parameters(), peer.CLIP_NORM, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    peer.serve(args, step, {"version": "PyTorch " + torch.__version__})


main()
