// Reads one system of a topology file: its device, its levels and its slow links.
#include "compiler/describe/topology/SystemReader.h"

#include "compiler/describe/topology/CalibrationReader.h"
#include "compiler/describe/topology/LevelReader.h"
#include "compiler/describe/topology/Machine.h"

#include <cmath>

namespace dtc {
namespace {

constexpr int64_t maxCount = int64_t(1) << 20; // nodes, devices per node, groups of a level
constexpr size_t maxSlowLinks = 1024;
constexpr llvm::StringRef deviceKeys[] = {
    "name",          "class",          "memory",        "memory_bandwidth",
    "compute_units", "launch_latency", "graph_latency", "peak"};
constexpr llvm::StringRef hostKeys[] = {"memory", "memory_bandwidth", "link_bandwidth"};
constexpr llvm::StringRef classNames[] = {"cpu", "gpu"};

// Reads one system of one kind of device. Asks this machine at most once, and only if the file
// needs it.
class SystemReader {
public:
  explicit SystemReader(FirstError &errors) : errors(errors) {}

  // Reads the system. `what` names the file, or the part of it, in messages.
  SystemDescription read(const toml::table &root, const std::string &what,
                         llvm::ArrayRef<llvm::StringRef> known);

private:
  void readDevice(const toml::table &table);
  void readPeak(const toml::table &table);
  int64_t readMemory(TableReader &reader, const std::string &what);
  void readHost(TableReader &reader);
  void readLevels(TableReader &reader);
  void checkGroups(TableReader &reader);
  void readCurves(TableReader &reader);

