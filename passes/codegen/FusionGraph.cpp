// A graph of nodes that merge into groups without ever forming a cycle.
#include "passes/codegen/FusionGraph.h"

#include "llvm/ADT/STLExtras.h"
#include <cassert>
#include <numeric>

using namespace dtc;

FusionGraph::FusionGraph(unsigned numNodes)
    : successors(numNodes), groupMembers(numNodes), leaders(numNodes), position(numNodes),
      atPosition(numNodes), isReached(numNodes) {
  std::iota(leaders.begin(), leaders.end(), 0);
  std::iota(position.begin(), position.end(), 0);
  std::iota(atPosition.begin(), atPosition.end(), 0);
  for (unsigned node = 0; node < numNodes; ++node)
    groupMembers[node] = {node};
}

void FusionGraph::addEdge(unsigned from, unsigned to) {
  assert(from < to && "nodes are numbered in a topological order");
  if (!llvm::is_contained(successors[from], to))
    successors[from].push_back(to);
}

unsigned FusionGraph::leader(unsigned node) const { return leaders[node]; }

bool FusionGraph::markReached(unsigned start, unsigned end, std::vector<unsigned> &reached) {
  unsigned last = atPosition[end];
  std::vector<unsigned> stack = {start};
  while (!stack.empty()) {
    unsigned group = stack.back();
    stack.pop_back();
    for (unsigned member : groupMembers[group]) {
      for (unsigned node : successors[member]) {
        unsigned next = leader(node);
        if (next == last && group != start)
          return false;
        if (next == start || position[next] >= end || isReached[next])
          continue;
        isReached[next] = true;
        reached.push_back(next);
        stack.push_back(next);
      }
    }
  }
  return true;
}

void FusionGraph::placeAfter(unsigned begin, unsigned end, unsigned merged,
                             llvm::ArrayRef<unsigned> later) {
  llvm::SmallVector<unsigned> order;
  for (unsigned at = begin + 1; at < end; ++at)
    if (atPosition[at] >= 0 && !isReached[atPosition[at]])
      order.push_back(atPosition[at]);
  order.push_back(merged);
  llvm::SmallVector<unsigned> sorted(later);
  llvm::sort(sorted, [&](unsigned a, unsigned b) { return position[a] < position[b]; });
  order.append(sorted);
  std::fill(atPosition.begin() + begin, atPosition.begin() + end + 1, -1);
  for (auto [i, group] : llvm::enumerate(order)) {
    position[group] = begin + i;
    atPosition[begin + i] = group;
  }
}

bool FusionGraph::merge(unsigned a, unsigned b) {
  unsigned first = leader(a), second = leader(b);
  if (first == second)
    return true;
  if (position[first] > position[second])
    std::swap(first, second);
  unsigned begin = position[first], end = position[second];
  std::vector<unsigned> reached;
  bool acyclic = markReached(first, end, reached);
  if (acyclic) {
    unsigned merged = std::min(first, second), gone = std::max(first, second);
    placeAfter(begin, end, merged, reached);
    for (unsigned member : groupMembers[gone])
      leaders[member] = merged;
    groupMembers[merged].append(groupMembers[gone]);
    llvm::sort(groupMembers[merged]);
    groupMembers[gone].clear();
  }
  for (unsigned group : reached)
    isReached[group] = false;
  return acyclic;
}

std::vector<std::vector<unsigned>> FusionGraph::order() const {
  std::vector<std::vector<unsigned>> groups;
  for (int group : atPosition)
    if (group >= 0)
      groups.emplace_back(groupMembers[group].begin(), groupMembers[group].end());
  return groups;
}
