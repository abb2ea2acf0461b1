#!/usr/bin/env python3
"""Checks the output of 'dtc export' for the plans of plans.py against the flags and fields that launchers define.

Their schemas are launchers/NAME-VERSION.json, by tools/launcher-schemas.py: each flag exists, is there once, and has
a value of its type and among its choices.

check_exports.py                          exports all plans for all versions of all launchers; plants a mistake of each
                                          kind, which must be found
check_exports.py LAUNCHER FILE            checks one exported file for the newest release
check_exports.py --count LAUNCHER SCHEMA  counts the plans whose exports a schema takes, which may be of another
version

DTC_BIN names the folder of dtc.
"""
import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import plans

HERE = Path(__file__).resolve().parent
# These are the versions of 'dtc export --launcher-version', the newest release first.
VERSIONS = {
    "megatron-lm": ("0.19.2", "d98e8a64"),
    "megatron-bridge": ("0.6.2", "067f987d"),
    "torchtitan": ("0.3.0", "b5bcd76c"),
    "deepspeed": ("0.19.8", "edaa7221"),
    "maxtext": ("0.2.5", "e591f30c"),
}
LAUNCHERS = tuple(VERSIONS)
# A launcher has to take these plans, out of all; it has to refuse the others. A plan that no longer exports is a
# loss.
TAKEN = {
    "megatron-lm": "one-device data-parallel zero-1 zero-2 zero-3 hsdp zero-1-groups tensor tensor-plain "
    "tensor-zero-3 pipeline pipeline-zero-0 "
    "pipeline-late-gradients interleaved uneven uneven-chunks block selective context context-zero-3 context-swap "
    "context-both experts experts-tensor experts-zero-3 "
    "on-host offload offload-zero-3 f16 fp8 fp8-zero-3 fp8-experts sgd pipeline-inside data-inside unlike-stages "
    "kv-groups torus", "torchtitan": "one-device zero-2 zero-3 hsdp tensor-plain tensor-zero-3 pipeline-zero-0 gpipe "
    "interleaved zb-v uneven uneven-chunks "
    "selective-titan context-zero-3 experts-zero-3 fp8-zero-3 fp8-experts pipeline-inside unlike-stages torus",
    "deepspeed": "data-parallel zero-1 zero-2 zero-3 hsdp tensor-plain pipeline-late-gradients selective "
    "selective-titan selective-products "
    "experts experts-zero-3 context-swap offload offload-zero-3 f16 sgd lamb",
    "maxtext": "one-device data-parallel zero-1 zero-3 hsdp tensor tensor-zero-3 gpipe gpipe-zero-3 "
    "selective-products context-zero-3 "
    "experts-zero-3 on-host-selective on-host-full offload offload-zero-3 fp8 fp8-zero-3 fp8-experts sgd data-inside "
    "torus",
}
TAKEN["megatron-bridge"] = TAKEN["megatron-lm"]
# The newest release no longer takes these plans.
DROPPED = {"deepspeed": "hsdp"}


def fits(entry, value):
    """Returns whether a value is of an entry's type and among its choices; None if the entry may be nothing."""
    if value is None:
        return bool(entry.get("optional"))
    if entry["type"] == "list":
        return isinstance(value, (list, tuple)) and all(fits(entry["items"], each) for each in value)
    if entry["type"] == "any":
        return any(fits(kind, value) for kind in entry["of"])
    if "choices" in entry and value not in entry["choices"]:
        return False
    if entry["type"] in ("other", "object"):
        return entry["type"] == "other" or isinstance(value, dict)
    wanted = {"int": int, "float": (int, float), "str": str, "bool": bool}[entry["type"]]
    return isinstance(value, wanted) and (entry["type"] == "bool" or not isinstance(value, bool))


def said(name, value, entry):
    kind = "one of " + ", ".join(map(repr, entry["choices"])) if "choices" in entry else entry["type"]
    return f"'{name}' is {value!r}, wanted {kind}"


