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
