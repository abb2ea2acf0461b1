#!/usr/bin/env python3
"""Mixtures of experts mean what they mean to transformers: tensors, losses and gradients of random configs.

reference/data/expert_configs.json has three configs of each family with experts, drawn at random, and the results of
transformers' classes for them (reference/make_expert_configs.py). The imported model of each has the same elements in
every parameter. One is trained on one process and each of the others by a plan of several, with the same loss and the
same norm and product with a fixed vector of every gradient. The loss of uneven use, where a config has it, is that of
all samples and layers together, on however many ranks these are; Megatron-LM's losses of each sample and of large
logits are those of its formulas. Corrections of routers move with the load that transformers counts, alike under every
plan. In 16 bits routers still choose by f32.

Usage: experts.py [--only NAME]; the last line is the summary.
"""
import argparse
import array
import json
import math
import re
import sys
import tempfile
from pathlib import Path

from dtc_tools import compare_steps, dtc, read_safetensors, train, write_safetensors
from like_transformers import counts_of, ranks_of
from reference.weights import direction_of, weights_of

DATA = Path(__file__).resolve().parent / "reference" / "data"
STORED, TOKENS = json.loads((DATA / "expert_configs.json").read_text()), DATA / "tokens.bin"
LOSS_TOLERANCE, GRADIENT_TOLERANCE = 2e-6, 5e-5
# The second and the third config of each family have one of these plans, one after the other.
PLANS = ["dp=2,tp=2", "dp=1,tp=1,pp=2,micro_batch=2", "dp=4,tp=1,zero=3", "dp=2,tp=1,recompute=full",
         "dp=1,tp=2,sp=1", "dp=2,tp=1,pp=2,zero=1,recompute=selective+experts"]


# Corrections move by this rate in these cases under each of these plans.
RATE = 0.125
MOVED = {"deepseek_v3-0": ["dp=2,tp=2", "dp=4,tp=1,zero=3,recompute=full"],
         "glm4_moe-0": ["dp=2,tp=1,pp=2,micro_batch=2"]}
NARROW = {"deepseek_v3-1": "dp=2,tp=1,zero=3", "gpt_oss-1": "dp=1,tp=2"}


def fail(what):
    sys.exit(f"FAILED: {what}")


def plans():
    """Yields each case with its plan. The loss of all samples together wants one micro-batch and one stage."""
    for index, case in enumerate(STORED["cases"]):
        family, number = divmod(index, 3)
        fix = "dp=1,tp=1" if case["name"].endswith("-0") else PLANS[(2 * family + number) % len(PLANS)]
        pooled = case["config"].get("output_router_logits")
        if pooled:
            fix = fix.replace(",micro_batch=2", "").replace(",pp=2", "")
        yield case, fix


def check_counts(folder, case, config):
    wanted = {}
    tensors = {name: count for name, (count, *_) in case["parameters"].items()}
    tensors.update((name, math.prod(shape)) for name, shape in case["buffers"].items())
    for name, count in tensors.items():
        name = re.sub(r"\.experts\.\d+\.", ".experts.*.", re.sub(r"\.layers\.\d+\.", ".layers.{}.", name))
        wanted[name] = wanted.get(name, 0) + count
    found = counts_of(folder, config)
    if found != wanted:
        fail(f"{case['name']}: {case['config']} has parameters {set(found.items()) ^ set(wanted.items())}")


def write_tokens(path):
    """Writes the first samples of the tokens, as many as the reference has, in the form of llm.c."""
    tokens = array.array("H", TOKENS.read_bytes()[1024:])[:STORED["samples"] * STORED["sequence"] + 1]
    path.write_bytes(array.array("i", [20240520, 1, len(tokens)] + [0] * 253).tobytes() + tokens.tobytes())


def trained(folder, case, config, fix, steps, *flags, precision="f32"):
    """Trains with the weights of reference/weights.py and returns the losses."""
    program, start = folder / "model.dte", folder / "start.safetensors"
    shapes = {**{name: shape for name, (_, _, _, shape) in case["parameters"].items()}, **case["buffers"]}
    write_safetensors(start, {name: (shape, weights_of(name, math.prod(shape))) for name, shape in shapes.items()})
    dtc("compile", config, "--seq-len", STORED["sequence"], "--topology", "cpu", "--devices", ranks_of(fix),
        "--global-batch", STORED["samples"], "--fix", fix, "--precision", precision, "-o", program)
    lines = train(program, ranks_of(fix), folder / "tokens.bin", steps, "--threads", 1, "--lr", 0, "--init", start,
                  *flags)
    return [line["loss"] for line in lines]


