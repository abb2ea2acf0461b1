// How parameters are declared: their initial values, and the braces in the names of repeated ones.
#pragma once

#include "dialects/graph/Graph.h"

#include <string>

namespace dtc::graph {

// How a parameter starts: `mean` is the value of a constant.
struct Initializer {
  InitKind kind = InitKind::Zeros;
  double mean = 0, stddev = 0;
};

// zeros | ones | constant(0.5) | normal(mean, stddev). Emits a diagnostic at anything else.
llvm::FailureOr<Initializer> parseInitializer(mlir::AsmParser &parser);
void printInitializer(mlir::AsmPrinter &printer, const Initializer &init);

// How many "{}", which stand for the number of an execution, a name has.
size_t countBraces(llvm::StringRef name);

// The name of one of the parameters that a repeated one stands for; a name without "{}" stays.
// Example: memberName("h.{}.w", 3) is "h.3.w".
std::string memberName(llvm::StringRef name, int64_t index);

} // namespace dtc::graph
