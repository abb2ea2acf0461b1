"""The error of the package, and locations in the source of a model."""

import os
import re

import torch

OWN_FOLDERS = (
    os.path.dirname(os.path.abspath(__file__)),
    os.path.dirname(os.path.abspath(torch.__file__)),
)
FRAME = re.compile(r'File "(.+?)", line (\d+), in \S+\n(?:    (.*))?')


class ExportError(Exception):
    """A module that cannot be exported; the message says where, why, and what to write instead."""


class Unsupported(Exception):
    """One op of a graph that cannot be expressed: `what` follows the location and the op in the
    message."""


def is_own(file):
    """Returns whether a source file belongs to torch or to this package, not to the model."""
    return os.path.abspath(file).startswith(OWN_FOLDERS) or file.startswith("<")


def module_path(node):
    """Returns the path of the module that a node of a graph belongs to, and the name of its
    class."""
    path, kind = "", ""
    for name, cls in (node.meta.get("nn_module_stack") or {}).values():
        if not name.startswith("_empty_nn_module"):
            path, kind = name, cls if isinstance(cls, str) else cls.__name__
    return path, kind.rsplit(".", 1)[-1]


def without_prefix(path, prefix="module"):
    """Removes the attribute under which the exported module lies in its wrapper."""
    return "" if path == prefix else path.removeprefix(prefix + ".")


def source_line(trace):
    """Returns (file, line, code) of the innermost frame of a stack trace that is the model's, or
    None."""
    frames = [frame for frame in FRAME.findall(trace or "") if not is_own(frame[0])]
    return frames[-1] if frames else None


def location_of(node):
    """Returns the location of a node as text: file and line, module and code, as far as torch has kept
    them."""
    node = located(node)
    path, kind = module_path(node)
    path = without_prefix(path)
    line = source_line(node.meta.get("stack_trace"))
    where = f"{line[0]}:{line[1]}: " if line else ""
    inside = (
        f"'{path}' ({kind})"
        if path
        else f"the module ({kind})" if kind and "Wrapper" not in kind else "the loss"
    )
    return where + inside + (f": {line[2].strip()}" if line and line[2] else "")


def located(node):
    """Returns the node, or the first in the body of one that has a body, such as torch.no_grad(),
    and no place."""
    if node.meta.get("stack_trace"):
        return node
    for body in (each for each in node.all_input_nodes if each.op == "get_attr"):
        inner = getattr(node.graph.owning_module, body.target, None)
        for each in inner.graph.nodes if isinstance(inner, torch.fx.GraphModule) else ():
            if each.meta.get("stack_trace"):
                return each
    return node


def op_name(node):
    """Returns the name of an op as PyTorch prints it, without its overload: aten.linear."""
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return f"{target.namespace}.{target._opname}"
    return getattr(target, "__name__", str(target))
