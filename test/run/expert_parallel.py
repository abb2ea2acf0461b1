#!/usr/bin/env python3
"""Experts on several ranks train like one device, whatever the tokens want, and send what the formula says.

Usage: expert_parallel.py [--only N]; exits 0 only if all cases match. Small mixtures without drops are trained under
expert parallelism beside tensor parallelism, pipelines, ZeRO and recomputation, by SGD but for the last cases: AdamW
would hide gradients that are too large by a factor. Losses, norms, gradients and parameters are compared with one
process as in any_plan.py. In some cases all tokens choose the same expert in every step. The all-to-alls of
a program have the bytes of docs/experts.md, and a checkpoint has whole experts, from which other plans go on. Plans are
priced by the bytes that their programs send, and have experts on several ranks where that is faster. Logs have the
rows of each expert, and the losses of routers.
"""
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from any_plan import TOLERANCE, as_graph, match_one_device, run_listed_cases, write_case
from dtc_tools import BIN, compare_tensors, dtc, pins_for, read_safetensors, train

SEQUENCE = 12
MIXTRAL = {"model_type": "mixtral", "vocab_size": 61, "max_position_embeddings": 64, "hidden_size": 16,
           "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
           "num_local_experts": 4, "num_experts_per_tok": 2, "initializer_range": 0.2, "tie_word_embeddings": False,
           "router_aux_loss_coef": 0.02, "output_router_logits": False, "sliding_window": None}
