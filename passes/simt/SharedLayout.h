// Where the variables in shared memory lie within a block's part of it.
#pragma once

#include "passes/simt/DeviceCalls.h"
#include "llvm/ADT/DenseMap.h"

namespace dtc {

class SharedLayout {
public:
  // Gives each variable of address space 3 a place that no variable of the same kernel has, and makes its uses
  // addresses behind the emulator's pointer. Variables of an alignment below 16 lie at odd multiples of it: an access
  // that relies on more is misaligned here as it may be on a GPU. Those without a size, of which a launch says the size,
  // lie behind all others.
  SharedLayout(llvm::Module &module, llvm::ArrayRef<llvm::Function *> kernels, DeviceCalls &calls);

  // Bytes of static shared memory.
  uint64_t bytes(const llvm::Function *kernel) const { return ends.lookup(kernel); }

private:
  llvm::DenseMap<const llvm::Function *, uint64_t> ends;
};

} // namespace dtc
