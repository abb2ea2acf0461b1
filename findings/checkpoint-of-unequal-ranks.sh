#!/usr/bin/env bash
# torch.distributed.checkpoint takes a tensor that all ranks have from any of them, each tensor from another one.
#
# Guess: of a plain tensor, which is not a DTensor, rank 0's is saved, or each rank's, and one that has another type
# than that of the file is refused. Seen with torch 2.15.0 and two ranks whose running statistics differ, as they do
# under data parallelism without SyncBatchNorm: the means of the first layer are rank 0's, its variances rank 1's, the
# means of the next one rank 1's, as the work is balanced by bytes. What is loaded belongs to no rank, and no message
# says that the ranks differed. A load converts to the type of the tensor that it is given: 300.7 becomes 44 in one of
# uint8 and True in one of bool. dtc's verifier proves that replicas stay equal (docs/verify.md).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --no-compile --target "$folder/torch" torch==2.15.0 numpy==2.2.6
cat >"$folder/save.py" <<'PYTHON'
import json
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch import nn

RANKS = 2


def work(rank, path):
    dist.init_process_group("gloo", rank=rank, world_size=RANKS, store=dist.FileStore(path + "/meet", RANKS))
    model = nn.Sequential(*(nn.BatchNorm1d(100, affine=False) for _ in range(3)))
    with torch.no_grad():
        for buffer in model.buffers():
            buffer.fill_(rank)
    state = {"model": model.state_dict(), "value": torch.tensor([300.7])}
    dcp.save(state, checkpoint_id=path + "/checkpoint")
    dist.barrier()
    loaded = {name: torch.full_like(tensor, -1) for name, tensor in model.state_dict().items()}
    dcp.load({"model": loaded}, checkpoint_id=path + "/checkpoint")
    found = {name: f"rank {int(tensor.reshape(-1)[0])}" for name, tensor in loaded.items() if "running" in name}
    for dtype in (torch.uint8, torch.bool):
        other = {"value": torch.zeros(1, dtype=dtype)}
        dcp.load(other, checkpoint_id=path + "/checkpoint")
        found[str(dtype)] = other["value"].item()
    if rank == 0:
        with open(path + "/found.json", "w") as file:
            json.dump(found, file)
    dist.barrier()


if __name__ == "__main__":
    mp.spawn(work, (sys.argv[1],), nprocs=RANKS)
    print(open(sys.argv[1] + "/found.json").read())
PYTHON
mkdir "$folder/meet"
found=$(PYTHONPATH=$folder/torch timeout 600 python3 -W ignore "$folder/save.py" "$folder/meet" 2>/dev/null)
echo "torch 2.15.0, whose tensor was saved, and 300.7 as loaded: $found"
python3 - "$found" <<'PYTHON'
import json
import sys

found = json.loads(sys.argv[1])
ranks = {name: value for name, value in found.items() if "running" in name}
assert len(ranks) == 6 and set(ranks.values()) == {"rank 0", "rank 1"}, found
assert any(ranks[f"{layer}.running_mean"] != ranks[f"{layer}.running_var"] for layer in range(3)), found
assert found["torch.uint8"] == 44 and found["torch.bool"] is True, found
PYTHON
