"""Rewrites a model so that one device rounds like the ranks of tensor parallelism: partial sums of matrix products.

If tensor parallelism splits the in dims of a `graph.linear`, each rank rounds its partial sum to the 16-bit type
before ranks add them up; if it splits the out dims, the same happens to the gradient of x. `in_parts` writes each
matrix product as the sum of products of slices, of an in dim and of an out dim: forward every in slice gives a
partial sum that is rounded, and backward every out slice does. The model computes the same numbers except for
rounding, from the same parameters, and knows nothing of plans or ranks.
"""
import re

ALIAS = re.compile(r"^(!\w+) = (tensor<[^>]*>)\n", re.MULTILINE)
LINEAR = re.compile(r"^ *(%\w+) = graph\.linear (%\w+), (%\w+)(?:, (%\w+))?(?: contract (\d+))?( transposed)?"
                    r" : \(([^)]*)\) -> (tensor<[^>]*>)\n", re.MULTILINE)


def dims_of(kind):
    """Parses 'tensor<?x8x16xf32>' to [None, 8, 16]."""
    return [None if size == "?" else int(size) for size in kind[len("tensor<"):-1].split("x")[:-1]]


def kind_of(dims):
    return "tensor<" + "".join(f"{'?' if size is None else size}x" for size in dims) + "f32>"


def ranges(size, count):
    """Returns (start, size) of at most `count` slices of a dim, none larger than size / count, rounded up."""
    most = -(-size // count)
    return [(start, min(most, size - start)) for start in range(0, size, most)]


def in_parts(text, count):
    """Returns the graph IR `text` with every matrix product cut into `count` slices by an in dim and by an out dim."""
    aliases = dict(ALIAS.findall(text))
    text = re.sub(r"!\w+", lambda found: aliases.get(found.group(), found.group()), ALIAS.sub("", text))
    return LINEAR.sub(lambda found: product_in_parts(count, *found.groups()), text)


def product_in_parts(count, result, x, weight, bias, contract, transposed, kinds, kind):
    kinds, lines, of_sum = kinds.split(", "), [], {}
    ins, x_dims, w_dims = int(contract or 1), dims_of(kinds[0]), dims_of(kinds[1])
    outs, leading = len(w_dims) - ins, len(x_dims) - ins
    first_in, first_out = (outs, 0) if transposed else (0, ins)  # dims of the weight

    def add_line(name, op, dims):
        lines.append(f"    {name} = graph.{op} -> {kind_of(dims)}\n")
        return name, dims

    def part(name, value, dims, dim, start, size):
        return add_line(name, f"slice {value} dim {dim} start {start} size {size} : {kind_of(dims)}",
                        [size if place == dim else of for place, of in enumerate(dims)])

    def add(name, a, b, b_dims, dims):
        return add_line(name, f"add {a}, {b} : ({kind_of(dims)}, {kind_of(b_dims)})", dims)

    # This picks heads rather than the three of queries, keys and values: the largest dim.
    in_dim = max(range(ins), key=lambda dim: w_dims[first_in + dim])
    out_dim = max(range(outs), key=lambda dim: w_dims[first_out + dim])
    for i, (in_start, in_size) in enumerate(ranges(w_dims[first_in + in_dim], count)):
        part_x, part_x_dims = part(f"{result}_x{i}", x, x_dims, leading + in_dim, in_start, in_size)
        rows, rows_dims = part(f"{result}_w{i}", weight, w_dims, first_in + in_dim, in_start, in_size)
        for o, (out_start, out_size) in enumerate(ranges(w_dims[first_out + out_dim], count)):
            part_w, part_w_dims = part(f"{result}_w{i}x{o}", rows, rows_dims, first_out + out_dim, out_start, out_size)
            dims = x_dims[:leading] + part_w_dims[first_out: first_out + outs]
            flags = f" contract {ins}" * (ins > 1) + " transposed" * bool(transposed)
            product, _ = add_line(f"{result}_p{i}x{o}", f"linear {part_x}, {part_w}{flags} : "
                                  f"({kind_of(part_x_dims)}, {kind_of(part_w_dims)})", dims)
            of_sum[o] = add(f"{result}_s{i}x{o}", of_sum[o][0], product, dims, dims) if i else (product, dims)
    whole = dims_of(kind)
    names, columns = (", ".join(name for name, _ in of_sum.values()),
                      ", ".join(kind_of(dims) for _, dims in of_sum.values()))
    add_line(f"{result}_c" if bias else result, f"concat {names} dim {leading + out_dim} : ({columns})", whole)
    if bias:
        add(result, f"{result}_c", bias, dims_of(kinds[2]), whole)
    return "".join(lines)
