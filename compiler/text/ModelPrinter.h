// Graph IR as people write it: names of values and types, sizes said once, at the top.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace dtc {

// What stands beside one line of a file: comments above it (an empty string is an empty line) and
// one after it.
struct LineNotes {
  std::vector<std::string> above;
  std::string after;
};

// What a file says beside its model.
struct SourceNotes {
  struct Alias {
    std::string name;
    mlir::Type type;
    LineNotes notes;
  };
  std::vector<std::string> header; // comment lines at the top
  std::vector<Alias> aliases;      // in the order of the file
  std::map<mlir::Operation *, LineNotes> ops, closings;
  // An op's types as the file has them, in order: "!width", "tensor<768xf32>".
  std::map<mlir::Operation *, std::vector<std::string>> types;
  std::vector<std::string> footer; // comment lines at the end
};

// The text of a model, with the names that its locations have (dialects/graph/Names.h). Types
// without a name that are written more than once get that of the first value that has them.
// Example of a line: "    %q = graph.rotary %raw_q, %cos, %sin : (!q, !angles, !angles) -> !q".
std::string printModel(mlir::ModuleOp module, const SourceNotes &notes = {});

} // namespace dtc
