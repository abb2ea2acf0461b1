// Finds the numbers of nodes that may train faster than all nodes of a system.
#include "compiler/search/planner/FewerNodes.h"

#include "compiler/decide/decisions/AllDecisions.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace dtc {

using D = Decisions;
namespace {

// The ranks that axes other than dp have to take, and the largest prime factor of their number.
struct Rest {
  int64_t ranks, prime;
};

int64_t largestPrimeOf(int64_t value) {
  int64_t largest = 1;
  for (int64_t prime = 2; prime * prime <= value; ++prime)
    for (; value % prime == 0; value /= prime)
      largest = prime;
  return std::max(largest, value);
}

Rest restOf(int64_t devices, int64_t globalBatch, const Pins &pins) {
  int64_t ranks = devices / pins[&D::dp].value_or(std::gcd(devices, globalBatch));
  return {ranks, largestPrimeOf(ranks)};
}

// Returns true if axes of the pinned sizes can be laid over `devices`.
bool suits(int64_t devices, const Pins &pins) {
  int64_t rest = devices;
  bool hasOpenAxis = false;
  for (const std::optional<int64_t> &axis :
       {pins[&D::dp], pins[&D::tp], pins[&D::pp], pins[&D::cp]}) {
    hasOpenAxis |= !axis;
    if (rest % axis.value_or(1) != 0)
      return false;
    rest /= axis.value_or(1);
  }
  return hasOpenAxis || rest == 1;
}

} // namespace

std::vector<int64_t> fewerNodeCounts(const Topology &topology, int64_t globalBatch, int64_t least,
                                     const Pins &pins) {
  std::vector<int64_t> counts;
  if (!topology.isUniform())
    return counts;
  auto isPossible = [&](int64_t nodes) { return suits(nodes * topology.devicesPerNode, pins); };
  std::vector<Rest> larger;
  if (isPossible(topology.nodes))
    larger.push_back(restOf(topology.numDevices(), globalBatch, pins));
  for (int64_t nodes = topology.nodes - 1; nodes >= std::max<int64_t>(1, least); --nodes) {
    if (!isPossible(nodes))
      continue;
    Rest rest = restOf(nodes * topology.devicesPerNode, globalBatch, pins);
    bool isNoBetter = llvm::any_of(larger, [&](const Rest &other) {
      return other.ranks < 2 * rest.ranks && other.prime <= rest.prime;
    });
    if (isNoBetter)
      continue;
    larger.push_back(rest);
    counts.push_back(nodes);
  }
  for (int64_t nodes = topology.nodes / 2; nodes >= std::max<int64_t>(1, least); nodes /= 2)
    if (isPossible(nodes))
      counts.push_back(nodes);
  llvm::sort(counts, std::greater<>());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

std::vector<int64_t> batchesForAll(const Plan &plan, int64_t allDevices) {
  const Decisions &d = plan.decisions;
  int64_t ofReplica = d.tp * d.pp * d.cp;
  if (allDevices % ofReplica != 0)
    return {};
  int64_t each = allDevices / ofReplica * d.microBatch, below = plan.globalBatch / each * each;
  std::vector<int64_t> batches{below, below + each};
  llvm::erase(batches, 0);
  llvm::sort(batches, [&](int64_t a, int64_t b) {
    return std::pair(std::llabs(a - plan.globalBatch), a) <
           std::pair(std::llabs(b - plan.globalBatch), b);
  });
  return batches;
}

} // namespace dtc
