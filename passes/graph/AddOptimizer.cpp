// Adds the function that updates the parameters (pass dtc-add-optimizer).
#include "passes/graph/Passes.h"

#include "dialects/graph/Inputs.h"

namespace dtc {
#define GEN_PASS_DEF_ADDOPTIMIZER
#include "passes/graph/Passes.h.inc"

using namespace mlir;

namespace {

class UpdateBuilder {
public:
  UpdateBuilder(ModuleOp module, const AddOptimizerOptions &options)
      : module(module), options(options), builder(module.getContext()), loc(module.getLoc()),
        scalar(RankedTensorType::get({}, builder.getF32Type())), weighted(isWeighted(module)) {}

  void run() {
    parameters.assign(module.getOps<graph::ParameterOp>().begin(),
                      module.getOps<graph::ParameterOp>().end());
    createFunction();
    Value loss = func.getArgument(0), norm = buildNorm();
    Value one = constant(1), inverse;
    if (weighted) { // gradients are those of the sum: so is their norm, and all is divided here
      inverse = graph::InverseOrZeroOp::create(builder, loc, scalar, func.getArgument(1));
      loss = times(loss, inverse);
      norm = times(norm, inverse);
    }
    Value clip = options.clipNorm > 0
                     ? graph::ClipScaleOp::create(builder, loc, scalar, norm,
                                                  builder.getF64FloatAttr(options.clipNorm))
                           .getResult()
                     : one;
    if (weighted)
      clip = times(clip, inverse);
    Value step = input(graph::InputRole::Step);
    auto kind = options.cosine ? graph::ScheduleKind::Cosine : graph::ScheduleKind::Constant;
    Value rate = graph::LearningRateOp::create(
        builder, loc, scalar, step, input(graph::InputRole::BaseLr),
        input(graph::InputRole::TotalSteps), kind, static_cast<uint64_t>(options.warmupSteps),
        llvm::APFloat(options.minRatio));
    for (auto [index, parameter] : llvm::enumerate(parameters)) {
      if (options.optimizer == "adamw")
        updateByAdamW(parameter, gradients()[index], rate, step, clip);
      else
        updateBySgd(parameter, gradients()[index], rate, clip);
    }
    finish({loss, norm, rate}, {"loss", "grad_norm", "learning_rate"});
  }

private:
  // Whether '@microbatch' returns what to divide the loss by.
  static bool isWeighted(ModuleOp module) {
    auto microBatch = module.lookupSymbol<graph::FuncOp>("microbatch");
    return llvm::any_of(llvm::seq(microBatch.getNumResults()), [&](unsigned result) {
      auto name = microBatch.getResultAttrOfType<StringAttr>(result, graph::kAccumulatedAttr);
      return name && name == graph::kWeightSum;
    });
  }

