// Exec lowering of the ops that move elements within a rank: views if the elements are contiguous,
// else copies.
#include "dialects/graph/OffloadOps.h"
#include "dialects/graph/RecomputeOps.h"
#include "dialects/graph/ShapeOps.h"
#include "passes/schedule/ExecEmitter.h"
#include "passes/schedule/ExecLoweringInterface.h"
#include "passes/schedule/RowParts.h"

#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace dtc;

namespace {
ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

// A tensor seen from one of its dims, as [outer, size, inner].
struct Around {
  Around(ArrayRef<int64_t> shape, int64_t dim)
      : outer(numElements(shape.take_front(dim))), size(shape[dim]),
        inner(numElements(shape.drop_front(dim + 1))) {}
  int64_t outer, size, inner;
};

struct LowerReshape : ExecLoweringInterface::ExternalModel<LowerReshape, graph::ReshapeOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto reshape = cast<graph::ReshapeOp>(op);
    emitter.aliasOf(reshape.getResult(), reshape.getX());
    return success();
  }
};

struct LowerAgain : ExecLoweringInterface::ExternalModel<LowerAgain, graph::AgainOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto again = cast<graph::AgainOp>(op);
    emitter.aliasOf(again.getResult(), again.getX());
    return success();
  }
};

// Lowers graph.to_host and graph.to_device to copies; the op determines the memory of the result.
template <typename Op> struct LowerMove : ExecLoweringInterface::ExternalModel<LowerMove<Op>, Op> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto move = cast<Op>(op);
    Value src = emitter.lookup(move.getX());
    exec::CopyOp::create(emitter.instructions(), src, emitter.define(move.getResult()));
    return success();
  }
};

struct LowerTranspose : ExecLoweringInterface::ExternalModel<LowerTranspose, graph::TransposeOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto transpose = cast<graph::TransposeOp>(op);
    Box box = transposeBox(shapeOf(transpose.getX()), transpose.getPermutation());
    Value src = emitter.lookup(transpose.getX());
    if (collapse(box).sizes.size() == 1 && collapse(box).srcStrides[0] == 1) {
      emitter.alias(transpose.getResult(), src);
      return success();
    }
    emitter.copy(src, 0, emitter.define(transpose.getResult()), 0, box);
    return success();
  }
};

struct LowerSlice : ExecLoweringInterface::ExternalModel<LowerSlice, graph::SliceOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto slice = cast<graph::SliceOp>(op);
    Around x(shapeOf(slice.getX()), slice.getDim());
    int64_t start = slice.getStart(), size = slice.getSize();
    Value src = emitter.lookup(slice.getX());
    if (x.outer == 1) {
      emitter.alias(slice.getResult(), emitter.createView(src, start * x.inner, size * x.inner));
      return success();
    }
    if (isReadInRows(slice.getResult(), size * x.inner)) {
      emitter.aliasRows(slice.getResult(), src, start * x.inner, size * x.inner, x.size * x.inner);
      return success();
    }
    Box box{{x.outer, size * x.inner}, {x.size * x.inner, 1}, {size * x.inner, 1}};
    emitter.copy(src, start * x.inner, emitter.define(slice.getResult()), 0, box);
    return success();
  }
};

// Copies `src`, [outer, size, inner], to rows `start`... of the middle dim of `dst`, [outer, total,
// inner].
void copyInto(ExecEmitter &emitter, Value src, Value dst, int64_t outer, int64_t size,
              int64_t inner, int64_t start, int64_t total) {
  if (outer == 1) {
    Value part = emitter.createView(dst, start * inner, size * inner);
    exec::CopyOp::create(emitter.instructions(), src, part);
    return;
  }
  Box box{{outer, size * inner}, {size * inner, 1}, {total * inner, 1}};
  emitter.copy(src, 0, dst, start * inner, box);
}

struct LowerPad : ExecLoweringInterface::ExternalModel<LowerPad, graph::PadOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto pad = cast<graph::PadOp>(op);
    Around x(shapeOf(pad.getX()), pad.getDim()), result(shapeOf(pad.getResult()), pad.getDim());
    Value src = emitter.lookup(pad.getX()), dst = emitter.define(pad.getResult());
    int64_t low = pad.getLow(), high = pad.getHigh();
    ImplicitLocOpBuilder &builder = emitter.instructions();
    if (x.outer != 1) {
      exec::ZeroOp::create(builder, dst, /*stream=*/0);
    } else {
      if (low > 0)
        exec::ZeroOp::create(builder, emitter.createView(dst, 0, low * x.inner), /*stream=*/0);
      if (high > 0)
        exec::ZeroOp::create(builder,
                             emitter.createView(dst, (low + x.size) * x.inner, high * x.inner),
                             /*stream=*/0);
    }
    copyInto(emitter, src, dst, x.outer, x.size, x.inner, low, result.size);
    return success();
  }
};

struct LowerConcat : ExecLoweringInterface::ExternalModel<LowerConcat, graph::ConcatOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto concat = cast<graph::ConcatOp>(op);
    Around result(shapeOf(concat.getResult()), concat.getDim());
    if (emitter.isDefined(concat.getResult()))
      return success(); // all inputs were written in place
    Value dst = emitter.define(concat.getResult());
    int64_t start = 0;
    for (Value input : concat.getInputs()) {
      int64_t size = numElements(shapeOf(input)) / (result.outer * result.inner);
      copyInto(emitter, emitter.lookup(input), dst, result.outer, size, result.inner, start,
               result.size);
      start += size;
    }
    return success();
  }
};
} // namespace

void dtc::registerShapeLowering(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, graph::GraphDialect *) {
    graph::ReshapeOp::attachInterface<LowerReshape>(*context);
    graph::AgainOp::attachInterface<LowerAgain>(*context);
    graph::ToHostOp::attachInterface<LowerMove<graph::ToHostOp>>(*context);
    graph::ToDeviceOp::attachInterface<LowerMove<graph::ToDeviceOp>>(*context);
    graph::TransposeOp::attachInterface<LowerTranspose>(*context);
    graph::SliceOp::attachInterface<LowerSlice>(*context);
    graph::PadOp::attachInterface<LowerPad>(*context);
    graph::ConcatOp::attachInterface<LowerConcat>(*context);
  });
}
