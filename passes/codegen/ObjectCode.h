// From LLVM IR to a shared object.
#pragma once

#include "passes/codegen/KernelLibrary.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace dtc {

// A machine that generates position-independent code. Errors: an unknown processor.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const KernelTarget &target);

// Optimises `module` for the machine and returns its object file.
llvm::Expected<llvm::SmallVector<char, 0>> compileObject(llvm::Module &module,
                                                         llvm::TargetMachine &machine);

// Links object files to a shared object. Errors: what the linker says; imports that are not in
// libm, by name.
llvm::Expected<std::vector<char>> linkObjects(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects);

} // namespace dtc
