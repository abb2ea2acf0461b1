"""Reads inputs as batches of about one size, in order, from any place on.

A batch is what one worker encodes at a time. Behind each batch the reader says where the next one begins, so that a
build can go on there.
"""

import array
from dataclasses import dataclass

from dtc_data import mds
from dtc_data.errors import at, library
from dtc_data.inputs import Stream


@dataclass
class Limits:
    """The sizes of batches and documents, in bytes, that the memory allows."""

    piece: int
    longest: int
    memory: int = 0

    def too_long(self, location, size):
        advice = f"--memory {self.memory * -(-size // self.longest)} or more"
        return at(
            location, f"a document of {size} bytes or more is longer than the memory allows ({self.longest}); {advice}"
        )


@dataclass
class Batch:
    """Documents of one input. `kind` says what `content` is:

    lines   bytes of whole lines; each is a JSON object, or with `key` None a document
    texts   a list of documents
    part    UTF-8 of one document, or of a part of one (begins, ends)
    ids     (ids as bytes, number of ids of each document)
    """

    kind: str
    path: str
    first: int  # number of the first line (from 1), row or sample (from 0); of a part the byte at which it begins
    content: object
    key: str = None
    begins: bool = True
    ends: bool = True
    after: dict = None  # the place of the next batch

    def location(self, index=0):
        """Returns the place of a document, for errors."""
        if self.kind == "lines":
            return f"{self.path}:{self.first + index}"
        if self.kind == "part":
            return self.path
        return f"{self.path}: row {self.first + index}"


def read_lines(source, start, limits, key):
    """Reads JSON lines, or lines of text where `key` is None."""
    stream, line = Stream(source, start.get("bytes", 0)), start.get("line", 1)
    while blob := stream.read(limits.piece):
        if not blob.endswith(b"\n"):
            rest = stream.readline(limits.longest)
            if len(rest) == limits.longest and not rest.endswith(b"\n"):
                raise limits.too_long(f"{source.path}:{line + blob.count(10)}", len(rest))
            blob += rest
        lines = blob.count(b"\n")
        yield Batch("lines", source.path, line, blob, key, after={"bytes": stream.offset, "line": line + lines})
        line += lines
    stream.close()


def last_cut(buffer):
    """Returns the last place where text may be cut (tokenizer.CUT), or 0."""
    location = buffer.rfind(b" ", 0, len(buffer) - 1)
    while location > 0:
        before, behind = buffer[location - 1], buffer[location + 1 : location + 2]
        if 33 <= before <= 126 and behind.isalpha():
            return location
        location = buffer.rfind(b" ", 0, location)
    return 0


def read_text(source, start, limits, cuts):
    """Reads a file of text as one document, in parts where the tokenizer allows that."""
    consumed, begins = start.get("bytes", 0), not start.get("inside", False)
    stream, buffer = Stream(source, consumed), b""
    want = limits.piece if cuts else limits.longest + 1
    while True:
        more = stream.read(want)
        buffer += more
        cut = last_cut(buffer) if more and cuts else 0
        if more and not cut:
            if len(buffer) > limits.longest:
                raise limits.too_long(source.path, len(buffer))
            continue
        part = buffer[:cut] if more else buffer
        # A byte order mark is no text.
        text = part[3:] if consumed == 0 and part.startswith(b"\xef\xbb\xbf") else part
        consumed_before, consumed = consumed, consumed + len(part)
        after = {"bytes": consumed, "inside": True} if more else None
        if text or not begins:
            yield Batch("part", source.path, consumed_before, text, begins=begins, ends=not more, after=after)
            begins = False
        if not more:
            break
        buffer = buffer[cut:]
    stream.close()


def open_parquet(path):
    pyarrow, parquet = library("pyarrow", "reading Parquet"), library("pyarrow.parquet", "reading Parquet")
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())  # gives memory back at once
    try:
        return parquet.ParquetFile(path, buffer_size=1 << 18, pre_buffer=False)
    except (OSError, pyarrow.ArrowException, ValueError) as error:
        what = str(error).splitlines()[0]
        raise at(path, f"it is no Parquet file, or is cut short: {what}") from error


