#!/usr/bin/env python3
"""dtc-export takes folders of encoders and encoder-decoders, and from_pretrained takes back what was trained.

Each folder is a tiny random model that transformers saves: BERT for masked words and for labels of three kinds,
DistilBERT, RoBERTa, ELECTRA, ModernBERT, a ViT, and T5 with and without a gate. Samples are padded at their ends.

1. dtc-export writes the model with its weights. The loss of these is the one that transformers gives, on one process
   and, of some, on several.
2. It is that of the model which `dtc compile` makes of the folder's config.json, for the same files of inputs.
3. Four steps train it; `dtc checkpoint export` beside the folder's config.json is a folder that from_pretrained loads,
   with no weight missing or left over, to the loss of the last evaluation.
4. Folders that are not taken: other classes, weights without a tensor, lengths that the model has no positions for.

Usage: pytorch_folders.py FOLDER BIN [NAME...]   FOLDER: empty, for the files to write; BIN: that of dtc and dtrun
"""
import contextlib
import io
import json
import shutil
import sys
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "python")]

import transformers  # noqa: E402
from transformers import (BertConfig, DistilBertConfig, ElectraConfig, ModernBertConfig, RobertaConfig,  # noqa: E402
                          T5Config, ViTConfig)

import dtc.cli  # noqa: E402
from dtc_tools import compare_steps, dtc as run_dtc, train, write_npy  # noqa: E402
from reference.encoder_inputs import inputs_of  # noqa: E402

SAMPLES, LENGTH, WORDS, TOLERANCE = 4, 16, 61, 1e-5
BERT = dict(vocab_size=WORDS, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=32)
OFF = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
T5 = dict(vocab_size=WORDS, d_model=24, d_kv=6, d_ff=40, num_layers=2, num_heads=4, relative_attention_num_buckets=8,
          relative_attention_max_distance=12, decoder_start_token_id=0, pad_token_id=0, dropout_rate=0.0)
# name -> class, config, and a plan of several processes beside that of one
FOLDERS = {
    "bert": ("BertForMaskedLM", BertConfig(**BERT, **OFF), "dp=2,tp=2"),
    "bert_classes": ("BertForSequenceClassification", BertConfig(**BERT, **OFF, num_labels=3), "dp=2,tp=1,zero=3"),
    "bert_number": ("BertForSequenceClassification", BertConfig(**BERT, **OFF, num_labels=1), ""),
    "bert_several": ("BertForSequenceClassification", BertConfig(
        **BERT, **OFF, num_labels=3, problem_type="multi_label_classification"), ""),
    "distilbert": ("DistilBertForMaskedLM", DistilBertConfig(
        vocab_size=WORDS, dim=24, n_layers=2, n_heads=4, hidden_dim=40, max_position_embeddings=32, dropout=0.0,
        attention_dropout=0.0), ""),
    "roberta": ("RobertaForMaskedLM", RobertaConfig(**BERT, **OFF), ""),
    "electra": ("ElectraForMaskedLM", ElectraConfig(**BERT, **OFF, embedding_size=16), ""),
    "modernbert": ("ModernBertForMaskedLM", ModernBertConfig(
        **BERT, local_attention=8, pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2),
        ""),
    "vit": ("ViTForImageClassification", ViTConfig(
        hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, image_size=8, patch_size=4,
        num_labels=3, **OFF), ""),
    "t5": ("T5ForConditionalGeneration", T5Config(**T5), "dp=2,tp=2"),
    "t5_gated": ("T5ForConditionalGeneration", T5Config(
        **T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False), "dp=2,tp=1,zero=3"),
}


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def make(folder, name):
    """Saves a folder; returns its class."""
    kind, config, _ = FOLDERS[name]
    torch.manual_seed(3)
    model = getattr(transformers, kind)(config)
    for parameter in model.parameters():  # norms and biases, too
        parameter.data += 0.05 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    return getattr(transformers, kind)