  void createFunction() {
    builder.setInsertionPointToEnd(module.getBody());
    SmallVector<StringRef> sums{graph::kLossSum};
    if (weighted)
      sums.push_back(graph::kWeightSum);
    SmallVector<Type> types(sums.size(), scalar);
    for (graph::ParameterOp parameter : parameters)
      types.push_back(parameter.getType());
    func = graph::FuncOp::create(builder, loc, graph::kUpdateFunction,
                                 builder.getFunctionType(types, {scalar, scalar, scalar}));
    if (func.getBody().empty())
      func.getBody().emplaceBlock();
    Block &body = func.getBody().front();
    if (body.getNumArguments() == 0)
      body.addArguments(types, SmallVector<Location>(types.size(), loc));
    for (auto [index, name] : llvm::enumerate(sums))
      func.setArgAttr(index, graph::kAccumulatedAttr, builder.getStringAttr(name));
    for (auto [index, parameter] : llvm::enumerate(parameters))
      func.setArgAttr(sums.size() + index, graph::kGradientOfAttr,
                      FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
    builder.setInsertionPointToEnd(&body);
  }

  ArrayRef<BlockArgument> gradients() { return func.getArguments().take_back(parameters.size()); }

  Value times(Value a, Value b) { return graph::MultiplyOp::create(builder, loc, scalar, a, b); }

  Value constant(double value) {
    return graph::ConstantOp::create(builder, loc, scalar, builder.getF64FloatAttr(value));
  }

  Value input(graph::InputRole role) { return graph::InputOp::create(builder, loc, scalar, role); }

  Value buildNorm() {
    Value sum;
    for (BlockArgument gradient : gradients()) {
      Value squares = graph::SumSquaresOp::create(builder, loc, scalar, gradient);
      sum = sum ? graph::AddOp::create(builder, loc, scalar, sum, squares).getResult() : squares;
    }
    return graph::SqrtOp::create(builder, loc, scalar, sum ? sum : constant(0));
  }

  // Declares zero state beside the parameter and reads it.
  graph::GetOp state(graph::ParameterOp parameter, StringRef suffix) {
    OpBuilder::InsertionGuard guard(builder);
    std::string name = (parameter.getSymName() + "." + suffix).str();
    builder.setInsertionPoint(func);
    graph::StateOp::create(builder, parameter.getLoc(), builder.getStringAttr(name),
                           FlatSymbolRefAttr::get(parameter.getSymNameAttr()),
                           TypeAttr::get(parameter.getType()), graph::PlacementAttr());
    builder.setInsertionPointToEnd(&func.getBody().front());
    return graph::GetOp::create(builder, parameter.getLoc(), parameter.getType(),
                                FlatSymbolRefAttr::get(builder.getContext(), name));
  }

  FloatAttr decayOf(graph::ParameterOp parameter) {
    return builder.getF64FloatAttr(parameter.getDecay() ? options.weightDecay : 0);
  }

  void updateByAdamW(graph::ParameterOp parameter, Value gradient, Value rate, Value step,
                     Value clip) {
    Location at = parameter.getLoc();
    Type type = parameter.getType();
    auto value =
        graph::GetOp::create(builder, at, type, FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
    graph::GetOp first = state(parameter, "exp_avg"), second = state(parameter, "exp_avg_sq");
    auto update = graph::AdamWOp::create(
        builder, at, type, type, type, value, gradient, first, second, rate, step, clip,
        builder.getF64FloatAttr(options.beta1), builder.getF64FloatAttr(options.beta2),
        builder.getF64FloatAttr(options.epsilon), decayOf(parameter));
    for (auto [get, result] :
         llvm::zip(SmallVector<graph::GetOp>{value, first, second}, update.getResults()))
      graph::SetOp::create(builder, at, get.getSymbolAttr(), result);
  }

  void updateBySgd(graph::ParameterOp parameter, Value gradient, Value rate, Value clip) {
    Location at = parameter.getLoc();
    Type type = parameter.getType();
    auto value =
        graph::GetOp::create(builder, at, type, FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
    graph::GetOp momentum = state(parameter, "momentum");
    auto update =
        graph::SgdOp::create(builder, at, type, type, value, gradient, momentum, rate, clip,
                             builder.getF64FloatAttr(options.beta1), decayOf(parameter));
    for (auto [get, result] :
         llvm::zip(SmallVector<graph::GetOp>{value, momentum}, update.getResults()))
      graph::SetOp::create(builder, at, get.getSymbolAttr(), result);
  }

  void finish(ArrayRef<Value> results, ArrayRef<StringRef> names) {
    graph::ReturnOp::create(builder, loc, results);
    for (auto [index, name] : llvm::enumerate(names))
      func.setResultAttr(index, graph::kOutputAttr, builder.getStringAttr(name));
  }

  ModuleOp module;
  const AddOptimizerOptions &options;
  OpBuilder builder;
  Location loc;
  RankedTensorType scalar;
  bool weighted;
  graph::FuncOp func;
  SmallVector<graph::ParameterOp> parameters;
};

struct AddOptimizer : impl::AddOptimizerBase<AddOptimizer> {
  using AddOptimizerBase::AddOptimizerBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (optimizer != "adamw" && optimizer != "sgd") {
      module.emitError("'") << optimizer.getValue()
                            << "' is not an optimizer that dtc can build; use adamw or sgd";
      return signalPassFailure();
    }
    if (!module.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction) ||
        module.lookupSymbol(graph::kUpdateFunction)) {
      module.emitError("dtc-add-optimizer needs '@microbatch' and no '@update'; run "
                       "dtc-differentiate first, once");
      return signalPassFailure();
    }
    AddOptimizerOptions options{optimizer, beta1,  beta2,       epsilon, weightDecay,
                                clipNorm,  cosine, warmupSteps, minRatio};
    UpdateBuilder(module, options).run();
  }
};

} // namespace
} // namespace dtc
