// Another process's memory, and what it has mapped there. Nothing that is read is trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dtc::rt {

// Reads the memory of another process.
class ForeignMemory {
public:
  explicit ForeignMemory(pid_t process) : process(process) {}
  // False where not all of it can be read.
  bool read(uint64_t address, void *to, size_t bytes) const;
  // Reads a value; false if the address is not mapped.
  template <typename T> bool read(uint64_t address, T &value) const {
    return read(address, &value, sizeof(T));
  }

private:
  pid_t process;
};

// A mapped range of a process (/proc/PID/maps).
struct Mapping {
  uint64_t begin = 0, end = 0, offset = 0;
  bool isCode = false;
  std::string path; // empty where it has none
};
// Returns the mappings of a process, by ascending address.
std::vector<Mapping> mappingsOf(pid_t process);

// Returns the executable mapping at `address`; null if there is none.
const Mapping *codeAt(const std::vector<Mapping> &mappings, uint64_t address);

// A file in the memory of a process.
struct Module {
  uint64_t bias = 0;     // process address = file address + bias
  uint64_t unwindAt = 0; // .eh_frame_hdr, in the process; 0: it has none
};
// Finds the module of `mapping` from its first page; returns false if it is not one.
bool findModule(const ForeignMemory &memory, const std::vector<Mapping> &mappings,
                const Mapping &mapping, Module &module);

} // namespace dtc::rt
