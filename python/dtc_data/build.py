"""dtc data build: inputs become shards of tokens."""

import collections
import concurrent.futures
import ctypes
import fcntl
import json
import multiprocessing
import os
import signal
import time

from dtc_data import encode as encoding
from dtc_data import memory as memories
from dtc_data import readers
from dtc_data.errors import DataError, at
from dtc_data.inputs import find_inputs
from dtc_data.shards import SCHEMA, ShardWriter
from dtc_data.tokenizer import Tokenizer

PR_SET_PDEATHSIG = 1
tokenizer_of_worker = None


def begin_worker(tokenizer):
    global tokenizer_of_worker
    tokenizer_of_worker = tokenizer
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # a build that is killed leaves no workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that reads ends the build


def encode_in_worker(batch):
    return encoding.encode(tokenizer_of_worker, batch)


class Plain:
    """Stands for a tokenizer where the inputs are tokens already and none was given."""

    path, hash, document_end, cuts = None, None, None, False

    def __init__(self, vocabulary, document_end):
        self.vocabulary, self.code = vocabulary, "H" if vocabulary <= 65536 else "i"
        if document_end not in (None, "none"):
            if not document_end.isdigit() or int(document_end) >= vocabulary:
                raise DataError(
                    f"error: --document-end is '{document_end}'; without --tokenizer it is an id below the vocabulary"
                )
            self.document_end = int(document_end)


