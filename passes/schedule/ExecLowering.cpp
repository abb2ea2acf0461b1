// Turns the partitioned step of a module into one exec.program.
#include "passes/schedule/ExecLowering.h"

#include "dialects/graph/Chunks.h"
#include "dialects/graph/HostMemory.h"
#include "dialects/graph/Inputs.h"
#include "dialects/graph/Placement.h"
#include "dialects/graph/StepWeights.h"
#include "dialects/graph/TransferOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/schedule/Dependences.h"
#include "passes/schedule/ExecLoweringInterface.h"

#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace dtc;

static constexpr StringLiteral kPrepareTask = "prepare";

ExecLowering::ExecLowering(ModuleOp module, const ExecLoweringOptions &options)
    : module(module), options(options) {}

LogicalResult ExecLowering::run() {
  if (failed(findFunctions()) || failed(createProgram()) || failed(declareTensors()) ||
      failed(declareInputs()) || failed(declareSums()))
    return failure();
  if (stage)
    graph::completeChunks(microBatch); // labels ops that earlier passes have added
  Addends addends(microBatch);
  StepTasks tasks(microBatch, update, addends, options.splitBackward, stage);
  if (failed(lowerPrepare()) || failed(lowerMicroBatch(tasks, addends)) ||
      failed(lowerUpdate(tasks)))
    return failure();
  placeTransfers();
  if (stage)
    addStageEntries(tasks);
  else
    addEntries(tasks);
  if (prepare)
    prepare.erase();
  microBatch.erase();
  update.erase();
  eraseUnusedKernels();
  return success();
}

// Erases kernels that are absorbed into sums.
void ExecLowering::eraseUnusedKernels() {
  for (auto kernel : llvm::make_early_inc_range(module.getOps<graph::FuncOp>()))
    if (kernel.getKernel() && !emitter->getProgram().lookupSymbol(kernel.getSymName()))
      kernel.erase();
}

LogicalResult ExecLowering::findFunctions() {
  microBatch = module.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
  update = module.lookupSymbol<graph::FuncOp>(graph::kUpdateFunction);
  prepare = module.lookupSymbol<graph::FuncOp>(graph::kPrepareFunction);
  if (!microBatch || !update)
    return module.emitOpError()
           << "has no function '@"
           << (microBatch ? graph::kUpdateFunction : graph::kMicrobatchFunction)
           << "' to schedule; dtc-differentiate and dtc-add-optimizer make them";
  for (graph::FuncOp function : {microBatch, update})
    if (!function.getBody().hasOneBlock())
      return function.emitOpError() << "has several blocks; want straight-line code";
  if (auto count = module->getAttrOfType<IntegerAttr>(graph::kMicroBatchesAttr))
    numMicroBatches = count.getInt();
  if (numMicroBatches < 1)
    return module.emitOpError() << "asks for " << numMicroBatches
                                << " micro-batches; want 1 or more";
  FailureOr<std::optional<StageOrder>> order = StageOrder::read(module, numMicroBatches);
  if (failed(order))
    return failure();
  stage = *order;
  return success();
}

LogicalResult ExecLowering::createProgram() {
  Builder attributes(module.getContext());
  SmallVector<int64_t> sizes{1};
  auto names = attributes.getStrArrayAttr({"dp"});
  if (auto grid = module.lookupSymbol<shard::GridOp>(graph::kMeshName)) {
    sizes = llvm::to_vector(grid.getShape());
    names = grid->getAttrOfType<ArrayAttr>(graph::kAxisNamesAttr);
    if (!names)
      return grid.emitOpError() << "lacks 'graph.axis_names' with a name for each of its "
                                << sizes.size() << " axes";
  }
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto program = exec::ProgramOp::create(builder, module.getLoc(), "step", names, sizes);
  program.setMicroBatches(numMicroBatches);
  if (stage) {
    FailureOr<StageRanks> ranks = StageRanks::read(module, module);
    if (failed(ranks))
      return failure();
    program.setRanks(ranks->of(stage->stage));
  }
  emitter.emplace(module, program);
  return success();
}

