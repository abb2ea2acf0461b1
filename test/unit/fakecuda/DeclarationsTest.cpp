// Compares our declarations of CUDA's functions with NVIDIA's headers, if this machine has them:
// this file compiles if they agree.
#if DTC_HAS_CUDA_HEADERS
// This header comes first: its macros rename functions to their versions, and so do the members of
// our tables.
#include <cublasLt.h>
#include <cuda.h>
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif
#if __has_include(<nccl.h>)
#include <nccl.h>
#endif
#endif

#include "runtime/cuda/BlasLt.h"
#include "runtime/cuda/Cudnn.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/Nccl.h"

#include <gtest/gtest.h>

#if DTC_HAS_CUDA_HEADERS
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace dtc::rt::cu {
namespace {

// Types are passed in the same way if both are pointers, or numbers or enums of one size.
template <typename A, typename B>
constexpr bool isSameType =
    std::is_pointer_v<A> ? std::is_pointer_v<B>
                         : !std::is_pointer_v<B> && sizeof(A) == sizeof(B) &&
                               std::is_class_v<A> == std::is_class_v<B>;
template <> constexpr bool isSameType<void, void> = true;

template <typename A, typename B> struct SameCall : std::false_type {};
template <typename A, typename B, typename... As, typename... Bs>
requires(sizeof...(As) == sizeof...(Bs)) struct SameCall<A (*)(As...), B (*)(Bs...)>
    : std::bool_constant<isSameType<A, B> && (isSameType<As, Bs> && ...)> {
};

// Returns true if the symbol is the version that the header selects. For elapsed times we use the
// first version, which all drivers have.
constexpr bool isVersion(std::string_view symbol, std::string_view meant) {
  return symbol == meant || symbol == "cuEventElapsedTime";
}
#define DTC_WORDS(name) #name
#define DTC_EXPANDED(name) DTC_WORDS(name)

#define DTC_CU(name, symbol, parameters)                                                           \
  static_assert(SameCall<decltype(&::name), decltype(Driver::name)>::value, #name);                \
  static_assert(isVersion(symbol, DTC_EXPANDED(name)), #name);
#define DTC_BLASLT(name, result, parameters)                                                       \
  static_assert(SameCall<decltype(&::name), decltype(BlasLt::name)>::value, #name);
#include "runtime/cuda/BlasLt.def"
#include "runtime/cuda/Driver.def"
#undef DTC_CU
#undef DTC_BLASLT

static_assert(errorOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY &&
              errorNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(errorNotFound == CUDA_ERROR_NOT_FOUND && errorNotReady == CUDA_ERROR_NOT_READY);
static_assert(errorIllegalAddress == CUDA_ERROR_ILLEGAL_ADDRESS &&
              errorLaunchFailed == CUDA_ERROR_LAUNCH_FAILED);
static_assert(errorOperatingSystem == CUDA_ERROR_OPERATING_SYSTEM &&
              errorInvalidHandle == CUDA_ERROR_INVALID_HANDLE);
static_assert(errorCaptureUnsupported == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
              errorCaptureInvalidated == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED &&
              errorCaptureMerge == CUDA_ERROR_STREAM_CAPTURE_MERGE &&
              errorCaptureUnmatched == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED &&
              errorCaptureUnjoined == CUDA_ERROR_STREAM_CAPTURE_UNJOINED &&
              errorCaptureIsolation == CUDA_ERROR_STREAM_CAPTURE_ISOLATION &&
              errorCapturedEvent == CUDA_ERROR_CAPTURED_EVENT);
static_assert(attributeMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
              attributeMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR &&
              attributeMaxSharedOptin == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(functionMaxDynamicShared == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(streamNonBlocking == CU_STREAM_NON_BLOCKING && eventDefault == CU_EVENT_DEFAULT &&
              eventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(captureRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED &&
              graphNodePriority == CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY &&
              waitValueEqual == CU_STREAM_WAIT_VALUE_EQ);
static_assert(jitErrorLog == CU_JIT_ERROR_LOG_BUFFER &&
              jitErrorLogBytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
static_assert(attributeVirtualMemory == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED &&
              attributeMemoryAsFile ==
                  CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED &&
              attributeDirectNetwork ==
                  CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED &&
              attributeMemoryOnFabric == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED &&
              handleOfFabric == CU_MEM_HANDLE_TYPE_FABRIC &&
              granularityRecommended == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
static_assert(sizeof(AllocationProperties) == sizeof(CUmemAllocationProp) &&
              offsetof(AllocationProperties, location) == offsetof(CUmemAllocationProp, location) &&
              offsetof(AllocationProperties, isForNetwork) ==
                  offsetof(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable) &&
              sizeof(AccessDescription) == sizeof(CUmemAccessDesc) &&
              offsetof(AccessDescription, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(AllocationProperties().type == CU_MEM_ALLOCATION_TYPE_PINNED &&
              AllocationProperties().handles == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR &&
              MemoryLocation().type == CU_MEM_LOCATION_TYPE_DEVICE &&
              AccessDescription().flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(attributePciBus == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID &&
              attributePciDevice == CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID &&
              attributePciDomain == CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);

static_assert(blasF32 == CUDA_R_32F && blasF16 == CUDA_R_16F && blasBf16 == CUDA_R_16BF &&
              blasComputeF32 == CUBLAS_COMPUTE_32F);
static_assert(blasTransposed == CUBLAS_OP_T && blasPlain == CUBLAS_OP_N);
static_assert(blasDescTransA == CUBLASLT_MATMUL_DESC_TRANSA &&
              blasDescTransB == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(blasDescEpilogue == CUBLASLT_MATMUL_DESC_EPILOGUE &&
              blasDescBias == CUBLASLT_MATMUL_DESC_BIAS_POINTER &&
              blasDescAux == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER &&
              blasDescAuxPitch == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD &&
              blasDescAuxType == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE &&
              blasDescBiasType == CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
static_assert(blasEpilogueNone == CUBLASLT_EPILOGUE_DEFAULT &&
              blasEpilogueBias == CUBLASLT_EPILOGUE_BIAS &&
              blasEpilogueGeluBias == CUBLASLT_EPILOGUE_GELU_BIAS &&
              blasEpilogueGeluAuxBias == CUBLASLT_EPILOGUE_GELU_AUX_BIAS &&
              blasEpilogueDgelu == CUBLASLT_EPILOGUE_DGELU);
static_assert(blasLayoutBatches == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT &&
              blasLayoutBatchStride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(blasPreferWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES &&
              blasPreferReduction == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK &&
              blasReduceInCompute == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE &&
              blasPreferAlignA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
              blasPreferAlignD == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(blasInvalidValue == CUBLAS_STATUS_INVALID_VALUE &&
              blasNotSupported == CUBLAS_STATUS_NOT_SUPPORTED);
static_assert(sizeof(BlasChoice) == sizeof(cublasLtMatmulHeuristicResult_t) &&
              offsetof(BlasChoice, workspaceBytes) ==
                  offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));

#if __has_include(<cudnn.h>)
#define DTC_CUDNN(name, result, parameters)                                                        \
  static_assert(SameCall<decltype(&::name), decltype(Cudnn::name)>::value, #name);
#include "runtime/cuda/Cudnn.def"
#undef DTC_CUDNN
// Some functions are deprecated in favour of ones that cuDNN 9.0 does not have.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
template <typename T, typename U> constexpr bool isNumber(T ours, U theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
#define DTC_SAME(ours, theirs) static_assert(isNumber(ours, theirs), #theirs)
DTC_SAME(cudnnPointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
DTC_SAME(cudnnEngine, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
DTC_SAME(cudnnEngineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
DTC_SAME(cudnnHeuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
DTC_SAME(cudnnPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
DTC_SAME(cudnnKnobChoice, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
DTC_SAME(cudnnPointwiseOp, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
DTC_SAME(cudnnOpGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
DTC_SAME(cudnnVariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
DTC_SAME(cudnnTensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
DTC_SAME(cudnnMatmul, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
DTC_SAME(cudnnMatmulOp, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
DTC_SAME(cudnnReduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
DTC_SAME(cudnnReductionOp, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
DTC_SAME(cudnnReshapeOp, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
DTC_SAME(cudnnPointwiseMode, CUDNN_ATTR_POINTWISE_MODE);
DTC_SAME(cudnnPointwisePrecision, CUDNN_ATTR_POINTWISE_MATH_PREC);
DTC_SAME(cudnnPointwiseAxis, CUDNN_ATTR_POINTWISE_AXIS);
DTC_SAME(cudnnHeuristicsMode, CUDNN_ATTR_ENGINEHEUR_MODE);
DTC_SAME(cudnnHeuristicsGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
DTC_SAME(cudnnHeuristicsResults, CUDNN_ATTR_ENGINEHEUR_RESULTS);
DTC_SAME(cudnnConfigEngine, CUDNN_ATTR_ENGINECFG_ENGINE);
DTC_SAME(cudnnConfigKnobs, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
DTC_SAME(cudnnPlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
DTC_SAME(cudnnPlanConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
DTC_SAME(cudnnPlanWorkspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
DTC_SAME(cudnnKnobType, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
DTC_SAME(cudnnKnobValue, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
DTC_SAME(cudnnPointwiseOpMode, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
DTC_SAME(cudnnPointwiseOpX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
DTC_SAME(cudnnPointwiseOpB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
DTC_SAME(cudnnPointwiseOpY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
DTC_SAME(cudnnPointwiseOpT, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
DTC_SAME(cudnnGraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
DTC_SAME(cudnnGraphOps, CUDNN_ATTR_OPERATIONGRAPH_OPS);
DTC_SAME(cudnnTensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
DTC_SAME(cudnnTensorType, CUDNN_ATTR_TENSOR_DATA_TYPE);
DTC_SAME(cudnnTensorSizes, CUDNN_ATTR_TENSOR_DIMENSIONS);
DTC_SAME(cudnnTensorStrides, CUDNN_ATTR_TENSOR_STRIDES);
DTC_SAME(cudnnTensorId, CUDNN_ATTR_TENSOR_UNIQUE_ID);
DTC_SAME(cudnnTensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
DTC_SAME(cudnnTensorIsByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
DTC_SAME(cudnnPackIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
DTC_SAME(cudnnPackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
DTC_SAME(cudnnPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
DTC_SAME(cudnnEngineGraph, CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
DTC_SAME(cudnnEngineIndex, CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
DTC_SAME(cudnnEngineNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
DTC_SAME(cudnnMatmulPrecision, CUDNN_ATTR_MATMUL_COMP_TYPE);
DTC_SAME(cudnnMatmulOpA, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
DTC_SAME(cudnnMatmulOpB, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
DTC_SAME(cudnnMatmulOpC, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
DTC_SAME(cudnnMatmulOpDesc, CUDNN_ATTR_OPERATION_MATMUL_DESC);
DTC_SAME(cudnnReductionOperator, CUDNN_ATTR_REDUCTION_OPERATOR);
DTC_SAME(cudnnReductionPrecision, CUDNN_ATTR_REDUCTION_COMP_TYPE);
DTC_SAME(cudnnReductionOpX, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
DTC_SAME(cudnnReductionOpY, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
DTC_SAME(cudnnReductionOpDesc, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
DTC_SAME(cudnnReshapeOpX, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
DTC_SAME(cudnnReshapeOpY, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
DTC_SAME(cudnnTypeHandle, CUDNN_TYPE_HANDLE);
DTC_SAME(cudnnTypeDataType, CUDNN_TYPE_DATA_TYPE);
DTC_SAME(cudnnTypeBool, CUDNN_TYPE_BOOLEAN);
DTC_SAME(cudnnTypeInt64, CUDNN_TYPE_INT64);
DTC_SAME(cudnnTypePointer, CUDNN_TYPE_VOID_PTR);
DTC_SAME(cudnnTypeHeuristics, CUDNN_TYPE_HEUR_MODE);
DTC_SAME(cudnnTypeKnob, CUDNN_TYPE_KNOB_TYPE);
DTC_SAME(cudnnTypeNote, CUDNN_TYPE_NUMERICAL_NOTE);
DTC_SAME(cudnnTypePointwise, CUDNN_TYPE_POINTWISE_MODE);
DTC_SAME(cudnnTypeDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR);
DTC_SAME(cudnnTypeReduction, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
DTC_SAME(cudnnTypeChar, CUDNN_TYPE_CHAR);
DTC_SAME(cudnnF32, CUDNN_DATA_FLOAT);
DTC_SAME(cudnnF16, CUDNN_DATA_HALF);
DTC_SAME(cudnnI32, CUDNN_DATA_INT32);
DTC_SAME(cudnnBf16, CUDNN_DATA_BFLOAT16);
DTC_SAME(cudnnBool, CUDNN_DATA_BOOLEAN);
DTC_SAME(cudnnAdd, CUDNN_POINTWISE_ADD);
DTC_SAME(cudnnMul, CUDNN_POINTWISE_MUL);
DTC_SAME(cudnnDiv, CUDNN_POINTWISE_DIV);
DTC_SAME(cudnnSub, CUDNN_POINTWISE_SUB);
DTC_SAME(cudnnExp, CUDNN_POINTWISE_EXP);
DTC_SAME(cudnnLog, CUDNN_POINTWISE_LOG);
DTC_SAME(cudnnCompareGe, CUDNN_POINTWISE_CMP_GE);
DTC_SAME(cudnnGenIndex, CUDNN_POINTWISE_GEN_INDEX);
DTC_SAME(cudnnSelect, CUDNN_POINTWISE_BINARY_SELECT);
DTC_SAME(cudnnReduceAdd, CUDNN_REDUCE_TENSOR_ADD);
DTC_SAME(cudnnReduceMax, CUDNN_REDUCE_TENSOR_MAX);
DTC_SAME(cudnnHeuristicsFallback, CUDNN_HEUR_MODE_FALLBACK);
DTC_SAME(cudnnHeuristicsA, CUDNN_HEUR_MODE_A);
DTC_SAME(cudnnNoteNondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
DTC_SAME(cudnnSuccess, CUDNN_STATUS_SUCCESS);
DTC_SAME(cudnnBadParam, CUDNN_STATUS_BAD_PARAM);
DTC_SAME(cudnnNotSupported, CUDNN_STATUS_NOT_SUPPORTED);
DTC_SAME(cudnnInternalError, CUDNN_STATUS_INTERNAL_ERROR);
DTC_SAME(cudnnExecutionFailed, CUDNN_STATUS_EXECUTION_FAILED);
#if CUDNN_VERSION >= 90800
DTC_SAME(cudnnDeviceProperties, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
DTC_SAME(cudnnHeuristicsDevice, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
DTC_SAME(cudnnPlanDevice, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
DTC_SAME(cudnnEngineDevice, CUDNN_ATTR_ENGINE_DEVICEPROP);
DTC_SAME(cudnnDeviceJson, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
#endif
#pragma GCC diagnostic pop
#else
TEST(CudaDeclarations, AreThoseOfCudnnsHeader) {
  GTEST_SKIP() << "this build found no cudnn.h to compare with";
}
#endif

#if __has_include(<nccl.h>)
#define DTC_NCCL(name, result, parameters)                                                         \
  static_assert(SameCall<decltype(&::name), decltype(Nccl::name)>::value, #name);
#include "runtime/cuda/Nccl.def"
#undef DTC_NCCL
static_assert(ncclSuccess == ::ncclSuccess && ncclUnhandledCudaError == ::ncclUnhandledCudaError &&
              ncclInvalidArgument == ::ncclInvalidArgument &&
              ncclInvalidUsage == ::ncclInvalidUsage && ncclRemoteError == ::ncclRemoteError &&
              ncclInProgress == ::ncclInProgress);
static_assert(ncclUint8 == ::ncclUint8 && ncclInt32 == ::ncclInt32 && ncclInt64 == ::ncclInt64 &&
              ncclFloat16 == ::ncclFloat16 && ncclFloat32 == ::ncclFloat32 &&
              ncclBfloat16 == ::ncclBfloat16);
static_assert(ncclSum == ::ncclSum && ncclMax == ::ncclMax &&
              ncclUnsetInt == NCCL_CONFIG_UNDEF_INT);
static_assert(sizeof(NcclId) == sizeof(ncclUniqueId));
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic) &&
              offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version) &&
              offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking) &&
              offsetof(NcclConfig, network) == offsetof(ncclConfig_t, netName) &&
              offsetof(NcclConfig, splitShare) == offsetof(ncclConfig_t, splitShare) &&
              offsetof(NcclConfig, mostBlocks) == offsetof(ncclConfig_t, maxCTAs) &&
              offsetof(NcclConfig, trafficClass) == offsetof(ncclConfig_t, trafficClass));
#if NCCL_VERSION_CODE >= 22703
static_assert(offsetof(NcclConfig, name) == offsetof(ncclConfig_t, commName) &&
              offsetof(NcclConfig, usesCollnet) == offsetof(ncclConfig_t, collnetEnable) &&
              offsetof(NcclConfig, blockPolicy) == offsetof(ncclConfig_t, CTAPolicy) &&
              offsetof(NcclConfig, shrinkShare) == offsetof(ncclConfig_t, shrinkShare) &&
              offsetof(NcclConfig, nvlsBlocks) == offsetof(ncclConfig_t, nvlsCTAs) &&
              offsetof(NcclConfig, networkChannels) <= sizeof(ncclConfig_t));
#endif
#if NCCL_VERSION_CODE >= 22900
static_assert(offsetof(NcclConfig, graphUsage) == offsetof(ncclConfig_t, graphUsageMode) &&
              offsetof(NcclConfig, remoteContexts) == offsetof(ncclConfig_t, numRmaCtx) &&
              sizeof(NcclConfig) <= sizeof(ncclConfig_t));
#endif

#else
TEST(CudaDeclarations, AreThoseOfNcclsHeader) {
  GTEST_SKIP() << "this build found no nccl.h to compare with";
}
#endif

} // namespace
} // namespace dtc::rt::cu

#else
TEST(CudaDeclarations, AreThoseOfTheHeaders) {
  GTEST_SKIP() << "this build found no cuda.h and cublasLt.h to compare with";
}
TEST(CudaDeclarations, AreThoseOfCudnnsHeader) {
  GTEST_SKIP() << "this build found no cuda.h to compare with";
}
TEST(CudaDeclarations, AreThoseOfNcclsHeader) {
  GTEST_SKIP() << "this build found no cuda.h to compare with";
}
#endif
