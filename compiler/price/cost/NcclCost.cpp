// NCCL's algorithms and protocols, of which it takes the quickest by the same model: src/graph/
// tuning.cc. All seconds are latency + bytes / bandwidth; chunks that are flagged one by one
// (Simple) also fill a pipeline.
#include "compiler/price/cost/NcclCost.h"

#include <algorithm>
#include <cmath>

namespace dtc {
namespace {

class Nccl {
public:
  Nccl(const NcclCall &call, llvm::ArrayRef<UsedLevel> levels) : call(call), levels(levels) {
    for (const UsedLevel &level : levels) {
      ranks *= level.ranks;
      if (level.hop == HopClass::Network)
        nodes *= level.ranks;
      // NCCL trusts the 128-byte stores of LL128 on NVLink and between nodes with direct access.
      slowInside = slowInside || level.hop == HopClass::Pcie;
    }
    bus = ringBandwidth(levels);
  }

  CollectiveChoice allReduce() const;
  // Or reduce-scatter.
  CollectiveChoice allGather() const;
  CollectiveChoice broadcast() const;
  CollectiveChoice allToAll() const;
  CollectiveChoice sendReceive() const;

private:
  bool isEnabled(Protocol protocol) const { return protocol != Protocol::LL128 || !slowInside; }

  // Seconds of a hop at `level`.
  double hop(const UsedLevel &level, Protocol protocol, bool tree) const {
    const auto &table = tree ? ncclLatency.treeHop : ncclLatency.ringHop;
    double beyond = table[static_cast<size_t>(level.hop)][static_cast<size_t>(protocol)];
    // Across nodes, LL waits for the network's flags inside nodes too: 1.8 in NCCL's model.
    double slowed =
        nodes > 1 && level.hop != HopClass::Network && protocol == Protocol::LL ? 1.8 : 1.0;
    double rail = level.changesRails && level.railsChangeInside ? 0.6e-6 : 0; // one hop inside
    return level.latency * slowed + beyond + rail;
  }
  // One lap of a ring over all ranks: a hop between each two neighbours at a level.
  double lap(Protocol protocol) const {
    double seconds = 0;
    for (const UsedLevel &level : levels)
      seconds += hop(level, protocol, false) * level.lapHops * ranks / (level.inside * level.ranks);
    return seconds;
  }
  double ringBus(Protocol protocol) const {
    switch (protocol) {
    case Protocol::LL: // half of each 8 bytes is a flag
      return std::min(bus * 0.5, call.constants->llLimit[nodes > 2 ? 2 : nodes > 1 ? 1 : 0]);
    case Protocol::LL128:
      return bus * 0.92; // 120 of 128 bytes
    case Protocol::Simple:
      return bus;
    }
    return bus;
  }
  double ramp() const { return call.constants->ramp * std::pow(call.bytes / (8 << 20), rampPower); }
  CollectiveChoice ring(double laps) const;
  CollectiveChoice tree() const;
  CollectiveChoice inSwitch() const;
  CollectiveChoice inSwitchTree() const;
  CollectiveChoice networkReduction() const;

