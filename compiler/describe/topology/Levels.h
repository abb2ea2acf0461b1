// The levels of links that join the devices of a system.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dtc {

// The technology of a link.
enum class LinkKind {
  NvLink,
  InfinityFabric, // AMD's links between GPUs
  Ici,            // a TPU's links to its neighbours
  Pcie,
  InfiniBand,
  Efa, // AWS's adapters: Ethernet with a reliable datagram protocol of their own
  Ethernet,
  SharedMemory
};

// "nvlink", "xgmi", "ici", "pcie", "ib", "efa", "ethernet", "shm"
llvm::StringRef nameOf(LinkKind kind);

// The shape of a level: how it joins its groups, and so the meaning of `LinkLevel::bandwidth`.
enum class LinkShape {
  Switch,     // all reach each other at the bandwidth: an NVSwitch, a tier of a fat tree
  HostBridge, // one bridge that the whole level shares: a PCIe box
  Direct,     // a link between each two groups; the bandwidth is the sum of a device's links
  Torus,      // neighbours along each axis; the bandwidth is that of one link in one direction
  Rail,       // a leaf switch per position in the node: equal positions stay on their leaf
  Dragonfly   // links between each two groups, which traffic may also reach through a third
};

llvm::StringRef nameOf(LinkShape shape); // "switch", "host-bridge", "direct", "torus", "rail", ...

// One level of the hierarchy. It joins `groupSize` devices (innermost level) or groups of the level
// below. Bandwidth is per device and direction while all devices of the level communicate, so a
// link that several devices share is divided among them: one 200 Gbit/s adapter for 8 devices is
// 3.125 GB/s.
struct LinkLevel {
  std::string name;
  LinkKind kind = LinkKind::Ethernet;
  LinkShape shape = LinkShape::Switch;
  int64_t groupSize = 1;
  double bandwidth = 0; // bytes/s
  double latency = 0;   // seconds per hop of a small message
  bool inNetworkReduction = false;
  double oversubscription =
      1; // for a switched fabric; the bandwidth across it is bandwidth / oversubscription

  double sharedBandwidth = 0; // host-bridge: bytes/s of the bridge, for all traffic across it
  // direct, may be empty: bytes/s of a device within the first 2, 3, .. groups
  std::vector<double> subsetBandwidth;
  std::vector<int64_t>
      dims;             // torus: sizes of the axes, innermost first; their product is groupSize
  int64_t wrapFrom = 3; // torus: the shortest axis whose ends are joined; 0 for none
  // rail: oversubscription of the way between rails over the spine; 0: traffic changes rails inside
  // the node
  double crossRail = 0;

  // Returns the bytes/s of one device while all communicate, or for a torus of one link.
  double effectiveBandwidth() const { return bandwidth / oversubscription; }
};

// The names of kinds and shapes in topology files, in their order.
inline constexpr llvm::StringRef kLinkNames[] = {"nvlink", "xgmi", "ici",      "pcie",
                                                 "ib",     "efa",  "ethernet", "shm"};
inline constexpr llvm::StringRef kShapeNames[] = {"switch", "host-bridge", "direct",
                                                  "torus",  "rail",        "dragonfly"};

// Fits a level to the `count` groups that it joins. Returns false if they do not fill its torus.
bool fitLevel(LinkLevel &level, int64_t count);

// Lowers a level to the worst of its figures and those of another.
void takeWorst(LinkLevel &level, const LinkLevel &other);
// Lowers all levels of one system to the worst of their figures and those of others.
void takeWorst(std::vector<LinkLevel> &levels, llvm::ArrayRef<LinkLevel> others);

} // namespace dtc
