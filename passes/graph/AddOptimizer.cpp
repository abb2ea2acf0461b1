// Adds the function that updates the parameters (pass dtc-add-optimizer).
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/OptimizerOps.h"
#include "passes/graph/CompressGradients.h"
#include "passes/graph/LayerwiseStep.h"
#include "passes/graph/MuonStep.h"
#include "passes/graph/Passes.h"
#include "passes/graph/StateForm.h"

#include "dialects/graph/CompressionAttributes.h"
#include "dialects/graph/Declaration.h"
#include "dialects/graph/GradientType.h"
#include "dialects/graph/HostMemory.h"
#include "dialects/graph/Inputs.h"
#include "dialects/graph/PointOps.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/StateAttributes.h"
#include "dialects/graph/StepWeights.h"
#include "llvm/ADT/StringSet.h"

#include <set>

namespace dtc {
#define GEN_PASS_DEF_ADDOPTIMIZER
#include "passes/graph/Passes.h.inc"

using namespace mlir;

namespace {

// A parameter and its gradient; both are stacks if the parameter is repeated. There is no gradient
// if the loss does not depend on the parameter.
struct Trained {
  graph::ParameterOp parameter;
  Value gradient; // null if there is none

  // Returns the number of repeats, 0 if the parameter is not repeated.
  int64_t count() const {
    graph::ParameterOp op = parameter;
    return static_cast<int64_t>(op.getRepeats().value_or(0));
  }
};

class UpdateBuilder {
public:
  UpdateBuilder(ModuleOp module, Optimizer optimizer, Compression compression,
                const AddOptimizerOptions &options)
      : module(module), kind(optimizer.kind), stateType(optimizer.state), compression(compression),
        options(options), builder(module.getContext()), loc(module.getLoc()),
        scalar(RankedTensorType::get({}, builder.getF32Type())), rows(rowsOfWeightedMean(module)),
        hasBeside(module.lookupSymbol(graph::kPrepareFunction) != nullptr) {
    if (kind == OptimizerKind::Muon)
      matrices = hiddenMatricesOf(module);
  }

  void run() {
    createFunction();
    if (compression.kind != CompressKind::None)
      compressGradients();
    Value loss = func.getArgument(0), norm = buildNorm();
    SmallVector<Value> divisors; // factors that turn the gradients and their norm into the loss's
    if (rows > 0) { // the loss is a weighted mean: so far it was divided by the number of rows
      Value share = divide(func.getArgument(1), constant(static_cast<double>(rows)));
      Value inverse = graph::InverseOrZeroOp::create(builder, loc, scalar, share);
      loss = times(loss, inverse);
      if (hasBeside) // these gradients are already those of the whole loss
        loss = graph::AddOp::create(builder, loc, scalar, loss, func.getArgument(2));
      else
        divisors.push_back(inverse);
    }
    if (module.lookupSymbol(graph::kLossScaleState))
      divisors.push_back(divide(constant(1), readScalar(graph::kLossScaleState)));
    for (Value divisor : divisors)
      norm = times(norm, divisor);
    Value clip = options.clipNorm > 0
                     ? graph::ClipScaleOp::create(builder, loc, scalar, norm,
                                                  builder.getF64FloatAttr(options.clipNorm))
                           .getResult()
                     : constant(1);
    for (Value divisor : divisors)
      clip = times(clip, divisor);
    results = {{"loss", loss}, {"grad_norm", norm}};
    if (rows > 0)
      results.push_back({"loss_weight", func.getArgument(1)});
    if (hasBeside)
      results.push_back({"loss_beside", func.getArgument(2)});
    if (!divisors.empty())
      results.push_back({"gradient_scale", divisors.size() == 1 ? divisors.front()
                                                                : times(divisors[0], divisors[1])});
    // Applies the step only if the norm is finite. A gradient that is not finite on any rank makes
    // the norm not finite on all.
    Value apply = graph::IsFiniteOp::create(builder, loc, scalar, norm);
    Value step = input(graph::InputRole::Step), applied = countSkipped(step, apply);
    auto kind = options.cosine ? graph::ScheduleKind::Cosine : graph::ScheduleKind::Constant;
    Value rate = graph::LearningRateOp::create(
        builder, loc, scalar, step, input(graph::InputRole::BaseLr),
        input(graph::InputRole::TotalSteps), kind, static_cast<uint64_t>(options.warmupSteps),
        llvm::APFloat(options.minRatio));
    results.push_back({"learning_rate", rate});
    StepScalars scalars{rate, applied, clip, apply, Value()};
    if (stateType != StateType::F32) {
      scalars.seed = graph::InputOp::create(
          builder, loc, RankedTensorType::get({}, builder.getI64Type()), graph::InputRole::Seed);
      numberStreams();
    }
    for (ArrayRef<Trained> run : runsOf(trained))
      updateRun(run, scalars);
    for (ArrayRef<Trained> run : runsOf(observed))
      storeObserved(run, apply);
    for (const Exchanged &run : exchanged)
      keepRest(run, apply);
    updateLossScale(apply);
    finish();
  }

private:
  // Returns the rows of a step over which the loss is a weighted mean; 0 if it is none.
  static int64_t rowsOfWeightedMean(ModuleOp module) {
    auto microBatch = module.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
    for (unsigned result = 0; result < microBatch.getNumResults(); ++result)
      if (auto rows = microBatch.getResultAttrOfType<IntegerAttr>(result, graph::kRowsAttr))
        return rows.getInt();
    return 0;
  }

