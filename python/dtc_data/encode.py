"""The work of one worker: a batch of documents becomes ids."""

import array
import json
from dataclasses import dataclass

from dtc_data.errors import at


@dataclass
class Encoded:
    """Ids of a batch: sequences one after the other. `ends` has a byte for each, 1 where a document ends with it."""

    ids: bytes
    lengths: array.array
    ends: bytes
    text: int = 0  # bytes of text
    empty: int = 0  # documents without text, which are left out
    after: dict = None

    def cut_at(self, sequences, tokens, width):
        """Returns what comes before and behind a number of sequences, which have `tokens` tokens."""
        front = Encoded(self.ids[: tokens * width], self.lengths[:sequences], self.ends[:sequences])
        back = Encoded(self.ids[tokens * width :], self.lengths[sequences:], self.ends[sequences:])
        return front, back


def text_of_line(line, location, key):
    """Returns the text of a line: of a JSON object the value of `key`; the line itself where `key` is None."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise at(location, f"it is no UTF-8 ({error.reason} at byte {error.start} of the line)") from error
    if key is None:
        return text
    try:
        value = json.loads(text)
    except ValueError as error:
        raise at(location, f"it is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise at(location, f"it is no JSON object but {type(value).__name__}; each line is one object")
    if key not in value:
        names = ", ".join(f"'{name}'" for name in list(value)[:8]) or "no key at all"
        raise at(location, f"it has no key '{key}', but {names}; name the one of the text with --text-key")
    text = value[key]
    if not isinstance(text, str):
        raise at(location, f"'{key}' is {'null' if text is None else type(text).__name__}; a text is wanted")
    return text


def texts_of(batch):
    """Yields (text, place) of each document of a batch."""
    if batch.kind == "texts":
        for index, text in enumerate(batch.content):
            location = batch.location(index)
            if text is None:
                raise at(location, "its text is null")
            yield text, location
    elif batch.kind == "lines":
        lines = batch.content.split(b"\n")
        for index, line in enumerate(lines[:-1] if not lines[-1] else lines):
            line = line.removesuffix(b"\r")
            if index == 0 and batch.first == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if line.strip():
                location = batch.location(index)
                yield text_of_line(line, location, batch.key), location


def encode_part(tokenizer, batch):
    try:
        text = batch.content.decode()
    except UnicodeDecodeError as error:
        what = f"it is no UTF-8 ({error.reason} at byte {batch.first + error.start})"
        raise at(batch.path, what) from error
    ids = tokenizer.encode(text, batch.location(), batch.begins, batch.ends)
    width = 2 if tokenizer.code == "H" else 4
    return Encoded(ids, array.array("i", [len(ids) // width]), bytes([batch.ends]), len(batch.content))


def encode(tokenizer, batch):
    """Returns the ids of a batch. Errors name the document."""
    if batch.kind == "part":
        return encode_part(tokenizer, batch)
    width = 2 if tokenizer.code == "H" else 4
    all_ids, lengths, size, empty = [], array.array("i"), 0, 0
    for text, location in texts_of(batch):
        if not text:
            empty += 1
            continue
        ids = tokenizer.encode(text, location)
        all_ids.append(ids)
        lengths.append(len(ids) // width)
        size += len(text) if text.isascii() else len(text.encode())
    return Encoded(b"".join(all_ids), lengths, b"\1" * len(lengths), size, empty)


def as_encoded(batch, code, end):
    """Returns a batch of ids with the id that ends a document behind each that does not end with it."""
    ids, lengths = batch.content
    width = 2 if code == "H" else 4
    if not all(lengths) or end is not None:
        parts, kept, begin = [], array.array("i"), 0
        mark = b"" if end is None else array.array(code, [end]).tobytes()
        for length in lengths:
            part = ids[begin * width : (begin + length) * width]
            begin += length
            if length:
                part = part if end is None or part.endswith(mark) else part + mark
                parts.append(part)
                kept.append(len(part) // width)
        return Encoded(b"".join(parts), kept, b"\1" * len(kept), 0, len(lengths) - len(kept))
    return Encoded(ids, array.array("i", lengths), b"\1" * len(lengths))
