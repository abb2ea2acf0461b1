// Builds a program: maps tensors to buffers and appends instructions.
#include "passes/schedule/ExecEmitter.h"

#include "dialects/graph/HostMemory.h"
#include "dialects/graph/OffloadOps.h"
#include "dialects/graph/Placement.h"

using namespace mlir;
using namespace dtc;

ExecEmitter::ExecEmitter(ModuleOp module, exec::ProgramOp program)
    : module(module), symbols(module), program(program),
      builder(program.getLoc(), OpBuilder::atBlockEnd(&program.getBody().front())) {}

void ExecEmitter::startTask(StringRef name, bool perMicroBatch) {
  OpBuilder end = OpBuilder::atBlockEnd(&program.getBody().front());
  auto task = exec::TaskOp::create(end, builder.getLoc(), name, perMicroBatch);
  builder.setInsertionPointToEnd(&task.getBody().front());
}

OpBuilder ExecEmitter::declarations() {
  OpBuilder result(program.getContext());
  if (lastDeclaration)
    result.setInsertionPointAfter(lastDeclaration);
  else
    result.setInsertionPointToStart(&program.getBody().front());
  return result;
}

Value ExecEmitter::lookup(Value tensor) const {
  Value buffer = buffers.lookup(tensor);
  assert(buffer && "ops are lowered in order, so operands have buffers");
  return buffer;
}

void ExecEmitter::aliasOf(Value tensor, Value x) {
  buffers[tensor] = lookup(x);
  if (int64_t stride = rowStride(x))
    setRows(tensor, stride);
}

// Sets the row stride; if other tasks use the tensor, the buffer that contains it becomes an
// activation.
void ExecEmitter::setRows(Value tensor, int64_t stride) {
  rowStrides[tensor] = stride;
  auto root = exec::getRange(lookup(tensor)).root.getDefiningOp<exec::BufferOp>();
  if (isKept(tensor) && root.getKind() == exec::BufferKind::Temporary)
    root.setKind(exec::BufferKind::Activation);
}

void ExecEmitter::aliasRows(Value tensor, Value base, int64_t first, int64_t columns,
                            int64_t stride) {
  int64_t rows = cast<RankedTensorType>(tensor.getType()).getNumElements() / columns;
  buffers[tensor] = createView(base, first, (rows - 1) * stride + columns);
  setRows(tensor, stride);
}

Value ExecEmitter::define(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Operation *op = tensor.getDefiningOp();
  std::string name = namePrefix + op->getName().stripDialect().str();
  if (auto callee = op->getAttrOfType<FlatSymbolRefAttr>("callee"))
    name = namePrefix + callee.getValue().str();
  unsigned count = nameCounts[name]++;
  name += "." + std::to_string(count);
  auto kind = kinds.find(tensor);
  Value buffer =
      createBuffer(name, kind == kinds.end() ? exec::BufferKind::Temporary : kind->second,
                   type.getElementType(), type.getNumElements(), /*persistent=*/false,
                   op->hasAttr(graph::kHostAttr) || isa<graph::ToHostOp>(op));
  buffers[tensor] = buffer;
  return buffer;
}

Value ExecEmitter::createBuffer(StringRef name, exec::BufferKind kind, Type dtype, int64_t elements,
                                bool persistent, bool host) {
  OpBuilder front = declarations();
  auto op =
      exec::BufferOp::create(front, builder.getLoc(), exec::BufferType::get(program.getContext()),
                             name, kind, dtype, elements * exec::getElementBytes(dtype), persistent,
                             /*carried=*/false, host, /*slots=*/IntegerAttr(),
                             /*offset=*/IntegerAttr());
  lastDeclaration = op;
  return op;
}

Value ExecEmitter::createSum(StringRef name, exec::BufferKind kind, Type dtype, int64_t elements) {
  Value sum = createBuffer(name, kind, dtype, elements);
  sum.getDefiningOp<exec::BufferOp>().setCarried(program.getMicroBatches() > 1);
  return sum;
}

Value ExecEmitter::createView(Value base, int64_t first, int64_t elements) {
  int64_t elementBytes = exec::getElementBytes(exec::getDtype(base));
  exec::BufferRange range = exec::getRange(base);
  if (first == 0 && elements * elementBytes == range.bytes)
    return base;
  std::string name = exec::getName(base).str();
  name += "." + std::to_string(nameCounts[name]++);
  OpBuilder front = declarations();
  auto op =
      exec::ViewOp::create(front, builder.getLoc(), exec::BufferType::get(program.getContext()),
                           range.root, name, exec::getDtype(base), elements * elementBytes,
                           range.offset + first * elementBytes, range.microBatchStride);
  lastDeclaration = op;
  return op;
}

Value ExecEmitter::createMicroBatchView(Value base, int64_t elements) {
  if (program.getMicroBatches() == 1)
    return createView(base, 0, elements);
  int64_t bytes = elements * exec::getElementBytes(exec::getDtype(base));
  OpBuilder front = declarations();
  auto op = exec::ViewOp::create(front, builder.getLoc(), base.getType(), base,
                                 (exec::getName(base) + ".micro_batch").str(), exec::getDtype(base),
                                 bytes, /*offset=*/0,
                                 /*micro_batch_stride=*/bytes);
  lastDeclaration = op;
  return op;
}