def check_flags(schema, text):
    """Checks megatron-lm: the array that bash makes of the file."""
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(text)
        file.flush()
        script = 'set -eu; source "$1"; : "$DTC_NODES" "$DTC_DEVICES_PER_NODE"; printf "%s\\0" "${DTC_PLAN[@]}"'
        done = subprocess.run(["bash", "-c", script, "bash", file.name], capture_output=True, text=True)
    if done.returncode != 0:
        yield f"bash does not source it: {done.stderr.strip()}"
        return
    words, seen = done.stdout.split("\0")[:-1], set()
    while words:
        flag = words.pop(0)
        values = []
        while words and not words[0].startswith("--"):
            values.append(words.pop(0))
        entry = schema["flags"].get(flag)
        if entry is None:
            yield f"no flag '{flag}'"
            continue
        if flag in seen:
            yield f"flag '{flag}' twice"
        seen.add(flag)
        wanted = 0 if entry["type"] == "flag" else None if entry.get("nargs") == "+" else entry.get("nargs") or 1
        if len(values) != wanted and not (wanted is None and values):
            yield f"flag '{flag}' has {len(values)} values, wanted {wanted or 'one or more'}"
        for value in values:
            if entry["type"] in ("int", "float"):
                try:
                    value = int(value) if entry["type"] == "int" else float(value)
                except ValueError:
                    pass
            if entry["type"] != "flag" and not fits(entry, value):
                yield said(flag, value, entry)


def path_of(node):
    """Returns ["config", "model", "x"] of config.model.x."""
    names = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return [node.id, *names] if isinstance(node, ast.Name) else []


def check_value(schema, name, entry, node):
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "convert":
        # torchtitan has CONVERTER.Config(...).build().convert(the replaced config).
        build, converted = node.func.value, ".".join(path_of(node.args[0])[1:])
        if not (isinstance(build, ast.Call) and build.func.attr == "build" and isinstance(build.func.value, ast.Call)):
            yield f"'{name}' is converted by what nothing builds"
        elif converted != name:
            yield f"'{name}' is made of '{converted}'"
        else:
            yield from check_value(schema, name, entry, build.func.value)
    elif isinstance(node, ast.Call):
        called = ".".join(path_of(node.func))
        fields = schema["calls"].get(called)
        if fields is None:
            yield f"'{name}' is made by '{called}', wanted one of {', '.join(schema['calls'])}"
            return
        for keyword in node.keywords:
            if keyword.arg not in fields:
                yield f"'{called}' has no field '{keyword.arg}'"
            else:
                yield from check_value(schema, f"{called}.{keyword.arg}", fields[keyword.arg], keyword.value)
    elif isinstance(node, ast.Attribute):
        if path_of(node)[0] != "torch":
            yield f"'{name}' is '{'.'.join(path_of(node))}', wanted a constant"
    elif entry is not None and not fits(entry, ast.literal_eval(node)):
        yield said(name, ast.literal_eval(node), entry)


