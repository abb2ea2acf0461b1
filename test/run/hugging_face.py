#!/usr/bin/env python3
"""Weights are imported from folders of Hugging Face's and exported back to them.

1. Tiny models that transformers saved (reference/make_hugging_face.py: GPT-2, Llama in two files and in bf16 with a
   tied embedding, Qwen2, Mixtral, Gemma 3, BERT for masked words) are imported, and evaluated on one rank and on
   several: the loss is the one that transformers gives.
2. The exported folder has every tensor to the bit, and an equivalent config.json.
3. Training goes on from an imported checkpoint, is saved and exported; the parameters are those of --dump-params, and
   imported again they give the same loss. Exported names and shapes are those that transformers saves, also of a
   model that began from a seed; if transformers is installed, it loads the export, and gives that loss, too.
4. A folder that is no model, belongs to another model, or is damaged is refused with one line; nothing is left.
5. A model that was written as graph IR (reference/qwen3.mlir), as its config has keys that dtc does not know, is
   imported and exported with its config and the tokenizer's files unchanged.
"""
import argparse
import array
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from dtc_tools import BIN, compare_steps, dtc, read_safetensors, run, train, write_npy
from reference.encoder_inputs import inputs_of

DATA = Path(__file__).resolve().parent / "reference" / "data"
STORED, TOKENS = DATA / "hugging_face", DATA / "tokens.bin"
LOSSES = json.loads((STORED / "losses.json").read_text())
SEQUENCE, SAMPLES, TOLERANCE = 16, 11, 2e-6
MODELS = {"gpt2": ["", "tp=3", "pp=2"], "llama": ["dp=11,zero=3", "tp=2"], "llama-bf16": [""], "qwen2": ["", "tp=2"],
          "mixtral": ["", "tp=2"],
          "gemma3": ["", "tp=4", "pp=2"], "bert": ["", "dp=11,zero=3", "tp=4", "pp=2"]}


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def refused(words, *command):
    result = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    check(result.returncode == 1 and words in result.stderr and not result.stdout, f"wanted '{words}': {result}")


def compiled(folder, config, fix="", *flags):
    """Returns the program of a plan in which a batch is all samples of the tokens, and its number of ranks."""
    keys = {"dp": "1", "tp": "1", **dict(pair.split("=") for pair in fix.split(",") if pair)}
    ranks = 1
    for axis in ("dp", "tp", "pp", "ep"):
        ranks *= int(keys.get(axis, 1))
    program = folder / "model.dte"
    dtc("compile", config, "--seq-len", SEQUENCE, "--topology", "cpu", "--devices", ranks, "--global-batch", SAMPLES,
        "--fix", ",".join(f"{key}={value}" for key, value in keys.items()), *flags, "-o", program)
    return program, ranks


def data_of(folder, model):
    """Returns the argument of --data: the tokens, or files of tokens with padding and masked words."""
    if model != "bert":
        return TOKENS
    tokens, files = array.array("H", TOKENS.read_bytes()[1024:]), []  # behind llm.c's header
    rows = [list(tokens[at: at + SEQUENCE]) for at in range(0, SAMPLES * SEQUENCE, SEQUENCE)]
    for name, (shape, numbers, _) in inputs_of(json.loads((STORED / model / "config.json").read_text()), rows).items():
        write_npy(folder / f"{name}.npy", "<i4", "i", shape, numbers)
        files.append(f"{name}={folder / name}.npy")
    return ",".join(files)


def evaluate(program, ranks, saved, data):
    """Returns the loss of the parameters of a folder of checkpoints."""
    lines = train(program, ranks, data, 0, "--eval-data", data, "--checkpoint-dir", saved, "--resume", "--threads", 1)
    return lines[0]["eval_loss"]


def weights_of(folder):
    """Returns name -> dtype, shape and bytes, of all files of a folder."""
    weights = {}
    for path in sorted(folder.glob("*.safetensors")):
        data = path.read_bytes()
        size = int.from_bytes(data[:8], "little")
        for name, entry in json.loads(data[8: 8 + size]).items():
            if name != "__metadata__":
                begin, end = (8 + size + at for at in entry["data_offsets"])
                weights[name] = (entry["dtype"], entry["shape"], data[begin:end])
            else:
                check(entry == {"format": "pt"}, f"{path} has metadata {entry}")
    return weights


def check_like_saved(folder, model):
    """Checks that a folder has the tensors and the config of a model that transformers saved, with equal shapes and
    any dtype.
    """
    found, wanted = ({name: shape for name, (_, shape, _) in weights_of(path).items()}
                     for path in (folder, STORED / model))
    check(found == wanted, f"{model}: tensors are {found}, transformers saves {wanted}")
    found, wanted = ({**json.loads((path / "config.json").read_text()), "dtype": None}
                     for path in (folder, STORED / model))
    check(found == {"tie_word_embeddings": "lm_head.weight" not in weights_of(folder), **wanted},
          f"{model}: its config is {found}")


