// Stand-in for cuDNN's backend API: descriptors with the attributes that its documentation
// requires, a few engines, and graphs that are computed on the host.
#include "runtime/fakecuda/FakeCudnn.h"

#include "runtime/fakecuda/CudnnInterpreter.h"
#include "runtime/fakecuda/Machine.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace dtc::rt::fake {
namespace {

using cu::CudnnAttribute;
using cu::CudnnDescriptor;
using cu::CudnnKind;
using cu::CudnnStatus;
using cu::CudnnType;
using Lock = std::unique_lock<std::mutex>;

// Engines are numbers. Heuristics offer first one that adds up in any order, and says so; then one
// that has no plan, one that is fast and wrong, one whose bits differ from run to run without
// saying so, one that does nothing, and one that is right. A convolution has one more, before all
// others, which rounds its inputs, and says so.
enum Engine : int64_t { Right, Unordered, Unplanned, Wrong, Restless, Idle, Rounding, numEngines };
constexpr int kKernelKnob = 24;
constexpr int64_t kMostKnob = 40;
// Returns the workspace of an engine; the right one, which is offered last, wants the most.
constexpr uint64_t workspaceBytes(int64_t engine) {
  return 4096 * static_cast<uint64_t>(numEngines - engine);
}

// The rule for an attribute of a kind of descriptor.
struct Rule {
  CudnnKind kind;
  CudnnAttribute name;
  CudnnType type;
  int64_t least = 1, most = 1; // elements
  bool isNeeded = true;
  int child = -1; // the kind of descriptors; -1: any
};

constexpr int64_t kMany = 1 << 20;
#define DTC_CONVOLUTION_RULES(op)                                                                  \
  {cu::cudnn##op, cu::cudnn##op##Alpha, cu::cudnnTypeFloat},                                       \
      {cu::cudnn##op, cu::cudnn##op##Beta, cu::cudnnTypeFloat},                                    \
      {cu::cudnn##op, cu::cudnn##op##Desc,     cu::cudnnTypeDescriptor, 1, 1,                      \
       true,          cu::cudnnConvolutionDesc},                                                   \
      {cu::cudnn##op, cu::cudnn##op##X, cu::cudnnTypeDescriptor, 1, 1, true, cu::cudnnTensor},     \
      {cu::cudnn##op, cu::cudnn##op##W, cu::cudnnTypeDescriptor, 1, 1, true, cu::cudnnTensor}, {   \
    cu::cudnn##op, cu::cudnn##op##Y, cu::cudnnTypeDescriptor, 1, 1, true, cu::cudnnTensor          \
  }
const Rule kRules[] = {
    {cu::cudnnTensor, cu::cudnnTensorType, cu::cudnnTypeDataType},
    {cu::cudnnTensor, cu::cudnnTensorSizes, cu::cudnnTypeInt64, 4, 4},
    {cu::cudnnTensor, cu::cudnnTensorStrides, cu::cudnnTypeInt64, 4, 4},
    {cu::cudnnTensor, cu::cudnnTensorId, cu::cudnnTypeInt64},
    {cu::cudnnTensor, cu::cudnnTensorAlignment, cu::cudnnTypeInt64},
    {cu::cudnnTensor, cu::cudnnTensorIsVirtual, cu::cudnnTypeBool, 1, 1, false},
    {cu::cudnnTensor, cu::cudnnTensorIsByValue, cu::cudnnTypeBool, 1, 1, false},
    {cu::cudnnMatmul, cu::cudnnMatmulPrecision, cu::cudnnTypeDataType},
    {cu::cudnnMatmulOp, cu::cudnnMatmulOpA, cu::cudnnTypeDescriptor, 1, 1, true, cu::cudnnTensor},
    {cu::cudnnMatmulOp, cu::cudnnMatmulOpB, cu::cudnnTypeDescriptor, 1, 1, true, cu::cudnnTensor},
    {cu::cudnnMatmulOp, cu::cudnnMatmulOpC, cu::cudnnTypeDescriptor, 1, 1, true, cu::cudnnTensor},
    {cu::cudnnMatmulOp, cu::cudnnMatmulOpDesc, cu::cudnnTypeDescriptor, 1, 1, true,
     cu::cudnnMatmul},
    {cu::cudnnPointwise, cu::cudnnPointwiseMode, cu::cudnnTypePointwise},
    {cu::cudnnPointwise, cu::cudnnPointwisePrecision, cu::cudnnTypeDataType},
    {cu::cudnnPointwise, cu::cudnnPointwiseAxis, cu::cudnnTypeInt64, 1, 1, false},
    {cu::cudnnPointwiseOp, cu::cudnnPointwiseOpMode, cu::cudnnTypeDescriptor, 1, 1, true,
     cu::cudnnPointwise},
    {cu::cudnnPointwiseOp, cu::cudnnPointwiseOpX, cu::cudnnTypeDescriptor, 1, 1, true,
     cu::cudnnTensor},
    {cu::cudnnPointwiseOp, cu::cudnnPointwiseOpB, cu::cudnnTypeDescriptor, 1, 1, false,
     cu::cudnnTensor},
    {cu::cudnnPointwiseOp, cu::cudnnPointwiseOpT, cu::cudnnTypeDescriptor, 1, 1, false,
     cu::cudnnTensor},
    {cu::cudnnPointwiseOp, cu::cudnnPointwiseOpY, cu::cudnnTypeDescriptor, 1, 1, true,
     cu::cudnnTensor},
    {cu::cudnnReduction, cu::cudnnReductionPrecision, cu::cudnnTypeDataType},
    {cu::cudnnReduction, cu::cudnnReductionOperator, cu::cudnnTypeReduction},
    {cu::cudnnReductionOp, cu::cudnnReductionOpDesc, cu::cudnnTypeDescriptor, 1, 1, true,
     cu::cudnnReduction},
    {cu::cudnnReductionOp, cu::cudnnReductionOpX, cu::cudnnTypeDescriptor, 1, 1, true,
     cu::cudnnTensor},
    {cu::cudnnReductionOp, cu::cudnnReductionOpY, cu::cudnnTypeDescriptor, 1, 1, true,
     cu::cudnnTensor},
    {cu::cudnnReshapeOp, cu::cudnnReshapeOpX, cu::cudnnTypeDescriptor, 1, 1, true, cu::cudnnTensor},
    {cu::cudnnReshapeOp, cu::cudnnReshapeOpY, cu::cudnnTypeDescriptor, 1, 1, true, cu::cudnnTensor},
    {cu::cudnnConvolutionDesc, cu::cudnnConvolutionPrecision, cu::cudnnTypeDataType},
    {cu::cudnnConvolutionDesc, cu::cudnnConvolutionMode, cu::cudnnTypeConvolution},
    {cu::cudnnConvolutionDesc, cu::cudnnConvolutionDims, cu::cudnnTypeInt64},
    {cu::cudnnConvolutionDesc, cu::cudnnConvolutionStrides, cu::cudnnTypeInt64, 2, 2},
    {cu::cudnnConvolutionDesc, cu::cudnnConvolutionPrePadding, cu::cudnnTypeInt64, 2, 2},
    {cu::cudnnConvolutionDesc, cu::cudnnConvolutionPostPadding, cu::cudnnTypeInt64, 2, 2},
    {cu::cudnnConvolutionDesc, cu::cudnnConvolutionDilations, cu::cudnnTypeInt64, 2, 2},
    {cu::cudnnResample, cu::cudnnResampleMode, cu::cudnnTypeResample},
    {cu::cudnnResample, cu::cudnnResamplePrecision, cu::cudnnTypeDataType},
    {cu::cudnnResample, cu::cudnnResamplePaddingMode, cu::cudnnTypePadding},
    {cu::cudnnResample, cu::cudnnResampleDims, cu::cudnnTypeInt64},
    {cu::cudnnResample, cu::cudnnResampleStrides, cu::cudnnTypeFraction, 2, 2},
    {cu::cudnnResample, cu::cudnnResampleWindow, cu::cudnnTypeFraction, 2, 2},
    {cu::cudnnResample, cu::cudnnResamplePrePadding, cu::cudnnTypeFraction, 2, 2},
    {cu::cudnnResample, cu::cudnnResamplePostPadding, cu::cudnnTypeFraction, 2, 2},
    {cu::cudnnResampleOp, cu::cudnnResampleOpX, cu::cudnnTypeDescriptor, 1, 1, true,
     cu::cudnnTensor},
    {cu::cudnnResampleOp, cu::cudnnResampleOpY, cu::cudnnTypeDescriptor, 1, 1, true,
     cu::cudnnTensor},
    {cu::cudnnResampleOp, cu::cudnnResampleOpDesc, cu::cudnnTypeDescriptor, 1, 1, true,
     cu::cudnnResample},
    {cu::cudnnResampleGradOp, cu::cudnnResampleGradOpX, cu::cudnnTypeDescriptor, 1, 1, true,
     cu::cudnnTensor},
    {cu::cudnnResampleGradOp, cu::cudnnResampleGradOpY, cu::cudnnTypeDescriptor, 1, 1, true,
     cu::cudnnTensor},
    {cu::cudnnResampleGradOp, cu::cudnnResampleGradOpDesc, cu::cudnnTypeDescriptor, 1, 1, true,
     cu::cudnnResample},
    DTC_CONVOLUTION_RULES(ConvolutionOp),
    DTC_CONVOLUTION_RULES(ConvolutionImageOp),
    DTC_CONVOLUTION_RULES(ConvolutionWeightOp),
    {cu::cudnnOpGraph, cu::cudnnGraphHandle, cu::cudnnTypeHandle},
    {cu::cudnnOpGraph, cu::cudnnGraphOps, cu::cudnnTypeDescriptor, 1, kMany},
    {cu::cudnnHeuristics, cu::cudnnHeuristicsGraph, cu::cudnnTypeDescriptor, 1, 1, true,
     cu::cudnnOpGraph},
    {cu::cudnnHeuristics, cu::cudnnHeuristicsMode, cu::cudnnTypeHeuristics},
    {cu::cudnnEngine, cu::cudnnEngineGraph, cu::cudnnTypeDescriptor, 1, 1, true, cu::cudnnOpGraph},
    {cu::cudnnEngine, cu::cudnnEngineIndex, cu::cudnnTypeInt64},
    {cu::cudnnKnobChoice, cu::cudnnKnobType, cu::cudnnTypeKnob},
    {cu::cudnnKnobChoice, cu::cudnnKnobValue, cu::cudnnTypeInt64},
    {cu::cudnnEngineConfig, cu::cudnnConfigEngine, cu::cudnnTypeDescriptor, 1, 1, true,
     cu::cudnnEngine},
    {cu::cudnnEngineConfig, cu::cudnnConfigKnobs, cu::cudnnTypeDescriptor, 1, 64, false,
     cu::cudnnKnobChoice},
    {cu::cudnnPlan, cu::cudnnPlanHandle, cu::cudnnTypeHandle},
    {cu::cudnnPlan, cu::cudnnPlanConfig, cu::cudnnTypeDescriptor, 1, 1, true,
     cu::cudnnEngineConfig},
    {cu::cudnnVariantPack, cu::cudnnPackIds, cu::cudnnTypeInt64, 1, kMany},
    {cu::cudnnVariantPack, cu::cudnnPackPointers, cu::cudnnTypePointer, 1, kMany},
    {cu::cudnnVariantPack, cu::cudnnPackWorkspace, cu::cudnnTypePointer},
};

size_t bytesOf(CudnnType type) {
  switch (type) {
  case cu::cudnnTypeFraction:
    return sizeof(cu::CudnnFraction);
  case cu::cudnnTypeHandle:
  case cu::cudnnTypeInt64:
  case cu::cudnnTypePointer:
  case cu::cudnnTypeDescriptor:
    return 8;
  case cu::cudnnTypeBool:
  case cu::cudnnTypeChar:
    return 1;
  default:
    return 4;
  }
}

struct Handle {
  cu::Stream stream = nullptr;
};

struct Object {
  CudnnKind kind = cu::cudnnTensor;
  bool isFinal = false;
  std::map<CudnnAttribute, std::vector<char>> attributes;
  // The results of finalizing a descriptor.
  FakeTensor tensor;
  FakeOp op;
  std::shared_ptr<const FakeGraphOfOps> graph; // also in engines, configurations and plans
  int64_t engine = 0;
  std::vector<std::pair<int, int64_t>> knobs; // types and values of a configuration

  template <typename T> T get(CudnnAttribute name, T otherwise = T()) const {
    auto found = attributes.find(name);
    if (found != attributes.end())
      std::memcpy(&otherwise, found->second.data(), sizeof(T));
    return otherwise;
  }
  template <typename T> std::vector<T> list(CudnnAttribute name) const {
    auto found = attributes.find(name);
    std::vector<T> values(found == attributes.end() ? 0 : found->second.size() / sizeof(T));
    if (!values.empty())
      std::memcpy(values.data(), found->second.data(), found->second.size());
    return values;
  }
  template <typename T> void put(CudnnAttribute name, T value) {
    std::vector<char> &bytes = attributes[name];
    bytes.resize(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
  }
  std::vector<const Object *> children(CudnnAttribute name) const {
    std::vector<const Object *> found;
    for (CudnnDescriptor each : list<CudnnDescriptor>(name))
      found.push_back(static_cast<const Object *>(each));
    return found;
  }
  const Object *child(CudnnAttribute name) const {
    return static_cast<const Object *>(get<CudnnDescriptor>(name));
  }
};

#define DTC_FAKE_ENTER                                                                             \
  Machine &m = machine();                                                                          \
  Lock lock(m.mutex);                                                                              \
  if (m.enter() != cu::success)                                                                    \
    return cu::cudnnInternalError;

size_t cudnnGetVersion() { return machine().options.cudnnVersion; }

const char *cudnnGetErrorString(CudnnStatus status) {
  return status >= cu::cudnnExecutionFailed ? "CUDNN_STATUS_EXECUTION_FAILED"
         : status >= cu::cudnnInternalError ? "CUDNN_STATUS_INTERNAL_ERROR"
         : status >= cu::cudnnNotSupported  ? "CUDNN_STATUS_NOT_SUPPORTED"
                                            : "CUDNN_STATUS_BAD_PARAM";
}

void cudnnGetLastErrorString(char *message, size_t most) {
  if (most > 0)
    message[0] = 0;
}

CudnnStatus cudnnCreate(cu::CudnnHandle *handle) {
  DTC_FAKE_ENTER
  ++m.alive["cudnn handle"];
  *handle = new Handle;
  return cu::cudnnSuccess;
}

CudnnStatus cudnnDestroy(cu::CudnnHandle handle) {
  Machine &m = machine();
  Lock lock(m.mutex);
  delete static_cast<Handle *>(handle);
  --m.alive["cudnn handle"];
  return m.enterFree() == cu::success ? cu::cudnnSuccess : cu::cudnnInternalError;
}

CudnnStatus cudnnSetStream(cu::CudnnHandle handle, cu::Stream stream) {
  DTC_FAKE_ENTER
  if (!handle)
    return cu::cudnnBadParamNullPointer;
  static_cast<Handle *>(handle)->stream = stream;
  return cu::cudnnSuccess;
}

CudnnStatus cudnnBackendCreateDescriptor(CudnnKind kind, CudnnDescriptor *descriptor) {
  DTC_FAKE_ENTER
  bool isKnown = std::any_of(std::begin(kRules), std::end(kRules),
                             [kind](const Rule &rule) { return rule.kind == kind; });
  if (!isKnown)
    return cu::cudnnNotSupported;
  ++m.alive["cudnn descriptor"];
  auto *object = new Object;
  object->kind = kind;
  *descriptor = object;
  return cu::cudnnSuccess;
}

CudnnStatus cudnnBackendDestroyDescriptor(CudnnDescriptor descriptor) {
  Machine &m = machine();
  Lock lock(m.mutex);
  delete static_cast<Object *>(descriptor);
  --m.alive["cudnn descriptor"];
  return m.enterFree() == cu::success ? cu::cudnnSuccess : cu::cudnnInternalError;
}

const Rule *ruleOf(CudnnKind kind, CudnnAttribute name) {
  for (const Rule &rule : kRules)
    if (rule.kind == kind && rule.name == name)
      return &rule;
  return nullptr;
}

CudnnStatus cudnnBackendSetAttribute(CudnnDescriptor descriptor, CudnnAttribute name,
                                     CudnnType type, int64_t count, const void *values) {
  DTC_FAKE_ENTER
  auto *object = static_cast<Object *>(descriptor);
  if (!object || !values)
    return cu::cudnnBadParamNullPointer;
  const Rule *rule = ruleOf(object->kind, name);
  if (object->isFinal || !rule)
    return cu::cudnnBadParam;
  if (rule->type != type)
    return cu::cudnnBadParamType;
  if (count < rule->least || count > rule->most)
    return cu::cudnnBadParamOutOfBound;
  const auto *from = static_cast<const char *>(values);
  std::vector<char> bytes(from, from + static_cast<size_t>(count) * bytesOf(type));
  if (type == cu::cudnnTypeDescriptor)
    for (int64_t i = 0; i < count; ++i) {
      const auto *child = static_cast<Object *const *>(values)[i];
      if (!child || !child->isFinal)
        return cu::cudnnBadParamNotFinalized;
      if (rule->child >= 0 && child->kind != rule->child)
        return cu::cudnnBadParam;
    }
  object->attributes[name] = std::move(bytes);
  return cu::cudnnSuccess;
}

CudnnStatus finalizeTensor(Object &object) {
  FakeTensor &tensor = object.tensor;
  tensor.id = object.get<int64_t>(cu::cudnnTensorId);
  tensor.alignment = object.get<int64_t>(cu::cudnnTensorAlignment);
  tensor.type = object.get<cu::CudnnData>(cu::cudnnTensorType);
  tensor.isVirtual = object.get<bool>(cu::cudnnTensorIsVirtual);
  tensor.isByValue = object.get<bool>(cu::cudnnTensorIsByValue);
  auto sizes = object.list<int64_t>(cu::cudnnTensorSizes);
  auto strides = object.list<int64_t>(cu::cudnnTensorStrides);
  std::copy_n(sizes.begin(), 4, tensor.sizes.begin());
  std::copy_n(strides.begin(), 4, tensor.strides.begin());
  bool isSized = std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size > 0; }) &&
                 std::all_of(strides.begin(), strides.end(), [](int64_t step) { return step > 0; });
  bool isPower = tensor.alignment > 0 && (tensor.alignment & (tensor.alignment - 1)) == 0;
  return isSized && isPower && !(tensor.isVirtual && tensor.isByValue) ? cu::cudnnSuccess
                                                                       : cu::cudnnBadParam;
}

CudnnStatus finalizeOp(Object &object) {
  FakeOp &op = object.op;
  auto take = [&](CudnnAttribute name, FakeTensor &tensor) {
    const Object *child = object.child(name);
    if (child)
      tensor = child->tensor;
    return child != nullptr;
  };
  auto takeWindows = [&](CudnnAttribute desc, CudnnAttribute alpha, CudnnAttribute beta) {
    op.kind = FakeOp::Convolution;
    op.hasB = true;
    const Object *how = object.child(desc);
    auto pair = [&](CudnnAttribute name, std::array<int64_t, 2> &into) {
      auto values = how->list<int64_t>(name);
      std::copy_n(values.begin(), 2, into.begin());
    };
    pair(cu::cudnnConvolutionStrides, op.strides);
    pair(cu::cudnnConvolutionPrePadding, op.padding);
    pair(cu::cudnnConvolutionDilations, op.dilations);
    return how->get<int64_t>(cu::cudnnConvolutionDims) == 2 &&
           how->get<int>(cu::cudnnConvolutionMode) == cu::cudnnCrossCorrelation &&
           how->list<int64_t>(cu::cudnnConvolutionPrePadding) ==
               how->list<int64_t>(cu::cudnnConvolutionPostPadding) &&
           object.get<float>(alpha) == 1 && object.get<float>(beta) == 0;
  };
  if (object.kind == cu::cudnnConvolutionOp) {
    op.mode = FakeOp::OfResult;
    take(cu::cudnnConvolutionOpX, op.x);
    take(cu::cudnnConvolutionOpW, op.b);
    take(cu::cudnnConvolutionOpY, op.y);
    if (!takeWindows(cu::cudnnConvolutionOpDesc, cu::cudnnConvolutionOpAlpha,
                     cu::cudnnConvolutionOpBeta))
      return cu::cudnnNotSupported;
  } else if (object.kind == cu::cudnnConvolutionImageOp) {
    op.mode = FakeOp::OfImage;
    take(cu::cudnnConvolutionImageOpX, op.y);
    take(cu::cudnnConvolutionImageOpW, op.b);
    take(cu::cudnnConvolutionImageOpY, op.x);
    if (!takeWindows(cu::cudnnConvolutionImageOpDesc, cu::cudnnConvolutionImageOpAlpha,
                     cu::cudnnConvolutionImageOpBeta))
      return cu::cudnnNotSupported;
  } else if (object.kind == cu::cudnnConvolutionWeightOp) {
    op.mode = FakeOp::OfWeight;
    take(cu::cudnnConvolutionWeightOpX, op.x);
    take(cu::cudnnConvolutionWeightOpW, op.y);
    take(cu::cudnnConvolutionWeightOpY, op.b);
    if (!takeWindows(cu::cudnnConvolutionWeightOpDesc, cu::cudnnConvolutionWeightOpAlpha,
                     cu::cudnnConvolutionWeightOpBeta))
      return cu::cudnnNotSupported;
  } else if (object.kind == cu::cudnnMatmulOp) {
    op.kind = FakeOp::Matmul;
    take(cu::cudnnMatmulOpA, op.x);
    op.hasB = take(cu::cudnnMatmulOpB, op.b);
    take(cu::cudnnMatmulOpC, op.y);
  } else if (object.kind == cu::cudnnReductionOp) {
    op.kind = FakeOp::Reduction;
    op.mode = object.child(cu::cudnnReductionOpDesc)->get<int>(cu::cudnnReductionOperator);
    take(cu::cudnnReductionOpX, op.x);
    take(cu::cudnnReductionOpY, op.y);
    if (op.mode != cu::cudnnReduceAdd && op.mode != cu::cudnnReduceMax)
      return cu::cudnnNotSupported;
  } else if (object.kind == cu::cudnnResampleOp || object.kind == cu::cudnnResampleGradOp) {
    bool isGradient = object.kind == cu::cudnnResampleGradOp;
    op.kind = FakeOp::Means;
    op.mode = isGradient ? FakeOp::OfImage : FakeOp::OfResult;
    take(isGradient ? cu::cudnnResampleGradOpX : cu::cudnnResampleOpX, isGradient ? op.y : op.x);
    take(isGradient ? cu::cudnnResampleGradOpY : cu::cudnnResampleOpY, isGradient ? op.x : op.y);
    const Object *how =
        object.child(isGradient ? cu::cudnnResampleGradOpDesc : cu::cudnnResampleOpDesc);
    std::array<int64_t, 2> after{};
    bool isWhole = true;
    auto pair = [&](CudnnAttribute name, std::array<int64_t, 2> &into) {
      auto values = how->list<cu::CudnnFraction>(name);
      for (size_t i = 0; i < 2; ++i) {
        into[i] = values[i].numerator;
        isWhole = isWhole && values[i].denominator == 1;
      }
    };
    pair(cu::cudnnResampleStrides, op.strides);
    pair(cu::cudnnResampleWindow, op.window);
    pair(cu::cudnnResamplePrePadding, op.padding);
    pair(cu::cudnnResamplePostPadding, after);
    if (!isWhole || after != op.padding || how->get<int64_t>(cu::cudnnResampleDims) != 2 ||
        how->get<int>(cu::cudnnResampleMode) != cu::cudnnMeanWithPadding ||
        how->get<int>(cu::cudnnResamplePaddingMode) != cu::cudnnZeroPadding)
      return cu::cudnnNotSupported;
  } else if (object.kind == cu::cudnnReshapeOp) {
    op.kind = FakeOp::Reshape;
    take(cu::cudnnReshapeOpX, op.x);
    take(cu::cudnnReshapeOpY, op.y);
  } else {
    op.kind = FakeOp::Pointwise;
    const Object *how = object.child(cu::cudnnPointwiseOpMode);
    op.mode = how->get<int>(cu::cudnnPointwiseMode);
    op.axis = how->get<int64_t>(cu::cudnnPointwiseAxis, -1);
    take(cu::cudnnPointwiseOpX, op.x);
    op.hasB = take(cu::cudnnPointwiseOpB, op.b);
    op.hasT = take(cu::cudnnPointwiseOpT, op.t);
    take(cu::cudnnPointwiseOpY, op.y);
    bool isIndex = op.mode == cu::cudnnGenIndex, isSelect = op.mode == cu::cudnnSelect;
    bool isUnary = isIndex || op.mode == cu::cudnnExp || op.mode == cu::cudnnLog;
    if (op.hasB == isUnary || op.hasT != isSelect || (op.axis >= 0) != isIndex || op.axis > 3)
      return cu::cudnnBadParam;
  }
  return isShaped(op) ? cu::cudnnSuccess : cu::cudnnBadParamShape;
}

// Finalizes a graph: tensors with one number have to be equal, and virtual tensors are written
// once, before they are read.
CudnnStatus finalizeGraph(Object &object) {
  auto graph = std::make_shared<FakeGraphOfOps>();
  std::set<int64_t> written;
  for (const Object *each : object.children(cu::cudnnGraphOps)) {
    const FakeOp &op = each->op;
    for (const FakeTensor *tensor : {&op.x, op.hasB ? &op.b : &op.x, op.hasT ? &op.t : &op.x}) {
      if (tensor->isVirtual && written.count(tensor->id) == 0)
        return cu::cudnnNotSupportedPattern;
      if (!(graph->tensors.emplace(tensor->id, *tensor).first->second == *tensor))
        return cu::cudnnBadParamDuplicate;
    }
    if (!written.insert(op.y.id).second || op.y.isByValue ||
        !graph->tensors.emplace(op.y.id, op.y).second)
      return cu::cudnnBadParamDuplicate;
    graph->ops.push_back(op);
  }
  object.graph = std::move(graph);
  return cu::cudnnSuccess;
}

CudnnStatus finalizePack(const Object &object) {
  auto ids = object.list<int64_t>(cu::cudnnPackIds);
  if (ids.size() != object.list<void *>(cu::cudnnPackPointers).size())
    return cu::cudnnBadParam;
  return std::set<int64_t>(ids.begin(), ids.end()).size() == ids.size()
             ? cu::cudnnSuccess
             : cu::cudnnBadParamDuplicate;
}

CudnnStatus finalizeConfig(Object &object) {
  const Object *engine = object.child(cu::cudnnConfigEngine);
  object.graph = engine->graph;
  object.engine = engine->engine;
  for (const Object *knob : object.children(cu::cudnnConfigKnobs)) {
    object.knobs.emplace_back(knob->get<int>(cu::cudnnKnobType),
                              knob->get<int64_t>(cu::cudnnKnobValue));
    auto [type, value] = object.knobs.back();
    if (type != kKernelKnob || value < 0 || value > kMostKnob)
      return cu::cudnnNotSupported;
  }
  return cu::cudnnSuccess;
}

CudnnStatus finalizeObject(Object &object) {
  switch (object.kind) {
  case cu::cudnnTensor:
    return finalizeTensor(object);
  case cu::cudnnMatmulOp:
  case cu::cudnnConvolutionOp:
  case cu::cudnnConvolutionImageOp:
  case cu::cudnnConvolutionWeightOp:
  case cu::cudnnPointwiseOp:
  case cu::cudnnReductionOp:
  case cu::cudnnReshapeOp:
  case cu::cudnnResampleOp:
  case cu::cudnnResampleGradOp:
    return finalizeOp(object);
  case cu::cudnnOpGraph:
    return finalizeGraph(object);
  case cu::cudnnHeuristics:
    object.graph = object.child(cu::cudnnHeuristicsGraph)->graph;
    return cu::cudnnSuccess;
  case cu::cudnnEngine:
    object.graph = object.child(cu::cudnnEngineGraph)->graph;
    object.engine = object.get<int64_t>(cu::cudnnEngineIndex);
    return object.engine >= 0 && object.engine < numEngines ? cu::cudnnSuccess
                                                            : cu::cudnnBadParamOutOfBound;
  case cu::cudnnEngineConfig:
    return finalizeConfig(object);
  case cu::cudnnPlan:
    object.graph = object.child(cu::cudnnPlanConfig)->graph;
    object.engine = object.child(cu::cudnnPlanConfig)->engine;
    return object.engine == Unplanned ? cu::cudnnNotSupported : cu::cudnnSuccess;
  case cu::cudnnVariantPack:
    return finalizePack(object);
  default:
    return cu::cudnnSuccess;
  }
}

CudnnStatus cudnnBackendFinalize(CudnnDescriptor descriptor) {
  DTC_FAKE_ENTER
  auto *object = static_cast<Object *>(descriptor);
  if (!object || object->isFinal)
    return cu::cudnnBadParam;
  for (const Rule &rule : kRules)
    if (rule.kind == object->kind && rule.isNeeded && object->attributes.count(rule.name) == 0)
      return cu::cudnnBadParam;
  CudnnStatus status = finalizeObject(*object);
  object->isFinal = status == cu::cudnnSuccess;
  return status;
}

bool isConvolution(const FakeGraphOfOps &graph) {
  return !graph.ops.empty() && graph.ops[0].kind == FakeOp::Convolution;
}

// Returns the engines that heuristics offer, best first, with the choice of their knob; -1 for
// none.
std::vector<std::pair<int64_t, int64_t>> offersOf(int mode, const FakeGraphOfOps &graph) {
  std::vector<std::pair<int64_t, int64_t>> offers = {{Right, -1}};
  if (mode == cu::cudnnHeuristicsA)
    offers = {{Unordered, 3}, {Unplanned, 7}, {Wrong, 2}, {Restless, -1}, {Idle, -1}, {Right, 5}};
  if (isConvolution(graph))
    offers.insert(offers.begin(), {Rounding, -1});
  return offers;
}

void fillConfig(const Object &heuristics, const std::pair<int64_t, int64_t> &offer, Object &into) {
  into.isFinal = true;
  into.graph = heuristics.graph;
  into.engine = offer.first;
  into.knobs.clear();
  if (offer.second >= 0)
    into.knobs.emplace_back(kKernelKnob, offer.second);
}

template <typename T>
CudnnStatus give(const std::vector<T> &values, int64_t wanted, int64_t *count, void *into) {
  if (count)
    *count = static_cast<int64_t>(values.size());
  for (int64_t i = 0; i < std::min<int64_t>(wanted, static_cast<int64_t>(values.size())); ++i)
    static_cast<T *>(into)[i] = values[static_cast<size_t>(i)];
  return cu::cudnnSuccess;
}

// Fills descriptors that the caller has made.
template <typename Fill>
CudnnStatus giveObjects(size_t available, CudnnKind kind, int64_t wanted, int64_t *count,
                        void *into, const Fill &fill) {
  if (count)
    *count = static_cast<int64_t>(available);
  for (size_t i = 0; i < std::min(available, static_cast<size_t>(wanted)); ++i) {
    Object *object = static_cast<Object **>(into)[i];
    if (!object || object->kind != kind)
      return cu::cudnnBadParam;
    fill(i, *object);
  }
  return cu::cudnnSuccess;
}

CudnnStatus cudnnBackendGetAttribute(CudnnDescriptor descriptor, CudnnAttribute name,
                                     CudnnType type, int64_t wanted, int64_t *count, void *into) {
  DTC_FAKE_ENTER
  const auto *object = static_cast<const Object *>(descriptor);
  if (!object || !object->isFinal)
    return cu::cudnnBadParamNotFinalized;
  if (wanted < 0 || (wanted > 0 && !into))
    return cu::cudnnBadParamNullPointer;
  auto is = [&](CudnnKind kind, CudnnAttribute wantedName, CudnnType wantedType) {
    return object->kind == kind && name == wantedName && type == wantedType;
  };
  if (is(cu::cudnnHeuristics, cu::cudnnHeuristicsResults, cu::cudnnTypeDescriptor)) {
    auto offers = offersOf(object->get<int>(cu::cudnnHeuristicsMode), *object->graph);
    return giveObjects(offers.size(), cu::cudnnEngineConfig, wanted, count, into,
                       [&](size_t i, Object &config) { fillConfig(*object, offers[i], config); });
  }
  if (is(cu::cudnnEngineConfig, cu::cudnnConfigEngine, cu::cudnnTypeDescriptor))
    return giveObjects(1, cu::cudnnEngine, wanted, count, into, [&](size_t, Object &engine) {
      engine.isFinal = true;
      engine.graph = object->graph;
      engine.engine = object->engine;
    });
  if (is(cu::cudnnEngineConfig, cu::cudnnConfigKnobs, cu::cudnnTypeDescriptor))
    return giveObjects(object->knobs.size(), cu::cudnnKnobChoice, wanted, count, into,
                       [&](size_t i, Object &knob) {
                         knob.isFinal = true;
                         knob.put(cu::cudnnKnobType, object->knobs[i].first);
                         knob.put(cu::cudnnKnobValue, object->knobs[i].second);
                       });
  if (is(cu::cudnnEngine, cu::cudnnEngineIndex, cu::cudnnTypeInt64))
    return give<int64_t>({object->engine}, wanted, count, into);
  if (is(cu::cudnnEngine, cu::cudnnEngineNotes, cu::cudnnTypeNote))
    return give<int>(object->engine == Unordered
                         ? std::vector<int>{0, cu::cudnnNoteNondeterministic}
                     : object->engine == Rounding ? std::vector<int>{0, cu::cudnnNoteRoundsInputs}
                                                  : std::vector<int>{0},
                     wanted, count, into);
  if (is(cu::cudnnKnobChoice, cu::cudnnKnobType, cu::cudnnTypeKnob))
    return give<int>({object->get<int>(name)}, wanted, count, into);
  if (is(cu::cudnnKnobChoice, cu::cudnnKnobValue, cu::cudnnTypeInt64))
    return give<int64_t>({object->get<int64_t>(name)}, wanted, count, into);
  if (is(cu::cudnnPlan, cu::cudnnPlanWorkspace, cu::cudnnTypeInt64))
    return give<int64_t>({static_cast<int64_t>(workspaceBytes(object->engine))}, wanted, count,
                         into);
  return cu::cudnnBadParam;
}

// The addresses of a graph's tensors, from a variant pack.
struct Operands {
  std::map<int64_t, char *> pointers;
  std::map<int64_t, float> values;
};

// Reads a pack, which has to have every tensor of the graph that is not virtual, and no other.
CudnnStatus readPack(const FakeGraphOfOps &graph, const Object &pack, Operands &operands) {
  auto ids = pack.list<int64_t>(cu::cudnnPackIds);
  auto pointers = pack.list<char *>(cu::cudnnPackPointers);
  for (size_t i = 0; i < ids.size(); ++i) {
    auto found = graph.tensors.find(ids[i]);
    if (found == graph.tensors.end() || found->second.isVirtual)
      return cu::cudnnBadParam;
    const FakeTensor &tensor = found->second;
    if (!pointers[i])
      return cu::cudnnBadParamNullPointer;
    if (tensor.isByValue) {
      int32_t number = 0;
      float value = 0;
      std::memcpy(&number, pointers[i], sizeof(number));
      std::memcpy(&value, pointers[i], sizeof(value));
      operands.values[tensor.id] = tensor.type == cu::cudnnI32 ? static_cast<float>(number) : value;
      continue;
    }
    if (reinterpret_cast<uintptr_t>(pointers[i]) % static_cast<uintptr_t>(tensor.alignment) != 0)
      return cu::cudnnBadParamMisaligned;
    operands.pointers[tensor.id] = pointers[i];
  }
  for (const auto &[id, tensor] : graph.tensors)
    if (!tensor.isVirtual && operands.pointers.count(id) + operands.values.count(id) == 0)
      return cu::cudnnBadParam;
  return cu::cudnnSuccess;
}

CudnnStatus cudnnBackendExecute(cu::CudnnHandle handle, CudnnDescriptor planAt,
                                CudnnDescriptor packAt) {
  DTC_FAKE_ENTER
  const auto *plan = static_cast<const Object *>(planAt), *pack = static_cast<Object *>(packAt);
  if (!handle || !plan || !pack)
    return cu::cudnnBadParamNullPointer;
  if (!plan->isFinal || !pack->isFinal)
    return cu::cudnnBadParamNotFinalized;
  if (plan->kind != cu::cudnnPlan || pack->kind != cu::cudnnVariantPack)
    return cu::cudnnBadParam;
  Operands operands;
  if (CudnnStatus status = readPack(*plan->graph, *pack, operands); status != cu::cudnnSuccess)
    return status;
  auto *workspace = pack->get<char *>(cu::cudnnPackWorkspace);
  if (!workspace)
    return cu::cudnnBadParamNullPointer;
  auto &on = *reinterpret_cast<FakeStream *>(static_cast<Handle *>(handle)->stream);
  FakeGpu &gpu = *m.gpus[static_cast<size_t>(on.gpu)];
  ++gpu.cudnnRuns[plan->engine];
  double seconds = m.options.slowCudnn ? 1e-3 : plan->engine == Right ? 1e-6 : 0;
  cu::Result pushed =
      m.push(on,
             [&m, &gpu, graph = plan->graph, operands, workspace, engine = plan->engine,
              seconds]() -> Status {
               DTC_RETURN_IF_ERROR(
                   gpu.memory.checkWrite(workspace, workspaceBytes(engine), "cuDNN's workspace"));
               float error = engine == Wrong ? 1.03F
                             : engine == Restless
                                 ? 1 + 0x1p-10F * static_cast<float>(m.cudnnGraphs % 8)
                                 : 1;
               gpu.clock += seconds;
               ++m.cudnnGraphs;
               if (engine == Idle)
                 return {};
               return computeGraph(*graph, operands.pointers, operands.values, error, gpu.memory);
             });
  return pushed == cu::success ? cu::cudnnSuccess : cu::cudnnInternalError;
}

} // namespace

void fillCudnn(cu::Cudnn &cudnn) {
#define DTC_CUDNN(name, result, parameters) cudnn.name = name;
#include "runtime/cuda/Cudnn.def"
#undef DTC_CUDNN
}

} // namespace dtc::rt::fake
