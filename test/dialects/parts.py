#!/usr/bin/env python3
"""Checks that every op of the graph dialect has its parts, and prints which it has. Usage: parts.py [--root DIR]

docs/adding-an-op.md says what the parts are. A part that an op lacks is an error, unless WITHOUT below states why the
op needs none; so is a reason for an op that has the part, and one for an op that does not exist. What an op declares
is read from its .td file by llvm-tblgen, and which kernels it has from the sources that attach them. The costs of an
op follow from its rule (compiler/price), so that the rule is the part to have.
"""
import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

LLVM = Path("/usr/lib/llvm-22")
PARTS = ["wrong input", "rule and cost", "gradient", "finite differences", "kernels", "example", "PyTorch"]

STRUCTURE = "states what a program has; it computes nothing"
SHARDS = "made behind partitioning, of shards"
SHORT = "dtc-complete-ops replaces it by ops that have this"
REPLACED = "a pass replaces it before kernels are made"
UPDATE = "part of the update, which nothing differentiates"
BACKWARD = "part of the backward pass, which nothing differentiates"
STAGES = "made by decompose() of rows that ranks share, behind differentiation"
NUMBERS = "gives places or counts, which have no gradient"
NO_OPERAND = "computed of indices and attributes alone"
LOSS = "a form of the loss, from which differentiation starts at its operand"
PLAN_ONLY = "can be planned, not compiled (PlanOnlyOpInterface)"
ROUNDED = "rounds to 8 bits, and passes its gradient on as if it did not; run.eight_bits has the formulas"
ROUTED = "made of a config.json's experts, which run.experts compares with transformers"

# The ops that a part is not asked of: a map from a part to reasons, and from each reason to ops. NAMES.td stands for
# the ops of that file that lack the part.
WITHOUT = {
    "rule and cost": {
        STRUCTURE: "StructureOps.td BlockOps.td detach",
        SHARDS: "PartOps.td TransferOps.td OffloadOps.td again",
        SHORT: "batch_norm unstack",
        "part of the body of a point, not a tensor op": "random_word",
    },
    "gradient": {
        STRUCTURE: "StructureOps.td",
        "is followed into its block": "BlockOps.td",
        "stops gradients": "detach",
        SHORT: "batch_norm unstack",
        SHARDS: "PartOps.td TransferOps.td OffloadOps.td again chunk_starts",
        UPDATE: "OptimizerOps.td LayerwiseOps.td StoredOps.td SlowLinkOps.td",
        BACKWARD: "GradientOps.td avg_pool2d_grad max_pool2d_grad conv2d_input_grad conv2d_weight_grad point_grad"
                  " relu_grad expert_linear_weight_grad moe_router_grad moe_weight_grad route_grad"
                  " unpack_weight_grad grouped_linear_weight_grad",
        STAGES: "pick sum_exp",
        "is a scale, which is held constant": "amax",
        NUMBERS: "counted place_blocks place_rows round_counts round_rows",
        NO_OPERAND: "constant iota rotary_table",
        LOSS: "weighted_mean",
        "part of the body of a point, not a tensor op": "random_word",
    },
    "finite differences": {
        "passes its gradient on as it is, or moves rows; run.batch_norm and run.expert_parallel compare with one"
        " device": "observe exchange sort_rows unsort_rows",
        ROUNDED: "quantise quantise_gradient",
    },
    "kernels": {
        STRUCTURE: "func param parameter return state",
        SHORT: "batch_norm unstack",
        REPLACED: "addends batch_normalise detach exchange finish observe repeat weighted_mean whole_matrix"
                  " quantise_gradient",
        PLAN_ONLY: "MoeOps.td",
        "part of the body of a point, not a tensor op": "random_word",
    },
    "PyTorch": {
        PLAN_ONLY: "MoeOps.td",
        ROUTED: "ExchangeOps.td RouteOps.td",
        ROUNDED: "quantise quantise_gradient",
        "written out of batch_norm, which is compared": "batch_normalise finish",
        "draws other numbers than PyTorch does; reference/pytorch_small.py checks what it keeps": "dropout",
    },
}


