#!/usr/bin/env bash
# torch.export takes one tensor object that is the example of two arguments for one input: both
# arguments of the program are then the last one, without an error or a warning.
#
# Guess: `export(module, (t, t))` is a program of two inputs, as with two tensors of equal contents.
# Seen with torch 2.8.0: the graph has two inputs, but what is computed of the first argument reads
# the second one. The exported program gives another result than the module if the arguments
# differ; with `(t, t.clone())` it gives the module's. The package in python/ copies each example.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --target "$folder/packages" torch==2.8.0
PYTHONPATH=$folder/packages python3 - <<'PYTHON'
import torch


class First(torch.nn.Module):
    def forward(self, a, b):
        return a * 2, b


example = torch.zeros(3)
shared = torch.export.export(First(), (example, example)).module()
apart = torch.export.export(First(), (example, example.clone())).module()
a, b = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([10.0, 20.0, 30.0])
wanted = First()(a, b)[0].tolist()
found = {"one object": shared(a, b)[0].tolist(), "two objects": apart(a, b)[0].tolist()}
print(f"torch {torch.__version__}: the module gives {wanted}, the exported programs {found}")
assert wanted == [2, 4, 6]
assert found["two objects"] == wanted
assert found["one object"] == [20, 40, 60], "torch.export no longer confuses the arguments"
PYTHON
