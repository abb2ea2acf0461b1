#include "compiler/describe/topology/LoadTopology.h"

#include "compiler/describe/topology/ParseDescription.h"
#include "compiler/describe/topology/Resolve.h"
#include "compiler/describe/topology/TopologyCatalogue.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

namespace dtc {

Result<Topology> parseTopology(llvm::StringRef text, const std::string &path, int64_t nodes,
                               int64_t devices) {
  Result<SystemDescription> system = parseDescription(text, path);
  if (!system)
    return system.error();
  Result<Topology> topology = resolve(*system, nodes, devices);
  if (!topology)
    return topology;
  // Includes the device's figures, because those of 'cpu' are the machine's.
  const DeviceKind &device = topology->device;
  topology->fingerprint = llvm::formatv("{0:x-} {1} {2} {3}", llvm::xxh3_64bits(text), device.name,
                                        device.memoryBytes, device.computeUnits);
  return topology;
}

std::vector<std::string> catalogueNames() { return namesOf(topologyCatalogue()); }

Result<Topology> loadTopology(const std::string &nameOrFile, int64_t nodes, int64_t devices) {
  Result<NamedText> file = openNamed(topologyCatalogue(), nameOrFile, "a topology");
  if (!file)
    return file.error();
  return parseTopology(file->text, file->path, nodes, devices);
}

} // namespace dtc