  void createFunction() {
    builder.setInsertionPointToEnd(module.getBody());
    SmallVector<StringRef> sums{graph::kLossSum};
    if (rows > 0)
      sums.push_back(graph::kWeightSum);
    if (hasBeside)
      sums.push_back(graph::kBesideSum);
    // Skips frozen parameters, which have no gradient, no state and no update; in the place of a
    // gradient the observed ones have their next value.
    llvm::StringSet<> withGradient = parametersWithGradient();
    SmallVector<graph::ParameterOp> parameters(
        llvm::make_filter_range(module.getOps<graph::ParameterOp>(), [&](graph::ParameterOp op) {
          return !op.getFrozen() || withGradient.contains(op.getSymName());
        }));
    SmallVector<Type> types(sums.size(), scalar);
    for (graph::ParameterOp parameter : parameters)
      if (withGradient.contains(parameter.getSymName()))
        types.push_back(inF32(parameter.getValueType()));
    func = graph::FuncOp::create(builder, loc, graph::kUpdateFunction,
                                 builder.getFunctionType(types, {}));
    if (func.getBody().empty())
      func.getBody().emplaceBlock();
    Block &body = func.getBody().front();
    if (body.getNumArguments() == 0)
      body.addArguments(types, SmallVector<Location>(types.size(), loc));
    for (auto [index, name] : llvm::enumerate(sums))
      func.setArgAttr(index, graph::kAccumulatedAttr, builder.getStringAttr(name));
    auto next = static_cast<unsigned>(sums.size());
    for (graph::ParameterOp parameter : parameters) {
      std::vector<Trained> &list = parameter.getFrozen() ? observed : trained;
      list.push_back({parameter, Value()});
      if (!withGradient.contains(parameter.getSymName()))
        continue;
      func.setArgAttr(next, graph::kGradientOfAttr,
                      FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
      list.back().gradient = body.getArgument(next++);
    }
    builder.setInsertionPointToEnd(&body);
  }

  // Returns the parameters whose gradients '@microbatch' returns.
  llvm::StringSet<> parametersWithGradient() {
    llvm::StringSet<> names;
    auto microbatch = module.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
    for (unsigned index = 0; index < microbatch.getNumResults(); ++index)
      if (auto parameter =
              microbatch.getResultAttrOfType<FlatSymbolRefAttr>(index, graph::kGradientOfAttr))
        names.insert(parameter.getValue());
    return names;
  }

  // Returns the type in f32: the trained copy, the state and the gradients are in f32, whatever the
  // parameter's type is.
  static Type inF32(Type type) {
    RankedTensorType tensor = graph::tensorOf(type);
    return graph::withTensor(type, tensor.clone(Float32Type::get(type.getContext())));
  }

  Value times(Value a, Value b) { return graph::MultiplyOp::create(builder, loc, scalar, a, b); }
  Value divide(Value a, Value b) { return graph::DivideOp::create(builder, loc, scalar, a, b); }
  Value minus(Value a, Value b) { return graph::SubtractOp::create(builder, loc, scalar, a, b); }

  Value constant(double value) {
    return graph::ConstantOp::create(builder, loc, scalar, builder.getF64FloatAttr(value));
  }

  Value input(graph::InputRole role) { return graph::InputOp::create(builder, loc, scalar, role); }

  // True if both belong to the same piece of a repeat and to the same chunk. Pieces of one repeat
  // that was split are not updated together, because a rank may hold only some of them.
  static bool ofOneRepeat(graph::ParameterOp a, graph::ParameterOp b) {
    return graph::firstMember(a.getSymName()) == graph::firstMember(b.getSymName()) &&
           a->getAttr(graph::kChunkAttr) == b->getAttr(graph::kChunkAttr);
  }

  // Returns runs of neighbouring parameters of the same repeat: a block updates each run. A
  // parameter without repeats is a run of its own.
  static SmallVector<ArrayRef<Trained>> runsOf(ArrayRef<Trained> all) {
    SmallVector<ArrayRef<Trained>> runs;
    while (!all.empty()) {
      int64_t count = all.front().count();
      size_t size = 1;
      while (count > 0 && size < all.size() && all[size].count() == count &&
             ofOneRepeat(all[size].parameter, all.front().parameter))
        ++size;
      runs.push_back(all.take_front(size));
      all = all.drop_front(size);
    }
    return runs;
  }

  // Computes the square root of the sum of all gradients' squares over the whole model and mesh:
  // ranks add up the squares of their shards, each of which is counted once (Pascanu, Mikolov and
  // Bengio 2012, arXiv:1211.5063, section 3.2).
  Value buildNorm() {
    Value sum;
    SmallVector<Trained> withGradient(
        llvm::make_filter_range(trained, [](const Trained &entry) { return !!entry.gradient; }));
    for (ArrayRef<Trained> run : runsOf(withGradient))
      sum = run.front().count() > 0 ? addSquaresOfStacks(run, sum ? sum : constant(0))
                                    : addSquares(sum, run.front().gradient);
    return graph::SqrtOp::create(builder, loc, scalar, sum ? sum : constant(0));
  }

  // Adds the squares of a gradient to `sum`, which may be null.
  Value addSquares(Value sum, Value gradient) {
    Value squares = graph::SumSquaresOp::create(builder, loc, scalar, gradient);
    return sum ? graph::AddOp::create(builder, loc, scalar, sum, squares).getResult() : squares;
  }

  // Creates a block that handles one entry of `stacks` per execution, and a repeat of it. The block
  // takes `others` and then the entries; `build` emits its body from these arguments and returns
  // its results.
  ValueRange repeatBlock(StringRef name, int64_t count, ValueRange others, ValueRange stacks,
                         int64_t carrying, int64_t firstInstance,
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
                                   carrying, /*reversed=*/false, firstInstance)
        .getResults();
  }

