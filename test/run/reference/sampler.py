"""The order of samples, written from runtime/data/Sampler.h: the samples of the data that each step of dtrun reads."""

WORD = (1 << 64) - 1


def mix(x):
    """Computes the finaliser of MurmurHash3."""
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & WORD
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & WORD
    return x ^ x >> 33


def permute(index, size, key0, key1):
    """Permutes by a Feistel network of six rounds, walked until the result is below `size`."""
    bits = 0
    while bits < 32 and (size - 1) >> 2 * bits:
        bits += 1
    mask = (1 << bits) - 1
    while True:
        left, right = index >> bits, index & mask
        for turn in range(6):
            drawn = mix(mix(right ^ key0) + key1 + (turn << 56) & WORD)
            left, right = right, left ^ drawn & mask
        index = left << bits | right
        if index < size:
            return index


def samples_of(step, batch, size, seed):
    """Returns the samples of a step (from 1), out of `size`."""
    return [permute(g % size, size, mix(seed), g // size) for g in range((step - 1) * batch, step * batch)]


def slots_of(weights):
    """Returns the size of a block and the places of each source in it. Weights are Fractions that add up to 1."""
    block = 10
    while block < 10**6 and any((weight * block).denominator != 1 for weight in weights):
        block *= 10
    slots = [max(1, int(weight * block)) for weight in weights]
    order = sorted(range(len(weights)), key=lambda i: (slots[i] - weights[i] * block, i))
    for turn in range(block - sum(slots)):
        slots[order[turn % len(order)]] += 1
    return block, slots


def mixed_samples_of(step, batch, sizes, weights, seed):
    """Returns the (source, sample) of a step (from 1), out of sources of `sizes` samples."""
    block, slots = slots_of(weights)
    result = []
    for g in range((step - 1) * batch, step * batch):
        number, slot, source = g // block, permute(g % block, block, mix(seed), g // block), 0
        while slot >= slots[source]:
            slot -= slots[source]
            source += 1
        drawn, size = number * slots[source] + slot, sizes[source]
        key = mix(seed + mix(source + 1) & WORD)
        result.append((source, permute(drawn % size, size, key, drawn // size)))
    return result
