// Machine code of a program on this CPU, and the execution of every instruction that computes.
#pragma once

#include "runtime/code/CodeSegment.h"
#include "runtime/device/Device.h"

namespace dtc::cpu {
class ThreadPool;
}

namespace dtc::rt {

// Loads kernels of the host and runs them and library instructions.
class CpuCode {
public:
  // Loads an object: see Device::loadCode.
  Status load(const CodeObject &object);
  // Finds the function of a kernel: see Device::findSymbol.
  Status findSymbol(int object, const KernelSpec &kernel, int &symbol);

  // Runs a kernel or an instruction of the library with the threads of `pool`. Internal for an
  // instruction that does not compute.
  Status run(const Command &command, cpu::ThreadPool &pool) const;

private:
  using KernelFunction = void (*)(char *const *buffers, const int64_t *scalars, int64_t begin,
                                  int64_t end);

  void launch(const Command &command, cpu::ThreadPool &pool) const;

  std::vector<CodeSegment> code;
  std::vector<KernelFunction> functions;
};

} // namespace dtc::rt