  NcclCall call;
  llvm::ArrayRef<UsedLevel> levels;
  double ranks = 1, nodes = 1; // `nodes` has each group of the links inside a node as one
  double bus = 0;
  bool slowInside = false;
};

constexpr Protocol protocols[] = {Protocol::LL, Protocol::LL128, Protocol::Simple};

llvm::StringRef nameOf(Protocol protocol) {
  return protocol == Protocol::LL ? "LL" : protocol == Protocol::LL128 ? "LL128" : "Simple";
}

void takeFaster(CollectiveChoice &best, const CollectiveChoice &other) {
  if (other.seconds < best.seconds)
    best = other;
}

// `laps` 2 of an all-reduce, 1 of all-gather and reduce-scatter.
CollectiveChoice Nccl::ring(double laps) const {
  CollectiveChoice best;
  for (Protocol protocol : protocols) {
    if (!isEnabled(protocol))
      continue;
    bool simple = protocol == Protocol::Simple;
    double latency = ncclLatency.ringBase[static_cast<size_t>(protocol)] + laps * lap(protocol);
    // The plateau of rings between nodes.
    if (simple && nodes > 1 && laps == 2 && call.bytes >= ranks / 16 * 65536)
      latency *= 1.4;
    double seconds = latency + laps * call.bytes * (ranks - 1) / ranks / ringBus(protocol) +
                     (simple ? ramp() : 0);
    takeFaster(best, {seconds, "ring", nameOf(protocol)});
  }
  return best;
}

// Up and down two binary trees between nodes, each of half of the bytes; inside a node a chain.
CollectiveChoice Nccl::tree() const {
  double bandwidth = std::numeric_limits<double>::infinity();
  for (const UsedLevel &level : levels)
    bandwidth = std::min(bandwidth, level.ring * level.inside *
                                        (level.hop == HopClass::Network ? treeShare(nodes) : 0.5));
  CollectiveChoice best;
  for (Protocol protocol : protocols) {
    if (!isEnabled(protocol))
      continue;
    double latency = ncclLatency.treeBase[static_cast<size_t>(protocol)], reached = bandwidth;
    for (const UsedLevel &level : levels) {
      double depth =
          level.hop == HopClass::Network ? std::ceil(std::log2(level.ranks)) : level.lapHops;
      latency += 2 * depth * hop(level, protocol, true);
    }
    if (protocol == Protocol::LL)
      reached = std::min(bandwidth / 3.8, call.constants->llLimit[nodes > 2   ? 2
                                                                  : nodes > 1 ? 1
                                                                              : 0] /
                                              2);
    else if (protocol == Protocol::LL128)
      reached = bandwidth * (nodes == 1 ? 7.0 / 9 : 0.915);
    double seconds = latency + call.bytes / reached + (protocol == Protocol::Simple ? ramp() : 0);
    takeFaster(best, {seconds, "tree", nameOf(protocol)});
  }
  return best;
}

// NVLS: each rank sends its part once to the switch and receives the sum once.
CollectiveChoice Nccl::inSwitch() const {
  if (levels.size() > 1 || levels[0].hop == HopClass::Network || levels[0].inNetwork <= 0)
    return {};
  return {ncclLatency.inSwitch + call.bytes / levels[0].inNetwork + ramp(), "NVLink switch",
          nameOf(Protocol::Simple)};
}

// NVLS inside the node and a tree between nodes: one to a parent and at most two children, which
// with two nodes is one message each way.
CollectiveChoice Nccl::inSwitchTree() const {
  if (nodes <= 1 || levels[0].hop == HopClass::Network || levels[0].inNetwork <= 0 ||
      (levels.size() > 1 && levels[1].hop != HopClass::Network))
    return {};
  double share = nodes == 2 ? 1 : nodes == 3 ? 2.0 / 3 : 0.5;
  double seconds = ncclLatency.inSwitch, bandwidth = switchBesideNetwork * levels[0].inNetwork;
  for (const UsedLevel &level : levels.drop_front()) {
    bandwidth = std::min(bandwidth, level.ring * level.inside * share);
    seconds += 2 * std::ceil(std::log2(level.ranks)) * hop(level, Protocol::Simple, true);
  }
  return {seconds + call.bytes / bandwidth + ramp(), "NVLink switch and tree",
          nameOf(Protocol::Simple)};
}

// The network's outermost switches reduce (SHARP): reduce-scatter inside, each rank sends its part
// once and receives the sum once, all-gather inside.
CollectiveChoice Nccl::networkReduction() const {
  const UsedLevel &last = levels.back();
  if (last.hop != HopClass::Network || last.inNetwork <= 0)
    return {};
  double seconds = ncclLatency.ringBase[2] + 2 * hop(last, Protocol::Simple, true) +
                   call.bytes / last.inside / last.inNetwork;
  for (const UsedLevel &level : levels.drop_back())
    seconds += 2 * (level.lapHops * hop(level, Protocol::Simple, false) +
                    call.bytes / level.inside * (level.ranks - 1) / level.ranks / level.ring);
  return {seconds + ramp(), "network switch", nameOf(Protocol::Simple)};
}

CollectiveChoice Nccl::allReduce() const {
  CollectiveChoice best = ring(2);
  for (const CollectiveChoice &other : {tree(), inSwitch(), inSwitchTree(), networkReduction()})
    takeFaster(best, other);
  return best;
}

CollectiveChoice Nccl::allGather() const {
  CollectiveChoice best = ring(1);
  // PAT: distances double with each step; NCCL has it for one rank a node.
  if (levels[0].hop == HopClass::Network) {
    double seconds =
        ncclLatency.ringBase[2] + ramp() + call.bytes * (ranks - 1) / ranks / (0.75 * bus);
    for (const UsedLevel &level : levels)
      seconds += std::ceil(std::log2(level.ranks)) * hop(level, Protocol::Simple, false);
    takeFaster(best, {seconds, "doubling distances", nameOf(Protocol::Simple)});
  }
  return best;
}

// A ring in which the chunks follow each other.
CollectiveChoice Nccl::broadcast() const {
  CollectiveChoice best;
  for (Protocol protocol : protocols)
    if (isEnabled(protocol))
      takeFaster(best,
                 {ncclLatency.ringBase[static_cast<size_t>(protocol)] + lap(protocol) +
                      call.bytes / ringBus(protocol) + (protocol == Protocol::Simple ? ramp() : 0),
                  "ring", nameOf(protocol)});
  return best;
}

// Pairs of sends and receives, 16 peers at a time.
CollectiveChoice Nccl::allToAll() const {
  constexpr double peersAtOnce = 16;
  double latency = ncclLatency.ringBase[2];
  for (const UsedLevel &level : levels)
    latency += std::ceil(level.inside * (level.ranks - 1) / peersAtOnce) *
               hop(level, Protocol::Simple, false);
  return {latency + allToAllTransfer(call.bytes, levels), "pairs", nameOf(Protocol::Simple)};
}

// Some pair of neighbours is joined by the outermost level only.
CollectiveChoice Nccl::sendReceive() const {
  const UsedLevel &last = levels.back();
  return {ncclLatency.ringBase[2] + hop(last, Protocol::Simple, false) + call.bytes / last.pair,
          "pair", nameOf(Protocol::Simple)};
}

} // namespace

double ringBandwidth(llvm::ArrayRef<UsedLevel> levels) {
  double least = std::numeric_limits<double>::infinity();
  for (const UsedLevel &level : levels)
    least = std::min(least, level.ring * level.inside);
  return least;
}

double allToAllTransfer(double bytes, llvm::ArrayRef<UsedLevel> levels) {
  double size = 1, slowest = 0;
  for (const UsedLevel &level : levels)
    size *= level.ranks;
  // The innermost level's bytes include messages that a neighbour on the receiver's rail forwards:
  // the level counts all bytes that leave a device.
  for (const UsedLevel &level : levels)
    slowest = std::max(slowest, bytes * (size - level.inside) / size / level.spread);
  return slowest;
}

CollectiveChoice ncclChoice(CollectiveKind kind, const NcclCall &call,
                            llvm::ArrayRef<UsedLevel> levels) {
  Nccl nccl(call, levels);
  switch (kind) {
  case CollectiveKind::AllReduce:
    return nccl.allReduce();
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    return nccl.allGather();
  case CollectiveKind::AllToAll:
    return nccl.allToAll();
  case CollectiveKind::Broadcast:
    return nccl.broadcast();
  case CollectiveKind::SendRecv:
    return nccl.sendReceive();
  }
  return {};
}

} // namespace dtc
