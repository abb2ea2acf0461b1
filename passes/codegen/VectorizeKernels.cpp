// Turns the linalg.generic of a pointwise kernel into vector code in loops over the units.
#include "dialects/graph/RandomOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/codegen/KernelBuilder.h"
#include "passes/codegen/KernelLowering.h"
#include "passes/codegen/PointwiseLoops.h"

using namespace mlir;
using namespace dtc;

namespace {

// How often a value changes.
enum class Level { Kernel, Row, Vector };

// 1. Sorts the values of the body by how often they change: once per kernel, per row, or per
//    vector.
// 2. Computes the values of the first two kinds as scalars, before the loop over rows and in it.
// 3. Computes the others in vectors along the innermost loop, the last of which is masked where a
// row ends inside it.
class GenericVectorizer {
public:
  GenericVectorizer(linalg::GenericOp generic, Value begin, Value end)
      : generic(generic), begin(begin), end(end), builder(generic),
        k(builder, generic.getLoc(), {}) {
    SmallVector<int64_t> sizes = generic.getStaticLoopRanges();
    loops.sizes.assign(sizes.begin(), sizes.end());
    for (OpOperand &operand : generic->getOpOperands())
      addBuffer(operand);
    split = splitUnits(loops.numRows(), loops.numColumns());
  }

  LogicalResult run() {
    if (failed(sortByLevel()))
      return failure();
    width = chooseWidth();
    emitScalars(Level::Kernel);
    if (split.unitsPerRow == 1)
      emitWholeRows();
    else if (split.numRows == 1)
      emitRow(k.index(0), k.mul(begin, split.columnsPerUnit),
              k.min(k.mul(end, split.columnsPerUnit), k.index(split.numColumns)));
    else
      emitBlocks();
    generic.erase();
    return success();
  }

private:
  // Strides per loop in the flat buffer below the operand.
  void addBuffer(OpOperand &operand) {
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

  Level levelOfBuffer(unsigned i) const {
    ArrayRef<int64_t> strides = loops.strides[i];
    if (llvm::all_of(strides, [](int64_t stride) { return stride == 0; }))
      return Level::Kernel;
    return strides.back() == 0 ? Level::Row : Level::Vector;
  }

  LogicalResult sortByLevel() {
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
  Level levelOf(Value value) const {
    auto found = levels.find(value);
    return found == levels.end() ? Level::Kernel : found->second; // captured from outside
  }

  int64_t chooseWidth() {
    // Lanes are neighbours in memory.
    for (ArrayRef<int64_t> strides : loops.strides)
      if (strides.back() > 1)
        return 1;
    // Ten rounds of Philox take so long that wider vectors would only make more code around them.
    return KernelBuilder::vectorWidth(loops.numColumns(), draws() ? randomLanes : 32);
  }
  bool draws() { return llvm::any_of(*generic.getBody(), llvm::IsaPred<graph::RandomWordOp>); }

  // Has LLVM not unroll the loop.
  void keepLoop(Operation *loop) {
    MLIRContext *context = builder.getContext();
    auto unroll =
        LLVM::LoopUnrollAttr::get(context, builder.getBoolAttr(true), {}, {}, {}, {}, {}, {});
    auto keep = LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {},
                                              {}, {}, {}, {}, {});
    loop->setAttr("llvm.loop_annotation", keep);
  }

  void emitWholeRows() {
    Value first = k.mul(begin, split.rowsPerUnit);
    Value last = k.min(k.mul(end, split.rowsPerUnit), k.index(split.numRows));
    k.forEach(first, last, [&](Value row) { emitRow(row, k.index(0), k.index(split.numColumns)); });
  }

  void emitBlocks() {
    k.forEach(begin, end, [&](Value unit) {
      Value first = k.mul(k.rem(unit, split.unitsPerRow), split.columnsPerUnit);
      Value last = k.min(k.add(first, split.columnsPerUnit), k.index(split.numColumns));
      emitRow(k.div(unit, split.unitsPerRow), first, last);
    });
  }

  // The index of each outer loop in a row.
  void setRow(Value row) {
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

  // Columns [first, last); last is the end of the row or a whole number of vectors from first.
  void emitRow(Value row, Value first, Value last) {
    setRow(row);
    emitScalars(Level::Row);
    int64_t whole = split.numColumns - split.numColumns % width;
    k.forLoop(first, k.min(last, k.index(whole)), width, {}, [&](Value column, ValueRange) {
      emitVector(column, {width, nullptr});
      return KernelBuilder::Values();
    });
    if (draws())
      keepLoop(&*std::prev(builder.getInsertionPoint()));
    int64_t rest = split.numColumns - whole;
    if (rest == 0)
      return;
    auto emitRest = [&] { emitVector(k.index(whole), k.firstLanes(rest)); };
    if (split.unitsPerRow == 1)
      return emitRest();
    Value isLast = arith::CmpIOp::create(builder, k.loc, arith::CmpIPredicate::eq, last,
                                         k.index(split.numColumns));
    auto guarded = scf::IfOp::create(builder, k.loc, isLast, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(guarded.thenBlock());
    emitRest();
  }

  void emitScalars(Level level) {
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
  Value scalar(Value value) const {
    auto found = scalars.find(value);
    return found == scalars.end() ? value : found->second;
  }

  void emitVector(Value column, const Lanes &lanes) {
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

  Value position(unsigned buffer, Value column) {
    int64_t stride = loops.strides[buffer].back();
    return k.add(bases[buffer], stride == 1 ? column : k.mul(column, stride));
  }

  Value columnIndices(Value column, int64_t lanes) {
    Value steps =
        vector::StepOp::create(builder, k.loc, VectorType::get({lanes}, builder.getIndexType()));
    return arith::AddIOp::create(builder, k.loc, k.splat(column, lanes), steps);
  }

  linalg::GenericOp generic;
  Value begin, end;
  OpBuilder builder;
  KernelBuilder k;
  PointwiseLoops loops;
  UnitSplit split;
  int64_t width = 1;
  SmallVector<Value> buffers;           // flat
  llvm::DenseMap<Value, Level> levels;  // of values in the body
  llvm::DenseMap<Value, Value> scalars; // what stands for them where they do not change
  SmallVector<Value> rowIndices,
      bases; // of the current row: index per loop, first element per buffer
};

} // namespace

LogicalResult dtc::vectorizeKernels(ModuleOp module) {
  SmallVector<linalg::GenericOp> generics;
  module.walk([&](linalg::GenericOp generic) { generics.push_back(generic); });
  for (linalg::GenericOp generic : generics) {
    auto function = generic->getParentOfType<func::FuncOp>();
    unsigned numArguments = function.getNumArguments();
    Value begin = function.getArgument(numArguments - 2),
          end = function.getArgument(numArguments - 1);
    if (failed(GenericVectorizer(generic, begin, end).run()))
      return failure();
  }
  return success();
}
