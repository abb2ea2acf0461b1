#!/usr/bin/env bash
# FSDP2 adds the gradients of different parameters where ranks use different ones of a group: no error, no warning.
#
# Guess: a parameter that a rank does not use counts as a gradient of zero there, as in FSDP1 and in DDP with
# find_unused_parameters, or the ranks are told that they differ. Seen with torch 2.15.0 and two processes: a module
# under fully_shard has two layers of one size, and each rank's samples go to another of them, as with experts in a
# ModuleList or layers that are dropped at random. Each rank reduces only the gradients that it has, so that the
# gradient of one layer is added to that of the other: both are 11 where a single device gives 1 and 10 (half of the
# rows is right, half of them None). Layers of unequal size would reduce buffers of unequal size. Where both ranks use
# both layers, with a product by zero for the one that has no samples, all is right. A program of dtc is one graph for
# all ranks; the weight of an expert without rows has a gradient of zero (graph.md).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --no-compile --target "$folder/torch" torch==2.15.0 numpy==2.2.6
cat >"$folder/skip.py" <<'PYTHON'
import json
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

RANKS = 2


class Choice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4, bias=False) for _ in range(RANKS))

    def forward(self, x, which, all_layers):
        y = self.layers[which](x)
        return y + 0.0 * self.layers[1 - which](x) if all_layers else y


def gradients(rank, all_layers, shard):
    """Returns the gradient of each layer that rank holds, a number or None, of a loss that is the ranks' mean."""
    torch.manual_seed(0)
    model = Choice()
    if shard:
        fully_shard(model, mesh=init_device_mesh("cpu", (RANKS,)))
        model(torch.full((1, 4), (1.0, 10.0)[rank] * RANKS), rank, all_layers).sum().backward()
    else:
        for other in range(RANKS):
            (model(torch.full((1, 4), (1.0, 10.0)[other] * RANKS), other, all_layers).sum() / RANKS).backward()
    local = [layer.weight.grad for layer in model.layers]
    local = [g.to_local() if shard and g is not None else g for g in local]
    return [None if g is None else g.unique().tolist() for g in local]


def work(rank, path):
    dist.init_process_group("gloo", rank=rank, world_size=RANKS, store=dist.FileStore(path + "/meet", RANKS))
    found = {"one device": gradients(rank, False, False), "all used": gradients(rank, True, True),
             "one used": gradients(rank, False, True)}
    with open(f"{path}/{rank}.json", "w") as file:
        json.dump(found, file)
    dist.barrier()


if __name__ == "__main__":
    mp.spawn(work, (sys.argv[1],), nprocs=RANKS)
    print(json.dumps([json.load(open(f"{sys.argv[1]}/{rank}.json")) for rank in range(RANKS)]))
PYTHON
mkdir "$folder/meet"
found=$(PYTHONPATH=$folder/torch timeout 600 python3 -W ignore "$folder/skip.py" "$folder/meet" 2>/dev/null)
echo "torch 2.15.0, gradients of both layers by rank: $found"
python3 - "$found" <<'PYTHON'
import json
import sys

found = json.loads(sys.argv[1])
for rank in range(2):
    assert found[rank]["one device"] == [[1], [10]] == found[rank]["all used"], found
    wanted = [None, None]
    wanted[rank] = [11]
    assert found[rank]["one used"] == wanted, found
PYTHON
