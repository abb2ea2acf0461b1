// Turns kernel functions of the graph dialect into functions over buffers.
#include "passes/codegen/ConvertKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/codegen/CpuKernelBuilder.h"
#include "passes/codegen/GpuKernels.h"
#include "passes/codegen/KernelFunction.h"
#include "passes/codegen/KernelSide.h"
#include "passes/codegen/MergedKernels.h"
#include "passes/codegen/Processor.h"

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;

namespace {

// Returns the flat buffer type memref<Nxtype> that holds the elements of a tensor.
MemRefType flatType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get({tensor.getNumElements()}, tensor.getElementType());
}

class KernelConverter {
public:
  // `piece` names the function that does one piece of several launches of such kernels
  // (MergedKernels.h); empty for the kernel itself.
  KernelConverter(FuncOp kernel, ModuleOp target, Processor processor, StringRef piece = {})
      : kernel(kernel), processor(processor), signature(KernelSignature::of(kernel)),
        builder(kernel.getContext()), body(&kernel.getBody().front()) {
    builder.setInsertionPointToEnd(target.getBody());
    SmallVector<Type> arguments;
    for (Type type : kernel.getArgumentTypes())
      arguments.push_back(flatType(type));
    for (Type type : kernel.getResultTypes())
      arguments.push_back(flatType(type));
    // Adds the unit range [begin, end) on a processor, the number of units on a GPU, or the block
    // and the number of points of a piece.
    bool hasTwo = processor == Processor::Cpu || !piece.empty();
    arguments.append(signature.numScalars + (hasTwo ? 2 : 1), builder.getIndexType());
    function =
        func::FuncOp::create(builder, kernel.getLoc(), piece.empty() ? kernel.getSymName() : piece,
                             builder.getFunctionType(arguments, {}));
    function->setAttr(numScalarsName, builder.getI64IntegerAttr(signature.numScalars));
    if (!piece.empty())
      function->setAttr(mergedElementName, builder.getI64IntegerAttr(lastElementBytes()));
    if (processor == Processor::Gpu) {
      function->setAttr(blockThreadsName, builder.getI64IntegerAttr(warpThreads));
      markUnshared();
    }
    builder.setInsertionPointToStart(function.addEntryBlock());
  }

  void setMergedBy(StringRef name) { function->setAttr(mergedByName, builder.getStringAttr(name)); }

  LogicalResult run() {
    if (Operation *op = getRowOp(kernel)) {
      auto rowOp = dyn_cast<KernelOpInterface>(op);
      if (!rowOp)
        return op->emitOpError("has no generated kernel; a library or the runtime computes it");
      if (!llvm::hasSingleElement(body->without_terminator()))
        return op->emitOpError("cannot share a kernel with other ops, as it is not pointwise");
      if (failed(emitRowOp(rowOp)))
        return failure();
    } else if (!body->without_terminator().empty()) {
      emitPointwise();
    }
    func::ReturnOp::create(builder, kernel.getLoc());
    return success();
  }

private:
  int64_t lastElementBytes() {
    return getElementTypeOrSelf(kernel.getResultTypes().back()).getIntOrFloatBitWidth() / 8;
  }

  Value argument(unsigned i) { return function.getArgument(i); }
  Value resultBuffer(unsigned i) { return argument(body->getNumArguments() + i); }

  LogicalResult emitRowOp(KernelOpInterface op) {
    KernelBuilder::Buffers buffers;
    for (Value operand : op->getOperands())
      buffers.operands.push_back(argument(cast<BlockArgument>(operand).getArgNumber()));
    for (Value result : op->getResults()) {
      auto returned = llvm::find(body->getTerminator()->getOperands(), result);
      bool isUsed = returned != body->getTerminator()->operand_end();
      buffers.results.push_back(isUsed ? resultBuffer(returned.getIndex()) : Value());
    }
    buffers.windows = windowStarts();
    if (processor == Processor::Gpu)
      return emitGpuBlock(builder, op.getLoc(), function, buffers, [&](GpuKernelBuilder &k) {
        op.emitKernel(k);
        return success();
      });
    buffers.begin = argument(signature.begin());
    buffers.end = argument(signature.end());
    CpuKernelBuilder kernelBuilder(builder, op.getLoc(), std::move(buffers));
    op.emitKernel(kernelBuilder);
    return success();
  }

