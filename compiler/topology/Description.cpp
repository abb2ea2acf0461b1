// Topology files: TOML to a description and back.
#include "compiler/topology/Description.h"

#include "compiler/topology/Machine.h"
#include "compiler/topology/TomlReader.h"

#include "llvm/ADT/StringExtras.h"

#include <charconv>
#include <cmath>

namespace dtc {
namespace {

constexpr int64_t maxCount = int64_t(1) << 20; // nodes, devices a node, groups of a level
constexpr llvm::StringRef rootKeys[] = {"name",   "description", "nodes", "devices_per_node",
                                        "device", "level"};
constexpr llvm::StringRef deviceKeys[] = {
    "name", "class", "memory", "memory_bandwidth", "compute_units", "launch_latency", "peak"};
constexpr llvm::StringRef levelKeys[] = {
    "name", "kind", "group", "bandwidth", "latency", "in_network_reduction", "oversubscription"};
constexpr llvm::StringRef classNames[] = {"cpu", "gpu"};
constexpr llvm::StringRef typeNames[] = {"f32", "tf32", "bf16", "f16", "fp8"};
constexpr llvm::StringRef linkNames[] = {"nvlink", "pcie", "ib", "ethernet", "shm"};

// Reads one file; this machine is asked at most once, and only where the file wants it.
class DescriptionReader {
public:
  explicit DescriptionReader(const std::string &path) { errors.path = path; }