FailureOr<exec::Splits> ExecLowering::splitsOf(Operation *op, StringRef name, int64_t numDims,
                                               graph::PlacementAttr placement) {
  exec::Splits splits;
  splits.axes.resize(numDims);
  if (!placement)
    return splits;
  if (placement.getAxes().size() != emitter->getMesh().size())
    return op->emitOpError() << "has '" << name << "' placed " << placement << ", on "
                             << placement.getAxes().size() << " mesh axes; the mesh has "
                             << emitter->getMesh().size();
  for (const graph::AxisPlacement &where : placement.getAxes()) {
    if (where.isPartial())
      return op->emitOpError() << "has '" << name << "' placed " << placement
                               << "; a sum that is not finished has no place at rest";
    if (where.isShard() && where.dim >= numDims)
      return op->emitOpError() << "has '" << name << "' placed " << placement << "; it has "
                               << numDims << " dims";
  }
  for (int64_t dim = 0; dim < numDims; ++dim) {
    graph::DimSplit split = graph::getDimSplit(placement.getAxes(), emitter->getMesh(), dim);
    splits.axes[dim].assign(split.axes.begin(), split.axes.end());
    if (split.zigzag >= 0)
      splits.zigzag.push_back(split.axes[split.zigzag]);
  }
  return splits;
}

template <typename Op>
LogicalResult ExecLowering::declareTensor(Op op, RankedTensorType type, ArrayRef<int64_t> stored,
                                          exec::BufferKind kind) {
  emitter->setLocation(op.getLoc());
  graph::PlacementAttr placement = op.getPlacement().value_or(graph::PlacementAttr());
  auto splits = splitsOf(op, op.getSymName(), type.getRank(), placement);
  if (failed(splits))
    return failure();
  ArrayAttr axes = splits->getAxesAttr(op.getContext());
  DenseI64ArrayAttr zigzag = splits->getZigzagAttr(op.getContext());
  ArrayRef<int64_t> local = type.getShape();
  if (placement)
    local = graph::getLocalType(type, placement.getAxes(), emitter->getMesh()).getShape();
  Value buffer =
      emitter->createBuffer(op.getSymName(), kind, type.getElementType(), numElements(local),
                            /*persistent=*/true, op->hasAttr(graph::kHostAttr));
  emitter->declareTensor(op.getSymName(), buffer);
  OpBuilder front = emitter->declarations();
  // Keys random numbers by name, so that neither the order of parameters nor the plan changes
  // initial values.
  auto declare = [&](auto start, auto... copyOf) {
    auto key = static_cast<int64_t>(llvm::xxh3_64bits(start.getSymName()));
    auto init = static_cast<exec::InitKind>(start.getInit());
    bool isRandom =
        std::is_same_v<decltype(start), graph::ParameterOp> || init == exec::InitKind::Normal;
    using Declared = std::conditional_t<std::is_same_v<Op, graph::ParameterOp>, exec::ParameterOp,
                                        exec::StateOp>;
    emitter->declared(Declared::create(front, op.getLoc(), op.getSymName(), buffer, type.getShape(),
                                       stored, local, axes, zigzag, init, start.getMean(),
                                       start.getStddev(), isRandom ? key : 0, copyOf...));
  };
  if constexpr (std::is_same_v<Op, graph::StateOp>) {
    if (op.getCopy())
      declare(module.lookupSymbol<graph::ParameterOp>(*op.getParameter()),
              front.getStringAttr(*op.getParameter()));
    else
      declare(op, StringAttr());
  } else {
    declare(op);
  }
  return success();
}

LogicalResult ExecLowering::declareTensors() {
  llvm::StringMap<SmallVector<int64_t>> storedShapes;
  for (auto op : module.getOps<graph::ParameterOp>()) {
    auto type = cast<RankedTensorType>(op.getType());
    SmallVector<int64_t> stored(op.getStoredShape().value_or(type.getShape()));
    storedShapes[op.getSymName()] = stored;
    if (failed(declareTensor(op, type, stored, exec::BufferKind::Parameter)))
      return failure();
  }
  for (auto op : module.getOps<graph::StateOp>()) {
    auto type = cast<RankedTensorType>(op.getType());
    SmallVector<int64_t> stored = storedShapes.lookup(op.getParameter().value_or(""));
    if (stored.empty() || numElements(stored) != type.getNumElements())
      stored.assign(type.getShape().begin(), type.getShape().end());
    if (failed(declareTensor(op, type, stored, exec::BufferKind::Optimizer)))
      return failure();
  }
  return success();
}

