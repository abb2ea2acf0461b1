// Counts the bytes that a process reads and writes, as evidence of progress during I/O.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace dtc::rt {

// Bytes that the first thread of `process` has read and written by calls to the system, ever, from
// whatever file or socket; 0 where the system does not tell. Other threads do not count: one that
// answers to somebody outside is no progress.
uint64_t bytesMovedBy(pid_t process);

} // namespace dtc::rt
