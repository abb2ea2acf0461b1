#!/usr/bin/env python3
"""dtc data build writes the ids that `tokenizers` gives, whatever the kind, compression, workers and interruptions.

1. Tokenizers of eight kinds (byte-level with the expressions of GPT-2, Llama 3, Qwen2 and o200k; WordPiece; Unigram
   with Metaspace; BPE without a split; one with a template) on random texts that tempt the words that are kept:
   document by document the ids are those of Tokenizer.encode.
2. JSON lines, Parquet and text, plain, gz, xz, bz2 and zst, one worker or three: the same bytes.
3. Text in parts; tokens of Parquet lists (slices, large and fixed lists) and of MosaicML's shards, whose arrays have
   four forms, plain and packed.
4. A build that is killed at random moments and started again ends with the bytes of one that was not disturbed.
5. All processes together stay below --memory, for compressed lines and for Parquet.
6. Bad input: one line with the file and the place, exit code 1, and no folder of the name.
7. dtrun reads the folder: the losses are those of the same ids in one llm.c file; it refuses a model with another
   vocabulary, and names the block that is damaged.

DTC_DATA_PYTHON names an interpreter that has tokenizers and pyarrow; else build/test-venv (tools/setup.sh --tests) and
this one are tried. Without one the test is skipped (exit code 77).
Usage: data_build.py [--kills N] [NAME...]: these parts only (ids, kinds, tokens, kills, memory, errors, dtrun).
"""

import argparse
import array
import bz2
import gzip
import json
import lzma
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SKIPPED = 77


def find_python():
    """Starts this test again with an interpreter that has the libraries."""
    places = [
        os.environ.get("DTC_DATA_PYTHON"),
        sys.executable,
        str(ROOT / "build" / "test-venv" / "bin" / "python"),
    ]
    for place in filter(None, places):
        if (
            Path(place).exists()
            and subprocess.run(
                [place, "-c", "import tokenizers, pyarrow"], stdin=subprocess.DEVNULL, capture_output=True
            ).returncode
            == 0
        ):
            os.execv(place, [place, *sys.argv])
    print("skipped: no Python with tokenizers and pyarrow; tools/setup.sh --tests installs one")
    sys.exit(SKIPPED)


try:
    import pyarrow
    import pyarrow.parquet
    import tokenizers  # noqa: F401
except ImportError:
    find_python()

from dtc_tools import BIN, compare_steps, dtc, rows_of, run  # noqa: E402

sys.path.insert(0, str(ROOT / "python"))
from data_tokenizers import END, byte_level, make_tokenizers, random_text, texts  # noqa: E402
from dtc_data import readers  # noqa: E402
from dtc_data import tokenizer as ours  # noqa: E402

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}


def fail(what):
    sys.exit(f"FAILED: {what}")


def build(*arguments, code=0, timeout=300):
    """Runs dtc data build; returns its stdout, or where `code` is not 0 its stderr."""
    command = [sys.executable, "-m", "dtc_data", "build", *map(str, arguments)]
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, env=ENVIRONMENT
    )
    if result.returncode != code:
        fail(f"{' '.join(command)} ended with {result.returncode}, wanted {code}\n{result.stdout}{result.stderr}")
    return result.stderr if code else result.stdout


def read_documents(folder):
    """Returns the documents of a folder, read by Megatron's format alone."""
    description, documents = json.loads((folder / "dataset.json").read_text()), []
    for shard in description["shards"]:
        data, index = (folder / shard["file"]).read_bytes(), (folder / shard["file"]).with_suffix(
            ".idx"
        ).read_bytes()
        magic, version, code, sequences, bounds = struct.unpack_from("<9sQBQQ", index)
        if magic != b"MMIDIDX\0\0" or version != 1 or code != (8 if description["id_bytes"] == 2 else 4):
            fail(f"{shard['file']} has the header {index[:34]}")
        lengths = struct.unpack_from(f"<{sequences}i", index, 34)
        places = struct.unpack_from(f"<{sequences}q", index, 34 + 4 * sequences)
        ends = struct.unpack_from(f"<{bounds}q", index, 34 + 12 * sequences)
        ids = array.array("H" if code == 8 else "i", data)
        if (
            len(index) != 34 + 12 * sequences + 8 * bounds
            or sum(lengths) != len(ids)
            or ends[0] != 0
            or ends[-1] != sequences
        ):
            fail(f"the index of {shard['file']} does not fit its ids")
        for first, last in zip(ends, ends[1:]):
            begin = places[first] // ids.itemsize
            documents.append(list(ids[begin : begin + sum(lengths[first:last])]))
    return documents


