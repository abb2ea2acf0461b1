#!/usr/bin/env python3
"""A config.json means what it means to transformers: counts, losses and gradients of random configs.

reference/data/configs.json has configs, drawn at random with absent keys, nulls and other names of keys, and the
results of transformers' classes for them (reference/make_configs.py). The imported model of each has the same
elements in every parameter. 125 small ones are trained for one step and have the same loss, and the same norm and
product with a fixed vector of every gradient (except for one whose layer norms are of two numbers). Three with a
padding row are trained by other plans, too, and on the emulated GPU; that row has no gradient from look-ups. One config
of each family that has features of its own is trained by another plan, and T5 by several.

Usage: like_transformers.py [--only NAME]; the last line is the summary.
"""
import argparse
import array
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from dtc_tools import BIN, compare_steps, dtc, read_safetensors, run, train, write_npy, write_safetensors
from reference.encoder_inputs import inputs_of
from reference.weights import direction_of, weights_of

DATA = Path(__file__).resolve().parent / "reference" / "data"
STORED, TOKENS = json.loads((DATA / "configs.json").read_text()), DATA / "tokens.bin"
SEQUENCE, SAMPLES = STORED["sequence"], 11
LOSS_TOLERANCE, GRADIENT_TOLERANCE = 2e-6, 5e-5
# These plans train configs with a padding row that the tokens have: an untied model, a tied one, one whose row counts
# from the end.
PLANS = ["dp=11,tp=1,zero=3", "dp=1,tp=3", "dp=1,tp=2,sp=1", "dp=1,tp=1,pp=2,micro_batch=1"]
# The ends of names of weights that the width goes into; what comes out of the others has the width.
INTO = tuple(f"{name}.weight" for name in (
    "q_proj", "k_proj", "v_proj", "qkv_proj", "query_key_value", "gate_proj", "up_proj", "gate_up_proj",
    "dense_h_to_4h", "c_fc", "fc1", "fc_in", "wte"))
# Each family is trained by one of these plans. Four ranks are more than most configs have kv heads.
# Biases of keys that nothing rotates, and how much of the gradient of their weight their rounding may be: in encoders
# transformers' own is up to 2.7e-5.
KEY_BIASES = {"k_proj.bias": 1e-6, "key.bias": GRADIENT_TOLERANCE, "k_lin.bias": GRADIENT_TOLERANCE}
VALUE_OF_KEY = {"k_proj": ("k_proj", "v_proj"), "key": (".key.", ".value."), "k_lin": ("k_lin", "v_lin")}
FAMILY_PLANS = ["dp=1,tp=2", "dp=1,tp=1,pp=2,micro_batch=1", "dp=1,tp=4", "dp=11,tp=1,zero=3", "dp=1,tp=2,sp=1"]
# Configs of T5 take turns with these.
T5_PLANS = ["dp=1,tp=1,pp=2,micro_batch=1", "dp=11,tp=1,zero=3", "dp=1,tp=2,sp=1", "dp=1,tp=2,pp=2,micro_batch=1"]
EMBEDDING = "model.embed_tokens.weight"


def fail(what):
    sys.exit(f"FAILED: {what}")


def length_of(config):
    """Returns the flag of dtc for the sequence length; images have none."""
    return () if '"vit"' in config.read_text() else ("--seq-len", SEQUENCE)


def data_of(folder, config):
    """Returns the argument of --data: tokens, or files with the inputs of an encoder."""
    keys = json.loads(config.read_text())
    if not is_encoder(keys):
        return TOKENS
    tokens = array.array("H", TOKENS.read_bytes()[1024:])  # behind llm.c's header
    rows = [list(tokens[at: at + SEQUENCE]) for at in range(0, SAMPLES * SEQUENCE, SEQUENCE)]
    files = []
    for name, (shape, numbers, is_whole) in inputs_of(keys, rows).items():
        file = folder / f"{name}.npy"
        write_npy(file, *(("<i4", "i") if is_whole else ("<f4", "f")), shape, numbers)
        files.append(f"{name}={file}")
    return ",".join(files)


def is_encoder(config):
    """Returns true for encoders and for T5, whose inputs are files by name."""
    return config.get("architectures", [""])[0].endswith(("MaskedLM", "Classification", "ConditionalGeneration"))


def counts_of(folder, config):
    """Returns name -> elements of the imported model's parameters; repeated layers and experts count together."""
    model = folder / "model.mlir"
    dtc("import", config, *length_of(config), "-o", model)
    counts = {}
    for line in run([BIN / "dtc-opt", model, "--dtc-complete-ops", "--dtc-instantiate-blocks"]).splitlines():
        found = re.match(r'\s*graph\.parameter @"?([^" ]+)"? : tensor<([\dx]*)xf32>(.*)', line)
        if found:
            name, shape, rest = found.groups()
            repeats = re.search(r" repeats (\d+)", rest)
            name = re.sub(r"\{\d+\}", "{}", name)  # layers that are not the first ones: {4} counts from 4
            counts[name] = counts.get(name, 0) + \
                math.prod(int(dim) for dim in shape.split("x")) * int(repeats.group(1) if repeats else 1)
    return counts


