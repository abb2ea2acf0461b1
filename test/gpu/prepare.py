#!/usr/bin/env python3
"""Compiles kernels, random plans and models for a GPU and runs the same on one CPU: the half that needs dtc and no GPU.

Usage: prepare.py [--target cuda:sm_90] [--cases N] [--seed S] [--sizes N...] [--curve-steps N] [--no-dtrun] -o FOLDER

Then check.py FOLDER on a machine with a GPU. FOLDER has dtrun with its libraries, too (tools/pack_dtrun.py).
"""
import argparse
import json
import pickle
import random
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "test" / "run"), str(ROOT / "tools"), str(ROOT / "bench")]
from about import commit
from any_plan import FLAGS, Case, compile_plan, draw_rounding, random_case, run_one, write_case
from dtc_tools import BIN, as_bytes, dtc, run, train
from pack_dtrun import pack

KERNEL_SIZES = [1, 31, 32, 33, 1000]
CURVE = {"batch": 2, "sequence": 32, "rate": 1e-3, "seed": 1}
MOST_MIB = 50  # limit of the files that travel to the GPU machine, beside this tree


def shaped(config, sequence, precision):
    """Returns a model whose attention has a shape for tensor cores; random models are too small for it."""
    fix = {"dp": 1, "tp": 1, "pp": 1, "sp": 0, "zero": 0, "micro_batch": 2, "recompute": "none", "precision": precision}
    return Case(config, sequence, 2, "adamw", fix, 1)


def shaped_cases():
    """Returns cases with heads of 64 and 128, grouped and not, and lines that are no multiple of any tile."""
    gpt2 = {"model_type": "gpt2", "vocab_size": 67, "n_positions": 256, "n_embd": 64, "n_layer": 1, "n_head": 1,
            "n_inner": 66, "activation_function": "gelu_new", "initializer_range": 0.08, "resid_pdrop": 0.0,
            "embd_pdrop": 0.0, "attn_pdrop": 0.1, "tie_word_embeddings": True}
    llama = {"model_type": "llama", "vocab_size": 61, "max_position_embeddings": 256, "hidden_size": 24,
             "head_dim": 128, "intermediate_size": 40, "num_hidden_layers": 1, "num_attention_heads": 2,
             "num_key_value_heads": 1, "hidden_act": "silu", "initializer_range": 0.08, "tie_word_embeddings": False,
             "attention_bias": False, "mlp_bias": False}
    return [shaped(config, sequence, precision) for config, sequence in ((gpt2, 129), (llama, 77))
            for precision in ("bf16", "f32")]


def prepare(folder, case, target):
    """Writes the files of a case for check.py: program, data, and the results of one CPU."""
    folder.mkdir(parents=True)
    case.fix.update(target=target)
    path, data = write_case(folder, case.config, random.Random(case.seed), case.sequence)
    one = {"dp": 1, "tp": 1, "micro_batch": case.batch, **{key: case.fix[key] for key in FLAGS if key in case.fix
                                                           and key != "target"}}
    wanted = run_one(folder, path, case.sequence, case.batch, case.optimizer, 1, one, data, case.seed)
    precision, draws = case.fix["precision"], []
    if precision != "f32":
        draws = draw_rounding(folder, path, case.sequence, case.batch, case.optimizer, one, data, case.seed,
                              case.fix["tp"])
    compile_plan(folder / "program.dte", path, case.sequence, case.batch, case.optimizer, case.ranks, case.fix)
    for left in [*folder.glob("*.safetensors"), folder / "r1.dte"]:
        left.unlink()
    (folder / "case.pickle").write_bytes(pickle.dumps((case, wanted, draws)))
    (folder / "arena.json").write_text(json.dumps(arena_of(folder / "program.dte")))


def arena_of(program):
    return json.loads(dtc("inspect", program, "--format", "json"))["peak_memory_bytes"]


def on_one_rank(case):
    """Returns the same model and step on one GPU, which a machine with one GPU and without MPI can run."""
    kept = {key: case.fix[key] for key in ("micro_batch", "recompute", "precision")}
    case.fix = {"dp": 1, "tp": 1, "pp": 1, "sp": 0, "zero": 0, **kept}
    return case


def on_few_ranks(case, ranks):
    """Returns a plan of 2 or 4 ranks, which fit on one GPU."""
    count = case.batch // (case.fix["dp"] * case.fix["micro_batch"])
    while case.ranks > ranks:
        key = max(("dp", "tp", "pp"), key=lambda name: case.fix.get(name, 1))
        case.fix[key] //= 2
    case.batch = case.fix["dp"] * case.fix["micro_batch"] * count
    case.fix.pop("grad_dtype", None)  # check.py compares what no reduction rounds
    if case.fix["tp"] == 1:
        case.fix["sp"] = 0
    if case.fix["dp"] == 1:
        case.fix["zero"] = 0
    if case.fix["zero"] == 0 or case.fix["dp"] % (2 * case.fix.get("zero_group", 1)):
        case.fix.pop("zero_group", None)
    if case.fix["pp"] == 1:
        case.fix.pop("schedule", None)
        case.fix.pop("virtual_stages", None)
    return case


