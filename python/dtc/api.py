"""dtc.export and dtc.load."""

import os
import re
import tempfile

import torch

from dtc import (
    ops_attention,
    ops_batch_norm,
    ops_choices,
    ops_constants,
    ops_functions,
    ops_images,
    ops_indices,
    ops_layers,
    ops_losses,
    ops_moves,
    ops_norms,
    ops_points,
    ops_pools,
    ops_resize,
    ops_sums,
    ops_volumes,
    safetensors,
)
from dtc.attention_masks import write_out_masked
from dtc.blocks import find_blocks
from dtc.capture import capture
from dtc.clean import clean
from dtc.errors import ExportError
from dtc.expand import expand
from dtc.fold import Folder
from dtc.gradients import drop_stops, freeze_unreached
from dtc.lower import Lowering, canonical_names
from dtc.recognise import Recogniser
from dtc.report import report
from dtc.sample_masks import read_by_positions
from dtc.state import drop_state_stops, find_changes
from dtc.tidy import tidy
from dtc.write import Writer

TABLES = (
    ops_attention,
    ops_batch_norm,
    ops_choices,
    ops_constants,
    ops_functions,
    ops_images,
    ops_indices,
    ops_layers,
    ops_losses,
    ops_moves,
    ops_norms,
    ops_points,
    ops_pools,
    ops_resize,
    ops_sums,
    ops_volumes,
)  # modules that register ops


def export(module, example_inputs, path, *, loss=None, weights=None, batch_norm="batch"):
    """Writes a module and its loss as graph IR; returns what was understood of it (Exported).

    example_inputs: a tuple of tensors, those of forward and then those of the loss, or a dict of
    them by name; their first dim is the batch, whose size does not matter. loss: None where the
    module returns its loss; else a function of the module's output and of further inputs, or a name
    of docs/pytorch.md. weights: a safetensors file that is written for dtrun --init. batch_norm:
    "batch" for statistics of the whole batch, "parts" for those of each rank and micro-batch.
    Raises ExportError, and writes nothing, where the module can't be expressed.
    """
    if batch_norm not in ("batch", "parts"):
        raise ExportError(f"batch_norm is {batch_norm!r}, but 'batch' or 'parts' is wanted")
    graph, counts = graph_of(module, example_inputs, loss, batch_norm)
    result = report(graph, counts)
    tensors = {name: parameter.tensor for name, parameter in graph.parameters.items()}
    check_buffers(graph, weights)
    result.notes = notes_of(module, graph)
    blocks = find_blocks(graph)
    result.blocks = names_of(blocks)
    name = re.sub(r"\W", "_", type(module).__name__).lower() or "model"
    text = Writer(graph, blocks, name).text()
    write_files(path, text.encode(), weights, tensors)
    return result


def graph_of(module, example_inputs, loss, statistics="batch"):
    """Returns the graph IR of a module, without blocks, and op -> how many were recognised."""
    captured = capture(module, example_inputs, loss)
    drop_stops(captured, module)
    find_changes(captured, module)
    folder = Folder(captured.graph_module, captured.constants)
    clean(captured, folder)
    drop_state_stops(captured)
    if expand(captured, folder):
        clean(captured, folder)
    read_by_positions(captured.graph_module.graph, folder)
    recogniser = Recogniser(captured.graph_module.graph, folder)
    recogniser.run()
    write_out_masked(captured.graph_module.graph, folder, recogniser.counts)
    lowering = Lowering(captured, folder, module, statistics)
    lowering.counts = recogniser.counts
    graph = lowering.run()
    tidy(graph)
    freeze_unreached(graph)
    return graph, recogniser.counts


def names_of(blocks):
    """Returns the names of repeated layers -> how many; where a module list has several kinds, with
    the block's name; of layers that alternate "by" as many as there are in a period."""
    containers = [block.container for block in blocks]
    return {
        block.container
        + ".{}"
        + (f" by {block.period}" if block.period > 1 else "")
        + (f" @{block.name}" if containers.count(block.container) > 1 else ""): block.executions
        for block in blocks
    }


def buffers_in_files(graph):
    """Returns the names of buffers that are read and hold several numbers, which graph IR can't
    state."""
    read = {value for op in graph.ops for value in op.operands}
    return [
        name
        for name, parameter in graph.parameters.items()
        if parameter.value in read
        and not isinstance(parameter.tensor, torch.nn.Parameter)
        and parameter.tensor.numel()
        and not bool((parameter.tensor == parameter.tensor.flatten()[0]).all())
    ]


def check_buffers(graph, weights):
    """Refuses a module with such buffers where no file is to hold them."""
    names = buffers_in_files(graph)
    if names and weights is None:
        raise ExportError(
            f"the buffer '{names[0]}' holds numbers that only a file can hold: give"
            " weights='model.safetensors', and start dtrun with --init model.safetensors"
        )


def notes_of(module, graph):
    """Returns what a user should know of parameters and buffers that are left out."""
    left = [
        name
        for name, tensor in module.named_buffers()
        if name in module.state_dict()
        and name not in graph.parameters
        and canonical_names(module)[name] == name
    ]
    notes = (
        [
            "buffers of integers that 16 bits do not have are not in files:"
            f" {', '.join(left[:3])}{' and others' if len(left) > 3 else ''}"
        ]
        if left
        else []
    )
    held = buffers_in_files(graph)
    if held:
        notes.append(
            f"start dtrun with --init and the weights file: only that has the buffer '{held[0]}'"
            + (f" and {len(held) - 1} others" if len(held) > 1 else "")
        )
    return notes


def write_files(path, text, weights, tensors):
    """Writes both files beside where they go and then renames them, so that none is half there."""
    for target in filter(None, (weights, path)):
        folder = os.path.dirname(os.path.abspath(target))
        if os.path.isdir(target) or not os.path.isdir(folder):
            raise ExportError(
                f"can't write {target}: "
                + ("it is a folder" if os.path.isdir(target) else f"there is no folder {folder}")
            )
    if weights is not None and os.path.realpath(weights) == os.path.realpath(path):
        raise ExportError(f"the graph IR and the weights can't both be written to {path}")
    done = []
    try:
        for target, fill in (
            (weights, lambda file: safetensors.write(file, tensors)),
            (path, lambda file: file.write(text)),
        ):
            if target is None:
                continue
            last, folder = target, os.path.dirname(os.path.abspath(target))
            handle, name = tempfile.mkstemp(dir=folder, prefix=".dtc-export-")
            done.append((name, target))
            with os.fdopen(handle, "wb") as file:
                fill(file)
            os.chmod(name, 0o666 & ~current_umask())
        for name, target in done:
            os.replace(name, target)
    except OSError as error:
        raise ExportError(f"can't write {last}: {error.strerror}") from error
    finally:
        for name, _ in done:
            if os.path.exists(name):
                os.unlink(name)


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