  std::string uniqueName(StringRef name) {
    std::string unique = name.str();
    // Continues the last number instead of trying all from 1.
    for (unsigned &number = numbers[name]; module.lookupSymbol(unique);)
      unique = (name + "." + Twine(++number)).str();
    return unique;
  }

  Value addSquaresOfStacks(ArrayRef<Trained> run, Value sum) {
    SmallVector<Value> gradients =
        llvm::map_to_vector(run, [](const Trained &entry) { return entry.gradient; });
    return repeatBlock("squares", run.front().count(), sum, gradients, /*carrying=*/1,
                       /*firstInstance=*/0,
                       [&](ValueRange others, ValueRange ofOne) {
                         Value total = others.front();
                         for (Value gradient : ofOne)
                           total = addSquares(total, gradient);
                         return SmallVector<Value>{total};
                       })
        .front();
  }

  // Reads the f32 state of a parameter, or a parameter that is itself in f32.
  Value read(graph::ParameterOp parameter, StringRef symbol) {
    return read(parameter, symbol, cast<RankedTensorType>(inF32(parameter.getType())));
  }

  // Reads a state of a parameter, of which one tensor is of `type`.
  Value read(graph::ParameterOp parameter, StringRef symbol, RankedTensorType type) {
    return graph::GetOp::create(builder, parameter.getLoc(),
                                graph::withTensor(parameter.getValueType(), type),
                                FlatSymbolRefAttr::get(builder.getContext(), symbol));
  }

  // Reads a scalar state of the step.
  Value readScalar(StringRef symbol) {
    return graph::GetOp::create(builder, loc, scalar,
                                FlatSymbolRefAttr::get(builder.getContext(), symbol));
  }

  void set(StringRef symbol, Value value) {
    graph::SetOp::create(builder, loc, FlatSymbolRefAttr::get(builder.getContext(), symbol), value);
  }

  // Returns the number of applied steps, including this one if it is applied. Averages over steps
  // are corrected by this number, which leaves out skipped steps, as in PyTorch.
  Value countSkipped(Value step, Value apply) {
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(func);
      graph::StateOp::create(builder, loc, graph::kSkippedState, FlatSymbolRefAttr(), scalar);
    }
    Value before = readScalar(graph::kSkippedState);
    Value now =
        graph::AddOp::create(builder, loc, scalar, before, minus(constant(1), apply)).getResult();
    set(graph::kSkippedState, now);
    skipped = now;
    return minus(step, before);
  }

  void updateLossScale(Value apply) {
    results.push_back({"skipped_steps", skipped});
    if (!module.lookupSymbol(graph::kLossScaleState))
      return;
    Value scale = readScalar(graph::kLossScaleState);
    auto next = graph::NextLossScaleOp::create(
        builder, loc, scalar, scalar, scale, readScalar(graph::kGoodStepsState), apply,
        builder.getI64IntegerAttr(kGrowthInterval), builder.getF64FloatAttr(kLargestLossScale));
    set(graph::kLossScaleState, next.getNextScale());
    set(graph::kGoodStepsState, next.getNextGood());
    results.push_back({"loss_scale", scale});
  }

