#include "kernels/cpu/OutOfMemory.h"

#include <cstdint>
#include <cstdlib>
#include <new>

namespace dtc::cpu {

void endWithoutMemory() {
  // More than there can be: it throws, which is not an expression that code without exceptions has.
  (void)::operator new(PTRDIFF_MAX);
  std::abort();
}

// Large enough for the allocator to ask the system, and untouched, so it costs two calls.
void needMemory(size_t bytes) { ::operator delete(::operator new(bytes)); }

} // namespace dtc::cpu
