// Time and memory of a partitioned step, read off the very program that will be compiled.
#include "compiler/planner/ProgramCost.h"

#include "compiler/planner/OpCost.h"

#include <map>

using namespace mlir;

namespace dtc {
namespace {

// As the schedule's default: gradients travel together in buckets of this size.
constexpr double kBucketBytes = 25.0 * (1 << 20);
// Of the compute of a micro-batch, what is backward: collectives of gradients can hide beside it.
constexpr double kBackwardShare = 2.0 / 3.0;

struct FunctionCost {
  double compute = 0, matrix = 0, blocking = 0;
  double peakBytes = 0; // of values made inside, results included, arguments not
};

class ProgramCoster {
public:
  ProgramCoster(ModuleOp module, const Mesh &mesh, const Topology &topology,
                const PrecisionModel &precision)
      : module(module), mesh(mesh), topology(topology), precision(precision) {}

  ProgramCost run(int64_t microBatches) {
    ProgramCost cost;
    auto microbatch = module.lookupSymbol<graph::FuncOp>("microbatch");
    auto update = module.lookupSymbol<graph::FuncOp>("update");
    const FunctionCost &once = costOf(microbatch, true);
    const FunctionCost &end = costOf(update, false);
    double steps = static_cast<double>(microBatches);
    cost.computeSeconds = steps * once.compute + end.compute;
    cost.matrixSeconds = steps * once.matrix + end.matrix;
    cost.blockingSeconds = steps * once.blocking;
    double reduces = 0;
    for (auto &[key, bytes] : bucketed) {
      double seconds = bucketedSeconds(key, bytes);
      cost.gradientSeconds += seconds;
      if (key.first != CollectiveKind::AllGather)
        reduces += seconds;
    }
    cost.hiddenSeconds = std::min(reduces, kBackwardShare * once.compute);
    fillMemory(cost.memory, microbatch, once, end, microBatches);
    return cost;
  }

private:
  using BucketKey = std::pair<CollectiveKind, std::vector<int64_t>>;

  double bucketedSeconds(const BucketKey &key, double bytes) {
    double count = std::max(1.0, std::ceil(bytes / kBucketBytes));
    return count * collectiveSeconds(key.first, bytes / count, groupOf(key.second, mesh), topology);
  }

  // `blocking`: collectives are waited for at once; otherwise they are bucketed.
  const FunctionCost &costOf(graph::FuncOp func, bool blocking) {
    auto [it, isNew] = costs.try_emplace(func.getSymName().str());
    if (!isNew)
      return it->second;
    FunctionCost cost;
    for (Operation &op : func.getBody().front().without_terminator())
      addOp(op, blocking, cost);
    cost.peakBytes = peakOf(func, blocking);
    return costs[func.getSymName().str()] = cost;
  }

  void addOp(Operation &op, bool blocking, FunctionCost &cost) {
    if (auto call = dyn_cast<graph::CallOp>(op)) {
      const FunctionCost &callee =
          costOf(module.lookupSymbol<graph::FuncOp>(call.getCallee()), blocking);
      cost.compute += callee.compute;
      cost.matrix += callee.matrix;
      cost.blocking += callee.blocking;
      return;
    }
    if (std::optional<CollectiveWork> collective = collectiveOf(&op)) {
      double bytes = collective->bytes * precision.activationScale;
      if (blocking)
        cost.blocking +=
            collectiveSeconds(collective->kind, bytes, groupOf(collective->axes, mesh), topology);
      else
        bucketed[{collective->kind, {collective->axes.begin(), collective->axes.end()}}] += bytes;
      return;
    }
    OpWork work = workOf(&op, precision);
    double seconds = secondsOf(work, topology.device);
    // Joined ops share a launch with the producer they are joined to.
    bool joined = isFusible(&op) && llvm::any_of(op.getOperands(), [](Value operand) {
                    return isFusible(operand.getDefiningOp());
                  });
    if (joined)
      seconds = std::max(0.0, seconds - topology.device.launchLatency);
    cost.compute += seconds;
    if (work.kind != WorkKind::Memory)
      cost.matrix += seconds;
  }

