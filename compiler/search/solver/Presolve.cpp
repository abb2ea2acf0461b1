// Repeats the rules of the exact presolve until nothing changes.
#include "compiler/search/solver/Presolve.h"

#include "compiler/search/solver/Dominance.h"
#include "compiler/search/solver/EdgeRules.h"
#include "compiler/search/solver/Flatten.h"
#include "compiler/search/solver/MemoryRules.h"
#include "compiler/search/solver/NodeRules.h"
#include "compiler/search/solver/Reduction.h"

namespace dtc::solver {
namespace {

class Presolver {
public:
  explicit Presolver(WorkGraph start) : graph(std::move(start)) {}

  // Applies 1. rules 1 to 4 wherever something changed; 2. the rules for memory: profiles, values
  // that cannot fit, points of time that cannot matter; 3. dominance. Repeats while any of these
  // finds something.
  Reduction reduction() {
    Reduction result;
    result.originalNodes = static_cast<int32_t>(graph.nodes.size());
    run();
    result.infeasible = graph.infeasible;
    if (graph.infeasible)
      return result;
    flatten(graph, result);
    result.removals = std::move(graph.removals);
    result.times = std::move(graph.times);
    return result;
  }

private:
  void run() {
    for (int sweep = 0; sweep < kMaxSweeps && !graph.infeasible; ++sweep) {
      drainQueue();
      if (graph.infeasible)
        return;
      tidyAll();
      dropValuesThatOverrun(graph);
      if (graph.infeasible)
        return;
      tidyAll();
      dropSlackTimes(graph);
      dropDominated(graph);
      queueFreeOfMemory();
      if (graph.queue.empty())
        return;
    }
    drainQueue();
    if (!graph.infeasible)
      tidyAll();
  }

  static constexpr int kMaxSweeps = 20;

  void drainQueue();
  bool simplifyEdges(int32_t node);
  void tidyAll();
  void queueFreeOfMemory();

  WorkGraph graph;
};

void Presolver::drainQueue() {
  while (!graph.queue.empty() && !graph.infeasible) {
    int32_t node = graph.queue.front();
    graph.queue.pop_front();
    graph.queued[node] = 0;
    if (!graph.nodes[node].alive)
      continue;
    if (dropUnsupported(graph, node) || graph.infeasible || fixSingle(graph, node) ||
        simplifyEdges(node))
      continue;
    minimiseOut(graph, node);
  }
}

// Applies rules 2 and 3 to the edges that changed. Returns true if the node was removed or will be
// visited again.
bool Presolver::simplifyEdges(int32_t index) {
  std::vector<int32_t> list = graph.nodes[index].edges;
  for (int32_t e : list) {
    WorkGraph::Edge &edge = graph.edges[e];
    if (!edge.alive || !edge.dirty)
      continue;
    // The support of the far end is not computed yet, so that end comes first.
    if (graph.queued[edge.other(index)])
      continue;
    if (foldSeparable(graph, e))
      continue;
    if (mergeFunctional(graph, e))
      return true;
    graph.edges[e].dirty = false;
  }
  return false;
}

void Presolver::tidyAll() {
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].alive && graph.nodes[i].piecesChanged)
      graph.tidyPieces(static_cast<int32_t>(i));
}

// Queues nodes that lost their last piece since their last visit, because they may now be minimised
// out.
void Presolver::queueFreeOfMemory() {
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].alive && graph.nodes[i].pieces.empty() && graph.nodes[i].edges.size() <= 1)
      graph.markDirty(static_cast<int32_t>(i));
}

} // namespace

Reduction presolve(const Problem &problem) { return Presolver(WorkGraph(problem)).reduction(); }

Reduction presolve(const Network &network, std::span<const char> allowed) {
  return Presolver(WorkGraph(network, allowed)).reduction();
}

} // namespace dtc::solver
