// Prints software stacks. Internal to this folder.
#pragma once

#include "compiler/describe/stack/StackFile.h"

namespace dtc {

// Prints all figures of a stack as text for people.
void showText(const StackFile &file, llvm::raw_ostream &out);
// Prints a stack as one JSON object, with the keys in docs/stacks.md.
void showJson(const StackFile &file, llvm::raw_ostream &out);

} // namespace dtc