LogicalResult ExecLowering::declareInputs() {
  // Sets the samples even for a stage that reads no input: it may draw random numbers.
  if (auto samples = module->getAttrOfType<IntegerAttr>(graph::kSamplesAttr))
    emitter->setGlobalMicroBatch(samples.getInt());
  for (BlockArgument argument : microBatch.getBody().getArguments()) {
    unsigned index = argument.getArgNumber();
    auto name = microBatch.getArgAttrOfType<StringAttr>(index, graph::kInputAttr);
    if (!name)
      return microBatch.emitOpError()
             << "has argument " << index << " without 'graph.input', the name of what it reads";
    FailureOr<RankedTensorType> type = getStaticType(microBatch, argument);
    if (failed(type))
      return failure();
    auto placement =
        microBatch.getArgAttrOfType<graph::PlacementAttr>(index, graph::kPlacementAttr);
    auto splits = splitsOf(microBatch, name, type->getRank(), placement);
    if (failed(splits))
      return failure();
    emitter->setGlobalMicroBatch(type->getDimSize(0) * splits->getParts(0, emitter->getMesh()));
    SmallVector<int64_t> shape(type->getShape());
    shape.insert(shape.begin(), numMicroBatches);
    splits->axes.insert(splits->axes.begin(), SmallVector<int64_t, 2>());
    Value buffer = emitter->createBuffer(name, exec::BufferKind::Input, type->getElementType(),
                                         numElements(shape), /*persistent=*/true);
    OpBuilder front = emitter->declarations();
    auto below = microBatch.getArgAttrOfType<IntegerAttr>(index, graph::kBelowAttr);
    auto ignored = microBatch.getArgAttrOfType<IntegerAttr>(index, graph::kIgnoredAttr);
    emitter->declared(exec::InputOp::create(
        front, microBatch.getLoc(), name, buffer, front.getDenseI64ArrayAttr(shape),
        splits->getAxesAttr(module.getContext()), splits->getZigzagAttr(module.getContext()),
        below ? below : front.getI64IntegerAttr(0), ignored));
    inputs.push_back(buffer);
  }
  return success();
}

LogicalResult ExecLowering::declareSums() {
  for (auto [index, type] : llvm::enumerate(microBatch.getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return microBatch.emitOpError() << "returns " << type << "; want a static tensor";
    if (auto parameter =
            microBatch.getResultAttrOfType<FlatSymbolRefAttr>(index, graph::kGradientOfAttr)) {
      std::string name = "grad " + parameter.getValue().str();
      Value sum = emitter->createSum(name, exec::BufferKind::Gradient, tensor.getElementType(),
                                     tensor.getNumElements());
      gradients[parameter.getValue()] = sum;
      sums.push_back(sum);
      continue;
    }
    // Handles any other sum over micro-batches, such as the loss; @update takes it by its name.
    auto name = microBatch.getResultAttrOfType<StringAttr>(index, graph::kAccumulatedAttr);
    if (!name)
      return microBatch.emitOpError()
             << "has result " << index
             << " with neither 'graph.gradient_of' nor 'graph.accumulated'";
    sums.push_back(emitter->createSum(("sum " + name.getValue()).str(), exec::BufferKind::Temporary,
                                      tensor.getElementType(), tensor.getNumElements()));
    otherSums[name.getValue()] = sums.back();
  }
  return success();
}

LogicalResult ExecLowering::lowerOp(Operation &op) {
  if (failed(graph::checkCompilable(&op)))
    return failure();
  auto lowering = dyn_cast<ExecLoweringInterface>(op);
  if (!lowering)
    return op.emitOpError() << "has no exec lowering; run dtc-form-kernels first, which makes "
                               "kernels of ops that the runtime does not have";
  for (Value value : op.getResults())
    if (failed(getStaticType(&op, value)))
      return failure();
  emitter->setLocation(op.getLoc());
  return lowering.lowerToExec(*emitter);
}

// Adds an addend as soon as it is computed, so that its memory is free afterwards. The first addend
// starts the sum: by a copy if there is one micro-batch, else in the first run of the task.
void ExecLowering::addUp(Value value, const Addends &addends) {
  for (unsigned result : addends.getResults(value)) {
    bool startsSum = !started[result] && numMicroBatches > 1;
    exec::CopyOp::create(emitter->instructions(), emitter->lookup(value), sums[result],
                         /*accumulate=*/started[result] || startsSum, startsSum);
    started[result] = true;
  }
}

LogicalResult ExecLowering::lowerTask(const StepTask &task, bool perMicroBatch,
                                      const Addends *addends) {
  emitter->startTask(task.name, perMicroBatch);
  for (Operation *op : task.ops) {
    if (addends && addends->isAbsorbed(op))
      continue;
    if (failed(lowerOp(*op)))
      return failure();
    for (Value result : op->getResults()) {
      if (addends)
        addUp(result, *addends);
      else
        reportOutput(result);
    }
  }
  return success();
}

// Lowers '@prepare' to a separate task, which ends before the first micro-batch runs.
LogicalResult ExecLowering::lowerPrepare() {
  if (!prepare)
    return success();
  for (BlockArgument argument : prepare.getBody().getArguments()) {
    auto name = prepare.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kInputAttr);
    Value all;
    for (unsigned index = 0; index < microBatch.getNumArguments(); ++index)
      if (name && microBatch.getArgAttr(index, graph::kInputAttr) == name)
        all = inputs[index];
    FailureOr<RankedTensorType> type = getStaticType(prepare, argument);
    if (failed(type))
      return failure();
    if (!all || exec::getBytes(all) !=
                    type->getNumElements() * exec::getElementBytes(type->getElementType()))
      return prepare.emitOpError() << "has argument " << argument.getArgNumber()
                                   << ", which is no input of all micro-batches of '@microbatch'";
    emitter->alias(argument, all);
  }
  StepTask task{kPrepareTask.str(), {}};
  for (Operation &op : prepare.getBody().front().without_terminator())
    task.ops.push_back(&op);
  emitter->setPrefix("prepare.");
  if (failed(lowerTask(task, /*perMicroBatch=*/false, nullptr)))
    return failure();
  emitter->emitLastCopies();
  emitter->setPrefix("");
  return success();
}

