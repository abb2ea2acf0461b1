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

// Runs a file that is good once in this process, so that children forked later find the kernels of
// the libraries compiled: oneDNN makes them at first use, which takes longer than all the rest. No
// thread may outlive it, or children would lack that thread: OMP_NUM_THREADS and
// OPENBLAS_NUM_THREADS must have been 1 when the process started. False on an error.
bool warmUp(const std::vector<uint8_t> &file);

// Forks; the child runs all ranks of the file as threads on the CPU device for one step and is
// stopped after `limitSeconds`.
RunResult runOnce(const std::vector<uint8_t> &file, unsigned limitSeconds);

} // namespace dtc::fuzz
