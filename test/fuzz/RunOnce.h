// Runs one step of a verified program in a process of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dtc::fuzz {

// The ways in which a run may end.
enum class RunStatus {
  Ran,     // to the end of the step
  Refused, // stopped with an error of the runtime
  Crashed,
  Hung,
};

// The end of a run.
struct RunResult {
  RunStatus runStatus = RunStatus::Ran;
  std::string what; // the signal, for Crashed
};

// Runs a valid file once in this process, so that children forked later find the kernels of the
// libraries compiled: oneDNN compiles them on first use, which takes longer than all the rest.
// Returns false on an error. No thread may outlive it, or children would lack that thread:
// OMP_NUM_THREADS and OPENBLAS_NUM_THREADS must have been 1 when the process started.
bool warmUp(const std::vector<uint8_t> &file);

// Forks a child that runs all ranks of the file as threads on the CPU device for one step, and
// returns how it ended. The child is stopped after `limitSeconds`.
RunResult runOnce(const std::vector<uint8_t> &file, unsigned limitSeconds);

} // namespace dtc::fuzz
