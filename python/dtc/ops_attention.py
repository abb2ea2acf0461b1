"""Attention, its masks and groups of heads, and rotary embedding."""

import torch

from dtc.clean import bound
from dtc.errors import Unsupported
from dtc.ir import Batch
from dtc.lower import lowers
from dtc.ops_points import floats, views_written
from dtc import views
from dtc.views import Atom, View, identity, with_dims


def described_attention(**arguments):
    """Stands for graph.attention with lengths of samples, a bias or sinks in a graph. Its arguments
    are those of scaled_dot_product_attention and these; meta["kind"] has (causal, window)."""
    raise NotImplementedError(f"attention of {', '.join(arguments)} is lowered, and not computed")


def mask_kind(mask, queries, keys, is_causal):
    """Returns (causal, window or None) of a constant mask, or None where it hides other keys."""
    if mask is None:
        if is_causal and queries != keys:
            # PyTorch lines up the first query and the first key, graph.attention the last ones.
            return None
        return is_causal, None
    if is_causal:
        return None
    if mask.dtype == torch.bool:
        seen = mask
    elif bool(((mask == 0) | (mask <= -1e4)).all()):
        seen = mask == 0
    else:
        return None
    seen = seen.expand(*seen.shape[:-2], queries, keys).reshape(-1, queries, keys)
    if not bool((seen == seen[:1]).all()):
        return None
    seen = seen[0]
    if bool(seen.all()):
        return False, None
    distance = torch.arange(queries)[:, None] + keys - queries - torch.arange(keys)[None, :]
    if torch.equal(seen, distance >= 0):
        return True, None
    window = int(seen[-1].sum())
    if torch.equal(seen, (distance >= 0) & (distance < window)):
        return True, window
    return None


@lowers("scaled_dot_product_attention", "described_attention")
def attention(lower, node):
    is_described = node.target is described_attention
    arguments = node.kwargs if is_described else bound(node)
    q, k, v = (
        lower.build.settled(floats(lower.view(arguments[name])))
        for name in ("query", "key", "value")
    )
    lower.same_samples(q.value, k.value, v.value)
    mask = arguments["attn_mask"]
    queries, keys, width = q.sizes[-2], k.sizes[-2], q.sizes[-1]
    if any(isinstance(size, Batch) for size in (queries, keys, width)):
        raise Unsupported("has the batch as sequence or width; keep it as the first dim")
    key = (mask, queries, keys, arguments["is_causal"])
    if key not in lower.masks:
        lower.masks[key] = mask_kind(None if mask is None else lower.folder.value(mask), *key[1:])
    kind = node.meta.get("kind") or lower.masks[key]
    if kind is None:
        raise Unsupported(
            "is causal with other numbers of queries and keys, where the first query sees the first"
            " key; graph.attention lines up the last ones: give the mask"
        )
    q, k, v = broadcast_heads(q, k, v, bool(arguments.get("enable_gqa")))
    heads, shared = grouped(q, k, v)
    if shared is None:
        q, k, v = (identity(lower.build.plain(each)) for each in (q, k, v))
        heads, shared = grouped(q, k, v)
    values = []
    for view, atoms in ((q, heads), (k, shared), (v, shared_of(v, shared, k))):
        batch = [atom for dim in view.dims[:-2] for atom in dim if isinstance(atom.size, Batch)]
        values.append(lower.build.materialise(view, [batch, view.dims[-2], atoms, view.dims[-1]]))
    scale = arguments.get("scale")
    scale = None if scale is None or abs(scale * width**0.5 - 1) < 1e-6 else float(scale)
    dropout = float(arguments["dropout_p"])
    words = []
    for word, made in (("sinks", sinks_of), ("lengths", lengths_of), ("bias", bias_of)):
        if is_described and arguments[word] is not None:
            words.append(word)
            values.append(made(lower, arguments[word]))
    value = lower.build.emit(
        "attention",
        values,
        values[0].dims[:-1] + values[2].dims[-1:],
        operand_words=tuple(words) or None,
        causal=kind[0],
        sliding=kind[1],
        soft_cap=node.meta.get("soft_cap"),
        scale=scale,
        dropout=dropout or None,
    )
    result = identity(value)
    by_head = list(heads)
    split = (
        views.refine(result, result.dims[2], [atom.size for atom in by_head])
        if by_head
        else (result, [])
    )
    result, fresh = split
    renamed = dict(zip(by_head, fresh))
    dims = []
    for dim in q.dims[:-2]:
        dims.append(
            tuple(
                result.dims[0][0] if isinstance(atom.size, Batch) else renamed[atom] for atom in dim
            )
        )
    lower.counts["attention"] = lower.counts.get("attention", 0) + 1
    return with_dims(result, dims + [result.dims[1], result.dims[3]])