  Result<SystemDescription> read(const toml::table &root);

private:
  void readDevice(const toml::table &table);
  void readPeak(const toml::table &table);
  void readLevel(const toml::table &table, size_t index, size_t count);
  void checkGroups(const toml::table &root);

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
  FirstError errors;
  std::optional<Machine> discovered;
};

Result<SystemDescription> DescriptionReader::read(const toml::table &root) {
  TableReader reader(root, "the file", rootKeys, errors);
  system.name = reader.word("name");
  system.description = reader.word("description", "");
  system.nodes = reader.count("nodes", 1, maxCount, 1);
  if (const toml::table *device = reader.table("device"))
    readDevice(*device);
  bool isCpu = system.device.deviceClass == DeviceClass::Cpu;
  system.devicesPerNode = reader.count("devices_per_node", 1, maxCount,
                                       isCpu ? std::optional<int64_t>(1) : std::nullopt);
  std::vector<const toml::table *> levels = reader.tables("level");
  for (size_t i = 0; i < levels.size(); ++i)
    readLevel(*levels[i], i, levels.size());
  if (!errors.error)
    checkGroups(root);
  if (errors.error)
    return *errors.error;
  return system;
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

void DescriptionReader::readLevel(const toml::table &table, size_t index, size_t count) {
  std::string what = "[[level]] " + std::to_string(index + 1);
  TableReader reader(table, what, levelKeys, errors);
  LinkLevel level;
  level.name = reader.word("name");
  level.kind = static_cast<LinkKind>(reader.choice("kind", linkNames));
  bool inCpuNode = index == 0 && system.device.deviceClass == DeviceClass::Cpu;
  if (inCpuNode && reader.has("group"))
    reader.fail(
        "group",
        "the first level of class 'cpu' joins the processes of a node, however many they are",
        "leave 'group' out");
  bool open = inCpuNode || index + 1 == count;
  level.groupSize =
      reader.count("group", 1, maxCount, open ? std::optional<int64_t>(0) : std::nullopt);
  if (discover(reader, "bandwidth")) {
    if (level.kind != LinkKind::SharedMemory)
      reader.fail("bandwidth", "'bandwidth' can be discovered for kind 'shm' only",
                  "write the figure with its unit");
    // A message is copied into shared memory and out of it, each a read and a write.
    level.bandwidth = machine().memoryBandwidth / 4;
  } else {
    level.bandwidth = reader.quantity("bandwidth", Quantity::BytesPerSecond);
  }
  level.latency = reader.quantity("latency", Quantity::Seconds, /*zeroAllowed=*/true);
  level.inNetworkReduction = reader.flag("in_network_reduction", false);
  level.oversubscription = reader.number("oversubscription", 1, 1000, 1);
  for (const LinkLevel &other : system.levels)
    if (other.name == level.name)
      reader.fail("name", "two levels are named '" + level.name + "'",
                  "give each level a name of its own");
  system.levels.push_back(level);
}

// A node is a whole number of levels, 8 devices as 8 or as 2 x 4, and the levels join all nodes.
void DescriptionReader::checkGroups(const toml::table &root) {
  TableReader reader(root, "the file", rootKeys, errors);
  int64_t devices = system.devicesPerNode * system.nodes; // both at most 2^20
  if (devices > maxCount)
    return reader.fail("nodes", std::to_string(system.nodes) + " nodes of " +
                                    std::to_string(system.devicesPerNode) +
                                    " devices are more than " + std::to_string(maxCount) +
                                    " devices");
  bool isCpu = system.device.deviceClass == DeviceClass::Cpu;
  int64_t joined = 1;
  size_t inside = 0; // levels inside a node
  for (; inside < system.levels.size() && joined < system.devicesPerNode; ++inside)
    joined *= isCpu ? system.devicesPerNode : std::max<int64_t>(1, system.levels[inside].groupSize);
  if (joined != system.devicesPerNode)
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

std::string shortestNumber(double value) {
  char buffer[64];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
}

std::string quote(llvm::StringRef text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      result += "\\u00" + llvm::utohexstr(static_cast<unsigned char>(c), false, 2);
    else
      result += c;
  }
  return result + "\"";
}

} // namespace

llvm::StringRef nameOf(ComputeType type) { return typeNames[static_cast<size_t>(type)]; }
llvm::StringRef nameOf(LinkKind kind) { return linkNames[static_cast<size_t>(kind)]; }

std::optional<ComputeType> computeTypeFrom(llvm::StringRef name) {
  for (size_t type = 0; type < numComputeTypes; ++type)
    if (typeNames[type] == name)
      return static_cast<ComputeType>(type);
  return std::nullopt;
}

Result<SystemDescription> parseDescription(llvm::StringRef text, const std::string &path) {
  toml::parse_result parsed = toml::parse(std::string_view(text.data(), text.size()), path);
  if (!parsed) {
    const toml::parse_error &error = parsed.error();
    std::string message(error.description());
    if (!message.empty())
      message[0] = llvm::toLower(message[0]);
    return UserError(message, "see https://toml.io for the syntax",
                     {path, static_cast<int64_t>(error.source().begin.line),
                      static_cast<int64_t>(error.source().begin.column)});
  }
  return DescriptionReader(path).read(parsed.table());
}

std::string printDescription(const SystemDescription &system) {
  const DeviceKind &device = system.device;
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "name = " << quote(system.name) << "\n";
  if (!system.description.empty())
    out << "description = " << quote(system.description) << "\n";
  out << "nodes = " << system.nodes << "\ndevices_per_node = " << system.devicesPerNode
      << "\n\n[device]\n"
      << "name = " << quote(device.name) << "\n"
      << "class = " << quote(classNames[device.deviceClass == DeviceClass::Gpu]) << "\n"
      << "memory = " << quote(printExact(static_cast<double>(device.memoryBytes), Quantity::Bytes))
      << "\n"
      << "memory_bandwidth = "
      << quote(printExact(device.memoryBandwidth, Quantity::BytesPerSecond)) << "\n"
      << "compute_units = " << device.computeUnits << "\n"
      << "launch_latency = " << quote(printExact(device.launchLatency, Quantity::Seconds))
      << "\n\n[device.peak]\n";
  for (size_t type = 0; type < numComputeTypes; ++type)
    if (device.peakFlops[type] > 0)
      out << typeNames[type] << " = "
          << quote(printExact(device.peakFlops[type], Quantity::FlopsPerSecond)) << "\n";
  for (const LinkLevel &level : system.levels) {
    out << "\n[[level]]\nname = " << quote(level.name) << "\nkind = " << quote(nameOf(level.kind))
        << "\n";
    if (level.groupSize)
      out << "group = " << level.groupSize << "\n";
    out << "bandwidth = " << quote(printExact(level.bandwidth, Quantity::BytesPerSecond)) << "\n"
        << "latency = " << quote(printExact(level.latency, Quantity::Seconds)) << "\n";
    if (level.inNetworkReduction)
      out << "in_network_reduction = true\n";
    if (level.oversubscription != 1)
      out << "oversubscription = " << shortestNumber(level.oversubscription) << "\n";
  }
  return text;
}

} // namespace dtc
