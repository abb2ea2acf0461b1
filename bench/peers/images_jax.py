#!/usr/bin/env python3
"""ResNet-18 at 32 x 32 pixels and ViT-S/16 at 224 x 224 in plain JAX, images as [batch, height, width, channels]."""

import peer

parser = peer.arguments(__doc__)
parser.add_argument("--model", choices=("resnet18", "vit-s"), default="resnet18")
args = parser.parse_args()
peer.fix_threads(args.threads)

import adamw_jax
import jax
import jax.numpy as jnp
import numpy as np

GENERATOR = np.random.default_rng(1)
WIDTH, HEADS, LAYERS, PATCH = 384, 6, 12, 16  # the sizes of ViT-S
WIDTHS = (64, 128, 256, 512)  # channels of ResNet-18


def normal(deviation, *shape):
    return jnp.asarray(GENERATOR.normal(0, deviation, shape).astype(np.float32))


def dense(inputs, outputs):
    return {"weight": normal(inputs**-0.5, inputs, outputs), "bias": jnp.zeros(outputs)}


def scale_and_bias(width):
    return {"scale": jnp.ones(width), "bias": jnp.zeros(width)}


def linear(p, x):
    return x @ p["weight"] + p["bias"]


def normalise(p, x, dims, epsilon):
    mean = x.mean(dims, keepdims=True)
    variance = jnp.square(x - mean).mean(dims, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + epsilon) * p["scale"] + p["bias"]


def cross_entropy(logits, targets):
    chosen = jnp.take_along_axis(logits, targets[:, None], axis=-1)[:, 0]
    return (jax.nn.logsumexp(logits, axis=-1) - chosen).mean()


def conv(size, inputs, outputs):
    """A convolution without bias, and its batch norm. Its running statistics, which no loss reads, are left out."""
    return {"weight": normal((2 / (size * size * inputs)) ** 0.5, size, size, inputs, outputs),
            "norm": scale_and_bias(outputs)}


def convolve(p, x, stride):
    around = p["weight"].shape[0] // 2
    x = jax.lax.conv_general_dilated(x, p["weight"], (stride, stride), [(around, around)] * 2,
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return normalise(p["norm"], x, (0, 1, 2), 1e-5)


def resnet18(classes=10):
    blocks, strides, before = [], [], 64
    for at, width in enumerate(WIDTHS):
        for stride in (1 if at == 0 else 2, 1):
            block = {"conv1": conv(3, before, width), "conv2": conv(3, width, width)}
            if stride != 1 or before != width:
                block["shortcut"] = conv(1, before, width)
            blocks.append(block)
            strides.append(stride)
            before = width

    def loss_of(p, images, targets):
        x = jax.nn.relu(convolve(p["first"], images, 1))
        for block, stride in zip(p["blocks"], strides):
            y = convolve(block["conv2"], jax.nn.relu(convolve(block["conv1"], x, stride)), 1)
            x = jax.nn.relu(y + (convolve(block["shortcut"], x, stride) if "shortcut" in block else x))
        return cross_entropy(linear(p["fc"], x.mean((1, 2))), targets)

    return {"first": conv(3, 3, 64), "blocks": blocks, "fc": dense(512, classes)}, loss_of


def vit_s(classes=1000):
    def layer():
        return {"norm1": scale_and_bias(WIDTH), "norm2": scale_and_bias(WIDTH), "qkv": dense(WIDTH, 3 * WIDTH),
                "out": dense(WIDTH, WIDTH), "up": dense(WIDTH, 4 * WIDTH), "down": dense(4 * WIDTH, WIDTH)}

    def attend(p, x):
        batch, length, width = x.shape
        q, k, v = linear(p["qkv"], x).reshape(batch, length, 3, HEADS, -1).transpose(2, 0, 3, 1, 4)
        weights = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) * (width // HEADS) ** -0.5, axis=-1)
        return linear(p["out"], (weights @ v).transpose(0, 2, 1, 3).reshape(batch, length, width))

    def loss_of(p, images, targets):
        batch, height, width, channels = images.shape
        x = images.reshape(batch, height // PATCH, PATCH, width // PATCH, PATCH, channels)
        x = linear(p["patches"], x.transpose(0, 1, 3, 2, 4, 5).reshape(batch, -1, PATCH * PATCH * channels))
        x = jnp.concatenate((jnp.broadcast_to(p["token"], (batch, 1, WIDTH)), x), 1) + p["positions"]
        for each in p["layers"]:
            x = x + attend(each, normalise(each["norm1"], x, -1, 1e-6))
            hidden = jax.nn.gelu(linear(each["up"], normalise(each["norm2"], x, -1, 1e-6)), approximate=False)
            x = x + linear(each["down"], hidden)
        return cross_entropy(linear(p["head"], normalise(p["norm"], x, -1, 1e-6)[:, 0]), targets)

    return {"patches": dense(PATCH * PATCH * 3, WIDTH), "token": jnp.zeros((1, 1, WIDTH)),
            "positions": normal(0.02, 1, 197, WIDTH), "layers": [layer() for _ in range(LAYERS)],
            "norm": scale_and_bias(WIDTH), "head": dense(WIDTH, classes)}, loss_of


MODELS = {"resnet18": (resnet18, 32, 10), "vit-s": (vit_s, 224, 1000)}


def main():
    make, size, classes = MODELS[args.model]
    state, compiled = adamw_jax.training(*make())
    generator = np.random.default_rng(0)

    def step():
        nonlocal state
        images = generator.standard_normal((args.batch, size, size, 3), np.float32)
        state, loss = compiled(state, images, generator.integers(0, classes, args.batch, np.int32))
        jax.block_until_ready(state)
        return float(loss)

    peer.serve(args, step, {"version": "JAX " + jax.__version__})


main()
