"""Writes ops of graph IR, and the reshapes, transposes and slices that bring a view into an
order."""

import math

from dtc import views
from dtc.errors import Unsupported
from dtc.ir import Batch, Op, Value
from dtc.views import View, size_of

COUPLED = (
    "uses a mean or sum over the batch for each sample, which couples the samples of a batch; a"
    " step is cut into micro-batches and ranks, so that each sample's loss has to be its own"
)


def scope_of(path):
    """Returns the part of a module path up to its last number: the layer that an op belongs to."""
    parts = path.split(".")
    numbers = [index for index, part in enumerate(parts) if part.isdigit()]
    return ".".join(parts[: numbers[-1] + 1]) if numbers else ""


class Builder:
    """Appends ops to a graph; equal ops of one layer are written once."""

    def __init__(self, graph):
        self.graph, self.path, self.known = graph, "", {}

    def forget(self):
        """Forgets ops that are no longer in the graph."""
        there = set(self.graph.ops)
        self.known = {key: op for key, op in self.known.items() if op in there}

    def emit(self, name, operands, dims, kind="f32", /, **attributes):
        """Returns the value of an op with one result."""
        return self.emit_many(name, operands, [dims], kind, **attributes)[0]

    def emit_many(self, name, operands, shapes, kind="f32", /, **attributes):
        attributes = {
            key: value
            for key, value in attributes.items()
            if value is not None and value is not False
        }
        for value in attributes.values():
            if isinstance(value, float) and not (
                math.isfinite(value) or math.isinf(value) and name == "constant"
            ):
                raise Unsupported(f"computes with the number {value}, which graph IR can't state")
        if any(value.total for value in operands) and any(value.has_batch for value in operands):
            raise Unsupported(COUPLED)
        for dims in shapes:
            if any(isinstance(size, Batch) for size in dims[1:]):
                raise Unsupported("has the batch behind another dim; keep it first")
        key = (
            name,
            tuple(id(value) for value in operands),
            repr(shapes),
            kind,
            repr(sorted(attributes.items())),
            scope_of(self.path),
        )
        if key in self.known and name != "dropout" and not attributes.get("dropout"):
            return self.known[key].results
        results = [Value(tuple(dims), kind) for dims in shapes]
        op = Op(name, list(operands), results, attributes, self.path)
        for value in results:
            value.op = op
            value.total = total_of(op, value)
        self.graph.ops.append(op)
        self.known[key] = op
        return results

    def constant(self, number, dims=()):
        return self.emit("constant", [], dims, value=float(number))

    def reshape(self, value, dims):
        return (
            value if tuple(dims) == value.dims else self.emit("reshape", [value], dims, value.kind)
        )

    def materialise(self, view, groups):
        """Returns a value whose dims are the given groups of atoms, in that order; repeated atoms
        are written out."""
        groups = [tuple(group) for group in groups]
        if not any(atom.repeats for group in groups for atom in group):
            return self.arrange(view, groups)
        fine = [(atom,) for group in groups for atom in group]
        plain = self.arrange(view, [atoms for atoms in fine if not atoms[0].repeats])
        sizes = [atoms[0].size for atoms in fine]
        new = [dim for dim, atoms in enumerate(fine) if atoms[0].repeats]
        like = None
        if isinstance(sizes[0], Batch) and 0 in new:
            like = self.batch_example()
        wide = self.emit("broadcast", [plain] + ([like] if like else []), sizes, dims=new)
        return self.reshape(wide, [size_of(group) for group in groups])

    def batch_example(self):
        """Returns an input, which has the size of the batch."""
        return self.graph.inputs[0][1]

    def arrange(self, view, groups):
        value, fixed = view.value, dict(view.fixed)
        if not fixed and list(view.layout) == groups:
            return value
        follows = {}  # atom -> the atom that comes next in the same dim of the result
        for group in groups:
            for atom, after in zip(group, group[1:]):
                follows[atom] = after
        runs = []
        for dim in view.layout:
            for position, atom in enumerate(dim):
                joins = position and atom not in fixed and follows.get(dim[position - 1]) is atom
                if joins:
                    runs[-1].append(atom)
                else:
                    runs.append([atom])
        value = self.reshape(value, [size_of(run) for run in runs])
        for index in reversed(range(len(runs))):
            if runs[index][0] in fixed:
                dims = value.dims[:index] + value.dims[index + 1 :]
                value = self.emit(
                    "slice",
                    [value],
                    dims,
                    value.kind,
                    dim=index,
                    start=fixed[runs[index][0]],
                    size=1,
                    squeeze=True,
                )
                del runs[index]
        order = [atom for group in groups for atom in group]
        permutation = sorted(range(len(runs)), key=lambda run: order.index(runs[run][0]))
        if permutation != list(range(len(runs))):
            dims = [value.dims[dim] for dim in permutation]
            value = self.emit("transpose", [value], dims, value.kind, by=permutation)
        return self.reshape(value, [size_of(group) for group in groups])

    def plain(self, view):
        """Returns the value of a view with the dims that PyTorch sees, repeats written out."""
        return self.materialise(view, view.dims)

    def settled(self, view):
        """Returns the same view over a value of which no index is selected any more."""
        if not view.fixed:
            return view
        after = {atom: following for dim in view.dims for atom, following in zip(dim, dim[1:])}
        alive = {atom for dim in view.dims for atom in dim}
        groups = []
        for dim in view.layout:
            last = None
            for atom in (atom for atom in dim if atom in alive):
                if last is not None and after.get(last) is atom:
                    groups[-1] += (atom,)
                else:
                    groups.append((atom,))
                last = atom
        return View(self.arrange(view, groups), tuple(groups), view.dims)

    def by_dims(self, view):
        """Returns the view over a value that has exactly one dim for each dim that PyTorch sees, in
        the value's order.

        Dims of size 1 and dims that are only repeated are none of the value."""
        if any(len({atom.repeats for atom in dim}) > 1 for dim in view.dims):
            return views.identity(self.plain(view))
        view = self.settled(view)
        dims = [dim for dim in view.dims if dim and not dim[0].repeats]
        order = [atom for dim in view.layout for atom in dim]
        dims.sort(
            key=lambda dim: (
                not any(isinstance(atom.size, Batch) for atom in dim),
                order.index(dim[0]),
            )
        )
        return View(self.arrange(view, dims), tuple(dims), view.dims)


def total_of(op, value):
    """Returns how a value was made from samples, once it has no batch."""
    if value.has_batch:
        return ""
    if op.name == "reduce" and op.operands[0].has_batch:
        return op.attributes["how"]
    if (
        op.name == "weighted_mean"
        or op.name == "cross_entropy"
        and op.attributes.get("ignoring") is not None
    ):
        return "weighted"
    if op.name == "cross_entropy":
        return "mean"
    kinds = [operand.total for operand in op.operands if operand.total]
    return kinds[0] if kinds else ""