def bytes_of(folder):
    """Returns name -> bytes of the files that dtrun and Megatron read."""
    return {
        path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in (".bin", ".idx", ".crc")
    }


def write_lines(path, documents):
    path.write_text(
        "".join(
            json.dumps({"id": i, "text": text}, ensure_ascii=i % 2 == 0) + "\n" for i, text in enumerate(documents)
        ),
        encoding="utf-8",
    )


def wanted_ids(tokenizer, documents, end):
    tokenizer.no_truncation()
    tokenizer.no_padding()
    result = []
    for text in documents:
        if text:
            ids = tokenizer.encode(text).ids
            result.append(ids if ids[-1:] == [end] else ids + [end])
    return result


def check_ids(folder):
    """1: every tokenizer, document by document."""
    for name, (tokenizer, keeps) in make_tokenizers().items():
        file = folder / f"{name}.json"
        tokenizer.save(str(file))
        documents = texts(7, 400)
        write_lines(folder / f"{name}.jsonl", documents)
        opened = ours.Tokenizer(str(file), END, drop_unknown=True)
        if opened.cuts != keeps:
            fail(f"{name}: words are{'' if opened.cuts else ' not'} kept")
        build(
            folder / f"{name}.jsonl",
            "--tokenizer",
            file,
            "--document-end",
            END,
            "--drop-unknown",
            "-o",
            folder / name,
        )
        found, wanted = read_documents(folder / name), wanted_ids(tokenizer, documents, tokenizer.token_to_id(END))
        for index, (have, want) in enumerate(zip(found, wanted)):
            if have != want:
                fail(f"{name}: document {index} has the ids {have}, tokenizers gives {want}")
        if len(found) != len(wanted):
            fail(f"{name}: {len(found)} documents, wanted {len(wanted)}")
        print(f"{name}: {len(found)} documents, {sum(map(len, found))} ids", flush=True)


def zst(data):
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def check_kinds(folder):
    """2 and the texts of 3."""
    tokenizer = byte_level()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": {"content": END}}))
    documents = [text for text in texts(3, 600) if text]
    write_lines(folder / "a.jsonl", documents)
    data = (folder / "a.jsonl").read_bytes()
    for ending, pack in (("gz", gzip.compress), ("xz", lzma.compress), ("bz2", bz2.compress), ("zst", zst)):
        half = len(data) // 2  # two members, one after the other, as some tools write
        (folder / f"a.jsonl.{ending}").write_bytes(pack(data[:half]) + pack(data[half:]))
    table = pyarrow.table({"other": range(len(documents)), "text": documents})
    pyarrow.parquet.write_table(table, folder / "a.parquet", row_group_size=100)
    common = ("--tokenizer", folder / "tokenizer.json", "--shard-tokens", 9000)
    build(folder / "a.jsonl", *common, "--workers", 1, "-o", folder / "one")
    wanted = bytes_of(folder / "one")
    if len(wanted) < 9 or read_documents(folder / "one") != wanted_ids(
        tokenizer, documents, tokenizer.token_to_id(END)
    ):
        fail("the first build is wrong")
    for name in ("a.jsonl", "a.jsonl.gz", "a.jsonl.xz", "a.jsonl.bz2", "a.jsonl.zst", "a.parquet"):
        build(folder / name, *common, "--workers", 3, "-o", folder / f"{name}.out", "--memory", "700M")
        if bytes_of(folder / f"{name}.out") != wanted:
            fail(f"{name} gives other bytes than a.jsonl")
    again = build(folder / "a.jsonl", *common, "--workers", 1, "-o", folder / "one")
    if "built already" not in again:
        fail(f"a second build says {again}")
    check_text(folder, tokenizer, common)
    print("kinds: the same bytes", flush=True)


