// Runs the scalar bodies of pointwise ops.
#include "Interpreter.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/RandomOps.h"
#include "kernels/cpu/Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;

namespace {

uint64_t mask(Type type, uint64_t bits) {
  unsigned width = isa<IndexType>(type) ? 64 : type.getIntOrFloatBitWidth();
  return width >= 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

// Returns the integer as a signed number.
int64_t asSigned(Type type, uint64_t bits) {
  unsigned width = isa<IndexType>(type) ? 64 : type.getIntOrFloatBitWidth();
  return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
}

class Body {
public:
  explicit Body(llvm::DenseMap<Value, Scalar> values) : values(std::move(values)) {}

  Scalar get(Value value) const { return values.lookup(value); }

  void run(Operation &op) {
    bool isFloat = isa<FloatType>(op.getResult(0).getType());
    Scalar value =
        isFloat ? Scalar{number(op), 0} : Scalar{0, mask(op.getResult(0).getType(), integer(op))};
    values[op.getResult(0)] = value;
  }

private:
  double number(Operation &op) {
    auto x = [&](unsigned i) { return get(op.getOperand(i)).number; };
    return llvm::TypeSwitch<Operation *, double>(&op)
        .Case([&](arith::ConstantOp c) { return cast<FloatAttr>(c.getValue()).getValueAsDouble(); })
        .Case([&](arith::AddFOp) { return x(0) + x(1); })
        .Case([&](arith::SubFOp) { return x(0) - x(1); })
        .Case([&](arith::MulFOp) { return x(0) * x(1); })
        .Case([&](arith::DivFOp) { return x(0) / x(1); })
        .Case([&](arith::NegFOp) { return -x(0); })
        .Case([&](arith::MinimumFOp) { return std::min(x(0), x(1)); })
        .Case([&](arith::MaximumFOp) { return std::max(x(0), x(1)); })
        .Case([&](math::ExpOp) { return std::exp(x(0)); })
        .Case([&](math::ExpM1Op) { return std::expm1(x(0)); })
        .Case([&](math::LogOp) { return std::log(x(0)); })
        .Case([&](math::Log1pOp) { return std::log1p(x(0)); })
        .Case([&](math::PowFOp) { return std::pow(x(0), x(1)); })
        .Case([&](math::AbsFOp) { return std::abs(x(0)); })
        .Case([&](math::CopySignOp) { return std::copysign(x(0), x(1)); })
        .Case([&](math::FloorOp) { return std::floor(x(0)); })
        .Case([&](math::CeilOp) { return std::ceil(x(0)); })
        .Case([&](math::TruncOp) { return std::trunc(x(0)); })
        .Case([&](math::RoundEvenOp) { return std::nearbyint(x(0)); })
        .Case([&](math::SqrtOp) { return std::sqrt(x(0)); })
        .Case([&](math::TanhOp) { return std::tanh(x(0)); })
        .Case([&](math::ErfOp) { return std::erf(x(0)); })
        .Case([&](math::CosOp) { return std::cos(x(0)); })
        .Case([&](math::SinOp) { return std::sin(x(0)); })
        .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return x(0); }) // numbers are doubles
        .Case([&](arith::SelectOp s) {
          return get(get(s.getCondition()).bits ? s.getTrueValue() : s.getFalseValue()).number;
        })
        .Case([&](arith::BitcastOp c) {
          return std::bit_cast<float>(static_cast<uint32_t>(get(c.getIn()).bits));
        })
        .Case([&](arith::UIToFPOp c) { return static_cast<double>(get(c.getIn()).bits); })
        .Case([&](arith::SIToFPOp c) {
          return static_cast<double>(asSigned(c.getIn().getType(), get(c.getIn()).bits));
        })
        .Default([](Operation *other) {
          ADD_FAILURE() << "no meaning for " << other->getName().getStringRef().str();
          return 0.0;
        });
  }

