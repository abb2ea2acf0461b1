// Compiles device code of a test for the emulator and loads it.
#pragma once

#include "runtime/simt/Launch.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace dtc::simt::test {

// A program in LLVM IR for NVPTX.
class DeviceProgram {
public:
  explicit DeviceProgram(const std::string &assembly);

  // Runs a kernel. Returns the message of an error in compiling, loading or running, or "".
  std::string run(const std::string &kernel, Dim3 grid, Dim3 block,
                  const std::vector<void *> &parameters, uint64_t seed = 0,
                  uint32_t dynamicShared = 0, Counters *counters = nullptr);

  std::string failure; // message of an error in compiling or loading
  std::unique_ptr<Module> module;
  Memory memory;
};

// Global memory of a program. It counts as written if `values` are given.
template <typename T>
T *newBuffer(Memory &memory, const std::vector<T> &values, bool written = true) {
  void *address = nullptr;
  if (!memory.allocate(values.size() * sizeof(T), address).ok())
    return nullptr;
  T *data = static_cast<T *>(address);
  if (written) {
    std::copy(values.begin(), values.end(), data);
    (void)memory.markWritten(data, values.size() * sizeof(T)).ok();
  }
  return data;
}

} // namespace dtc::simt::test
