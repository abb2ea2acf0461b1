// A topology file as written, before the number of nodes and devices is decided. Internal to this
// folder.
#pragma once

#include "compiler/describe/topology/Topology.h"
#include "compiler/support/Catalogue.h"

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

// Reads TOML. For class "cpu", values "discover" are filled in from this machine. Errors: text that
// is not TOML, or a value that is not valid, with its place.
Result<SystemDescription> parseDescription(llvm::StringRef text, const std::string &path);

// Prints TOML that parseDescription reads back to the same description.
std::string printDescription(const SystemDescription &system);

// Decides the numbers of nodes and devices. 0 takes the number of the description. Errors: numbers
// that the levels cannot be divided into.
Result<Topology> resolve(const SystemDescription &system, int64_t nodes, int64_t devices);

// Same as resolve, for a system with parts. Takes nodes and devices from the parts in their order.
Result<Topology> resolveParts(const SystemDescription &system, int64_t nodes, int64_t devices);

// Fits a level to the `count` groups that it joins. Returns false if they do not fill its torus.
bool fitLevel(LinkLevel &level, int64_t count);

// Fills in the groups of a homogeneous topology, and lowers its levels to its slow links.
void addGroups(const SystemDescription &system, Topology &topology);
// Fills in the figures that a whole system gets from its parts: counts, groups, and a device and
// level that are nowhere better than those of a part.
void summarizeParts(Topology &whole);

// Returns a count with its noun. Example: plural(2, "node") is "2 nodes".
std::string plural(int64_t count, const char *noun);

// Returns the files of topologies/, which CMake compiles in.
Catalogue topologyCatalogue();

// Returns the text of a catalogue file, or "" if there is none of that name.
llvm::StringRef catalogueText(llvm::StringRef name);

} // namespace dtc
