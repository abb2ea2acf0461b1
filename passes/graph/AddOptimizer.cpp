// Adds the function that updates the parameters (pass dtc-add-optimizer).
#include "passes/graph/Passes.h"

#include "dialects/graph/Inputs.h"

namespace dtc {
#define GEN_PASS_DEF_ADDOPTIMIZER
#include "passes/graph/Passes.h.inc"

using namespace mlir;

namespace {

// A parameter and its gradient, both stacks where it is repeated.
struct Trained {
  graph::ParameterOp parameter;
  Value gradient;

  // How often it is repeated, 0 where it is not.
  int64_t count() const {
    graph::ParameterOp op = parameter;
    return static_cast<int64_t>(op.getRepeats().value_or(0));
  }
};

class UpdateBuilder {
public:
  UpdateBuilder(ModuleOp module, const AddOptimizerOptions &options)
      : module(module), options(options), builder(module.getContext()), loc(module.getLoc()),
        scalar(RankedTensorType::get({}, builder.getF32Type())), weighted(isWeighted(module)) {}

  void run() {
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
    for (ArrayRef<Trained> run : runsOf(trained))
      updateRun(run, {rate, step, clip});
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
    SmallVector<graph::ParameterOp> parameters(module.getOps<graph::ParameterOp>());
    SmallVector<Type> types(sums.size(), scalar);
    for (graph::ParameterOp parameter : parameters)
      types.push_back(parameter.getValueType());
    func = graph::FuncOp::create(builder, loc, graph::kUpdateFunction,
                                 builder.getFunctionType(types, {scalar, scalar, scalar}));
    if (func.getBody().empty())
      func.getBody().emplaceBlock();
    Block &body = func.getBody().front();
    if (body.getNumArguments() == 0)
      body.addArguments(types, SmallVector<Location>(types.size(), loc));
    for (auto [index, name] : llvm::enumerate(sums))
      func.setArgAttr(index, graph::kAccumulatedAttr, builder.getStringAttr(name));
    for (auto [index, parameter] : llvm::enumerate(parameters)) {
      func.setArgAttr(sums.size() + index, graph::kGradientOfAttr,
                      FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
      trained.push_back({parameter, body.getArgument(sums.size() + index)});
    }
    builder.setInsertionPointToEnd(&body);
  }

  Value times(Value a, Value b) { return graph::MultiplyOp::create(builder, loc, scalar, a, b); }

  Value constant(double value) {
    return graph::ConstantOp::create(builder, loc, scalar, builder.getF64FloatAttr(value));
  }

  Value input(graph::InputRole role) { return graph::InputOp::create(builder, loc, scalar, role); }

  // Parameters that follow each other and are repeated as often are updated together, by a block.
  static SmallVector<ArrayRef<Trained>> runsOf(ArrayRef<Trained> all) {
    SmallVector<ArrayRef<Trained>> runs;
    while (!all.empty()) {
      int64_t count = all.front().count();
      size_t size = 1;
      while (count > 0 && size < all.size() && all[size].count() == count)
        ++size;
      runs.push_back(all.take_front(size));
      all = all.drop_front(size);
    }
    return runs;
  }

  // The square root of all gradients' squares together, of the whole model and mesh: ranks add up
  // the squares of their parts, each of which is counted once (Pascanu, Mikolov and Bengio 2012,
  // arXiv:1211.5063, section 3.2).
  Value buildNorm() {
    Value sum;
    for (ArrayRef<Trained> run : runsOf(trained))
      sum = run.front().count() > 0 ? addSquaresOfStacks(run, sum ? sum : constant(0))
                                    : addSquares(sum, run.front().gradient);
    return graph::SqrtOp::create(builder, loc, scalar, sum ? sum : constant(0));
  }

  // `sum` may be null.
  Value addSquares(Value sum, Value gradient) {
    Value squares = graph::SumSquaresOp::create(builder, loc, scalar, gradient);
    return sum ? graph::AddOp::create(builder, loc, scalar, sum, squares).getResult() : squares;
  }

  // A block for one execution's part of `stacks`, after `others`; calls `build` inside of it with
  // its arguments, for its results, and repeats it.
  ValueRange repeatBlock(StringRef name, int64_t count, ValueRange others, ValueRange stacks,
                         int64_t carrying,
                         function_ref<SmallVector<Value>(ValueRange, ValueRange)> build) {
    SmallVector<Type> types(others.getTypes());
    for (Value stack : stacks)
      types.push_back(graph::tensorOf(stack.getType()));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(module.getBody());
    auto block =
        graph::FuncOp::create(builder, loc, uniqueName(name), builder.getFunctionType(types, {}));
    block.setPrivate();
    Block &body =
        block.getBody().empty() ? block.getBody().emplaceBlock() : block.getBody().front();
    if (body.getNumArguments() == 0)
      body.addArguments(types, SmallVector<Location>(types.size(), loc));
    builder.setInsertionPointToEnd(&body);
    ValueRange arguments(body.getArguments());
    SmallVector<Value> results =
        build(arguments.take_front(others.size()), arguments.drop_front(others.size()));
    graph::ReturnOp::create(builder, loc, results);
    block.setFunctionType(builder.getFunctionType(types, ValueRange(results).getTypes()));
    builder.setInsertionPointToEnd(&func.getBody().front());
    SmallVector<Value> operands(others);
    llvm::append_range(operands, stacks);
    SmallVector<Type> resultTypes;
    for (auto [index, result] : llvm::enumerate(results)) {
      auto type = cast<RankedTensorType>(result.getType());
      bool isCarried = static_cast<int64_t>(index) < carrying;
      resultTypes.push_back(isCarried ? Type(type)
                                      : graph::StackType::get(type.getContext(), count, type));
    }
    return graph::RepeatOp::create(builder, loc, resultTypes, count,
                                   FlatSymbolRefAttr::get(block.getSymNameAttr()), operands,
                                   carrying, /*reversed=*/false, /*instance=*/0)
        .getResults();
  }

  std::string uniqueName(StringRef name) {
    std::string unique = name.str();
    for (unsigned i = 1; module.lookupSymbol(unique); ++i)
      unique = (name + "." + Twine(i)).str();
    return unique;
  }

  Value addSquaresOfStacks(ArrayRef<Trained> run, Value sum) {
    SmallVector<Value> gradients =
        llvm::map_to_vector(run, [](const Trained &entry) { return entry.gradient; });
    return repeatBlock("squares", run.front().count(), sum, gradients, /*carrying=*/1,
                       [&](ValueRange others, ValueRange ofOne) {
                         Value total = others.front();
                         for (Value gradient : ofOne)
                           total = addSquares(total, gradient);
                         return SmallVector<Value>{total};
                       })
        .front();
  }

  // Reads a parameter or state.
  Value read(graph::ParameterOp parameter, StringRef symbol) {
    return graph::GetOp::create(builder, parameter.getLoc(), parameter.getValueType(),
                                FlatSymbolRefAttr::get(builder.getContext(), symbol));
  }

  // The names of the state that the optimizer keeps of a parameter.
  SmallVector<StringRef> stateNames() const {
    return options.optimizer == "adamw" ? SmallVector<StringRef>{"exp_avg", "exp_avg_sq"}
                                        : SmallVector<StringRef>{"momentum"};
  }

  // Declares zero state beside the parameter; its symbol.
  std::string declareState(graph::ParameterOp parameter, StringRef suffix) {
    OpBuilder::InsertionGuard guard(builder);
    std::string name = (parameter.getSymName() + "." + suffix).str();
    builder.setInsertionPoint(func);
    graph::StateOp::create(builder, parameter.getLoc(), name,
                           FlatSymbolRefAttr::get(parameter.getSymNameAttr()), parameter.getType());
    return name;
  }

  struct Scalars {
    Value rate, step, clip;
  };

  void updateRun(ArrayRef<Trained> run, const Scalars &scalars) {
    // The parameter itself, then its state; by parameter.
    SmallVector<std::string> symbols;
    SmallVector<Value> values, gradients, updated;
    for (Trained entry : run) {
      symbols.push_back(entry.parameter.getSymName().str());
      for (StringRef suffix : stateNames())
        symbols.push_back(declareState(entry.parameter, suffix));
      gradients.push_back(entry.gradient);
    }
    size_t each = 1 + stateNames().size();
    for (auto [index, symbol] : llvm::enumerate(symbols))
      values.push_back(read(run[index / each].parameter, symbol));
    auto updateAll = [&](const Scalars &with, ValueRange ofGradients, ValueRange ofValues) {
      SmallVector<Value> results;
      for (auto [index, entry] : llvm::enumerate(run))
        llvm::append_range(results, update(entry.parameter, ofGradients[index],
                                           ofValues.slice(index * each, each), with));
      return results;
    };
    if (int64_t count = run.front().count(); count > 0) {
      SmallVector<Value> stacks(gradients);
      llvm::append_range(stacks, values);
      llvm::append_range(
          updated, repeatBlock("update_layer", count, {scalars.rate, scalars.step, scalars.clip},
                               stacks, /*carrying=*/0, [&](ValueRange s, ValueRange ofOne) {
                                 return updateAll({s[0], s[1], s[2]}, ofOne.take_front(run.size()),
                                                  ofOne.drop_front(run.size()));
                               }));
    } else {
      updated = updateAll(scalars, gradients, values);
    }
    for (auto [index, entry] : llvm::enumerate(llvm::zip(symbols, updated)))
      graph::SetOp::create(builder, loc,
                           FlatSymbolRefAttr::get(builder.getContext(), std::get<0>(entry)),
                           std::get<1>(entry));
  }

  // What becomes of one tensor of a parameter and its state.
  SmallVector<Value> update(graph::ParameterOp parameter, Value gradient, ValueRange values,
                            const Scalars &scalars) {
    Location at = parameter.getLoc();
    Type type = parameter.getType();
    FloatAttr decay = builder.getF64FloatAttr(parameter.getDecay() ? options.weightDecay : 0);
    if (options.optimizer == "adamw")
      return llvm::to_vector_of<Value>(
          graph::AdamWOp::create(builder, at, type, type, type, values[0], gradient, values[1],
                                 values[2], scalars.rate, scalars.step, scalars.clip,
                                 builder.getF64FloatAttr(options.beta1),
                                 builder.getF64FloatAttr(options.beta2),
                                 builder.getF64FloatAttr(options.epsilon), decay)
              ->getResults());
    return llvm::to_vector_of<Value>(
        graph::SgdOp::create(builder, at, type, type, values[0], gradient, values[1], scalars.rate,
                             scalars.clip, builder.getF64FloatAttr(options.beta1), decay)
            ->getResults());
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
  SmallVector<Trained> trained;
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
