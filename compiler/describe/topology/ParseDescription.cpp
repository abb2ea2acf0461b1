// Converts topology files from TOML to a description and back.
#include "compiler/describe/topology/ParseDescription.h"

#include "compiler/describe/topology/CalibrationReader.h"
#include "compiler/describe/topology/Description.h"
#include "compiler/describe/topology/LevelReader.h"
#include "compiler/describe/topology/SystemReader.h"
#include "compiler/describe/topology/TopologyCatalogue.h"

namespace dtc {
namespace {

constexpr int64_t maxCount = int64_t(1) << 20; // devices
constexpr llvm::StringRef rootKeys[] = {"name",       "description", "nodes", "devices_per_node",
                                        "device",     "host",        "level", "slow_link",
                                        "calibration"};
constexpr llvm::StringRef fileKeys[] = {"name",   "description", "nodes",      "devices_per_node",
                                        "device", "host",        "level",      "slow_link",
                                        "part",   "link",        "calibration"};
constexpr llvm::StringRef mixedKeys[] = {"name", "description", "part", "link"};
constexpr llvm::StringRef catalogueKeys[] = {"name", "system", "nodes", "slow_link"};

// Reads a whole file: one system, or the parts of a heterogeneous one and the links between them.
class FileReader {
public:
  explicit FileReader(const std::string &path) { errors.path = path; }

  Result<SystemDescription> read(const toml::table &root) {
    if (!TableReader::has(root, "part")) {
      if (TableReader::has(root, "link"))
        errors.set(TableReader::locationOf(root, "link"),
                   "[[link]] joins parts, but there are none",
                   "write a [[part]] for each kind of node, or [[level]] for a level of links");
      system = readSystem(root, "the file", fileKeys, errors);
    } else {
      readMixed(root);
    }
    if (errors.error)
      return *errors.error;
    return system;
  }

private:
  void readMixed(const toml::table &root);
  void readPart(const toml::table &table, size_t index);
  SystemDescription partOfCatalogue(const toml::table &table, const std::string &what);
  void readLinks(TableReader &reader);
  void checkLinks(TableReader &reader);

