"""Sums over letters (einsum), and statistics over dims: variance, largest and smallest element,
logarithm of a sum of exponentials."""

import string

from dtc.clean import bound, sizes_of
from dtc.errors import Unsupported
from dtc.ir import Batch
from dtc.lower import lowers
from dtc.ops_layers import multiply_matrices, multiply_rows, reduced
from dtc.ops_points import binary, floats, pointwise, scaled
from dtc.views import reshape, size_of, with_dims


@lowers("einsum")
def einsum(lower, node):
    arguments = bound(node)
    terms = [floats(lower.view(each)) for each in arguments["tensors"]]
    names, result = letters_of(arguments["equation"], terms)
    view, letters = without_others(lower, terms[0], names[0], set(result).union(*names[1:]))
    for at in range(1, len(terms)):
        later = set(result).union(*names[at + 1 :])
        other, theirs = without_others(lower, terms[at], names[at], later | set(letters))
        view, letters = product(lower, (view, letters), (other, theirs), later)
    return with_dims(view, [view.dims[letters.index(letter)] for letter in result])


def letters_of(equation, terms):
    """Returns the letters of each operand and of the result, with a letter for each dim of '...'."""
    sides = equation.replace(" ", "").split("->")
    names = sides[0].split(",")
    free = [each for each in string.ascii_letters if each not in equation]
    most = max(
        len(term.dims) - len(name.replace("...", ""))
        for name, term in zip(names, terms)
    )
    dots = "".join(free[:most])
    wide = []
    for name, term in zip(names, terms):
        count = len(term.dims) - len(name.replace("...", ""))
        wide.append(name.replace("...", dots[len(dots) - count :]))
    if any(len(set(name)) != len(name) for name in wide):
        raise Unsupported("takes a diagonal, with a letter twice in one operand")
    once = [each for each in sorted(set("".join(names))) if "".join(names).count(each) == 1]
    result = sides[1] if len(sides) > 1 else "..." + "".join(each for each in once if each != ".")
    return wide, result.replace("...", dots)


def without_others(lower, view, letters, wanted):
    """Adds up the dims whose letters are not wanted; returns the view and its letters."""
    lost = [at for at, letter in enumerate(letters) if letter not in wanted]
    if not lost:
        return view, letters
    rest = "".join(letter for letter in letters if letter in wanted)
    return reduced(lower, view, "sum", lost), rest


def product(lower, first, second, later):
    """Multiplies two views and adds up the letters that both have and nobody reads later. Returns
    the product and its letters."""
    (a, letters), (b, theirs) = first, second
    sizes = dict(zip(letters, a.sizes))
    for letter, size in zip(theirs, b.sizes):
        if sizes.setdefault(letter, size) != size:
            raise Unsupported(f"repeats '{letter}', of size 1 in one operand; expand it first")
    both = [letter for letter in letters if letter in theirs]
    summed = [letter for letter in both if letter not in later]
    batch = [letter for letter in both if letter in later]
    rows = [letter for letter in letters if letter not in theirs]
    columns = [letter for letter in theirs if letter not in letters]
    if not summed or not rows or not columns:
        order = batch + rows + columns + summed
        aligned = [
            with_dims(view, [view.dims[names.index(x)] if x in names else () for x in order])
            for view, names in (first, second)
        ]
        view = binary(lower, "multiply", *aligned)
        count = len(order) - len(summed)
        if summed:
            view = reduced(lower, view, "sum", list(range(count, len(order))))
        return view, "".join(order[:count])
    if not batch and not (a.value.has_batch and b.value.has_batch):
        if b.value.has_batch:
            a, letters, rows, b, theirs, columns = b, theirs, columns, a, letters, rows
        view = multiply_rows(
            lower,
            with_dims(a, [*dims_of(a, letters, rows), joined(a, letters, summed)]),
            with_dims(b, [joined(b, theirs, columns), joined(b, theirs, summed)]),
            None,
        )
        kept = [sizes[letter] for letter in rows]
    else:
        kept = [sizes[letter] for letter in batch]
        shape = [joined(a, letters, rows), joined(b, theirs, columns)]
        view = multiply_matrices(
            lower,
            with_dims(a, [*dims_of(a, letters, batch), shape[0], joined(a, letters, summed)]),
            with_dims(b, [*dims_of(b, theirs, batch), joined(b, theirs, summed), shape[1]]),
            (*kept, *(size_of(dim) for dim in shape)),
        )
        kept += [sizes[letter] for letter in rows]
    view = reshape(view, (*kept, *(sizes[letter] for letter in columns)))
    return view, "".join(batch + rows + columns)


