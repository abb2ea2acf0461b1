#!/usr/bin/env python3
"""Times dtc data build beside datasets.map with the same tokenizer.json: tokens for each second of a processor.

The text is that of this tree's files (git ls-files), in documents of 3,000 characters, or of --corpus, JSON lines with
'text'. The tokenizer is --tokenizer, or a byte-level BPE of 32,000 entries that is trained on a fifth of it. Each
program reads the same JSON lines and runs --repeat times, in turns, on one processor (taskset) and with one worker.
What counts are processor seconds of the process and its children, which other work on the machine changes little:

    dtc    the whole program: start, tokenizer, JSON, ids, shards, hashes
    peer   datasets.Dataset.map(lambda rows: tokenizer(rows["text"])), batched, num_proc=1, with
           PreTrainedTokenizerFast; without start, imports and JSON

Usage: tokenize.py --python VENV/bin/python   (has datasets, transformers, tokenizers and pyarrow)
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from about import ROOT, commit, machine

PEER = """
import json, sys, time, os
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import datasets, transformers
datasets.disable_progress_bars()
corpus, tokenizer, folder = sys.argv[1:]
read = datasets.Dataset.from_json(corpus, cache_dir=folder)
made = transformers.PreTrainedTokenizerFast(tokenizer_file=tokenizer)
begun = time.process_time()
ids = read.map(lambda rows: made(rows["text"]), batched=True, remove_columns=read.column_names,
               cache_file_name=folder + "/ids.arrow")
used = time.process_time() - begun
print(json.dumps({"seconds": used, "tokens": sum(map(len, ids["input_ids"])) + len(ids)}))
"""
TRAIN = """
import json, sys
from tokenizers import Tokenizer, models, pre_tokenizers, decoders, trainers
made = Tokenizer(models.BPE())
made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
made.decoder = decoders.ByteLevel()
texts = (json.loads(line)["text"] for i, line in enumerate(open(sys.argv[1])) if i % 5 == 0)
made.train_from_iterator(texts, trainers.BpeTrainer(
    vocab_size=32000, special_tokens=["<|endoftext|>"], show_progress=False,
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
made.save(sys.argv[2])
"""


def write_corpus(path):
    names = subprocess.run(["git", "-C", ROOT, "ls-files"], text=True, capture_output=True, check=True).stdout
    with open(path, "w", encoding="utf-8") as out:
        for name in names.splitlines():
            try:
                text = (ROOT / name).read_text(encoding="utf-8")
            except (UnicodeDecodeError, OSError):
                continue
            for begin in range(0, min(len(text), 300_000), 3000):
                out.write(json.dumps({"text": text[begin : begin + 3000]}, ensure_ascii=False) + "\n")


def run(command):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "HF_HUB_OFFLINE": "1"}
    result = subprocess.run(
        ["taskset", "-c", "0", *map(str, command)],
        text=True,
        capture_output=True,
        env=environment,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--python", default=sys.executable)
    options.add_argument("--corpus")
    options.add_argument("--tokenizer")
    options.add_argument("--repeat", type=int, default=3)
    given = options.parse_args()
    rates = {"dtc": [], "peer": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus, tokenizer = given.corpus or folder / "corpus.jsonl", given.tokenizer or folder / "tokenizer.json"
        if not given.corpus:
            write_corpus(corpus)
        if not given.tokenizer:
            subprocess.run([given.python, "-c", TRAIN, corpus, tokenizer], check=True)
        for turn in range(given.repeat):
            ours = run(
                [
                    given.python,
                    "-m",
                    "dtc_data",
                    "build",
                    corpus,
                    "--tokenizer",
                    tokenizer,
                    "--document-end",
                    "<|endoftext|>",
                    "--workers",
                    1,
                    "--format",
                    "json",
                    "-o",
                    folder / f"out{turn}",
                ]
            )
            peer = run([given.python, "-c", PEER, corpus, tokenizer, folder / f"peer{turn}"])
            if ours["tokens"] != peer["tokens"]:
                sys.exit(f"dtc has {ours['tokens']} tokens, the peer {peer['tokens']}")
            rates["dtc"].append(ours["tokens"] / ours["core_seconds"])
            rates["peer"].append(peer["tokens"] / peer["seconds"])
    middle = {name: statistics.median(each) for name, each in rates.items()}
    print(
        json.dumps(
            {
                "tokens": ours["tokens"],
                "tokens_per_core_second": middle,
                "ratio": middle["dtc"] / middle["peer"],
                "ratios": [a / b for a, b in zip(rates["dtc"], rates["peer"])],
                "machine": machine(),
                "commit": commit(),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