def pack_cases(folder):
    """Packs the folders of cases into cases.tar.xz: programs of one compiler compress well together."""
    cases = sorted(path.parent for path in folder.glob("*/case.pickle"))
    if cases:
        with tarfile.open(folder / "cases.tar.xz", "w:xz", preset=2) as packed:
            for case in cases:
                packed.add(case, case.name)
    for case in cases:
        shutil.rmtree(case)


def prepare_kernels(folder, target, sizes):
    """Writes kernels.tar.xz: each kind of generated kernel, operands, and results of this processor."""
    with tempfile.TemporaryDirectory() as work:
        run([BIN.parent / "test" / "dtc-write-twins", work, target.partition(":")[2] or target, *sizes], timeout=1200)
        with tarfile.open(folder / "kernels.tar.xz", "w:xz", preset=2) as packed:
            packed.add(work, "kernels")


def prepare_curve(folder, target, steps):
    """Writes a loss curve of a CPU for each type, and the programs that are to follow it."""
    config = ROOT / "models" / "configs" / "gpt2-quickstart.json"
    folder.mkdir()
    (folder / "text.txt").write_bytes((ROOT / "README.md").read_bytes())
    curves = {}
    for precision in ("f32", "bf16"):
        programs = {"cpu": folder / "cpu.dte", target: folder / f"{precision}.dte"}
        for device, program in programs.items():
            dtc("compile", config, "--seq-len", CURVE["sequence"], "--topology", "cpu", "--devices", 1,
                "--global-batch", CURVE["batch"], "--epsilon", 1e-3, "--precision", precision, "--target", device,
                "--fix", f"micro_batch={CURVE['batch']}", "-o", program)
        lines = train(programs["cpu"], 1, as_bytes(folder / "text.txt"), steps, "--seed", CURVE["seed"], "--lr",
                      CURVE["rate"], "--threads", 1)
        curves[precision] = [line["loss"] for line in lines]
        programs["cpu"].unlink()
    (folder / "curves.json").write_text(json.dumps({"rate": CURVE["rate"], "seed": CURVE["seed"], "losses": curves}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="cuda:sm_90")
    parser.add_argument("--cases", type=int, default=6, help="random plans, half of them on one rank")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shaped", type=int, default=len(shaped_cases()), help="models whose attention tensor cores "
                        "take (4)")
    parser.add_argument("--sizes", type=int, nargs="*", default=KERNEL_SIZES, help="of kernels; none: no kernels")
    parser.add_argument("--curve-steps", type=int, default=50)
    parser.add_argument("--no-dtrun", action="store_true", help="leave dtrun out: it is where the programs will be run")
    parser.add_argument("-o", dest="folder", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.folder.exists():
        sys.exit(f"prepare.py: {arguments.folder} exists; give a new folder")
    for index in range(arguments.cases):
        case = random_case(index, arguments.seed)
        case = on_one_rank(case) if index % 2 == 0 else on_few_ranks(case, 2 if index % 4 == 1 else 4)
        prepare(arguments.folder / f"{index:03}", case, arguments.target)
    for index, case in enumerate(shaped_cases()[:arguments.shaped]):
        prepare(arguments.folder / f"shaped-{index}", case, arguments.target)
    arguments.folder.mkdir(exist_ok=True)
    pack_cases(arguments.folder)
    if arguments.sizes:
        prepare_kernels(arguments.folder, arguments.target, arguments.sizes)
    if arguments.curve_steps:
        prepare_curve(arguments.folder / "curve", arguments.target, arguments.curve_steps)
    if not arguments.no_dtrun:
        pack(arguments.folder / "dtrun.tar.xz")
    (arguments.folder / "about.json").write_text(json.dumps({"commit": commit(), "target": arguments.target,
                                                             "seed": arguments.seed}))
    size = sum(file.stat().st_size for file in arguments.folder.rglob("*") if file.is_file()) / 2**20
    print(f"{arguments.cases} cases for {arguments.target} are in {arguments.folder}: {size:.1f} MiB")
    if size > MOST_MIB:
        sys.exit(f"prepare.py: that is more than {MOST_MIB} MiB; ask for fewer --cases or --sizes")


if __name__ == "__main__":
    main()