def sinks_of(lower, node):
    """Returns the score of each head that has no value."""
    return lower.build.plain(lower.build.settled(floats(lower.view(node))))


def lengths_of(lower, node):
    """Returns the lengths of samples, in i32."""
    value = lower.build.plain(lower.view(node))
    return value if value.kind == "i32" else lower.build.emit("cast", [value], value.dims, "i32")


def bias_of(lower, mask):
    """Returns what is added to scores [batch, heads, queries, keys]; dims that only repeat are 1."""
    view = lower.build.settled(floats(lower.view(mask)))
    dims = ((),) * (4 - len(view.dims)) + tuple(view.dims)
    dims = [() if all(atom.repeats for atom in dim) else dim for dim in dims]
    return lower.build.materialise(with_dims(view, dims), dims)


def broadcast_heads(q, k, v, grouped_heads):
    """Returns queries, keys and values with equal dims in front of the matrices, as PyTorch repeats
    them; grouped heads stay the fewer that they are."""
    same = 1 if grouped_heads else 0
    rank = max(len(view.dims) for view in (q, k, v))
    views_ = [with_dims(x, ((),) * (rank - len(x.dims)) + tuple(x.dims)) for x in (q, k, v)]
    for dim in range(rank - 2 - same):
        sizes = [view.sizes[dim] for view in views_]
        wide = next((size for size in sizes if size != 1), 1)
        views_ = [
            view if size == wide else repeated(view, dim, wide) for view, size in zip(views_, sizes)
        ]
    return views_


def repeated(view, dim, size):
    atoms = [Atom(Batch(1), True)] if isinstance(size, Batch) else [Atom(size, True)]
    if isinstance(size, Batch) and size.rows > 1:
        atoms.append(Atom(size.rows, True))
    return with_dims(view, view.dims[:dim] + (tuple(atoms),) + view.dims[dim + 1 :])


def grouped(q, k, v):
    """Returns the atoms of query heads and of kv heads; None for the latter where repeats are not
    in the order of groups."""
    heads = [atom for dim in q.dims[:-2] for atom in dim if not isinstance(atom.size, Batch)]
    if any(atom.repeats for dim in q.dims for atom in dim):
        return heads, None
    of = []
    for view in (k, v):
        atoms = [atom for dim in view.dims[:-2] for atom in dim if not isinstance(atom.size, Batch)]
        repeats = [atom.repeats for atom in atoms]
        if (
            repeats != sorted(repeats)
            or any(atom.repeats for dim in view.dims[-2:] for atom in dim)
            or any(
                atom.repeats
                for dim in view.dims[:-2]
                for atom in dim
                if isinstance(atom.size, Batch)
            )
        ):
            return heads, None
        of.append([atom for atom in atoms if not atom.repeats])
    if [atom.size for atom in of[0]] != [atom.size for atom in of[1]]:
        return heads, None
    return heads, of[0]


def shared_of(v, shared, k):
    return [
        atom
        for dim in v.dims[:-2]
        for atom in dim
        if not isinstance(atom.size, Batch) and not atom.repeats
    ]


@lowers("rotary")
def rotary(lower, node):
    frequencies, positions, inverse, dim = node.meta["rotary"]
    x = lower.build.settled(views_written(lower, floats(lower.view(node.args[0]))))
    batch = [atom for dims in x.dims for atom in dims if isinstance(atom.size, Batch)]
    others = [
        atom
        for at, dims in enumerate(x.dims[:-1])
        if at != dim
        for atom in dims
        if not isinstance(atom.size, Batch)
    ]
    value = lower.build.materialise(x, [batch, x.dims[dim], others, x.dims[-1]])
    path, lower.build.path = lower.build.path, ""
    cos, sin = lower.build.emit_many(
        "rotary_table", [], [(positions, len(frequencies))] * 2, **table_attributes(frequencies)
    )
    lower.build.path = path
    value = lower.build.emit("rotary", [value, cos, sin], value.dims, inverse=inverse)
    result = View(value, (tuple(batch), x.dims[dim], tuple(others), x.dims[-1]), x.dims)
    return result


def table_attributes(frequencies):
    """Returns the base of frequencies that are powers of one, else the frequencies."""
    count = len(frequencies)
    if count > 1 and frequencies[0] == 1 and 0 < frequencies[-1] < 1:
        base = frequencies[-1] ** (-count / (count - 1))
        base = float(f"{base:.5g}")
        if all(abs(f - base ** (-at / count)) <= 1e-6 * f for at, f in enumerate(frequencies)):
            return {"base": base}
    return {"frequencies": tuple(frequencies)}
