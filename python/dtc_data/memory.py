"""Chooses the number of workers and the size of batches for an amount of memory."""

import os
import re

from dtc_data.errors import DataError
from dtc_data.readers import Limits

MIB = 1 << 20
SMALLEST_PIECE, LARGEST_PIECE = 64 << 10, 1 << 20
# Bytes that a worker takes for each byte of text: words and their ids; all that `tokenizers` makes of a token.
BY_WORDS, BY_TOKENIZER = 48, 96
WORD_BYTES = 250  # a word that is kept, with its ids
COORDINATOR = 48 * MIB  # taken by the process that reads and writes, beside what it began with


def parse_bytes(text):
    """Returns a number of bytes: '512M', '2GiB', '1000000'."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", text.strip().lower())
    if not found:
        raise ValueError(f"'{text}' is no number of bytes, such as 2G or 500M")
    return int(float(found[1]) * 1024 ** " kmgt".index(found[2] or " "))


def resident():
    """Returns the bytes of memory that this process has."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def default_memory(workers):
    """Returns half of the memory that is free, 1 GiB a worker at most."""
    with open("/proc/meminfo", encoding="ascii") as file:
        free = int(re.search(r"MemAvailable:\s+(\d+)", file.read())[1]) << 10
    return min(free // 2, (workers + 1) << 30)


def words_kept(memory):
    """Returns how many words a worker keeps."""
    return max(5_000, min(150_000, memory // 16 // WORD_BYTES))


def plan(memory, workers, cuts, most_words):
    """Returns the number of workers and the Limits that fit. Each process is counted as if it shared nothing."""
    base = resident()
    text = BY_WORDS if cuts else BY_TOKENIZER
    kept = most_words * WORD_BYTES if cuts else 0
    least = 2 * base + COORDINATOR + kept + SMALLEST_PIECE * text
    if memory < least:
        raise DataError(
            f"error: --memory {memory} is too little: this tokenizer needs {-(-least // MIB)}M at least"
        )
    fixed = base + kept + SMALLEST_PIECE * text
    workers = max(1, min(workers, (memory - base - COORDINATOR) // fixed))
    share = (memory - base - COORDINATOR) // workers - base - kept
    piece = max(SMALLEST_PIECE, min(LARGEST_PIECE, share // text // 2))
    # A document is there as bytes, as text and as ids, or as all that `tokenizers` makes of it.
    longest = max(piece, share // (16 if cuts else text))
    return workers, Limits(piece, longest, memory)
