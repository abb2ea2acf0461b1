// The commands `dtc stack list|show|check` as functions. The program only reads the flags.
#pragma once

#include "compiler/support/OutputFormat.h"

#include "llvm/Support/raw_ostream.h"

#include <string>

namespace dtc {

// All functions return the exit code: 0, or 1 after one message on `errors`.

// Prints the catalogue, one stack per line.
int runStackList(llvm::raw_ostream &out, llvm::raw_ostream &errors);

// Prints all figures of one stack, each with the stack whose file gives it. As JSON it is one
// object, with the keys in docs/stacks.md.
int runStackShow(const std::string &nameOrFile, OutputFormat format, llvm::raw_ostream &out,
                 llvm::raw_ostream &errors);

// Reads a file (never the catalogue) and prints what it describes, or the first mistake in it.
int runStackCheck(const std::string &file, llvm::raw_ostream &out, llvm::raw_ostream &errors);

} // namespace dtc
