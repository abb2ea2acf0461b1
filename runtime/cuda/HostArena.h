// The arena of a program in the memory of a GPU's host, and copies between it and the GPU.
#pragma once

#include "runtime/cuda/CudaCode.h"

namespace dtc::rt {

class HostArena {
public:
  explicit HostArena(const cu::Driver &driver) : driver(driver) {}
  ~HostArena();
  HostArena(const HostArena &) = delete;
  HostArena &operator=(const HostArena &) = delete;

  // `bytes` zero bytes, pinned. Once.
  Status allocate(uint64_t bytes);
  char *begin() const { return memory; } // null before

  bool has(const char *address) const {
    return memory && address >= memory && address < memory + size;
  }
  // Whether a command works there and nowhere else: instructions but copies are in one memory.
  bool hasAll(const Command &command) const;
  // Whether it is a copy to the GPU or from there of elements that lie side by side on either.
  bool isMove(const Command &command) const;
  void prepareMove(const Command &move, StreamWork &work) const;

private:
  const cu::Driver &driver;
  char *memory = nullptr;
  uint64_t size = 0;
};

} // namespace dtc::rt
