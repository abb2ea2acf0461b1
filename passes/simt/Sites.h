// Names the instructions of device code for the emulator: where they are, what they access.
#pragma once

#include "runtime/simt/Abi.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/Module.h"

namespace dtc {

class Sites {
public:
  explicit Sites(llvm::Module &module);

  struct Access {
    uint64_t bytes = 0;
    uint64_t align = 1;
    simt::abi::Access kind = simt::abi::Access::None;
    unsigned space = 0;
  };
  // A constant simt::abi::Site of an instruction.
  llvm::Constant *add(const llvm::Instruction &instruction, Access access);
  llvm::Constant *add(const llvm::Instruction &instruction) { return add(instruction, Access()); }

  // A constant string, ended by a zero.
  llvm::Constant *text(llvm::StringRef words);
  uint64_t count() const { return sites; }

private:
  llvm::Module &module;
  llvm::StructType *type;
  llvm::StringMap<llvm::Constant *> texts;
  uint64_t sites = 0;
};

// Made of a type's fields: as the structures of runtime/simt/Abi.h, all fields of which are pointers, i32 or i64.
llvm::GlobalVariable *addConstant(llvm::Module &module, llvm::Constant *value,
                                  const llvm::Twine &name = "");

} // namespace dtc