  // Marks buffers that share no memory with a written buffer, because no in-place pair names them:
  // their contents cannot change while the kernel runs.
  void markUnshared() {
    auto pairs = kernel->getAttrOfType<ArrayAttr>(kernelInPlaceName);
    if (!pairs)
      return;
    llvm::SmallDenseSet<unsigned> shared;
    for (auto pair : pairs.getAsRange<DenseI64ArrayAttr>()) {
      shared.insert(kernel.getNumArguments() + static_cast<unsigned>(pair[0]));
      shared.insert(static_cast<unsigned>(pair[1]));
    }
    for (unsigned i = 0; i < signature.numBuffers; ++i)
      if (!shared.contains(i))
        function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  }

  SmallVector<WindowStarts> windowStarts() {
    SmallVector<WindowStarts> windows;
    unsigned next = signature.numBuffers;
    if (auto scalars = kernel->getAttrOfType<ArrayAttr>(kernelScalarsName))
      for (WindowAttr window : scalars.getAsRange<WindowAttr>()) {
        windows.push_back({window, {}});
        for (int64_t piece = 0; piece < window.getPieces(); ++piece)
          windows.back().starts.push_back(argument(next++));
      }
    return windows;
  }

  // Returns the buffer as an array over the loops that move through it, and the map from all loops
  // to its indices.
  std::pair<Value, AffineMap> shapeBuffer(Value buffer, ArrayRef<int64_t> sizes,
                                          ArrayRef<int64_t> strides) {
    SmallVector<unsigned> loops;
    for (unsigned loop = 0; loop < sizes.size(); ++loop)
      if (strides[loop] != 0)
        loops.push_back(loop);
    llvm::sort(loops, [&](unsigned a, unsigned b) {
      return std::pair(-strides[a], a) < std::pair(-strides[b], b);
    });
    SmallVector<AffineExpr> expressions;
    SmallVector<int64_t> shape;
    for (unsigned loop : loops) {
      expressions.push_back(builder.getAffineDimExpr(loop));
      shape.push_back(sizes[loop]);
    }
    if (loops.empty())
      expressions.push_back(builder.getAffineConstantExpr(0));
    if (loops.size() > 1) {
      auto type = MemRefType::get(shape, cast<MemRefType>(buffer.getType()).getElementType());
      ReassociationIndices all = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
      buffer = memref::ExpandShapeOp::create(builder, kernel.getLoc(), type, buffer,
                                             ArrayRef<ReassociationIndices>{all});
    }
    return {buffer, AffineMap::get(sizes.size(), 0, expressions, builder.getContext())};
  }

  void emitPointwise() {
    accesses = getAccesses(kernel);
    PointwiseLoops loops = getPointwiseLoops(kernel);
    SmallVector<Value> inputs, outputs;
    SmallVector<AffineMap> maps;
    auto shape = [&](Value buffer, ArrayRef<int64_t> strides, SmallVector<Value> &values) {
      auto [shaped, map] = shapeBuffer(buffer, loops.sizes, strides);
      values.push_back(shaped);
      maps.push_back(map);
    };
    for (auto [i, access] : llvm::enumerate(accesses))
      shape(argument(access.buffer), loops.strides[i], inputs);
    for (unsigned i = 0; i < kernel.getNumResults(); ++i)
      shape(resultBuffer(i), loops.strides.back(), outputs);
    SmallVector<utils::IteratorType> iterators(loops.sizes.size(), utils::IteratorType::parallel);
    linalg::GenericOp::create(
        builder, kernel.getLoc(), inputs, outputs, maps, iterators,
        [&](OpBuilder &nested, Location, ValueRange values) { emitPoint(nested, values); });
  }

