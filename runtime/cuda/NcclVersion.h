// The versions of NCCL with which programs of several ranks end: of the library, and of the CUDA
// toolkit that it was built with, on which the order of its operations depends.
#pragma once

#include "runtime/cuda/Nccl.h"

#include <string_view>

namespace dtc::rt::cu {

// The least version of NCCL, as ncclGetVersion has it. Up to 2.26 all operations that a graph has
// captured run one after another, whatever their communicators, which deadlocks pipelines
// (getImplicitOrder in src/enqueue.cc).
inline constexpr int leastNccl = 22703;
// The first version that takes several ranks on one GPU, one process each, where
// NCCL_MULTI_RANK_GPU_ENABLE=1 is set.
inline constexpr int leastNcclForSharedGpus = 23003;
// The first version whose configuration says how graphs are used.
inline constexpr int leastNcclForGraphUsage = 22900;
// The least CUDA toolkit of a build: builds of older ones run operations one after another, too.
inline constexpr int leastNcclToolkit = 12030;

// Returns the version of the toolkit in "NCCL version 2.27.3+cuda12.9", such as 12090, which is the
// first such text in the bytes of a library; 0 if there is none.
int toolkitIn(std::string_view bytes);

// Returns toolkitIn of the file that `function` was loaded from; 0 if it cannot be read.
int toolkitOf(const void *function);

// Returns a configuration with all fields that a version of NCCL, 2.27.3 or later, has and that
// NcclConfig has, none of them set.
NcclConfig configOf(int ncclVersion);

// Checks `version` and `toolkit` of the table against what dtc needs and against the driver, whose
// version is as cuDriverGetVersion has it. An unknown toolkit (0) passes. Fails with Unavailable.
Status checkVersions(const Nccl &nccl, int driverVersion);

} // namespace dtc::rt::cu