def check_text(folder, tokenizer, common):
    """A text file is one document, whose parts are joined; or each of its lines is one."""
    text = "\n".join(texts(5, 4000)) * 3
    (folder / "long.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    end = tokenizer.token_to_id(END)
    build(folder / "long.txt", *common, "-o", folder / "text", "--memory", "300M")
    index = (folder / "text" / "tokens-00000.idx").read_bytes()
    if read_documents(folder / "text") != [tokenizer.encode(text).ids + [end]]:
        fail("text in parts has other ids")
    if struct.unpack_from("<QQ", index, 18)[0] < 3:
        fail(f"{len(text)} bytes of text were not read in parts")
    build(folder / "long.txt", *common, "--lines", "-o", folder / "lines")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if read_documents(folder / "lines") != [tokenizer.encode(line).ids + [end] for line in lines if line.strip()]:
        fail("lines of a text have other ids")


def write_mds(folder, rows, encoding, pack, packed=None):
    """Writes two shards with a column of text in front of that of tokens."""
    folder.mkdir()
    shards = []
    fixed = {"ndarray:uint16:4": 8}.get(encoding)
    for number, part in enumerate((rows[:3], rows[3:])):
        samples = []
        for i, row in enumerate(part):
            name, value = f"doc {i}".encode(), pack(row)
            sizes = struct.pack("<I", len(name)) + (b"" if fixed else struct.pack("<I", len(value)))
            samples.append(sizes + name + value)
        head, offsets = 4 + 4 * (len(part) + 1), []
        for sample in samples:
            offsets.append(head + sum(map(len, samples[: len(offsets)])))
        offsets.append(head + sum(map(len, samples)))
        data = struct.pack(f"<I{len(offsets)}I", len(part), *offsets) + b"".join(samples)
        base = f"shard.{number:05}.mds"
        zipped = None
        if packed:
            (folder / f"{base}.{packed}").write_bytes({"zstd": zst, "gz": gzip.compress}[packed](data))
            zipped = {"basename": f"{base}.{packed}", "bytes": 0, "hashes": {}}
        else:
            (folder / base).write_bytes(data)
        shards.append(
            {
                "column_encodings": ["str", encoding],
                "column_names": ["name", "tokens"],
                "column_sizes": [None, fixed],
                "compression": packed and f"{packed}:7",
                "format": "mds",
                "hashes": [],
                "samples": len(part),
                "raw_data": {"basename": base, "bytes": len(data), "hashes": {}},
                "version": 2,
                "zip_data": zipped,
            }
        )
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))