  // Declares a state beside the parameter, initially zero or a copy of it, and returns its symbol.
  std::string declareState(graph::ParameterOp parameter, const StoredTensor &tensor,
                           bool isCopy = false) {
    OpBuilder::InsertionGuard guard(builder);
    std::string name = (parameter.getSymName() + "." + tensor.suffix).str();
    builder.setInsertionPoint(func);
    auto state =
        graph::StateOp::create(builder, parameter.getLoc(), name,
                               FlatSymbolRefAttr::get(parameter.getSymNameAttr()), tensor.type);
    state.setCopy(isCopy);
    if (tensor.block > 0)
      state->setAttr(graph::kBlockAttr, builder.getI64IntegerAttr(tensor.block));
    if (options.offload)
      state->setAttr(graph::kHostAttr, builder.getUnitAttr());
    return name;
  }

  bool isNarrow(graph::ParameterOp parameter) const {
    return parameter.getType() != inF32(parameter.getType());
  }

  // True if an f32 copy of the parameter is trained. A narrow parameter is the rounded copy:
  // updates are often smaller than half a step of bf16 (Micikevicius et al. 2018, arXiv:1710.03740,
  // section 3.1). A parameter that the host updates has a copy there, so that it need not be sent
  // to the host in every step (Ren et al. 2021, arXiv:2101.06840, section 4).
  bool hasMaster(graph::ParameterOp parameter) const {
    return options.offload || isNarrow(parameter);
  }

  StateForm formOf(graph::ParameterOp parameter) const {
    return {stateType, cast<RankedTensorType>(inF32(parameter.getType())),
            statesOf(kindOf(parameter))};
  }

  // Returns the rule by which a parameter is updated.
  OptimizerKind kindOf(graph::ParameterOp parameter) const {
    return kind == OptimizerKind::Muon && !matrices.contains(parameter.getSymName())
               ? OptimizerKind::AdamW
               : kind;
  }

  // Numbers the streams of the random numbers of trained parameters by their names, so that neither
  // the plan nor the pieces in which it has them change the numbers. Members of a repeat have the
  // stream of the repeat and differ in its instance.
  void numberStreams() {
    std::set<std::string> families;
    for (Trained entry : trained)
      families.insert(graph::wholeFamily(entry.parameter.getSymName()).first);
    for (auto [index, name] : llvm::enumerate(families))
      streams[name] = kFirstStateStream + static_cast<int64_t>(index);
  }

  StateKey keyOf(graph::ParameterOp parameter, const StepScalars &scalars) const {
    return {scalars.seed, scalars.step,
            streams.lookup(graph::wholeFamily(parameter.getSymName()).first)};
  }

  void updateRun(ArrayRef<Trained> run, const StepScalars &scalars) {
    // Lists the values by parameter: the trained tensor, then its state. The written values also
    // include the parameter itself if the trained tensor is a copy.
    SmallVector<std::string> written;
    SmallVector<Value> values, gradients, updated;
    for (Trained entry : run) {
      bool isCopy = hasMaster(entry.parameter);
      std::string parameter = entry.parameter.getSymName().str();
      auto wide = cast<RankedTensorType>(inF32(entry.parameter.getType()));
      written.push_back(isCopy ? declareState(entry.parameter, {"master", wide}, /*isCopy=*/true)
                               : parameter);
      values.push_back(read(entry.parameter, written.back()));
      StateForm form = formOf(entry.parameter);
      for (const StoredTensor &tensor : form.tensors()) {
        written.push_back(declareState(entry.parameter, tensor));
        values.push_back(read(entry.parameter, written.back(), tensor.type));
      }
      if (isCopy)
        written.push_back(parameter);
      if (entry.gradient)
        gradients.push_back(entry.gradient);
    }
    auto updateAll = [&](const StepScalars &with, ValueRange ofGradients, ValueRange ofValues) {
      SmallVector<Value> results;
      size_t next = 0; // index of the next gradient
      for (Trained entry : run) {
        Value gradient = entry.gradient ? ofGradients[next++] : zeroFor(entry.parameter);
        size_t each = 1 + formOf(entry.parameter).tensors().size();
        llvm::append_range(results,
                           update(entry.parameter, gradient, ofValues.take_front(each), with));
        ofValues = ofValues.drop_front(each);
      }
      return results;
    };
    if (int64_t count = run.front().count(); count > 0) {
      SmallVector<Value> stacks(gradients);
      llvm::append_range(stacks, values);
      SmallVector<Value> shared{scalars.rate, scalars.step, scalars.clip, scalars.apply};
      if (scalars.seed)
        shared.push_back(scalars.seed);
      graph::ParameterOp front = run.front().parameter;
      int64_t first = graph::wholeFamily(front.getSymName()).second;
      llvm::append_range(updated,
                         repeatBlock("update_layer", count, shared, stacks, /*carrying=*/0, first,
                                     [&](ValueRange s, ValueRange ofOne) {
                                       return updateAll(
                                           {s[0], s[1], s[2], s[3], s.size() > 4 ? s[4] : Value()},
                                           ofOne.take_front(gradients.size()),
                                           ofOne.drop_front(gradients.size()));
                                     }));
    } else {
      updated = updateAll(scalars, gradients, values);
    }
    for (const auto &[symbol, value] : llvm::zip(written, updated))
      set(symbol, value);
  }

