// The layout of the variables in a block's shared memory.
#pragma once

#include "passes/simt/DeviceCalls.h"
#include "llvm/ADT/DenseMap.h"

namespace dtc {

// Assigns each shared variable an offset within the shared memory of its block.
class SharedLayout {
public:
  // Gives each variable of address space 3 an offset that is disjoint from all others of the same
  // kernel, and replaces its uses by addresses relative to the emulator's pointer. Variables with
  // an alignment below 16 are placed at odd multiples of it, so that an access that relies on more
  // is misaligned here, as it may be on a GPU. Variables without a size, whose size comes with the
  // launch, follow all others.
  SharedLayout(llvm::Module &module, llvm::ArrayRef<llvm::Function *> kernels, DeviceCalls &calls);

  // Bytes of static shared memory that the kernel uses.
  uint64_t bytes(const llvm::Function *kernel) const { return ends.lookup(kernel); }

private:
  llvm::DenseMap<const llvm::Function *, uint64_t> ends;
};

} // namespace dtc
