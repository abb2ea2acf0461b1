// cuDNN, NVIDIA's library of fused attention and convolution, as a table of functions; declares the
// parts of its graphs that both need.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/cuda/DriverTypes.h"

namespace dtc::rt::cu {

using CudnnStatus = int;
using CudnnHandle = void *;
using CudnnDescriptor = void *;

// cudnnBackendDescriptorType_t
enum CudnnKind : int {
  cudnnPointwise = 0,
  cudnnConvolutionDesc = 1,
  cudnnEngine = 2,
  cudnnEngineConfig = 3,
  cudnnHeuristics = 4,
  cudnnPlan = 5,
  cudnnKnobChoice = 7,
  cudnnConvolutionOp = 10,
  cudnnConvolutionWeightOp = 11,
  cudnnConvolutionImageOp = 12,
  cudnnPointwiseOp = 13,
  cudnnOpGraph = 15,
  cudnnVariantPack = 16,
  cudnnTensor = 17,
  cudnnMatmul = 18,
  cudnnMatmulOp = 19,
  cudnnReduction = 21,
  cudnnReductionOp = 22,
  cudnnResample = 24,
  cudnnResampleOp = 25,
  cudnnResampleGradOp = 26,
  cudnnReshapeOp = 31,
  cudnnDeviceProperties = 38, // since 9.8
};

// cudnnBackendAttributeName_t
enum CudnnAttribute : int {
  cudnnPointwiseMode = 0,
  cudnnPointwisePrecision = 1,
  cudnnPointwiseAxis = 9,
  cudnnConvolutionPrecision = 100,
  cudnnConvolutionMode = 101,
  cudnnConvolutionDilations = 102,
  cudnnConvolutionStrides = 103,
  cudnnConvolutionPostPadding = 104,
  cudnnConvolutionPrePadding = 105,
  cudnnConvolutionDims = 106,
  cudnnHeuristicsMode = 200,
  cudnnHeuristicsGraph = 201,
  cudnnHeuristicsResults = 202,
  cudnnHeuristicsDevice = 204,
  cudnnConfigEngine = 300,
  cudnnConfigKnobs = 302,
  cudnnPlanHandle = 400,
  cudnnPlanConfig = 401,
  cudnnPlanWorkspace = 402,
  cudnnPlanDevice = 407,
  cudnnKnobType = 600,
  cudnnKnobValue = 601,
  cudnnConvolutionOpAlpha = 700,
  cudnnConvolutionOpBeta = 701,
  cudnnConvolutionOpDesc = 702,
  cudnnConvolutionOpW = 703,
  cudnnConvolutionOpX = 704,
  cudnnConvolutionOpY = 705,
  cudnnConvolutionImageOpAlpha = 706,
  cudnnConvolutionImageOpBeta = 707,
  cudnnConvolutionImageOpDesc = 708,
  cudnnConvolutionImageOpW = 709,
  cudnnConvolutionImageOpX = 710,
  cudnnConvolutionImageOpY = 711,
  cudnnConvolutionWeightOpAlpha = 712,
  cudnnConvolutionWeightOpBeta = 713,
  cudnnConvolutionWeightOpDesc = 714,
  cudnnConvolutionWeightOpW = 715,
  cudnnConvolutionWeightOpX = 716,
  cudnnConvolutionWeightOpY = 717,
  cudnnPointwiseOpMode = 750,
  cudnnPointwiseOpX = 751,
  cudnnPointwiseOpB = 752,
  cudnnPointwiseOpY = 753,
  cudnnPointwiseOpT = 758,
  cudnnGraphHandle = 800,
  cudnnGraphOps = 801,
  cudnnGraphEngines = 802,
  cudnnTensorAlignment = 900,
  cudnnTensorType = 901,
  cudnnTensorSizes = 902,
  cudnnTensorStrides = 903,
  cudnnTensorId = 906,
  cudnnTensorIsVirtual = 907,
  cudnnTensorIsByValue = 908,
  cudnnPackIds = 1000,
  cudnnPackPointers = 1001,
  cudnnPackWorkspace = 1003,
  cudnnEngineGraph = 1300,
  cudnnEngineIndex = 1301,
  cudnnEngineNotes = 1303,
  cudnnEngineDevice = 1307,
  cudnnMatmulPrecision = 1500,
  cudnnMatmulOpA = 1520,
  cudnnMatmulOpB = 1521,
  cudnnMatmulOpC = 1522,
  cudnnMatmulOpDesc = 1523,
  cudnnReductionOperator = 1600,
  cudnnReductionPrecision = 1601,
  cudnnReductionOpX = 1610,
  cudnnReductionOpY = 1611,
  cudnnReductionOpDesc = 1612,
  cudnnResampleMode = 1700,
  cudnnResamplePrecision = 1701,
  cudnnResampleDims = 1702,
  cudnnResamplePostPadding = 1703,
  cudnnResamplePrePadding = 1704,
  cudnnResampleStrides = 1705,
  cudnnResampleWindow = 1706,
  cudnnResamplePaddingMode = 1708,
  cudnnResampleOpX = 1710,
  cudnnResampleOpY = 1711,
  cudnnResampleOpDesc = 1716,
  cudnnResampleGradOpX = 1720, // the gradients of x and y
  cudnnResampleGradOpY = 1721,
  cudnnResampleGradOpDesc = 1725,
  cudnnReshapeOpX = 2200,
  cudnnReshapeOpY = 2201,
  cudnnDeviceJson = 2702,
};

// cudnnBackendAttributeType_t
enum CudnnType : int {
  cudnnTypeHandle = 0,
  cudnnTypeDataType = 1,
  cudnnTypeBool = 2,
  cudnnTypeInt64 = 3,
  cudnnTypeFloat = 4,
  cudnnTypePointer = 6,
  cudnnTypeConvolution = 7,
  cudnnTypeHeuristics = 8,
  cudnnTypeKnob = 9,
  cudnnTypeNote = 11,
  cudnnTypePointwise = 14,
  cudnnTypeDescriptor = 15,
  cudnnTypeReduction = 18,
  cudnnTypeResample = 21,
  cudnnTypePadding = 22,
  cudnnTypeChar = 24,
  cudnnTypeFraction = 26,
};

// cudnnDataType_t
enum CudnnData : int {
  cudnnF32 = 0,
  cudnnF16 = 2,
  cudnnI32 = 4,
  cudnnBf16 = 9,
  cudnnBool = 11,
};

// cudnnPointwiseMode_t
enum CudnnMode : int {
  cudnnAdd = 0,
  cudnnMul = 1,
  cudnnDiv = 6,
  cudnnSub = 9,
  cudnnExp = 13,
  cudnnLog = 15,
  cudnnCompareGe = 303,
  cudnnGenIndex = 501,
  cudnnSelect = 601,
};

inline constexpr int cudnnReduceAdd = 0, cudnnReduceMax = 3;
inline constexpr int cudnnHeuristicsFallback = 2, cudnnHeuristicsA = 3;
inline constexpr int cudnnNoteRoundsInputs = 1, cudnnNoteNondeterministic = 4, cudnnNoteCount = 10;
inline constexpr int cudnnCrossCorrelation = 1;
inline constexpr int cudnnMeanWithPadding = 2, cudnnZeroPadding = 0;
inline constexpr CudnnStatus cudnnSuccess = 0, cudnnBadParam = 2000,
                             cudnnBadParamNullPointer = 2002, cudnnBadParamMisaligned = 2003,
                             cudnnBadParamNotFinalized = 2004, cudnnBadParamOutOfBound = 2005,
                             cudnnBadParamShape = 2008, cudnnBadParamDuplicate = 2009,
                             cudnnBadParamType = 2010, cudnnNotSupported = 3000,
                             cudnnNotSupportedPattern = 3001, cudnnInternalError = 4000,
                             cudnnExecutionFailed = 5000;

// cudnnFraction_t
struct CudnnFraction {
  int64_t numerator, denominator;
};

// The functions of cuDNN, null until openCudnn.
struct Cudnn {
#define DTC_CUDNN(name, result, parameters) result(*name) parameters = nullptr;
#include "runtime/cuda/Cudnn.def"
#undef DTC_CUDNN
};

// Fills the table from libcudnn.so.9. The error Unavailable names what is missing, or says that it
// is too old.
Status openCudnn(Cudnn &cudnn);

// Returns success, or an error such as "cudnnBackendFinalize: CUDNN_STATUS_NOT_SUPPORTED: "
// followed by cuDNN's reason.
Status checkCudnn(const Cudnn &cudnn, const char *call, CudnnStatus status);

} // namespace dtc::rt::cu

// Calls a function and returns its error; see DTC_CUDA.
#define DTC_CUDNN_CALL(cudnn, function, ...)                                                       \
  DTC_RETURN_IF_ERROR(::dtc::rt::cu::checkCudnn((cudnn), #function, (cudnn).function(__VA_ARGS__)))
