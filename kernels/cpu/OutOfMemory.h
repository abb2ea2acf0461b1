// The end of the process when code without exceptions runs out of memory: by an uncaught
// std::bad_alloc, so that the message is that of operator new.
#pragma once

#include <cstddef>

namespace dtc::cpu {

// Ends the process as an uncaught std::bad_alloc does.
[[noreturn]] void endWithoutMemory();

// Bytes that libraries may allocate at a thread's first call: a buffer of OpenBLAS (128 MiB of
// address space), code that oneDNN generates, the heap that the system's allocator creates for the
// thread (64 MiB).
inline constexpr size_t libraryBytes = size_t(208) << 20;

// Ends the process if the system would now refuse `bytes` more of address space. Must be called
// before libraries that do not check allocations: oneDNN writes code to address 0, OpenBLAS retries
// for ever.
void needMemory(size_t bytes);

} // namespace dtc::cpu