void ExecEmitter::declareKernel(FlatSymbolRefAttr symbol, ArrayRef<int64_t> bufferBytes,
                                int64_t scalars, int64_t points, bool combines, ArrayAttr inPlace) {
  if (!kernels.insert(symbol.getValue()).second)
    return;
  // Declares kernels at the front of the program, so that a search for them by name ends soon.
  OpBuilder front = OpBuilder::atBlockBegin(&program.getBody().front());
  exec::KernelOp::create(front, builder.getLoc(), symbol.getValue(), bufferBytes, scalars, points,
                         combines, inPlace);
}

Value ExecEmitter::lookupScalar(exec::ScalarRole role, Type dtype) {
  Value &buffer = scalars[role];
  if (buffer)
    return buffer;
  buffer = createBuffer(exec::stringifyScalarRole(role), exec::BufferKind::Input, dtype, 1,
                        /*persistent=*/true);
  OpBuilder front = declarations();
  declared(exec::ScalarOp::create(front, builder.getLoc(), role, buffer));
  return buffer;
}

void ExecEmitter::emitLastCopies() {
  for (auto [value, tensor] : lastCopies)
    if (value != tensor)
      exec::CopyOp::create(builder, value, tensor);
  lastCopies.clear();
}

void ExecEmitter::copy(Value src, exec::RankScalarAttr srcOffset, Value dst,
                       exec::RankScalarAttr dstOffset, const Box &box, bool accumulate) {
  Box small = collapse(box);
  exec::CopyOp::create(builder, src, dst, small.sizes, small.srcStrides, srcOffset,
                       small.dstStrides, dstOffset, accumulate);
}

void ExecEmitter::copy(Value src, int64_t srcOffset, Value dst, int64_t dstOffset, const Box &box,
                       bool accumulate) {
  copy(src, constant(srcOffset), dst, constant(dstOffset), box, accumulate);
}

exec::RankScalarAttr ExecEmitter::constant(int64_t base) {
  return exec::RankScalarAttr::get(program.getContext(), base);
}

exec::RankScalarAttr ExecEmitter::firstSample() {
  int64_t stride = program.getMicroBatches() == 1 ? 0 : globalMicroBatch;
  return exec::RankScalarAttr::getOfTerms(program.getContext(), 0, {}, stride);
}

graph::WindowAttr ExecEmitter::findWindow(ArrayAttr windows, unsigned loop) {
  if (windows)
    for (auto window : windows.getAsRange<graph::WindowAttr>())
      if (window.getLoop() == loop)
        return window;
  return {};
}

FailureOr<exec::RankScalarAttr> ExecEmitter::firstIndex(Operation *op, ArrayAttr windows,
                                                        unsigned loop, int64_t base,
                                                        int64_t scale) {
  graph::WindowAttr window = findWindow(windows, loop);
  if (!window)
    return constant(base);
  auto starts = pieceStarts(op, window, base, scale);
  if (failed(starts))
    return failure();
  if (starts->size() != 1)
    return op->emitOpError() << "has loop " << loop
                             << " split zigzag, where its kernel takes one piece";
  return starts->front();
}

exec::RankScalarAttr ExecEmitter::sum(exec::RankScalarAttr a, exec::RankScalarAttr b) {
  SmallVector<std::pair<int64_t, int64_t>> terms;
  for (exec::RankScalarAttr each : {a, b})
    for (auto [axis, stride] : llvm::enumerate(each.getStrides()))
      terms.emplace_back(static_cast<int64_t>(axis), stride);
  return exec::RankScalarAttr::getOfTerms(a.getContext(), a.getBase() + b.getBase(), terms,
                                          a.getMicroBatchStride() + b.getMicroBatchStride());
}

FailureOr<SmallVector<exec::RankScalarAttr, 2>>
ExecEmitter::pieceStarts(Operation *op, graph::WindowAttr window, int64_t base, int64_t scale) {
  auto starts = graph::getPieceStarts(window, getMesh());
  if (failed(starts))
    return op->emitOpError() << "has " << window << ", which is none of mesh [" << getMesh() << "]";
  SmallVector<exec::RankScalarAttr, 2> scalars;
  for (const graph::PieceStart &start : *starts) {
    SmallVector<std::pair<int64_t, int64_t>> terms;
    for (const graph::PieceStart::Term &term : start.terms)
      terms.emplace_back(term.axis, term.stride * scale);
    scalars.push_back(
        exec::RankScalarAttr::getOfTerms(op->getContext(), base + start.base * scale, terms));
  }
  return scalars;
}

FailureOr<RankedTensorType> dtc::getStaticType(Operation *op, Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return op->emitOpError() << "has " << value.getType()
                             << " where scheduling wants a static tensor; run dtc-bind-batch first";
  return type;
}
