#!/usr/bin/env bash
# torch.func.functionalize(f, remove="mutations"), traced by make_fx, leaves in-place ops in the
# graph where an operator of PyTorch is written with them.
#
# Guess: as its documentation says, no op of the graph changes a tensor, as long as the function
# does not need views to be removed.
# Seen with torch 2.15.0: in-place ops of the function itself go (add_ becomes add), and those
# inside of composite operators stay: fill_, sub_ and clamp_min_ of hinge_embedding_loss, add_,
# sigmoid_ and tanh_ of lstm_cell. With torch 2.8.0 all of them go. An importer that takes a graph
# without mutations at its word reads values before they are made. The exporter in python/ removes
# mutations after composite operators are taken apart.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/ops.py" <<'PYTHON'
import torch
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx


def in_place(function, *args):
    graph = make_fx(functionalize(function, remove="mutations"), tracing_mode="fake")(*args).graph
    names = [str(node.target).split(".")[1] for node in graph.nodes if "aten." in str(node.target)]
    return sorted({name for name in names if name.endswith("_")})


def adds(x):
    copy = x.clone()
    copy.add_(1)
    return copy


x, y = torch.randn(3, 4), torch.randn(3, 4)
hidden = torch.randn(3, 5), torch.randn(3, 5)
weights = torch.randn(20, 4), torch.randn(20, 5), torch.randn(20), torch.randn(20)
found = {
    "add_ of the function": in_place(adds, x),
    "hinge_embedding_loss": in_place(lambda a, b: torch.nn.functional.hinge_embedding_loss(a, b, 1.0), x, y),
    "lstm_cell": in_place(lambda a, h, c, *w: torch.lstm_cell(a, (h, c), *w)[0], x, *hidden, *weights),
}
print(f"torch {torch.__version__}: in-place ops are left of {found}")
stays = torch.__version__.startswith("2.15")
assert found["add_ of the function"] == []
assert found["hinge_embedding_loss"] == (["clamp_min_", "fill_", "sub_"] if stays else [])
assert found["lstm_cell"] == (["add_", "sigmoid_", "tanh_"] if stays else [])
PYTHON
for version in 2.8.0 2.15.0; do
  python3 -m pip install --quiet --target "$folder/$version" "torch==$version"
  PYTHONPATH=$folder/$version python3 "$folder/ops.py"
  rm -rf "${folder:?}/$version"
done
