#!/usr/bin/env bash
# Zero-bubble schedules of torch.distributed.pipelining give a weight that a stage uses twice a wrong gradient.
#
# Guess: a schedule changes when gradients are computed, not what they are. Seen with torch 2.12.1 (2.9.1 too), two
# processes, four stages, four micro-batches: in a stage where one layer is applied twice, one behind the other (as in
# ALBERT, universal transformers and every recurrent cell), ScheduleInterleavedZeroBubble ends without a word, and the
# gradient of that layer is far from what ScheduleInterleaved1F1B and a single device give: the half that belongs to
# weights counts the path through the later use again. Where each weight is used once, both agree. In 2.13.0 (and
# 2.15.0) they agree everywhere. dtc splits the backward pass of its own programs op by op, so that sums over uses are
# sums of the program (test/run/cases.py: shared.mlir).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/compare.py" <<'PYTHON'
import copy
import json
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.pipelining import PipelineStage, schedules


class Stage(nn.Module):
    def __init__(self, uses):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3 - uses))
        self.order = (0, 0) if uses == 2 else (0, 1)

    def forward(self, x):
        first, second = (self.layers[i] for i in self.order)
        return second(torch.tanh(first(x)))


def loss(y, wanted):
    return ((y - wanted) ** 2).mean()


def rank(rank, schedule, uses, meeting, results):
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    stages = [Stage(uses) for _ in range(4)]
    whole = nn.Sequential(*copy.deepcopy(stages))
    x, wanted = torch.randn(8, 8), torch.randn(8, 8)
    for part, target in zip(x.chunk(4), wanted.chunk(4)):
        (loss(whole(part), target) / 4).backward()
    mine = (rank, rank + 2)
    step = getattr(schedules, schedule)([PipelineStage(stages[i], i, 4, torch.device("cpu")) for i in mine], 4,
                                        loss_fn=loss, scale_grads=True)
    step.step(x) if rank == 0 else step.step(target=wanted)
    error = max(((p.grad - q.grad).norm() / q.grad.norm()).item() for i in mine
                for p, q in zip(stages[i].parameters(), whole[i].parameters()))
    results.put(error)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    found = {}
    for schedule in ("ScheduleInterleaved1F1B", "ScheduleInterleavedZeroBubble"):
        for uses in (1, 2):
            context = mp.get_context("spawn")
            results = context.Queue()
            ranks = [context.Process(target=rank, args=(i, schedule, uses, f"{sys.argv[1]}/{schedule}{uses}", results))
                     for i in range(2)]
            [process.start() for process in ranks]
            error = max(results.get(timeout=120) for _ in ranks)
            [process.join() for process in ranks]
            found[f"{schedule}, {uses} use(s)"] = "equal" if error < 1e-5 else f"off by {error:.2f} of its norm"
    print(json.dumps(found))
PYTHON
for version in 2.12.1 2.13.0; do
  python3 -m pip install --quiet --target "$folder/$version" "torch==$version" numpy==2.2.6
  mkdir "$folder/meet-$version"
  found=$(PYTHONPATH=$folder/$version python3 -W ignore "$folder/compare.py" "$folder/meet-$version" 2>/dev/null)
  echo "torch $version: $found"
  python3 - "$version" "$found" <<'PYTHON'
import json
import sys

version, found = sys.argv[1], json.loads(sys.argv[2])
wrong = [name for name, what in found.items() if what != "equal"]
assert wrong == (["ScheduleInterleavedZeroBubble, 2 use(s)"] if version == "2.12.1" else []), found
PYTHON
  rm -rf "${folder:?}/$version"
done
