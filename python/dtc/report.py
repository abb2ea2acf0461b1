"""The result of an export, and what is printed of it."""

from dataclasses import dataclass, field

from dtc.ir import elements

LARGE = {
    "linear",
    "matmul",
    "attention",
    "embedding",
    "layer_norm",
    "rms_norm",
    "batch_norm",
    "conv2d",
    "conv_transpose2d",
    "max_pool2d",
    "avg_pool2d",
    "rotary",
    "rotary_table",
    "cross_entropy",
    "weighted_mean",
    "softmax",
    "dropout",
    "gelu",
    "silu",
    "relu",
    "tanh",
    "point",
    "detach",
    "constant",
}


@dataclass
class Exported:
    """The report of what dtc.export understood of a module.

    parameters: numbers that the module holds, frozen ones and buffers included, tied ones once.
    blocks: name of repeated layers -> how many there are. recognised: op -> how many were
    recognised. kept: op -> how many stayed small ops.
    """

    parameters: int
    blocks: dict
    recognised: dict
    kept: dict
    flops: float  # forward and backward, a sample
    sequence: int = None  # tokens of a sample, where the model has a sequence
    inputs: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def summary(self):
        def listed(counts):
            return (
                ", ".join(
                    f"{count} {name}"
                    for name, count in sorted(counts.items(), key=lambda item: -item[1])
                )
                or "none"
            )

        layers = (
            ", ".join(f"{count} x {name}" for name, count in self.blocks.items())
            or "none that repeat"
        )
        per = self.flops / self.sequence if self.sequence else self.flops
        lines = [
            f"inputs       {', '.join(self.inputs)}",
            f"layers       {layers}",
            f"parameters   {quantity(self.parameters)}",
            (
                f"flops        {quantity(per)} a {'token' if self.sequence else 'sample'}, forward"
                " and backward"
            ),
            f"recognised   {listed(self.recognised)}",
            f"kept small   {listed(self.kept)}",
        ]
        return "\n".join(lines + [f"note: {note}" for note in self.notes])


def quantity(number):
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.4g} {unit}"
    return f"{number:.4g}"


def flops_of(op):
    """Returns the flops of an op's forward pass, of one sample; only products count."""
    out = elements(op.result.dims)
    if op.name == "linear":
        count = op.attributes.get("contract", 1)
        return 2 * out * elements(op.operands[0].dims[-count:])
    if op.name == "matmul":
        a = op.operands[0].dims
        return 2 * out * (a[-2] if op.attributes.get("transpose_a") else a[-1])
    if op.name == "conv2d":
        return 2 * out * elements(op.operands[1].dims[1:])
    if op.name == "conv_transpose2d":
        return 2 * elements(op.operands[0].dims) * elements(op.operands[1].dims[1:])
    if op.name == "attention":
        _, queries, heads, width = op.operands[0].dims
        return 2 * queries * heads * (width + op.operands[2].dims[-1]) * op.operands[1].dims[1]
    return 0


def report(graph, recognised):
    """Returns the result for a graph before its layers are made blocks."""
    found, kept = dict(recognised), {}
    for op in graph.ops:
        if op.name not in LARGE:
            kept[op.name] = kept.get(op.name, 0) + 1
    gated = sum(
        op.name == "multiply"
        and any(value.op is not None and value.op.name in ("silu", "gelu") for value in op.operands)
        for op in graph.ops
    )
    if gated:
        found["gated unit"] = gated
    for name in (
        "linear",
        "layer_norm",
        "rms_norm",
        "batch_norm",
        "conv2d",
        "conv_transpose2d",
        "embedding",
    ):
        count = sum(op.name == name for op in graph.ops)
        if count:
            found[name] = count
    parameters = sum(parameter.tensor.numel() for parameter in graph.parameters.values())
    return Exported(
        parameters,
        {},
        found,
        kept,
        3.0 * sum(flops_of(op) for op in graph.ops),
        graph.sequence,
        [f"{name} {value.type.removeprefix('tensor')}" for name, value in graph.inputs],
    )
