"""Bounds of the difference of two runs in 16 bits, derived from measured roundings and not tuned.

Two plans of one step add up the same numbers in another order, so that sums differ in the last bits of f32. Some of
them round to the other neighbour in the 16-bit type, all results that depend on them differ by a step of that type,
and more roundings differ: at worst, every rounding of one plan is independent of the other's.

1. To first order a number that a run gives is y + E, y being without rounding and E = sum over all roundings i of g_i
   e_i, g_i being how far the number follows tensor i and e_i at most half a step. Two runs of one device that round
   independently differ by a number of mean 0 and variance 2 Var E.
2. A plan with tensor parallelism rounds more: partial sums of matrix products before they are added up. Their effect
   depends on how far partial sums cancel, so it is measured: the draws of 3. are of the model in slices
   (partial_sums.py), one device that rounds the partial sums of as many ranks. Var E of 3. then has these roundings.
   The partial sums that are no matrix products of the model (gradients of keys and values that heads on several ranks
   share) are independent: t of them have 1/t of the sum's variance, an error's variance goes with the square of what
   is rounded, and so they make one more rounding of the sum. A plan therefore has at most 2 Var E (were every tensor
   such a sum), and its difference from one device at most 3 Var E.
3. Var E is measured: DRAWS runs of one device, in the same type, start from the initial parameters of f32, each moved
   by a uniform amount of at most half a step of the type. So parameters are rounded at random, and all that is
   computed of them is rounded anew: a product of many terms moves by a good part of a step, after which its rounding
   error is another. (Parameters that were rounded before they are moved would nearly all be rounded back: write_moved
   ends a test that does so.) The number of a draw is then y + P + E', P being the effect of the movement itself: its
   variance is Var P + Var E, no less than Var E. (Were the errors E' still correlated by r with E, draws would spread
   by Var P + (1 - r) Var E. `make_mixed.py` measures Var E otherwise, by rounding every tensor at random; `mixed.py`
   checks that these draws spread no less: 1.1 to 1.4 times as far as rounding at random, where 0.71 would do.)
4. A number stays within its bound with probability 1 - 1e-6, over all numbers that are compared: the quantile of
   Student's t (E is a sum of many small independent addends, a Gaussian number) times a measured deviation. For
   tensors that is the largest of their elements, no less than the mean of all n of them, which has n (DRAWS - 1)
   degrees of freedom; for losses their own, with DRAWS - 1.
5. Numbers that are stored in 16 bits are rounded once more at the end: two that are arbitrarily near may be
   neighbours, one step apart. And two orders of f32 sums move what rounding does not move (a gradient that is zero),
   by what any_plan.py allows in f32.
6. If ranks reduce gradients in bf16 as well, both happen: a gradient differs by no more than the sum of both bounds,
   the other one (any_plan.py, reduction_bound) being a share of the tensor's largest element.

planted.py leaves out partial sums and addends of gradients, and counts some twice: these bounds find all of them.
"""
import math
import random
import sys

from dtc_tools import read_safetensors, write_safetensors

DRAWS, CHANCE = 8, 1e-6
PLAN_VARIANCE = 3  # variance of a plan's difference from one device, in units of one device's variance (2. above)
# The values are the last bit of a number in [1/2, 1), and of a denormal number, as powers of two.
LAST_BIT = {"bf16": (-8, -133), "f16": (-11, -24)}


# This share of the elements that no step rounds to themselves must move: a quarter of all do not stay, by 3. above.
LEAST_ROUNDED = 0.1


def gaussian(count, chance=CHANCE):
    """Returns the bound that `count` Gaussian numbers exceed with a probability of at most `chance`, in standard
    deviations.
    """
    return math.sqrt(2 * math.log(2 * count / chance))


def student(count, draws, elements=1, chance=CHANCE):
    """Returns the quantile of Student's t that belongs to a Gaussian one (Peizer and Pratt; 1 % off at 31 degrees of
    freedom).

    The deviation is that of `draws` draws, or the mean of `elements` of such.
    """
    freedom = elements * (draws - 1)
    return math.sqrt(freedom * math.expm1(gaussian(count, chance) ** 2 / freedom))


