#include "runtime/cuda/CudnnGraph.h"

#include <algorithm>

namespace dtc::rt {
namespace {

constexpr int64_t kAlignment = 16;
constexpr size_t kMostKnobs = 64;

CudnnSizes denseStrides(const CudnnSizes &sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}

// Reads all elements of a list of numbers, at most `most`.
template <typename T>
Status getList(const cu::Cudnn &cudnn, cu::CudnnDescriptor of, cu::CudnnAttribute name,
               cu::CudnnType type, size_t most, std::vector<T> &values) {
  values.assign(most, T());
  int64_t count = 0;
  DTC_CUDNN_CALL(cudnn, cudnnBackendGetAttribute, of, name, type, static_cast<int64_t>(most),
                 &count, values.data());
  values.resize(std::min<size_t>(most, static_cast<size_t>(std::max<int64_t>(count, 0))));
  return {};
}

template <typename T>
Status getOne(const cu::Cudnn &cudnn, cu::CudnnDescriptor of, cu::CudnnAttribute name,
              cu::CudnnType type, T &value) {
  int64_t count = 0;
  DTC_CUDNN_CALL(cudnn, cudnnBackendGetAttribute, of, name, type, 1, &count, &value);
  return count == 1 ? Status() : Status::internal("cudnnBackendGetAttribute gave nothing");
}

// Creates `count` descriptors for cuDNN to fill.
Status makeList(const cu::Cudnn &cudnn, cu::CudnnKind kind, size_t count,
                std::deque<CudnnObject> &objects, std::vector<cu::CudnnDescriptor> &descriptors) {
  for (size_t i = 0; i < count; ++i) {
    DTC_RETURN_IF_ERROR(objects.emplace_back().create(cudnn, kind));
    descriptors.push_back(objects.back().get());
  }
  return {};
}

Status getObjects(const cu::Cudnn &cudnn, cu::CudnnDescriptor of, cu::CudnnAttribute name,
                  std::vector<cu::CudnnDescriptor> &descriptors) {
  int64_t count = 0;
  DTC_CUDNN_CALL(cudnn, cudnnBackendGetAttribute, of, name, cu::cudnnTypeDescriptor,
                 static_cast<int64_t>(descriptors.size()), &count, descriptors.data());
  descriptors.resize(
      std::min(descriptors.size(), static_cast<size_t>(std::max<int64_t>(count, 0))));
  return {};
}

} // namespace

CudnnObject::~CudnnObject() {
  if (descriptor)
    (void)cudnn->cudnnBackendDestroyDescriptor(descriptor);
}

Status CudnnObject::create(const cu::Cudnn &of, cu::CudnnKind kind) {
  cudnn = &of;
  DTC_CUDNN_CALL(of, cudnnBackendCreateDescriptor, kind, &descriptor);
  return {};
}

Status CudnnObject::finalize() const {
  DTC_CUDNN_CALL(*cudnn, cudnnBackendFinalize, descriptor);
  return {};
}

Status CudnnObject::set(cu::CudnnAttribute name, cu::CudnnType type, size_t count,
                        const void *values) const {
  DTC_CUDNN_CALL(*cudnn, cudnnBackendSetAttribute, descriptor, name, type,
                 static_cast<int64_t>(count), values);
  return {};
}
Status CudnnObject::setInt(cu::CudnnAttribute name, int64_t value) const {
  return set(name, cu::cudnnTypeInt64, 1, &value);
}
Status CudnnObject::setInts(cu::CudnnAttribute name, std::span<const int64_t> values) const {
  return set(name, cu::cudnnTypeInt64, values.size(), values.data());
}
Status CudnnObject::setEnum(cu::CudnnAttribute name, cu::CudnnType type, int value) const {
  return set(name, type, 1, &value);
}
Status CudnnObject::setObject(cu::CudnnAttribute name, cu::CudnnDescriptor value) const {
  return set(name, cu::cudnnTypeDescriptor, 1, &value);
}

void CudnnGraph::note(const Status &each) {
  if (status.ok())
    status = each;
}

CudnnObject &CudnnGraph::object(cu::CudnnKind kind) {
  if (status.ok() || objects.empty())
    note(objects.emplace_back().create(cudnn, kind));
  return objects.back();
}

CudnnTensor CudnnGraph::tensor(const CudnnTensor &of, bool isVirtual, bool isByValue) {
  const CudnnObject &made = object(cu::cudnnTensor);
  if (!status.ok())
    return of;
  note(made.setEnum(cu::cudnnTensorType, cu::cudnnTypeDataType, of.type));
  note(made.setInts(cu::cudnnTensorSizes, of.sizes));
  note(made.setInts(cu::cudnnTensorStrides, of.strides));
  note(made.setInt(cu::cudnnTensorId, of.id));
  note(made.setInt(cu::cudnnTensorAlignment, kAlignment));
  if (isVirtual)
    note(made.set(cu::cudnnTensorIsVirtual, cu::cudnnTypeBool, 1, &isVirtual));
  if (isByValue)
    note(made.set(cu::cudnnTensorIsByValue, cu::cudnnTypeBool, 1, &isByValue));
  note(made.finalize());
  tensors[of.id] = made.get();
  return of;
}

CudnnTensor CudnnGraph::memory(int64_t id, cu::CudnnData type, const CudnnSizes &sizes,
                               const CudnnSizes &strides) {
  return tensor({id, type, sizes, strides}, /*isVirtual=*/false, /*isByValue=*/false);
}
CudnnTensor CudnnGraph::memory(int64_t id, cu::CudnnData type, const CudnnSizes &sizes) {
  return memory(id, type, sizes, denseStrides(sizes));
}
CudnnTensor CudnnGraph::between(cu::CudnnData type, const CudnnSizes &sizes) {
  return between(type, sizes, denseStrides(sizes));
}
CudnnTensor CudnnGraph::between(cu::CudnnData type, const CudnnSizes &sizes,
                                const CudnnSizes &strides) {
  return tensor({nextId++, type, sizes, strides}, /*isVirtual=*/true, /*isByValue=*/false);
}
CudnnTensor CudnnGraph::value(float number) {
  values[nextId] = &floats.emplace_back(number);
  return tensor({nextId++, cu::cudnnF32, {1, 1, 1, 1}, {1, 1, 1, 1}}, false, /*isByValue=*/true);
}
CudnnTensor CudnnGraph::value(int32_t number) {
  values[nextId] = &ints.emplace_back(number);
  return tensor({nextId++, cu::cudnnI32, {1, 1, 1, 1}, {1, 1, 1, 1}}, false, /*isByValue=*/true);
}

cu::CudnnDescriptor CudnnGraph::descriptorOf(const CudnnTensor &of) const {
  auto found = tensors.find(of.id);
  return found == tensors.end() ? nullptr : found->second;
}

void CudnnGraph::finalizeOp(const CudnnObject &op) {
  if (!status.ok())
    return;
  note(op.finalize());
  ops.push_back(op.get());
}

void CudnnGraph::matmul(const CudnnTensor &a, const CudnnTensor &b, const CudnnTensor &c) {
  const CudnnObject &how = object(cu::cudnnMatmul);
  if (status.ok()) {
    note(how.setEnum(cu::cudnnMatmulPrecision, cu::cudnnTypeDataType, cu::cudnnF32));
    note(how.finalize());
  }
  const CudnnObject &op = object(cu::cudnnMatmulOp);
  if (status.ok()) {
    note(op.setObject(cu::cudnnMatmulOpA, descriptorOf(a)));
    note(op.setObject(cu::cudnnMatmulOpB, descriptorOf(b)));
    note(op.setObject(cu::cudnnMatmulOpC, descriptorOf(c)));
    note(op.setObject(cu::cudnnMatmulOpDesc, how.get()));
  }
  finalizeOp(op);
}

void CudnnGraph::pointwise(cu::CudnnMode mode, const CudnnTensor &x, const CudnnTensor *b,
                           const CudnnTensor &y, cu::CudnnData precision) {
  const CudnnObject &how = object(cu::cudnnPointwise);
  if (status.ok()) {
    note(how.setEnum(cu::cudnnPointwiseMode, cu::cudnnTypePointwise, mode));
    note(how.setEnum(cu::cudnnPointwisePrecision, cu::cudnnTypeDataType, precision));
    note(how.finalize());
  }
  const CudnnObject &op = object(cu::cudnnPointwiseOp);
  if (status.ok()) {
    note(op.setObject(cu::cudnnPointwiseOpMode, how.get()));
    note(op.setObject(cu::cudnnPointwiseOpX, descriptorOf(x)));
    if (b)
      note(op.setObject(cu::cudnnPointwiseOpB, descriptorOf(*b)));
    note(op.setObject(cu::cudnnPointwiseOpY, descriptorOf(y)));
  }
  finalizeOp(op);
}

void CudnnGraph::genIndex(const CudnnTensor &x, int64_t axis, const CudnnTensor &y) {
  const CudnnObject &how = object(cu::cudnnPointwise);
  if (status.ok()) {
    note(how.setEnum(cu::cudnnPointwiseMode, cu::cudnnTypePointwise, cu::cudnnGenIndex));
    note(how.setEnum(cu::cudnnPointwisePrecision, cu::cudnnTypeDataType, cu::cudnnF32));
    note(how.setInt(cu::cudnnPointwiseAxis, axis));
    note(how.finalize());
  }
  const CudnnObject &op = object(cu::cudnnPointwiseOp);
  if (status.ok()) {
    note(op.setObject(cu::cudnnPointwiseOpMode, how.get()));
    note(op.setObject(cu::cudnnPointwiseOpX, descriptorOf(x)));
    note(op.setObject(cu::cudnnPointwiseOpY, descriptorOf(y)));
  }
  finalizeOp(op);
}

void CudnnGraph::select(const CudnnTensor &x, const CudnnTensor &b, const CudnnTensor &t,
                        const CudnnTensor &y) {
  const CudnnObject &how = object(cu::cudnnPointwise);
  if (status.ok()) {
    note(how.setEnum(cu::cudnnPointwiseMode, cu::cudnnTypePointwise, cu::cudnnSelect));
    note(how.setEnum(cu::cudnnPointwisePrecision, cu::cudnnTypeDataType, cu::cudnnF32));
    note(how.finalize());
  }
  const CudnnObject &op = object(cu::cudnnPointwiseOp);
  if (status.ok()) {
    note(op.setObject(cu::cudnnPointwiseOpMode, how.get()));
    note(op.setObject(cu::cudnnPointwiseOpX, descriptorOf(x)));
    note(op.setObject(cu::cudnnPointwiseOpB, descriptorOf(b)));
    note(op.setObject(cu::cudnnPointwiseOpT, descriptorOf(t)));
    note(op.setObject(cu::cudnnPointwiseOpY, descriptorOf(y)));
  }
  finalizeOp(op);
}

void CudnnGraph::reduce(int how, const CudnnTensor &x, const CudnnTensor &y) {
  const CudnnObject &desc = object(cu::cudnnReduction);
  if (status.ok()) {
    note(desc.setEnum(cu::cudnnReductionPrecision, cu::cudnnTypeDataType, cu::cudnnF32));
    note(desc.setEnum(cu::cudnnReductionOperator, cu::cudnnTypeReduction, how));
    note(desc.finalize());
  }
  const CudnnObject &op = object(cu::cudnnReductionOp);
  if (status.ok()) {
    note(op.setObject(cu::cudnnReductionOpDesc, desc.get()));
    note(op.setObject(cu::cudnnReductionOpX, descriptorOf(x)));
    note(op.setObject(cu::cudnnReductionOpY, descriptorOf(y)));
  }
  finalizeOp(op);
}

void CudnnGraph::reshape(const CudnnTensor &x, const CudnnTensor &y) {
  const CudnnObject &op = object(cu::cudnnReshapeOp);
  if (status.ok()) {
    note(op.setObject(cu::cudnnReshapeOpX, descriptorOf(x)));
    note(op.setObject(cu::cudnnReshapeOpY, descriptorOf(y)));
  }
  finalizeOp(op);
}

namespace {

// The names of a convolution's operation.
struct ConvolutionNames {
  cu::CudnnKind kind;
  cu::CudnnAttribute alpha, beta, windows, w, x, y;
};

const ConvolutionNames &namesOf(CudnnConvolution kind) {
  static const ConvolutionNames forward = {cu::cudnnConvolutionOp,     cu::cudnnConvolutionOpAlpha,
                                           cu::cudnnConvolutionOpBeta, cu::cudnnConvolutionOpDesc,
                                           cu::cudnnConvolutionOpW,    cu::cudnnConvolutionOpX,
                                           cu::cudnnConvolutionOpY};
  static const ConvolutionNames image = {
      cu::cudnnConvolutionImageOp,     cu::cudnnConvolutionImageOpAlpha,
      cu::cudnnConvolutionImageOpBeta, cu::cudnnConvolutionImageOpDesc,
      cu::cudnnConvolutionImageOpW,    cu::cudnnConvolutionImageOpX,
      cu::cudnnConvolutionImageOpY};
  static const ConvolutionNames weight = {
      cu::cudnnConvolutionWeightOp,     cu::cudnnConvolutionWeightOpAlpha,
      cu::cudnnConvolutionWeightOpBeta, cu::cudnnConvolutionWeightOpDesc,
      cu::cudnnConvolutionWeightOpW,    cu::cudnnConvolutionWeightOpX,
      cu::cudnnConvolutionWeightOpY};
  switch (kind) {
  case CudnnConvolution::Forward:
    return forward;
  case CudnnConvolution::ImageGradient:
    return image;
  case CudnnConvolution::WeightGradient:
    return weight;
  }
  __builtin_unreachable();
}

} // namespace

void CudnnGraph::convolution(CudnnConvolution kind, const CudnnWindows &windows,
                             const CudnnTensor &x, const CudnnTensor &w, const CudnnTensor &y) {
  keepsInputs = true;
  const CudnnObject &how = object(cu::cudnnConvolutionDesc);
  if (status.ok()) {
    note(how.setEnum(cu::cudnnConvolutionPrecision, cu::cudnnTypeDataType, cu::cudnnF32));
    note(
        how.setEnum(cu::cudnnConvolutionMode, cu::cudnnTypeConvolution, cu::cudnnCrossCorrelation));
    note(how.setInt(cu::cudnnConvolutionDims, 2));
    note(how.setInts(cu::cudnnConvolutionStrides, windows.strides));
    note(how.setInts(cu::cudnnConvolutionPrePadding, windows.padding));
    note(how.setInts(cu::cudnnConvolutionPostPadding, windows.padding));
    note(how.setInts(cu::cudnnConvolutionDilations, windows.dilations));
    note(how.finalize());
  }
  const ConvolutionNames &names = namesOf(kind);
  const CudnnObject &op = object(names.kind);
  if (status.ok()) {
    const float one = 1, zero = 0;
    note(op.set(names.alpha, cu::cudnnTypeFloat, 1, &one));
    note(op.set(names.beta, cu::cudnnTypeFloat, 1, &zero));
    note(op.setObject(names.windows, how.get()));
    note(op.setObject(names.x, descriptorOf(x)));
    note(op.setObject(names.w, descriptorOf(w)));
    note(op.setObject(names.y, descriptorOf(y)));
  }
  finalizeOp(op);
}

void CudnnGraph::means(bool isGradient, const CudnnWindows &windows,
                       const std::array<int64_t, 2> &kernel, const CudnnTensor &x,
                       const CudnnTensor &y) {
  const CudnnObject &how = object(cu::cudnnResample);
  auto setPair = [&](cu::CudnnAttribute name, const std::array<int64_t, 2> &values) {
    const cu::CudnnFraction fractions[] = {{values[0], 1}, {values[1], 1}};
    note(how.set(name, cu::cudnnTypeFraction, 2, fractions));
  };
  if (status.ok()) {
    note(how.setEnum(cu::cudnnResampleMode, cu::cudnnTypeResample, cu::cudnnMeanWithPadding));
    note(how.setEnum(cu::cudnnResamplePrecision, cu::cudnnTypeDataType, cu::cudnnF32));
    note(how.setEnum(cu::cudnnResamplePaddingMode, cu::cudnnTypePadding, cu::cudnnZeroPadding));
    note(how.setInt(cu::cudnnResampleDims, 2));
    setPair(cu::cudnnResampleStrides, windows.strides);
    setPair(cu::cudnnResampleWindow, kernel);
    setPair(cu::cudnnResamplePrePadding, windows.padding);
    setPair(cu::cudnnResamplePostPadding, windows.padding);
    note(how.finalize());
  }
  const CudnnObject &op = object(isGradient ? cu::cudnnResampleGradOp : cu::cudnnResampleOp);
  if (status.ok()) {
    note(op.setObject(isGradient ? cu::cudnnResampleGradOpX : cu::cudnnResampleOpX,
                      descriptorOf(x)));
    note(op.setObject(isGradient ? cu::cudnnResampleGradOpY : cu::cudnnResampleOpY,
                      descriptorOf(y)));
    note(op.setObject(isGradient ? cu::cudnnResampleGradOpDesc : cu::cudnnResampleOpDesc,
                      how.get()));
  }
  finalizeOp(op);
}

Status CudnnGraph::finish() {
  const CudnnObject &made = object(cu::cudnnOpGraph);
  if (status.ok()) {
    if (target.handle)
      note(made.set(cu::cudnnGraphHandle, cu::cudnnTypeHandle, 1, &target.handle));
    note(made.set(cu::cudnnGraphOps, cu::cudnnTypeDescriptor, ops.size(), ops.data()));
    note(made.finalize());
    graph = &objects.back();
  }
  return status;
}

Status CudnnGraph::readConfig(cu::CudnnDescriptor config, CudnnEngine &engine, bool &isFit) const {
  isFit = false;
  std::deque<CudnnObject> read;
  std::vector<cu::CudnnDescriptor> engines, knobs;
  DTC_RETURN_IF_ERROR(makeList(cudnn, cu::cudnnEngine, 1, read, engines));
  DTC_RETURN_IF_ERROR(makeList(cudnn, cu::cudnnKnobChoice, kMostKnobs, read, knobs));
  DTC_RETURN_IF_ERROR(getObjects(cudnn, config, cu::cudnnConfigEngine, engines));
  if (engines.empty())
    return {};
  DTC_RETURN_IF_ERROR(
      getOne(cudnn, engines[0], cu::cudnnEngineIndex, cu::cudnnTypeInt64, engine.index));
  DTC_RETURN_IF_ERROR(getObjects(cudnn, config, cu::cudnnConfigKnobs, knobs));
  for (cu::CudnnDescriptor knob : knobs) {
    int type = 0;
    int64_t value = 0;
    DTC_RETURN_IF_ERROR(getOne(cudnn, knob, cu::cudnnKnobType, cu::cudnnTypeKnob, type));
    DTC_RETURN_IF_ERROR(getOne(cudnn, knob, cu::cudnnKnobValue, cu::cudnnTypeInt64, value));
    engine.knobs[type] = value;
  }
  std::vector<int> notes;
  DTC_RETURN_IF_ERROR(getList(cudnn, engines[0], cu::cudnnEngineNotes, cu::cudnnTypeNote,
                              cu::cudnnNoteCount, notes));
  auto has = [&notes](int note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  isFit = !has(cu::cudnnNoteNondeterministic) && !(keepsInputs && has(cu::cudnnNoteRoundsInputs));
  return {};
}

Status CudnnGraph::enginesOf(int mode, size_t most, std::vector<CudnnEngine> &found) const {
  CudnnObject heuristics;
  DTC_RETURN_IF_ERROR(heuristics.create(cudnn, cu::cudnnHeuristics));
  DTC_RETURN_IF_ERROR(heuristics.setObject(cu::cudnnHeuristicsGraph, graph->get()));
  DTC_RETURN_IF_ERROR(heuristics.setEnum(cu::cudnnHeuristicsMode, cu::cudnnTypeHeuristics, mode));
  if (target.properties)
    DTC_RETURN_IF_ERROR(heuristics.setObject(cu::cudnnHeuristicsDevice, target.properties));
  if (!heuristics.finalize().ok())
    return {}; // cuDNN has no engine for the graph
  int64_t count = 0;
  DTC_CUDNN_CALL(cudnn, cudnnBackendGetAttribute, heuristics.get(), cu::cudnnHeuristicsResults,
                 cu::cudnnTypeDescriptor, 0, &count, nullptr);
  std::deque<CudnnObject> read;
  std::vector<cu::CudnnDescriptor> configs;
  DTC_RETURN_IF_ERROR(makeList(cudnn, cu::cudnnEngineConfig,
                               static_cast<size_t>(std::max<int64_t>(count, 0)), read, configs));
  DTC_RETURN_IF_ERROR(getObjects(cudnn, heuristics.get(), cu::cudnnHeuristicsResults, configs));
  for (cu::CudnnDescriptor config : configs) {
    CudnnEngine engine;
    bool isFit = false;
    DTC_RETURN_IF_ERROR(readConfig(config, engine, isFit));
    if (isFit && found.size() < most &&
        std::find(found.begin(), found.end(), engine) == found.end())
      found.push_back(std::move(engine));
  }
  return {};
}

Status CudnnGraph::engines(size_t most, std::vector<CudnnEngine> &found) const {
  found.clear();
  for (int mode : {cu::cudnnHeuristicsA, cu::cudnnHeuristicsFallback})
    DTC_RETURN_IF_ERROR(enginesOf(mode, most, found));
  return {};
}

Status CudnnGraph::plan(const CudnnEngine &engine, std::unique_ptr<CudnnPlan> &plan) const {
  auto made = std::make_unique<CudnnPlan>();
  made->cudnn = &cudnn;
  made->graph = this;
  auto &owned = made->objects;
  CudnnObject &of = owned.emplace_back();
  DTC_RETURN_IF_ERROR(of.create(cudnn, cu::cudnnEngine));
  DTC_RETURN_IF_ERROR(of.setObject(cu::cudnnEngineGraph, graph->get()));
  DTC_RETURN_IF_ERROR(of.setInt(cu::cudnnEngineIndex, engine.index));
  if (target.properties)
    DTC_RETURN_IF_ERROR(of.setObject(cu::cudnnEngineDevice, target.properties));
  DTC_RETURN_IF_ERROR(of.finalize());
  std::vector<cu::CudnnDescriptor> knobs;
  for (const auto &[type, value] : engine.knobs) {
    CudnnObject &knob = owned.emplace_back();
    DTC_RETURN_IF_ERROR(knob.create(cudnn, cu::cudnnKnobChoice));
    DTC_RETURN_IF_ERROR(knob.setEnum(cu::cudnnKnobType, cu::cudnnTypeKnob, type));
    DTC_RETURN_IF_ERROR(knob.setInt(cu::cudnnKnobValue, value));
    DTC_RETURN_IF_ERROR(knob.finalize());
    knobs.push_back(knob.get());
  }
  CudnnObject &config = owned.emplace_back();
  DTC_RETURN_IF_ERROR(config.create(cudnn, cu::cudnnEngineConfig));
  DTC_RETURN_IF_ERROR(config.setObject(cu::cudnnConfigEngine, of.get()));
  if (!knobs.empty())
    DTC_RETURN_IF_ERROR(
        config.set(cu::cudnnConfigKnobs, cu::cudnnTypeDescriptor, knobs.size(), knobs.data()));
  DTC_RETURN_IF_ERROR(config.finalize());
  CudnnObject &ready = owned.emplace_back();
  DTC_RETURN_IF_ERROR(ready.create(cudnn, cu::cudnnPlan));
  if (target.handle)
    DTC_RETURN_IF_ERROR(ready.set(cu::cudnnPlanHandle, cu::cudnnTypeHandle, 1, &target.handle));
  if (target.properties)
    DTC_RETURN_IF_ERROR(ready.setObject(cu::cudnnPlanDevice, target.properties));
  DTC_RETURN_IF_ERROR(ready.setObject(cu::cudnnPlanConfig, config.get()));
  DTC_RETURN_IF_ERROR(ready.finalize());
  int64_t bytes = 0;
  DTC_RETURN_IF_ERROR(
      getOne(cudnn, ready.get(), cu::cudnnPlanWorkspace, cu::cudnnTypeInt64, bytes));
  made->workspace = static_cast<uint64_t>(std::max<int64_t>(bytes, 0));
  plan = std::move(made);
  return {};
}

Status CudnnPlan::pack(const CudnnPointers &pointers, void *workspaceAt, CudnnObject &pack) const {
  std::vector<int64_t> ids;
  std::vector<void *> addresses;
  for (const CudnnPointers *each : {&pointers, &graph->values})
    for (const auto &[id, address] : *each) {
      ids.push_back(id);
      addresses.push_back(address);
    }
  DTC_RETURN_IF_ERROR(pack.create(*cudnn, cu::cudnnVariantPack));
  DTC_RETURN_IF_ERROR(pack.setInts(cu::cudnnPackIds, ids));
  DTC_RETURN_IF_ERROR(
      pack.set(cu::cudnnPackPointers, cu::cudnnTypePointer, addresses.size(), addresses.data()));
  DTC_RETURN_IF_ERROR(pack.set(cu::cudnnPackWorkspace, cu::cudnnTypePointer, 1, &workspaceAt));
  return pack.finalize();
}

Status CudnnPlan::run(cu::CudnnHandle handle, const CudnnObject &pack, cu::Stream stream) const {
  DTC_CUDNN_CALL(*cudnn, cudnnSetStream, handle, stream);
  DTC_CUDNN_CALL(*cudnn, cudnnBackendExecute, handle, objects.back().get(), pack.get());
  return {};
}

} // namespace dtc::rt