def command(*arguments, code=0):
    """Runs dtc-export; returns what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        result = dtc.cli.main([str(each) for each in arguments])
    check(result == code, f"dtc-export {arguments} ended with {result}: {err.getvalue()}")
    return out.getvalue() + err.getvalue()


def data_of(folder, config):
    """Writes the inputs; returns the argument of --data and the tensors."""
    rows = [[(7 * sample + 5 * at + at * at) % (WORDS - 1) + 1 for at in range(LENGTH)] for sample in range(SAMPLES)]
    files, tensors = [], {}
    for name, (shape, numbers, is_whole) in inputs_of(config, rows).items():
        write_npy(folder / f"{name}.npy", *(("<i4", "i") if is_whole else ("<f4", "f")), shape, numbers)
        files.append(f"{name}={folder / name}.npy")
        tensors[name] = torch.tensor(numbers, dtype=torch.long if is_whole else torch.float32).reshape(shape)
    return ",".join(files), tensors


def loss_of(model, tensors):
    """Returns the loss that transformers gives."""
    with torch.no_grad():
        return model.eval()(**tensors).loss.item()


def compiled(model, fix, out, *flags):
    sizes = [int(pair.split("=")[1]) for pair in fix.split(",") if pair and pair.split("=")[0] in ("dp", "tp")]
    ranks = sizes[0] * sizes[1] if sizes else 1
    run_dtc("compile", model, "--topology", "cpu", "--devices", ranks, "--global-batch", SAMPLES, "--precision", "f32",
            *(["--fix", fix] if fix else []), *flags, "-o", out)
    return out, ranks


def check_folder(folder, name):
    """Checks one folder, there and back."""
    saved, text, weights = folder / "model", folder / "model.mlir", folder / "weights.safetensors"
    named, length = make(saved, name), [] if name == "vit" else ["--seq-len", LENGTH]
    command(saved, "-o", text, "--weights", weights, *length)
    config = json.loads((saved / "config.json").read_text())  # it has names of labels, not their number
    data, tensors = data_of(folder, {**config, "num_labels": FOLDERS[name][1].num_labels})
    wanted = loss_of(named.from_pretrained(saved, dtype=torch.float32), tensors)
    for fix in sorted({"", FOLDERS[name][2]}):
        program, ranks = compiled(text, fix, folder / "model.dte")
        kept = folder / f"kept{ranks}"
        lines = train(program, ranks, data, 4, "--threads", 1, "--init", weights, "--lr", 0.01, "--eval-data", data,
                      "--eval-every", 4, "--checkpoint-dir", kept)
        compare_steps([lines[0]["loss"]], [wanted], TOLERANCE, f"{name} under '{fix}': loss", "transformers")
        trained = [line["eval_loss"] for line in lines if "eval_loss" in line][-1]
        check(trained < 0.99 * wanted, f"{name}: the loss goes from {wanted} to {trained}")
        out = folder / f"out{ranks}"
        run_dtc("checkpoint", "export", kept, "-o", out)
        shutil.copy(saved / "config.json", out)
        model, said = named.from_pretrained(out, dtype=torch.float32, output_loading_info=True)
        check(not any(said[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")),
              f"{name}: transformers says {said}")
        compare_steps([loss_of(model, tensors)], [trained], TOLERANCE, f"{name} under '{fix}', loaded: loss", "dtrun")
    program, _ = compiled(saved / "config.json", "", folder / "config.dte", *length)
    loss = train(program, 1, data, 1, "--threads", 1, "--init", saved)[0]["loss"]
    compare_steps([loss], [wanted], TOLERANCE, f"{name} of config.json: loss", "transformers")


def check_refused(folder):
    """Checks folders that are not taken."""
    saved, out = folder / "model", folder / "m.mlir"
    make(saved, "bert")
    config = json.loads((saved / "config.json").read_text())
    check("1 to 32" in command(saved, "-o", out, "--seq-len", 33, code=1), "33 tokens of 32 positions")
    check("--seq-len" in command(saved, "-o", out, code=1), "no length")
    tensors = dict(dtc.safetensors.read(saved / "model.safetensors"))
    gone = tensors.pop("bert.encoder.layer.1.output.dense.weight")
    with open(saved / "model.safetensors", "wb") as file:
        dtc.safetensors.write(file, tensors)
    said = command(saved, "-o", out, "--seq-len", 8, code=1)
    check(gone is not None and "no 'bert.encoder.layer.1.output.dense.weight'" in said, said)
    (saved / "config.json").write_text(json.dumps({**config, "architectures": ["BertForQuestionAnswering"]}))
    said = command(saved, "-o", out, "--seq-len", 8, code=1)
    check("BertForQuestionAnswering" in said and "ForMaskedLM" in said, said)
    make(folder / "roberta", "roberta")
    check("1 to 30" in command(folder / "roberta", "-o", out, "--seq-len", 31, code=1), "positions behind padding")
    make(folder / "vit", "vit")
    check("images" in command(folder / "vit", "-o", out, "--seq-len", 8, code=1), "a length of images")
    check(not out.exists(), f"{out} was written")


def main():
    folder, names = Path(sys.argv[1]), sys.argv[3:]
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for name in names or FOLDERS:
        (folder / name).mkdir(parents=True)
        check_folder(folder / name, name)
        shutil.rmtree(folder / name)
    if not names:
        (folder / "refused").mkdir()
        check_refused(folder / "refused")
    print(f"{len(names or FOLDERS)} folders of encoders and encoder-decoders are exported, trained and loaded again")


if __name__ == "__main__":
    main()
