"""Input files: which there are, what they hold and how they are compressed."""

import bz2
import gzip
import io
import lzma
import os
import zlib

from dtc_data.errors import at, library

COMPRESSIONS = ((b"\x1f\x8b", "gz"), (b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zst"), (b"BZh", "bz2"))
ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "text", ".parquet": "parquet"}
STATED_ENDINGS = {**ENDINGS, ".json": "jsonl", ".md": "text", ".pq": "parquet"}
KINDS = ("jsonl", "parquet", "text", "mds")


class Input:
    """One input file, or one folder of MosaicML's shards."""

    def __init__(self, path, kind, compression=""):
        self.path, self.kind, self.compression = path, kind, compression

    def identity(self):
        """Returns what must not change between an interrupted build and the one that goes on."""
        file = os.path.join(self.path, "index.json") if self.kind == "mds" else self.path
        status = os.stat(file)
        return [os.path.abspath(self.path), self.kind, status.st_size, status.st_mtime_ns]

    def bytes(self):
        """Returns the bytes on disk, for the progress."""
        if self.kind == "mds":
            return sum(os.path.getsize(os.path.join(self.path, name)) for name in os.listdir(self.path))
        return os.path.getsize(self.path)


def ending_of(path):
    """Returns the ending of a name without that of its compression: '.jsonl' of 'a.jsonl.gz'."""
    stem, ending = os.path.splitext(path.lower())
    return os.path.splitext(stem)[1] if ending in (".gz", ".xz", ".zst", ".bz2") else ending


def first_bytes(path):
    try:
        with open(path, "rb") as file:
            return file.read(8)
    except OSError as error:
        raise at(path, error.strerror) from error


def inspect_file(path, stated):
    """Returns the Input of a file: of the stated kind, or of that which its content and name say."""
    head = first_bytes(path)
    compression = next((name for magic, name in COMPRESSIONS if head.startswith(magic)), "")
    kind = stated or ("parquet" if head.startswith(b"PAR1") else STATED_ENDINGS.get(ending_of(path)))
    if kind is None:
        raise at(path, "its name says nothing of what it holds; state it: --kind jsonl, parquet or text")
    if kind == "parquet" and compression:
        raise at(path, f"it is compressed as a whole ({compression}), which Parquet files can't be; unpack it")
    return Input(path, kind, compression)


def inspect_folder(folder, stated):
    """Returns the inputs of a folder: MosaicML's shards, or its files of one kind in the order of their names."""
    if os.path.exists(os.path.join(folder, "index.json")) and stated in (None, "mds"):
        return [Input(folder, "mds")], []
    found, others = [], []
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            if not name.startswith("."):
                path = os.path.join(base, name)
                (found if stated or ending_of(path) in ENDINGS else others).append(path)
    inputs = [inspect_file(path, stated) for path in sorted(found)]
    kinds = sorted({each.kind for each in inputs})
    if len(kinds) > 1:
        raise at(folder, f"it holds files of several kinds ({', '.join(kinds)}); name those of one")
    if not inputs:
        raise at(folder, "it has no .jsonl, .parquet or .txt files and no shards of MosaicML; name the files")
    return inputs, sorted(others)


def find_inputs(paths, stated):
    """Returns the inputs that paths name, in order, and the files of folders that were left out."""
    inputs, left_out = [], []
    for path in paths:
        if os.path.isdir(path):
            found, others = inspect_folder(path, stated)
            inputs += found
            left_out += others
        elif stated == "mds":
            raise at(path, "it is no folder, as shards of MosaicML are in")
        else:
            inputs.append(inspect_file(path, stated))
    seen = set()
    for each in inputs:
        name = os.path.realpath(each.path)
        if name in seen:
            raise at(each.path, "it is named twice, and its documents would be there twice")
        seen.add(name)
    return inputs, left_out


class Stream:
    """The bytes of a file behind its compression. Errors name the file, and how many bytes were good."""

    def __init__(self, source, skip=0):
        self.path, self.compression, self.offset = source.path, source.compression, 0
        try:
            self.file = self.open()
        except OSError as error:
            raise at(self.path, error.strerror or error) from error
        if skip and not self.compression:
            self.file.seek(skip)
            self.offset = skip
        while self.offset < skip:
            if not self.read(min(skip - self.offset, 1 << 20)):
                raise at(self.path, f"it ends after {self.offset} bytes, and {skip} of them were read before")

    def open(self):
        if self.compression == "gz":
            return gzip.open(self.path)
        if self.compression == "xz":
            return lzma.open(self.path)
        if self.compression == "bz2":
            return bz2.open(self.path)
        if self.compression == "zst":
            pyarrow = library("pyarrow", "reading .zst files")
            return io.BufferedReader(pyarrow.CompressedInputStream(pyarrow.OSFile(self.path), "zstd"), 1 << 18)
        return open(self.path, "rb")

    def taken(self, method, size):
        try:
            data = method(size)
        except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
            what = f"reading behind {self.offset} bytes of its content: {error}"
            raise at(self.path, f"{what}; it is damaged or cut short") from error
        self.offset += len(data)
        return data

    def read(self, size):
        return self.taken(self.file.read, size)

    def readline(self, size):
        return self.taken(self.file.readline, size)

    def close(self):
        self.file.close()
