// Writes out the short forms of ops: derives the omitted results, operands and numbers.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/Verify.h"

#include <cmath>

using namespace mlir;
using namespace dtc::graph;

// Replaces an op; keeps the location, which names values and points at the source line.
template <typename OpTy> static void replace(OpTy op, Operation *complete) {
  for (auto [old, value] : llvm::zip(op->getResults(), complete->getResults()))
    old.replaceAllUsesWith(value);
  complete->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->erase();
}

// Returns the shape of row statistics: all dims except the last, in f32.
static RankedTensorType rowsOf(Value x) {
  RankedTensorType type = tensorType(x);
  return RankedTensorType::get(type.getShape().drop_back(), Float32Type::get(type.getContext()));
}

// Reads the seed and the step, which key every random number.
static std::pair<Value, Value> readKey(OpBuilder &builder, Location loc) {
  Value seed = InputOp::create(builder, loc, RankedTensorType::get({}, builder.getI64Type()),
                               InputRole::Seed);
  Value step = InputOp::create(builder, loc, RankedTensorType::get({}, builder.getF32Type()),
                               InputRole::Step);
  return {seed, step};
}

// y = x w + bias
bool LinearOp::isShort() { return getBias() != nullptr; }

void LinearOp::writeOut(OpBuilder &builder, llvm::function_ref<int64_t()>) {
  Value product = LinearOp::create(builder, getLoc(), getType(), getX(), getWeight(), Value(),
                                   getContractAttr(), getTransposedAttr());
  replace(*this, AddOp::create(builder, getLoc(), getType(), product, getBias()));
}

bool LayerNormOp::isShort() { return !getMean(); }

void LayerNormOp::writeOut(OpBuilder &builder, llvm::function_ref<int64_t()>) {
  Type rows = rowsOf(getX());
  replace(*this,
          LayerNormOp::create(builder, getLoc(), getResult().getType(), TypeRange{rows, rows},
                              getX(), getWeight(), getBias(), getEpsilonAttr()));
}

bool RmsNormOp::isShort() { return !getRstd(); }

void RmsNormOp::writeOut(OpBuilder &builder, llvm::function_ref<int64_t()>) {
  replace(*this, RmsNormOp::create(builder, getLoc(), getResult().getType(), rowsOf(getX()), getX(),
                                   getWeight(), getEpsilonAttr()));
}

bool CrossEntropyOp::isShort() { return !getLse(); }

// Returns the mean of the rows that count.
static Value meanOf(OpBuilder &builder, CrossEntropyOp op, Value rows) {
  RankedTensorType type = tensorType(rows),
                   scalar = RankedTensorType::get({}, type.getElementType());
  if (std::optional<uint64_t> ignoring = op.getIgnoring()) {
    Value counted = CountedOp::create(builder, op.getLoc(), type, op.getTargets(), *ignoring);
    return WeightedMeanOp::create(builder, op.getLoc(), scalar, rows, counted);
  }
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  return ReduceOp::create(builder, op.getLoc(), scalar, rows, ReduceKind::Mean, dims);
}

void CrossEntropyOp::writeOut(OpBuilder &builder, llvm::function_ref<int64_t()>) {
  Type rows = rowsOf(getLogits());
  auto complete = CrossEntropyOp::create(builder, getLoc(), rows, rows, getLogits(), getTargets(),
                                         getIgnoringAttr(), UnitAttr());
  if (!getMean())
    return replace(*this, complete);
  replace(*this, meanOf(builder, *this, complete.getLoss()).getDefiningOp());
}

// Attention without dropout draws no random numbers and has no key.
bool AttentionOp::isShort() {
  return !getLse() || !getScale() || (!getDropout().isZero() && !getId());
}

void AttentionOp::writeOut(OpBuilder &builder, llvm::function_ref<int64_t()> nextStream) {
  RankedTensorType q = tensorType(getQ());
  Type lse = RankedTensorType::get({q.getDimSize(0), q.getDimSize(2), q.getDimSize(1)},
                                   builder.getF32Type());
  FloatAttr scale = getScaleAttr();
  if (!scale)
    scale = builder.getF64FloatAttr(1 / std::sqrt(static_cast<double>(q.getDimSize(3))));
  Value seed = getSeed(), step = getStep();
  IntegerAttr stream = getIdAttr();
  if (!getDropout().isZero() && !stream) {
    std::tie(seed, step) = readKey(builder, getLoc());
    stream = builder.getI64IntegerAttr(nextStream());
  }
  replace(*this, AttentionOp::create(builder, getLoc(), getResult().getType(), lse, getQ(), getK(),
                                     getV(), getSinks(), getLengths(), getBias(), getSlopes(),
                                     getDocuments(), getStarts(), seed, step, getCausalAttr(),
                                     getSlidingAttr(), getPrefixAttr(), getSoftCapAttr(), scale,
                                     getDropoutAttr(), stream, getWindowsAttr()));
}

bool DropoutOp::isShort() { return !getId(); }

void DropoutOp::writeOut(OpBuilder &builder, llvm::function_ref<int64_t()> nextStream) {
  auto [seed, step] = readKey(builder, getLoc());
  replace(*this, DropoutOp::create(builder, getLoc(), getType(), getX(), seed, step, getPAttr(),
                                   builder.getI64IntegerAttr(nextStream()), getGlobalShapeAttr(),
                                   getWindowsAttr()));
}

// Returns base^(-i/n) for i below n (Su et al. 2021, arXiv:2104.09864, with n half of the head
// dim).
static std::vector<double> powersOf(double base, int64_t n) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < n; ++i)
    frequencies.push_back(
        std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(2 * n)));
  return frequencies;
}

// Stretches long waves for longer contexts as Llama 3.1 does (transformers' rope type "llama3").
static void stretchLongWaves(std::vector<double> &frequencies, double factor, double low,
                             double high, double positions) {
  for (double &frequency : frequencies) {
    double wavelength = 2 * M_PI / frequency;
    if (wavelength > positions / low) {
      frequency /= factor;
    } else if (wavelength > positions / high) {
      double smooth = (positions / wavelength - low) / (high - low);
      frequency = (1 - smooth) * frequency / factor + smooth * frequency;
    }
  }
}

bool RotaryTableOp::isShort() { return getBase().has_value(); }

void RotaryTableOp::writeOut(OpBuilder &builder, llvm::function_ref<int64_t()>) {
  std::vector<double> frequencies =
      powersOf(getBase()->convertToDouble(), tensorType(getCos()).getDimSize(1));
  double factor = getFactor() ? getFactor()->convertToDouble() : 1;
  if (getLow())
    stretchLongWaves(frequencies, factor, getLow()->convertToDouble(), getHigh()->convertToDouble(),
                     static_cast<double>(*getPositions()));
  else
    for (double &frequency : frequencies)
      frequency /= factor;
  replace(*this,
          RotaryTableOp::create(builder, getLoc(), getCos().getType(), getSin().getType(),
                                builder.getDenseF64ArrayAttr(frequencies), FloatAttr(), FloatAttr(),
                                FloatAttr(), FloatAttr(), IntegerAttr(), getWindowsAttr()));
}

// Always short: it becomes one slice per element.
bool UnstackOp::isShort() { return true; }

void UnstackOp::writeOut(OpBuilder &builder, llvm::function_ref<int64_t()>) {
  for (auto [index, result] : llvm::enumerate(getResults()))
    result.replaceAllUsesWith(SliceOp::create(builder, getLoc(), result.getType(), getX(), getDim(),
                                              index, /*size=*/1, /*squeeze=*/true));
  (*this)->erase();
}
