#!/usr/bin/env bash
# Some mean losses of PyTorch give a DTensor gradients that are too large by the number of its ranks.
#
# Guess: a DTensor gives what a single device gives, for every loss or none, and refuses an op that it cannot shard.
# Seen with torch 2.15.0 and two ranks, a linear layer, and outputs that are sharded by rows (data parallelism) or
# columns (tensor parallelism): the loss is right, but the gradients of mse_loss, smooth_l1_loss, huber_loss,
# soft_margin_loss and binary_cross_entropy are twice those of a single device, without an error or a warning. On four
# ranks those of the first three were four times as large. l1_loss, kl_div, cross_entropy,
# binary_cross_entropy_with_logits, a sum instead of a mean and (x - y)^2 with .mean() are right. Adam and a clipped
# norm hide the factor; SGD, and a sum with another loss, do not. If the ranks have 5 and 4 rows, mse_loss itself is
# wrong too: it is the mean of the ranks' means, as is binary_cross_entropy_with_logits. A loss of dtc is a mean over
# all samples, whatever the ranks (docs/inputs.md).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --no-compile --target "$folder/torch" torch==2.15.0 numpy==2.2.6
cat >"$folder/losses.py" <<'PYTHON'
import json
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh
from torch.nn import functional as F

RANKS = 2
LOSSES = {
    "mse_loss": F.mse_loss,
    "smooth_l1_loss": F.smooth_l1_loss,
    "huber_loss": F.huber_loss,
    "soft_margin_loss": lambda x, y: F.soft_margin_loss(x, 2 * y.round() - 1),
    "binary_cross_entropy": lambda x, y: F.binary_cross_entropy(x.sigmoid(), y),
    "l1_loss": F.l1_loss,
    "kl_div": F.kl_div,
    "cross_entropy": F.cross_entropy,
    "binary_cross_entropy_with_logits": F.binary_cross_entropy_with_logits,
    "mse_loss, sum": lambda x, y: F.mse_loss(x, y, reduction="sum"),
    "((x - y) ** 2).mean()": lambda x, y: ((x - y) ** 2).mean(),
}


def work(rank, path):
    dist.init_process_group("gloo", rank=rank, world_size=RANKS, store=dist.FileStore(path + "/meet", RANKS))
    mesh = init_device_mesh("cpu", (RANKS,))
    torch.manual_seed(0)
    found = {}
    for rows, by in ((8, "rows"), (8, "columns"), (9, "rows")):
        x, y, w = torch.randn(rows, 4), torch.rand(rows, 4), torch.randn(4, 4)
        of_x, of_w, of_y = {"rows": (Shard(0), Replicate(), Shard(0)), "columns": (Replicate(), Shard(1), Shard(1))}[by]
        for name, loss in LOSSES.items():
            alone = w.clone().requires_grad_()
            expected = loss(x @ alone, y)
            expected.backward()
            sharded = distribute_tensor(w.clone(), mesh, [of_w]).detach().requires_grad_()
            value = loss(distribute_tensor(x, mesh, [of_x]) @ sharded, distribute_tensor(y, mesh, [of_y]))
            value.backward()
            gradient = sharded.grad.full_tensor()
            factor = (gradient * alone.grad).sum() / alone.grad.square().sum()
            found[f"{rows} rows by {by}: {name}"] = [
                round((value.full_tensor() / expected).item(), 3),
                round(factor.item(), 3),
                round(((gradient - factor * alone.grad).norm() / gradient.norm()).item(), 3)]
    if rank == 0:
        with open(path + "/found.json", "w") as file:
            json.dump(found, file)
    dist.barrier()


if __name__ == "__main__":
    mp.spawn(work, (sys.argv[1],), nprocs=RANKS)
PYTHON
mkdir "$folder/meet"
PYTHONPATH=$folder/torch timeout 600 python3 -W ignore "$folder/losses.py" "$folder/meet" 2>/dev/null
echo "torch 2.15.0, two ranks, relative to a single device: loss, gradient, and what is no multiple of its gradient:"
python3 - "$folder/meet/found.json" <<'PYTHON'
import json
import sys

found = json.load(open(sys.argv[1]))
for name, (loss, factor, rest) in found.items():
    print(f"  {name}: {loss}, {factor}, {rest}")
for by in ("rows", "columns"):
    for index, (name, values) in enumerate(item for item in found.items() if item[0].startswith(f"8 rows by {by}")):
        assert values == [1, 2 if index < 5 else 1, 0], (name, values)
uneven = found["9 rows by rows: mse_loss"]
assert uneven[0] != 1 and uneven[2] > 0.01, uneven
assert found["9 rows by rows: binary_cross_entropy_with_logits"][0] != 1, found
assert found["9 rows by rows: ((x - y) ** 2).mean()"] == [1, 1, 0], found
PYTHON
