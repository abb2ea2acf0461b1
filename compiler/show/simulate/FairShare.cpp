// Progressive filling over the links that a change reaches.
#include "compiler/show/simulate/FairShare.h"

#include <algorithm>
#include <queue>

using namespace dtc;

FairShare::FairShare(llvm::ArrayRef<SimLink> links, llvm::ArrayRef<SimTask> tasks)
    : links(links), tasks(tasks), states(links.size()), rates(tasks.size(), 0.0),
      phase(tasks.size(), 0) {}

void FairShare::add(int task) {
  phase[task] = 1;
  rates[task] = 0;
  for (int link : tasks[task].route) {
    states[link].transfers.push_back(task);
    if (!states[link].dirty)
      dirtyLinks.push_back(link);
    states[link].dirty = true;
  }
}

void FairShare::remove(int task) {
  phase[task] = 0;
  for (int link : tasks[task].route) {
    std::vector<int> &active = states[link].transfers;
    active.erase(std::find(active.begin(), active.end(), task));
    if (!states[link].dirty)
      dirtyLinks.push_back(link);
    states[link].dirty = true;
  }
}

// The links and transfers connected to dirty links.
void FairShare::collect() {
  component.clear();
  transfers.clear();
  auto reach = [&](int link) {
    if (!states[link].collected)
      component.push_back(link);
    states[link].collected = true;
  };
  for (int link : dirtyLinks) {
    states[link].dirty = false;
    reach(link);
  }
  dirtyLinks.clear();
  for (size_t next = 0; next < component.size(); ++next)
    for (int task : states[component[next]].transfers)
      if (phase[task] == 1) {
        phase[task] = 2;
        transfers.push_back(task);
        for (int link : tasks[task].route)
          reach(link);
      }
}

void FairShare::fix(int task, double rate) {
  phase[task] = 3;
  if (rates[task] != rate)
    changed.push_back(task);
  rates[task] = rate;
  for (int link : tasks[task].route) {
    states[link].left = std::max(0.0, states[link].left - rate);
    --states[link].open;
  }
}

// The link with the smallest share for its transfers without a rate sets theirs; shares of the
// others only grow by that, so a share in the queue is at most the true one.
void FairShare::fill() {
  using Share = std::pair<double, int>;
  std::priority_queue<Share, std::vector<Share>, std::greater<Share>> shares;
  for (int link : component) {
    LinkState &state = states[link];
    state.left = links[link].bytesPerSecond;
    state.open = static_cast<int>(state.transfers.size());
    if (state.open)
      shares.push({state.left / state.open, link});
  }
  while (!shares.empty()) {
    auto [share, link] = shares.top();
    shares.pop();
    LinkState &state = states[link];
    if (!state.open)
      continue;
    // Rounding may make the left of a link a little less than its share promised.
    double now = std::max(share, state.left / state.open);
    if (now > share) {
      shares.push({now, link});
      continue;
    }
    for (int task : state.transfers)
      if (phase[task] == 2)
        fix(task, share);
  }
}

llvm::ArrayRef<int> FairShare::update() {
  changed.clear();
  if (dirtyLinks.empty())
    return changed;
  collect();
  fill();
  for (int task : transfers)
    phase[task] = 1;
  for (int link : component)
    states[link].collected = false;
  return changed;
}