LogicalResult ExecLowering::lowerMicroBatch(const StepTasks &tasks, const Addends &addends) {
  Block &body = microBatch.getBody().front();
  for (auto [argument, all] : llvm::zip(body.getArguments(), inputs)) {
    int64_t elements = cast<RankedTensorType>(argument.getType()).getNumElements();
    emitter->alias(argument, emitter->createMicroBatchView(all, elements));
  }
  // Marks tensors that are made in one task and read in another.
  llvm::DenseMap<Operation *, const StepTask *> taskOf;
  for (const StepTask &task : tasks.ofMicroBatch)
    for (Operation *op : task.ops)
      taskOf[op] = &task;
  for (auto [op, task] : taskOf)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&, task = task](Operation *user) {
            const StepTask *of = taskOf.lookup(user);
            return of && of != task;
          }))
        emitter->setKind(result, exec::BufferKind::Activation);
  started.assign(sums.size(), false);
  for (auto [index, task] : llvm::enumerate(tasks.ofMicroBatch)) {
    if (failed(lowerTask(task, /*perMicroBatch=*/true, &addends)))
      return failure();
    if (index == 0)
      for (BlockArgument argument : body.getArguments())
        addUp(argument, addends);
  }
  return success();
}

// Binds the arguments of @update to gradients and sums by the names that they carry.
LogicalResult ExecLowering::bindUpdateArguments() {
  for (BlockArgument argument : update.getBody().getArguments()) {
    unsigned index = argument.getArgNumber();
    auto parameter = update.getArgAttrOfType<FlatSymbolRefAttr>(index, graph::kGradientOfAttr);
    auto sum = update.getArgAttrOfType<StringAttr>(index, graph::kAccumulatedAttr);
    Value gradient = parameter ? gradients.lookup(parameter.getValue())
                     : sum     ? otherSums.lookup(sum.getValue())
                               : Value();
    FailureOr<RankedTensorType> type = getStaticType(update, argument);
    if (failed(type))
      return failure();
    int64_t bytes = type->getNumElements() * exec::getElementBytes(type->getElementType());
    if (!gradient || exec::getBytes(gradient) != bytes)
      return update.emitOpError() << "has argument " << index << " of " << *type
                                  << ", which is not a gradient or sum that @microbatch returns";
    emitter->alias(argument, gradient);
  }
  return success();
}