def step_of(value, precision):
    """Returns the distance of `value` from the next number of the type."""
    last, least = LAST_BIT[precision]
    return 0.0 if value == 0 else 2.0 ** max(math.frexp(value)[1] + last, least)


def rounded(value, precision):
    """Returns the nearest number of the type, ties to even, of a value inside its range."""
    step = step_of(value, precision)
    return round(value / step) * step if step else 0.0


def write_moved(source, target, precision, seed):
    """Writes the parameters of a file in f32, each moved by a random amount of at most half a step of the type.

    Ends the test if nearly all of the parameters that are spread over many numbers are rounded back to their values.
    """
    rng, moved, count, changed = random.Random(f"moved {seed}"), {}, 0, 0
    for name, (shape, values) in sorted(read_safetensors(source).items()):
        moved[name] = (shape, [value + rng.uniform(-0.5, 0.5) * step_of(value, precision) for value in values])
        if len(set(values)) > len(values) // 2 and len(values) >= 64:
            count += len(values)
            changed += sum(rounded(a, precision) != rounded(b, precision) for a, b in zip(values, moved[name][1]))
    if changed < LEAST_ROUNDED * count:
        sys.exit(f"FAILED: {changed} of {count} elements of {source} are rounded to another number of {precision} "
                 f"when they are moved, "
                 f"wanted {LEAST_ROUNDED:.0%} or more: it was rounded before")
    write_safetensors(target, moved)


def deviation(values):
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def largest_deviation(tensors):
    """Returns the largest deviation of the elements of one tensor in several runs."""
    return max(map(deviation, zip(*tensors)), default=0.0)


def within(found, wanted, bound, what):
    """Ends the test if the numbers differ by more than `bound`; returns the share of the bound that they reach."""
    if not abs(found - wanted) <= bound:  # true for NaN, too
        sys.exit(f"FAILED: {what} is {found}, wanted {wanted} within {bound:.3g}")
    return abs(found - wanted) / bound if bound > 0 else 0.0


class Compared:
    """One run beside another, in 16 bits, with draws of the rounding; `worst` is the largest share of a bound."""

    def __init__(self, precision, exact, reduction=0.0):
        self.precision = precision
        self.exact = exact  # difference of two orders of sums in f32, as a share of a tensor's root mean square
        # This is the effect of reducing gradients in another type, as a share of a tensor's largest element.
        self.reduction = reduction
        self.worst = 0.0

    def numbers(self, found, wanted, draws, what, share=0.0):
        """Compares numbers; each may differ by `share` of itself beside."""
        quantile = student(len(wanted), len(draws)) * math.sqrt(PLAN_VARIANCE)
        for place, (a, b) in enumerate(zip(found, wanted, strict=True), 1):
            bound = quantile * deviation([draw[place - 1] for draw in draws]) + (self.exact + share) * abs(b)
            self.worst = max(self.worst, within(a, b, bound, f"{what} {place}"))

    def tensors(self, found, wanted, draws, what, is_kept=False):
        """Compares tensors; is_kept: the type itself stores them."""
        if sorted(found) != sorted(wanted):
            sys.exit(f"FAILED: {what}: tensors {sorted(set(found) ^ set(wanted))} are in one file only")
        count = sum(len(values) for _, values in wanted.values())
        whole = math.sqrt(math.fsum(v * v for _, values in wanted.values() for v in values) / max(1, count))
        for name, (shape, values) in sorted(wanted.items()):
            if found[name][0] != shape:
                sys.exit(f"FAILED: {what}: '{name}' has shape {found[name][0]}, wanted {shape}")
            quantile = student(count, len(draws), max(1, len(values))) * math.sqrt(PLAN_VARIANCE)
            scale = math.sqrt(math.fsum(v * v for v in values) / max(1, len(values)))
            largest = max(map(abs, values), default=0.0)
            bound = (quantile * largest_deviation([draw[name][1] for draw in draws])
                     + self.exact * max(scale, 1e-3 * whole) + self.reduction * max(largest, 1e-3 * whole))
            for a, b in zip(found[name][1], values):
                last = max(step_of(a, self.precision), step_of(b, self.precision)) if is_kept else 0.0
                self.worst = max(self.worst, within(a, b, bound + last, f"{what}: an element of '{name}'"))