def dims_of(view, letters, wanted):
    return [view.dims[letters.index(letter)] for letter in wanted]


def joined(view, letters, wanted):
    """Returns several dims as one."""
    return tuple(atom for dim in dims_of(view, letters, wanted) for atom in dim)


def dims_over(node, given, with_batch=False):
    """Returns the dims that a statistic is over, in order; all of them if none are given. Refuses the batch among
    them, unless it is taken `with_batch`."""
    sizes = sizes_of(node.args[0])
    given = [given] if isinstance(given, int) else given
    dims = sorted({dim % len(sizes) for dim in given or range(len(sizes))}) if sizes else []
    if not with_batch and any(isinstance(sizes[dim], Batch) for dim in dims):
        raise Unsupported("is over the batch, which couples samples")
    return dims


def kept_dims(view, dims):
    """Returns the view with a dim of size 1 where each of `dims` was."""
    wide = list(view.dims)
    for dim in dims:
        wide.insert(dim, ())
    return with_dims(view, wide)


@lowers("var", "std")
def variance(lower, node):
    arguments = bound(node)
    x, dims = floats(lower.view(arguments["self"])), dims_over(node, arguments.get("dim"))
    count = 1
    for dim in dims:
        count *= x.sizes[dim]
    less = arguments.get("correction", 1 if arguments.get("unbiased", True) else 0)
    less = 1 if less is None else less
    if count - less <= 0:
        raise Unsupported(f"divides by {count} elements less {less}")
    mean = kept_dims(reduced(lower, x, "mean", dims), dims)
    apart = binary(lower, "subtract", x, mean)
    square = binary(lower, "multiply", apart, apart)
    view = scaled(lower, reduced(lower, square, "mean", dims), count / (count - less))
    if node.target._opname == "std":
        view = pointwise(lower, "sqrt", view)
    return kept_dims(view, dims) if arguments.get("keepdim") else view


@lowers("amax", "amin")
def extreme(lower, node):
    """Writes the largest or smallest element; of equal ones each gets the whole gradient, where
    PyTorch divides it."""
    arguments = bound(node)
    x = floats(lower.view(arguments["self"]))
    dims = dims_over(node, arguments["dim"], with_batch=lower.for_state)
    view = extreme_over(lower, x, dims, node.target._opname == "amin")
    return kept_dims(view, dims) if arguments["keepdim"] else view


def extreme_over(lower, x, dims, least):
    """Returns the largest elements over dims, or the smallest."""
    x = pointwise(lower, "negate", x) if least else x
    view = reduced(lower, x, "max", dims)
    return pointwise(lower, "negate", view) if least else view


@lowers("logsumexp")
def logarithm_of_sum(lower, node):
    arguments = bound(node)
    x, dims = floats(lower.view(arguments["self"])), dims_over(node, arguments["dim"])
    view = log_sum_exp(lower, x, dims)
    return kept_dims(view, dims) if arguments["keepdim"] else view


def log_sum_exp(lower, x, dims):
    """Returns log(sum(exp(x))) over dims, without overflow: the maximum is taken off and added."""
    most = reduced(lower, x, "max", dims)
    below = binary(lower, "subtract", x, kept_dims(most, dims))
    total = reduced(lower, pointwise(lower, "exp", below), "sum", dims)
    return binary(lower, "add", pointwise(lower, "log", total), most)


@lowers("log_softmax", "_log_softmax")
def log_softmax(lower, node):
    return log_softmax_of(
        lower, floats(lower.view(node.args[0])), dims_over(node, node.args[1])
    )


def log_softmax_of(lower, x, dims):
    return binary(lower, "subtract", x, kept_dims(log_sum_exp(lower, x, dims), dims))
