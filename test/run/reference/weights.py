"""Numbers that follow from a parameter's name, so that a reference and a test have the same without a file.

Standard library only.
"""
import random


def uniform(seed, count, low, high):
    """Returns `count` numbers; random() of a seeded Random is the same in all versions of Python."""
    numbers = random.Random(seed)
    return [low + (high - low) * numbers.random() for _ in range(count)]


def weights_of(name, count):
    """Returns the weights of a parameter: near 1 in norms; small in embeddings, so that the epsilon that norms
    add to the variance matters.
    """
    if "norm" in name.lower() and name.endswith("weight") or ".ln_" in name and name.endswith("weight"):
        return uniform(name, count, 0.6, 1.4)
    if "embed" in name or name.endswith(("wte.weight", "wpe.weight")):
        return uniform(name, count, -0.05, 0.05)
    return uniform(name, count, -0.5, 0.5)


def direction_of(name, count):
    """Returns a vector for products with a gradient, which tell where in it the numbers are."""
    return uniform("direction " + name, count, -1, 1)