def check_assignments(schema, text):
    """Checks megatron-bridge and torchtitan: the assignments of apply_plan in a Python module."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        yield f"Python does not read it: {error}"
        return
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "apply_plan")
    seen = set()
    for line in function.body:
        if not isinstance(line, ast.Assign):
            continue
        root, *names = path_of(line.targets[0])
        name = ".".join(names)
        converts = (isinstance(line.value, ast.Call) and isinstance(line.value.func, ast.Attribute)
                    and line.value.func.attr == "convert")
        if name in seen and not converts:
            yield f"'{name}' twice"
        seen.add(name)
        if names[0] not in schema["top"]:
            yield f"no section '{names[0]}'"
            continue
        entry = None
        if len(names) == 2:
            entry = schema["sections"].get(names[0], {}).get(names[1])
            if entry is None:
                yield f"no field '{name}'"
                continue
        yield from check_value(schema, name, entry, line.value)


def check_json(schema, text):
    """Checks deepspeed: keys of the configuration and of its sections."""
    twice = []

    def unique(pairs):
        keys = [key for key, _ in pairs]
        twice.extend(key for key in set(keys) if keys.count(key) > 1)
        return dict(pairs)

    config = json.loads(text, object_pairs_hook=unique)
    config.pop("dtc_plan", None)  # dtc's own section, which DeepSpeed ignores
    yield from (f"key '{key}' twice" for key in twice)

    def check(values, entries, path):
        for key, value in values.items():
            name = f"{path}.{key}" if path else key
            if key not in entries:
                yield f"no key '{name}'"
            elif name in schema["sections"]:
                yield from check(value, schema["sections"][name], name)
            elif not fits(entries[key], value):
                yield said(name, value, entries[key])

    yield from check(config, schema["top"], "")
    optimizer = config["optimizer"]["type"].lower()
    # Other optimizers are looked up in torch.optim.
    if optimizer not in schema["optimizers"] and optimizer != "sgd":
        yield f"'optimizer.type' is '{optimizer}', wanted one of {', '.join(schema['optimizers'])}"


def check_yaml(schema, text):
    """Checks maxtext: lines `key: value`, whose values are also JSON."""
    seen = set()
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        key, colon, value = line.partition(": ")
        if not colon:
            yield f"'{line}' is no 'key: value'"
            continue
        if key in seen:
            yield f"key '{key}' twice"
        seen.add(key)
        entry = {"type": "str"} if key == "base_config" else schema["top"].get(key)
        if entry is None or key != "base_config" and key not in schema["base"]:
            yield f"no key '{key}'"
        elif not fits(entry, json.loads(value)):
            yield said(key, json.loads(value), entry)


CHECKS = {
    "megatron-lm": check_flags,
    "megatron-bridge": check_assignments,
    "torchtitan": check_assignments,
    "deepspeed": check_json,
    "maxtext": check_yaml,
}

# Each entry is: launcher, plan, the text that is replaced in its export, the new text, and the message that must be
# found.
PLANTED = [
    ("megatron-lm", "pipeline", "--micro-batch-size", "--micro-batch-sizes", "no flag '--micro-batch-sizes'"),
    ("megatron-lm", "pipeline", "--bf16", "--bf16 1", "flag '--bf16' has 1 values"),
    ("megatron-lm", "pipeline", "--num-layers 32", "--num-layers some", "'--num-layers' is 'some'"),
    ("megatron-lm", "pipeline", "--optimizer adam", "--optimizer adamw", "'--optimizer' is 'adamw'"),
    ("megatron-lm", "pipeline", "--bf16", "--bf16\n  --bf16", "flag '--bf16' twice"),
    ("megatron-lm", "uneven", "'E", "E", "bash does not source it"),
    ("megatron-bridge", "pipeline", "train.micro_batch_size", "train.micro_batches", "no field 'train.micro_batches'"),
    ("megatron-bridge", "pipeline", "config.train.micro", "config.training.micro", "no section 'training'"),
    ("megatron-bridge", "pipeline", "bf16=True", "bf_16=True", "'MixedPrecisionConfig' has no field 'bf_16'"),
    ("megatron-bridge", "pipeline", "parallel_layout = None", 'parallel_layout = 3',
     "'model.pipeline_model_parallel_layout' is 3"),
    ("megatron-bridge", "pipeline", "global_batch_size = 64", 'global_batch_size = "64"',
     "'train.global_batch_size' is '64'"),
    ("torchtitan", "zero-3", '"always"', '"sometimes"', "'parallelism.fsdp_reshard_after_forward' is 'sometimes'"),
    ("torchtitan", "zero-3", "training.seq_len", "training.max_context_length",
     "no field 'training.max_context_length'"),
    ("torchtitan", "zero-3", "FullAC.Config()", "AllAC.Config()", "'activation_checkpoint' is made by 'AllAC.Config'"),
    ("torchtitan", "fp8-experts", "Float8LinearConverter.Config", "Float8Converter.Config",
     "'model_spec.model' is made by 'Float8Converter.Config'"),
    ("torchtitan", "fp8-experts", "filter_fqns", "filters", "'Float8LinearConverter.Config' has no field 'filters'"),
    ("torchtitan", "fp8-experts", "convert(config.model_spec.model", "convert(config.model_spec.name",
     "'model_spec.model' is made of 'model_spec.name'"),
    ("megatron-lm", "fp8", "tensorwise", "current", "'--fp8-recipe' is 'current'"),
    ("maxtext", "fp8-zero-3", 'quantization: "fp8"', 'quantization: "f8"', "'quantization' is 'f8'"),
    ("deepspeed", "zero-3", '"overlap_comm"', '"overlaps_comm"', "no key 'zero_optimization.overlaps_comm'"),
    ("deepspeed", "zero-3", '"stage": 3', '"stage": 4', "'zero_optimization.stage' is 4"),
    ("deepspeed", "zero-3", '"train_batch_size"', '"train_batch"', "no key 'train_batch'"),
    ("deepspeed", "zero-3", '"fp32"', '"fp64"', "'data_types.grad_accum_dtype' is 'fp64'"),
    ("deepspeed", "zero-3", "AdamW", "Adamax", "'optimizer.type' is 'adamax'"),
    ("maxtext", "zero-3", "ici_fsdp_parallelism", "ici_zero_parallelism", "no key 'ici_zero_parallelism'"),
    ("maxtext", "zero-3", 'remat_policy: "full"', 'remat_policy: "all"', "'remat_policy' is 'all'"),
    ("maxtext", "zero-3", "gradient_accumulation_steps: 4", "gradient_accumulation_steps: 4.5",
     "'gradient_accumulation_steps' is 4.5"),
]  # fmt: skip


def schema_of(launcher, version=None):
    return json.loads((HERE / "launchers" / f"{launcher}-{version or VERSIONS[launcher][0]}.json").read_text())


def is_taken(plan, launcher, version):
    is_dropped = version == VERSIONS[launcher][0] and plan in DROPPED.get(launcher, "").split()
    return plan in TAKEN[launcher].split() and not is_dropped


def export(plan, launcher, folder, version=None):
    path = folder / "plan.json"
    path.write_text(json.dumps(plans.make(**plans.PLANS[plan])))
    command = [Path(os.environ.get("DTC_BIN", HERE.parent.parent / "build/bin")) / "dtc", "export", path, "--to",
               launcher]
    command += ["--launcher-version", version] if version else []
    return subprocess.run(command, capture_output=True, text=True)


def is_refusal(done):
    """Returns whether a refusal is whole: a line for one decision; for several a summary, a line each, a note and the
    command.
    """
    lines = done.stderr.splitlines()
    listed = [line for line in lines[1:-2] if line.startswith("  ")]
    command = lines[-2:] if len(lines) > 1 else []
    is_whole = "; plan again with " in (lines or [""])[0] and len(lines) == 1 + len(listed) + len(command)
    ends = (not command or command[0].startswith("note: this makes a plan")
            and command[1].startswith("  dtc plan llama.json "))
    return (done.returncode == 1 and not done.stdout and is_whole and ends
            and (not command or f" {len(listed)} decisions " in lines[0]))


def all_exports(folder):
    """Returns the mistakes in exports, wrong exports that should be refusals, and wrong refusals."""
    for launcher, version in ((launcher, version) for launcher in LAUNCHERS for version in VERSIONS[launcher]):
        schema, count, loads = schema_of(launcher, version), 0, 0
        for plan in plans.PLANS:
            done = export(plan, launcher, folder, version)
            if (done.returncode == 0) != is_taken(plan, launcher, version):
                yield f"{plan} to {launcher} {version}: exit code {done.returncode}: {done.stderr.strip()}"
            elif done.returncode == 0:
                mistakes = [f"{plan} to {launcher} {version}: {mistake}"
                            for mistake in CHECKS[launcher](schema, done.stdout)]
                if f"written for {schema_name(launcher)} {version}" not in done.stdout:
                    mistakes.append(f"{plan} to {launcher} {version}: the file does not say its version")
                count, loads = count + 1, loads + (not mistakes)
                yield from mistakes
            elif not is_refusal(done):
                yield f"{plan} to {launcher} {version}: no refusal with its mend: {done.stderr.strip()}"
        print(f"check_exports.py: {loads} of {count} exports load in {launcher} {version}")


def schema_name(launcher):
    names = {"megatron-lm": "Megatron-LM", "megatron-bridge": "Megatron-Bridge", "deepspeed": "DeepSpeed",
             "maxtext": "MaxText"}
    return names.get(launcher, launcher)


def count_loaded(launcher, schema, folder):
    """Returns the mistakes of the newest exports under another schema."""
    count = loads = 0
    for plan in plans.PLANS:
        done = export(plan, launcher, folder)
        if done.returncode == 0:
            mistakes = list(CHECKS[launcher](schema, done.stdout))
            count, loads = count + 1, loads + (not mistakes)
            yield from (f"{plan} to {launcher}: {mistake}" for mistake in mistakes)
    print(f"check_exports.py: {loads} of {count} exports load in {launcher} "
          f"{schema.get('release') or schema['commit'][:8]}")


def planted_mistakes(folder):
    """Returns the planted mistakes that were not found."""
    for launcher, plan, old, new, wanted in PLANTED:
        text = export(plan, launcher, folder).stdout
        if old not in text:
            yield f"planting into {plan} to {launcher}: no {old!r}"
            continue
        found = list(CHECKS[launcher](schema_of(launcher), text.replace(old, new, 1)))
        if not any(mistake.startswith(wanted) for mistake in found):
            yield f"planted {new!r} into {plan} to {launcher}: found {found}, wanted {wanted!r}"
    print(f"check_exports.py: {len(PLANTED)} mistakes were planted")


def main():
    if sys.argv[1:2] == ["--count"]:
        with tempfile.TemporaryDirectory() as folder:
            mistakes = list(count_loaded(sys.argv[2], json.loads(Path(sys.argv[3]).read_text()), Path(folder)))
    elif len(sys.argv) == 3:
        mistakes = list(CHECKS[sys.argv[1]](schema_of(sys.argv[1]), Path(sys.argv[2]).read_text()))
    else:
        with tempfile.TemporaryDirectory() as folder:
            mistakes = [*all_exports(Path(folder)), *planted_mistakes(Path(folder))]
    for mistake in mistakes:
        print(mistake)
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
