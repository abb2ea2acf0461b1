// A topology file as written, before the number of nodes and devices is decided. Internal to this
// folder.
#pragma once

#include "compiler/describe/topology/Topology.h"

namespace dtc {

// The link between two parts, by their names. If both names are empty, it is the link between all
// parts that no other link joins.
struct PartLinkDescription {
  std::string first, second;
  LinkLevel link;
};

// Links of some nodes that are slower than those of their level, because of a degraded cable or an
// older adapter.
struct SlowLinkDescription {
  std::string level;
  std::vector<int64_t> nodes; // ascending, from 0
  double bandwidth = 0, latency = 0;
};

// The content of a topology file. For class "cpu" the sizes, rates and bandwidths are those of a
// whole node, which its processes share.
struct SystemDescription {
  std::string name, description;
  int64_t nodes = 1;
  int64_t devicesPerNode =
      1; // gpu: devices per node; cpu: processes per node unless the request differs
  DeviceKind device;
  std::vector<LinkLevel>
      // groupSize 0: as many as there are (innermost of a cpu node, or outermost); dims of a torus
      // are all 0 if only their number is decided
      levels;
  std::vector<SlowLinkDescription> slowLinks;
  // A heterogeneous system has these in place of a device and levels.
  std::vector<SystemDescription> parts;
  std::vector<PartLinkDescription> partLinks;
};

} // namespace dtc
