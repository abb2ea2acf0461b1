// Constants of collectives: what they reach of a link, and what they wait for. In one table, each
// with its source.
#pragma once

#include "compiler/topology/Topology.h"

namespace dtc {

// What is reached of a link's bandwidth with large messages.
struct LinkReach {
  double ring;      // in a ring, or all to all
  double pair;      // from one device to one other
  double inNetwork; // where the switch reduces
};

LinkReach reachOf(LinkKind kind, const DeviceKind &device);

// A ring of n devices on NVLink reaches 1 - pairLoss / n of that: few devices have few channels.
// Normalised to 1 at 8.
double smallRing(double ranks);

// What a tree over nodes, up and down at the same time, reaches of the network in an all-reduce: a
// node has a parent and up to two children; of two nodes each has one of both.
double treeShare(double nodes);
// What the switches inside nodes reach of their bandwidth while a tree joins the nodes.
constexpr double switchBesideNetwork = 0.9; // [coreweave] 235, [tests-309] 250 of 272 GB/s

// What a kind of device adds to each collective.
struct CollectiveConstants {
  llvm::StringRef prefix; // of DeviceKind::name; "": any device of the class
  double start;           // seconds before the first byte
  double ramp; // seconds that 8 MiB lose to the filling of the pipeline; more bytes: ^ rampPower
  std::array<double, 3> llLimit; // bytes/s of bus bandwidth of NCCL's LL on 1, 2 and more nodes
};

const CollectiveConstants &collectiveConstantsOf(const DeviceKind &device);
constexpr double rampPower = 0.4;

// NCCL's protocols: flags with each 8 bytes, with each 128, or once a chunk.
enum class Protocol { LL, LL128, Simple };
constexpr int numProtocols = 3;
// A link of a node's inside that is fast or slow, or between nodes, as NCCL tells them apart.
enum class HopClass { NvLink, Pcie, Network };

HopClass hopClassOf(LinkKind kind);

// Seconds of NCCL's algorithms: before the first hop, and of a hop beyond LL's, which the topology
// file says.
struct NcclLatency {
  std::array<double, numProtocols> ringBase, treeBase;
  std::array<std::array<double, numProtocols>, 3> ringHop, treeHop; // by HopClass
  double inSwitch;                                                  // all-reduce through the switch
};
extern const NcclLatency ncclLatency;

} // namespace dtc
