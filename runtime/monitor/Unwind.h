// The frames of a thread of another process that stands still, without its help: by the tables that
// compilers leave for exceptions (FrameTable.h), which lie in its memory. Of x86-64.
#pragma once

#include "runtime/monitor/FrameTable.h"

namespace dtc::rt {

// Addresses of instructions, the innermost first: where the thread is, and where each of its calls
// returns to. As many as there are tables for, `most` at most.
std::vector<uint64_t> unwind(pid_t process, const std::vector<Mapping> &mappings,
                             const Registers &registers, size_t most);

// "PATH(+0xOFFSET) [0xADDRESS]", as backtrace_symbols says it, with the offset that the file's
// tables have.
std::string frameLine(pid_t process, const std::vector<Mapping> &mappings, uint64_t address);

} // namespace dtc::rt