ONE = {**MIXTRAL, "num_experts_per_tok": 1}
EIGHT = {**MIXTRAL, "num_local_experts": 8, "num_experts_per_tok": 3}
BALANCED = {**MIXTRAL, "output_router_logits": True, "moe_router_load_balancing_type": "seq_aux_loss"}
POOLED = {**MIXTRAL, "output_router_logits": True}
# Nearly all parameters are of experts, and few tokens go to each.
WIDE = {**MIXTRAL, "num_local_experts": 16, "num_experts_per_tok": 1, "hidden_size": 64, "intermediate_size": 256}
# Experts of GPT-OSS have biases, and gate and up in alternating columns.
GPT_OSS = {"model_type": "gpt_oss", "vocab_size": 61, "max_position_embeddings": 64, "hidden_size": 16,
           "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
           "head_dim": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "initializer_range": 0.2,
           "output_router_logits": False, "sliding_window": 128,
           "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}

# Each case is: config, keys of --fix, optimizer, whether all tokens choose the same expert.
CASES = [
    (MIXTRAL, {"dp": 2, "ep": 2}, "sgd", False),
    (MIXTRAL, {"dp": 4, "ep": 2}, "sgd", False),
    (MIXTRAL, {"dp": 4, "ep": 4, "zero": 1}, "sgd", False),
    (EIGHT, {"dp": 4, "ep": 4, "zero": 2, "micro_batch": 2}, "sgd", False),
    (MIXTRAL, {"dp": 4, "ep": 2, "zero": 3}, "sgd", False),
    (MIXTRAL, {"dp": 2, "ep": 2, "zero": 3}, "sgd", False),
    (EIGHT, {"dp": 8, "ep": 4, "zero": 1, "zero_group": 4}, "sgd", False),
    (MIXTRAL, {"dp": 2, "ep": 2, "tp": 2}, "sgd", False),
    (EIGHT, {"dp": 4, "ep": 4, "tp": 2, "sp": 1, "zero": 1}, "sgd", False),
    (MIXTRAL, {"dp": 2, "ep": 2, "pp": 2, "zero": 2}, "sgd", False),
    (MIXTRAL, {"dp": 4, "ep": 4, "pp": 2, "recompute": "full"}, "sgd", False),
    (MIXTRAL, {"dp": 2, "ep": 2, "tp": 2, "pp": 2, "zero": 1, "recompute": "selective", "sp": 0}, "sgd", False),
    (ONE, {"dp": 4, "ep": 4}, "sgd", True),
    (ONE, {"dp": 4, "ep": 2, "zero": 3, "recompute": "full"}, "sgd", True),
    (BALANCED, {"dp": 4, "ep": 2}, "sgd", False),
    (GPT_OSS, {"dp": 2, "ep": 2, "tp": 2}, "sgd", False),
    (GPT_OSS, {"dp": 4, "ep": 4, "zero": 3}, "sgd", False),
    (MIXTRAL, {"dp": 4, "ep": 2, "zero": 1, "recompute": "selective"}, "adamw", False),
    (MIXTRAL, {"dp": 4, "ep": 4, "zero": 2}, "lamb", False),
    (MIXTRAL, {"dp": 2, "ep": 2, "expert_room": 1}, "sgd", False),
    (EIGHT, {"dp": 4, "ep": 4, "zero": 2, "micro_batch": 2, "expert_room": 1.25}, "sgd", False),
    (ONE, {"dp": 4, "ep": 4, "expert_room": 1}, "sgd", True),
    (ONE, {"dp": 4, "ep": 2, "zero": 3, "recompute": "full", "expert_room": 1.5}, "sgd", True),
    (EIGHT, {"dp": 4, "ep": 4, "tp": 2, "sp": 1, "zero": 1, "expert_room": 1.5}, "sgd", False),
    (MIXTRAL, {"dp": 2, "ep": 2, "tp": 2, "pp": 2, "zero": 1, "recompute": "selective", "expert_room": 1.2}, "sgd",
     False),
    (MIXTRAL, {"dp": 4, "ep": 4, "pp": 2, "zero": 3, "recompute": "full", "expert_room": 2}, "sgd", False),
    (GPT_OSS, {"dp": 2, "ep": 2, "tp": 2, "expert_room": 1}, "sgd", False),
]


def exchanged(config, fix):
    """Returns how many bytes of rows a rank sends in a step: blocks for all choices of a sample, to each other rank,
    to the experts and back, and their gradients. With room for fewer there are as many rounds as all choices take, of
    which all but the first go to the experts and back once more, in front of their gradients. All layers are on a rank
    where there is no pipeline.
    """
    ep, samples = fix["ep"], 2 * fix.get("micro_batch", 1)
    choices = SEQUENCE * config["num_experts_per_tok"]
    room = min(choices, math.ceil(fix.get("expert_room", ep) * choices / ep))
    rounds = math.ceil(choices / room)
    passes = 4 * rounds + 2 * (rounds - 1)
    return passes * config["num_hidden_layers"] * samples * (ep - 1) * room * config["hidden_size"] * 4


def check_bytes(dte, config, fix, what):
    (program,) = json.loads(dtc("inspect", dte, "--format", "json"))["programs"]
    # Sums of the results of experts that tensor parallelism splits are of experts, too.
    rows = [entry for entry in program["communication"] if entry["role"] == "expert" and entry["group"] != "tp"]
    if any(entry["kind"] != "all_to_all" or entry["group"] != "ep" for entry in rows):
        sys.exit(f"FAILED: {what}: {rows}, wanted all-to-alls over ep alone")
    # The numbers of rows go first: one for each expert of the other ranks, sample and layer.
    counts = config["num_hidden_layers"] * 2 * fix.get("micro_batch", 1) * config["num_local_experts"] * 4 * \
        (fix["ep"] - 1) // fix["ep"]
    found, wanted = sum(entry["bytes"] for entry in rows), exchanged(config, fix) + counts
    if found != wanted:
        sys.exit(f"FAILED: {what}: a rank sends {found} bytes of rows in a step, wanted {wanted}")


def run_case(index):
    config, fix, optimizer, alike = CASES[index]
    fix = {"tp": 1, "pp": 1, "micro_batch": 1, "recompute": "none", **fix}
    ranks = fix["dp"] * fix["tp"] * fix["pp"]
    what = f"case {index}: {config['model_type']}, {fix}, {optimizer}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, data = write_case(folder, config, random.Random(index))
        if alike:  # of equal scores the first is chosen, and a weight that is always one moves no router
            path = as_graph(path, SEQUENCE)
            text, count = re.subn(r'(gate\.weight") normal\([^)]*\)', r"\1 zeros", path.read_text())
            path.write_text(text)
            if count == 0:
                sys.exit(f"FAILED: {what}: no router is among the parameters of {path}")
        batch = 2 * fix["dp"] * fix["micro_batch"]
        difference = match_one_device(folder, path, SEQUENCE, batch, optimizer, ranks, fix, data, index, what)
        if fix["pp"] == 1 and fix["recompute"] == "none" and config["model_type"] == "mixtral":
            check_bytes(folder / f"r{ranks}.dte", config, fix, what)
        return difference


def compiled(folder, path, ranks, fix, *flags):
    dte = folder / f"{fix.replace(',', '-').replace('=', '')}.dte"
    dtc("compile", path, "--seq-len", SEQUENCE, "--topology", "cpu", "--devices", ranks, "--global-batch", 8, "--fix",
        fix, "--optimizer", "adamw", "--epsilon", 1e-3, "--lr-schedule", "constant", *flags, "-o", dte)
    return dte


def check_resumed():
    """A checkpoint of experts on several ranks is of whole experts: others go on from it as if nothing had happened."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, data = write_case(folder, EIGHT, random.Random(1))
        flags = ("--seed", 1, "--lr", 1e-2)
        end = folder / "end.safetensors"
        train(compiled(folder, path, 1, "dp=1,tp=1"), 1, data, 4, *flags, "--dump-params", end)
        kept = ("--checkpoint-dir", folder / "checkpoints", "--checkpoint-every", 1)
        done = 0
        for ranks, fix in ((4, "dp=4,tp=1,ep=4,zero=1"), (4, "dp=2,tp=2,ep=2,zero=3"), (1, "dp=1,tp=1"),
                           (4, "dp=4,tp=1,ep=2,zero=2")):
            resumes = ("--resume",) if done else ()
            done += 1
            now = folder / "now.safetensors"
            train(compiled(folder, path, ranks, fix), ranks, data, done, *flags, *kept, *resumes, "--dump-params", now)
        return compare_tensors(read_safetensors(now), read_safetensors(end), TOLERANCE, "resumed under other plans")


def check_refusals():
    with tempfile.TemporaryDirectory() as name:
        path, _ = write_case(Path(name), MIXTRAL, random.Random(1))
        for ranks, fix, wanted in (
                (3, "dp=3,ep=3", ["--fix ep=3 does not divide the 4 experts of the model", "ep=2"]),
                (2, "dp=2,ep=4", ["no mesh is left of 2 devices with 4 experts", "ep divides dp x cp"]),
                (2, "dp=2,ep=2,expert_room=0.9", ["--fix expert_room=0.9: room for the rows", "of at least 1"]),
                (2, "dp=2,ep=2,expert_room=much", ["--fix expert_room=much: room for the rows", "of at least 1"]),
                (2, "dp=2,ep=1,expert_room=1.5", ["expert_room is of experts on several ranks"])):
            result = subprocess.run([BIN / "dtc", "compile", path, "--seq-len", str(SEQUENCE), "--topology", "cpu",
                                     "--devices", str(ranks), "--global-batch", "12", "--fix", fix, "-o", "x.dte"],
                                    cwd=name, capture_output=True, text=True)
            if result.returncode != 1 or any(text not in result.stderr for text in wanted):
                sys.exit(f"FAILED: {fix}: exit code {result.returncode}, wanted {wanted}:\n{result.stderr}")


def check_imbalance():
    """Step lines say how uneven the rows of ranks are: where all tokens choose the same expert, one rank has all of
    them, and without experts on several ranks all have as many.
    """
    with tempfile.TemporaryDirectory() as name:
        path, data = write_case(Path(name), ONE, random.Random(1))
        same = as_graph(path, SEQUENCE)
        same.write_text(re.sub(r'(gate\.weight") normal\([^)]*\)', r"\1 zeros", same.read_text()))
        for ranks, fix, imbalance, rounds in ((4, "dp=4,tp=1,ep=4", 4.0, 1), (4, "dp=4,tp=1,ep=2", 2.0, 1),
                                              (4, "dp=2,tp=1,pp=2,ep=2", 2.0, 1), (2, "dp=2,tp=1,ep=1", 1.0, 1),
                                              (4, "dp=4,tp=1,ep=4,expert_room=1", 4.0, 4),
                                              (4, "dp=4,tp=1,ep=4,zero=3,recompute=full,expert_room=1.5", 4.0, 3),
                                              (4, "dp=2,tp=1,pp=2,ep=2,expert_room=1.2", 2.0, 2),
                                              (4, "dp=2,tp=1,pp=2,ep=2,recompute=full", 2.0, 1)):
            for row in train(compiled(Path(name), same, ranks, fix), ranks, data, 2):
                found = row.get("expert_imbalance"), row.get("expert_rounds")
                if found != (imbalance, rounds):
                    sys.exit(f"FAILED: {fix}: step {row['step']} has imbalance and rounds {found}, wanted "
                             f"{imbalance} and {rounds}")
        path, data = write_case(Path(name), EIGHT, random.Random(1))
        rows = train(compiled(Path(name), path, 4, "dp=4,tp=1,ep=4"), 4, data, 4)
        if not all(1.0 < row["expert_imbalance"] < 2.0 for row in rows):
            sys.exit(f"FAILED: imbalance is {[row['expert_imbalance'] for row in rows]}, wanted between 1 and 2")


def logged(folder, dte, ranks, data, steps):
    """Returns the steps of rank 0's log, of a run that measures in each."""
    log = folder / "log"
    shutil.rmtree(log, ignore_errors=True)
    train(dte, ranks, data, steps, "--log-dir", log, "--norms-every", 1)
    return [row for row in map(json.loads, (log / "rank-0.jsonl").read_text().splitlines()) if "loss" in row]


def check_loads():
    """Logs have the rows of each expert in each layer under every plan, also on GPUs: those of one process; or all
    rows at the expert that all tokens choose.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, data = write_case(folder, ONE, random.Random(1))
        same = as_graph(path, SEQUENCE)
        same.write_text(re.sub(r'(gate\.weight") normal\([^)]*\)', r"\1 zeros", same.read_text()))
        wanted = [[8 * SEQUENCE, 0, 0, 0]] * 2
        for ranks, fix, flags in ((1, "dp=1,tp=1", ()), (4, "dp=2,tp=2,ep=2,recompute=full", ()),
                                  (4, "dp=2,tp=1,pp=2,ep=2,micro_batch=2", ()), (4, "dp=4,tp=1,ep=2,zero=3", ()),
                                  (2, "dp=2,tp=1,ep=2", ("--target", "simt"))):
            os.environ["DTC_EMULATED_GPU"] = "1" if flags else "0"
            for row in logged(folder, compiled(folder, same, ranks, fix, *flags), ranks, data, 2):
                if row["expert_rows"] != wanted or row["expert_load"] != [4, 4]:
                    sys.exit(f"FAILED: {fix} {flags}: step {row['step']} has rows {row['expert_rows']} and loads "
                             f"{row['expert_load']}, wanted {wanted}")
        os.environ["DTC_EMULATED_GPU"] = "0"
        path, data = write_case(folder, EIGHT, random.Random(1))
        found = [logged(folder, compiled(folder, path, ranks, fix), ranks, data, 1)[0]["expert_rows"]
                 for ranks, fix in ((1, "dp=1,tp=1"), (4, "dp=4,tp=1,ep=4"), (4, "dp=1,tp=2,pp=2,micro_batch=4"))]
        if any(rows != found[0] for rows in found) or {sum(rows) for rows in found[0]} != {8 * SEQUENCE * 3}:
            sys.exit(f"FAILED: rows by expert are {found}")


def check_router_loss():
    """The losses of routers are what the training loss has more with them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for fix in ("dp=1,tp=1", "dp=2,tp=1,pp=2,ep=2,micro_batch=2"):
            losses = []
            for config in (MIXTRAL, {**BALANCED, "moe_z_loss_coeff": 0.5}):
                path, data = write_case(folder, config, random.Random(1))
                ranks = 4 if "pp" in fix else 1
                losses.append(train(compiled(folder, path, ranks, fix), ranks, data, 1, "--seed", 1)[0])
            more = losses[1]["loss"] - losses[0]["loss"]
            if losses[0]["router_loss"] is not None or not abs(losses[1]["router_loss"] - more) <= 1e-5:
                sys.exit(f"FAILED: {fix}: losses of routers are {[row['router_loss'] for row in losses]}, wanted none "
                         f"and {more}")


def plan_for(path, ranks, *flags, batch=16):
    """Returns the file of the plan that the planner makes, and what is in it."""
    file = path.parent / "plan.json"
    dtc("plan", path, "--seq-len", SEQUENCE, "--topology", "cpu", "--devices", ranks, "--global-batch", batch,
        "--optimizer", "sgd", *flags, "-o", file)
    return file, json.loads(file.read_text())


def check_prices():
    """The planner's price of experts on several ranks is of the bytes that the program sends, and that is all that it
    sends among these ranks.
    """
    for config, ranks, fix in ((MIXTRAL, 4, "dp=4,tp=1,ep=2,micro_batch=2,recompute=none"),
                               (EIGHT, 8, "dp=4,tp=2,ep=4,micro_batch=1,zero=1,recompute=none"),
                               (EIGHT, 4, "dp=4,tp=1,ep=4,micro_batch=2,recompute=full"),
                               (GPT_OSS, 4, "dp=2,tp=2,ep=2,micro_batch=4,recompute=none"),
                               (MIXTRAL, 4, "dp=4,tp=1,ep=4,micro_batch=2,recompute=selective"),
                               (MIXTRAL, 4, "dp=4,tp=1,ep=4,micro_batch=2,recompute=none,expert_room=1.5"),
                               (EIGHT, 4, "dp=4,tp=1,ep=4,micro_batch=2,recompute=full,expert_room=1"),
                               (EIGHT, 8, "dp=4,tp=2,ep=4,micro_batch=1,recompute=selective,expert_room=1.25")):
        with tempfile.TemporaryDirectory() as name:
            path, _ = write_case(Path(name), config, random.Random(1))
            plan, read = plan_for(path, ranks, "--fix", fix, *pins_for(["--fix", fix]))
            ep = read["mesh"]["ep"]
            explained = json.loads(dtc("explain", plan, "--model", path, "--topology", "cpu", "--format", "json"))
            priced = sum(each["bytes"] * each["runs"] * (ep - 1) / ep for each in explained["collectives"]
                         if each["axis"] == "ep")
            dte = path.parent / "priced.dte"
            dtc("compile", path, "--seq-len", SEQUENCE, "--plan", plan, "-o", dte)
            (program,) = json.loads(dtc("inspect", dte, "--format", "json"))["programs"]
            sent = sum(each["bytes"] for each in program["communication"]
                       if each["group"] == "ep" and each["kind"] == "all_to_all")
            if any("ep" not in places for name, places in read["tensors"].items() if ".experts." in name):
                sys.exit(f"FAILED: {fix}: each rank has parameters of all experts: {read['tensors']}")
            if priced != sent or sent == 0:
                sys.exit(f"FAILED: {fix}: a rank sends {sent} bytes among the ranks of experts, priced {priced}")


def check_memory():
    """Less room takes less memory: rows of one round are in it, in both passes, whatever is recomputed."""
    with tempfile.TemporaryDirectory() as name:
        path, _ = write_case(Path(name), EIGHT, random.Random(1))
        for recompute in ("none", "full"):
            peaks = []
            for room in ("all", "2", "1"):
                fix = f"dp=4,tp=1,ep=4,micro_batch=4,recompute={recompute},expert_room={room}"
                plan, _ = plan_for(path, 4, "--fix", fix, *pins_for(["--fix", fix]))
                dte = path.parent / "room.dte"
                dtc("compile", path, "--seq-len", SEQUENCE, "--plan", plan, "-o", dte)
                (program,) = json.loads(dtc("inspect", dte, "--format", "json"))["programs"]
                peaks.append(program["arena_bytes"])
            print(f"recompute={recompute}: arenas of {peaks} bytes with room for all, 2 and 1")
            if not peaks[0] > peaks[1] > peaks[2]:
                sys.exit(f"FAILED: recompute={recompute}: arenas of {peaks} bytes do not shrink with the room")


def check_chosen():
    """The planner has experts on several ranks without being asked, where that is faster, and whatever it proposes
    compiles.
    """
    for config, ranks, pays in ((WIDE, 4, True), (WIDE, 8, True), (MIXTRAL, 6, False), (POOLED, 4, False)):
        with tempfile.TemporaryDirectory() as name:
            path, _ = write_case(Path(name), config, random.Random(1))
            plan, read = plan_for(path, ranks, batch=12 if ranks == 6 else 16)
            if pays and read["mesh"]["ep"] == 1:
                sys.exit(f"FAILED: {ranks} ranks: experts are on all ranks: {read['mesh']}, wanted on several")
            dtc("compile", path, "--seq-len", SEQUENCE, "--plan", plan, "-o", path.parent / "chosen.dte")
            if pays and ranks == 4:  # with more ranks, the search takes much longer
                _, alone = plan_for(path, ranks, "--fix", "ep=1")
                times = [each["predicted"]["step_time_s"] for each in (read, alone)]
                if not times[0] < times[1]:
                    sys.exit(f"FAILED: {ranks} ranks: steps of {times[0]} s are no faster than {times[1]} s with ep=1")


if __name__ == "__main__":
    run_listed_cases(__doc__, len(CASES), run_case, check_resumed, check_refusals, check_imbalance, check_loads,
                     check_router_loss, check_prices, check_memory, check_chosen)