def check_counts(folder, case, config):
    found, wanted = counts_of(folder, config), {}
    for name, (count, *_) in case["parameters"].items():
        layer = r"\.(block)\.\d+\." if case["config"]["model_type"] == "t5" else r"\.(h|layers|layer)\.\d+\."
        if "relative_attention_bias" not in name:  # which the first layer has for all
            name = re.sub(layer, r".\1.{}.", name)
        name = re.sub(r"\.norms\.\d+\.", ".norms.*.", name)  # one parameter here, with a weight of each head
        wanted[name] = wanted.get(name, 0) + count
    # The class of transformers packs several parameters of a checkpoint into one.
    if case["config"]["model_type"] == "mixtral":
        found, wanted = ({"all": sum(counts.values())} for counts in (found, wanted))
    if found != wanted:
        fail(f"{case['name']}: {case['config']} has parameters {set(found.items()) ^ set(wanted.items())}")


def ranks_of(fix):
    return math.prod(int(value) for axis, value in (pair.split("=") for pair in fix.split(","))
                     if axis in ("dp", "tp", "pp"))


def trained(folder, config, parameters, fix, *flags):
    """Returns the loss and the gradients of one step, from the weights of reference/weights.py."""
    program, start, dump = folder / "model.dte", folder / "start.safetensors", folder / "gradients.safetensors"
    write_safetensors(start, {name: (shape, weights_of(name, math.prod(shape))) for name, shape in parameters.items()})
    dtc("compile", config, *length_of(config), "--topology", "cpu", "--devices", ranks_of(fix), "--global-batch",
        SAMPLES, "--fix", fix, "--precision", "f32", *flags, "-o", program)
    (line,) = train(program, ranks_of(fix), data_of(folder, config), 1, "--threads", 1, "--lr", 0, "--init", start,
                    "--dump-grads", dump)
    return line["loss"], read_safetensors(dump)


