// The arena of a program in host memory, and copies between it and the GPU.
#pragma once

#include "runtime/cuda/CudaCode.h"

namespace dtc::rt {

// Owns one pinned allocation of host memory.
class HostArena {
public:
  explicit HostArena(const cu::Driver &driver) : driver(driver) {}
  ~HostArena();
  HostArena(const HostArena &) = delete;
  HostArena &operator=(const HostArena &) = delete;

  // Allocates `bytes` zero bytes, pinned; may be called once.
  Status allocate(uint64_t bytes);
  char *begin() const { return memory; } // null before allocate()

  // True if the address is in the arena.
  bool has(const char *address) const {
    return memory && address >= memory && address < memory + size;
  }
  // True if a command only works on this memory: all instructions except copies use one memory.
  bool hasAll(const Command &command) const;
  // True for a copy to or from the GPU of elements that are contiguous on both sides.
  bool isMove(const Command &command) const;
  // Prepares such a copy.
  void prepareMove(const Command &move, StreamWork &work) const;

private:
  const cu::Driver &driver;
  char *memory = nullptr;
  uint64_t size = 0;
};

} // namespace dtc::rt
