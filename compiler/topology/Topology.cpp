// Loading a topology by name or file.
#include "compiler/topology/Topology.h"

#include "compiler/support/File.h"
#include "compiler/topology/Description.h"

#include "llvm/Support/FileSystem.h"

#include <algorithm>

namespace dtc {

int64_t Topology::devicesWithin(size_t level) const {
  int64_t devices = 1;
  for (size_t i = 0; i <= level && i < levels.size(); ++i)
    devices *= levels[i].groupSize;
  return devices;
}

Result<Topology> parseTopology(llvm::StringRef text, const std::string &path, int64_t nodes,
                               int64_t devices) {
  Result<SystemDescription> system = parseDescription(text, path);
  if (!system)
    return system.error();
  return resolve(*system, nodes, devices);
}

Result<Topology> loadTopology(const std::string &nameOrFile, int64_t nodes, int64_t devices) {
  llvm::StringRef text = catalogueText(nameOrFile);
  if (!text.empty())
    return parseTopology(text, nameOrFile + ".toml", nodes, devices);
  llvm::StringRef name = nameOrFile;
  if (!name.contains('/') && !name.ends_with(".toml") && !llvm::sys::fs::exists(name)) {
    std::vector<std::string> names = catalogueNames();
    std::vector<llvm::StringRef> known(names.begin(), names.end());
    std::string nearest = nearestName(name, known), list;
    for (const std::string &each : names)
      list += (list.empty() ? "" : ", ") + each;
    return UserError("'" + nameOrFile + "' is neither a topology of the catalogue nor a file",
                     (nearest.empty() ? "" : "did you mean '" + nearest + "'? ") +
                         "the catalogue has " + list);
  }
  Result<std::string> contents = readFile(nameOrFile, int64_t(16) << 20);
  if (!contents)
    return contents.error();
  return parseTopology(*contents, nameOrFile, nodes, devices);
}

} // namespace dtc
