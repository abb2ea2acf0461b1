// Resolves the parts of a heterogeneous system: their counts, and the links between them.
#include "compiler/describe/topology/Description.h"

#include <algorithm>

namespace dtc {
namespace {

// Returns the link of two parts: their own, or else the one for all pairs.
LinkLevel linkOf(const SystemDescription &system, llvm::StringRef a, llvm::StringRef b) {
  const LinkLevel *any = nullptr;
  for (const PartLinkDescription &link : system.partLinks) {
    if ((link.first == a && link.second == b) || (link.first == b && link.second == a))
      return link.link;
    if (link.first.empty())
      any = &link.link;
  }
  assert(any && "every two parts are joined, which the reader checked");
  return *any;
}

} // namespace

Result<Topology> resolveParts(const SystemDescription &system, int64_t nodes, int64_t devices) {
  Topology whole;
  whole.name = system.name;
  whole.description = system.description;
  int64_t nodesLeft = nodes, devicesLeft = devices, total = 0;
  std::vector<size_t> indices; // positions in the description
  for (size_t i = 0; i < system.parts.size(); ++i) {
    const SystemDescription &part = system.parts[i];
    total += part.nodes * part.devicesPerNode;
    int64_t partNodes = nodes ? std::min(nodesLeft, part.nodes) : part.nodes;
    int64_t partDevices = devices ? std::min(devicesLeft, partNodes * part.devicesPerNode) : 0;
    if (!partNodes || (devices && !partDevices))
      continue;
    Result<Topology> resolved = resolve(part, partNodes, partDevices);
    if (!resolved)
      return resolved.error();
    nodesLeft -= partNodes;
    devicesLeft -= partDevices;
    whole.parts.push_back(std::move(*resolved));
    indices.push_back(i);
  }
  if (nodesLeft > 0)
    return UserError("'" + system.name + "' has " + plural(system.nodes, "node") + ", but " +
                         std::to_string(nodes) + " are asked for",
                     "nearest feasible: --nodes " + std::to_string(system.nodes) +
                         ", or more 'nodes' in a [[part]] of the file");
  if (devicesLeft > 0)
    return UserError("'" + system.name + "' has " + plural(total, "device") + " in " +
                         plural(nodes ? nodes : system.nodes, "node") + ", but " +
                         std::to_string(devices) + " are asked for",
                     "nearest feasible: --devices " + std::to_string(devices - devicesLeft));
  if (whole.parts.size() == 1)
    return whole.parts.front();
  for (size_t a = 0; a < indices.size(); ++a)
    for (size_t b = a + 1; b < indices.size(); ++b)
      whole.partLinks.push_back(
          {a, b, linkOf(system, system.parts[indices[a]].name, system.parts[indices[b]].name)});
  summarizeParts(whole);
  return whole;
}

} // namespace dtc
