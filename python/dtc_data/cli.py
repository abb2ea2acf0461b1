"""The command line of dtc-data."""

import argparse
import json
import resource
import sys
import time

from dtc_data import memory
from dtc_data.build import Build
from dtc_data.errors import DataError
from dtc_data.inputs import KINDS
from dtc_data.shards import verify

DESCRIPTION = """Makes token files of text, which dtrun --data and Megatron-LM read.

Example:
  dtc data build corpus.jsonl.gz --tokenizer tokenizer.json -o tokens
  dtrun model.dte -n 4 --data tokens"""
BUILD = """Tokenizes JSON lines, Parquet files and text, plain or compressed (gz, xz, bz2, zst), or takes tokens that
are there already (--tokens-key). What was interrupted goes on where it stopped when the same command is called again.

Example:
  dtc data build wiki/*.parquet books.jsonl.zst --tokenizer tokenizer.json -o tokens --memory 4G"""


def bytes_of(text):
    try:
        return memory.parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def positive(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of 1 or more")
    return int(text)


def parser():
    raw = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(prog="dtc data", description=DESCRIPTION, formatter_class=raw)
    commands = result.add_subparsers(dest="command", required=True, metavar="COMMAND")
    build = commands.add_parser("build", description=BUILD, formatter_class=raw, help="text to tokens")
    build.add_argument("inputs", nargs="+", metavar="IN", help="files, or folders of files of one kind")
    build.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder to make")
    build.add_argument("--tokenizer", metavar="FILE", help="a tokenizer.json of Hugging Face")
    build.add_argument(
        "--text-key", default="text", metavar="KEY", help="the key or column of the text (default: text)"
    )
    build.add_argument("--tokens-key", metavar="KEY", help="a column of token ids, taken as they are")
    build.add_argument(
        "--tokens-type", metavar="TYPE", help="the type of tokens in a column of bytes: uint16, int64, ..."
    )
    build.add_argument("--vocabulary", type=positive, metavar="N", help="with --tokens-key: ids are below N")
    build.add_argument(
        "--document-end",
        metavar="TOKEN",
        help="the token behind each document, or 'none' (default: eos_token of tokenizer_config.json)",
    )
    build.add_argument(
        "--no-special-tokens", action="store_true", help="leave out what the tokenizer's template adds"
    )
    build.add_argument(
        "--drop-unknown", action="store_true", help="drop characters that the tokenizer has no token for"
    )
    build.add_argument("--kind", choices=KINDS, help="what the inputs are, where their names don't say it")
    build.add_argument("--lines", action="store_true", help="each line of a text file is a document")
    build.add_argument(
        "--shard-tokens",
        type=positive,
        default=1 << 28,
        metavar="N",
        help="tokens after which a shard ends with its document (default: 268435456)",
    )
    build.add_argument(
        "--memory",
        type=bytes_of,
        metavar="BYTES",
        help="memory of all processes (default: half of what is free, 1 GiB a core at most)",
    )
    build.add_argument("--workers", type=positive, metavar="N", help="processes (default: one a core)")
    build.add_argument(
        "--commit-seconds",
        type=float,
        default=5,
        metavar="S",
        help="seconds after which what is done is made durable (default: 5)",
    )
    build.add_argument("--format", choices=("text", "json"), default="text")
    check = commands.add_parser("verify", help="reads all bytes of a data set and checks their hashes")
    check.add_argument("folder", metavar="DIR")
    return result


def human(number):
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


class Progress:
    """One line on a terminal; nothing in a pipe."""

    def __init__(self, inputs):
        self.inputs, self.shown, self.is_terminal = inputs, 0.0, sys.stderr.isatty()
        self.begun = time.monotonic()
        self.total = 0

    def begin(self, state, workers):
        if state["input"] or state["start"]:
            tokens = state["open"]["tokens"] + sum(shard["tokens"] for shard in state["shards"])
            where = self.inputs[state["input"]].path if state["input"] < len(self.inputs) else "the end"
            print(
                f"dtc data: goes on after {tokens} tokens, "
                f"in {where}",
                file=sys.stderr,
            )
        self.workers = workers

    def show(self, index, made, state):
        now = time.monotonic()
        if not self.is_terminal or now - self.shown < 0.5:
            return
        self.shown = now
        speed = made / max(now - self.begun, 1e-9)
        print(
            f"\r{self.inputs[index].path} ({index + 1} of {len(self.inputs)}): {human(state['text'])}B of text, "
            f"{human(made)} tokens, {human(speed)} tokens/s\033[K",
            end="",
            file=sys.stderr,
            flush=True,
        )

    def end(self):
        if self.is_terminal and self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def cores_used(begun):
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used) - begun


def build(options):
    begun, used = time.monotonic(), cores_used(0)
    work = Build(options)
    if work.left_out:
        names = ", ".join(f"'{name}'" for name in work.left_out[:3])
        more = f" and {len(work.left_out) - 3} more" if len(work.left_out) > 3 else ""
        print(f"dtc data: left out: {names}{more}", file=sys.stderr)
    progress = Progress(work.inputs)
    try:
        totals = work.run(progress)
    finally:
        progress.end()
    if totals is None:
        print(
            json.dumps({"output": work.target, "built": False})
            if options.format == "json"
            else f"{work.target} is built already, of the same inputs"
        )
        return
    seconds, cpu = time.monotonic() - begun, cores_used(used)
    if options.format == "json":
        print(
            json.dumps(
                {
                    "output": work.target,
                    "built": True,
                    **totals,
                    "seconds": seconds,
                    "core_seconds": cpu,
                    "workers": work.workers,
                }
            )
        )
        return
    made = totals["tokens_made"]
    shards = "1 shard" if totals["shards"] == 1 else f"{totals['shards']} shards"
    empty = f", {totals['empty']} empty ones left out" if totals["empty"] else ""
    print(
        f"{work.target}: {totals['tokens']} tokens, {totals['documents']} documents{empty}, {shards}; "
        f"{human(made / seconds)} tokens/s, {human(made / max(cpu, 1e-9))} a core"
    )


def main(arguments=None):
    options = parser().parse_args(arguments)
    try:
        if options.command == "build":
            build(options)
        else:
            found = verify(options.folder)
            print(
                f"{options.folder}: {found['tokens']} tokens in {len(found['shards'])} shards are as they were written"
            )
    except DataError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("dtc data: interrupted; the same command goes on where this ended", file=sys.stderr)
        return 130
    return 0