  uint64_t integer(Operation &op) {
    auto x = [&](unsigned i) { return get(op.getOperand(i)).bits; };
    return llvm::TypeSwitch<Operation *, uint64_t>(&op)
        .Case([&](arith::ConstantOp c) {
          return cast<IntegerAttr>(c.getValue()).getValue().getZExtValue();
        })
        .Case([&](arith::AddIOp) { return x(0) + x(1); })
        .Case([&](arith::SubIOp) { return x(0) - x(1); })
        .Case([&](arith::MulIOp) { return x(0) * x(1); })
        .Case([&](arith::OrIOp) { return x(0) | x(1); })
        .Case([&](arith::ShLIOp) { return x(0) << x(1); })
        .Case([&](arith::MinSIOp op) {
          return asSigned(op.getType(), x(0)) < asSigned(op.getType(), x(1)) ? x(0) : x(1);
        })
        .Case([&](arith::BitcastOp c) {
          return uint64_t(std::bit_cast<uint32_t>(static_cast<float>(get(c.getIn()).number)));
        })
        .Case([&](arith::XOrIOp) { return x(0) ^ x(1); })
        .Case([&](arith::AndIOp) { return x(0) & x(1); })
        .Case([&](arith::ShRUIOp) { return x(0) >> x(1); })
        .Case<arith::TruncIOp, arith::ExtUIOp, arith::IndexCastOp>([&](auto) { return x(0); })
        .Case([&](arith::FPToUIOp c) { return static_cast<uint64_t>(get(c.getIn()).number); })
        .Case([&](arith::SelectOp) { return x(0) ? x(1) : x(2); })
        .Case([&](RandomWordOp) {
          std::array<uint32_t, 4> counter = {
              static_cast<uint32_t>(x(0)), static_cast<uint32_t>(x(0) >> 32),
              static_cast<uint32_t>(x(1)), static_cast<uint32_t>(x(2))};
          return static_cast<uint64_t>(cpu::philox4x32(counter, x(3))[0]);
        })
        .Case([&](arith::CmpIOp c) { return compare(c); })
        .Case([&](arith::CmpFOp c) {
          double lhs = get(c.getLhs()).number, rhs = get(c.getRhs()).number;
          switch (c.getPredicate()) {
          case arith::CmpFPredicate::OEQ:
            return static_cast<uint64_t>(lhs == rhs);
          case arith::CmpFPredicate::ONE:
            return static_cast<uint64_t>(lhs < rhs || lhs > rhs);
          case arith::CmpFPredicate::UNE:
            return static_cast<uint64_t>(lhs != rhs);
          case arith::CmpFPredicate::OGT:
            return static_cast<uint64_t>(lhs > rhs);
          case arith::CmpFPredicate::OGE:
            return static_cast<uint64_t>(lhs >= rhs);
          case arith::CmpFPredicate::OLT:
            return static_cast<uint64_t>(lhs < rhs);
          default:
            return static_cast<uint64_t>(lhs <= rhs);
          }
        })
        .Default([](Operation *other) {
          ADD_FAILURE() << "no meaning for " << other->getName().getStringRef().str();
          return uint64_t(0);
        });
  }

  uint64_t compare(arith::CmpIOp op) {
    uint64_t lhs = get(op.getLhs()).bits, rhs = get(op.getRhs()).bits;
    Type type = op.getLhs().getType();
    if (op.getPredicate() == arith::CmpIPredicate::uge)
      return lhs >= rhs;
    if (op.getPredicate() == arith::CmpIPredicate::ne)
      return lhs != rhs;
    if (op.getPredicate() == arith::CmpIPredicate::eq)
      return lhs == rhs;
    int64_t a = asSigned(type, lhs), b = asSigned(type, rhs);
    if (op.getPredicate() == arith::CmpIPredicate::sle)
      return a <= b;
    if (op.getPredicate() == arith::CmpIPredicate::sgt)
      return a > b;
    if (op.getPredicate() == arith::CmpIPredicate::sge)
      return a >= b;
    EXPECT_EQ(op.getPredicate(), arith::CmpIPredicate::slt);
    return a < b;
  }

