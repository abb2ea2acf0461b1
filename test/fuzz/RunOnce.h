// Runs one step of a verified program in a process of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dtc::fuzz {

enum class Outcome {
  Ran,     // to the end of the step
  Refused, // with an error of the runtime
  Crashed,
  Hung,
};

struct RunResult {
  Outcome outcome = Outcome::Ran;
  std::string what; // signal, for Crashed
};

// Forks; the child runs all ranks of the file as threads on the CPU device for one step and is
// stopped after `limitSeconds`. The caller must have run no kernel, so that no thread is lost in
// the fork.
RunResult runOnce(const std::vector<uint8_t> &file, unsigned limitSeconds);

} // namespace dtc::fuzz
