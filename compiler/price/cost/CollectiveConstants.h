// Constants of collectives: what they reach of a link, and what they wait for. In one table, each
// with its source.
#pragma once

#include "compiler/describe/topology/Topology.h"

namespace dtc {

// The share of a link's bandwidth that large messages reach.
struct LinkReach {
  double ring;      // in a ring, or all to all
  double pair;      // transfers between two devices
  double inNetwork; // reductions by the switch
};

// Returns the shares for a kind of link and device.
LinkReach reachOf(LinkKind kind, const DeviceKind &device);

// A ring of n devices on NVLink reaches 1 - pairLoss / n of that: few devices have few channels.
// Normalised to 1 at 8.
double smallRing(double ranks);

// Returns the share of the network that a double tree over nodes reaches in an all-reduce: a node
// has a parent and up to two children; of two nodes, each has one of both.
double treeShare(double nodes);
// Share of the bandwidth that switches inside nodes reach while a tree joins the nodes.
constexpr double switchBesideNetwork = 0.9; // [coreweave] 235, [tests-309] 250 of 272 GB/s

// The overheads of a kind of device in each collective.
struct CollectiveConstants {
  llvm::StringRef prefix; // prefix of DeviceKind::name; "": any device of the class
  double start;           // seconds before the first byte
  double ramp; // seconds that 8 MiB lose to the filling of the pipeline; more bytes: ^ rampPower
  std::array<double, 3> llLimit; // bytes/s of bus bandwidth of NCCL's LL on 1, 2 and more nodes
};

// Returns the constants of the first entry whose prefix matches the device's name.
const CollectiveConstants &collectiveConstantsOf(const DeviceKind &device);
constexpr double rampPower = 0.4;

// NCCL's protocols: flags with each 8 bytes, with each 128, or once a chunk.
enum class Protocol { LL, LL128, Simple };
constexpr int numProtocols = 3;
// A link of a node's inside that is fast or slow, or between nodes, as NCCL tells them apart.
enum class HopClass { NvLink, Pcie, Network };

// Returns the class of a kind of link.
HopClass hopClassOf(LinkKind kind);

// Seconds of NCCL's algorithms: before the first hop, and of a hop beyond LL's, which the topology
// file says.
struct NcclLatency {
  std::array<double, numProtocols> ringBase, treeBase;
  std::array<std::array<double, numProtocols>, 3> ringHop, treeHop; // indexed by HopClass
  double inSwitch;                                                  // all-reduce through the switch
};
extern const NcclLatency ncclLatency;

} // namespace dtc
