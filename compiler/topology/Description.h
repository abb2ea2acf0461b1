// A topology file as it is written, before the number of nodes and devices is decided. Internal to
// this folder.
#pragma once

#include "compiler/topology/Topology.h"

namespace dtc {

// The link between two parts, by their names; both empty: between all that no other link joins.
struct PartLinkDescription {
  std::string first, second;
  LinkLevel link;
};

// Links of some nodes that are slower than their level's: a degraded cable, an older adapter.
struct SlowLinkDescription {
  std::string level;
  std::vector<int64_t> nodes; // ascending, from 0
  double bandwidth = 0, latency = 0;
};

// For class "cpu" the sizes, rates and bandwidths are those of a whole node, which its processes
// share.
struct SystemDescription {
  std::string name, description;
  int64_t nodes = 1;
  int64_t devicesPerNode =
      1; // gpu: what a node has; cpu: processes a node unless the request says otherwise
  DeviceKind device;
  std::vector<LinkLevel>
      levels; // groupSize 0: as many as there are (innermost of a cpu node, or outermost); dims of
              // a torus are all 0 where only their number is decided
  std::vector<SlowLinkDescription> slowLinks;
  // A heterogeneous system has these instead of a device and levels.
  std::vector<SystemDescription> parts;
  std::vector<PartLinkDescription> partLinks;
};

// Reads TOML. Values "discover" of class "cpu" are filled in from this machine.
Result<SystemDescription> parseDescription(llvm::StringRef text, const std::string &path);

// TOML that parseDescription reads back to the same description.
std::string printDescription(const SystemDescription &system);

// Decides the numbers of nodes and devices; 0: as in the description.
Result<Topology> resolve(const SystemDescription &system, int64_t nodes, int64_t devices);

// The same of a system with parts. Takes nodes and devices from the parts in their order.
Result<Topology> resolveParts(const SystemDescription &system, int64_t nodes, int64_t devices);

// Fits a level to the groups that it joins, `count` of them. False: they do not fill its torus.
bool fitLevel(LinkLevel &level, int64_t count);

// Fills in the groups of a homogeneous topology, and lowers its levels to its slow links.
void addGroups(const SystemDescription &system, Topology &topology);
// Fills in what a whole has from its parts: counts, groups, and the device and level that are
// nowhere better than those of a part.
void summarizeParts(Topology &whole);

// Example: plural(2, "node") is "2 nodes".
std::string plural(int64_t count, const char *noun);

// The text of a catalogue file, or "" where there is none of that name.
llvm::StringRef catalogueText(llvm::StringRef name);

} // namespace dtc
