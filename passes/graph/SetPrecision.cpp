// Sets the storage element types of a model (pass dtc-set-precision).
//
// 1. Parameters become narrow.
// 2. Functions are visited in order, blocks at their first call. Matrix products and attention run
// in the narrow type. Sums over dims, exponentials and logarithms give f32. Any other op has the
// type of its operands: f32 if one of them is. So f32 spreads from a loss or a norm that is written
// by hand to the values made of it. Constants and narrow values follow.
// 3. Values that a repeat carries from layer to layer are narrow, the loss is f32.
// 4. In fp8 the operands of the products of linear layers are rounded to 8 bits (EightBitProducts).
//
// The result types of an op tell which results stay in f32 (statistics of norms, softmax, lse, the
// loss of each row); all arithmetic is in f32 registers.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/ShapeOps.h"
#include "passes/graph/EightBitProducts.h"
#include "passes/graph/LossScale.h"
#include "passes/graph/Observations.h"
#include "passes/graph/Passes.h"

#include "dialects/graph/Precision.h"

#include "dialects/graph/Attributes.h"
#include "dialects/graph/GatherOps.h"
#include "dialects/graph/ImageOps.h"
#include "dialects/graph/PointOps.h"
#include "dialects/graph/PointTable.h"
#include "dialects/graph/RouteOps.h"
#include "dialects/graph/StateAttributes.h"
#include "dialects/graph/StateOps.h"

namespace dtc {
#define GEN_PASS_DEF_SETPRECISION
#include "passes/graph/Passes.h.inc"

using namespace mlir;

namespace {

class PrecisionSetter {
public:
  // `kept`: parameters that stay in f32, such as those that the step changes without a gradient.
  PrecisionSetter(ModuleOp module, FloatType narrow, const llvm::StringSet<> &kept)
      : module(module), narrow(narrow), wide(Float32Type::get(module.getContext())), kept(kept) {}

  void run() {
    for (auto parameter : module.getOps<graph::ParameterOp>())
      if (!kept.contains(parameter.getSymName()))
        parameter.setType(llvm::cast<RankedTensorType>(in(parameter.getType(), narrow)));
    auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
    convertBody(loss);
    Operation *returned = loss.getBody().front().getTerminator();
    returned->setOperand(0, cast(returned, returned->getOperand(0), wide));
  }

private:
  // Returns a tensor or stack of floats with another element type; any other type unchanged.
  static Type in(Type type, Type element) {
    if (!isa<RankedTensorType, graph::StackType>(type) ||
        !isa<FloatType>(graph::tensorOf(type).getElementType()))
      return type;
    return graph::withTensor(type, graph::tensorOf(type).clone(element));
  }

  bool isWide(Value value) const {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.getElementType() == wide;
  }

  // Casts `value` to an element type in front of `user`; returns it unchanged if it has that type.
  static Value cast(Operation *user, Value value, Type element) {
    Type type = in(value.getType(), element);
    if (type == value.getType())
      return value;
    OpBuilder builder(user);
    return graph::CastOp::create(builder, user->getLoc(), type, value);
  }

  void convertBody(graph::FuncOp func) {
    for (Operation &op : llvm::make_early_inc_range(func.getBody().front().without_terminator()))
      if (auto get = dyn_cast<graph::GetOp>(op))
        get.getResult().setType(in(get.getType(), kept.contains(get.getSymbol()) ? wide : narrow));
      else if (auto call = dyn_cast<graph::BlockCallOpInterface>(op))
        convertCall(call);
      else
        convertOp(&op);
  }

  void convertCall(graph::BlockCallOpInterface call) {
    auto block = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
    int64_t numCarried = call.getNumCarried();
    if (converted.insert(block).second)
      convertBlock(block, call, numCarried);
    for (auto [index, operand] : llvm::enumerate(call->getOperands()))
      call->setOperand(index, cast(call, operand, elementOf(block.getArgument(index).getType())));
    for (auto [result, type] : llvm::zip(call->getResults(), block.getResultTypes()))
      result.setType(graph::withTensor(result.getType(), graph::tensorOf(type)));
  }

  // Converts a block. Its arguments get the types of the operands of its first call, except carried
  // ones and constants.
  void convertBlock(graph::FuncOp block, graph::BlockCallOpInterface call, int64_t numCarried) {
    for (auto [index, argument] : llvm::enumerate(block.getArguments())) {
      Value operand = call->getOperand(index);
      bool follows = static_cast<int64_t>(index) < numCarried || isConstant(operand);
      argument.setType(in(argument.getType(), follows ? narrow : elementOf(operand.getType())));
    }
    convertBody(block);
    Operation *returned = block.getBody().front().getTerminator();
    for (int64_t index = 0; index < numCarried; ++index)
      returned->setOperand(index, cast(returned, returned->getOperand(index), narrow));
    block.setFunctionType(FunctionType::get(module.getContext(),
                                            block.getBody().front().getArgumentTypes(),
                                            returned->getOperandTypes()));
  }

  static Type elementOf(Type type) { return graph::tensorOf(type).getElementType(); }
  static bool isConstant(Value value) { return value.getDefiningOp<graph::ConstantOp>(); }

