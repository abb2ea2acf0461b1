// cuBLASLt, NVIDIA's library for matrix products, as a table of functions.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/cuda/DriverTypes.h"

namespace dtc::rt::cu {

using BlasStatus = int;
using BlasHandle = void *;
using BlasDesc = void *;
using BlasLayout = void *;
using BlasPreference = void *;

// cublasLtMatmulAlgo_t
struct BlasAlgo {
  uint64_t data[8];
  bool operator==(const BlasAlgo &) const = default;
};
// cublasLtMatmulHeuristicResult_t
struct BlasChoice {
  BlasAlgo algo;
  size_t workspaceBytes;
  BlasStatus state;
  float waves;
  int reserved[4];
};

inline constexpr int blasF32 = 0, blasF16 = 2, blasBf16 = 14; // cudaDataType
inline constexpr int blasComputeF32 = 68;
inline constexpr int blasPlain = 0, blasTransposed = 1;
inline constexpr int blasDescTransA = 3, blasDescTransB = 4, blasDescEpilogue = 7, blasDescBias = 8,
                     blasDescAux = 11, blasDescAuxPitch = 12, blasDescAuxType = 22,
                     blasDescBiasType = 26;
// cublasLtEpilogue_t
inline constexpr uint32_t blasEpilogueNone = 1, blasEpilogueBias = 4, blasEpilogueGeluBias = 36,
                          blasEpilogueGeluAuxBias = 164, blasEpilogueDgelu = 192;
inline constexpr int blasLayoutBatches = 5, blasLayoutBatchStride = 6;
inline constexpr int blasPreferWorkspace = 1, blasPreferReduction = 3, blasPreferAlignA = 5,
                     blasPreferAlignB = 6, blasPreferAlignC = 7, blasPreferAlignD = 8;
// Partial sums over k are added up in f32 instead of the type of the result.
inline constexpr uint32_t blasReduceInCompute = 2;
inline constexpr BlasStatus blasNotInitialized = 1, blasInvalidValue = 7, blasNotSupported = 15;

// The functions of cuBLASLt, null until openBlasLt.
struct BlasLt {
#define DTC_BLASLT(name, result, parameters) result(*name) parameters = nullptr;
#include "runtime/cuda/BlasLt.def"
#undef DTC_BLASLT
};

// Fills the table from libcublasLt.so.13, which needs a driver of CUDA 13 (`driverVersion` 13000),
// or .12. The error Unavailable names what is missing.
Status openBlasLt(BlasLt &blas, int driverVersion);

// Returns success, or an error such as "cublasLtMatmul: an unsupported value or parameter was
// passed".
Status check(const BlasLt &blas, const char *call, BlasStatus status);

} // namespace dtc::rt::cu

// Calls a function and returns its error; see DTC_CUDA.
#define DTC_CUBLASLT(blas, function, ...)                                                          \
  DTC_RETURN_IF_ERROR(::dtc::rt::cu::check((blas), #function, (blas).function(__VA_ARGS__)))
