// NCCL, collectives between NVIDIA's GPUs, as a table of functions.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/cuda/DriverTypes.h"

#include <climits>

struct ncclComm;

namespace dtc::rt::cu {

using NcclResult = int;
using NcclComm = ncclComm *;
using NcclType = int;
using NcclReduction = int;

// ncclUniqueId
struct NcclId {
  char bytes[128];
};

inline constexpr int ncclUnsetInt = INT_MIN;

// ncclConfig_t up to a field of NCCL 2.29. A version takes the first `bytes` bytes, which configOf
// (NcclVersion.h) sets, and uses defaults for the rest.
struct NcclConfig {
  size_t bytes = 0;
  unsigned magic = 0xcafebeef;
  unsigned version = 0;
  int blocking = ncclUnsetInt;
  int clusterSize = ncclUnsetInt, leastBlocks = ncclUnsetInt, mostBlocks = ncclUnsetInt;
  const char *network = nullptr;
  int splitShare = ncclUnsetInt, trafficClass = ncclUnsetInt;
  const char *name = nullptr; // for NCCL's messages
  int usesCollnet = ncclUnsetInt, blockPolicy = ncclUnsetInt, shrinkShare = ncclUnsetInt;
  int nvlsBlocks = ncclUnsetInt;
  // Since 2.28:
  int networkChannels = ncclUnsetInt, nvlinkSchedule = ncclUnsetInt;
  // Since 2.29: 1 says that operations in graphs and operations in streams are never mixed.
  int graphUsage = ncclUnsetInt;
  int remoteContexts = ncclUnsetInt;
};
static_assert(sizeof(NcclConfig) == 88, "NCCL would read padding");

inline constexpr NcclResult ncclSuccess = 0, ncclUnhandledCudaError = 1, ncclSystemError = 2,
                            ncclInternalError = 3, ncclInvalidArgument = 4, ncclInvalidUsage = 5,
                            ncclRemoteError = 6, ncclInProgress = 7;
inline constexpr NcclType ncclUint8 = 1, ncclInt32 = 2, ncclInt64 = 4, ncclFloat16 = 6,
                          ncclFloat32 = 7, ncclBfloat16 = 9;
inline constexpr NcclReduction ncclSum = 0, ncclMax = 2;

// The functions of NCCL, null until openNccl.
struct Nccl {
  int version = 0; // 22703 for 2.27.3
  int toolkit = 0; // of CUDA, with which it was built: 12090 for 12.9; 0 if unknown

#define DTC_NCCL(name, result, parameters) result(*name) parameters = nullptr;
#include "runtime/cuda/Nccl.def"
#undef DTC_NCCL
};

// Fills the table from libnccl.so.2, but for `toolkit`. The error Unavailable names what is
// missing. The caller checks the versions (NcclVersion.h).
Status openNccl(Nccl &nccl);

// Returns success, also for operations in progress, or an error such as "ncclAllReduce: invalid
// usage".
Status check(const Nccl &nccl, const char *call, NcclResult result);

} // namespace dtc::rt::cu

// Calls a function and returns its error; see DTC_CUDA. The caller must wait for operations in
// progress.
#define DTC_NCCL_CALL(nccl, function, ...)                                                         \
  DTC_RETURN_IF_ERROR(::dtc::rt::cu::check((nccl), #function, (nccl).function(__VA_ARGS__)))
