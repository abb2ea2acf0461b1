#include "runtime/simt/Fiber.h"

#include <cstdint>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define DTC_SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DTC_SIMT_ASAN 1
#endif
#endif
#ifdef DTC_SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// Pushes the registers that a called function must keep, changes stacks, and pops those of the
// other stack.
extern "C" void dtcSimtSwitch(void **save, void *load);
asm(R"(
.text
.type dtcSimtSwitch,@function
.hidden dtcSimtSwitch
.globl dtcSimtSwitch
dtcSimtSwitch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size dtcSimtSwitch, .-dtcSimtSwitch
)");

namespace dtc::simt {

static constexpr size_t guardBytes = 4096;

StackPool::~StackPool() {
  for (void *mapping : mappings) {
#ifdef DTC_SIMT_ASAN
    __asan_unpoison_memory_region(static_cast<char *>(mapping) + guardBytes,
                                  stackBytes + guardBytes);
#endif
    ::munmap(mapping, stackBytes + 2 * guardBytes);
  }
}

char *StackPool::take() {
  if (!unused.empty()) {
    char *stack = unused.back();
    unused.pop_back();
    return stack;
  }
  void *mapping = ::mmap(nullptr, stackBytes + 2 * guardBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    return nullptr;
  ::mprotect(mapping, guardBytes, PROT_NONE);
  // If all stacks ended at the same place of a page, they would share a few sets of the cache.
  size_t stagger = mappings.size() * 320 % guardBytes;
  mappings.push_back(mapping);
  return static_cast<char *>(mapping) + guardBytes + stagger;
}

void Fiber::prepare(char *newStack, void (*function)()) {
  stack = newStack;
  bottom = newStack;
  bytes = StackPool::stackBytes;
  fakeStack = nullptr;
#ifdef DTC_SIMT_ASAN
  __asan_unpoison_memory_region(newStack, bytes);
#endif
  auto top = (reinterpret_cast<uintptr_t>(newStack) + bytes) & ~uintptr_t{63};
  auto *words = reinterpret_cast<uint64_t *>(top);
  *--words = 0; // in place of a return address, so that the stack is aligned as after a call
  *--words = reinterpret_cast<uint64_t>(function);
  for (int i = 0; i < 6; ++i)
    *--words = 0;
  stackPointer = words;
}

void arriveOnFiber([[maybe_unused]] Fiber *from) {
#ifdef DTC_SIMT_ASAN
  const void *bottom = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
  if (from && !from->stack) {
    from->bottom = bottom;
    from->bytes = bytes;
  }
#endif
}

void switchFiber(Fiber &from, Fiber &to, [[maybe_unused]] bool ends) {
#ifdef DTC_SIMT_ASAN
  __sanitizer_start_switch_fiber(ends ? nullptr : &from.fakeStack, to.bottom, to.bytes);
#endif
  dtcSimtSwitch(&from.stackPointer, to.stackPointer);
#ifdef DTC_SIMT_ASAN
  __sanitizer_finish_switch_fiber(from.fakeStack, nullptr, nullptr);
#endif
}

} // namespace dtc::simt
