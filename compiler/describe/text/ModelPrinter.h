// Prints graph IR in the style that people write: with names of values and types, and sizes only at
// the top.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace dtc {

// The comments of one line of a file: those above it (an empty string is an empty line) and the one
// behind it.
struct LineNotes {
  std::vector<std::string> above;
  std::string after;
};

// The parts of a file that are not in its module.
struct SourceNotes {
  // A named type, "!hidden = ...".
  struct Alias {
    std::string name;
    mlir::Type type;
    LineNotes notes;
  };
  std::vector<std::string> header; // comment lines at the top
  std::vector<Alias> aliases;      // in the order of the file
  std::map<mlir::Operation *, LineNotes> ops, closings;
  // The types of an op as the file writes them, in order: "!width", "tensor<768xf32>".
  std::map<mlir::Operation *, std::vector<std::string>> types;
  std::vector<std::string> footer; // comment lines at the end
};

// Returns the text of a model, with the names that its locations have (dialects/graph/Names.h). A
// type without a name that occurs more than once gets the name of the first value of that type.
// Example of a line: "    %q = graph.rotary %raw_q, %cos, %sin : (!q, !angles, !angles) -> !q".
std::string printModel(mlir::ModuleOp module, const SourceNotes &notes = {});

} // namespace dtc