def check_tokens(folder):
    """3: tokens that are there already."""
    rows = [[7, 8, 9, 300], [1, 2, 3, 4], [5, 5, 5, 5], [60000, 0, 1, 2], [9, 9, 9, 9]]
    values = [row if i != 2 else row[:2] for i, row in enumerate(rows)]
    shapes = {
        "ndarray:uint16": lambda row: bytes([4, len(row)]) + struct.pack(f"<{len(row)}H", *row),
        "ndarray:uint16:4": lambda row: struct.pack("<4H", *row),
        "ndarray": lambda row: bytes([65, 5]) + struct.pack(f"<H{len(row)}q", len(row), *row),
        "bytes": lambda row: struct.pack(f"<{len(row)}q", *row),
    }
    for number, (encoding, pack) in enumerate(shapes.items()):
        made = rows if encoding.endswith(":4") else values
        for packed in (None, "zstd", "gz"):
            name = f"mds{number}{packed}"
            write_mds(folder / name, made, encoding, pack, packed)
            build(
                folder / name,
                "--tokens-key",
                "tokens",
                "--vocabulary",
                65536,
                "--document-end",
                9,
                *(["--tokens-type", "int64"] if encoding == "bytes" else []),
                "-o",
                folder / f"{name}.out",
            )
            if read_documents(folder / f"{name}.out") != [row if row[-1] == 9 else [*row, 9] for row in made]:
                fail(f"{encoding} ({packed}): {read_documents(folder / f'{name}.out')}")
    # Slices and nulls outside of them make the child array longer than what the list holds.
    whole = pyarrow.array([[1, 2], None, [], *values, [3]], pyarrow.list_(pyarrow.int64())).slice(3, len(values))
    ids, lengths = readers.parquet_ids(whole, "H", str, 65536)
    if ids != array.array("H", sum(values, [])).tobytes() or lengths != list(map(len, values)):
        fail(f"a slice with nulls outside of it: {ids}, {lengths}")
    fixed = pyarrow.array(rows, pyarrow.list_(pyarrow.int32(), 4))
    for name, column, made in (
        ("list", whole, values),
        ("large", whole.cast(pyarrow.large_list(pyarrow.int64())), values),
        ("fixed", fixed, rows),
    ):
        pyarrow.parquet.write_table(pyarrow.table({"ids": column}), folder / f"{name}.parquet", row_group_size=2)
        build(folder / f"{name}.parquet", "--tokens-key", "ids", "--vocabulary", 70000, "-o", folder / name)
        if read_documents(folder / name) != made:
            fail(f"{name}: {read_documents(folder / name)}")
    write_mds(folder / "named", rows, "ndarray:uint16:4", shapes["ndarray:uint16:4"])
    tokenizer = byte_level()
    tokenizer.save(str(folder / "tokenizer.json"))
    build(
        folder / "named",
        "--text-key",
        "name",
        "--tokenizer",
        folder / "tokenizer.json",
        "--document-end",
        "none",
        "-o",
        folder / "names",
    )
    if [tokenizer.decode(ids) for ids in read_documents(folder / "names")] != [
        "doc 0",
        "doc 1",
        "doc 2",
        "doc 0",
        "doc 1",
    ]:
        fail("text of MosaicML's shards")
    print("tokens: as they were", flush=True)


def check_kills(folder, kills, seed):
    """4: killed builds go on."""
    draw = random.Random(seed)
    tokenizer = byte_level()
    tokenizer.save(str(folder / "tokenizer.json"))
    write_lines(folder / "a.jsonl", texts(11, 3000))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress((folder / "a.jsonl").read_bytes()))
    (folder / "c.txt").write_text("\n".join(texts(12, 6000)))
    pyarrow.parquet.write_table(pyarrow.table({"text": texts(13, 3000)}), folder / "d.parquet", row_group_size=700)
    inputs = [folder / name for name in ("a.jsonl", "b.jsonl.gz", "c.txt", "d.parquet")]
    common = (
        *inputs,
        "--tokenizer",
        folder / "tokenizer.json",
        "--document-end",
        END,
        "--shard-tokens",
        150_000,
        "--memory",
        "200M",  # small batches
    )
    begun = time.monotonic()
    build(*common, "-o", folder / "whole")
    whole, wanted, killed, resumed = time.monotonic() - begun, bytes_of(folder / "whole"), 0, 0
    documents = read_documents(folder / "whole")
    while killed < kills:
        output = folder / f"killed-{killed}"
        for attempt in range(100):
            command = [
                sys.executable,
                "-m",
                "dtc_data",
                "build",
                *map(str, common),
                "-o",
                str(output),
                "--workers",
                str(draw.choice((1, 2))), "--commit-seconds", str(draw.choice((0, 0.3))),
            ]
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                env=ENVIRONMENT,
            )
            try:
                process.wait(draw.uniform(0.1, whole * 0.9) if attempt < 6 and killed < kills else 300)
            except subprocess.TimeoutExpired:
                process.send_signal(draw.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM)))
                killed += 1
            text = process.communicate()[1]
            resumed += "goes on after" in text
            if output.exists() and not (output / "dataset.json").exists():
                fail(f"{output} is there and has no dataset.json")
            if process.returncode == 0:
                break
            if process.returncode not in (-signal.SIGKILL, -signal.SIGTERM, 130, -signal.SIGINT):
                fail(f"a build that goes on ended with {process.returncode}: {text}")
        else:
            fail("a build made no progress")
        if read_documents(output) != documents:
            fail(f"after {killed} kills documents differ from those of an undisturbed build")
        parts = {name: data for name, data in bytes_of(output).items() if not name.endswith(".idx")}
        if parts != {name: data for name, data in wanted.items() if not name.endswith(".idx")}:
            fail("a build that was killed has other ids")
    if resumed == 0:
        fail("no build went on from where it was killed")
    print(f"kills: {killed}, {resumed} builds went on", flush=True)


