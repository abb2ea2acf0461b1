#!/usr/bin/env python3
"""The commands of docs/writing-a-model.md work, and the models of models/ compile.

1. The page's model, its commands: they run as they stand, and the loss falls.
2. models/mlp_lm.mlir trains on text: the loss falls, and is that of one process under data and tensor parallelism.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from dtc_tools import BIN, compare_steps, dtc, train

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "writing-a-model.md"
PLAN_TOLERANCE = 1e-4  # as in any_plan.py


def check_page(folder):
    text = PAGE.read_text()
    for block in re.findall(r"```mlir\n(.*?)```", text, re.S):
        name = re.match(r"// (\S+\.mlir)", block).group(1)
        (folder / name).write_text(block)
    (folder / "README.md").symlink_to(ROOT / "README.md")
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    out = ""
    for commands in re.findall(r"```sh\n(.*?)```", text, re.S):
        result = subprocess.run(["bash", "-ec", commands], cwd=folder, env=environment, capture_output=True, text=True,
                                timeout=300)
        out += result.stdout
        if result.returncode != 0:
            sys.exit(f"FAILED: {PAGE.name}: {result.stderr}")
    losses = [float(value) for value in re.findall(r"loss\s+([0-9.]+)", out)]
    if len(losses) < 40 or not losses[-1] < 0.8 * losses[0]:
        sys.exit(f"FAILED: the page's model does not learn: {out}")
    if not (folder / "tiny.safetensors").exists():
        sys.exit("FAILED: the page's commands leave no parameters")
    if dtc("fmt", folder / "tiny.mlir") not in text:
        sys.exit("FAILED: the page's model is not in the usual style")
    print(f"{PAGE.name}: loss {losses[0]} to {losses[-1]}")


def check_mlp(folder):
    wanted = []
    for devices, fix in ((1, "micro_batch=8"), (2, "dp=2"), (2, "tp=2,sp=0")):
        dte = folder / "mlp.dte"
        dtc("compile", ROOT / "models" / "mlp_lm.mlir", "--topology", "cpu", "--devices", devices, "--global-batch", 8,
            "--fix", fix, "-o", dte)
        losses = [step["loss"] for step in train(dte, devices, ROOT / "README.md", 20, "--lr", 3e-3, "--threads", 1)]
        wanted = wanted or losses
        compare_steps(losses, wanted, PLAN_TOLERANCE, f"mlp_lm on {devices} ranks {fix}: loss")
        print(f"mlp_lm on {devices} ranks {fix}: loss {losses[0]:.4f} to {losses[-1]:.4f}")
    if not wanted[-1] < 0.9 * wanted[0]:
        sys.exit(f"FAILED: mlp_lm does not learn: {json.dumps(wanted)}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_page(Path(folder))
        check_mlp(Path(folder))


if __name__ == "__main__":
    main()
