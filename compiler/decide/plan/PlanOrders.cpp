// The pipeline that a plan describes, and the orders of its stages.
#include "compiler/decide/plan/PlanOrders.h"

#include "compiler/search/pipeline/BuildSchedule.h"
#include "compiler/search/pipeline/TransferOrder.h"
#include "compiler/search/pipeline/Transfers.h"
#include "dialects/graph/Attributes.h"
#include "dialects/graph/StageAttributes.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <limits>

using namespace dtc;

static int64_t headBytes(const PlanStage &stage) {
  int64_t chunks = 0;
  for (const PlanChunk &chunk : stage.chunkTimes)
    chunks += chunk.keptBytes;
  return std::max<int64_t>(0, chunks - stage.keptBytes);
}

static bool holdsHead(const Plan &plan, size_t stage) {
  const Decisions &d = plan.decisions;
  auto stages = static_cast<int>(d.pp), last = static_cast<int>(d.pp * d.virtualStages) - 1;
  return stageOfChunk(d.schedule, stages, last) == static_cast<int>(stage);
}

int64_t dtc::headBytesOf(const Plan &plan, size_t stage) {
  return holdsHead(plan, stage) ? headBytes(plan.stages[stage]) : 0;
}

double dtc::spreadOf(const PlanStage &stage, int64_t head) {
  double counted =
      stage.inFlight * static_cast<double>(stage.keptBytes) + static_cast<double>(head);
  return counted > 0 ? static_cast<double>(stage.memory.activations) / counted : 1;
}

namespace {

UserError cannot(const std::string &why, const std::string &mend) {
  return UserError("ordering the plan's micro-batches: " + why, mend);
}

constexpr const char *kPlanAgain = "make the plan again with 'dtc plan -o plan.json'";

// Chunks without times of their own get a share by their number of layers.
std::vector<PlanChunk> chunksOf(const PlanStage &stage) {
  if (stage.chunkTimes.size() == stage.chunks.size())
    return stage.chunkTimes;
  double layers = 0;
  for (auto [first, last] : stage.chunks)
    layers += static_cast<double>(last - first + 1);
  std::vector<PlanChunk> chunks;
  for (auto [first, last] : stage.chunks) {
    double share = layers > 0 ? static_cast<double>(last - first + 1) / layers
                              : 1 / static_cast<double>(stage.chunks.size());
    chunks.push_back({stage.forwardSeconds * share, stage.backwardInputSeconds * share,
                      stage.backwardWeightSeconds * share,
                      std::llround(static_cast<double>(stage.keptBytes) * share)});
  }
  return chunks;
}

Status checkStages(const Plan &plan) {
  if (plan.stages.empty() || static_cast<int64_t>(plan.stages.size()) != plan.decisions.pp)
    return cannot("it has " + std::to_string(plan.stages.size()) +
                      " stages, wanted pp = " + std::to_string(plan.decisions.pp),
                  kPlanAgain);
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const PlanStage &each = plan.stages[stage];
    if (static_cast<int64_t>(each.chunks.size()) != plan.decisions.virtualStages)
      return cannot("stage " + std::to_string(stage) + " has " +
                        std::to_string(each.chunks.size()) + " runs of layers, wanted " +
                        "virtual_stages = " + std::to_string(plan.decisions.virtualStages),
                    kPlanAgain);
    if (each.forwardSeconds <= 0 && plan.predicted.stepSeconds > 0)
      return cannot("stage " + std::to_string(stage) + " has no 'forward_s'", kPlanAgain);
  }
  if (plan.decisions.numMicroBatches > std::numeric_limits<int>::max())
    return cannot("it has " + std::to_string(plan.decisions.numMicroBatches) + " micro-batches",
                  "plan with a larger micro-batch");
  size_t boundaries = plan.predicted.transfers.size();
  if (boundaries != 0 && boundaries + 1 != plan.stages.size())
    return cannot("it has 'transfers_s' of " + std::to_string(boundaries) + " boundaries between " +
                      std::to_string(plan.stages.size()) + " stages",
                  kPlanAgain);
  return {};
}

} // namespace

