// Files that are compiled into the program, by name: topologies, software stacks.
#pragma once

#include "compiler/support/Error.h"

#include <vector>

namespace dtc {

struct CatalogueFile {
  llvm::StringRef name, text; // "dgx-h100" is of dgx-h100.toml
};
using Catalogue = llvm::ArrayRef<CatalogueFile>; // by name

std::vector<std::string> namesOf(Catalogue catalogue);

// The text of a file of the catalogue, or "" where there is none of that name.
llvm::StringRef textOf(Catalogue catalogue, llvm::StringRef name);

// A file, from the catalogue or not, and what messages call it.
struct NamedText {
  std::string text, path;
};

// A name of the catalogue, or else a file of 16 MiB at most. `what` is what the catalogue has, with
// its article. Example: openNamed(topologyCatalogue(), "dgx-h100", "a topology").
// Errors: neither, with the nearest name; a file that can't be read.
Result<NamedText> openNamed(Catalogue catalogue, const std::string &nameOrFile,
                            llvm::StringRef what);

} // namespace dtc
