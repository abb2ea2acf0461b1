// The table of collective constants. "assumed" marks those without a measurement.
#include "compiler/price/cost/CollectiveConstants.h"

#include <cassert>

namespace dtc {
namespace {

// Sources
// [nccl]   NVIDIA/nccl, src/graph/tuning.cc and topo.h: NCCL's own tables of latency (us) and
//          bandwidth, by which it chooses algorithms and protocols.
// [dgxc]   NVIDIA/dgxc-benchmarking, nccl/README.md: nccl-tests all-reduce on the 8 H100 of a DGX.
// [vtrain] VIA-Research/vTrain, trace/: all-reduce on 2 to 8 A100 and V100, fits of latency and
//          bandwidth.
// [stas]   stas00/ml-engineering, network/benchmarks: all-reduce through PyTorch on 8 A100, H200,
//          B200, 32 B200 over EFA, MI300X; all-gather and reduce-scatter on H200; pairs.
// [auto]   meta-pytorch/autoparallel, its tables of NCCL on H100: all-gather and reduce-scatter.
// [azure]  Azure/AI-benchmarking-guide, Azure_Results: nccl-tests all-reduce on 8 A100, 8 H200 and
//          4 GB200.
// [coreweave] coreweave/nccl-tests, pull request 92: all-reduce on 2 nodes of 8 H100.
// [tests-152] NVIDIA/nccl-tests, issues 152 and 309, and [nccl-527] NVIDIA/nccl, issue 527:
// all-reduce
//          on 2 nodes of 8 A100 with 100 and 50 GB/s a node, and of 8 H100.
// [simai]  aliyun/SimAI, calbusbw.cc: 48.5 GB/s of a 50 GB/s adapter.
constexpr double us = 1e-6;

constexpr CollectiveConstants gpuTable[] = {
    // [vtrain] 23 us and 75 us for 2 and 8 GPUs, of which NCCL's table explains 8 and 15.
    {.prefix = "V100", .start = 25 * us, .ramp = 27 * us, .llLimit = {39e9, 39e9, 20.4e9}},
    // [vtrain] 45 us and 77 us; [stas] 44 us for 32 KiB on 8.
    {.prefix = "A100", .start = 25 * us, .ramp = 27 * us, .llLimit = {87.7e9, 22.5e9, 19e9}},
    // [dgxc] 18 us for 16 KiB; [azure] 31 us, [stas] 40 us for 32 KiB, of which NCCL's table
    // explains 15.
    {.prefix = "H100", .start = 5 * us, .ramp = 27 * us, .llLimit = {141e9, 45e9, 35e9}},
    {.prefix = "H200", .start = 15 * us, .ramp = 27 * us, .llLimit = {141e9, 45e9, 35e9}},
    // [stas] 51 us for 1 MiB on 8.
    {.prefix = "B200", .start = 30 * us, .ramp = 27 * us, .llLimit = {282e9, 90e9, 70e9}},
    {.prefix = "B300", .start = 30 * us, .ramp = 27 * us, .llLimit = {282e9, 90e9, 70e9}},
    // [azure] 15 us for 1 KiB on 4, of which NCCL's table explains 10.
    {.prefix = "GB200", .start = 5 * us, .ramp = 27 * us, .llLimit = {282e9, 90e9, 70e9}},
    {.prefix = "GB300", .start = 5 * us, .ramp = 27 * us, .llLimit = {282e9, 90e9, 70e9}},
    // Compiled into the step: only the first hop is waited for.
    {.prefix = "TPU", .start = 1 * us, .ramp = 0, .llLimit = {}},
    // A GPU without figures of its own: assumed.
    {.prefix = "", .start = 20 * us, .ramp = 27 * us, .llLimit = {87.7e9, 22.5e9, 19e9}},
};

// Assumed: entering an MPI collective on busy cores.
constexpr CollectiveConstants cpuConstants = {
    .prefix = "", .start = 10 * us, .ramp = 0, .llLimit = {}};

LinkReach nvlinkReach(llvm::StringRef device) {
  // [vtrain] 135.9 of 150 GB/s in rings of 8.
  if (device.starts_with("V100"))
    return {0.906, 0.90, 0};
  // [vtrain] 227 of 300; [stas] 274 for a pair.
  if (device.starts_with("A100"))
    return {0.757, 0.913, 0};
  // [stas] 363 of 450 in rings, 376 for a pair; [dgxc] 480 GB/s of bus bandwidth x 8 / 14 = 274 of
  // 450 through the switch; [stas] 259 to 270.
  if (device.starts_with("H100") || device.starts_with("H200"))
    return {0.807, 0.836, 0.605};
  // [stas] 673 to 682 of 900, 746 for a pair, 479 through the switch.
  if (device.starts_with("B200") || device.starts_with("B300") || device.starts_with("GB"))
    return {0.753, 0.829, 0.535};
  return {0.757, 0.85, 0.55}; // assumed: between A100 and B200
}

} // namespace

LinkReach reachOf(LinkKind kind, const DeviceKind &device) {
  switch (kind) {
  case LinkKind::NvLink:
    return nvlinkReach(device.name);
  case LinkKind::InfinityFabric:
    return {0.70, 0.745, 0}; // [stas] MI300X: 312.9 of 448 for 8, 47.7 of 64 for 2
  case LinkKind::Ici:
    return {0.95, 0.95, 0}; // assumed
  case LinkKind::Pcie:
    return {0.80, 0.85, 0}; // assumed: packet overhead and two crossings of the root complex
  case LinkKind::InfiniBand:
    // [azure]     Azure/AI-benchmarking-guide, Azure_Results: nccl-tests all-reduce on 8 A100,
    //             8 H200 and 4 GB200.
    // [coreweave] coreweave/nccl-tests, pull request 92: all-reduce on 2 nodes of 8 H100.
    // [tests-152] NVIDIA/nccl-tests, issues 152 and 309, and [nccl-527] NVIDIA/nccl, issue 527:
    //             all-reduce on 2 nodes of 8 A100 with 100 and 50 GB/s a node, and of 8 H100.
    // [simai]; SHARP assumed
    return {0.97, 0.97, 0.90};
  case LinkKind::Efa:
    return {0.955, 0.90, 0}; // [stas] 382 of 400 GB/s a node of 8 B200; pairs assumed
  case LinkKind::Ethernet:
    return {0.90, 0.90, 0.90}; // assumed: headers and congestion control
  case LinkKind::SharedMemory:
    return {1.0, 1.0, 1.0}; // copies are counted in the discovered bandwidth
  }
  assert(false && "all kinds are listed");
  return {1, 1, 1};
}

double smallRing(double ranks) {
  // [vtrain] A100: 192.9, 209.6, 218.3, 222.3, 224.4, 226.1 and 227.3 GB/s for 2 to 8; [auto] H100:
  // 268, 325 and 345 GB/s for 2, 4 and 8.
  constexpr double pairLoss = 0.383;
  return (1 - pairLoss / ranks) / (1 - pairLoss / 8);
}

double treeShare(double nodes) {
  // [nccl-527] 30.5 of 50 GB/s, [tests-152] 47.7 of 100 GB/s; their mean.
  return nodes == 2 ? 0.55 : 0.5;
}

const CollectiveConstants &collectiveConstantsOf(const DeviceKind &device) {
  if (device.deviceClass == DeviceClass::Cpu)
    return cpuConstants;
  for (const CollectiveConstants &entry : gpuTable)
    if (llvm::StringRef(device.name).starts_with(entry.prefix))
      return entry;
  return gpuTable[std::size(gpuTable) - 1];
}

HopClass hopClassOf(LinkKind kind) {
  switch (kind) {
  case LinkKind::NvLink:
  case LinkKind::InfinityFabric:
  case LinkKind::Ici:
    return HopClass::NvLink;
  case LinkKind::Pcie:
  case LinkKind::SharedMemory:
    return HopClass::Pcie;
  case LinkKind::InfiniBand:
  case LinkKind::Efa:
  case LinkKind::Ethernet:
    return HopClass::Network;
  }
  return HopClass::Network;
}

// [nccl] The table's hops less those of LL in a ring: 0.6 us on NVLink, 1.0 on PCIe, 2.7 between
// nodes.
const NcclLatency ncclLatency = {
    .ringBase = {6.6 * us, 14 * us, 8.4 * us},
    .treeBase = {6.8 * us, 14 * us, 8.4 * us},
    .ringHop = {{{0, 1.3 * us, 2.8 * us}, {0, 1.5 * us, 4.7 * us}, {0, 1.3 * us, 11.3 * us}}},
    .treeHop = {{{0, 0.65 * us, 3.4 * us},
                 {0, 0.9 * us, 3.0 * us},
                 {2.3 * us, 5.8 * us, 11.3 * us}}},
    // [dgxc], [azure] 42 and 41 us for 2 MiB, 124 and 122 us for 16 MiB; NCCL's table has 25.
    .inSwitch = 15 * us};

} // namespace dtc