def parquet_ids(column, code, location, vocabulary):
    """Returns the ids of a column of lists as (bytes, lengths). Offsets and nulls make child arrays longer than what
    they hold, so that lengths are asked for, and values are those of flatten()."""
    pyarrow, compute = library("pyarrow", "reading Parquet"), library("pyarrow.compute", "reading Parquet")
    if column.null_count:
        row = column.is_null().index(True).as_py()
        raise at(location(row), "its list of tokens is null")
    lengths = compute.list_value_length(column).to_pylist()
    values = column.flatten()
    if values.null_count:
        raise at(location(0), "a token in this row or behind it is null")
    extremes = compute.min_max(values)
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    if values and (low < 0 or high >= vocabulary):
        wrong = low if low < 0 else high
        row, seen, found = 0, 0, values.index(wrong).as_py()
        while seen + lengths[row] <= found:
            seen += lengths[row]
            row += 1
        raise at(location(row), f"token {wrong} is outside the vocabulary of {vocabulary}")
    values = values.cast(pyarrow.uint16() if code == "H" else pyarrow.int32())
    width = 2 if code == "H" else 4
    if not values:
        return b"", lengths
    return values.buffers()[1][values.offset * width : (values.offset + len(values)) * width].to_pybytes(), lengths


def column_kind(file, path, key, wants_ids):
    """Checks that a column of a Parquet file holds text, or lists of integers."""
    pyarrow = library("pyarrow", "reading Parquet")
    types = pyarrow.types
    schema = file.schema_arrow
    flag = "--tokens-key" if wants_ids else "--text-key"
    if key not in schema.names:
        raise at(path, f"it has no column '{key}', but {', '.join(map(repr, schema.names))}; name one with {flag}")
    found = schema.field(key).type
    if wants_ids:
        lists = types.is_list(found) or types.is_large_list(found) or types.is_fixed_size_list(found)
        if not lists or not types.is_integer(found.value_type):
            raise at(path, f"column '{key}' is {found}; lists of integers are wanted")
    elif not (types.is_string(found) or types.is_large_string(found)):
        wanted = "text is wanted" + ("; --tokens-key reads tokens" if types.is_nested(found) else "")
        raise at(path, f"column '{key}' is {found}; {wanted}")


def read_parquet(source, start, limits, key, wants_ids, code, vocabulary):
    """Reads a column of text or of tokens, a few rows at a time."""
    pyarrow = library("pyarrow", "reading Parquet")
    file = open_parquet(source.path)
    column_kind(file, source.path, key, wants_ids)
    skip, row = start.get("row", 0), 0
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        if row + group.num_rows <= skip:
            row += group.num_rows
            continue
        size = sum(
            group.column(i).total_uncompressed_size
            for i in range(group.num_columns)
            if group.column(i).path_in_schema.split(".")[0] == key
        )
        rows = max(1, min(8192, limits.piece * group.num_rows // max(size, 1)))
        batches = file.iter_batches(rows, row_groups=[number], columns=[key], use_threads=False)
        while True:
            try:
                batch = next(batches, None)
            except (OSError, pyarrow.ArrowException) as error:
                what = f"reading behind row {row}: {str(error).splitlines()[0]}"
                raise at(source.path, f"{what}; it is damaged") from error
            if batch is None:
                break
            column = batch.column(0)
            if skip > row:
                column = column.slice(min(skip - row, len(column)))
            first = row + len(batch) - len(column)
            row += len(batch)
            if len(column) == 0:
                continue
            made = Batch("ids" if wants_ids else "texts", source.path, first, None, after={"row": row})
            if wants_ids:
                made.content = parquet_ids(column, code, made.location, vocabulary)
            else:
                if column.nbytes > limits.longest + limits.piece:
                    raise limits.too_long(made.location(), column.nbytes)
                made.content = column.to_pylist()
            yield made


def read_mds(source, start, limits, key, wants_ids, code, vocabulary, stated_type):
    """Reads a column of MosaicML's shards."""
    rows, size, first = [], 0, start.get("row", 0)
    for row, value in mds.samples(source.path, key, wants_ids, first, limits, stated_type):
        if wants_ids:
            if value and not 0 <= min(value) <= max(value) < vocabulary:
                wrong = min(value) if min(value) < 0 else max(value)
                raise at(f"{source.path}: row {row}", f"token {wrong} is outside the vocabulary of {vocabulary}")
            value = array.array(code, value)
        rows.append(value)
        size += len(value) * (value.itemsize if wants_ids else 1) + 16
        if size >= limits.piece:
            yield mds_batch(source, first, rows, wants_ids)
            rows, size, first = [], 0, row + 1
    if rows:
        yield mds_batch(source, first, rows, wants_ids)


def mds_batch(source, first, rows, wants_ids):
    after = {"row": first + len(rows)}
    if wants_ids:
        return Batch("ids", source.path, first, (b"".join(map(bytes, rows)), list(map(len, rows))), after=after)
    return Batch("texts", source.path, first, rows, after=after)