  // What is left of a run of gradients that ranks have exchanged: the states of each after another,
  // as they were before, and those but the errors as they are after the step.
  struct Exchanged {
    std::vector<Trained> run; // with the gradients before the exchange
    SmallVector<Value> sums;  // the gradients after it
    SmallVector<std::string> symbols;
    SmallVector<Value> before, after;
  };

  GradientExchange exchangeOf(graph::ParameterOp parameter) const {
    return {compression, options.ranks, cast<RankedTensorType>(inF32(parameter.getType()))};
  }

  // Replaces the gradients of large matrices by what ranks exchange of their addends.
  void compressGradients() {
    std::vector<Trained> all;
    for (const Trained &entry : trained)
      if (entry.gradient && exchangeOf(entry.parameter).isCompressed())
        all.push_back(entry);
    llvm::StringMap<Value> sums;
    for (ArrayRef<Trained> run : runsOf(all)) {
      exchanged.push_back(exchange(run));
      for (auto [entry, sum] : llvm::zip(run, exchanged.back().sums)) {
        graph::ParameterOp parameter = entry.parameter;
        parameter->setAttr(graph::kCompressedAttr, builder.getUnitAttr());
        sums[parameter.getSymName()] = sum;
      }
    }
    for (Trained &entry : trained)
      if (Value sum = sums.lookup(entry.parameter.getSymName()))
        entry.gradient = sum;
  }

  Exchanged exchange(ArrayRef<Trained> run) {
    Exchanged made{run.vec(), {}, {}, {}, {}};
    SmallVector<Value> gradients;
    for (const Trained &entry : run) {
      gradients.push_back(entry.gradient);
      for (const CompressionState &state : exchangeOf(entry.parameter).states()) {
        made.symbols.push_back(declareState(entry.parameter, state));
        made.before.push_back(read(entry.parameter, made.symbols.back(), state.type));
      }
    }
    // Builds all exchanges; returns the sums, then the states.
    auto exchangeAll = [&](ValueRange ofGradients, ValueRange ofStates) {
      SmallVector<Value> sums, states;
      for (auto [entry, gradient] : llvm::zip(run, ofGradients)) {
        GradientExchange of = exchangeOf(entry.parameter);
        size_t count = of.states().size();
        GradientExchange::Made each =
            of.exchange(builder, loc, gradient, ofStates.take_front(count));
        ofStates = ofStates.drop_front(count);
        sums.push_back(each.sum);
        llvm::append_range(states, each.carried);
      }
      llvm::append_range(sums, states);
      return sums;
    };
    SmallVector<Value> results;
    if (int64_t count = run.front().count(); count > 0) {
      SmallVector<Value> stacks(gradients);
      llvm::append_range(stacks, made.before);
      llvm::append_range(results,
                         repeatBlock("exchange", count, {}, stacks, /*carrying=*/0,
                                     /*firstInstance=*/0, [&](ValueRange, ValueRange ofOne) {
                                       return exchangeAll(ofOne.take_front(gradients.size()),
                                                          ofOne.drop_front(gradients.size()));
                                     }));
    } else {
      results = exchangeAll(gradients, made.before);
    }
    made.sums.assign(results.begin(), results.begin() + static_cast<ptrdiff_t>(run.size()));
    made.after.assign(results.begin() + static_cast<ptrdiff_t>(run.size()), results.end());
    return made;
  }

  // Stores the states of an exchange, with the errors that follow from it, if the step is applied.
  void keepRest(const Exchanged &made, Value apply) {
    SmallVector<Value> values;
    for (auto [entry, sum] : llvm::zip(made.run, made.sums))
      llvm::append_range(values, ArrayRef<Value>{entry.gradient, sum});
    size_t gradients = values.size(), states = made.before.size();
    llvm::append_range(values, made.before);
    llvm::append_range(values, made.after);
    auto chooseAll = [&](Value applied, ValueRange of) {
      SmallVector<Value> chosen;
      ValueRange before = of.slice(gradients, states), after = of.drop_front(gradients + states);
      auto choose = [&](Value now) {
        chosen.push_back(
            graph::WhereOp::create(builder, loc, now.getType(), applied, now, before.front()));
        before = before.drop_front();
      };
      for (size_t index = 0; index < made.run.size(); ++index) {
        GradientExchange exchange = exchangeOf(made.run[index].parameter);
        choose(exchange.error(builder, loc, of[2 * index], of[2 * index + 1], before.front()));
        for (size_t state = 1; state < exchange.states().size(); ++state) {
          choose(after.front());
          after = after.drop_front();
        }
      }
      return chosen;
    };
    SmallVector<Value> updated;
    if (int64_t count = made.run.front().count(); count > 0)
      llvm::append_range(updated,
                         repeatBlock("keep_rest", count, apply, values, /*carrying=*/0,
                                     /*firstInstance=*/0, [&](ValueRange others, ValueRange ofOne) {
                                       return chooseAll(others.front(), ofOne);
                                     }));
    else
      updated = chooseAll(apply, values);
    for (const auto &[symbol, value] : llvm::zip(made.symbols, updated))
      set(symbol, value);
  }