  // Returns the operands that share a type with the first result. Scalars (the keys of random ops),
  // masks, indices, the tables of a rotation and operands that only lend their size keep their
  // types.
  static SmallVector<OpOperand *, 4> numbersOf(Operation *op, const graph::OpRule &rule) {
    SmallVector<OpOperand *, 4> numbers;
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.get().getType());
      if (!type || !isa<FloatType>(type.getElementType()) ||
          (isa<graph::RandomOpInterface>(op) && type.getRank() == 0) ||
          (isa<graph::WhereOp>(op) && operand.getOperandNumber() == 0) ||
          rule.isComplete(operand.getOperandNumber()))
        continue;
      numbers.push_back(&operand);
      if (isa<graph::RotaryOp, graph::BroadcastOp>(op))
        break;
    }
    return numbers;
  }

  void convertOp(Operation *op) {
    auto interface = dyn_cast<graph::RuleOpInterface>(op);
    if (!interface || isa<graph::CastOp>(op)) // a cast is a rounding that the model asks for
      return;
    graph::OpRule rule = interface.getRule();
    for (unsigned index : rule.completeOperands) // whole numbers, which 16 bits may round
      op->setOperand(index, cast(op, op->getOperand(index), wide));
    SmallVector<OpOperand *, 4> numbers = numbersOf(op, rule);
    if (numbers.empty() || rule.kind == graph::OpKind::Loss)
      return;
    if (isa<graph::ReduceOp, graph::ScatterAddOp>(op)) // reads any type, returns f32
      return;
    Type element = elementFor(op, rule, numbers);
    for (OpOperand *number : numbers)
      number->set(cast(op, number->get(), element));
    op->getResult(0).setType(in(op->getResult(0).getType(), isReadByRouter(op) ? wide : element));
  }

  // Returns true for a product, or a sum with a bias, that gives the logits of a router. It chooses
  // by them, and rounded ones are often equal.
  static bool isReadByRouter(Operation *op) {
    return isa<graph::LinearOp, graph::AddOp>(op) &&
           llvm::any_of(op->getUsers(), [](Operation *user) {
             return isa<graph::RouteTokensOp>(user) ||
                    (isa<graph::AddOp>(user) && isReadByRouter(user));
           });
  }

  Type elementFor(Operation *op, const graph::OpRule &rule, ArrayRef<OpOperand *> numbers) const {
    // Keeps convolution and pooling in f32, since the runtime has no other kernels for them, the
    // statistics between them, and weighted means, since losses are in f32.
    if (isa<graph::Conv2dOp, graph::MaxPool2dOp, graph::AvgPool2dOp, graph::WeightedMeanOp,
            graph::BatchNormaliseOp>(op))
      return wide;
    // Keeps exponentials and logarithms in f32, as PyTorch's autocast does: a rounded operand moves
    // an exponential by more than its own rounding.
    if (isa<graph::ExpOp, graph::LogOp>(op) || op->hasAttr(graph::kWideAttr))
      return wide;
    if (auto point = dyn_cast<graph::PointOp>(op))
      if (graph::pointRow(point.getFunction()).keepsF32)
        return wide;
    if (rule.multiplies())
      return narrow;
    bool spreads = llvm::any_of(numbers, [&](OpOperand *number) {
      return isWide(number->get()) && !isConstant(number->get());
    });
    bool isNumber =
        llvm::all_of(numbers, [&](OpOperand *number) { return isConstant(number->get()); });
    return spreads || isNumber ? wide : narrow;
  }

  ModuleOp module;
  FloatType narrow, wide;
  const llvm::StringSet<> &kept;
  llvm::SmallPtrSet<Operation *, 8> converted;
};

struct SetPrecision : impl::SetPrecisionBase<SetPrecision> {
  using SetPrecisionBase::SetPrecisionBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<Precision> wanted = precisionFrom(precision);
    if (!wanted) {
      module.emitError("'") << precision.getValue() << "' is not a precision; use "
                            << alternatives(namesOf(kPrecisions));
      return signalPassFailure();
    }
    FloatType narrow = storedType(storedAs(*wanted));
    if (narrow.isF32())
      return;
    if (!module.lookupSymbol<graph::FuncOp>(graph::kLossFunction)) {
      module.emitError("dtc-set-precision needs '@loss'; run it before dtc-differentiate");
      return signalPassFailure();
    }
    FailureOr<llvm::StringSet<>> observed = observedParameters(module);
    if (failed(observed))
      return signalPassFailure();
    llvm::StringSet<> kept = wideParameters(module);
    for (const auto &name : *observed)
      kept.insert(name.getKey());
    PrecisionSetter(module, narrow, kept).run();
    if (narrow.isF16())
      declareLossScale(module);
    if (*wanted == Precision::FP8 && failed(roundProducts(module)))
      return signalPassFailure();
  }

private:
  FloatType storedType(Precision stored) {
    Builder builder(&getContext());
    switch (stored) {
    case Precision::F32:
      return builder.getF32Type();
    case Precision::BF16:
      return builder.getBF16Type();
    case Precision::F16:
      return builder.getF16Type();
    case Precision::FP8:
      break;
    }
    llvm_unreachable("8 bits are of products alone");
  }
};

} // namespace
} // namespace dtc
