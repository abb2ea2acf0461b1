"""Loads trained weights into the module that they were exported from."""

import json
import os

import torch

from dtc import safetensors
from dtc.errors import ExportError
from dtc.lower import canonical_names

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


def load(module, path):
    """Loads parameters that dtrun --dump-params or dtc checkpoint export wrote into the module they
    were exported from, and returns the module.

    `path` is a safetensors file, or a folder with model.safetensors or several files and their
    index. One tensor is in memory beside the module at a time. Tied parameters, which a file has
    once, get their value under every name. Buffers of integers of a run that began without --init
    stay the module's. Names and shapes have to be those of the module, as for
    load_state_dict(strict=True); otherwise ExportError is raised and the module is as it was.
    """
    files = files_of(path)
    shapes = {}
    for file in files:
        for name, (_, shape, _, _) in safetensors.read_header(file)[0].items():
            if name in shapes:
                raise ExportError(f"{path} has '{name}' twice")
            shapes[name] = shape
    targets = targets_of(module, shapes, path)
    with torch.no_grad():
        for file in files:
            for name, tensor in safetensors.read(file):
                for target in targets[name]:
                    if target.is_floating_point() or not is_unknown(tensor):
                        target.copy_(tensor)
    return module


def is_unknown(tensor):
    """Returns whether a tensor stands for a buffer that only a file can hold (start_of of
    dtc.write), after a run that began without that file."""
    return bool((tensor > 2.9e38).any())


def files_of(path):
    """Returns the safetensors files of a path."""
    if not os.path.isdir(path):
        return [path]
    index = os.path.join(path, INDEX)
    if not os.path.exists(index):
        if os.path.exists(os.path.join(path, WEIGHTS)):
            return [os.path.join(path, WEIGHTS)]
        raise ExportError(f"the folder {path} has neither {WEIGHTS} nor {INDEX}")
    try:
        with open(index, encoding="utf-8") as file:
            names = sorted(set(json.load(file)["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ExportError(f"{index} is no index of safetensors files") from error
    for name in names:
        if not isinstance(name, str) or os.path.basename(name) != name:
            raise ExportError(f"{index} names '{name}', which is no file beside it")
        if not os.path.exists(os.path.join(path, name)):
            raise ExportError(f"{index} names '{name}', which is not there")
    return [os.path.join(path, name) for name in names]


def targets_of(module, shapes, path):
    """Returns name -> the module's tensors that a tensor of the files is copied to: the one of that
    name, and tied ones that the files do not have under their own names. Checks that the files have
    each tensor of the module, in its shape, and no other."""
    state = {
        name: tensor
        for name, tensor in module.state_dict(keep_vars=True).items()
        if isinstance(tensor, torch.Tensor)
    }
    unknown = [name for name in shapes if name not in state]
    if unknown:
        raise ExportError(f"{path} has '{unknown[0]}', which the module does not have")
    first, targets = canonical_names(module), {name: [] for name in shapes}
    for name, tensor in state.items():
        source = name if name in shapes else first.get(name, name)
        if source in shapes and list(tensor.shape) != shapes[source]:
            raise ExportError(
                f"{path}: '{source}' has shape {shapes[source]}, the module's has"
                f" {list(tensor.shape)}"
            )
        if source in shapes:
            targets[source].append(tensor)
        elif tensor.dtype == torch.float32:  # others, such as counters and masks, are in no file
            raise ExportError(f"{path} has no '{name}', which the module has")
    return targets
