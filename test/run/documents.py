#!/usr/bin/env python3
"""Packed documents train as each of them would alone, under any plan.

1. A model of documents (Llama's rotations with grouped heads and a window, GPT-2's learned positions) reads samples of
   several documents, some of one token. Loss and gradients are those of the same model without documents, which reads
   each document in a sample of its own: positions begin anew, attention stays within a document, no target crosses a
   boundary, and the loss is one over all tokens of the batch.
2. So it is under every plan, on the emulated GPU and in bf16.
3. dtrun packs documents of a token file: an evaluation of what it packs is that of the documents alone, a run that
   goes on from a checkpoint has the bits of one that does not end, and two ranks the losses of one.
4. Wrong data are found: positions that run on and targets across a boundary change the loss, numbers that fall,
   documents that are too long and files without boundaries are refused by one line.
"""
import array
import math
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from dtc_tools import BIN, compare_steps, compare_tensors, dtc, read_safetensors, rows_of, run, train, write_npy

SEQUENCE, WORDS, BATCH, END, IGNORED = 32, 61, 4, 60, -100
LLAMA = {"model_type": "mistral", "vocab_size": WORDS, "max_position_embeddings": 64, "hidden_size": 32,
         "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
         "head_dim": 8, "hidden_act": "silu", "initializer_range": 0.2, "sliding_window": 9,
         "tie_word_embeddings": False, "rope_theta": 30.0}