  void emitPoint(OpBuilder &nested, ValueRange elements) {
    llvm::DenseMap<Value, Value> points;
    unsigned numRandom = 0;
    for (Operation &op : body->without_terminator()) {
      SmallVector<Value> operands;
      for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
        if (auto input = dyn_cast<BlockArgument>(operand)) {
          BufferAccess access{input.getArgNumber(), getOperandLoops(&op, i)};
          operands.push_back(elements[llvm::find(accesses, access) - accesses.begin()]);
        } else {
          operands.push_back(points.at(operand));
        }
      }
      auto pointwise = cast<PointwiseOpInterface>(op);
      SmallVector<Value> indices;
      if (pointwise.needsIndices())
        indices = globalIndices(nested, &op);
      if (isa<RandomOpInterface>(op)) {
        unsigned firstSample = signature.firstRandom();
        indices.append({argument(firstSample), argument(firstSample + ++numRandom)});
      }
      SmallVector<Value> results = pointwise.buildPoint(nested, op.getLoc(), operands, indices);
      for (auto [result, value] : llvm::zip_equal(op.getResults(), results))
        points[result] = value;
    }
    SmallVector<Value> yielded;
    for (Value returned : body->getTerminator()->getOperands())
      yielded.push_back(points.at(returned));
    linalg::YieldOp::create(nested, kernel.getLoc(), yielded);
  }

  SmallVector<Value> globalIndices(OpBuilder &nested, Operation *op) {
    SmallVector<Value> indices;
    for (size_t loop = 0; loop < getSpace(kernel).size(); ++loop)
      indices.push_back(linalg::IndexOp::create(nested, op->getLoc(), loop));
    for (WindowAttr window : getWindows(op))
      for (const WindowStarts &known : windowStarts())
        if (known.window == window)
          indices[window.getLoop()] =
              globalIndex(nested, op->getLoc(), known, indices[window.getLoop()]);
    return indices;
  }

  FuncOp kernel;
  Processor processor;
  KernelSignature signature;
  OpBuilder builder;
  Block *body;
  func::FuncOp function;
  SmallVector<BufferAccess> accesses;
};

} // namespace

KernelSignature KernelSignature::of(FuncOp kernel) {
  unsigned numScalars = 0;
  if (auto scalars = kernel->getAttrOfType<ArrayAttr>(kernelScalarsName))
    for (WindowAttr window : scalars.getAsRange<WindowAttr>())
      numScalars += window.getPieces();
  unsigned numWindows = numScalars;
  if (unsigned numRandom = countRandomOps(kernel))
    numScalars += 1 + numRandom;
  return {static_cast<unsigned>(kernel.getNumArguments() + kernel.getNumResults()), numWindows,
          numScalars};
}

static LogicalResult convertForGpu(FuncOp kernel, ModuleOp target, const MergedKernels &merged) {
  KernelConverter itself(kernel, target, Processor::Gpu);
  std::string name = merged.nameOf(kernel);
  if (!name.empty())
    itself.setMergedBy(name);
  if (failed(itself.run()))
    return failure();
  if (!merged.isLongest(kernel))
    return success();
  return KernelConverter(kernel, target, Processor::Gpu, name).run();
}

LogicalResult dtc::convertKernels(ModuleOp source, ModuleOp target, Processor processor,
                                  KernelSide side) {
  std::optional<MergedKernels> merged;
  if (processor == Processor::Gpu)
    merged.emplace(source);
  for (FuncOp kernel : source.getOps<FuncOp>())
    if (kernel.getKernel() && isAt(kernel, side) &&
        failed(merged ? convertForGpu(kernel, target, *merged)
                      : KernelConverter(kernel, target, processor).run()))
      return failure();
  return success();
}
