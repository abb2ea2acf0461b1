// Calls of the emulator that replace intrinsics and inline PTX, and those that retargeting adds.
#pragma once

#include "passes/simt/Sites.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/Support/Error.h"

namespace dtc {

// Inserts calls of the emulator into one module and collects the imported functions.
class DeviceCalls {
public:
  DeviceCalls(llvm::Module &module, Sites &sites) : module(module), sites(sites) {}

  // Replaces a call of an intrinsic, of inline PTX or of a function without a body by a call of the
  // emulator; leaves intrinsics that LLVM lowers for any processor. Errors: a function that the
  // emulator does not have.
  llvm::Error replace(llvm::CallBase &call);

  // Adds a call of the emulator's function `name` (Intrinsics.def) at the builder's insertion
  // point. The function has no result.
  void add(llvm::IRBuilder<> &builder, llvm::StringRef name,
           llvm::ArrayRef<llvm::Value *> arguments);
  // Adds a call of a function that returns a pointer and has no side effects.
  llvm::Value *addPointer(llvm::IRBuilder<> &builder, llvm::StringRef name);

  // The variables that the emulator fills in when it loads the code, one per imported function.
  const llvm::MapVector<llvm::StringRef, llvm::GlobalVariable *> &slots() const { return imports; }

private:
  llvm::Error replaceBy(llvm::CallBase &call, const std::string &name,
                        llvm::ArrayRef<llvm::Value *> operands);
  llvm::Error replaceAssembly(llvm::CallBase &call);
  llvm::CallInst *callThrough(llvm::IRBuilder<> &builder, llvm::StringRef name, llvm::Type *result,
                              llvm::ArrayRef<llvm::Value *> arguments);

  llvm::Module &module;
  Sites &sites;
  llvm::MapVector<llvm::StringRef, llvm::GlobalVariable *> imports;
};

} // namespace dtc
