#!/usr/bin/env python3
"""Ranks send what the plan says: the collectives that ran, by the profile, are those that `dtc inspect` counts.

The profile has the communicator's own name and size and the bytes of the buffer it was given, per event. The bytes
that a rank sends for them are computed here, from the definition of the algorithm: a ring of n ranks passes n - 1
blocks on, twice for an all-reduce. In bf16 parameters and activations take half of the bytes of f32. In a pipeline
each rank runs its stage's program, which includes the sends to the next stages. Under ZeRO-2 and 3 the shards that
`dtc explain` says the plan moves for layers are those of the file, to the byte.
"""
import collections
import json
import random
import sys
import tempfile
from pathlib import Path

from dtc_tools import as_bytes, dtc, train

STEPS, BATCH, SEQUENCE = 2, 8, 16
CONFIG = {"model_type": "llama", "vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 4, "max_position_embeddings": SEQUENCE, "rms_norm_eps": 1e-5,
          "tie_word_embeddings": False}
PARAMETERS = 3 + 9 * 2
# Each case is: pins, and the roles that must be among the sent tensors.
CASES = [({"dp": 2, "tp": 1, "zero": 0, "sp": 0, "micro_batch": 2}, {"gradient", "control"}),
         ({"dp": 2, "tp": 1, "zero": 1, "sp": 0, "micro_batch": 4}, {"gradient", "parameter", "control"}),
         ({"dp": 2, "tp": 1, "zero": 2, "sp": 0, "micro_batch": 2}, {"gradient", "parameter", "control"}),
         ({"dp": 2, "tp": 1, "zero": 3, "sp": 0, "micro_batch": 2}, {"gradient", "parameter", "control"}),
         ({"dp": 4, "tp": 1, "zero": 3, "zero_group": 2, "sp": 0, "micro_batch": 1},
          {"gradient", "parameter", "control"}),
         ({"dp": 1, "tp": 2, "zero": 0, "sp": 1, "micro_batch": 8}, {"activation", "gradient", "control"}),
         ({"dp": 2, "tp": 2, "zero": 1, "sp": 0, "micro_batch": 1}, {"gradient", "parameter", "activation", "control"}),
         ({"dp": 2, "tp": 1, "zero": 3, "sp": 0, "micro_batch": 2, "recompute": "full"},
          {"gradient", "parameter", "control"}),
         ({"dp": 2, "tp": 2, "zero": 3, "sp": 0, "micro_batch": 1, "recompute": "selective+linear"},
          {"gradient", "parameter", "activation", "control"}),
         ({"dp": 1, "tp": 2, "zero": 0, "sp": 0, "micro_batch": 4, "recompute": "selective+attention+linear"},
          {"activation"})]
# These are the cases of pipelines of four layers, with the tensors that stages pass on.
PIPELINES = [({"dp": 1, "tp": 2, "pp": 2, "schedule": "gpipe", "zero": 0, "sp": 1, "micro_batch": 2}, {"activation"}),
             ({"dp": 2, "tp": 1, "pp": 2, "schedule": "1f1b", "zero": 2, "micro_batch": 1}, {"parameter"}),
             ({"dp": 2, "tp": 1, "pp": 2, "schedule": "interleaved", "virtual_stages": 2, "zero": 3,
               "recompute": "full", "micro_batch": 1}, {"parameter"}),
             ({"dp": 2, "tp": 1, "pp": 2, "schedule": "zero-bubble", "zero": 1, "micro_batch": 1}, {"parameter"}),
             ({"dp": 2, "tp": 1, "pp": 2, "schedule": "zero-bubble", "virtual_stages": 2, "zero": 3,
               "recompute": "selective", "micro_batch": 1}, {"parameter"})]


