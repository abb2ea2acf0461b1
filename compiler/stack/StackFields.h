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

// What plans for the stack may ask for: all of [space].
struct SpaceFlag {
  llvm::StringRef key;
  bool LegalSpace::*member;
  llvm::StringRef meaning;
};
struct SpaceSet {
  llvm::StringRef key;
  uint32_t LegalSpace::*member;
  llvm::ArrayRef<llvm::StringRef> words;
  llvm::StringRef meaning;
};
constexpr llvm::StringRef kSpaceTable = "space";

// In the order of `tables` and of the documentation. No key is in two tables.
llvm::ArrayRef<llvm::StringRef> stackTables();
llvm::ArrayRef<StackFigure> stackFigures();
llvm::ArrayRef<StackFlag> stackFlags();
llvm::ArrayRef<SpaceFlag> spaceFlags();
llvm::ArrayRef<SpaceSet> spaceSets();

// The words of a set, as its file writes them: "1f1b, interleaved".
std::string wordsOf(const SpaceSet &set, const LegalSpace &space);
// The set with that key, which exists.
const SpaceSet &spaceSet(llvm::StringRef key);

// The keys of one table, flags first.
std::vector<llvm::StringRef> keysOf(llvm::StringRef table);

} // namespace dtc
