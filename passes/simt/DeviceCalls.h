// Calls of the emulator: intrinsics, inline PTX, and what retargeting adds.
#pragma once

#include "passes/simt/Sites.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/Support/Error.h"

namespace dtc {

class DeviceCalls {
public:
  DeviceCalls(llvm::Module &module, Sites &sites) : module(module), sites(sites) {}

  // Replaces a call of an intrinsic, of inline PTX or of a function without a body; leaves what LLVM lowers for any
  // processor. Errors: what the emulator does not have.
  llvm::Error replace(llvm::CallBase &call);

  // Calls the emulator's function `name` (Intrinsics.def), which has no result, at the builder's place.
  void add(llvm::IRBuilder<> &builder, llvm::StringRef name,
           llvm::ArrayRef<llvm::Value *> arguments);
  // The same of a function that gives a pointer and depends on nothing.
  llvm::Value *addPointer(llvm::IRBuilder<> &builder, llvm::StringRef name);

  // What the emulator fills in when it loads the code: a variable of each function that is called.
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