  // Declares a state of a compressed gradient, and returns its symbol.
  std::string declareState(graph::ParameterOp parameter, const CompressionState &state) {
    std::string name = declareState(parameter, StoredTensor{state.suffix.str(), state.type});
    auto op = cast<graph::StateOp>(module.lookupSymbol(name));
    op->setAttr(state.isByRank ? graph::kByRankAttr : graph::kOwnShapeAttr, builder.getUnitAttr());
    if (state.isRandom) {
      op.setInit(graph::InitKind::Normal);
      op.setStddev(llvm::APFloat(1.0));
    }
    return name;
  }

  // Returns a state moved by `rate` where `values` are below their mean, and by as much down where
  // they are above it. Whole numbers are compared exactly: their sum with multiples of them.
  Value evened(Value state, Value values, FloatAttr rate) {
    auto type = cast<RankedTensorType>(values.getType());
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    Value sum = graph::ReduceOp::create(
        builder, loc, scalar, values,
        graph::ReduceKindAttr::get(module.getContext(), graph::ReduceKind::Sum),
        builder.getDenseI64ArrayAttr(dims), builder.getF64FloatAttr(1), ArrayAttr());
    Value times =
        graph::ScaleOp::create(builder, loc, type, values,
                               builder.getF64FloatAttr(static_cast<double>(type.getNumElements())));
    Value below = graph::SubtractOp::create(builder, loc, type, sum, times);
    Value sign = graph::PointOp::create(builder, loc, type, below, graph::PointFunction::Sign,
                                        builder.getDenseF64ArrayAttr({}));
    Value step = graph::ScaleOp::create(builder, loc, type, sign, rate);
    return graph::AddOp::create(builder, loc, type, state, step);
  }

  // Returns one of equal values of which `sum` has `copies`.
  Value oneOf(Value sum, int64_t copies) {
    Value count = graph::ConstantOp::create(builder, loc, scalar,
                                            builder.getF64FloatAttr(static_cast<double>(copies)));
    return graph::DivideOp::create(builder, loc, sum.getType(), sum, count);
  }

  // Stores the next values of states that ops of the model have observed, if the step is applied.
  void storeObserved(ArrayRef<Trained> run, Value apply) {
    SmallVector<Value> values, updated;
    for (Trained entry : run) {
      values.push_back(entry.gradient);
      values.push_back(read(entry.parameter, entry.parameter.getSymName()));
    }
    auto chooseAll = [&](Value applied, ValueRange ofValues) {
      SmallVector<Value> results;
      for (size_t index = 0; index < ofValues.size(); index += 2) {
        Value next = ofValues[index], before = ofValues[index + 1];
        graph::ParameterOp parameter = run[index / 2].parameter;
        if (auto rate = parameter->getAttrOfType<FloatAttr>(graph::kRateAttr))
          next = evened(before, next, rate);
        if (auto copies = parameter->getAttrOfType<IntegerAttr>(graph::kCopiesAttr))
          next = oneOf(next, copies.getInt());
        results.push_back(
            graph::WhereOp::create(builder, loc, next.getType(), applied, next, before));
      }
      return results;
    };
    if (int64_t count = run.front().count(); count > 0)
      llvm::append_range(updated,
                         repeatBlock("store_observed", count, apply, values, /*carrying=*/0,
                                     /*firstInstance=*/0, [&](ValueRange others, ValueRange ofOne) {
                                       return chooseAll(others.front(), ofOne);
                                     }));
    else
      updated = chooseAll(apply, values);
    for (auto [entry, value] : llvm::zip(run, updated)) {
      graph::ParameterOp parameter = entry.parameter;
      set(parameter.getSymName(), value);
    }
  }

  // Returns a zero gradient for a parameter that the loss does not depend on.
  Value zeroFor(graph::ParameterOp parameter) {
    return graph::ConstantOp::create(builder, parameter.getLoc(), inF32(parameter.getType()),
                                     builder.getF64FloatAttr(0));
  }

