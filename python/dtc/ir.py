"""Graph IR in memory: values with shapes, ops in order, and parameters."""

from dataclasses import dataclass, field

NO_GRADIENT = ("compare", "iota", "constant", "detach")  # ops through which PyTorch passes no gradient


@dataclass(frozen=True)
class Batch:
    """The size of a dim that has `rows` elements for each sample; written '?'."""

    rows: int = 1


def size_text(size):
    return "?" if isinstance(size, Batch) else str(size)


def divide(size, by):
    """Returns size / by where that is whole, else None; `by` may be Batch(rows)."""
    if isinstance(by, Batch):
        return (
            size.rows // by.rows if isinstance(size, Batch) and size.rows % by.rows == 0 else None
        )
    if isinstance(size, Batch):
        return Batch(size.rows // by) if size.rows % by == 0 else None
    return size // by if size % by == 0 else None


def elements(dims):
    """Returns the number of elements of a shape, of one sample where a dim is the batch."""
    count = 1
    for size in dims:
        count *= size.rows if isinstance(size, Batch) else size
    return count


@dataclass(eq=False)
class Value:
    """A tensor: sizes are numbers, but for a batch at dim 0. `kind` is f32 or i32.

    `total` says how a value without a batch was made from samples: '' (it was not), 'mean', 'sum'
    or 'weighted'.
    """

    dims: tuple
    kind: str = "f32"
    op: "Op" = None
    total: str = ""

    @property
    def has_batch(self):
        return any(isinstance(size, Batch) for size in self.dims)

    @property
    def type(self):
        return "tensor<" + "".join(f"{size_text(size)}x" for size in self.dims) + self.kind + ">"


@dataclass(eq=False)
class Op:
    """An op of graph IR by its name without 'graph.'; `path` is the module that it comes from."""

    name: str
    operands: list
    results: list
    attributes: dict = field(default_factory=dict)
    path: str = ""

    @property
    def result(self):
        return self.results[0]


@dataclass(eq=False)
class Parameter:
    """A parameter or buffer: what a file calls it, its shape there, and how it starts."""

    name: str
    shape: tuple
    tensor: object
    frozen: bool
    value: Value = None
    stored: list = None  # the dims of the value that make up each dim of the file; None: as it is


class Graph:
    """The body of @loss: inputs, parameters by name, ops in order, and the loss."""

    def __init__(self):
        self.inputs = []  # (name, Value)
        self.parameters = {}
        self.ops = []
        self.loss = None
        self.sequence = None
        self.tied = {}  # other names of parameters -> their names

    def uses(self):
        """Returns the ops that read each value, and the loss's as None."""
        found = {}
        for op in self.ops:
            for value in op.operands:
                found.setdefault(value, []).append(op)
        if self.loss is not None:
            found.setdefault(self.loss, []).append(None)
        return found

    def replace(self, old, new):
        for op in self.ops:
            op.operands = [new if value is old else value for value in op.operands]
        if self.loss is old:
            self.loss = new