def shapes_of(case):
    """Returns the shapes of parameters by their names in transformers; GPT-2's Conv1D is [in, out]."""
    config, kind = case["config"], case["config"]["model_type"]
    if is_encoder(config):
        return {name: shape for name, (_, _, _, shape) in case["parameters"].items()}
    width = next(config[key] for key in ("hidden_size", "n_embd") if key in config)
    shapes = {}
    for name, (count, *_) in case["parameters"].items():
        is_vector = name.endswith("bias") or "norm" in name or ".ln_" in name
        first_is_width = kind == "gpt2" and ("c_attn" in name or "c_fc" in name)
        last_is_width = name.endswith(INTO) or "embed" in name or "lm_head" in name or kind == "gpt2"
        # The class of Cohere has one weight for the norms of all heads.
        dim = width // config.get("num_attention_heads", 1)
        shapes[name] = ([count // dim, dim] if kind == "cohere" and name.endswith(("q_norm.weight", "k_norm.weight"))
                        else [count] if is_vector else [width, count // width] if first_is_width or not last_is_width
                        else [count // width, width])
    return shapes


def check_trained(folder, case, config, fix="dp=1,tp=1", *flags):
    """Compares with transformers; returns the largest difference of a gradient, relative to its norm."""
    what = f"{case['name']} {case['config']} {fix} {' '.join(flags)}"
    loss, gradients = trained(folder, config, shapes_of(case), fix, *flags)
    compare_steps([loss], [case["loss"]], LOSS_TOLERANCE, f"{what}: loss", "transformers")
    if sorted(gradients) != sorted(case["parameters"]):
        fail(f"{what}: gradients are of {sorted(gradients)}")
    worst = 0.0
    # A layer norm of two numbers is their sign: f32, on either side, leaves little of a gradient.
    if case["config"].get("n_embd") == 2:
        return worst
    for name, (count, norm, product, *_) in case["parameters"].items():
        values = gradients[name][1]
        direction = direction_of(name, count)
        found = (math.sqrt(math.fsum(value * value for value in values)),
                 math.fsum(map(lambda a, b: a * b, values, direction)))
        # A bias of keys that nothing rotates adds one number to all scores of a query, which changes no weight: its
        # gradient is zero, but for the rounding of either side.
        # The terms that cancel are as large as the gradient of values.
        of_keys, of_values = (case["parameters"].get(name.replace(".bias", ".weight").replace(*names), (0, 0, 0))[1]
                              for names in (("", ""), VALUE_OF_KEY.get(name.split(".")[-2], ("", ""))))
        bound = KEY_BIASES.get(".".join(name.split(".")[-2:]))
        if bound and max(norm, found[0]) < max(bound * of_keys, 2**-23 * of_values):
            continue
        # A vector of numbers up to 1 has a norm of sqrt(count / 3): a difference is that of the gradient in one
        # direction.
        differences = (abs(found[0] - norm), abs(found[1] - product) / math.sqrt(count / 3))
        # Queries that see one key have no gradient, but for the rounding of what cancels: it is compared with others.
        scale = norm or max(other[1] for other in case["parameters"].values())
        if not max(differences) <= GRADIENT_TOLERANCE * scale:
            fail(f"{what}: '{name}' has a gradient of norm and product {found}, transformers {norm, product}")
        worst = max(worst, max(differences) / norm if norm else 0.0)
    check_padding(case, gradients, what)
    return worst


def check_holes(folder, case, config):
    """Checks that T5 with padding in front of tokens, which its lengths can't say, has no loss, and no run goes on."""
    program, mask = folder / "model.dte", folder / "attention_mask.npy"
    trained(folder, config, shapes_of(case), "dp=1,tp=1")
    data = data_of(folder, config)
    write_npy(mask, "<i4", "i", (SAMPLES, SEQUENCE), ([0] + [1] * (SEQUENCE - 1)) * SAMPLES)
    result = subprocess.run([BIN / "dtrun", program, "--data", data, "--steps", "1"], capture_output=True, text=True)
    if result.returncode != 4 or "not a number" not in result.stderr:
        fail(f"{case['name']}: padding in front of tokens ends with {result.returncode}: {result.stderr}")


def padding_of(case):
    """Returns the padding row of a case, if its type has one."""
    config = case["config"]
    padding = config.get("pad_token_id")
    has_none = padding is None or config["model_type"] in ("gpt2", "gpt_neox", "gptj")
    return None if has_none else padding % config["vocab_size"]


def check_padding(case, gradients, what):
    padding = padding_of(case)
    if padding is None or "lm_head.weight" not in gradients:
        return
    (_, width), values = gradients[EMBEDDING]
    if any(values[padding * width: (padding + 1) * width]):
        fail(f"{what}: row {padding} of the embedding has a gradient")


def with_plans(cases):
    """Returns cases whose padding row is looked up: an untied model, a tied one, and one with a negative number."""
    tokens = set(array.array("H", TOKENS.read_bytes()[1024:]))

    def first(wanted):
        return next(case for case in cases if "loss" in case and padding_of(case) in tokens and
                    case["config"].get("num_hidden_layers", 0) > 1 and case["config"]["num_attention_heads"] < 16
                    and wanted(case))

    return [first(lambda case: EMBEDDING in case["parameters"] and "lm_head.weight" in case["parameters"]),
            first(lambda case: "lm_head.weight" not in case["parameters"]),
            first(lambda case: case["config"]["pad_token_id"] < 0)]


def with_family_plans(cases):
    """Yields a case of each family with a plan, another one for the family behind it."""
    older = ("gpt2", "llama", "mistral", "mixtral", "qwen2")
    kinds = dict.fromkeys(case["config"]["model_type"] for case in cases if case["config"]["model_type"] not in older)
    for first, kind in enumerate(kinds):
        mine = [case for case in cases if "loss" in case and case["config"]["model_type"] == kind]
        fixes = FAMILY_PLANS[first % len(FAMILY_PLANS):] + FAMILY_PLANS
        yield next((case, fix) for fix in fixes for case in mine if suits(case, fix))


def suits(case, fix):
    """Returns true if a config has as many layers and heads as the plan has parts of them."""
    config = case["config"]
    return all(next(config[key] for key in keys if key in config) % int(found[1]) == 0
               for keys, axis in ((("num_hidden_layers", "n_layer", "n_layers", "num_layers"), "pp"),
                                  (("num_attention_heads", "n_head", "n_heads", "num_heads"), "tp"))
               if (found := re.search(rf"\b{axis}=(\d+)", fix)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="the case of this name")
    only = parser.parse_args().only
    cases, worst, plans = STORED["cases"], 0.0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "config.json"

        def write(case):
            config.write_text(json.dumps(case["config"]))

        fixes = {case["name"]: fix for case, fix in with_family_plans(cases)}
        for case in cases:
            if only in (None, case["name"]):
                write(case)
                check_counts(folder, case, config)
                if "loss" in case:
                    worst = max(worst, check_trained(folder, case, config, fixes.get(case["name"], "dp=1,tp=1")))
                    plans += case["name"] in fixes
        t5 = [case for case in cases if case["config"]["model_type"] == "t5" and only in (None, case["name"])]
        for case, fix in zip(t5, T5_PLANS):
            write(case)
            worst = max(worst, check_trained(folder, case, config, fix))
            plans += 1
        if t5:
            check_holes(folder, t5[-1], config)
        for case in with_plans(cases) if only is None else []:
            write(case)
            for fix in PLANS:
                worst = max(worst, check_trained(folder, case, config, fix))
                plans += 1
            os.environ["DTC_EMULATED_GPU"] = "1"
            worst = max(worst, check_trained(folder, case, config, "dp=1,tp=2", "--target", "simt"))
            del os.environ["DTC_EMULATED_GPU"]
            plans += 1
    print(f"{len(cases)} configs have the parameters of transformers {STORED['transformers']}, "
          f"{sum('loss' in case for case in cases)} its losses and gradients; {plans} other plans; largest difference "
          f"{worst:.1e}")


if __name__ == "__main__":
    main()
