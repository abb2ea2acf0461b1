// Types and constants of CUDA's driver, declared here so that its headers are not needed.
// test/unit/fakecuda compares them with cuda.h if a toolkit is installed.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;

namespace dtc::rt::cu {

using Result = int;
using Device = int;
using DevicePtr = unsigned long long;
using Context = CUctx_st *;
using Module = CUmod_st *;
using Function = CUfunc_st *;
using Stream = CUstream_st *;
using Event = CUevent_st *;
using Graph = CUgraph_st *;
using GraphExec = CUgraphExec_st *;

using Allocation = unsigned long long;

// CUmemLocation
struct MemoryLocation {
  int type = 1; // device memory
  int id = 0;
};
// CUmemAllocationHandleType: what lets other processes map memory, those of one machine or those of
// all machines that one NVLink connects.
inline constexpr int handleOfFile = 1, handleOfFabric = 8;
// CUmemAllocationProp
struct AllocationProperties {
  int type = 1; // pinned, as all device memory is
  int handles = handleOfFile;
  MemoryLocation location;
  void *windows = nullptr;
  unsigned char compression = 0, isForNetwork = 0;
  unsigned short usage = 0;
  unsigned char reserved[4] = {};
};
// CUmemAccessDesc
struct AccessDescription {
  MemoryLocation location;
  int flags = 3; // reads and writes
};

inline constexpr Result success = 0, errorInvalidValue = 1, errorOutOfMemory = 2,
                        errorNotInitialized = 3, errorNoDevice = 100, errorInvalidDevice = 101,
                        errorInvalidImage = 200, errorInvalidContext = 201,
                        errorNoBinaryForGpu = 209, errorInvalidPtx = 218,
                        errorUnsupportedPtxVersion = 222, errorOperatingSystem = 304,
                        errorInvalidHandle = 400, errorNotFound = 500, errorNotReady = 600,
                        errorIllegalAddress = 700, errorLaunchOutOfResources = 701,
                        errorLaunchFailed = 719, errorNotPermitted = 800,
                        errorCaptureUnsupported = 900, errorCaptureInvalidated = 901,
                        errorCaptureMerge = 902, errorCaptureUnmatched = 903,
                        errorCaptureUnjoined = 904, errorCaptureIsolation = 905,
                        errorCaptureImplicit = 906, errorCapturedEvent = 907;

inline constexpr int attributePciBus = 33, attributePciDevice = 34, attributePciDomain = 50;
inline constexpr int attributeVirtualMemory = 102, attributeMemoryAsFile = 103,
                     attributeDirectNetwork = 110, attributeMemoryOnFabric = 128,
                     granularityRecommended = 1;
inline constexpr int attributeMaxSharedOptin = 97, attributeMajor = 75, attributeMinor = 76;
inline constexpr int functionMaxDynamicShared = 8;
inline constexpr unsigned streamNonBlocking = 1, eventDefault = 0, eventDisableTiming = 2;
inline constexpr int captureRelaxed = 2;
inline constexpr unsigned long long graphNodePriority = 8;
inline constexpr unsigned waitValueEqual = 1;
inline constexpr int jitErrorLog = 5, jitErrorLogBytes = 6;

} // namespace dtc::rt::cu
