// Prints software stacks. Internal to this folder.
#pragma once

#include "compiler/stack/StackFile.h"

namespace dtc {

void showText(const StackFile &file, llvm::raw_ostream &out);
// One object; docs/stacks.md has its keys.
void showJson(const StackFile &file, llvm::raw_ostream &out);

} // namespace dtc
