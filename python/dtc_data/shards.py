"""Writes shards that can be gone on with: Megatron-LM's indexed data sets, and hashes of blocks.

A folder has for each shard tokens-NNNNN.bin (ids), .idx (sequences and documents) and .crc (CRC-32 of each 64 KiB of
the .bin, u32), and dataset.json, which names them. While it is written it is called NAME.building, and has
building.json, which says how much of it is good and where in the inputs the rest begins: what is behind that is cut
off when a build goes on.
"""

import array
import itertools
import json
import os
import struct
import zlib

from dtc_data.errors import at

BLOCK = 1 << 16
SCHEMA = "dtc.data/1"
ENTRIES = 1 << 16  # sequences at once, when an index is written


def write_json(path, value):
    """Writes a file that is complete or not there."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def sync_folder(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class ShardWriter:
    """The shards of one build."""

    def __init__(self, folder, code, shard_tokens):
        self.folder, self.code, self.width, self.shard_tokens = folder, code, 2 if code == "H" else 4, shard_tokens
        self.state_path = os.path.join(folder, "building.json")
        self.state = {
            "build": None,
            "shards": [],
            "open": {"tokens": 0, "sequences": 0, "documents": 0},
            "input": 0,
            "start": {},
            "text": 0,
            "empty": 0,
        }
        self.files = {}

    def begin(self, build):
        self.state["build"] = build
        self.open_files()
        self.commit(0, {})

    def resume(self, state):
        self.state = state
        self.open_files()

    def path(self, ending, number=None):
        number = len(self.state["shards"]) if number is None else number
        return os.path.join(self.folder, f"tokens-{number:05}.{ending}")

    def open_files(self):
        """Opens the files of the shard that is being written, and cuts off what no commit has confirmed."""
        counts = self.state["open"]
        sizes = {
            "bin": counts["tokens"] * self.width,
            "lengths": counts["sequences"] * 4,
            "ends": counts["sequences"],
        }
        for ending, size in sizes.items():
            file = open(self.path(ending), "ab")
            self.files[ending] = file
            if file.tell() < size:
                raise at(
                    file.name,
                    f"it has {file.tell()} bytes, and building.json beside it says {size}; remove {self.folder}",
                )
            file.truncate(size)

    def add(self, encoded):
        """Appends a batch; closes shards that are full, at the end of a document."""
        counts = self.state["open"]
        while counts["tokens"] + len(encoded.ids) // self.width >= self.shard_tokens:
            tokens = 0
            for index, length in enumerate(encoded.lengths):
                tokens += length
                if encoded.ends[index] and counts["tokens"] + tokens >= self.shard_tokens:
                    break
            else:
                break
            front, encoded = encoded.cut_at(index + 1, tokens, self.width)
            self.append(front)
            self.close_shard()
            counts = self.state["open"]
        self.append(encoded)

    def append(self, encoded):
        counts = self.state["open"]
        self.files["bin"].write(encoded.ids)
        self.files["lengths"].write(encoded.lengths.tobytes())
        self.files["ends"].write(encoded.ends)
        counts["tokens"] += len(encoded.ids) // self.width
        counts["sequences"] += len(encoded.lengths)
        counts["documents"] += encoded.ends.count(1)

    def commit(self, number, start):
        """Makes durable what was added, together with where the rest begins."""
        for file in self.files.values():
            file.flush()
            os.fsync(file.fileno())
        self.state["input"], self.state["start"] = number, start
        write_json(self.state_path, self.state)

    def close_shard(self):
        """Writes the index and the hashes of the shard, and begins the next one.

        building.json still names the old shard as the open one: a build that ends before the next commit writes this
        shard again, and cuts it off where it was.
        """
        counts = self.state["open"]
        for file in self.files.values():
            file.flush()
            os.fsync(file.fileno())
            file.close()
        self.write_index(counts)
        whole = self.write_hashes()
        self.state["shards"].append({"file": os.path.basename(self.path("bin")), **counts, "crc32": whole})
        self.state["open"] = {"tokens": 0, "sequences": 0, "documents": 0}
        for ending in ("bin", "lengths", "ends"):
            with open(self.path(ending), "wb"):
                pass
        self.open_files()

    def write_index(self, counts):
        """Writes Megatron-LM's index: header, lengths, places in bytes, documents' first sequences and the end."""
        sequences, documents = counts["sequences"], counts["documents"]
        with open(self.path("idx"), "wb") as index:
            index.write(
                b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8 if self.width == 2 else 4, sequences, documents + 1)
            )
            with open(self.path("lengths"), "rb") as lengths:
                while chunk := lengths.read(4 * ENTRIES):
                    index.write(chunk)
                lengths.seek(0)
                location = 0
                while chunk := lengths.read(4 * ENTRIES):
                    each = array.array("i")
                    each.frombytes(chunk)
                    offsets = array.array("q", itertools.accumulate((n * self.width for n in each), initial=location))
                    location = offsets.pop()
                    index.write(offsets.tobytes())
            index.write(struct.pack("<q", 0))
            with open(self.path("ends"), "rb") as ends:
                number = 0
                while chunk := ends.read(ENTRIES):
                    index.write(array.array("q", (number + i + 1 for i, end in enumerate(chunk) if end)).tobytes())
                    number += len(chunk)
            index.flush()
            os.fsync(index.fileno())

    def write_hashes(self):
        """Writes the CRC-32 of each block of the .bin, and returns that of all of it."""
        whole = 0
        with open(self.path("bin"), "rb") as data, open(self.path("crc"), "wb") as hashes:
            while block := data.read(BLOCK):
                whole = zlib.crc32(block, whole)
                hashes.write(struct.pack("<I", zlib.crc32(block)))
            hashes.flush()
            os.fsync(hashes.fileno())
        return whole

    def finish(self, description, target):
        """Closes the last shard, writes dataset.json and gives the folder its name."""
        if self.state["open"]["tokens"]:
            self.close_shard()
        for file in self.files.values():
            file.close()
        # The build is whole from here on: an interruption repeats this, not the work.
        self.state["done"] = True
        write_json(self.state_path, self.state)
        for name in os.listdir(self.folder):
            number, _, ending = name.removeprefix("tokens-").partition(".")
            if name.startswith("tokens-") and (
                ending in ("lengths", "ends") or int(number) >= len(self.state["shards"])
            ):
                os.unlink(os.path.join(self.folder, name))
        shards = [
            {**each, "crc_of_hashes": self.crc_of(self.path("crc", i))}
            for i, each in enumerate(self.state["shards"])
        ]
        totals = {key: sum(each[key] for each in shards) for key in ("tokens", "documents")}
        write_json(
            os.path.join(self.folder, "dataset.json"),
            {
                "schema": SCHEMA,
                "id_bytes": self.width,
                "block_bytes": BLOCK,
                **totals,
                **description,
                "build": self.state["build"],
                "shards": shards,
            },
        )
        os.unlink(self.state_path)
        if os.path.exists(os.path.join(self.folder, "lock")):
            os.unlink(os.path.join(self.folder, "lock"))
        sync_folder(self.folder)
        os.rename(self.folder, target)
        sync_folder(os.path.dirname(os.path.abspath(target)))
        return totals

    @staticmethod
    def crc_of(path):
        crc = 0
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                crc = zlib.crc32(block, crc)
        return crc


def verify(folder):
    """Reads all bytes of a data set; returns its description. Errors name the first file and place that differ."""
    path = os.path.join(folder, "dataset.json")
    try:
        with open(path, encoding="utf-8") as file:
            description = json.load(file)
        if description["schema"] != SCHEMA:
            raise at(path, f"it is of '{description['schema']}'; wanted {SCHEMA}")
        for shard in description["shards"]:
            verify_shard(folder, shard, description["id_bytes"], description["block_bytes"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise at(path, f"it is no data set of dtc data build: {error}") from error
    return description


def verify_shard(folder, shard, width, block_bytes):
    stem = os.path.join(folder, shard["file"].removesuffix(".bin"))
    if ShardWriter.crc_of(stem + ".crc") != shard["crc_of_hashes"]:
        raise at(stem + ".crc", "it is damaged: its hash is another than dataset.json says")
    size = os.path.getsize(stem + ".bin")
    if size != shard["tokens"] * width:
        raise at(stem + ".bin", f"it has {size} bytes, and dataset.json says {shard['tokens']} tokens of {width}")
    whole = 0
    with open(stem + ".bin", "rb") as data, open(stem + ".crc", "rb") as hashes:
        for number in itertools.count():
            block = data.read(block_bytes)
            if not block:
                break
            whole = zlib.crc32(block, whole)
            if struct.pack("<I", zlib.crc32(block)) != hashes.read(4):
                raise at(
                    stem + ".bin",
                    f"it is damaged in bytes {number * block_bytes} to {number * block_bytes + len(block)}",
                )
    if whole != shard["crc32"]:
        raise at(stem + ".bin", "it is damaged: its hash is another than dataset.json says")