LogicalResult ExecLowering::declareOutputs() {
  Operation *terminator = update.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    auto name = update.getResultAttrOfType<StringAttr>(index, graph::kOutputAttr);
    std::optional<exec::OutputRole> role =
        name ? exec::symbolizeOutputRole(name.getValue()) : std::nullopt;
    if (!role)
      return update.emitOpError() << "has result " << index << " without 'graph.output'";
    FailureOr<RankedTensorType> type = getStaticType(update, value);
    if (failed(type))
      return failure();
    Value output = emitter->createBuffer(name, exec::BufferKind::Output, type->getElementType(), 1,
                                         /*persistent=*/true);
    OpBuilder front = emitter->declarations();
    emitter->declared(exec::OutputOp::create(front, update.getLoc(), *role, output));
    outputs.emplace_back(value, output);
  }
  return success();
}

void ExecLowering::reportOutput(Value value) {
  for (auto [reported, output] : outputs)
    if (reported == value)
      exec::CopyOp::create(emitter->instructions(), emitter->lookup(value), output);
}

LogicalResult ExecLowering::lowerUpdate(const StepTasks &tasks) {
  emitter->setPrefix("update.");
  if (failed(bindUpdateArguments()) || failed(declareOutputs()))
    return failure();
  for (auto [index, task] : llvm::enumerate(tasks.ofStep)) {
    if (failed(lowerTask(task, /*perMicroBatch=*/false, nullptr)))
      return failure();
    if (index == 0)
      for (BlockArgument argument : update.getBody().getArguments())
        reportOutput(argument);
  }
  emitter->setLocation(update.getLoc());
  emitter->emitLastCopies();
  return declareGradients();
}

LogicalResult ExecLowering::declareGradients() {
  OpBuilder end = OpBuilder::atBlockEnd(&emitter->getProgram().getBody().front());
  SmallVector<FinalGradient> finals = findFinalGradients(update);
  auto isState = [&](StringRef name) {
    auto parameter = update->getParentOfType<ModuleOp>().lookupSymbol<graph::ParameterOp>(name);
    return parameter && parameter.getFrozen();
  };
  // Adds gradients of zeros for parameters without one, so that none is missing.
  for (auto argument : update.getBody().getArguments())
    if (auto name = update.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(),
                                                               graph::kGradientOfAttr);
        name && !isState(name.getValue()) && llvm::none_of(finals, [&](FinalGradient &gradient) {
          return gradient.parameter.getSymNameAttr() == name.getAttr();
        }))
      return update.emitOpError("reads the gradient of ")
             << name << " nowhere in the parts in which its state is";
  for (FinalGradient gradient : finals) {
    if (gradient.parameter.getFrozen()) // no gradient, but the next value of a state
      continue;
    auto type = cast<RankedTensorType>(gradient.parameter.getType());
    StringRef name = gradient.parameter.getSymName();
    auto splits = splitsOf(gradient.parameter, name, type.getRank(), gradient.placement);
    if (failed(splits))
      return failure();
    ArrayRef<int64_t> local = cast<RankedTensorType>(gradient.value.getType()).getShape();
    if (local.size() != type.getShape().size()) // a matrix that is made of what ranks exchange
      local = type.getShape();
    exec::GradientOp::create(
        end, gradient.parameter.getLoc(), name, emitter->lookup(gradient.value), type.getShape(),
        gradient.parameter.getStoredShape().value_or(type.getShape()), local,
        splits->getAxesAttr(module.getContext()), splits->getZigzagAttr(module.getContext()),
        exec::InitKind::Zeros, llvm::APFloat(0.0), llvm::APFloat(0.0), 0);
  }
  return success();
}

namespace {
// Collects the order of an entry.
struct Order {
  SmallVector<Attribute> tasks;
  SmallVector<int64_t> microBatches;

  void add(MLIRContext *context, StringRef task, int64_t microBatch) {
    tasks.push_back(FlatSymbolRefAttr::get(context, task));
    microBatches.push_back(microBatch);
  }
  void dropLast() {
    tasks.pop_back();
    microBatches.pop_back();
  }
};
} // namespace