class Build:
    """One run of dtc data build."""

    def __init__(self, options):
        self.options = options
        self.target = options.output.rstrip("/") or "/"
        self.folder = self.target + ".building"
        self.inputs, self.left_out = find_inputs(options.inputs, options.kind)
        self.wants_ids = options.tokens_key is not None
        self.key = options.tokens_key if self.wants_ids else options.text_key
        wrong = next((each for each in self.inputs if self.wants_ids and each.kind not in ("parquet", "mds")), None)
        if wrong:
            raise at(wrong.path, "--tokens-key is of Parquet files and MosaicML's shards")
        workers = options.workers or len(os.sched_getaffinity(0))
        memory = options.memory or memories.default_memory(workers)
        words = memories.words_kept(memory // (workers + 1))
        if options.tokenizer:
            self.tokenizer = Tokenizer(
                options.tokenizer, options.document_end, not options.no_special_tokens, options.drop_unknown, words
            )
            if not self.wants_ids:
                self.tokenizer.inner.encode("warm up")
        elif self.wants_ids and options.vocabulary:
            self.tokenizer = Plain(options.vocabulary, options.document_end)
        else:
            more = ", or --vocabulary N with --tokens-key" if self.wants_ids else ""
            raise DataError(f"error: dtc data build needs --tokenizer tokenizer.json{more}")
        self.workers, self.limits = memories.plan(memory, workers, self.tokenizer.cuts, words)
        self.text_done = 0

    def identity(self):
        """Returns what decides the result: a build goes on only where it is the same."""
        options = self.options
        return {
            "inputs": [each.identity() for each in self.inputs],
            "tokenizer": self.tokenizer.hash,
            "key": self.key,
            "document_end": self.tokenizer.document_end,
            "special_tokens": not options.no_special_tokens,
            "lines": options.lines,
            "shard_tokens": options.shard_tokens,
            "drop_unknown": options.drop_unknown,
            "vocabulary": self.tokenizer.vocabulary,
            "tokens_type": options.tokens_type,
        }

    def is_done(self):
        """Returns true if the folder is there and is the result of this build."""
        if not os.path.lexists(self.target):
            return False
        try:
            with open(os.path.join(self.target, "dataset.json"), encoding="utf-8") as file:
                same = json.load(file)["build"] == self.identity()
        except (OSError, ValueError, KeyError, TypeError):
            same = False
        if not same:
            raise at(
                self.target, "it is there already, and is not the result of this build; remove it or name another"
            )
        return True

    def open_folder(self):
        """Takes the folder of the build for this process; returns the writer."""
        try:
            os.makedirs(self.folder, exist_ok=True)
            self.lock = open(os.path.join(self.folder, "lock"), "w", encoding="ascii")
        except OSError as error:
            raise at(self.folder, error.strerror) from error
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise at(self.folder, "another dtc data build is writing it") from error
        writer = ShardWriter(self.folder, self.tokenizer.code, self.options.shard_tokens)
        identity = json.loads(json.dumps(self.identity()))
        found = next(
            (name for name in ("building.json", "dataset.json") if os.path.exists(os.path.join(self.folder, name))),
            None,
        )
        if found is None:
            writer.begin(identity)
            return writer
        path = os.path.join(self.folder, found)
        try:
            with open(path, encoding="utf-8") as file:
                state = json.load(file)
            before = state["build"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise at(path, f"it can't be read ({error}); remove {self.folder}") from error
        differs = [name for name in identity if before.get(name) != identity[name]]
        if differs:
            raise at(
                self.folder,
                f"it was begun with other {', '.join(differs)}; finish that build, or remove the folder",
            )
        if found == "dataset.json":  # whole, but for its name
            os.rename(self.folder, self.target)
            return None
        writer.resume(state)
        return writer

    def batches(self, number, start):
        """Yields (index of the input, batch) from a place on."""
        for index in range(number, len(self.inputs)):
            source = self.inputs[index]
            begin = start if index == number else {}
            yield from ((index, batch) for batch in self.read(source, begin))

    def read(self, source, start):
        tokenizer, limits = self.tokenizer, self.limits
        if source.kind == "jsonl" or source.kind == "text" and self.options.lines:
            return readers.read_lines(source, start, limits, self.key if source.kind == "jsonl" else None)
        if source.kind == "text":
            return readers.read_text(source, start, limits, tokenizer.cuts)
        ids = (self.wants_ids, tokenizer.code, tokenizer.vocabulary)
        if source.kind == "parquet":
            return readers.read_parquet(source, start, limits, self.key, *ids)
        return readers.read_mds(source, start, limits, self.key, *ids, self.options.tokens_type)

    def location_after(self, index, batch):
        return (index + 1, {}) if batch.after is None else (index, batch.after)

    def encoded(self, batches):
        """Yields (index, batch, Encoded) in order. Workers are ahead of what is taken by two batches each."""
        if self.wants_ids or self.workers == 1:
            for index, batch in batches:
                made = (
                    encoding.as_encoded(batch, self.tokenizer.code, self.tokenizer.document_end)
                    if batch.kind == "ids"
                    else encoding.encode(self.tokenizer, batch)
                )
                yield index, batch, made
            return
        context = multiprocessing.get_context("fork")
        pool = concurrent.futures.ProcessPoolExecutor(self.workers, context, begin_worker, (self.tokenizer,))
        waiting = collections.deque()
        pool.submit(os.getpid).result()  # starts the workers before libraries have threads of their own
        try:
            for index, batch in batches:
                waiting.append((index, batch.after, pool.submit(encode_in_worker, batch)))
                if len(waiting) >= 2 * self.workers:
                    yield self.taken(waiting)
            while waiting:
                yield self.taken(waiting)
        except concurrent.futures.process.BrokenProcessPool as error:
            raise DataError(
                "error: a worker ended by itself, perhaps as memory ran out; the same command goes on where "
                "this ended (with less --memory or --workers)"
            ) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    @staticmethod
    def taken(waiting):
        index, after, future = waiting.popleft()
        return index, readers.Batch("", "", 0, None, after=after), future.result()

    def run(self, progress):
        """Builds, or goes on building; returns the totals, of which 'tokens_made' are those of this run."""
        if self.is_done():
            return None
        writer = self.open_folder()
        if writer is None:
            return None
        state, made, last = writer.state, 0, time.monotonic()
        progress.begin(state, self.workers)
        for index, batch, encoded in self.encoded(self.batches(state["input"], state["start"])):
            writer.add(encoded)
            state["text"] += encoded.text
            state["empty"] += encoded.empty
            made += len(encoded.ids) // writer.width
            location = self.location_after(index, batch)
            if time.monotonic() - last >= self.options.commit_seconds:
                writer.commit(*location)
                last = time.monotonic()
            progress.show(index, made, state)
        writer.commit(len(self.inputs), {})
        tokenizer = self.tokenizer
        totals = writer.finish(
            {
                "vocabulary": tokenizer.vocabulary,
                "document_end": tokenizer.document_end,
                "tokenizer": {"path": tokenizer.path, "sha256": tokenizer.hash},
                "text_bytes": state["text"],
            },
            self.target,
        )
        return {
            **totals,
            "tokens_made": made,
            "text_bytes": state["text"],
            "empty": state["empty"],
            "shards": len(state["shards"]),
        }


__all__ = ["Build", "SCHEMA"]
