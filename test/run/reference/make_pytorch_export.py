#!/usr/bin/env python3
"""Makes data/pytorch_export/: the output of dtc.export for pytorch_models.py, and how PyTorch trains the modules.

pip install torch==2.8.0 transformers==5.24.0
make_pytorch_export.py [--out data/pytorch_export]

Each module has NAME.mlir, and in cases.json its inputs, the shapes of its parameters, the losses of five steps of
AdamW on one batch, and for every gradient of the first step and every last parameter the norm and the product with a
fixed vector. Weights and inputs follow from names (pytorch_export_data.py).
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "python")]

import dtc  # noqa: E402
import pytorch_models  # noqa: E402
from dtc.capture import scalar_of  # noqa: E402
from dtc.losses import loss_of  # noqa: E402
from dtc import safetensors  # noqa: E402
from pytorch_export_data import ADAMW, BATCH, STEPS, input_of, values_of  # noqa: E402
from weights import direction_of  # noqa: E402


def rounded(number):
    return float(f"{number:.9g}")


def summary(name, value):
    flat = value.detach().double().flatten()
    return [rounded(flat.norm().item()),
            rounded(flat.dot(torch.tensor(direction_of(name, flat.numel()), dtype=torch.float64)).item())]


def module_of(make):
    """Returns a module with the weights of its names; buffers that a mask fills stay."""
    module = make()
    with torch.no_grad():
        for name, value in [*module.named_parameters(), *((n, b) for n, b in module.named_buffers() if n == "table")]:
            value.copy_(torch.tensor(values_of(name, value.numel()), dtype=torch.float32).reshape(value.shape))
    return module


def inputs_of(inputs):
    kinds = {True: torch.float32, False: torch.long}
    return {name: torch.tensor(input_of(name, shape, below), dtype=kinds[below is None]).reshape(BATCH, *shape)
            for name, shape, below in inputs}


def steps_of(module, inputs, loss):
    """Returns losses, gradients of the first step and parameters after the last, by PyTorch alone."""
    function = loss_of(loss)
    model_names = [name for name in inputs if function is None or name not in function.names(None)]

    def loss_now():
        out = module(**{name: inputs[name] for name in model_names})
        return (scalar_of(out) if function is None
                else function(out, **{name: inputs[name] for name in inputs if name not in model_names}))

    trained = {name: value for name, value in module.named_parameters() if value.requires_grad}
    groups = [{"params": [value for value in trained.values() if value.dim() > 1],
               "weight_decay": ADAMW["weight_decay"]},
              {"params": [value for value in trained.values() if value.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW([group for group in groups if group["params"]], lr=ADAMW["lr"],
                                  betas=(ADAMW["beta1"], ADAMW["beta2"]), eps=ADAMW["epsilon"])
    losses, gradients, before = [], {}, {name: value.clone() for name, value in module.named_buffers()}
    for step in range(STEPS):
        optimizer.zero_grad()
        value = loss_now()
        value.backward()
        losses.append(rounded(value.item()))
        if step == 0:
            gradients = {name: summary(name, p.grad) for name, p in trained.items() if p.grad is not None}
        optimizer.step()
    state = {name: summary(name, value) for name, value in module.named_buffers()
             if not torch.equal(value, before[name])}
    return {"loss": losses, "gradients": gradients, **({"state": state} if state else {}),
            "parameters": {name: summary(name, value) for name, value in trained.items()}}


def check_weights(module, file):
    """Checks that the exported file has every parameter and buffer under its name, to the bit, but for buffers of
    integers that no step changes and no index reads."""
    tensors = dict(safetensors.read(file))
    names = {name for name, _ in module.named_parameters()}
    names |= {name for name, b in module.named_buffers() if name in module.state_dict() and
              (b.dtype == torch.float32 or name in tensors or
               name.endswith("num_batches_tracked") and module.get_submodule(name.rpartition(".")[0]).training)}
    assert set(tensors) == names, set(tensors) ^ names
    for name, value in tensors.items():
        assert torch.equal(value, module.state_dict()[name].float()), name


def case_of(folder, name):
    make, inputs, loss, plans = pytorch_models.CASES[name]
    torch.manual_seed(1)
    module = module_of(make)
    examples = inputs_of(inputs)
    with tempfile.TemporaryDirectory() as scratch:
        weights = Path(scratch) / "weights.safetensors"
        result = dtc.export(module, examples, folder / f"{name}.mlir", loss=loss, weights=weights)
        check_weights(module, weights)
        shapes = {key: list(value.shape) for key, value in safetensors.read(weights)}
        fixed = {key: value.flatten().tolist() for key, value in module.named_buffers() if key in shapes
                 and key != "table"}
    stored = {"inputs": [list(each) for each in inputs], "plans": list(plans), "shapes": shapes, "buffers": fixed,
              "blocks": result.blocks, "recognised": result.recognised, "parameter_count": result.parameters}
    return stored | steps_of(module, examples, loss)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE / "data" / "pytorch_export")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    cases = {name: case_of(arguments.out, name) for name in arguments.names or pytorch_models.CASES}
    lines = ",\n".join(f'"{name}": {json.dumps(case, separators=(",", ":"))}' for name, case in cases.items())
    text = f'{{"torch": "{torch.__version__.split("+")[0]}", "cases": {{\n{lines}\n}}}}\n'
    (arguments.out / "cases.json").write_text(text)
    print(f"{len(cases)} cases, {len(text)} bytes")


if __name__ == "__main__":
    main()
