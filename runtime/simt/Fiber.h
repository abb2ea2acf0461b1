// Stacks that take turns in one thread of the host. A switch saves only the registers that a called
// function must keep. Supports the calling convention of x86-64 System V only.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace dtc::simt {

// Memory for stacks, each with a page below it that faults. Stacks that are given back are used
// again.
class StackPool {
public:
  StackPool() = default;
  ~StackPool();
  StackPool(const StackPool &) = delete;
  StackPool &operator=(const StackPool &) = delete;

  static constexpr size_t stackBytes = 128 * 1024;

  // Returns the lowest usable address of a stack, or null if there is no memory.
  char *take();
  // Takes a stack back for later calls of take.
  void giveBack(char *stack) { unused.push_back(stack); }

private:
  std::vector<char *> unused;
  std::vector<void *> mappings;
};

// The state of a stack that does not run now.
struct Fiber {
  void *stackPointer = nullptr;
  char *stack = nullptr;        // null for the stack of the host's thread
  void *fakeStack = nullptr;    // AddressSanitizer's
  const void *bottom = nullptr; // end of the host's stack, as AddressSanitizer reports it
  size_t bytes = 0;

  // Returns true if the address is on the fiber's own stack. Always false for the host's stack.
  bool holds(const void *address) const {
    auto *at = static_cast<const char *>(address);
    return stack && at >= stack && at < stack + StackPool::stackBytes;
  }

  // Sets the fiber up: the first switch to it calls `function`, which must never return.
  void prepare(char *newStack, void (*function)());
};

// Leaves `from`, which runs now, and continues `to`. `ends` means that nothing will continue
// `from`.
void switchFiber(Fiber &from, Fiber &to, bool ends = false);

// Completes a switch. Must be the first call on a new fiber, with the fiber that was left.
void arriveOnFiber(Fiber *from);

} // namespace dtc::simt