  // Returns the new values of one trained tensor, of its state, and of the parameter if the tensor
  // is its copy.
  SmallVector<Value> update(graph::ParameterOp parameter, Value gradient, ValueRange values,
                            const StepScalars &scalars) {
    StateForm form = formOf(parameter);
    Location at = parameter.getLoc();
    SmallVector<Value> before{form.inBlocks(builder, at, values.front())};
    llvm::append_range(before, form.read(builder, at, values.drop_front()));
    SmallVector<Value> after =
        step(parameter, form.inBlocks(builder, at, gradient), before, scalars);
    SmallVector<Value> updated{form.whole(builder, at, after.front())};
    llvm::append_range(updated, form.write(builder, at, ValueRange(after).drop_front(),
                                           keyOf(parameter, scalars)));
    if (isNarrow(parameter))
      updated.push_back(
          graph::CastOp::create(builder, parameter.getLoc(), parameter.getType(), updated.front()));
    else if (hasMaster(parameter))
      updated.push_back(updated.front());
    return updated;
  }

  SmallVector<Value> step(graph::ParameterOp parameter, Value gradient, ValueRange values,
                          const StepScalars &scalars) {
    Location at = parameter.getLoc();
    Type type = values.front().getType();
    FloatAttr decay = builder.getF64FloatAttr(parameter.getDecay() ? options.weightDecay : 0);
    switch (kindOf(parameter)) {
    case OptimizerKind::AdamW:
      return llvm::to_vector_of<Value>(
          graph::AdamWOp::create(builder, at, type, type, type, values[0], gradient, values[1],
                                 values[2], scalars.rate, scalars.step, scalars.clip, scalars.apply,
                                 builder.getF64FloatAttr(options.beta1),
                                 builder.getF64FloatAttr(options.beta2),
                                 builder.getF64FloatAttr(options.epsilon), decay)
              ->getResults());
    case OptimizerKind::Sgd:
      return sgdStep(parameter, gradient, values, scalars, decay);
    case OptimizerKind::Lamb:
      return buildLambStep(builder, at, values[0], gradient, values.drop_front(), scalars, options,
                           parameter.getDecay());
    case OptimizerKind::Lars:
      return buildLarsStep(builder, at, values[0], gradient, values.drop_front(), scalars, options,
                           parameter.getDecay());
    case OptimizerKind::Muon:
      return buildMuonStep(builder, at, values[0], gradient, values[1], scalars, options,
                           parameter.getDecay(), matrices.find(parameter.getSymName())->second,
                           productsOf(parameter));
    }
    llvm_unreachable("all optimizers have a step");
  }

  // Returns the type of the products that make a matrix orthogonal: that of the model's, but for
  // f16, whose range is too narrow.
  Type productsOf(graph::ParameterOp parameter) {
    Type element = graph::tensorOf(parameter.getValueType()).getElementType();
    return element.isBF16() ? element : builder.getF32Type();
  }

  SmallVector<Value> sgdStep(graph::ParameterOp parameter, Value gradient, ValueRange values,
                             const StepScalars &scalars, FloatAttr decay) {
    Location at = parameter.getLoc();
    Type type = inF32(parameter.getType());
    Value scale = scalars.clip;
    if (options.coupledDecay && parameter.getDecay()) {
      gradient = addDecay(at, type, gradient, values[0], scalars.clip);
      scale = graph::ConstantOp::create(builder, at, scalar, builder.getF64FloatAttr(1));
      decay = builder.getF64FloatAttr(0);
    }
    return llvm::to_vector_of<Value>(
        graph::SgdOp::create(builder, at, type, type, values[0], gradient, values[1], scalars.rate,
                             scale, scalars.apply, builder.getF64FloatAttr(options.beta1), decay)
            ->getResults());
  }

  // Returns gradient * clip + weight_decay * param, which torch.optim.SGD averages by its momentum.
  Value addDecay(Location at, Type type, Value gradient, Value param, Value clip) {
    Value clipped = graph::MultiplyOp::create(builder, at, type, gradient, clip);
    Value decay = graph::ScaleOp::create(builder, at, type, param,
                                         builder.getF64FloatAttr(options.weightDecay));
    return graph::AddOp::create(builder, at, type, clipped, decay);
  }

  void finish() {
    SmallVector<Value> values = llvm::to_vector(llvm::make_second_range(results));
    graph::ReturnOp::create(builder, loc, values);
    func.setFunctionType(
        builder.getFunctionType(func.getArgumentTypes(), ValueRange(values).getTypes()));
    for (auto [index, result] : llvm::enumerate(results))
      func.setResultAttr(index, graph::kOutputAttr, builder.getStringAttr(result.first));
  }

  // The scale grows as that of torch.amp.GradScaler, up to 2^24. At this value no f32 gradient
  // overflows unless it is huge by itself, and 24 steps take the scale down to 1.
  static constexpr int64_t kGrowthInterval = 2000;
  static constexpr double kLargestLossScale = 1 << 24;
  // The first stream of random numbers of states: the model's are less.
  static constexpr int64_t kFirstStateStream = 1 << 15;