// Gives each sent or received tensor its own slots, whatever the length of its use in a task.
// - A tensor received from the previous chunk has one slot more than the chunk has micro-batches in
//   flight, so that the next one is received while all of them are.
// - A tensor sent to the next chunk, and its gradient that returns, have one slot per micro-batch
//   in flight. So no send waits for longer than the order requires: a tensor has been sent when its
//   gradient arrives.
// - The gradient sent to the previous chunk is sent right away and has two slots: one is sent while
//   the other is computed.
void ExecLowering::placeTransfers() {
  if (!stage || numMicroBatches == 1)
    return;
  microBatch.walk([&](Operation *op) {
    if (!isa<graph::SendOp, graph::ReceiveOp>(op))
      return;
    bool sends = isa<graph::SendOp>(op);
    int64_t from = op->getAttrOfType<IntegerAttr>("from").getInt();
    int64_t to = op->getAttrOfType<IntegerAttr>("to").getInt();
    int64_t slots = stage->getInFlight(sends ? from : to);
    if (from < to && !sends)
      ++slots;
    else if (from > to && sends)
      slots = 2;
    exec::BufferOp root = getRootOp(emitter->lookup(sends ? op->getOperand(0) : op->getResult(0)));
    if (!root.getPersistent() && !root.getCarried())
      root.setSlots(std::max<uint64_t>(root.getSlots().value_or(1),
                                       static_cast<uint64_t>(std::min(slots, numMicroBatches))));
  });
}

void ExecLowering::addStageEntries(const StepTasks &tasks) {
  MLIRContext *context = module.getContext();
  exec::ProgramOp program = emitter->getProgram();
  OpBuilder end = OpBuilder::atBlockEnd(&program.getBody().front());
  Order train, evaluate;
  if (prepare) // evaluation runs it too: transfers on other streams wait for an event after it
    for (Order *order : {&train, &evaluate})
      order->add(context, kPrepareTask, -1);
  for (const StageOrder::Run &run : stage->runs)
    for (const StepTask &task : tasks.ofMicroBatch)
      if (task.kind == run.kind && task.chunk == run.chunk) {
        train.add(context, task.name, run.microBatch);
        if (run.isForward())
          evaluate.add(context, task.name, run.microBatch);
      }
  for (const StepTask &task : tasks.ofStep)
    train.add(context, task.name, -1);
  if (tasks.hasLoss)
    evaluate.add(context, tasks.ofStep.front().name, -1);
  Order gradients = train;
  gradients.dropLast(); // the update
  for (auto [kind, order] : {std::pair(exec::EntryKind::Train, &train),
                             std::pair(exec::EntryKind::Gradients, &gradients),
                             std::pair(exec::EntryKind::Evaluate, &evaluate)})
    exec::EntryOp::create(end, program.getLoc(), kind, end.getArrayAttr(order->tasks),
                          order->microBatches);
}

void ExecLowering::addEntries(const StepTasks &tasks) {
  MLIRContext *context = module.getContext();
  exec::ProgramOp program = emitter->getProgram();
  OpBuilder end = OpBuilder::atBlockEnd(&program.getBody().front());
  auto addEntry = [&](exec::EntryKind kind, const Order &order) {
    exec::EntryOp::create(end, program.getLoc(), kind, end.getArrayAttr(order.tasks),
                          order.microBatches);
  };
  Order train;
  if (prepare)
    train.add(context, kPrepareTask, -1);
  int64_t slots = std::min(options.slots, numMicroBatches);
  for (int64_t first = 0; first < numMicroBatches; first += slots)
    for (const StepTask &task : tasks.ofMicroBatch)
      for (int64_t slot = 0; slot < std::min(slots, numMicroBatches - first); ++slot)
        train.add(context, task.name, first + slot);
  for (const StepTask &task : tasks.ofStep)
    train.add(context, task.name, -1);
  addEntry(exec::EntryKind::Train, train);
  Order gradients = train;
  gradients.dropLast(); // the update
  addEntry(exec::EntryKind::Gradients, gradients);
  if (!tasks.hasLoss)
    return;
  Order evaluate;
  if (prepare)
    evaluate.add(context, kPrepareTask, -1);
  for (int64_t microBatch = 0; microBatch < numMicroBatches; ++microBatch)
    evaluate.add(context, tasks.ofMicroBatch.front().name, microBatch);
  evaluate.add(context, tasks.ofStep.front().name, -1);
  addEntry(exec::EntryKind::Evaluate, evaluate);
}
