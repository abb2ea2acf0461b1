// Declarations of parameters: initial values, and braces in the names of repeated parameters.
#pragma once

#include "dialects/graph/Graph.h"

#include <string>

namespace dtc::graph {

// The initial value of a parameter; `mean` is the value of a constant.
struct Initializer {
  InitKind kind = InitKind::Zeros;
  double mean = 0, stddev = 0;
};

// Parses zeros | ones | constant(0.5) | normal(mean, stddev). Emits a diagnostic at anything else.
llvm::FailureOr<Initializer> parseInitializer(mlir::AsmParser &parser);
// Prints what parseInitializer reads.
void printInitializer(mlir::AsmPrinter &printer, const Initializer &init);

// Returns the number of braces in a name, which stand for the number of an execution. "{4}" counts
// from 4, "{4:2}" from 4 by 2, and "{}" is "{0:1}".
size_t countBraces(llvm::StringRef name);

// Returns the number that the braces of the name count from; 0 if it has none.
int64_t firstMember(llvm::StringRef name);

// Returns the name of one of the parameters that a repeated one stands for; a name without braces
// is returned unchanged. Examples: memberName("h.{}.w", 3) is "h.3.w", memberName("h.{4}.w", 3) is
// "h.7.w", memberName("h.{1:2}.w", 3) is "h.7.w".
std::string memberName(llvm::StringRef name, int64_t index);

// Returns the name of the members from number `index` on. Examples: familyFrom("h.{2}.w", 4) is
// "h.{6}.w", familyFrom("h.{1:2}.w", 4) is "h.{9:2}.w".
std::string familyFrom(llvm::StringRef name, int64_t index);

// Returns the name of the family that a name is a part of, as if it started at its first member,
// and how many members come before those of the name; the name and 0 without braces. Examples:
// wholeFamily("h.{6}.w") is ("h.{0}.w", 6), wholeFamily("h.{9:2}.w") is ("h.{1:2}.w", 4).
std::pair<std::string, int64_t> wholeFamily(llvm::StringRef name);

} // namespace dtc::graph