  // Bytes that a value takes of its own: views, parameters and what stays inside a fused kernel
  // take none.
  double bytesOf(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || isa<graph::GetOp, graph::InputOp, graph::ReshapeOp, graph::ConstantOp>(op))
      return 0;
    if (isFusible(op) && value.hasOneUse() && isFusible(*value.getUsers().begin()))
      return 0;
    return tensorBytes(value.getType()) * precision.activationScale;
  }

  // Walks the function in order, adding results and dropping values after their last use.
  double peakOf(graph::FuncOp func, bool blocking) {
    llvm::DenseMap<Value, Operation *> lastUse;
    Block &body = func.getBody().front();
    for (Operation &op : body)
      for (Value operand : op.getOperands())
        lastUse[rootOf(operand)] = &op;
    double live = 0, peak = 0;
    for (Operation &op : body.without_terminator()) {
      double inside = 0, results = 0, dying = 0;
      for (Value result : op.getResults())
        results += bytesOf(result);
      llvm::SmallPtrSet<void *, 4> seen;
      for (Value operand : op.getOperands()) {
        Value root = rootOf(operand);
        if (root.getDefiningOp() && lastUse[root] == &op &&
            seen.insert(root.getAsOpaquePointer()).second)
          dying += bytesOf(root);
      }
      if (auto call = dyn_cast<graph::CallOp>(op))
        inside = costOf(module.lookupSymbol<graph::FuncOp>(call.getCallee()), blocking).peakBytes;
      // Pointwise results take the place of an operand that dies.
      double reused = isFusible(&op) ? std::min(results, dying) : 0;
      peak = std::max(peak, live + std::max(results, inside) - reused);
      live += results - dying;
    }
    return std::max(peak, live);
  }

  static Value rootOf(Value value) {
    while (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
      value = reshape.getX();
    return value;
  }

  void fillMemory(PlanMemory &memory, graph::FuncOp microbatch, const FunctionCost &once,
                  const FunctionCost &end, int64_t microBatches) {
    double gradients = 0;
    for (unsigned index = 0; index < microbatch.getNumResults(); ++index)
      if (microbatch.getResultAttr(index, "graph.gradient_of"))
        gradients += tensorBytes(microbatch.getResultTypes()[index]) * precision.activationScale;
    double parameters = 0, states = 0;
    for (auto parameter : module.getOps<graph::ParameterOp>())
      parameters += localBytesOf(parameter.getType(), parameter.getPlacementAttr());
    for (auto state : module.getOps<graph::StateOp>())
      states += localBytesOf(state.getType(), state.getPlacementAttr());
    memory.parameters = static_cast<int64_t>(parameters * precision.parameterScale);
    memory.optimizer = static_cast<int64_t>(states);
    memory.gradients = static_cast<int64_t>(gradients);
    // The gradients of the function are among its live values; with several micro-batches they are
    // kept beside them.
    double activations = std::max(0.0, once.peakBytes - (microBatches > 1 ? 0 : gradients));
    memory.activations = static_cast<int64_t>(activations);
    memory.temporaries = static_cast<int64_t>(std::max(0.0, end.peakBytes - activations));
    for (BlockArgument argument : microbatch.getArguments())
      memory.communication += static_cast<int64_t>(tensorBytes(argument.getType())) * microBatches;
  }

  double localBytesOf(Type type, graph::PlacementAttr placement) {
    return tensorBytes(localType(cast<RankedTensorType>(type), fromAttr(placement, mesh), mesh));
  }

  ModuleOp module;
  const Mesh &mesh;
  const Topology &topology;
  const PrecisionModel &precision;
  std::map<std::string, FunctionCost> costs;
  std::map<BucketKey, double> bucketed;
};

} // namespace

PrecisionModel precisionModel(StringRef precision) {
  if (precision == "bf16")
    return {ComputeType::BF16, 0.5, 1.5};
  if (precision == "f16")
    return {ComputeType::F16, 0.5, 1.5};
  return {};
}

ProgramCost costProgram(ModuleOp module, const Mesh &mesh, const Topology &topology,
                        int64_t microBatches, const PrecisionModel &precision) {
  return ProgramCoster(module, mesh, topology, precision).run(microBatches);
}

} // namespace dtc
