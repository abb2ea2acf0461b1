#!/usr/bin/env bash
# A maximum over ranks by gloo loses a NaN or keeps it, by the rank that has it.
#
# Guess: dist.all_reduce with MAX or MIN is torch.maximum or minimum of all ranks, so that NaN on any rank is NaN on
# all. The usual check that a gradient norm, a loss or an amax is finite on every rank relies on it. Seen with torch
# 2.15.0 on CPUs and three ranks with 1, 2 and 3, one of which is NaN instead: MAX is NaN on all ranks if rank 0 has the
# NaN, 1 if rank 1 has it, though rank 2 has 3, and 2 if rank 2 has it; MIN is NaN, 1 and 1. A comparison with NaN is
# false, so that NaN replaces what it meets in one order of operands and is lost in the other, with the number that it
# replaced. SUM gives NaN always: dtc adds up squares for its gradient norm, over ranks too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --no-compile --target "$folder/torch" torch==2.15.0 numpy==2.2.6
cat >"$folder/maximum.py" <<'PYTHON'
import json
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

RANKS = 3


def work(rank, path):
    dist.init_process_group("gloo", rank=rank, world_size=RANKS, store=dist.FileStore(path + "/meet", RANKS))
    found = {}
    for name in ("MAX", "MIN", "SUM"):
        for at in range(RANKS):
            value = torch.full((1,), float("nan") if rank == at else rank + 1.0)
            dist.all_reduce(value, getattr(dist.ReduceOp, name))
            found[f"{name}, NaN on rank {at}"] = str(value.item())
    with open(f"{path}/{rank}.json", "w") as file:
        json.dump(found, file)
    dist.barrier()


if __name__ == "__main__":
    mp.spawn(work, (sys.argv[1],), nprocs=RANKS)
    ranks = [json.load(open(f"{sys.argv[1]}/{rank}.json")) for rank in range(RANKS)]
    print(json.dumps({name: [found[name] for found in ranks] for name in ranks[0]}))
PYTHON
mkdir "$folder/meet"
found=$(PYTHONPATH=$folder/torch timeout 600 python3 -W ignore "$folder/maximum.py" "$folder/meet" 2>/dev/null)
echo "torch 2.15.0, what ranks 0, 1, 2 get: $found"
python3 - "$found" <<'PYTHON'
import json
import sys

found = json.loads(sys.argv[1])
wanted = {"MAX": ["nan", "1.0", "2.0"], "MIN": ["nan", "1.0", "1.0"], "SUM": ["nan"] * 3}
for name, values in wanted.items():
    for at, value in enumerate(values):
        assert found[f"{name}, NaN on rank {at}"] == [value] * 3, found
PYTHON
