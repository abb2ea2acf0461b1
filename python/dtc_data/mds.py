"""MosaicML's streaming shards: a folder of index.json and shard files.

A shard has u32 samples, u32 offset[samples + 1] from its beginning, and a sample has u32 sizes of its columns of
variable size, and then all columns in order. An array (`ndarray[:TYPE[:SHAPE]]`) has a byte for its type unless the
encoding states it, then a byte (rank * 4 + log2 of the bytes of a size) and the sizes unless it states those, then its
values. Source: streaming/base/format/mds/ of mosaicml/streaming.
"""

import array
import gzip
import io
import json
import os
import struct

from dtc_data.errors import at, library

CODES = {
    "uint8": "B",
    "int8": "b",
    "uint16": "H",
    "int16": "h",
    "uint32": "I",
    "int32": "i",
    "uint64": "Q",
    "int64": "q",
}
NUMBERS = {8: "uint8", 9: "int8", 16: "uint16", 17: "int16", 32: "uint32", 33: "int32", 64: "uint64", 65: "int64"}


def read_index(folder):
    path = os.path.join(folder, "index.json")
    try:
        with open(path, encoding="utf-8") as file:
            index = json.load(file)
        shards = index["shards"]
        if index["version"] != 2 or any(shard["format"] != "mds" for shard in shards):
            raise at(path, "it is no index of MDS shards of version 2")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise at(path, f"it is no index of MosaicML's shards: {error}") from error
    return shards


def array_values(data, encoding, stated_type, location):
    """Returns the integers of an array, in their own type."""
    name, _, rest = encoding.partition(":")
    kind, _, shape = rest.partition(":")
    at_byte = 0
    if name == "bytes":
        if not stated_type:
            raise at(location, "the column is of bytes, which say no type; state it: --tokens-type int64, uint16, ...")
        kind = stated_type
    elif not kind:
        kind, at_byte = NUMBERS.get(data[0]), 1
    if name == "ndarray" and not shape:
        rank, log = data[at_byte] >> 2, data[at_byte] & 3
        at_byte += 1 + (rank << log)
    if kind not in CODES:
        raise at(location, f"its array is of {kind or 'an unknown type'}; integers are wanted")
    values = array.array(CODES[kind])
    if (len(data) - at_byte) % values.itemsize:
        raise at(location, f"it has {len(data) - at_byte} bytes, no whole number of {kind}")
    values.frombytes(data[at_byte:])
    return values


def open_shard(folder, shard, limits):
    """Opens a shard for reading at any place. Compressed ones are unpacked in memory."""
    raw, packed = shard["raw_data"], shard.get("zip_data")
    path = os.path.join(folder, raw["basename"])
    if not os.path.exists(path) and packed:
        path, kind = os.path.join(folder, packed["basename"]), (shard.get("compression") or "").partition(":")[0]
        if raw["bytes"] > limits.longest * 4:
            raise limits.too_long(path, raw["bytes"] // 4)
        try:
            with open(path, "rb") as file:
                data = file.read()
            if kind == "gz":
                data = gzip.decompress(data)
            elif kind == "zstd":
                pyarrow = library("pyarrow", "reading shards packed by zstd")
                data = pyarrow.CompressedInputStream(pyarrow.BufferReader(data), "zstd").read()
            else:
                raise at(path, f"it is packed by '{kind}'; gz and zstd are read")
        except (OSError, EOFError, ValueError) as error:
            raise at(path, f"it can't be unpacked: {error}") from error
        return path, len(data), io.BytesIO(data)
    try:
        return path, os.path.getsize(path), open(path, "rb")
    except OSError as error:
        raise at(path, error.strerror) from error


def column_of(path, shard, key, wants_ids):
    names = shard["column_names"]
    if key not in names:
        flag = "--tokens-key" if wants_ids else "--text-key"
        raise at(path, f"it has no column '{key}', but {', '.join(map(repr, names))}; name one with {flag}")
    column = names.index(key)
    encoding = shard["column_encodings"][column]
    wanted = ("ndarray", "bytes") if wants_ids else ("str",)
    if encoding.partition(":")[0] not in wanted:
        advice = "; --tokens-key reads tokens" if not wants_ids and encoding.startswith("ndarray") else ""
        raise at(path, f"column '{key}' is of '{encoding}'; {' or '.join(wanted)} is wanted{advice}")
    return column, encoding


def samples(folder, key, wants_ids, first, limits, stated_type):
    """Yields (row, text or integers) of all samples from `first` on."""
    row = 0
    for shard in read_index(folder):
        count = shard["samples"]
        if row + count <= first:
            row += count
            continue
        path, size, file = open_shard(folder, shard, limits)
        with file:
            column, encoding = column_of(path, shard, key, wants_ids)
            head = file.read(4 + 4 * (count + 1))
            if (
                size != shard["raw_data"]["bytes"]
                or len(head) < 8 + 4 * count
                or head[:4] != struct.pack("<I", count)
            ):
                raise at(
                    path,
                    f"it has {size} bytes, and index.json says {shard['raw_data']['bytes']} of {count} samples",
                )
            offsets = array.array("I")
            offsets.frombytes(head[4:])
            for index in range(max(first - row, 0), count):
                location = f"{path}: sample {index}"
                begin, end = offsets[index], offsets[index + 1]
                if not len(head) <= begin <= end <= size:
                    raise at(location, f"it is at bytes {begin} to {end} of {size}")
                if end - begin > limits.longest:
                    raise limits.too_long(location, end - begin)
                file.seek(begin)
                yield row + index, value_of(
                    file.read(end - begin), shard["column_sizes"], column, encoding, stated_type, location
                )
        row += count


def value_of(data, sizes, column, encoding, stated_type, location):
    at_size, sizes, variable = 0, list(sizes), sum(size is None for size in sizes)
    if len(data) < 4 * variable:
        raise at(location, "it is cut short")
    for i, size in enumerate(sizes):
        if size is None:
            (sizes[i],) = struct.unpack_from("<I", data, at_size)
            at_size += 4
    begin = at_size + sum(sizes[:column])
    value = data[begin : begin + sizes[column]]
    if len(value) != sizes[column] or not value and encoding != "str":
        raise at(location, "it is cut short")
    if encoding != "str":
        return array_values(value, encoding, stated_type, location)
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise at(location, f"its text is no UTF-8 ({error.reason} at byte {error.start})") from error