  llvm::DenseMap<Value, Scalar> values;
};

// Returns the scalar of an element of that type.
Scalar scalarOf(double value, Type type) {
  if (isa<FloatType>(type))
    return {value, 0};
  return {0, static_cast<uint64_t>(static_cast<int64_t>(value))};
}

// Returns the position in `operand` of point `index` of a tensor of `rank` dims. Dims of size 1
// repeat.
int64_t operandPosition(const TensorLoops &dims, const Tensor &operand, ArrayRef<int64_t> index) {
  int64_t position = 0;
  for (size_t dim = 0; dim < operand.shape.size(); ++dim)
    position = position * operand.shape[dim] + (dims[dim].empty() ? 0 : index[dims[dim][0]]);
  return position;
}

} // namespace

SmallVector<Scalar> dtc::graph::interpretBody(Block &block, ArrayRef<Scalar> arguments,
                                              ValueRange results) {
  llvm::DenseMap<Value, Scalar> values;
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    values[argument] = value;
  Body body(std::move(values));
  for (Operation &op : block)
    body.run(op);
  return llvm::map_to_vector(results, [&](Value result) { return body.get(result); });
}

void dtc::graph::interpretPoints(PointwiseOpInterface op, Values &values) {
  OpRule rule = cast<RuleOpInterface>(op.getOperation()).getRule();
  Block block;
  for (Value operand : op->getOperands())
    block.addArgument(getElementTypeOrSelf(operand), op->getLoc());
  for (size_t i = 0; i < rule.loops.size(); ++i)
    block.addArgument(IndexType::get(op->getContext()), op->getLoc());
  // arguments of ops that draw random numbers, in addition to their indices
  SmallVector<uint64_t> random;
  if (auto draws = dyn_cast<RandomOpInterface>(op.getOperation())) {
    auto firstSample = op->getAttrOfType<IntegerAttr>("first_sample");
    random = {static_cast<uint64_t>(firstSample ? firstSample.getInt() : 0),
              static_cast<uint64_t>(draws.getStream())};
  }
  for (size_t i = 0; i < random.size(); ++i)
    block.addArgument(IndexType::get(op->getContext()), op->getLoc());
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&block);
  ArrayRef<BlockArgument> arguments = block.getArguments();
  size_t numOperands = op->getNumOperands();
  SmallVector<Value> operands(arguments.take_front(numOperands)),
      indices(arguments.drop_front(numOperands));
  SmallVector<Value> results = op.buildPoint(builder, op->getLoc(), operands, indices);

  for (Value result : op->getResults())
    values[result] = Tensor::zeros(result.getType());
  std::vector<int64_t> index(rule.loops.size(), 0);
  size_t numPoints = values[op->getResult(0)].data.size();
  for (size_t point = 0; point < numPoints; ++point) {
    size_t rest = point;
    for (size_t dim = index.size(); dim-- > 0; rest /= rule.loops[dim].size)
      index[dim] = rest % rule.loops[dim].size;
    SmallVector<Scalar> inputs;
    for (const auto &[i, operand] : llvm::enumerate(op->getOperands())) {
      const Tensor &tensor = values[operand];
      inputs.push_back(scalarOf(tensor.data[operandPosition(rule.operands[i], tensor, index)],
                                getElementTypeOrSelf(operand)));
    }
    for (int64_t i : index)
      inputs.push_back({0, static_cast<uint64_t>(i)});
    for (uint64_t value : random)
      inputs.push_back({0, value});
    for (const auto &[i, value] : llvm::enumerate(interpretBody(block, inputs, results)))
      values[op->getResult(i)].data[point] = value.number;
  }
}
