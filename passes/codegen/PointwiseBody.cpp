// Emits the points of a pointwise kernel.
#include "passes/codegen/PointwiseBody.h"

#include "dialects/graph/RandomOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace dtc;

PointwiseBody::PointwiseBody(linalg::GenericOp generic, KernelBuilder &k)
    : k(k), builder(k.builder), generic(generic) {
  SmallVector<int64_t> sizes = generic.getStaticLoopRanges();
  loops.sizes.assign(sizes.begin(), sizes.end());
  for (OpOperand &operand : generic->getOpOperands())
    addBuffer(operand);
  split = splitUnits(loops.numRows(), loops.numColumns());
}

bool PointwiseBody::draws() {
  return llvm::any_of(*generic.getBody(), llvm::IsaPred<graph::RandomWordOp>);
}

bool PointwiseBody::isContiguous() const {
  return llvm::all_of(loops.strides, [](ArrayRef<int64_t> strides) { return strides.back() <= 1; });
}

// Records the strides per loop of the flat buffer behind the operand.
void PointwiseBody::addBuffer(OpOperand &operand) {
  auto type = cast<MemRefType>(operand.get().getType());
  AffineMap map = generic.getMatchingIndexingMap(&operand);
  SmallVector<int64_t> strides(loops.sizes.size(), 0);
  int64_t stride = 1;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    if (auto loop = dyn_cast<AffineDimExpr>(map.getResult(dim)))
      strides[loop.getPosition()] += stride;
    stride *= type.getDimSize(dim);
  }
  loops.strides.push_back(strides);
  auto shaped = operand.get().getDefiningOp<memref::ExpandShapeOp>();
  buffers.push_back(shaped ? shaped.getSrc() : operand.get());
}

PointwiseBody::Level PointwiseBody::levelOfBuffer(unsigned i) const {
  ArrayRef<int64_t> strides = loops.strides[i];
  if (llvm::all_of(strides, [](int64_t stride) { return stride == 0; }))
    return Level::Kernel;
  return strides.back() == 0 ? Level::Row : Level::Vector;
}

LogicalResult PointwiseBody::sortByLevel() {
  Block *body = generic.getBody();
  for (BlockArgument argument : body->getArguments())
    levels[argument] = levelOfBuffer(argument.getArgNumber());
  for (Operation &op : body->without_terminator()) {
    Level level = Level::Kernel;
    if (auto index = dyn_cast<linalg::IndexOp>(op))
      level = index.getDim() + 1 == loops.sizes.size() ? Level::Vector : Level::Row;
    for (Value operand : op.getOperands())
      level = std::max(level, levelOf(operand));
    if (level == Level::Vector && !isa<linalg::IndexOp>(op) &&
        !OpTrait::hasElementwiseMappableTraits(&op))
      return op.emitOpError("in the body of a pointwise op does not work on vectors");
    for (Value result : op.getResults())
      levels[result] = level;
  }
  return success();
}
PointwiseBody::Level PointwiseBody::levelOf(Value value) const {
  auto found = levels.find(value);
  // captured from outside of the body
  return found == levels.end() ? Level::Kernel : found->second;
}

LogicalResult PointwiseBody::beginKernel() {
  if (failed(sortByLevel()))
    return failure();
  emitScalars(Level::Kernel);
  return success();
}

void PointwiseBody::beginRow(Value row) {
  setRow(row);
  emitScalars(Level::Row);
}

// Computes the index of each outer loop in a row and the first element of the row in each buffer.
void PointwiseBody::setRow(Value row) {
  rowIndices.assign(loops.sizes.size(), Value());
  int64_t slower = split.numRows;
  for (size_t loop = 0; loop + 1 < loops.sizes.size(); ++loop) {
    slower /= loops.sizes[loop];
    Value index = slower == 1 ? row : k.div(row, slower);
    rowIndices[loop] = loop == 0 ? index : k.rem(index, loops.sizes[loop]);
  }
  bases.clear();
  for (ArrayRef<int64_t> strides : loops.strides) {
    Value base = k.index(0);
    for (size_t loop = 0; loop + 1 < loops.sizes.size(); ++loop)
      if (strides[loop] != 0)
        base = k.add(base, k.mul(rowIndices[loop], strides[loop]));
    bases.push_back(base);
  }
}

void PointwiseBody::emitScalars(Level level) {
  for (BlockArgument argument : generic.getBody()->getArguments()) {
    unsigned i = argument.getArgNumber();
    if (levels[argument] != level || i >= generic.getNumDpsInputs())
      continue;
    Value at = level == Level::Kernel ? k.index(0) : bases[i];
    scalars[argument] = memref::LoadOp::create(builder, k.loc, buffers[i], at);
  }
  for (Operation &op : generic.getBody()->without_terminator()) {
    if (levelOf(op.getResult(0)) != level)
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      scalars[index.getResult()] = rowIndices[index.getDim()];
      continue;
    }
    IRMapping map;
    for (Value operand : op.getOperands())
      map.map(operand, scalar(operand));
    Operation *copy = builder.clone(op, map);
    for (auto [result, value] : llvm::zip_equal(op.getResults(), copy->getResults()))
      scalars[result] = value;
  }
}
Value PointwiseBody::scalar(Value value) const {
  auto found = scalars.find(value);
  return found == scalars.end() ? value : found->second;
}

void PointwiseBody::emitVector(Value column, const Lanes &lanes) {
  llvm::DenseMap<Value, Value> vectors;
  auto get = [&](Value value) {
    auto found = vectors.find(value);
    return found != vectors.end() ? found->second : k.splat(scalar(value), lanes.width);
  };
  for (BlockArgument argument : generic.getBody()->getArguments())
    if (levels[argument] == Level::Vector && argument.getArgNumber() < generic.getNumDpsInputs())
      vectors[argument] = k.loadRaw(buffers[argument.getArgNumber()],
                                    position(argument.getArgNumber(), column), lanes);
  for (Operation &op : generic.getBody()->without_terminator()) {
    if (levelOf(op.getResult(0)) != Level::Vector)
      continue;
    if (isa<linalg::IndexOp>(op)) {
      vectors[op.getResult(0)] = columnIndices(column, lanes.width);
      continue;
    }
    SmallVector<Value> operands = llvm::map_to_vector(op.getOperands(), get);
    SmallVector<Type> types = llvm::map_to_vector(op.getResultTypes(), [&](Type type) -> Type {
      return VectorType::get({lanes.width}, type);
    });
    Operation *wide =
        Operation::create(op.getLoc(), op.getName(), types, operands,
                          op.getDiscardableAttrDictionary(), op.getPropertiesStorage(), {}, 0);
    builder.insert(wide);
    for (auto [result, value] : llvm::zip_equal(op.getResults(), wide->getResults()))
      vectors[result] = value;
  }
  for (auto [i, value] : llvm::enumerate(generic.getBody()->getTerminator()->getOperands())) {
    unsigned output = generic.getNumDpsInputs() + i;
    k.storeRaw(get(value), buffers[output], position(output, column), lanes);
  }
}

Value PointwiseBody::position(unsigned buffer, Value column) {
  int64_t stride = loops.strides[buffer].back();
  return k.add(bases[buffer], stride == 1 ? column : k.mul(column, stride));
}

Value PointwiseBody::columnIndices(Value column, int64_t lanes) {
  Value steps =
      vector::StepOp::create(builder, k.loc, VectorType::get({lanes}, builder.getIndexType()));
  return arith::AddIOp::create(builder, k.loc, k.splat(column, lanes), steps);
}