  const Machine &machine() {
    if (!discovered)
      discovered = discoverMachine();
    return *discovered;
  }
  // Returns true if `key` is "discover". Records an error for a device that is not this machine.
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

SystemDescription SystemReader::read(const toml::table &root, const std::string &what,
                                     llvm::ArrayRef<llvm::StringRef> known) {
  TableReader reader(root, what, known, errors);
  system.name = reader.word("name");
  system.description = reader.word("description", "");
  system.nodes = reader.count("nodes", 1, maxCount, 1);
  if (const toml::table *device = reader.table("device"))
    readDevice(*device);
  if (!errors.error && reader.has("host"))
    readHost(reader);
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

void SystemReader::readCurves(TableReader &reader) {
  const toml::table *table = reader.table("calibration");
  if (!table)
    return;
  system.device.calibration = readCalibration(*table, system.device, system.levels, errors);
  setLaunches(system.device, *system.device.calibration);
}

void SystemReader::readDevice(const toml::table &table) {
  TableReader reader(table, "[device]", deviceKeys, errors);
  DeviceKind &device = system.device;
  device.deviceClass =
      reader.choice("class", classNames) == 0 ? DeviceClass::Cpu : DeviceClass::Gpu;
  device.name = discover(reader, "name") ? machine().processor : reader.word("name");
  device.memoryBytes =
      discover(reader, "memory") ? machine().memoryBytes : readMemory(reader, "[device]");
  device.memoryBandwidth = discover(reader, "memory_bandwidth")
                               ? machine().memoryBandwidth
                               : reader.quantity("memory_bandwidth", Quantity::BytesPerSecond);
  device.computeUnits = discover(reader, "compute_units")
                            ? machine().cores
                            : reader.count("compute_units", 1, maxCount);
  device.launchLatency = reader.quantity("launch_latency", Quantity::Seconds, /*zeroAllowed=*/true);
  if (reader.has("graph_latency"))
    device.graphLatency = reader.quantity("graph_latency", Quantity::Seconds);
  if (const toml::table *peak = reader.table("peak"))
    readPeak(*peak);
}

int64_t SystemReader::readMemory(TableReader &reader, const std::string &what) {
  double bytes = reader.quantity("memory", Quantity::Bytes);
  if (bytes == std::floor(bytes) && bytes < std::ldexp(1.0, 62))
    return static_cast<int64_t>(bytes);
  reader.fail("memory", "'memory' of " + what + " is not a whole number of bytes below 4096 PiB");
  return 0;
}

void SystemReader::readHost(TableReader &root) {
  const toml::table *table = root.table("host");
  if (!table)
    return;
  if (system.device.deviceClass == DeviceClass::Cpu)
    return root.fail("host",
                     "[host] is what GPUs have behind them; a device of class 'cpu' is its "
                     "own host",
                     "leave it out");
  TableReader reader(*table, "[host]", hostKeys, errors);
  HostShare &host = system.device.host;
  host.memoryBytes = readMemory(reader, "[host]");
  host.memoryBandwidth = reader.quantity("memory_bandwidth", Quantity::BytesPerSecond);
  host.linkBandwidth = reader.quantity("link_bandwidth", Quantity::BytesPerSecond);
}

void SystemReader::readPeak(const toml::table &table) {
  TableReader reader(table, "[device.peak]", kComputeTypeNames, errors);
  for (auto [type, name] : kComputeTypes)
    if (reader.has(name))
      system.device.peakFlops[static_cast<size_t>(type)] =
          discover(reader, name) ? machine().peakFlops()
                                 : reader.quantity(name, Quantity::FlopsPerSecond);
  constexpr llvm::StringRef least = nameOf(ComputeType::F32);
  if (!reader.has(least))
    reader.fail(least, "[device.peak] has no '" + least.str() + "'",
                "every device computes in f32; other types are optional");
}

void SystemReader::readLevels(TableReader &reader) {
  bool isCpu = system.device.deviceClass == DeviceClass::Cpu;
  std::vector<const toml::table *> levels = reader.tables("level");
  for (size_t i = 0; i < levels.size(); ++i) {
    LevelContext context;
    context.what = "[[level]] " + std::to_string(i + 1);
    context.inCpuNode = i == 0 && isCpu;
    context.mayBeOpen = i + 1 == levels.size();
    // A message is copied into shared memory and out of it, and each copy is a read and a write.
    if (isCpu && TableReader::holds(*levels[i], "bandwidth", "discover"))
      context.discovered = machine().memoryBandwidth / 4;
    LinkLevel level = readLevel(*levels[i], context, errors);
    for (const LinkLevel &other : system.levels)
      if (other.name == level.name)
        errors.set(TableReader::locationOf(*levels[i], "name"),
                   "two levels are named '" + level.name + "'",
                   "give each level a name of its own");
    system.levels.push_back(std::move(level));
  }
}

// Checks the groups: a node must be a whole number of levels (8 devices as 8 or as 2 x 4), or a
// level must join whole nodes (72 devices of nodes of 4); and the levels must join all nodes.
void SystemReader::checkGroups(TableReader &reader) {
  int64_t devices = system.devicesPerNode * system.nodes; // both at most 2^20
  if (devices > maxCount)
    return reader.fail("nodes", std::to_string(system.nodes) + " nodes of " +
                                    std::to_string(system.devicesPerNode) +
                                    " devices are more than " + std::to_string(maxCount) +
                                    " devices");
  bool isCpu = system.device.deviceClass == DeviceClass::Cpu;
  int64_t joined = 1;
  size_t inside = 0; // number of levels up to a whole node
  for (; inside < system.levels.size() && joined < system.devicesPerNode; ++inside) {
    int64_t group = system.levels[inside].groupSize;
    if (!group && inside == 0) // one level for all, as for a torus
      group = devices;
    joined = isCpu ? system.devicesPerNode : joined * std::max<int64_t>(1, group);
  }
  if (joined % system.devicesPerNode != 0)
    return reader.fail(
        "devices_per_node",
        "a node has " + std::to_string(system.devicesPerNode) +
            " devices, but the levels inside it join " + std::to_string(joined),
        "the product of 'group' over the levels inside a node is the number of its devices");
  // Level 1 is the first that joins nodes if the processes of a cpu node are one level.
  for (inside = std::max<size_t>(inside, isCpu); inside < system.levels.size() && joined < devices;
       ++inside)
    joined = system.levels[inside].groupSize ? joined * system.levels[inside].groupSize : devices;
  if (joined < devices)
    reader.fail("nodes",
                "the levels join " + std::to_string(joined) + " devices, but " +
                    std::to_string(system.nodes) + " nodes have " + std::to_string(devices),
                "add a [[level]] that joins nodes; without 'group' it joins as many as there are");
}

} // namespace

SystemDescription readSystem(const toml::table &root, const std::string &what,
                             llvm::ArrayRef<llvm::StringRef> known, FirstError &errors) {
  return SystemReader(errors).read(root, what, known);
}

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

} // namespace dtc
