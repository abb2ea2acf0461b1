#!/usr/bin/env python3
"""Starts a pass: its .cpp file, its entry in Passes.td and CMakeLists.txt, and its lit test.

tools/new-pass.py Phase Name "Summary, a verb first"
tools/new-pass.py shard FoldReshard "Merges chains of reshards"

The second line gives passes/shard/FoldReshard.cpp, the flag --dtc-fold-reshard and
test/passes/shard/fold-reshard.mlir. The pass compiles and leaves the module unchanged; the test checks just this
until its CHECK lines check more.
"""
import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SOURCE = """\
// {summary} (pass {flag}).
#include "passes/{phase}/Passes.h"

namespace dtc {{
#define GEN_PASS_DEF_{upper}
#include "passes/{phase}/Passes.h.inc"

using namespace mlir;

namespace {{

struct {name} : impl::{name}Base<{name}> {{
  void runOnOperation() override {{
    RewritePatternSet patterns(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }}
}};

}} // namespace
}} // namespace dtc
"""

ENTRY = """
def {name} : Pass<"{flag}", "::mlir::ModuleOp"> {{
  let summary = "{summary}";
  let description = [{{
    {summary}.
    ```mlir
    // Before:
    // After:
    ```
  }}];
}}
"""

TEST = """\
// RUN: dtc-opt %s --{flag} | FileCheck %s

// A function that the pass has no business with stays.
// CHECK-LABEL: func.func @untouched
// CHECK-SAME:    (%[[X:.*]]: tensor<8xf32>)
// CHECK:         return %[[X]]
func.func @untouched(%x: tensor<8xf32>) -> tensor<8xf32> {{
  return %x : tensor<8xf32>
}}
"""


def add_source(text, name):
    """Returns CMakeLists.txt with NAME.cpp as the last of the first SOURCES."""
    start = re.search(r"\bSOURCES\b", text)
    if not start:
        return None
    end = re.search(r"\b(LINK|TABLEGEN)\b|\)", text[start.end() :])
    files = text[start.end() : start.end() + end.start()].rstrip()
    at = start.end() + len(files)
    return f"{text[:at]}\n          {name}.cpp{text[at:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("phase", help="folder below passes/, e.g. shard")
    parser.add_argument("name", help="CamelCase, e.g. FoldReshard")
    parser.add_argument("summary", help="a verb phrase without a full stop")
    options = parser.parse_args()

    folder = ROOT / "passes" / options.phase
    if not (folder / "Passes.td").exists():
        phases = ", ".join(sorted(path.parent.name for path in ROOT.glob("passes/*/Passes.td")))
        sys.exit(f"new-pass.py: no phase '{options.phase}' in passes/; there are: {phases}")
    if not re.fullmatch(r"([A-Z][a-z0-9]+)+", options.name):
        sys.exit(f"new-pass.py: the name '{options.name}' is not CamelCase such as FoldReshard")
    dashed = re.sub(r"(?<!^)(?=[A-Z])", "-", options.name).lower()
    words = dict(name=options.name, phase=options.phase, upper=options.name.upper(), flag=f"dtc-{dashed}",
                 summary=options.summary.rstrip("."))

    source = folder / f"{options.name}.cpp"
    test = ROOT / "test" / "passes" / options.phase / f"{dashed}.mlir"
    for path in (source, test):
        if path.exists():
            sys.exit(f"new-pass.py: '{path.relative_to(ROOT)}' exists already")
    cmake = folder / "CMakeLists.txt"
    listed = add_source(cmake.read_text(), options.name)
    if listed is None:
        sys.exit(f"new-pass.py: '{cmake.relative_to(ROOT)}' has no SOURCES to add '{options.name}.cpp' to")

    source.write_text(SOURCE.format(**words))
    cmake.write_text(listed)
    with open(folder / "Passes.td", "a") as entries:
        entries.write(ENTRY.format(**words))
    test.parent.mkdir(parents=True, exist_ok=True)
    test.write_text(TEST.format(**words))
    print(f"wrote {source.relative_to(ROOT)} and {test.relative_to(ROOT)}; added the entry to "
          f"passes/{options.phase}/Passes.td and CMakeLists.txt")
    print("next: fill in the pattern, Before and After, and run tools/gen-docs.sh")


if __name__ == "__main__":
    main()
