// Links object files to a shared object for x86-64 Linux.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace dtc {

// Links object files to a shared object. Errors: messages of the linker; imports that are neither
// in libm nor among `others`, by name.
llvm::Expected<std::vector<char>> linkObjects(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects,
                                              llvm::ArrayRef<llvm::StringRef> others = {});

} // namespace dtc