  SystemDescription system;
  FirstError errors;
};

void FileReader::readMixed(const toml::table &root) {
  for (llvm::StringRef key :
       {"nodes", "devices_per_node", "device", "host", "level", "calibration", "slow_link"})
    if (TableReader::has(root, key))
      errors.set(TableReader::locationOf(root, key),
                 "a file with [[part]] has '" + key.str() + "' in each part, not outside",
                 "move it into the parts it is of");
  TableReader reader(root, "the file", mixedKeys, errors);
  system.name = reader.word("name");
  system.description = reader.word("description", "");
  std::vector<const toml::table *> parts = reader.tables("part");
  if (parts.empty())
    reader.fail("part", "the file has an empty list of parts", "write a [[part]]");
  for (size_t i = 0; i < parts.size(); ++i)
    readPart(*parts[i], i);
  readLinks(reader);
  system.nodes = 0;
  int64_t devices = 0;
  for (const SystemDescription &part : system.parts) {
    system.nodes += part.nodes;
    devices = std::min(maxCount + 1, devices + part.nodes * part.devicesPerNode);
  }
  if (devices > maxCount)
    reader.fail("part", "the parts have more than " + std::to_string(maxCount) + " devices");
  if (!errors.error)
    checkLinks(reader);
}

void FileReader::readPart(const toml::table &table, size_t index) {
  std::string what = "[[part]] " + std::to_string(index + 1);
  SystemDescription part = TableReader::has(table, "system")
                               ? partOfCatalogue(table, what)
                               : readSystem(table, what, rootKeys, errors);
  for (const SystemDescription &other : system.parts)
    if (other.name == part.name)
      errors.set(TableReader::locationOf(table, "name"), "two parts are named '" + part.name + "'",
                 "give each part a name of its own");
  if (part.device.deviceClass == DeviceClass::Cpu)
    errors.set(table.source(), what + " is of class 'cpu', which has no parts",
               "describe the nodes as one system");
  system.parts.push_back(std::move(part));
}

SystemDescription FileReader::partOfCatalogue(const toml::table &table, const std::string &what) {
  TableReader reader(table, what, catalogueKeys, errors);
  std::string name = reader.word("name"), wanted = reader.word("system");
  int64_t nodes = reader.count("nodes", 1, maxCount, 0);
  llvm::StringRef text = catalogueText(wanted);
  if (text.empty()) {
    std::vector<std::string> names = namesOf(topologyCatalogue());
    std::string nearest =
        nearestName(wanted, std::vector<llvm::StringRef>(names.begin(), names.end()));
    reader.fail("system", "'system' of " + what + " is '" + wanted + "', which the catalogue lacks",
                nearest.empty() ? "'dtc topology list' names its systems"
                                : "did you mean '" + nearest + "'?");
    return {};
  }
  Result<SystemDescription> found = parseDescription(text, wanted + ".toml");
  if (!found) {
    errors.set(table.source(), found.error().message, found.error().note);
    return {};
  }
  found->name = name;
  if (nodes)
    found->nodes = nodes;
  if (!errors.error)
    readSlowLinks(reader, what, *found, errors);
  return *found;
}

void FileReader::readLinks(TableReader &reader) {
  std::vector<llvm::StringRef> names;
  for (const SystemDescription &part : system.parts)
    names.push_back(part.name);
  for (const toml::table *table : reader.tables("link")) {
    PartLinkDescription link;
    link.link = readPartLink(*table, names, link.first, link.second, errors);
    for (const PartLinkDescription &other : system.partLinks)
      if ((other.first == link.first && other.second == link.second) ||
          (other.first == link.second && other.second == link.first))
        errors.set(table->source(),
                   link.first.empty()
                       ? "two [[link]] have no 'between'"
                       : "two [[link]] are between '" + link.first + "' and '" + link.second + "'",
                   "leave out either");
    system.partLinks.push_back(std::move(link));
  }
}

// Checks that every two parts are joined.
void FileReader::checkLinks(TableReader &reader) {
  for (size_t i = 0; i < system.parts.size(); ++i)
    for (size_t j = i + 1; j < system.parts.size(); ++j) {
      const std::string &a = system.parts[i].name, &b = system.parts[j].name;
      bool joined = false;
      for (const PartLinkDescription &link : system.partLinks)
        joined = joined || link.first.empty() || (link.first == a && link.second == b) ||
                 (link.first == b && link.second == a);
      if (!joined)
        return reader.fail("part", "no [[link]] joins '" + a + "' and '" + b + "'",
                           "add a [[link]] with between = [\"" + a + "\", \"" + b +
                               "\"], or one without 'between' for all pairs");
    }
}

// Prints the keys of one system, after its name and description. `prefix` is "" or "part.".
void printSystem(const SystemDescription &system, const std::string &prefix,
                 llvm::raw_ostream &out) {
  const DeviceKind &device = system.device;
  out << "nodes = " << system.nodes << "\ndevices_per_node = " << system.devicesPerNode << "\n\n["
      << prefix << "device]\n"
      << "name = " << quoteToml(device.name) << "\n"
      << "class = " << quoteToml(device.deviceClass == DeviceClass::Gpu ? "gpu" : "cpu") << "\n"
      << "memory = "
      << quoteToml(printExact(static_cast<double>(device.memoryBytes), Quantity::Bytes)) << "\n"
      << "memory_bandwidth = "
      << quoteToml(printExact(device.memoryBandwidth, Quantity::BytesPerSecond)) << "\n"
      << "compute_units = " << device.computeUnits << "\n"
      << "launch_latency = " << quoteToml(printExact(device.launchLatency, Quantity::Seconds))
      << "\n";
  if (device.graphLatency > 0)
    out << "graph_latency = " << quoteToml(printExact(device.graphLatency, Quantity::Seconds))
        << "\n";
  out << "\n[" << prefix << "device.peak]\n";
  for (size_t type = 0; type < numComputeTypes; ++type)
    if (device.peakFlops[type] > 0)
      out << nameOf(static_cast<ComputeType>(type)) << " = "
          << quoteToml(printExact(device.peakFlops[type], Quantity::FlopsPerSecond)) << "\n";
  if (const HostShare &host = device.host; host.isKnown())
    out << "\n[" << prefix << "host]\nmemory = "
        << quoteToml(printExact(static_cast<double>(host.memoryBytes), Quantity::Bytes))
        << "\nmemory_bandwidth = "
        << quoteToml(printExact(host.memoryBandwidth, Quantity::BytesPerSecond))
        << "\nlink_bandwidth = "
        << quoteToml(printExact(host.linkBandwidth, Quantity::BytesPerSecond)) << "\n";
  for (const LinkLevel &level : system.levels) {
    out << "\n[[" << prefix << "level]]\nname = " << quoteToml(level.name) << "\n";
    printLevel(level, out);
  }
  for (const SlowLinkDescription &slow : system.slowLinks) {
    out << "\n[[" << prefix << "slow_link]]\n";
    printSlowLink(slow, out);
  }
  if (device.calibration)
    printCalibration(*device.calibration, prefix, out);
}

void printHead(const SystemDescription &system, llvm::raw_ostream &out) {
  out << "name = " << quoteToml(system.name) << "\n";
  if (!system.description.empty())
    out << "description = " << quoteToml(system.description) << "\n";
}

} // namespace

Result<SystemDescription> parseDescription(llvm::StringRef text, const std::string &path) {
  Result<toml::table> root = parseToml(text, path);
  if (!root)
    return root.error();
  return FileReader(path).read(*root);
}

std::string printDescription(const SystemDescription &system) {
  std::string text;
  llvm::raw_string_ostream out(text);
  printHead(system, out);
  if (system.parts.empty())
    printSystem(system, "", out);
  for (const SystemDescription &part : system.parts) {
    out << "\n[[part]]\n";
    printHead(part, out);
    printSystem(part, "part.", out);
  }
  for (const PartLinkDescription &link : system.partLinks) {
    out << "\n[[link]]\n";
    if (!link.first.empty())
      out << "between = [" << quoteToml(link.first) << ", " << quoteToml(link.second) << "]\n";
    LinkLevel level = link.link;
    level.groupSize = 0; // a link joins two parts, so files do not write its group
    printLevel(level, out);
  }
  return text;
}

} // namespace dtc
