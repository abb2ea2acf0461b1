// The end that code without exceptions comes to where memory runs out: that of a std::bad_alloc which
// nobody catches, so that the program says it as it says it of operator new.
#pragma once

#include <cstddef>

namespace dtc::cpu {

[[noreturn]] void endWithoutMemory();

// What a library may take at a thread's first call: a buffer of OpenBLAS (128 MiB of address space),
// code that oneDNN writes, the heap that the system's allocator begins for the thread (64 MiB).
inline constexpr size_t libraryBytes = size_t(208) << 20;

// Ends so where the system would refuse `bytes` more address space now. To be asked before libraries
// that do not look at what they are given: oneDNN writes code to address 0, OpenBLAS tries for ever.
void needMemory(size_t bytes);

} // namespace dtc::cpu
