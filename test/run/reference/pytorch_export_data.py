"""Inputs and weights of the modules of pytorch_models.py, which follow from names. Standard library only."""
import random

from weights import uniform

BATCH, STEPS = 4, 5
ADAMW = {"lr": 1e-2, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-3, "weight_decay": 0.1}


def input_of(name, shape, below):
    """Returns the numbers of all samples of an input: integers below `below`, or f32 numbers from 0 to 1 if it is
    None.

    A negative `below` makes every fifth integer -100, a target that does not count.
    """
    count = BATCH
    for size in shape:
        count *= size
    if below is None:
        return [round(value * 1024) / 1024 for value in uniform("input " + name, count, 0.0, 1.0)]
    numbers = random.Random("input " + name)
    values = [int(numbers.random() * abs(below)) for _ in range(count)]
    return [-100 if below < 0 and at % 5 == 3 else value for at, value in enumerate(values)]


def values_of(name, count):
    """Returns the weights of a parameter: gains of norms are near 1, those that end a branch of a ResNet small: its
    gradients are chaotic otherwise, where rounding decides which side of 0 an activation is on.
    """
    if name.endswith(("bn2.weight", "bn3.weight")):
        return uniform(name, count, 0.06, 0.14)
    gains = ("norm", "ln_", "gain", "bn", "downsample.1")
    if any(word in name for word in gains) and name.endswith(("weight", "gain")):
        return uniform(name, count, 0.6, 1.4)
    return uniform(name, count, -0.3, 0.3)
