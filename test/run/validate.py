#!/usr/bin/env python3
"""`dtc validate` runs a plan's kinds of parallelism on local processes and reports their distance from one process."""
import json
import subprocess
import sys
from pathlib import Path

from dtc_tools import BIN

CONFIGS = Path(__file__).resolve().parents[2] / "models" / "configs"
# Each case is: model, flags, and the properties of the plan that the small one has to keep.
CASES = [("gpt2.json", ["--topology", "dgx-h100", "--precision", "f32", "--global-batch", "64", "--fix",
                        "tp=2,pp=1,zero=1,recompute=none", "--ranks", 4],
          {"tp": "2", "dp": "2", "zero": "1"}),
         ("llama-3-8b.json", ["--topology", "dgx-h100", "--precision", "f32", "--global-batch", "64", "--max-memory",
                              "none", "--optimizer", "sgd", "--fix", "tp=8,pp=1,cp=1,sp=1,recompute=none,offload=0",
                              "--ranks", 4], {"tp": "4", "sp": "1"})]
MISTAKES = [(["--topology", "dgx-h100", "--precision", "f32", "--global-batch", "64", "--fix", "tp=2,pp=2", "--ranks",
              2], 1, "use --ranks"),
            (["--topology", "dgx-h100", "--precision", "f32", "--global-batch", "64", "--ranks", 0], 2, "--ranks")]


def validate(model, flags):
    return subprocess.run([BIN / "dtc", "validate", CONFIGS / model, *map(str, flags)], capture_output=True, text=True,
                          timeout=300)


def main():
    for model, flags, kept in CASES:
        done = validate(model, [*flags, "--format", "json"])
        if done.returncode != 0:
            sys.exit(f"FAILED: {model} {flags}: {done.returncode} {done.stdout[-2000:]} {done.stderr[-2000:]}")
        found = json.loads(done.stdout)
        if not found["matches"] or not found["gradients"] or found["gradients"].keys() != found["parameters"].keys():
            sys.exit(f"FAILED: {model}: {found}")
        if {key: found["fix"][key] for key in kept} != kept:
            sys.exit(f"FAILED: {model}: {found['fix']} does not keep {kept}")
        print(f"{model}: loss {found['loss']:.1e}, gradients {max(found['gradients'].values()):.1e}, "
              f"parameters {max(found['parameters'].values()):.1e}")
    for flags, code, said in MISTAKES:
        done = validate("gpt2.json", flags)
        if done.returncode != code or said not in done.stderr or done.stdout:
            sys.exit(f"FAILED: {flags}: {done.returncode}, {done.stderr}")
    print(f"{len(CASES)} of {len(CASES)} plans train like one process")


if __name__ == "__main__":
    main()
