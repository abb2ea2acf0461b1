// The commands `dtc stack list|show|check` as functions; the program only reads the flags.
#pragma once

#include "compiler/support/OutputFormat.h"

#include "llvm/Support/raw_ostream.h"

#include <string>

namespace dtc {

// All return the exit code: 0, or 1 after one message on `errors`.

// The catalogue, one stack a line.
int runStackList(llvm::raw_ostream &out, llvm::raw_ostream &errors);

// All figures of one stack, and the stack whose file says each. JSON: one object, keys in
// docs/stacks.md.
int runStackShow(const std::string &nameOrFile, OutputFormat format, llvm::raw_ostream &out,
                 llvm::raw_ostream &errors);

// Reads a file (never the catalogue) and says what it describes, or the first thing wrong in it.
int runStackCheck(const std::string &file, llvm::raw_ostream &out, llvm::raw_ostream &errors);

} // namespace dtc
