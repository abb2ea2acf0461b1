// Topology files: TOML to a description and back.
#include "compiler/topology/Description.h"

#include "compiler/topology/CalibrationReader.h"
#include "compiler/topology/LevelReader.h"
#include "compiler/topology/Machine.h"

#include <cmath>

namespace dtc {
namespace {

constexpr int64_t maxCount = int64_t(1) << 20; // nodes, devices a node, groups of a level
constexpr size_t maxSlowLinks = 1024;
constexpr llvm::StringRef rootKeys[] = {"name",   "description", "nodes",     "devices_per_node",
                                        "device", "level",       "slow_link", "calibration"};
constexpr llvm::StringRef fileKeys[] = {"name",   "description", "nodes",     "devices_per_node",
                                        "device", "level",       "slow_link", "part",
                                        "link",   "calibration"};
constexpr llvm::StringRef mixedKeys[] = {"name", "description", "part", "link"};
constexpr llvm::StringRef catalogueKeys[] = {"name", "system", "nodes", "slow_link"};
constexpr llvm::StringRef deviceKeys[] = {
    "name", "class", "memory", "memory_bandwidth", "compute_units", "launch_latency", "peak"};
constexpr llvm::StringRef classNames[] = {"cpu", "gpu"};
constexpr llvm::StringRef typeNames[] = {"f32", "tf32", "bf16", "f16", "fp8"};

// Reads every [[slow_link]] of the table, which is of a system with its levels.
void readSlowLinks(TableReader &reader, const std::string &what, SystemDescription &system,
                   FirstError &errors) {
  std::vector<const toml::table *> tables = reader.tables("slow_link");
  if (tables.size() > maxSlowLinks)
    return reader.fail("slow_link",
                       what + " has " + std::to_string(tables.size()) + " [[slow_link]], wanted " +
                           std::to_string(maxSlowLinks) + " at most",
                       "list all nodes with the same figures in one");
  for (size_t i = 0; i < tables.size() && !errors.error; ++i)
    system.slowLinks.push_back(
        readSlowLink(*tables[i], "[[slow_link]] " + std::to_string(i + 1), system, errors));
}

// Reads one system of one kind of device; this machine is asked at most once, and only where the
// file wants it.
class DescriptionReader {
public:
  explicit DescriptionReader(FirstError &errors) : errors(errors) {}

  // `what` is the file, or the part of it.
  SystemDescription read(const toml::table &root, const std::string &what,
                         llvm::ArrayRef<llvm::StringRef> known);

private:
  void readDevice(const toml::table &table);
  void readPeak(const toml::table &table);
  void readLevels(TableReader &reader);
  void checkGroups(TableReader &reader);
  void readCurves(TableReader &reader);

  const Machine &machine() {
    if (!discovered)
      discovered = discoverMachine();
    return *discovered;
  }
  // Whether `key` is "discover"; an error for a device that is not this machine.
  bool discover(TableReader &reader, llvm::StringRef key) {
    if (!reader.isDiscover(key))
      return false;
    if (system.device.deviceClass != DeviceClass::Cpu)
      reader.fail(key, "'" + key.str() + "' cannot be discovered for class 'gpu'",
                  "write the figure with its unit");
    return true;
  }

