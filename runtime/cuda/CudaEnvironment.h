// The environment variables that CUDA and NCCL read, and on which it depends whether operations of
// several ranks end.
#pragma once

#include "runtime/base/Status.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dtc::rt {

// Reads and changes environment variables: those of the process, or those of a test.
struct Environment {
  std::function<std::optional<std::string>(const char *name)> get;
  std::function<void(const char *name, const std::string &value)> set;
  std::function<void(const char *name)> unset;

  // Returns the environment of the process.
  static Environment ofProcess();
};

// Sets what the driver reads when it is initialised. Returns a message for the user for each value
// that it changes.
std::vector<std::string> prepareDriverEnvironment(const Environment &environment);

// Sets what NCCL reads when it is opened. Returns a message for the user for each value that it
// changes.
std::vector<std::string> prepareNcclEnvironment(const Environment &environment);

// Returns true if the user lets NCCL run several ranks on one GPU (NCCL_MULTI_RANK_GPU_ENABLE).
bool allowsSharedGpus(const Environment &environment);

// Fails with Unavailable where a setting keeps several ranks from running at once
// (CUDA_LAUNCH_BLOCKING).
Status checkSeveralRanks(const Environment &environment);

} // namespace dtc::rt
