// The kernel of rotary position embedding.
#include "dialects/graph/NnOps.h"
#include "passes/codegen/KernelModels.h"
#include "passes/codegen/RowShape.h"

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;
using Values = KernelBuilder::Values;

namespace {

// Turns pairs (a, b) = (x[i], x[i + D/2]) into (a cos - b sin, b cos + a sin); `inverse` turns them
// the other way. A row is one position of one sample, whose heads share its angles. Pairs are
// formed across halves and not of neighbours, as in Hugging Face, so both parts of a vector of
// pairs are contiguous. Source: Su et al. 2021, arXiv:2104.09864, section 3.4.2.
struct RotaryKernel : KernelOpInterface::ExternalModel<RotaryKernel, RotaryOp> {
  static RowShape rowsOf(Operation *op) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(op->getOperand(0).getType()).getShape();
    return {shape[0] * shape[1], shape[2] * shape[3]};
  }
  int64_t getKernelRange(Operation *op) const { return rowsOf(op).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return rowsOf(op).unit(/*combines=*/false); }
  SmallVector<std::pair<int64_t, int64_t>> getInPlacePairs(Operation *) const { return {{0, 0}}; }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    auto rotary = cast<RotaryOp>(op);
    ArrayRef<int64_t> shape = cast<RankedTensorType>(op->getOperand(0).getType()).getShape();
    int64_t half = shape[3] / 2;
    RowShape rows = rowsOf(op);
    bool isOfSamples = rotary.getCos().getType().getRank() == 3;
    k.forEachRow(rows, {shape[2], half}, [&](Value row) {
      Value table = k.mul(isOfSamples ? row : k.rem(row, shape[1]), half);
      k.forEachPart(k.index(shape[2]), [&](Value head) {
        Value base = k.mul(k.add(k.mul(row, shape[2]), head), shape[3]);
        k.forEachVector(half, {}, [&](Value column, Lanes lanes, ValueRange) -> Values {
          Value cos = k.load(k.operand(1), k.add(table, column), lanes);
          Value sin = k.load(k.operand(2), k.add(table, column), lanes);
          Value low = k.add(base, column), high = k.add(low, half);
          Value a = k.load(k.operand(0), low, lanes), b = k.load(k.operand(0), high, lanes);
          if (rotary.getInverse())
            sin = k.subF(k.splat(0, lanes.width), sin);
          k.store(k.subF(k.mulF(a, cos), k.mulF(b, sin)), k.result(0), low, lanes);
          k.store(k.addF(k.mulF(b, cos), k.mulF(a, sin)), k.result(0), high, lanes);
          return {};
        });
      });
    });
  }
};

} // namespace

void dtc::attachRotaryKernels(MLIRContext *context) {
  RotaryOp::attachInterface<RotaryKernel>(*context);
}
