// The keys of a stack file: where they stand, what they mean and how far they go.
#pragma once

#include "compiler/stack/SoftwareStack.h"
#include "compiler/support/Units.h"

#include <optional>

namespace dtc {

// A figure. Numbers without a unit, or quantities written with one.
struct StackFigure {
  llvm::StringRef table, key;
  double SoftwareStack::*member;
  double least, most;
  llvm::StringRef meaning;
  std::optional<Quantity> quantity = std::nullopt;
};

// What the stack does or does not.
struct StackFlag {
  llvm::StringRef table, key;
  bool SoftwareStack::*member;
  llvm::StringRef meaning;
};

// In the order of `tables` and of the documentation. No key is in two tables.
llvm::ArrayRef<llvm::StringRef> stackTables();
llvm::ArrayRef<StackFigure> stackFigures();
llvm::ArrayRef<StackFlag> stackFlags();

// The keys of one table, flags first.
std::vector<llvm::StringRef> keysOf(llvm::StringRef table);

} // namespace dtc
