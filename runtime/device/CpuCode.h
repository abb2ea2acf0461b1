// Machine code of a program on this CPU, and running any instruction that computes.
#pragma once

#include "runtime/code/CodeSegment.h"
#include "runtime/device/Device.h"

namespace dtc::cpu {
class ThreadPool;
}

namespace dtc::rt {

class CpuCode {
public:
  // As the functions of Device with these names.
  Status load(const CodeObject &object);
  Status findSymbol(int object, const KernelSpec &kernel, int &symbol);

  // Runs a kernel or an instruction of the library with the threads of `pool`. Internal for one that
  // does not compute.
  Status run(const Command &command, cpu::ThreadPool &pool) const;

private:
  using KernelFunction = void (*)(char *const *buffers, const int64_t *scalars, int64_t begin,
                                  int64_t end);

  void launch(const Command &command, cpu::ThreadPool &pool) const;

  std::vector<CodeSegment> code;
  std::vector<KernelFunction> functions;
};

} // namespace dtc::rt
