// Stacks that run by turns in one thread of the host. Switching saves the registers that a called function keeps, and
// nothing else; x86-64 System V only.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace dtc::simt {

// Memory for one stack, with a page below that faults. Kept and used again.
class StackPool {
public:
  StackPool() = default;
  ~StackPool();
  StackPool(const StackPool &) = delete;
  StackPool &operator=(const StackPool &) = delete;

  static constexpr size_t stackBytes = 128 * 1024;

  // The lowest usable address; null when there is no memory.
  char *take();
  void giveBack(char *stack) { unused.push_back(stack); }

private:
  std::vector<char *> unused;
  std::vector<void *> mappings;
};

// Where a stack that does not run now goes on.
struct Fiber {
  void *stackPointer = nullptr;
  char *stack = nullptr;        // null for the stack of the host's thread
  void *fakeStack = nullptr;    // AddressSanitizer's
  const void *bottom = nullptr; // of the host's stack, as AddressSanitizer says
  size_t bytes = 0;

  bool holds(const void *address) const {
    auto *at = static_cast<const char *>(address);
    return stack && at >= stack && at < stack + StackPool::stackBytes;
  }

  // Makes the fiber start with `function`, which never returns, when it is switched to.
  void prepare(char *newStack, void (*function)());
};

// Leaves `from`, which runs now, and goes on with `to`. `ends`: nothing will go on with `from`.
void switchFiber(Fiber &from, Fiber &to, bool ends = false);

// Has to be called first thing on a new fiber, with the fiber that was left.
void arriveOnFiber(Fiber *from);

} // namespace dtc::simt
