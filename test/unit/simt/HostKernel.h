// Kernels in C++ that call the functions of retargeted code, so that the emulator is tested without
// LLVM.
#pragma once

#include "runtime/simt/Engine.h"
#include "runtime/simt/Launch.h"
#include "runtime/simt/MatrixFunctions.h"
#include "runtime/simt/MemoryFunctions.h"
#include "runtime/simt/ThreadFunctions.h"

#include <algorithm>
#include <string>
#include <vector>

namespace dtc::simt::test {

// Returns a kernel whose entry is a function of this program.
inline Kernel kernelOf(void (*entry)(void **), uint32_t sharedBytes = 0) {
  Kernel kernel;
  kernel.name = "kernel";
  kernel.entry = entry;
  kernel.sharedBytes = sharedBytes;
  return kernel;
}

// An instruction in line `line` of "Kernel.cu".
template <uint32_t line> const abi::Site *at() {
  static const abi::Site site{"kernel",          "/src/Kernel.cu",    line, 0, 1,
                              abi::Access::None, abi::Space::Generic, line};
  return &site;
}

// Reads through a pointer, with the check of a load.
template <uint32_t line, typename T>
T read(const T *address, abi::Space space = abi::Space::Generic) {
  Engine::current().access({address, sizeof(T), alignof(T), abi::Access::Read, space}, *at<line>());
  return *address;
}
// Writes through a pointer, with the check of a store.
template <uint32_t line, typename T>
void write(T *address, T value, abi::Space space = abi::Space::Generic) {
  Engine::current().access({address, sizeof(T), alignof(T), abi::Access::Write, space},
                           *at<line>());
  *address = value;
}
// Adds to a number as an atomic operation does, and returns its old value.
template <uint32_t line> uint32_t atomicAdd(uint32_t *address, uint32_t value) {
  Engine::current().access({address, 4, 4, abi::Access::Change, abi::Space::Generic}, *at<line>());
  uint32_t old = *address;
  *address += value;
  return old;
}

// Returns the x index of the thread in its block.
inline uint32_t threadIndex() { return device::readIndex<device::Index::Thread, 0>(); }
// Returns the x index of the block.
inline uint32_t blockIndex() { return device::readIndex<device::Index::Block, 0>(); }
// Returns the static shared memory as an array.
template <typename T> T *sharedArray() { return static_cast<T *>(device::sharedBase()); }
// Returns a parameter of the kernel by its index.
template <typename T> T parameter(void **parameters, int index) {
  return *static_cast<T *>(parameters[index]);
}

// Global memory of `count` numbers. It counts as written if `values` are given.
template <typename T> class Buffer {
public:
  Buffer(Memory &memory, size_t count) : numbers(count) {
    void *address = nullptr;
    if (memory.allocate(count * sizeof(T), address).ok())
      data = static_cast<T *>(address);
  }
  Buffer(Memory &memory, const std::vector<T> &values) : Buffer(memory, values.size()) {
    std::copy(values.begin(), values.end(), data);
    (void)memory.markWritten(data, values.size() * sizeof(T)).ok();
  }
  // Returns a copy of the numbers.
  std::vector<T> values() const { return std::vector<T>(data, data + numbers); }

  T *data = nullptr;

private:
  size_t numbers;
};

} // namespace dtc::simt::test
