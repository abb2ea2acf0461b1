// Derives the attributes of a kernel function from its body.
#include "passes/codegen/KernelFunction.h"

#include "passes/codegen/KernelBuilder.h"

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;

namespace {

Operation *firstOp(FuncOp kernel) { return &kernel.getBody().front().front(); }

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

bool anyNeedsIndices(FuncOp kernel) {
  return llvm::any_of(kernel.getBody().front().without_terminator(), [](Operation &op) {
    auto pointwise = dyn_cast<PointwiseOpInterface>(op);
    return pointwise && pointwise.needsIndices();
  });
}

// Returns the distance in elements between neighbouring indices of each loop, in a dense buffer.
SmallVector<int64_t> stridesOf(const BufferAccess &access, ArrayRef<int64_t> shape,
                               size_t numLoops) {
  SmallVector<int64_t> strides(numLoops, 0);
  // Returns zeros for an operand that only lends its shape, such as `like` of broadcast: it is
  // never read.
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (!access.loops[dim] && shape[dim] != 1)
      return strides;
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (access.loops[dim])
      strides[*access.loops[dim]] += stride;
    stride *= shape[dim];
  }
  return strides;
}

// True if the access touches exactly the element of its own point.
bool isIdentity(const BufferAccess &access, ArrayRef<int64_t> space) {
  if (access.loops.size() != space.size())
    return false;
  for (auto [dim, loop] : llvm::enumerate(access.loops))
    if (space[dim] != 1 && loop != dim)
      return false;
  return true;
}

// Returns the (result, operand) pairs that may share memory. Points are read before they are
// written, so a result may replace an operand that is read at the same point only.
SmallVector<Attribute> getPointwiseInPlace(FuncOp kernel) {
  Builder builder(kernel.getContext());
  FunctionType type = kernel.getFunctionType();
  SmallVector<Attribute> pairs;
  SmallVector<BufferAccess> accesses = getAccesses(kernel);
  ArrayRef<int64_t> space = getSpace(kernel);
  for (int64_t result = 0; result < type.getNumResults(); ++result)
    for (int64_t input = 0; input < type.getNumInputs(); ++input)
      if (type.getResult(result) == type.getInput(input) &&
          llvm::all_of(accesses, [&](const BufferAccess &access) {
            return access.buffer != input || isIdentity(access, space);
          }))
        pairs.push_back(builder.getDenseI64ArrayAttr({result, input}));
  return pairs;
}

// Maps the in-place pairs of the op to results and arguments of the function around it.
SmallVector<Attribute> getRowInPlace(FuncOp kernel, KernelOpInterface op) {
  Builder builder(kernel.getContext());
  SmallVector<Attribute> pairs;
  Operation *terminator = kernel.getBody().front().getTerminator();
  for (auto [result, operand] : op.getInPlacePairs()) {
    auto argument = dyn_cast<BlockArgument>(op->getOperand(operand));
    auto returned = llvm::find(terminator->getOperands(), op->getResult(result));
    // Requires a single use: the op may read the other use of the operand in another order.
    if (argument && returned != terminator->operand_end() && argument.hasOneUse() &&
        argument.getType() == (*returned).getType())
      pairs.push_back(builder.getDenseI64ArrayAttr(
          {static_cast<int64_t>(returned.getIndex()), argument.getArgNumber()}));
  }
  return pairs;
}

} // namespace

Operation *dtc::getRowOp(FuncOp kernel) {
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (!isa<PointwiseOpInterface>(op))
      return &op;
  return nullptr;
}

bool dtc::isUniform(Operation *op) { return op->hasTrait<OpTrait::ConstantLike>(); }

OperandLoops dtc::getOperandLoops(Operation *op, unsigned operand) {
  OpRule rule = cast<RuleOpInterface>(op).getRule();
  OperandLoops loops;
  for (const DimLoops &dim : rule.operands[operand])
    loops.push_back(dim.empty() ? std::nullopt : std::optional<unsigned>(dim.front()));
  return loops;
}

ArrayRef<int64_t> dtc::getSpace(FuncOp kernel) {
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (!isUniform(&op))
      return shapeOf(op.getResult(0));
  return shapeOf(firstOp(kernel)->getResult(0));
}

SmallVector<BufferAccess> dtc::getAccesses(FuncOp kernel) {
  SmallVector<BufferAccess> accesses;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!argument)
        continue;
      BufferAccess access{argument.getArgNumber(), getOperandLoops(&op, i)};
      if (!llvm::is_contained(accesses, access))
        accesses.push_back(access);
    }
  }
  return accesses;
}

PointwiseLoops dtc::getPointwiseLoops(FuncOp kernel) {
  PointwiseLoops loops;
  ArrayRef<int64_t> space = getSpace(kernel);
  loops.sizes.assign(space.begin(), space.end());
  FunctionType type = kernel.getFunctionType();
  for (const BufferAccess &access : getAccesses(kernel))
    loops.strides.push_back(stridesOf(
        access, cast<RankedTensorType>(type.getInput(access.buffer)).getShape(), space.size()));
  BufferAccess whole{0, {}};
  for (unsigned loop = 0; loop < space.size(); ++loop)
    whole.loops.push_back(loop);
  loops.strides.push_back(stridesOf(whole, space, space.size()));
  return anyNeedsIndices(kernel) ? loops : mergeLoops(std::move(loops));
}

SmallVector<WindowAttr> dtc::getWindows(Operation *op) {
  SmallVector<WindowAttr> windows;
  if (auto array = op->getAttrOfType<ArrayAttr>("windows"))
    for (WindowAttr window : array.getAsRange<WindowAttr>())
      windows.push_back(window);
  return windows;
}

unsigned dtc::countRandomOps(FuncOp kernel) {
  return llvm::count_if(kernel.getBody().front(),
                        [](Operation &op) { return isa<RandomOpInterface>(op); });
}

void dtc::setKernelAttributes(FuncOp kernel) {
  Builder builder(kernel.getContext());
  auto rowOp = dyn_cast_or_null<KernelOpInterface>(getRowOp(kernel));
  int64_t range;
  KernelUnit unit;
  if (rowOp) {
    range = rowOp.getKernelRange();
    unit = rowOp.getKernelUnit();
  } else {
    PointwiseLoops loops = getPointwiseLoops(kernel);
    UnitSplit split = splitUnits(loops.numRows(), loops.numColumns());
    range = split.range();
    unit.points = split.points();
  }
  SmallVector<Attribute> scalars;
  for (Operation &op : kernel.getBody().front())
    for (WindowAttr window : getWindows(&op))
      if (window.isSplit() && !llvm::is_contained(scalars, window))
        scalars.push_back(window);
  kernel->setAttr(kernelRangeName, builder.getI64IntegerAttr(range));
  kernel->setAttr(kernelPointsName, builder.getI64IntegerAttr(unit.points));
  if (unit.combines)
    kernel->setAttr(kernelCombinesName, builder.getUnitAttr());
  kernel->setAttr(kernelScalarsName, builder.getArrayAttr(scalars));
  kernel->setAttr(kernelInPlaceName, builder.getArrayAttr(rowOp ? getRowInPlace(kernel, rowOp)
                                                                : getPointwiseInPlace(kernel)));
}