  SystemDescription system;
  FirstError &errors;
  std::optional<Machine> discovered;
};

SystemDescription DescriptionReader::read(const toml::table &root, const std::string &what,
                                          llvm::ArrayRef<llvm::StringRef> known) {
  TableReader reader(root, what, known, errors);
  system.name = reader.word("name");
  system.description = reader.word("description", "");
  system.nodes = reader.count("nodes", 1, maxCount, 1);
  if (const toml::table *device = reader.table("device"))
    readDevice(*device);
  bool isCpu = system.device.deviceClass == DeviceClass::Cpu;
  system.devicesPerNode = reader.count("devices_per_node", 1, maxCount,
                                       isCpu ? std::optional<int64_t>(1) : std::nullopt);
  readLevels(reader);
  if (!errors.error)
    checkGroups(reader);
  if (!errors.error)
    readSlowLinks(reader, what, system, errors);
  if (!errors.error && reader.has("calibration"))
    readCurves(reader);
  return system;
}

void DescriptionReader::readCurves(TableReader &reader) {
  const toml::table *table = reader.table("calibration");
  if (!table)
    return;
  system.device.calibration = readCalibration(*table, system.device, system.levels, errors);
  system.device.launchLatency =
      launchLatencyOf(*system.device.calibration, system.device.computeUnits);
}

void DescriptionReader::readDevice(const toml::table &table) {
  TableReader reader(table, "[device]", deviceKeys, errors);
  DeviceKind &device = system.device;
  device.deviceClass =
      reader.choice("class", classNames) == 0 ? DeviceClass::Cpu : DeviceClass::Gpu;
  device.name = discover(reader, "name") ? machine().processor : reader.word("name");
  if (discover(reader, "memory")) {
    device.memoryBytes = machine().memoryBytes;
  } else {
    double bytes = reader.quantity("memory", Quantity::Bytes);
    if (bytes != std::floor(bytes) || bytes >= std::ldexp(1.0, 62))
      reader.fail("memory", "'memory' of [device] is not a whole number of bytes below 4096 PiB");
    else
      device.memoryBytes = static_cast<int64_t>(bytes);
  }
  device.memoryBandwidth = discover(reader, "memory_bandwidth")
                               ? machine().memoryBandwidth
                               : reader.quantity("memory_bandwidth", Quantity::BytesPerSecond);
  device.computeUnits = discover(reader, "compute_units")
                            ? machine().cores
                            : reader.count("compute_units", 1, maxCount);
  device.launchLatency = reader.quantity("launch_latency", Quantity::Seconds, /*zeroAllowed=*/true);
  if (const toml::table *peak = reader.table("peak"))
    readPeak(*peak);
}

void DescriptionReader::readPeak(const toml::table &table) {
  TableReader reader(table, "[device.peak]", typeNames, errors);
  for (size_t type = 0; type < numComputeTypes; ++type)
    if (reader.has(typeNames[type]))
      system.device.peakFlops[type] =
          discover(reader, typeNames[type])
              ? machine().peakFlops()
              : reader.quantity(typeNames[type], Quantity::FlopsPerSecond);
  if (!reader.has("f32"))
    reader.fail("f32", "[device.peak] has no 'f32'",
                "every device computes in f32; other types are optional");
}

void DescriptionReader::readLevels(TableReader &reader) {
  bool isCpu = system.device.deviceClass == DeviceClass::Cpu;
  std::vector<const toml::table *> levels = reader.tables("level");
  for (size_t i = 0; i < levels.size(); ++i) {
    LevelPlace place;
    place.what = "[[level]] " + std::to_string(i + 1);
    place.inCpuNode = i == 0 && isCpu;
    place.mayBeOpen = i + 1 == levels.size();
    // A message is copied into shared memory and out of it, each a read and a write.
    if (isCpu && TableReader::holds(*levels[i], "bandwidth", "discover"))
      place.discovered = machine().memoryBandwidth / 4;
    LinkLevel level = readLevel(*levels[i], place, errors);
    for (const LinkLevel &other : system.levels)
      if (other.name == level.name)
        errors.set(TableReader::placeOf(*levels[i], "name"),
                   "two levels are named '" + level.name + "'",
                   "give each level a name of its own");
    system.levels.push_back(std::move(level));
  }
}

// A node is a whole number of levels, 8 devices as 8 or as 2 x 4, or a level joins whole nodes, 72
// devices of nodes of 4; and the levels join all nodes.
void DescriptionReader::checkGroups(TableReader &reader) {
  int64_t devices = system.devicesPerNode * system.nodes; // both at most 2^20
  if (devices > maxCount)
    return reader.fail("nodes", std::to_string(system.nodes) + " nodes of " +
                                    std::to_string(system.devicesPerNode) +
                                    " devices are more than " + std::to_string(maxCount) +
                                    " devices");
  bool isCpu = system.device.deviceClass == DeviceClass::Cpu;
  int64_t joined = 1;
  size_t inside = 0; // levels up to a whole node
  for (; inside < system.levels.size() && joined < system.devicesPerNode; ++inside) {
    int64_t group = system.levels[inside].groupSize;
    if (!group && inside == 0) // one level for all, as a torus is
      group = devices;
    joined = isCpu ? system.devicesPerNode : joined * std::max<int64_t>(1, group);
  }
  if (joined % system.devicesPerNode != 0)
    return reader.fail(
        "devices_per_node",
        "a node has " + std::to_string(system.devicesPerNode) +
            " devices, but the levels inside it join " + std::to_string(joined),
        "the product of 'group' over the levels inside a node is the number of its devices");
  // Level 1 is the first that joins nodes where a cpu node's processes are one.
  for (inside = std::max<size_t>(inside, isCpu); inside < system.levels.size() && joined < devices;
       ++inside)
    joined = system.levels[inside].groupSize ? joined * system.levels[inside].groupSize : devices;
  if (joined < devices)
    reader.fail("nodes",
                "the levels join " + std::to_string(joined) + " devices, but " +
                    std::to_string(system.nodes) + " nodes have " + std::to_string(devices),
                "add a [[level]] that joins nodes; without 'group' it joins as many as there are");
}

// Reads a whole file: one system, or the parts of a heterogeneous one and the links between them.
class FileReader {
public:
  explicit FileReader(const std::string &path) { errors.path = path; }

