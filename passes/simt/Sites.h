// Names the instructions of device code for the emulator: their source location and the memory that
// they access.
#pragma once

#include "runtime/simt/Abi.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/Module.h"

namespace dtc {

// Builds the constant site records of one module.
class Sites {
public:
  explicit Sites(llvm::Module &module);

  // The memory access of an instruction; `bytes` is 0 for instructions without one.
  struct Access {
    uint64_t bytes = 0;
    uint64_t align = 1;
    simt::abi::Access kind = simt::abi::Access::None;
    unsigned space = 0;
  };
  // Adds a constant simt::abi::Site that describes an instruction and its access.
  llvm::Constant *add(const llvm::Instruction &instruction, Access access);
  // Adds the site of an instruction that does not access memory.
  llvm::Constant *add(const llvm::Instruction &instruction) { return add(instruction, Access()); }

  // Returns a constant string that ends with a zero byte; equal strings share one.
  llvm::Constant *text(llvm::StringRef words);
  uint64_t count() const { return sites; }

private:
  llvm::Module &module;
  llvm::StructType *type;
  llvm::StringMap<llvm::Constant *> texts;
  uint64_t sites = 0;
};

// Adds a constant global variable laid out as a structure of runtime/simt/Abi.h, in which all
// fields are pointers, i32 or i64.
llvm::GlobalVariable *addConstant(llvm::Module &module, llvm::Constant *value,
                                  const llvm::Twine &name = "");

} // namespace dtc
