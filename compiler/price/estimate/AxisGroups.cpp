// The ranks of each axis of a mesh.
#include "compiler/price/estimate/AxisGroups.h"

#include "compiler/decide/decisions/Decisions.h"

#include <numeric>

namespace dtc {
namespace {

int64_t strideOf(const Decisions &d, char axis) {
  int64_t stride = 1;
  for (char inner : d.order) {
    if (inner == axis)
      return stride;
    stride *= d.sizeOf(inner);
  }
  return stride;
}

// Adds the ranks of expert parallelism: the innermost of context and data, and of tensor
// parallelism where experts are folded over it, as Megatron-Core's RankGenerator of experts has
// them (megatron/core/parallel_state.py: with a tp of 1 its ep lies inside of its dp, and cp is
// none).
void addExpertGroups(const Decisions &d, AxisGroups &groups) {
  int64_t left = d.ep;
  for (char axis : d.order) {
    if (!d.spreadsExperts(axis))
      continue;
    int64_t size = d.sizeOf(axis), stride = strideOf(d, axis);
    int64_t taken = std::gcd(left, size);
    if (taken > 1)
      groups.ep.push_back({taken, stride});
    if (size / taken > 1)
      groups.expert.push_back({size / taken, stride * taken});
    left /= taken;
  }
  if (groups.ep.empty())
    groups.ep.push_back({1, 1});
  if (groups.expert.empty())
    groups.expert.push_back({1, 1});
}

} // namespace

AxisGroups groupsOf(const Decisions &d) {
  AxisGroups groups;
  groups.tp = {{d.tp, strideOf(d, 't')}};
  int64_t heads = d.headRanks(), stride = strideOf(d, 'c');
  groups.heads = {{heads, stride}};
  groups.keys = {{d.ringRanks(), stride * heads}};
  groups.gathersKeys = d.gathersKeys();
  groups.pp = {{d.pp, strideOf(d, 'p')}};
  for (char axis : d.order) {
    int64_t size = axis == 'c' ? d.cp : axis == 'd' ? d.dp : 1;
    if (size > 1)
      groups.dense.push_back({size, strideOf(d, axis)});
  }
  if (groups.dense.empty())
    groups.dense.push_back({1, 1});
  addExpertGroups(d, groups);
  return groups;
}

double ranksOf(const RankGroup &group) {
  double ranks = 1;
  for (const RankSpan &span : group)
    ranks *= static_cast<double>(span.size);
  return ranks;
}

} // namespace dtc