def tree_resident(pid):
    """Returns the resident bytes of a process and its children, as if they shared nothing."""
    total = 0
    try:
        total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            total += tree_resident(child)
    except (OSError, IndexError):
        pass
    return total


def check_memory(folder):
    """5: the most memory of a build."""
    tokenizer = byte_level()
    tokenizer.save(str(folder / "tokenizer.json"))
    line = json.dumps({"text": "\n".join(texts(17, 400))}) + "\n"
    limit, copies = 220 << 20, 40
    unit = [random_text(random.Random(i)) for i in range(3000)]
    block = "".join(json.dumps({"text": text}) + "\n" for text in unit) + line
    with gzip.open(folder / "big.jsonl.gz", "wt", compresslevel=1) as file:
        for _ in range(copies):
            file.write(block)
    schema = pyarrow.schema({"text": pyarrow.string()})
    with pyarrow.parquet.ParquetWriter(folder / "big.parquet", schema) as writer:
        for _ in range(3):
            writer.write_table(pyarrow.table({"text": unit * (copies // 4)}, schema), row_group_size=1 << 20)
    for name in ("big.jsonl.gz", "big.parquet"):
        command = [
            sys.executable,
            "-m",
            "dtc_data",
            "build",
            str(folder / name),
            "--tokenizer",
            str(folder / "tokenizer.json"),
            "--document-end",
            END,
            "--memory",
            str(limit),
            "--workers",
            "2",
            "-o",
            str(folder / f"{name}.out"),
        ]
        process, most = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=ENVIRONMENT), 0
        while process.poll() is None:
            most = max(most, tree_resident(process.pid))
            time.sleep(0.01)
        if process.returncode or not 0 < most <= limit:
            fail(f"{name}: exit code {process.returncode}, {most >> 20} MiB of {limit >> 20}")
        print(
            f"memory: {name}, {len(block) * copies >> 20} MiB of text took {most >> 20} of {limit >> 20} MiB",
            flush=True,
        )


def check_errors(folder):
    """6: bad input."""
    tokenizer = byte_level()
    tokenizer.save(str(folder / "tokenizer.json"))
    good = "".join(json.dumps({"text": text}) + "\n" for text in texts(19, 50))
    files = {
        "key.jsonl": good + '{"content": "x", "url": ""}\n',
        "null.jsonl": good + '{"text": null}\n',
        "broken.jsonl": good + '{"text": "x"\n',
        "list.jsonl": "[1]\n",
        "surrogate.jsonl": good + '{"text": "\\ud800"}\n',
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "latin.jsonl").write_bytes(good.encode() + b'{"text": "caf\xe9"}\n')
    (folder / "latin.txt").write_bytes(b"caf\xe9 and more")
    (folder / "cut.jsonl.gz").write_bytes(gzip.compress(good.encode())[:-20])
    (folder / "cut.jsonl.xz").write_bytes(lzma.compress(good.encode())[:-20])
    (folder / "cut.jsonl.zst").write_bytes(zst(good.encode())[:-20])
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a", None], "ids": [[1], [2]]}), folder / "null.parquet")
    data = (folder / "null.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(data[:-30])
    # One byte of the compressed page of the text is another.
    pyarrow.parquet.write_table(
        pyarrow.table({"text": [f"text {i}" for i in range(9000)]}), folder / "page.parquet", use_dictionary=False
    )
    page = bytearray((folder / "page.parquet").read_bytes())
    page[200:260] = bytes(60)
    (folder / "page.parquet").write_bytes(page)
    pyarrow.parquet.write_table(pyarrow.table({"ids": [[1, 2], [3, 999]]}), folder / "large.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"ids": [[1, 2], None]}), folder / "missing.parquet")
    (folder / "what.dat").write_text("x")
    (folder / "long.jsonl").write_text(json.dumps({"text": "word " * 4_000_000}) + "\n")
    (folder / "letters.json").write_text(
        json.dumps(
            {
                "version": "1.0",
                "added_tokens": [],
                "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]},
            }
        )
    )
    (folder / "euro.jsonl").write_text('{"text": "ab"}\n{"text": "a€b"}\n')
    line = good.count("\n") + 1
    end = ("--document-end", END)
    ids = ("--tokens-key", "ids", "--vocabulary", 500)
    cases = [
        (
            ["key.jsonl", *end],
            f"key.jsonl:{line}: error: it has no key 'text', but 'content', 'url'; name the one of the text",
        ),
        (["null.jsonl", *end], f"null.jsonl:{line}: error: 'text' is null"),
        (["broken.jsonl", *end], f"broken.jsonl:{line}: error: it is no JSON: Expecting"),
        (["list.jsonl", *end], "list.jsonl:1: error: it is no JSON object but list"),
        (["surrogate.jsonl", *end], f"surrogate.jsonl:{line}: error: the text has half of a surrogate pair"),
        (["latin.jsonl", *end], f"latin.jsonl:{line}: error: it is no UTF-8"),
        (["latin.txt", *end], "latin.txt: error: it is no UTF-8 (invalid continuation byte at byte 3)"),
        (["cut.jsonl.gz", *end], "cut.jsonl.gz: error: reading behind"),
        (["cut.jsonl.xz", *end], "cut.jsonl.xz: error: reading behind"),
        (["cut.jsonl.zst", *end], "cut.jsonl.zst: error: reading behind"),
        (["cut.parquet", *end], "cut.parquet: error: it is no Parquet file, or is cut short"),
        (["page.parquet", *end], "page.parquet: error: reading behind row"),
        (["null.parquet", *end], "null.parquet: row 1: error: its text is null"),
        (
            ["null.parquet", *end, "--text-key", "body"],
            "null.parquet: error: it has no column 'body', but 'text', 'ids'",
        ),
        (["null.parquet", *end, "--text-key", "ids"], "null.parquet: error: column 'ids' is list<element: int64>"),
        (["large.parquet", *ids], "large.parquet: row 1: error: token 999 is outside the vocabulary of 500"),
        (["missing.parquet", *ids], "missing.parquet: row 1: error: its list of tokens is null"),
        (["what.dat", *end], "what.dat: error: its name says nothing of what it holds"),
        (["none.jsonl", *end], "none.jsonl: error: No such file"),
        (["key.jsonl"], "tokenizer.json: error: nothing says which token ends a document"),
        (
            ["key.jsonl", "--document-end", "</s>"],
            "tokenizer.json: error: it has no token '</s>', which --document-end names",
        ),
        (["key.jsonl", "key.jsonl", *end], "key.jsonl: error: it is named twice"),
        (["key.jsonl", *end, "--memory", "1M"], "error: --memory 1048576 is too little: this tokenizer needs"),
        (["long.jsonl", *end, "--memory", "200M"], "long.jsonl:1: error: a document of"),
        (
            ["euro.jsonl", "--tokenizer", "letters.json", "--document-end", "none"],
            "euro.jsonl:2: error: the tokenizer has no token for '€' and would drop it",
        ),
        (["key.jsonl", "--tokenizer", "key.jsonl"], "key.jsonl: error: it is no tokenizer.json"),
    ]
    os.chdir(folder)
    for arguments, wanted in cases:
        given = (
            [] if "--tokenizer" in arguments or "--vocabulary" in arguments else ["--tokenizer", "tokenizer.json"]
        )
        said = build(*arguments, *given, "--workers", 2, "-o", "out", code=1)
        if not said.startswith(wanted) or said.count("\n") != 1 or Path("out").exists():
            fail(f"{arguments} says\n{said}wanted\n{wanted}")
        shutil.rmtree("out.building", ignore_errors=True)
    (folder / "other").mkdir()
    said = build("null.parquet", *ids, "-o", "other", code=1)
    if "it is there already, and is not the result of this build" not in said:
        fail(f"a folder that is there: {said}")
    build("large.parquet", *ids, "-o", "part", code=1)
    said = build("null.parquet", *ids, "-o", "part", code=1)
    if "part.building: error: it was begun with other inputs" not in said:
        fail(f"another build in the same folder: {said}")
    print(f"errors: {len(cases) + 2} of one line each", flush=True)


def check_dtrun(folder):
    """7: dtrun trains on the folder."""
    tokenizer = byte_level()
    tokenizer.save(str(folder / "tokenizer.json"))
    write_lines(folder / "a.jsonl", texts(23, 2500))
    build(
        folder / "a.jsonl",
        "--tokenizer",
        folder / "tokenizer.json",
        "--document-end",
        END,
        "--shard-tokens",
        40_000,
        "-o",
        folder / "data",
    )
    ids = [token for document in read_documents(folder / "data") for token in document]
    (folder / "plain.bin").write_bytes(
        struct.pack("<256i", 20240520, 1, len(ids), *[0] * 253) + array.array("H", ids).tobytes()
    )
    config = {
        "model_type": "gpt2",
        "vocab_size": 640,
        "n_embd": 16,
        "n_head": 2,
        "n_layer": 1,
        "n_positions": 32,
        "attn_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "resid_pdrop": 0.0,
    }
    for size in (640, 512, 50257):
        (folder / f"{size}.json").write_text(json.dumps({**config, "vocab_size": size}))
        dtc(
            "compile",
            folder / f"{size}.json",
            "--seq-len",
            32,
            "--topology",
            "cpu",
            "--global-batch",
            4,
            "-o",
            folder / f"{size}.dte",
        )
    losses = []
    for data in ("data", "plain.bin"):
        out = run([BIN / "dtrun", folder / "640.dte", "--data", folder / data, "--steps", 5, "--format", "json"])
        losses.append([row["loss"] for row in rows_of(out)])
    compare_steps(*losses, 0, "loss", "one file of the same ids")

    def refused(program, data):
        result = subprocess.run(
            [BIN / "dtrun", folder / program, "--data", folder / data, "--steps", "2000"],
            text=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
        if result.returncode != 1 or result.stderr.count("\n") != 1:
            fail(f"{program} on {data} ended with {result.returncode}: {result.stderr}")
        return result.stderr

    for program in ("512.dte", "50257.dte"):
        said = refused(program, "data")
        if f"its tokenizer has 600 entries and the model {program[:-4]}" not in said:
            fail(f"another vocabulary: {said}")
    shutil.copytree(folder / "data", folder / "damaged")
    shard = folder / "damaged" / "tokens-00001.bin"
    content = bytearray(shard.read_bytes())
    content[70_001] ^= 1
    shard.write_bytes(content)
    said = refused("640.dte", "damaged")
    if f"tokens-00001.bin': its bytes 65536 to {min(131072, len(content))} are damaged" not in said:
        fail(f"a damaged block: {said}")
    (folder / "damaged" / "tokens-00001.bin").write_bytes(content[:-2])
    if "bytes, and dataset.json says" not in refused("640.dte", "damaged"):
        fail("a shard that was cut")
    print("dtrun: the same losses, and its refusals", flush=True)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("names", nargs="*")
    options.add_argument("--kills", type=int, default=8)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    parts = {
        "ids": check_ids,
        "kinds": check_kinds,
        "tokens": check_tokens,
        "kills": lambda folder: check_kills(folder, given.kills, given.seed),
        "memory": check_memory,
        "errors": check_errors,
        "dtrun": check_dtrun,
    }
    for name, check in parts.items():
        if not given.names or name in given.names:
            with tempfile.TemporaryDirectory() as folder:
                check(Path(folder))
                os.chdir(HERE)


if __name__ == "__main__":
    main()
