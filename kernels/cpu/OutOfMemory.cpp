#include "kernels/cpu/OutOfMemory.h"

#include <cstdint>
#include <cstdlib>
#include <new>

namespace dtc::cpu {

void endWithoutMemory() {
  // Requests more than can exist, so that operator new throws; code without exceptions cannot use a
  // throw expression.
  (void)::operator new(PTRDIFF_MAX);
  std::abort();
}

// Allocates enough for the allocator to ask the system, and touches nothing, so it costs two calls.
void needMemory(size_t bytes) { ::operator delete(::operator new(bytes)); }

} // namespace dtc::cpu