def check_moved(folder, case, config, fix):
    """Checks how corrections move with the load of a step, and that this changes the choices of the next ones. Returns
    the losses and the corrections after three steps, for the comparison of plans.
    """
    config.write_text(json.dumps({**case["config"], "moe_router_bias_update_rate": RATE}))
    dump = folder / "moved.safetensors"
    first = trained(folder, case, config, fix, 1, "--dump-params", dump)
    compare_steps(first, [case["loss"]], LOSS_TOLERANCE, f"{case['name']} {fix}: loss", "transformers")
    moved = read_safetensors(dump)
    for name, uses in case["uses"].items():
        before = weights_of(name, len(uses))
        mean = sum(uses) / len(uses)
        for expert, (found, use) in enumerate(zip(moved[name][1], uses)):
            wanted = before[expert] + RATE * ((mean > use) - (mean < use))
            if not abs(found - wanted) <= 1e-6:
                fail(f"{case['name']} {fix}: '{name}' of expert {expert} is {found} after {use} of {sum(uses)} "
                     f"choices, wanted {wanted}")
    losses = trained(folder, case, config, fix, 3, "--dump-params", dump)
    if losses[1] == losses[0] or losses[2] == losses[1]:
        fail(f"{case['name']} {fix}: losses are {losses}, as if nothing had moved")
    moved = read_safetensors(dump)
    return losses, {name: moved[name][1] for name in case["uses"]}


def check_corrections(folder, config):
    """Compares corrections that move with the load under several plans; returns the number of plans."""
    count = 0
    for case in STORED["cases"]:
        if not case["name"] in MOVED:
            continue
        wanted, whole = check_moved(folder, case, config, "dp=1,tp=1")
        for fix in MOVED[case["name"]]:
            losses, moved = check_moved(folder, case, config, fix)
            compare_steps(losses, wanted, LOSS_TOLERANCE, f"{case['name']} {fix}: losses", "one process")
            if moved != whole:
                fail(f"{case['name']} {fix}: corrections are {moved}, on one process {whole}")
            count += 1
    return count


def check_narrow(folder, config):
    """Compares losses in 16 bits with those in f32: routers choose by scores that are not rounded."""
    for case in STORED["cases"]:
        if case["name"] in NARROW:
            config.write_text(json.dumps(case["config"]))
            for precision, bound in (("bf16", 2e-2), ("f16", 3e-3)):
                losses = trained(folder, case, config, NARROW[case["name"]], 1, precision=precision)
                compare_steps(losses, [case["loss"]], bound, f"{case['name']} {precision}: loss", "f32")


def check_trained(folder, case, config, fix):
    """Compares with transformers; returns the largest difference of a gradient, relative to its norm."""
    what, dump = f"{case['name']} {case['config']} {fix}", folder / "gradients.safetensors"
    losses = trained(folder, case, config, fix, 1, "--dump-grads", dump)
    compare_steps(losses, [case["loss"]], LOSS_TOLERANCE, f"{what}: loss", "transformers")
    gradients, worst = read_safetensors(dump), 0.0
    if sorted(gradients) != sorted(case["parameters"]):
        fail(f"{what}: gradients are of {sorted(gradients)}")
    # An expert that few tokens choose has a small gradient: what counts is that of all experts of its layer.
    norms = {}
    for name, (_, norm, *_) in case["parameters"].items():
        norms.setdefault(group_of(name), []).append(norm)
    for name, (count, norm, product, _) in case["parameters"].items():
        values = gradients[name][1]
        found = (math.sqrt(math.fsum(value * value for value in values)),
                 math.fsum(map(lambda a, b: a * b, values, direction_of(name, count))))
        differences = (abs(found[0] - norm), abs(found[1] - product) / math.sqrt(count / 3))
        scale = math.hypot(*norms[group_of(name)])
        if not max(differences) <= GRADIENT_TOLERANCE * scale:
            fail(f"{what}: '{name}' has a gradient of norm and product {found}, transformers {norm, product}")
        worst = max(worst, max(differences) / scale if scale else 0.0)
    return worst


def group_of(name):
    return re.sub(r"\.experts\.\d+\.", ".experts.*.", name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="the case of this name")
    only = parser.parse_args().only
    worst, done, several, moved = 0.0, 0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "config.json"
        write_tokens(folder / "tokens.bin")
        for case, fix in plans():
            if only in (None, case["name"]):
                config.write_text(json.dumps(case["config"]))
                check_counts(folder, case, config)
                worst = max(worst, check_trained(folder, case, config, fix))
                done += 1
                several += ranks_of(fix) > 1
        if only is None:
            moved = check_corrections(folder, config)
            check_narrow(folder, config)
    families = {case["config"]["model_type"] for case in STORED["cases"]}
    print(f"{done} configs of {len(families)} families have the tensors, losses and gradients of transformers "
          f"{STORED['transformers']}, {several} by plans of several ranks; largest difference {worst:.1e}; corrections "
          f"move alike under {moved} other plans")


if __name__ == "__main__":
    main()