def sent(kind, ranks, bytes_):
    """Returns the bytes that a rank of a ring sends for one collective over a buffer of `bytes_`."""
    block = -(-bytes_ // ranks)
    if kind == "send":
        return bytes_
    if kind == "all_reduce":
        return -(-2 * (ranks - 1) * bytes_ // ranks)
    return (ranks - 1) * block


def profiled(trace):
    """Returns (group, kind, role) -> [count, bytes] of one step, from the profile of one rank."""
    total = collections.defaultdict(lambda: [0, 0])
    for event in json.loads(Path(trace).read_text())["traceEvents"]:
        args = event.get("args", {})
        if args.get("kind", "receive") != "receive":
            entry = total[args["group"], args["kind"], args["role"]]
            entry[0] += 1
            entry[1] += sent(args["kind"], args["ranks"], args["bytes"])
    for key, (count, bytes_) in total.items():
        if count % STEPS or bytes_ % STEPS:
            sys.exit(f"FAILED: {key}: {count} collectives and {bytes_} bytes are not the same in all of {STEPS} steps")
    return {key: (count // STEPS, bytes_ // STEPS) for key, (count, bytes_) in total.items()}


def inspected(dte):
    """Returns the same of each program, and the program of each rank."""
    about = json.loads(dtc("inspect", dte, "--format", "json"))
    return [{(each["group"], each["kind"], each["role"]): (each["count"], each["bytes"])
             for each in program["communication"]}
            for program in about["programs"]], about["rank_program"]


def rank_of(trace):
    return json.loads(Path(trace).read_text())["traceEvents"][0]["pid"]


def bytes_by_role(communication):
    total = collections.Counter()
    for (_, _, role), (_, bytes_) in communication.items():
        total[role] += bytes_
    return total


def run_case(folder, pins, roles, *flags, config="config.json"):
    """Returns the bytes by role that a rank sends, of each program."""
    ranks = pins["dp"] * pins["tp"] * pins.get("pp", 1)
    what = " ".join([f"{key}={value}" for key, value in pins.items()] + list(flags))
    dte, trace = folder / "model.dte", folder / "trace.json"
    dtc("compile", folder / config, "--seq-len", SEQUENCE, "--topology", "cpu", "--devices", ranks, "--global-batch",
        BATCH, "--fix", ",".join(f"{key}={value}" for key, value in pins.items()), "-o", dte, *flags)
    train(dte, ranks, as_bytes(folder / "text.txt"), STEPS, "--threads", 1, "--profile", trace)
    planned, rank_program = inspected(dte)
    traces = sorted(folder.glob("trace*.json"))
    if len(traces) != ranks:
        sys.exit(f"FAILED: {what}: {len(traces)} profiles of {ranks} ranks")
    for path in traces:
        found, wanted = profiled(path), planned[rank_program[rank_of(path)]]
        path.unlink()
        if found != wanted:
            sys.exit(f"FAILED: {what}: {path.name} has {found}, dtc inspect says {wanted}")
    for program in planned:
        missing = roles - {role for _, _, role in program}
        if missing:
            sys.exit(f"FAILED: {what}: nothing of role {missing} is sent: {program}")
    print(what + ":" + ";".join(f" {sum(count for count, _ in program.values())} collectives, "
                                f"{sum(bytes_ for _, bytes_ in program.values())} bytes" for program in planned),
          flush=True)
    if pins["zero"] >= 2 and not flags:
        for stage, program in enumerate(planned):
            check_explained(what, [dte, "--model", folder / config], stage, pins, program)
    return [bytes_by_role(program) for program in planned]


def check_explained(what, plan, stage, pins, program):
    """Checks that the program sends what the plan gathers and scatters for layers: a rank of n sends n - 1 shards of
    it.
    """
    rows = json.loads(dtc("explain", *plan, "--stage", stage, "--format", "json"))["collectives"]
    n = pins.get("zero_group", pins["dp"])
    for named, kind, role in (("all-gather", "all_gather", "parameter"),
                              ("reduce-scatter", "reduce_scatter", "gradient")):
        explained = (sum(row["runs"] * row["bytes"] for row in rows if row["axis"] == "dp" and row["kind"] == named)
                     * (n - 1) / n)
        found = sum(bytes_ for (_, of, to), (_, bytes_) in program.items() if (of, to) == (kind, role))
        if explained != found:
            sys.exit(f"FAILED: {what}: stage {stage} sends {found} bytes by {kind} of role {role}, the plan says "
                     f"{explained}")


def check_halves(folder, pins, roles, wide):
    """Checks that bf16 sends half of `wide`, the bytes that are sent in f32."""
    (found,) = run_case(folder, pins, roles, "--precision", "bf16")
    for role in wide.keys() | found.keys():
        wanted = wide[role] / 2 if role in ("parameter", "activation") else wide[role]
        # Tensors of a bucket begin at multiples of 64 bytes, which a half may not fill.
        if not wanted <= found[role] <= wanted + 64 * PARAMETERS:
            sys.exit(f"FAILED: {pins} in bf16: {found[role]} bytes of role {role}, wanted {wanted}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_text(json.dumps(CONFIG))
        rng = random.Random(1)
        (folder / "text.txt").write_bytes(bytes(rng.randrange(60) for _ in range(4000)))
        (folder / "deep.json").write_text(json.dumps({**CONFIG, "num_hidden_layers": 4}))
        for pins, roles in CASES:
            (wide,) = run_case(folder, pins, roles)
            if pins["zero"] and "recompute" not in pins:
                check_halves(folder, pins, roles, wide)
        for pins, roles in PIPELINES:
            run_case(folder, pins, roles | {"pipeline", "gradient", "control"}, config="deep.json")
    print(f"{len(CASES) + len(PIPELINES)} plans send what they say")


if __name__ == "__main__":
    main()