class Source:
    """Reads what the source tree says of ops and instructions."""

    def __init__(self, root):
        self.root = root
        self.kernels = dict(self.attached("passes/codegen", "generated"))
        self.lowerings = dict(self.attached("passes/schedule", "lowering"))
        self.wrong = self.texts("test/dialects/graph", "*-errors.mlir")
        self.differences = self.texts("test/unit/graph", "*Test.cpp")
        self.compared = self.texts("test/run/reference/data/pytorch_export", "*.mlir")

    def texts(self, folder, pattern):
        return "\n".join(file.read_text() for file in sorted((self.root / folder).glob(pattern)))

    def attached(self, folder, what):
        """Yields the classes of ops that models of an interface are attached to in a folder."""
        return ((name, what) for name in re.findall(r"(\w+)::attachInterface<", self.texts(folder, "*.cpp")))

    def instructions_without_code(self):
        """Yields instructions that ops of the library become and that the CPU or the GPU has no code for."""
        # Each device copies by itself, without an instruction's kernel.
        lowerings = self.texts("passes/schedule", "LowerLibraryOps.cpp")
        made = set(re.findall(r"exec::(\w+)Op::create", lowerings)) - {"Copy"}
        for device, folder in (("CPU", "runtime/device"), ("GPU", "runtime/cuda")):
            code = self.texts(folder, "*.cpp") + self.texts(f"{folder}/launches", "*.cpp")
            for name in sorted(made):
                if not re.search(rf"format::{name}\b", code):
                    yield name, device


class Op:
    def __init__(self, name, record, records, source):
        interfaces = {records[trait["def"]].get("cppInterfaceName") for trait in record["traits"]
                      if trait["def"] in records}
        word = rf"\bgraph\.{name}\b"
        class_name = re.sub(r"^[A-Za-z]+_", "", record["!name"])
        text = f"{record['summary']}\n{record['description']}"
        self.name, self.family = name, Path(record["!locs"][0].split(":")[0]).name
        self.parts = {
            "wrong input": not record["hasVerifier"] or re.search(rf"expected-error.*'graph\.{name}' op|{word}",
                                                                  source.wrong),
            "rule and cost": "RuleOpInterface" in interfaces,
            "gradient": "GradientOpInterface" in interfaces,
            "finite differences": "GradientOpInterface" not in interfaces or re.search(rf"{word}|\"{name}[ \"]",
                                                                                             source.differences),
            "kernels": "PointwiseOpInterface" in interfaces or class_name in source.kernels
            or class_name in source.lowerings,
            "example": "```mlir" in text and re.search(word, text),
            # Ops of the backward pass and of the update are compared with those that they are made for.
            "PyTorch": "GradientOpInterface" not in interfaces or re.search(word, source.compared),
        }


def read_ops(root):
    """Returns the ops of the dialect, in order of their names."""
    families = sorted((root / "dialects" / "graph").glob("*Ops.td"))
    text = "".join(f'include "{file.relative_to(root)}"\n' for file in families)
    records = json.loads(subprocess.run([LLVM / "bin" / "llvm-tblgen", "-I", root, "-I", LLVM / "include",
                                         "-dump-json", "-"], input=text, capture_output=True, check=True,
                                        text=True).stdout)
    source = Source(root)
    ops = [Op(records[each]["opName"], records[each], records, source) for each in
           records["!instanceof"]["Graph_Op"]]
    return sorted(ops, key=lambda op: op.name), source


def reasons_of(part, ops):
    """Returns a map from ops that need no such part to the reason, and the names that stand for no op."""
    reasons, unknown = {}, []
    for reason, names in WITHOUT.get(part, {}).items():
        for name in names.split():
            found = [op.name for op in ops if name in (op.name, op.family)]
            unknown += [] if found else [name]
            for each in found:
                # The reason of a family holds where the op itself has none.
                if not name.endswith(".td") or each not in reasons:
                    reasons[each] = (reason, name)
    return reasons, unknown


def check(ops, source):
    """Returns what is wrong."""
    problems = []
    for part in PARTS:
        reasons, unknown = reasons_of(part, ops)
        problems += [f"parts.py: '{name}', which needs no {part}, is no op" for name in unknown]
        for op in ops:
            reason, name = reasons.get(op.name, (None, ""))
            if not op.parts[part] and reason is None:
                problems.append(f"graph.{op.name} ({op.family}) lacks: {part}")
            elif op.parts[part] and reason is not None and not name.endswith(".td"):
                problems.append(f"graph.{op.name} has {part}, but parts.py says that it needs none: {reason}")
    problems += [f"exec.{name} has no code for {device}s" for name, device in source.instructions_without_code()]
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    ops, source = read_ops(parser.parse_args().root)
    reasons = {part: reasons_of(part, ops)[0] for part in PARTS}
    for op in ops:
        lacking = [f"no {part}: {reasons[part].get(op.name, ('LACKING', ''))[0]}" for part in PARTS
                   if not op.parts[part]]
        print(f"graph.{op.name}: {'; '.join(lacking) or 'all parts'}")
    problems = check(ops, source)
    print("".join(f"{problem}\n" for problem in problems), end="")
    print(f"{len(ops)} ops, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