GPT2 = {"model_type": "gpt2", "vocab_size": WORDS, "n_positions": 40, "n_embd": 32, "n_layer": 2, "n_head": 4,
        "initializer_range": 0.2, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
PLANS = ["dp=1,tp=1", "dp=2,tp=2", "dp=1,tp=4,sp=1", "dp=4,tp=1,zero=3", "dp=1,tp=1,pp=2,micro_batch=1",
         "dp=2,tp=1,pp=2,zero=1,micro_batch=1", "dp=1,tp=1,micro_batch=1,recompute=full", "dp=1,tp=2 --target simt",
         "cp=2,cp_kind=all-to-all,micro_batch=1", "dp=2,cp=2,zero=3,cp_kind=all-to-all",
         "cp=2,pp=2,cp_kind=all-to-all,micro_batch=1", "dp=2,tp=1 --precision bf16"]


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def documents_of(draw, lengths):
    """Returns documents of these lengths, as lists of tokens below END."""
    return [[draw.randrange(END) for _ in range(length)] for length in lengths]


def write_model(folder, name, config):
    path = folder / f"{name}.json"
    path.write_text(str(config).replace("'", '"').replace("False", "false"))
    return path


def compile_model(model, out, batch, fix, *flags):
    axes = dict(pair.split("=") for pair in fix.split(","))
    ranks = math.prod(int(axes.get(axis, 1)) for axis in ("dp", "cp", "tp", "pp"))
    precision = [] if "--precision" in flags else ["--precision", "f32"]
    dtc("compile", model, "--seq-len", SEQUENCE, "--topology", "cpu", "--devices", ranks, "--global-batch", batch,
        "--fix", fix, *flags, *precision, "-o", out)
    return ranks


def write_packed(folder, samples, name="packed", positions=None):
    """Writes samples, which are lists of documents; returns the argument of --data."""
    tokens, numbers = [], []
    for documents in samples:
        check(sum(map(len, documents)) == SEQUENCE, "samples are full")
        for number, document in enumerate(documents):
            tokens += document
            numbers += [3 + 2 * number] * len(document)  # numbers need not begin at 0 and may have gaps
    write_npy(folder / f"{name}-tokens.npy", "<i4", "i", (len(samples), SEQUENCE), tokens)
    write_npy(folder / f"{name}-documents.npy", "<i4", "i", (len(samples), SEQUENCE), numbers)
    data = f"tokens={folder / name}-tokens.npy,documents={folder / name}-documents.npy"
    if positions:
        write_npy(folder / f"{name}-positions.npy", "<i4", "i", (len(samples), SEQUENCE), positions)
        data += f",positions={folder / name}-positions.npy"
    return data


def write_alone(folder, documents, name="alone"):
    """Writes each document into a sample of its own; returns the argument of --data. What follows a document does not
    count, and no token of it sees that.
    """
    tokens, targets = [], []
    for document in documents:
        rest = SEQUENCE - len(document)
        tokens += document + [0] * rest
        targets += document[1:] + [IGNORED] * (rest + 1)
    write_npy(folder / f"{name}-tokens.npy", "<i4", "i", (len(documents), SEQUENCE), tokens)
    write_npy(folder / f"{name}-targets.npy", "<i4", "i", (len(documents), SEQUENCE), targets)
    return f"tokens={folder / name}-tokens.npy,targets={folder / name}-targets.npy"


def step_of(program, ranks, data, folder, *flags):
    """Returns loss and gradients of the first step; parameters are those of the seed."""
    dump = folder / "gradients.safetensors"
    (line,) = train(program, ranks, data, 1, "--threads", 1, "--lr", 0, "--dump-grads", dump, *flags)
    return line["loss"], read_safetensors(dump)


def compare_norms(found, wanted, what):
    """Compares gradients that 16-bit numbers rounded: the norm of each difference with that of the gradient."""
    for name, (_, values) in wanted.items():
        difference = math.dist(found[name][1], values) / math.hypot(*values)
        check(difference <= 3e-2, f"{what}: '{name}' has a gradient that differs by {difference:.3g} of its norm")


def check_plans(folder, name, config):
    """Compares a model under all plans with its documents alone; returns the largest difference in f32."""
    draw = random.Random(name)
    lengths = [[12, 1, 1, 18], [32], [1] * 10 + [22], [7, 9, 15, 1]]
    samples = [documents_of(draw, each) for each in lengths]
    alone = [document for sample in samples for document in sample]
    model, program = write_model(folder, name, config), folder / "model.dte"
    wanted = {}
    for narrow in ((), ("--precision", "bf16")):
        compile_model(model, program, len(alone), "dp=1,tp=1", *narrow)
        wanted[bool(narrow)] = step_of(program, 1, write_alone(folder, alone), folder)
    data, worst = write_packed(folder, samples), 0.0
    for plan in PLANS:
        fix, *flags = plan.split()
        ranks = compile_model(model, program, BATCH, fix, "--documents", *flags)
        device = ["env", f"DTC_EMULATED_GPU={int('simt' in flags)}"]
        is_narrow = "bf16" in flags
        dump = folder / "gradients.safetensors"
        out = run([*device, BIN / "dtrun", program, "-n", ranks, "--data", data, "--steps", 1, "--format", "json",
                   "--threads", 1, "--lr", 0, "--dump-grads", dump])
        (line,) = rows_of(out)
        loss, gradients = wanted[is_narrow]
        compare_steps([line["loss"]], [loss], 1e-3 if is_narrow else 1e-5, f"{name}, {plan}: loss", "documents alone")
        found = read_safetensors(dump)
        if is_narrow:
            compare_norms(found, gradients, f"{name}, {plan}")
        else:
            worst = max(worst, compare_tensors(found, gradients, 1e-4, f"{name}, {plan}: gradients", floor=1e-4))
    return worst


def check_faults(folder):
    """Checks that data which break a rule give other losses than documents alone, as check_plans would find.

    Rotations turn by differences of positions, so that a document may begin anywhere: theirs is that all are 0.
    """
    draw = random.Random("faults")
    samples = [documents_of(draw, [9, 5, 18]) for _ in range(BATCH)]
    for name, wrong in (("llama", [0] * SEQUENCE), ("gpt2", list(range(SEQUENCE)))):
        program = folder / "faults.dte"
        compile_model(folder / f"{name}.json", program, BATCH, "dp=1,tp=1", "--documents")
        right, _ = step_of(program, 1, write_packed(folder, samples), folder)
        loss, _ = step_of(program, 1, write_packed(folder, samples, "wrong", wrong * BATCH), folder)
        check(abs(loss - right) > 1e-3, f"{name}: wrong positions have the loss of those that begin anew")
    # Without documents targets cross boundaries, and so does attention.
    compile_model(folder / "gpt2.json", program, BATCH, "dp=1,tp=1")
    tokens = [token for sample in samples for document in sample for token in document]
    targets = [token for sample in samples
               for token in [*(word for document in sample for word in document)][1:] + [IGNORED]]
    write_npy(folder / "t.npy", "<i4", "i", (BATCH, SEQUENCE), tokens)
    write_npy(folder / "y.npy", "<i4", "i", (BATCH, SEQUENCE), targets)
    loss, _ = step_of(program, 1, f"tokens={folder / 't.npy'},targets={folder / 'y.npy'}", folder)
    check(abs(loss - right) > 1e-3, "targets across boundaries have the loss of those within documents")


def check_document_loss(folder):
    """Compares a loss per document with the mean of the losses that each document has alone."""
    documents = documents_of(random.Random("per document"), [20, 2, 10])
    program = folder / "one.dte"
    compile_model(folder / "gpt2.json", program, 1, "dp=1,tp=1")
    losses = [step_of(program, 1, write_alone(folder, [document]), folder)[0] for document in documents]
    ranks = compile_model(folder / "gpt2.json", program, 2, "dp=2,tp=1", "--documents", "--document-loss", "document")
    loss, _ = step_of(program, ranks, write_packed(folder, [documents] * 2), folder)
    compare_steps([loss], [sum(losses) / len(losses)], 1e-5, "loss per document", "documents alone")


def write_tokens(path, documents):
    path.write_bytes(array.array("H", [token for document in documents for token in document]).tobytes())


def check_packing(folder):
    draw = random.Random("packing")
    lengths = [min(SEQUENCE, 1 + int(draw.expovariate(1 / 7))) for _ in range(90)]
    documents = [document[:-1] + [END] for document in documents_of(draw, lengths)]
    tokens, program, alone = folder / "train.bin", folder / "packing.dte", folder / "alone.dte"
    write_tokens(tokens, documents)
    ends = ("--document-end", END)
    compile_model(folder / "llama.json", program, BATCH, "dp=1,tp=1", "--documents")
    compile_model(folder / "llama.json", alone, 9, "dp=1,tp=1")
    (wanted,) = train(alone, 1, "synthetic", 0, "--eval-data", write_alone(folder, documents, "eval"))
    (found,) = train(program, 1, tokens, 0, "--eval-data", tokens, *ends)
    compare_steps([found["eval_loss"]], [wanted["eval_loss"]], 1e-5, "evaluation of what is packed", "documents alone")
    check(found["eval_tokens"] == wanted["eval_tokens"] == sum(lengths) - len(lengths), f"counted targets: {found}")

    saved = ("--checkpoint-dir", folder / "saved")
    whole = train(program, 1, tokens, 8, *ends, *saved, "--checkpoint-every", 5, "--dump-params",
                  folder / "whole.safetensors")
    shutil.rmtree(folder / "saved" / "step-8")
    rest = train(program, 1, tokens, 8, *ends, *saved, "--resume", "--dump-params", folder / "rest.safetensors")
    check([line["loss"] for line in rest] == [line["loss"] for line in whole[5:]], "losses after a checkpoint")
    check((folder / "rest.safetensors").read_bytes() == (folder / "whole.safetensors").read_bytes(),
          "parameters after a checkpoint")
    ranks = compile_model(folder / "llama.json", folder / "two.dte", BATCH, "dp=2,tp=1", "--documents")
    two = train(folder / "two.dte", ranks, tokens, 8, *ends)
    compare_steps([line["loss"] for line in two], [line["loss"] for line in whole], 1e-4, "two ranks", "one")
    return tokens, program, documents


def refuse(what, wanted, command):
    """Checks that dtrun refuses a run by one line that says `wanted`."""
    result = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=60)
    lines = result.stderr.strip().splitlines()
    check(result.returncode == 1 and len(lines) == 1 and wanted in lines[0],
          f"{what}: exit code {result.returncode}, wanted one line with '{wanted}':\n{result.stderr}")


