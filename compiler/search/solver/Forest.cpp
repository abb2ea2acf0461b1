// Minimises over induced forests by dynamic programming.
#include "compiler/search/solver/Forest.h"

#include <algorithm>

namespace dtc::solver {

Forest::Forest(const Network &network)
    : network(network), stamp(network.numNodes(), 0), position(network.numNodes(), 0) {
  clear();
}

void Forest::clear() {
  ++now;
  members.clear();
  above.clear();
}

int32_t Forest::find(int32_t member) {
  while (above[member] != member)
    member = above[member] = above[above[member]];
  return member;
}

bool Forest::tryAdd(int32_t node) {
  if (contains(node))
    return true;
  auto neighbours = network.neighboursOf(node);
  workDone += static_cast<int64_t>(neighbours.size());
  // Two neighbours in one tree would close a cycle.
  thread_local std::vector<int32_t> trees;
  trees.clear();
  for (const Network::Neighbour &neighbour : neighbours)
    if (contains(neighbour.node)) {
      int32_t tree = find(position[neighbour.node]);
      if (std::find(trees.begin(), trees.end(), tree) != trees.end())
        return false;
      trees.push_back(tree);
    }
  auto member = static_cast<int32_t>(members.size());
  members.push_back(node);
  above.push_back(member);
  for (int32_t tree : trees)
    above[tree] = member;
  stamp[node] = now;
  position[node] = member;
  return true;
}

void Forest::orient() {
  size_t count = members.size();
  order.clear();
  parent.assign(count, -2);
  toParent.assign(count, nullptr);
  for (size_t root = 0; root < count; ++root) {
    if (parent[root] != -2)
      continue;
    parent[root] = -1;
    order.push_back(static_cast<int32_t>(root));
    for (size_t next = order.size() - 1; next < order.size(); ++next) {
      int32_t member = order[next];
      for (const Network::Neighbour &neighbour : network.neighboursOf(members[member])) {
        if (!contains(neighbour.node) || parent[position[neighbour.node]] != -2)
          continue;
        int32_t child = position[neighbour.node];
        parent[child] = member;
        order.push_back(child);
        // The same table, seen from the child.
        auto theirs = network.neighboursOf(neighbour.node);
        toParent[child] = &*std::lower_bound(
            theirs.begin(), theirs.end(), members[member],
            [](const Network::Neighbour &n, int32_t node) { return n.node < node; });
      }
    }
  }
}

void Forest::prepare(const std::vector<double> &costs, const std::vector<int32_t> &choice) {
  orient();
  offsets.clear();
  own.clear();
  for (int32_t node : members) {
    offsets.push_back(static_cast<int64_t>(own.size()));
    int32_t count = network.values(node);
    own.insert(own.end(), costs.begin() + network.first[node],
               costs.begin() + network.first[node] + count);
    double *sum = &own[offsets.back()];
    for (const Network::Neighbour &neighbour : network.neighboursOf(node)) {
      if (contains(neighbour.node))
        continue;
      const double *column =
          neighbour.columns + static_cast<int64_t>(choice[neighbour.node]) * count;
      for (int32_t v = 0; v < count; ++v)
        sum[v] += column[v];
      workDone += count;
    }
  }
  sums = own;
  values.resize(members.size());
}

void Forest::addPrice(size_t member, const int64_t *usages, double price) {
  double *sum = &sums[offsets[member]];
  for (int32_t v = 0; v < network.values(members[member]); ++v)
    sum[v] += price * static_cast<double>(usages[v]);
}

double Forest::costOf(const std::vector<int32_t> &choice) const {
  double total = 0;
  for (size_t member = 0; member < members.size(); ++member) {
    int32_t node = members[member], value = choice[node];
    total += own[offsets[member] + value];
    if (parent[member] >= 0)
      total += toParent[member]->columns[static_cast<int64_t>(choice[members[parent[member]]]) *
                                             network.values(node) +
                                         value];
  }
  return total;
}

double Forest::solve() {
  double total = 0;
  for (size_t n = order.size(); n-- > 0;) {
    int32_t member = order[n], node = members[member];
    int32_t count = network.values(node);
    const double *from = &sums[offsets[member]];
    if (parent[member] < 0) {
      total += *std::min_element(from, from + count);
      continue;
    }
    int32_t width = network.values(members[parent[member]]);
    double *to = &sums[offsets[parent[member]]];
    // For each value of the parent: the least sum of own cost and edge.
    const double *column = toParent[member]->columns;
    for (int32_t y = 0; y < width; ++y, column += count) {
      double least = from[0] + column[0];
      for (int32_t v = 1; v < count; ++v) {
        double sum = from[v] + column[v];
        least = sum < least ? sum : least;
      }
      to[y] += least;
    }
    workDone += static_cast<int64_t>(count) * width;
  }
  for (int32_t member : order) {
    int32_t count = network.values(members[member]);
    double *from = &sums[offsets[member]];
    if (parent[member] >= 0) {
      const double *column =
          toParent[member]->columns + static_cast<int64_t>(values[parent[member]]) * count;
      for (int32_t v = 0; v < count; ++v)
        from[v] += column[v];
    }
    values[member] = static_cast<int32_t>(std::min_element(from, from + count) - from);
  }
  return total;
}

} // namespace dtc::solver
