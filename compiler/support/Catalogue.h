// Files that are compiled into the program and found by name: topologies, software stacks.
#pragma once

#include "compiler/support/Error.h"

#include <vector>

namespace dtc {

// A file of a catalogue.
struct CatalogueFile {
  llvm::StringRef name, text; // the name "dgx-h100" for dgx-h100.toml
};
using Catalogue = llvm::ArrayRef<CatalogueFile>; // sorted by name

// Returns the names of all files, in the order of the catalogue.
std::vector<std::string> namesOf(Catalogue catalogue);

// Returns the text of a file of the catalogue, or "" if there is none of that name.
llvm::StringRef textOf(Catalogue catalogue, llvm::StringRef name);

// The text of a file, from the catalogue or not, and the name that messages use for it.
struct NamedText {
  std::string text, path;
};

// Opens a file of the catalogue by its name, or else any file of at most 16 MiB. `what` names the
// content of the catalogue, with its article. `meant` is the name that the error suggests; empty
// for the nearest one.
// Example: openNamed(topologyCatalogue(), "dgx-h100", "a topology").
// Errors: there is neither (with the nearest name); the file cannot be read.
Result<NamedText> openNamed(Catalogue catalogue, const std::string &nameOrFile,
                            llvm::StringRef what, llvm::StringRef meant = "");

} // namespace dtc