  ModuleOp module;
  OptimizerKind kind;
  StateType stateType;
  Compression compression;
  const AddOptimizerOptions &options;
  OpBuilder builder;
  Location loc;
  RankedTensorType scalar;
  int64_t rows;   // rows of a step that a weighted mean is over; 0 if the loss is none
  bool hasBeside; // the loss has other terms beside the weighted mean
  graph::FuncOp func;
  std::vector<Trained> trained;
  std::vector<Exchanged> exchanged;
  std::vector<Trained> observed;                    // states, with their next values as gradients
  SmallVector<std::pair<StringRef, Value>> results; // reported values by name
  Value skipped;
  llvm::StringMap<unsigned> numbers;      // last number used for each block name
  llvm::StringMap<HiddenMatrix> matrices; // that muon updates
  llvm::StringMap<int64_t> streams; // of random numbers, by the name of a family of parameters
};

struct AddOptimizer : impl::AddOptimizerBase<AddOptimizer> {
  using AddOptimizerBase::AddOptimizerBase;

  // Checks what muon asks of its options and of the model.
  LogicalResult checkMatrices(ModuleOp module, OptimizerKind kind) {
    if (!matrixRateFrom(muonRate))
      return module.emitError("'")
             << muonRate.getValue() << "' is not a factor of muon's learning rate; use "
             << alternatives(namesOf(kMatrixRates));
    auto isTrained = [&](const auto &entry) {
      return !module.lookupSymbol<graph::ParameterOp>(entry.getKey()).getFrozen();
    };
    if (kind == OptimizerKind::Muon && !llvm::any_of(hiddenMatricesOf(module), isTrained))
      return module.emitError("the model trains no matrix inside of it that muon could update: "
                              "none but embeddings and output layers; use --optimizer adamw");
    return success();
  }

  // Checks what compression asks of the model and of other options.
  LogicalResult checkCompression(ModuleOp module, const Compression &compression) {
    if (compression.kind == CompressKind::None)
      return success();
    std::string name = "compress=" + textOf(compression);
    if (ranks < 2)
      return module.emitError(name) << " needs 2 ranks of data parallelism or more";
    if (gradDtype != nameOf(GradientType::F32))
      return module.emitError(name) << " sends its factors in f32; leave out --grad-dtype";
    if (module.lookupSymbol(graph::kLossScaleState))
      return module.emitError(name) << " keeps errors from step to step, which a loss scale "
                                       "changes; train in bf16 or f32";
    int64_t most = 0;
    for (auto parameter : module.getOps<graph::ParameterOp>())
      if (!parameter.getFrozen())
        most = std::max(
            most, GradientExchange(compression, ranks, cast<RankedTensorType>(parameter.getType()))
                      .mostRank());
    if (compression.amount > most)
      return module.emitError(name)
             << " makes no gradient of the model smaller; "
             << (most > 0 ? "use a rank of " + std::to_string(most) + " or less"
                          : std::string("it trains no matrix that is large enough"));
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<OptimizerKind> kind = optimizerFrom(optimizer);
    if (!kind) {
      module.emitError("'") << optimizer.getValue()
                            << "' is not an optimizer that dtc can build; use "
                            << alternatives(namesOf(kOptimizers));
      return signalPassFailure();
    }
    if (!module.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction) ||
        module.lookupSymbol(graph::kUpdateFunction)) {
      module.emitError("dtc-add-optimizer needs '@microbatch' and no '@update'; run "
                       "dtc-differentiate first, once");
      return signalPassFailure();
    }
    std::optional<StateType> stored = stateTypeFrom(state);
    if (!stored || !hasStateIn(*kind, *stored)) {
      module.emitError("the state of ")
          << optimizer.getValue() << " can't be stored in '" << state.getValue() << "'; use "
          << alternatives(namesOf(kStateTypes, [&](const StateTypeRow &row) {
               return hasStateIn(*kind, row.value);
             }));
      return signalPassFailure();
    }
    if (failed(checkMatrices(module, *kind)))
      return signalPassFailure();
    std::optional<GradientType> reduced = offeredGradientTypeFrom(gradDtype);
    if (!reduced) {
      module.emitError("gradients can't be reduced in '")
          << gradDtype.getValue() << "'; use " << alternatives(offeredGradientTypes());
      return signalPassFailure();
    }
    if (*reduced != GradientType::F32)
      module->setAttr(graph::kGradDtypeAttr, StringAttr::get(&getContext(), gradDtype));
    std::optional<Compression> compression = compressionFrom(compress);
    if (!compression) {
      module.emitError("there is no compression '")
          << compress.getValue() << "'; use none or powersgd:RANK";
      return signalPassFailure();
    }
    if (failed(checkCompression(module, *compression)))
      return signalPassFailure();
    AddOptimizerOptions options{
        optimizer,    state,    beta1,   beta2,        epsilon,  weightDecay,
        gradDtype,    clipNorm, cosine,  warmupSteps,  minRatio, trustCoefficient,
        muonMomentum, muonRate, offload, coupledDecay, compress, ranks};
    UpdateBuilder(module, {*kind, *stored}, *compression, options).run();
  }
};

} // namespace
} // namespace dtc
