"""Constant matrices whose elements depend on column - row alone, such as the buckets of relative
positions of T5."""

import torch

from dtc.ops_choices import compare
from dtc.ops_points import binary, number, scaled

STEPS = 128  # changes of the value from one diagonal to the next


def diagonals(lower, flat, index, row_index):
    """Writes the value of the first diagonal and, for each later one, what is added there and
    behind; None for a matrix that is not of diagonals, or has many."""
    rows, columns = flat.shape
    values = torch.cat([flat[:, 0].flip(0), flat[0, 1:]])  # of column - row = 1 - rows and so on
    position = torch.arange(columns)[None, :] - torch.arange(rows)[:, None] + rows - 1
    if not torch.equal(values[position], flat):
        return None
    changes = [at for at in range(1, len(values)) if values[at] != values[at - 1]]
    if len(changes) > STEPS:
        return None
    offset = binary(lower, "subtract", index(lower, columns), row_index(lower, rows))
    total = None
    for at in changes:
        reached = compare(lower, "ge", offset, number(lower, float(at + 1 - rows)))
        step = float(values[at] - values[at - 1])
        reached = reached if step == 1 else scaled(lower, reached, step)
        total = reached if total is None else binary(lower, "add", total, reached)
    first = float(values[0])
    return total if first == 0 else binary(lower, "add", total, number(lower, first))
