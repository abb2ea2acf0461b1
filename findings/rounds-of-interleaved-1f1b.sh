#!/usr/bin/env bash
# ScheduleInterleaved1F1B of PyTorch makes its rounds longer where pp does not divide the micro-batches.
#
# Guess: as in Megatron-LM, a rank takes groups of pp micro-batches through a chunk, and a number of micro-batches that
# pp does not divide is refused, or ends with a shorter group. Seen with torch 2.13.0 and 8 stages on 4 ranks: there are
# micro_batches // pp rounds, each with micro_batches / rounds micro-batches. 10 micro-batches are 2 rounds of 5, and 6
# or 7 are a single round: all forward passes come before the first backward pass, as in GPipe, so that the first rank
# keeps the activations of 12 or 14 chunks, where 8 and 12 micro-batches need 11. 10 and 15 are taken; 9, 11, 13 and 14
# are refused. dtc's stack file for torchtitan has the multiples of pp alone (fills_stages).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --target "$folder/torch" torch==2.13.0 numpy==2.2.6
cat >"$folder/rounds.py" <<'PYTHON'
import json

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, ScheduleInterleaved1F1B
from torch.testing._internal.distributed.fake_pg import FakeStore

RANKS = 4
dist.init_process_group("fake", rank=0, world_size=RANKS, store=FakeStore())
found = {}
for micro_batches in range(4, 16):
    stages = [PipelineStage(torch.nn.Linear(2, 2), index, 2 * RANKS, torch.device("cpu")) for index in (0, RANKS)]
    try:
        schedule = ScheduleInterleaved1F1B(stages, micro_batches)
    except ValueError:
        found[micro_batches] = "refused"
        continue
    kept = most = 0
    for action in filter(None, schedule.pipeline_order[0]):
        kept += 1 if action.computation_type.name == "FORWARD" else -1
        most = max(most, kept)
    found[micro_batches] = [schedule.number_of_rounds, most]
print(json.dumps(found))
PYTHON
found=$(PYTHONPATH=$folder/torch python3 -W ignore "$folder/rounds.py" 2>/dev/null)
echo "torch 2.13.0, micro-batches -> [rounds, chunks whose activations rank 0 keeps]: $found"
python3 - "$found" <<'PYTHON'
import json
import sys

found = {int(key): value for key, value in json.loads(sys.argv[1]).items()}
assert [found[n] for n in (4, 8, 12)] == [[1, 8], [2, 11], [3, 11]], found
assert [found[n] for n in (6, 7, 10, 15)] == [[1, 12], [1, 14], [2, 12], [3, 12]], found
assert [n for n, value in found.items() if value == "refused"] == [9, 11, 13, 14], found
PYTHON
