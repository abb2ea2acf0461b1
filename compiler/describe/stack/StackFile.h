// A stack file as written: its figures, and the file that gives each. Internal to this folder.
#pragma once

#include "compiler/describe/stack/SoftwareStack.h"
#include "compiler/support/Catalogue.h"

#include <map>

namespace dtc {

// Returns the files of stacks/, which CMake compiles in.
Catalogue stackCatalogue();

// A stack, and the source of its figures.
struct StackFile {
  SoftwareStack stack;
  // for each key the name of the stack whose file gives it
  std::map<llvm::StringRef, std::string> saidBy;
};

// Reads a stack from TOML text, with the stacks that it extends. Errors name `path`.
Result<StackFile> readStack(llvm::StringRef text, const std::string &path);
// Opens a stack of the catalogue, or else a stack file. Errors: as loadStack.
Result<StackFile> openStack(const std::string &nameOrFile);

} // namespace dtc
