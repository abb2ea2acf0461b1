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

// How many braces, which stand for the number of an execution, a name has. "{4}" counts from 4, and
// "{}" is "{0}".
size_t countBraces(llvm::StringRef name);

// The number that braces of the name count from; 0 where it has none.
int64_t firstMember(llvm::StringRef name);

// The name of one of the parameters that a repeated one stands for; a name without braces stays.
// Examples: memberName("h.{}.w", 3) is "h.3.w", memberName("h.{4}.w", 3) is "h.7.w".
std::string memberName(llvm::StringRef name, int64_t index);

// The name of those from number `index` on. Example: familyFrom("h.{2}.w", 4) is "h.{6}.w".
std::string familyFrom(llvm::StringRef name, int64_t index);

} // namespace dtc::graph
