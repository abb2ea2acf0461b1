// Every plan of a small problem, by loops that share no code with the planner's search: not its
// space, nor its cuts into stages, its recomputation, its buckets, its bounds. What a plan that decides
// everything costs is the cost model's word (StageCoster::stagesOf), how long its pipeline takes an
// event simulation's. So a mistake of the search shows, one of the cost model does not.
#pragma once

#include "compiler/estimate/StageCoster.h"
#include "compiler/planner/JointSearch.h"

namespace dtc {

// What is asked for. Limits and pins are read, none of their functions called.
struct PlanProblem {
  SpaceLimits limits;
  Pins pins;
  EstimateRequest request;
};

// An outline is a plan but for its cut, its recomputation and its buckets.
using OutlineVisitor = llvm::function_ref<void(const ModelCost &, const Decisions &)>;

class PlanEnumerator {
public:
  PlanEnumerator(CellStore &cells, const PlanProblem &problem);

  // Every mesh, number of ranks of tensor parallelism of either part, micro-batch, order of axes, kind of context parallelism, sequence parallelism, placement, schedule, ZeRO stage,
  // group of it, place of the vocabulary and of the optimizer that docs/planner.md lists.
  void visit(OutlineVisitor visitor);

private:
  void visitExperts(Decisions d, OutlineVisitor visitor);
  void visitMesh(Decisions d, OutlineVisitor visitor);
  void visitContexts(Decisions d, OutlineVisitor visitor);
  void visitParts(Decisions d, OutlineVisitor visitor);
  const ModelCells &appliedOf(const ModelCells &cells);
  void visitPlaced(const Decisions &mesh, OutlineVisitor visitor);
  void visitSchedules(const ModelCost &model, const Decisions &mesh, OutlineVisitor visitor) const;
  void visitMemory(const ModelCost &model, Decisions outline, OutlineVisitor visitor) const;
  static std::vector<int64_t> zeroGroups(const Decisions &d);

  const PlanProblem &problem;
  PlacementFrontier frontier;
  std::map<const ModelCells *, ModelCells> applied;
};

// What every layer of a plan of the search recomputes at least and at most.
std::vector<std::pair<Recompute, Recompute>> searchedRecomputation(const Pins &pins);

// Every way to cut layers into runs, of which only the last, and the first where runs are more than layers,
// may have no layer.
std::vector<LayerChunks> everyCut(int64_t layers, int64_t chunks);

// All that the software can make a layer recompute beside others; of ways that cost the same the first.
std::vector<Recompute> waysToRecompute(const ModelCost &model);

// Every choice of what each layer does. Of layers of a run that are alike (`chain`) it matters only how many make a
// choice: those on the host and then those that recompute more come first.
std::vector<std::vector<LayerWay>> everyChoice(const LayerChunks &cut, llvm::ArrayRef<int> chain,
                                               llvm::ArrayRef<LayerWay> ways);

// The plans of one outline.
class OutlinedPlans {
public:
  OutlinedPlans(const ModelCost &model, const Decisions &outline, const EstimateRequest &request)
      : model(model), outline(outline), request(request) {}

  struct Plan {
    std::vector<StageEstimate> stages; // but for gradients
    double slowest = 0;                // seconds of a micro-batch on the slowest stage
    bool fits = true;
  };
  Plan planOf(const LayerChunks &cut, llvm::ArrayRef<LayerWay> ways);
  // Seconds of all micro-batches; no less than so many times the slowest stage.
  double loopSeconds(llvm::ArrayRef<StageEstimate> stages) const;
  double leastLoopSeconds(const Plan &plan) const {
    return static_cast<double>(outline.numMicroBatches) * plan.slowest;
  }
  // Seconds of what follows them, in the best of all buckets.
  double secondsOnce(const LayerChunks &cut, llvm::ArrayRef<LayerWay> ways);
  PipelineProblem pipelineOf(llvm::ArrayRef<StageEstimate> stages) const;

private:
  // A fixed size of buckets, and the decisions that have the plan's least recomputation.
  struct Coster {
    Decisions decisions;
    EstimateRequest request;
    StageCoster coster;
    Coster(const ModelCost &model, const Decisions &d, const EstimateRequest &of, int64_t bucket)
        : decisions(d), request(with(of, bucket)), coster(model, decisions, request) {}
    static EstimateRequest with(EstimateRequest request, int64_t bucket) {
      request.bucketSizes = {bucket};
      return request;
    }
  };
  bool mayTravelIn(int64_t bucket) const;
  std::vector<std::unique_ptr<Coster>> &costersOf(Recompute least);

  const ModelCost &model;
  Decisions outline;
  const EstimateRequest &request;
  std::map<Recompute, std::vector<std::unique_ptr<Coster>>> costers; // by size of buckets
};

// The fastest of an outline's plans, over all cuts and all recomputation.
struct SweptPlans {
  int64_t plans = 0;
  // Seconds of a step, whatever it needs of memory, of plans whose layers recompute no less than
  // each of Recompute; of those that fit.
  std::array<double, kNumRecomputes> least;
  double leastFitting;
  LayerChunks cut; // of the one that fits
  std::vector<LayerWay> ways;
};
SweptPlans sweep(const ModelCost &model, const Decisions &outline, const EstimateRequest &request);

} // namespace dtc
