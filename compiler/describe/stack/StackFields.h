// The keys of a stack file: their tables, meanings and bounds.
#pragma once

#include "compiler/describe/stack/SoftwareStack.h"
#include "compiler/support/Units.h"

#include <optional>

namespace dtc {

// A figure: a number without a unit, or a quantity written with one.
struct StackFigure {
  llvm::StringRef table, key;
  double SoftwareStack::*member;
  double least, most;
  llvm::StringRef meaning;
  std::optional<Quantity> quantity = std::nullopt;
};

// A property that a stack has or does not have.
struct StackFlag {
  llvm::StringRef table, key;
  bool SoftwareStack::*member;
  llvm::StringRef meaning;
};

// A choice that plans for the stack may or may not make, in [space].
struct SpaceFlag {
  llvm::StringRef key;
  bool LegalSpace::*member;
  llvm::StringRef meaning;
};
// A set of words of which plans for the stack may choose, in [space].
struct SpaceSet {
  llvm::StringRef key;
  uint32_t LegalSpace::*member;
  llvm::ArrayRef<llvm::StringRef> words;
  llvm::StringRef meaning;
};
constexpr llvm::StringRef kSpaceTable = "space";

// Returns the tables in the order of the documentation. No key is in two tables.
llvm::ArrayRef<llvm::StringRef> stackTables();
// Returns all figures, in the order of their tables.
llvm::ArrayRef<StackFigure> stackFigures();
// Returns all flags, in the order of their tables.
llvm::ArrayRef<StackFlag> stackFlags();
// Returns all flags of [space].
llvm::ArrayRef<SpaceFlag> spaceFlags();
// Returns all sets of [space].
llvm::ArrayRef<SpaceSet> spaceSets();

// Returns the words of a set, in the form of the file: "1f1b, interleaved".
std::string wordsOf(const SpaceSet &set, const LegalSpace &space);
// Returns the set with that key, which must exist.
const SpaceSet &spaceSet(llvm::StringRef key);

// Returns text that reads back as exactly the same number.
std::string exactText(double value);

// Returns the keys of one table, flags first.
std::vector<llvm::StringRef> keysOf(llvm::StringRef table);

} // namespace dtc