def check_fresh(folder, model, fix):
    """Checks a model that began from a seed, with the config of one that transformers saved."""
    program, ranks = compiled(folder, STORED / model / "config.json", fix)
    train(program, ranks, TOKENS, 1, "--checkpoint-dir", folder / "saved", "--threads", 1)
    dtc("checkpoint", "export", folder / "saved", "-o", folder / "out")
    check_like_saved(folder / "out", model)


def check_there_and_back(folder, model, fixes):
    stored, saved, again = STORED / model, folder / "saved", folder / "again"
    out = dtc("checkpoint", "import", stored, "-o", saved)
    check(f"{saved}/step-0" in out, out)
    dtc("checkpoint", "verify", saved)
    dtc("checkpoint", "export", saved, "-o", again, "--max-file-bytes", 30000 if model == "llama" else 10**9)
    check(weights_of(again) == weights_of(stored),
          f"{model}: exported weights are others than those that were imported")
    wanted, found = (json.loads((path / "config.json").read_text()) for path in (stored, again))
    check(found == {"tie_word_embeddings": "lm_head.weight" not in weights_of(stored), **wanted},
          f"{model}: its config is {found}")
    index = again / "model.safetensors.index.json"
    check(index.exists() == (model == "llama"), f"{model}: {list(again.iterdir())}")
    if index.exists():
        index = json.loads(index.read_text())
        check(set(index["weight_map"]) == set(weights_of(stored)) and
              index["metadata"]["total_size"] == sum(len(data) for _, _, data in weights_of(stored).values()),
              f"{model}: {index}")
        for name, file in index["weight_map"].items():
            check(name in read_safetensors(again / file), f"{model}: '{name}' is not in {file}")
    for fix in fixes:
        program, ranks = compiled(folder, stored / "config.json", fix)
        loss = evaluate(program, ranks, saved, data_of(folder, model))
        compare_steps([loss], [LOSSES[model]], TOLERANCE, f"{model} {fix}: loss", "transformers")
        shutil.rmtree(saved)
        dtc("checkpoint", "import", again, "-o", saved)


def check_training(folder, model, *flags):
    """Trains from an imported start and exports the last checkpoint; returns its folder and its loss in f32."""
    saved, out, dump = folder / "saved", folder / "trained", folder / "trained.safetensors"
    data = data_of(folder, model)
    program, ranks = compiled(folder, STORED / model / "config.json", "dp=1,tp=2", *flags)
    dtc("checkpoint", "import", STORED / model, "-o", saved)
    lines = train(program, ranks, data, 4, "--lr", 0.01, "--checkpoint-dir", saved, "--checkpoint-every", 2, "--resume",
                  "--threads", 1, "--dump-params", dump, "--eval-data", data)
    check([line["step"] for line in lines] == [1, 2, 3, 4, 4], f"{model}: {lines}")
    # A start has no optimizer state: the run is that of --init.
    begun = train(program, ranks, data, 4, "--lr", 0.01, "--init", STORED / model, "--threads", 1)
    check([line["loss"] for line in begun] == [line["loss"] for line in lines[:4]], f"{model}: {begun} is not {lines}")
    dtc("checkpoint", "export", saved, "-o", out)
    check_like_saved(out, model)
    parameters = read_safetensors(dump)
    check({name: values for name, (_, values) in read_safetensors(out / "model.safetensors").items()} ==
          {name: values for name, (_, values) in parameters.items()}, f"{model}: other parameters are exported")
    fresh = folder / "fresh"
    dtc("checkpoint", "import", out, "-o", fresh)
    loss = evaluate(program, ranks, fresh, data)
    check(loss == lines[-1]["eval_loss"], f"{model}: loss {loss} after export and import, {lines[-1]} before")
    # As in transformers, the program computes in f32.
    program, ranks = compiled(folder, STORED / model / "config.json")
    return out, evaluate(program, ranks, fresh, data)