Result<PipelineProblem> dtc::pipelineOfPlan(const Plan &plan) {
  if (Status checked = checkStages(plan); !checked)
    return checked.error();
  // Time and memory go with the forward and backward parts of all micro-batches.
  constexpr double kMostParts = 1 << 21;
  double parts = 2.0 * static_cast<double>(plan.decisions.pp * plan.decisions.virtualStages) *
                 static_cast<double>(plan.decisions.numMicroBatches);
  if (parts > kMostParts)
    return cannot(llvm::formatv("it has {0:e1} forward and backward parts, wanted at most {1:e1}",
                                parts, kMostParts)
                      .str(),
                  "plan with a larger micro_batch, or fewer samples a step");
  PipelineProblem problem;
  problem.kind = plan.decisions.schedule;
  problem.stages = static_cast<int>(plan.decisions.pp);
  problem.virtualStages = static_cast<int>(plan.decisions.virtualStages);
  problem.microBatches = static_cast<int>(plan.decisions.numMicroBatches);
  std::vector<std::vector<PlanChunk>> chunks;
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    chunks.push_back(chunksOf(plan.stages[stage]));
    chunks.back().back().keptBytes -= headBytesOf(plan, stage);
  }
  std::vector<size_t> taken(plan.stages.size(), 0);
  for (int chunk = 0; chunk < problem.stages * problem.virtualStages; ++chunk) {
    size_t stage = static_cast<size_t>(stageOfChunk(problem.kind, problem.stages, chunk));
    const PlanChunk &from = chunks[stage][taken[stage]++];
    ChunkTimes times;
    times.forward = from.forwardSeconds;
    times.backwardInput = from.backwardInputSeconds;
    times.backwardWeight = from.backwardWeightSeconds;
    double spread = spreadOf(plan.stages[stage], headBytesOf(plan, stage));
    times.activationBytes = times.weightStashBytes =
        std::llround(static_cast<double>(from.keptBytes) * spread);
    problem.chunks.push_back(times);
  }
  if (plan.decisions.pp > 1)
    setTransfers(problem, plan.predicted.transferSeconds, plan.predicted.transfers);
  return problem;
}

// A kind of graph.order, as passes/schedule/StageOrder.h has them.
static int64_t orderKind(const PipelineStep &step) {
  bool isForward = step.task.kind == PipelineTaskKind::Forward;
  switch (step.kind) {
  case PipelineStep::Compute:
    return isForward ? 0 : step.task.kind == PipelineTaskKind::BackwardWeight ? 2 : 1;
  case PipelineStep::Receive:
    return isForward ? 3 : 4;
  case PipelineStep::Send:
    return isForward ? 5 : 6;
  }
  return 0;
}

Status dtc::orderStages(mlir::ModuleOp module, const Plan &plan, bool ordersTransfers) {
  Result<PipelineProblem> problem = pipelineOfPlan(plan);
  if (!problem)
    return problem.error();
  Result<PipelineSchedule> schedule = buildSchedule(*problem);
  if (!schedule)
    return schedule.error();
  std::vector<std::vector<PipelineStep>> steps;
  if (ordersTransfers)
    steps = orderTransfers(*schedule, *problem);
  else
    for (const std::vector<PipelineTask> &tasks : schedule->order) {
      steps.emplace_back();
      for (const PipelineTask &task : tasks)
        steps.back().push_back({PipelineStep::Compute, task});
    }
  for (auto stage : module.getOps<mlir::ModuleOp>()) {
    auto index = stage->getAttrOfType<mlir::IntegerAttr>(graph::kStageAttr).getInt();
    llvm::SmallVector<int64_t> order;
    for (const PipelineStep &step : steps[static_cast<size_t>(index)])
      order.append({orderKind(step), step.task.chunk, step.task.microBatch});
    stage->setAttr(graph::kOrderAttr, mlir::DenseI64ArrayAttr::get(module.getContext(), order));
  }
  return {};
}
