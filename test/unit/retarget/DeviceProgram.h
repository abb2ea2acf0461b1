// Device code of a test, compiled for the emulator and loaded.
#pragma once

#include "runtime/simt/Simt.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace dtc::simt::test {

// LLVM IR as text, for NVPTX.
class DeviceProgram {
public:
  explicit DeviceProgram(const std::string &assembly);

  // The message of what went wrong, empty where nothing did: in compiling, loading or running.
  std::string run(const std::string &kernel, Dim3 grid, Dim3 block,
                  const std::vector<void *> &parameters, uint64_t seed = 0,
                  uint32_t dynamicShared = 0, Counters *counters = nullptr);

  std::string failure; // of compiling and loading
  std::unique_ptr<Module> module;
  Memory memory;
};

// Global memory of a program; counts as written when `values` are given.
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
