"""Views: how a tensor of PyTorch lies in a value of graph IR.

A view is a value whose dims are made of atoms, and the dims that PyTorch sees, each a list of
atoms, outermost first. Reshaping, transposing, expanding and selecting only rearrange atoms; an op
of graph IR is written where a reader needs another order. Example: a linear layer gives [?, 16,
24]; view(B, 16, 4, 6).transpose(1, 2) has dims [?], [4], [16], [6] over the same value, and
attention, which wants [batch, sequence, heads, width], reads the value as [?, 16, 4, 6].
"""

from dataclasses import dataclass

from dtc.ir import Batch, divide


class Atom:
    """A factor of a dim; `repeats`: it is no factor of the value, whose elements are the same along
    it."""

    def __init__(self, size, repeats=False):
        self.size, self.repeats = size, repeats


@dataclass(frozen=True)
class View:
    """`layout`: the atoms of each dim of the value. `dims`: those of each dim as PyTorch sees it; a
    dim of size 1 has none. `fixed`: atoms of the value of which one index is selected."""

    value: object
    layout: tuple
    dims: tuple
    fixed: tuple = ()

    @property
    def sizes(self):
        return tuple(size_of(dim) for dim in self.dims)

    @property
    def kind(self):
        return self.value.kind


def size_of(atoms):
    """Returns the size of a dim that is made of atoms."""
    size, batch = 1, False
    for atom in atoms:
        if isinstance(atom.size, Batch):
            batch = True
        else:
            size *= atom.size
    return Batch(size) if batch else size


def repeated_dim(size):
    """Returns the atoms of a dim that only repeats."""
    if not isinstance(size, Batch):
        return (Atom(size, True),)
    return (Atom(Batch(1), True),) + ((Atom(size.rows, True),) if size.rows > 1 else ())


def identity(value):
    """Returns the view that is the value itself."""
    layout = []
    for size in value.dims:
        if isinstance(size, Batch):
            layout.append((Atom(Batch(1)),) + ((Atom(size.rows),) if size.rows > 1 else ()))
        else:
            layout.append((Atom(size),) if size != 1 else ())
    return View(value, tuple(layout), tuple(layout))


def with_dims(view, dims):
    return View(view.value, view.layout, tuple(tuple(dim) for dim in dims), view.fixed)


def split_atom(view, atom, parts):
    """Returns the view with an atom in several parts, outermost first."""

    def replaced(groups):
        return tuple(
            tuple(new for old in group for new in (parts if old is atom else (old,)))
            for group in groups
        )

    return View(view.value, replaced(view.layout), replaced(view.dims), view.fixed)


def pieces(atom, sizes):
    return tuple(Atom(size, atom.repeats) for size in sizes)


def reshape(view, sizes):
    """Returns the view with other dims of the same elements, or None where atoms would have to be
    mixed."""
    queue = [atom for dim in view.dims for atom in dim]
    dims = []
    for size in sizes:
        group, need = [], size
        while need != 1:
            if not queue:
                return None
            atom = queue.pop(0)
            rest = divide(need, atom.size)
            if (
                rest is None
                and not isinstance(atom.size, Batch)
                and not isinstance(need, Batch)
                and atom.size % need == 0
            ):
                parts = pieces(atom, (need, atom.size // need))
                view = split_atom(view, atom, parts)
                dims = [tuple(parts if old is atom else (old,) for old in dim) for dim in dims]
                dims = [tuple(a for part in dim for a in part) for dim in dims]
                queue.insert(0, parts[1])
                atom, rest = parts[0], 1
            if rest is None:
                return None
            group.append(atom)
            need = rest
        dims.append(tuple(group))
    return with_dims(view, dims) if not queue else None


def refine(view, atoms, sizes):
    """Splits a row of atoms so that their sizes are those given; returns (view, atoms), or None
    where they don't fit."""
    atoms, sizes, done = list(atoms), list(sizes), []
    for size in sizes:
        if not atoms:
            return None
        atom = atoms.pop(0)
        if atom.size == size:
            done.append(atom)
            continue
        if isinstance(atom.size, Batch) or isinstance(size, Batch) or atom.size % size:
            return None
        parts = pieces(atom, (size, atom.size // size))
        view = split_atom(view, atom, parts)
        done.append(parts[0])
        atoms.insert(0, parts[1])
    return (view, done) if not atoms else None


def common_sizes(a, b):
    """Returns the sizes of the coarsest factors that two rows of sizes have in common, or None."""
    a, b, sizes = list(a), list(b), []
    while a and b:
        x, y = a.pop(0), b.pop(0)
        if x == y:
            sizes.append(x)
        elif isinstance(x, Batch) or isinstance(y, Batch):
            return None
        elif x % y == 0:
            sizes.append(y)
            a.insert(0, x // y)
        elif y % x == 0:
            sizes.append(x)
            b.insert(0, y // x)
        else:
            return None
    return sizes if not a and not b else None
