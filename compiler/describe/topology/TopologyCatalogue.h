// The files of topologies/. Internal to this folder.
#pragma once

#include "compiler/support/Catalogue.h"

namespace dtc {

// Returns the files of topologies/, which CMake compiles in.
Catalogue topologyCatalogue();

// Returns the text of a catalogue file, or "" if there is none of that name.
llvm::StringRef catalogueText(llvm::StringRef name);

} // namespace dtc
