// Enumerates every plan of a small problem, by loops that share no code with the planner's search:
// neither its space, nor its cuts into stages, its recomputation, its buckets, its bounds. The cost
// model (stagesOfCut) costs a plan that decides everything, and an event simulation its
// pipeline. So the tests find faults of the search, but none of the cost model.
#pragma once

#include "compiler/price/estimate/StageCoster.h"
#include "compiler/search/planner/JointSearch.h"

namespace dtc {

// The problem. The enumeration reads limits and pins, and calls none of their functions.
struct PlanProblem {
  SpaceLimits limits;
  Pins pins;
  EstimateRequest request;
};

// A visitor of outlines. An outline is a plan without its cut, its recomputation and its buckets.
using OutlineVisitor = llvm::function_ref<void(const ModelCost &, const Decisions &)>;

// Visits the outlines of a problem. Keeps the references.
class PlanEnumerator {
public:
  PlanEnumerator(CellStore &cells, const PlanProblem &problem);

  // Visits every outline that docs/planner.md lists. Outlines differ in mesh, tensor-parallel
  // degree of either device group, micro-batch, order of axes, kind of context parallelism,
  // sequence parallelism, placement, schedule, ZeRO stage and its group, and location of the
  // vocabulary and the optimizer.
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

// Returns the least and the most recomputation of the layers of each plan of the search.
std::vector<std::pair<Recompute, Recompute>> searchedRecomputation(const Pins &pins);

// Returns every way to cut layers into runs. Only the last run, and the first if runs are more than
// layers, may have no layer.
std::vector<LayerChunks> everyCut(int64_t layers, int64_t chunks);

// Returns all ways in which the software can make a layer recompute beside others; the first of
// ways that cost the same.
std::vector<Recompute> waysToRecompute(const ModelCost &model);

// Returns every choice of ways for the layers. Only the number of equal layers of a run (`chain`)
// that make a choice matters: those on the host and then those that recompute more come first.
std::vector<std::vector<LayerWay>> everyChoice(const LayerChunks &cut, llvm::ArrayRef<int> chain,
                                               llvm::ArrayRef<LayerWay> ways);

// The plans of one outline.
class OutlinedPlans {
public:
  OutlinedPlans(const ModelCost &model, const Decisions &outline, const EstimateRequest &request)
      : model(model), outline(outline), request(request) {}

  // A plan that decides everything.
  struct Plan {
    std::vector<StageEstimate> stages; // without gradients
    double slowest = 0;                // seconds of a micro-batch on the slowest stage
    bool fits = true;
  };
  // Returns the plan of a cut and the ways of its layers.
  Plan planOf(const LayerChunks &cut, llvm::ArrayRef<LayerWay> ways);
  // Returns the seconds of all micro-batches, at least leastLoopSeconds.
  double loopSeconds(llvm::ArrayRef<StageEstimate> stages) const;
  // Returns the seconds of all micro-batches on the slowest stage.
  double leastLoopSeconds(const Plan &plan) const {
    return static_cast<double>(outline.numMicroBatches) * plan.slowest;
  }
  // Returns the seconds after the loop, with the best of all buckets.
  double secondsOnce(const LayerChunks &cut, llvm::ArrayRef<LayerWay> ways);
  // Returns the pipeline of the stages.
  PipelineProblem pipelineOf(llvm::ArrayRef<StageEstimate> stages) const;

private:
  // The inputs of stages with a fixed size of buckets, and the decisions with the plan's least
  // recomputation.
  struct Coster {
    Decisions decisions;
    EstimateRequest request;
    StageInputs stages;
    Coster(const ModelCost &model, const Decisions &d, const EstimateRequest &of, int64_t bucket)
        : decisions(d), request(with(of, bucket)), stages(model, decisions, request) {}
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
  // one for each size of buckets
  std::map<Recompute, std::vector<std::unique_ptr<Coster>>> costers;
};

// The fastest of an outline's plans, over all cuts and all recomputation.
struct SweptPlans {
  int64_t plans = 0;
  // Least seconds of a step in any memory, over plans whose layers recompute no less than each of
  // Recompute; then over the plans that fit.
  std::array<double, kNumRecomputes> least;
  double leastFitting;
  LayerChunks cut; // cut of the fastest that fits
  std::vector<LayerWay> ways;
};
// Costs all plans of an outline.
SweptPlans sweep(const ModelCost &model, const Decisions &outline, const EstimateRequest &request);

} // namespace dtc