def check_transformers(folder, loss):
    """Compares the loss that transformers gives for a folder; returns whether it is installed."""
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoModelForMaskedLM
        from reference.make_hugging_face import mean_loss, samples
    except ImportError:
        return False
    is_bert = json.loads((folder / "config.json").read_text())["model_type"] == "bert"
    head = AutoModelForMaskedLM if is_bert else AutoModelForCausalLM
    model, said = head.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    check(not any(said[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")),
          f"transformers says {said}")
    compare_steps([mean_loss(model, samples(TOKENS))], [loss], TOLERANCE, f"{folder}: transformers' loss", "dtrun")
    return True


def check_refusals(folder):
    """Checks refusals of small models: the fault is reported before anything is written."""
    bad, saved = folder / "bad", folder / "saved"

    def changed(model, change, words):
        shutil.copytree(STORED / model, bad)
        change(bad)
        refused(words, BIN / "dtc", "checkpoint", "import", bad, "-o", saved)
        check(not saved.exists(), f"'{words}' leaves {list(saved.iterdir()) if saved.exists() else ''}")
        shutil.rmtree(bad)

    def config(**keys):
        return lambda path: (path / "config.json").write_text(
            json.dumps({**json.loads((path / "config.json").read_text()), **keys}))

    def index(change):
        def write(path):
            path = path / "model.safetensors.index.json"
            words = json.loads(path.read_text())
            change(words["weight_map"])
            path.write_text(json.dumps(words))
        return write

    changed("gpt2", lambda path: (path / "config.json").unlink(), "config.json")
    changed("gpt2", lambda path: (path / "model.safetensors").rename(path / "pytorch_model.bin"),
            "safe_serialization=True")
    changed("gpt2", lambda path: (path / "model.safetensors").unlink(), "has neither model.safetensors nor")
    changed("gpt2", config(n_layer=3), "12 missing: 'transformer.h.2.ln_1.weight' [24]")
    changed("gpt2", config(n_layer=1), "12 unknown to the model: 'transformer.h.1.")
    changed("gpt2", config(vocab_size=64), "'transformer.wte.weight' is [61, 24], wanted [64, 24]")
    changed("gpt2", config(tie_word_embeddings=False), "missing: 'lm_head.weight' [61, 24]")
    changed("mixtral", config(num_local_experts=5), "missing: 'model.layers.0.block_sparse_moe.experts.4.w1.weight'")
    changed("llama", index(lambda files: files.update({"lm_head.weight": "../x"})), "wanted a file of its folder")
    changed("llama", index(lambda files: files.update({"x": files["lm_head.weight"]})), "'x' is not in")
    changed("llama", lambda path: (path / "model-00002-of-00002.safetensors").unlink(),
            "model-00002-of-00002.safetensors")
    changed("gpt2",
            lambda path: (path / "model.safetensors").write_bytes((path / "model.safetensors").read_bytes()[:-1]),
            "follow the header")

    dtc("checkpoint", "import", STORED / "gpt2", "-o", saved)
    refused("name another folder", BIN / "dtc", "checkpoint", "import", STORED / "gpt2", "-o", saved)
    full = folder / "full"
    full.mkdir()
    dtc("checkpoint", "export", saved, "-o", full)  # an empty folder
    refused("not empty", BIN / "dtc", "checkpoint", "export", saved, "-o", full)
    refused("is not a checkpoint of the model of", BIN / "dtc", "checkpoint", "export", saved, "--config",
            STORED / "llama" / "config.json", "-o", bad)
    refused("give the folder of dtrun --checkpoint-dir", BIN / "dtc", "checkpoint", "export", folder / "nope", "-o",
            bad)
    shard = saved / "step-0" / "shard-00000.safetensors"
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    refused("are not what was written", BIN / "dtc", "checkpoint", "export", saved, "-o", bad)
    check(sorted(path.name for path in folder.iterdir()) == ["full", "saved"], f"left are {list(folder.iterdir())}")
    # A model that was written by hand has no config except the given one.
    shutil.rmtree(saved)
    written = folder / "model.mlir"
    dtc("import", STORED / "gpt2" / "config.json", "--seq-len", SEQUENCE, "-o", written)
    program = folder / "model.dte"
    dtc("compile", written, "--topology", "cpu", "--devices", 1, "--global-batch", SAMPLES, "-o", program)
    train(program, 1, TOKENS, 1, "--checkpoint-dir", saved)
    bare = folder / "bare"
    dtc("checkpoint", "export", saved, "-o", bare)
    dtc("checkpoint", "export", saved, "--config", STORED / "gpt2" / "config.json", "-o", bad)
    check([path.name for path in bare.iterdir()] == ["model.safetensors"], f"without a config: {list(bare.iterdir())}")
    check(weights_of(bare) == weights_of(bad), "the weights depend on the config")
    # Weights of another model are refused as a start.
    other = folder / "other"
    dtc("checkpoint", "import", STORED / "llama", "-o", other)
    refused("has no tensor", BIN / "dtrun", program, "--data", TOKENS, "--steps", 1, "--checkpoint-dir", other,
            "--resume")


def check_written_by_hand(folder):
    """Checks Qwen3 with a config of which dtc does not know all keys."""
    model, hub, out, saved = Path(
        __file__).resolve().parent / "reference" / "qwen3.mlir", folder / "hub", folder / "out", folder / "saved"
    config = {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "vocab_size": 61, "hidden_size": 24,
              "intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
              "head_dim": 8, "max_position_embeddings": 32, "tie_word_embeddings": True, "rms_norm_eps": 1e-06,
              "dtype": "bfloat16"}
    hub.mkdir()
    # Nobody formats a config like this, with strings that look like the dtype: the text goes through unchanged.
    config |= {"name": 'not "dtype": "x"\\', "text": {"dtype": "bfloat16", "torch_dtype": None},
               "list": ["dtype", "bfloat16"]}
    written = json.dumps(config, indent=7, separators=(" ,", " :\t")) + "\n \n"
    (hub / "config.json").write_text(written)
    files = {"tokenizer.json": b'{"model": {}}', "tokenizer_config.json": b"{}", "merges.txt": b"\xff\x00",
             "generation_config.json": b"{}\n"}
    for name, words in {**files, "README.md": b"no file of a tokenizer"}.items():
        (hub / name).write_bytes(words)
    program, dump = folder / "model.dte", folder / "dump.safetensors"
    dtc("compile", model, "--topology", "cpu", "--devices", 2, "--global-batch", 4, "--fix", "tp=2", "-o", program)
    train(program, 2, TOKENS, 2, "--checkpoint-dir", saved, "--dump-params", dump, "--threads", 1)
    said = subprocess.run([str(BIN / "dtc"), "checkpoint", "export", str(saved), "--config", str(hub / "config.json"),
                           "-o", str(out)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    check(said.returncode == 0 and "is copied as it is" in said.stderr and "qwen3" in said.stderr, f"qwen3: {said}")
    check({path.name: path.read_bytes() for path in out.iterdir() if path.name in files} == files,
          f"qwen3: files are {list(out.iterdir())}")
    check(sorted(path.name for path in out.iterdir()) == sorted([*files, "config.json", "model.safetensors"]),
          f"{list(out.iterdir())}")
    # Only the dtype is that of the weights: the model's own code interprets tie_word_embeddings.
    copied = (out / "config.json").read_text()
    check(json.loads(copied) == {**config, "dtype": "float32"}, copied)
    place = copied.index('"dtype" :\t"float32"')
    check(copied[:place] + '"dtype" :\t"bfloat16"' + copied[place + len('"dtype" :\t"float32"'):] == written,
          f"the config is {copied}")
    check({name: entry[2] for name, entry in weights_of(out).items()} ==
          {name: values.tobytes() for name, (_, values) in read_safetensors(dump).items()},
          "qwen3: weights are not those of --dump-params")
    refused("--model model.mlir", BIN / "dtc", "checkpoint", "import", out, "-o", folder / "back")
    dtc("checkpoint", "import", out, "--model", model, "-o", folder / "back")
    dtc("checkpoint", "export", folder / "back", "--config", out / "config.json", "-o", folder / "again")
    check(weights_of(folder / "again") == weights_of(out), "qwen3: import and export change weights")
    check((folder / "again" / "config.json").read_text() == copied,
          "qwen3: a config of the same dtype is copied with changes")
    train(program, 2, TOKENS, 1, "--checkpoint-dir", folder / "back", "--resume", "--threads", 1)
    # The weights beside the config are not the program's.
    shutil.copy(STORED / "gpt2" / "model.safetensors", hub)
    refused("are not those of the weights beside the config", BIN / "dtc", "checkpoint", "export", saved, "--config",
            hub / "config.json", "-o", folder / "none")
    (hub / "config.json").write_text("[]")
    refused("is no Hugging Face config", BIN / "dtc", "checkpoint", "export", saved, "--config", hub / "config.json",
            "-o", folder / "none")


def in_folder(test, *arguments):
    with tempfile.TemporaryDirectory() as name:
        return test(Path(name).resolve(), *arguments)


def check_trained(folder, model, *flags):
    return check_transformers(*check_training(folder, model, *flags))


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    for model, fixes in MODELS.items():
        in_folder(check_there_and_back, model, fixes)
    for model, fix in (("gpt2", "pp=2"), ("llama", "dp=1,tp=2"), ("qwen2", "")):
        in_folder(check_fresh, model, fix)
    loaded = [in_folder(check_trained, model, *flags) for model, *flags in
              (("gpt2",), ("gpt2", "--precision", "f16"), ("qwen2",), ("gemma3",), ("bert",),
               ("llama-bf16", "--precision", "bf16"))]
    in_folder(check_refusals)
    in_folder(check_written_by_hand)
    print(f"{len(MODELS)} models of transformers come and go to the bit; " +
          ("transformers loads what was trained" if all(loaded) else "transformers is not installed: it loaded "
           "nothing here"))


if __name__ == "__main__":
    main()