def check_refusals(folder, tokens, program, documents):
    def dtrun(data, *flags, of=program):
        return [BIN / "dtrun", of, "--data", data, "--steps", 1, *flags]

    draw = random.Random("refusals")
    data = write_packed(folder, [documents_of(draw, [10, 22])] * BATCH)
    write_npy(folder / "packed-documents.npy", "<i4", "i", (BATCH, SEQUENCE),
              [5] * (BATCH * SEQUENCE - SEQUENCE) + [4] * 30 + [3] * 2)
    refuse("numbers that fall", "token 30 of sample 3 is of document 3, behind one of 4; numbers of documents never "
           "fall", dtrun(data))
    data = write_packed(folder, [documents_of(draw, [10, 22])] * BATCH, positions=[SEQUENCE] * BATCH * SEQUENCE)
    refuse("positions beyond the table", "for input 'positions': sample 0, element 0 is 32; wanted 0 to 31",
           dtrun(data))
    write_tokens(folder / "long.bin", [[1] * 40 + [END], [2, END]])
    long = dtrun(folder / "long.bin", "--document-end", END)
    refuse("a long document", "document 0 has 41 tokens, more than the 32 of a sample",
           [*long, "--long-documents", "refuse"])
    for handling, counted in (("split", 41 + 2 - 3), ("cut", 32 + 2 - 2)):
        (line,) = rows_of(run([*dtrun(folder / "long.bin", "--document-end", END, "--long-documents", handling,
                                      "--eval-data", folder / "long.bin", "--format", "json")][:]))[-1:]
        check(line["eval_tokens"] == counted, f"{handling}: {line}")
    refuse("no boundaries", "does not say where its documents end", dtrun(tokens))
    refuse("no such token", "has no token 59", dtrun(folder / "long.bin", "--document-end", 59))
    refuse("no numbers", "names no file for input 'documents'", dtrun(f"tokens={folder / 'packed-tokens.npy'}"))
    plain = folder / "plain.dte"
    compile_model(folder / "llama.json", plain, BATCH, "dp=1,tp=1")
    refuse("a model without documents", "the model reads no documents; compile it with --documents",
           dtrun(tokens, "--document-end", END, of=plain))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        worst = max(check_plans(folder, "llama", LLAMA), check_plans(folder, "gpt2", GPT2))
        check_faults(folder)
        check_document_loss(folder)
        check_refusals(folder, *check_packing(folder))
    print(f"packed documents train as documents alone under {len(PLANS)} plans; largest difference of gradients "
          f"{worst:.1e}")


if __name__ == "__main__":
    main()