  Result<SystemDescription> read(const toml::table &root) {
    if (!TableReader::has(root, "part")) {
      if (TableReader::has(root, "link"))
        errors.set(TableReader::placeOf(root, "link"), "[[link]] joins parts, but there are none",
                   "write a [[part]] for each kind of node, or [[level]] for a level of links");
      system = DescriptionReader(errors).read(root, "the file", fileKeys);
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
       {"nodes", "devices_per_node", "device", "level", "calibration", "slow_link"})
    if (TableReader::has(root, key))
      errors.set(TableReader::placeOf(root, key),
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
                               : DescriptionReader(errors).read(table, what, rootKeys);
  for (const SystemDescription &other : system.parts)
    if (other.name == part.name)
      errors.set(TableReader::placeOf(table, "name"), "two parts are named '" + part.name + "'",
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
    std::vector<std::string> names = catalogueNames();
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

// Every two parts are joined.
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

// The keys of one system, after its name and description. `prefix` is "" or "part.".
void printSystem(const SystemDescription &system, const std::string &prefix,
                 llvm::raw_ostream &out) {
  const DeviceKind &device = system.device;
  out << "nodes = " << system.nodes << "\ndevices_per_node = " << system.devicesPerNode << "\n\n["
      << prefix << "device]\n"
      << "name = " << quoteToml(device.name) << "\n"
      << "class = " << quoteToml(classNames[device.deviceClass == DeviceClass::Gpu]) << "\n"
      << "memory = "
      << quoteToml(printExact(static_cast<double>(device.memoryBytes), Quantity::Bytes)) << "\n"
      << "memory_bandwidth = "
      << quoteToml(printExact(device.memoryBandwidth, Quantity::BytesPerSecond)) << "\n"
      << "compute_units = " << device.computeUnits << "\n"
      << "launch_latency = " << quoteToml(printExact(device.launchLatency, Quantity::Seconds))
      << "\n\n[" << prefix << "device.peak]\n";
  for (size_t type = 0; type < numComputeTypes; ++type)
    if (device.peakFlops[type] > 0)
      out << typeNames[type] << " = "
          << quoteToml(printExact(device.peakFlops[type], Quantity::FlopsPerSecond)) << "\n";
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

llvm::StringRef nameOf(ComputeType type) { return typeNames[static_cast<size_t>(type)]; }

std::optional<ComputeType> computeTypeFrom(llvm::StringRef name) {
  for (size_t type = 0; type < numComputeTypes; ++type)
    if (typeNames[type] == name)
      return static_cast<ComputeType>(type);
  return std::nullopt;
}

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
    level.groupSize = 0; // a link joins two parts, which nobody writes
    printLevel(level, out);
  }
  return text;
}

} // namespace dtc
