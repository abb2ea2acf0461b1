// The commands `dtc topology list|show|check|discover`.
#include "compiler/topology/Commands.h"

#include "compiler/support/File.h"
#include "compiler/support/Table.h"
#include "compiler/support/Units.h"
#include "compiler/topology/Description.h"
#include "compiler/topology/GpuMachine.h"
#include "compiler/topology/NcclXml.h"

#include "llvm/Support/JSON.h"

namespace dtc {
namespace {

std::string bytes(int64_t value) {
  return printRounded(static_cast<double>(value), Quantity::Bytes);
}
std::string rate(double value) { return printRounded(value, Quantity::BytesPerSecond); }
std::string flops(double value) { return printRounded(value, Quantity::FlopsPerSecond, 4); }
std::string time(double value) { return printRounded(value, Quantity::Seconds); }

// 1 is "1", 2.5 is "2.5".
std::string factor(double value) {
  char buffer[32];
  snprintf(buffer, sizeof(buffer), "%g", value);
  return buffer;
}

std::string plural(int64_t count, const char *noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// What the shape adds: "torus 4 x 4 x 8", "rail, other rails inside the node".
std::string shapeText(const LinkLevel &level) {
  std::string text = nameOf(level.shape).str();
  switch (level.shape) {
  case LinkShape::HostBridge:
    return text + " of " + rate(level.sharedBandwidth);
  case LinkShape::Torus: {
    bool wraps = false;
    for (size_t i = 0; i < level.dims.size(); ++i) {
      text += (i ? " x " : " ") + std::to_string(level.dims[i]);
      wraps = wraps || (level.wrapFrom && level.dims[i] >= level.wrapFrom);
    }
    return text + (wraps ? "" : ", open ends");
  }
  case LinkShape::Rail:
    return level.crossRail > 0 ? text + ", spine 1:" + factor(level.crossRail) + " between" : text;
  case LinkShape::Switch:
  case LinkShape::Direct:
  case LinkShape::Dragonfly:
    break;
  }
  return text;
}

void printDevice(const DeviceKind &device, llvm::raw_ostream &out) {
  out << "device: " << device.name << "\n"
      << "  memory          " << bytes(device.memoryBytes) << ", " << rate(device.memoryBandwidth)
      << "\n"
      << "  compute units   " << device.computeUnits << "\n"
      << "  launch latency  " << time(device.launchLatency) << "\n";
  for (int type = 0; type < numComputeTypes; ++type) {
    std::string label = ("peak " + nameOf(static_cast<ComputeType>(type))).str();
    if (device.peakFlops[type] > 0)
      out << "  " << label << std::string(16 - label.size(), ' ') << flops(device.peakFlops[type])
          << "\n";
  }
}

void printLevels(const Topology &topology, llvm::raw_ostream &out) {
  if (topology.levels.empty()) {
    out << "\nno links: one device\n";
    return;
  }
  out << "\nlinks, from the inside out; bandwidth a device and direction:\n";
  Table table(
      {"level", "kind", "shape", "joins", "bandwidth", "latency", "reduces", "oversubscribed"});
  for (size_t i = 0; i < topology.levels.size(); ++i) {
    const LinkLevel &level = topology.levels[i];
    std::string joins =
        i == 0 ? plural(level.groupSize, "device") : std::to_string(level.groupSize) + " groups";
    table.addRow({level.name, nameOf(level.kind).str(), shapeText(level), joins,
                  rate(level.bandwidth), time(level.latency),
                  level.inNetworkReduction ? "yes" : "no", factor(level.oversubscription)});
  }
  table.print(out, 2);
}

void printText(const Topology &topology, llvm::raw_ostream &out) {
  out << topology.name << (topology.description.empty() ? "" : ": ") << topology.description << "\n"
      << plural(topology.numDevices(), "device") << " = ";
  if (topology.isHomogeneous()) {
    out << plural(topology.nodes, "node") << " x " << topology.devicesPerNode << "\n\n";
    printDevice(topology.device, out);
    printLevels(topology, out);
    return;
  }
  out << plural(static_cast<int64_t>(topology.parts.size()), "part") << "\n";
  for (size_t i = 0; i < topology.parts.size(); ++i) {
    const Topology &part = topology.parts[i];
    int64_t first = topology.firstRankOf(i);
    out << "\npart " << part.name << ": ranks " << first << " to " << first + part.numDevices() - 1
        << ", " << plural(part.nodes, "node") << " x " << part.devicesPerNode << "\n";
    printDevice(part.device, out);
    printLevels(part, out);
  }
  out << "\nlinks between parts; bandwidth of one direction in all:\n";
  Table table({"between", "and", "kind", "bandwidth", "latency", "oversubscribed"});
  for (const PartLink &link : topology.partLinks)
    table.addRow({topology.parts[link.first].name, topology.parts[link.second].name,
                  nameOf(link.link.kind).str(), rate(link.link.bandwidth), time(link.link.latency),
                  factor(link.link.oversubscription)});
  table.print(out, 2);
}

void writeShape(const LinkLevel &level, llvm::json::OStream &json) {
  json.attribute("shape", nameOf(level.shape));
  switch (level.shape) {
  case LinkShape::HostBridge:
    json.attribute("shared_bandwidth", level.sharedBandwidth);
    break;
  case LinkShape::Direct:
    if (!level.subsetBandwidth.empty())
      json.attributeArray("subset_bandwidth", [&] {
        for (double each : level.subsetBandwidth)
          json.value(each);
      });
    break;
  case LinkShape::Torus:
    json.attributeArray("dims", [&] {
      for (int64_t dim : level.dims)
        json.value(dim);
    });
    json.attribute("wrap_from", level.wrapFrom);
    break;
  case LinkShape::Rail:
    if (level.crossRail > 0)
      json.attribute("cross_rail", level.crossRail);
    else
      json.attribute("cross_rail", "inside");
    break;
  case LinkShape::Switch:
  case LinkShape::Dragonfly:
    break;
  }
}

// The keys of one kind of device and its links.
void writeSystem(const Topology &topology, llvm::json::OStream &json) {
  const DeviceKind &device = topology.device;
  json.attribute("nodes", topology.nodes);
  json.attribute("devices_per_node", topology.devicesPerNode);
  json.attribute("devices", topology.numDevices());
  json.attributeObject("device", [&] {
    json.attribute("name", device.name);
    json.attribute("class", device.deviceClass == DeviceClass::Cpu ? "cpu" : "gpu");
    json.attribute("memory", device.memoryBytes);
    json.attribute("memory_bandwidth", device.memoryBandwidth);
    json.attribute("compute_units", device.computeUnits);
    json.attribute("launch_latency", device.launchLatency);
    json.attributeObject("peak", [&] {
      for (int type = 0; type < numComputeTypes; ++type)
        if (device.peakFlops[type] > 0)
          json.attribute(nameOf(static_cast<ComputeType>(type)), device.peakFlops[type]);
    });
  });
  json.attributeArray("levels", [&] {
    for (const LinkLevel &level : topology.levels)
      json.object([&] {
        json.attribute("name", level.name);
        json.attribute("kind", nameOf(level.kind));
        json.attribute("group", level.groupSize);
        json.attribute("bandwidth", level.bandwidth);
        json.attribute("latency", level.latency);
        json.attribute("in_network_reduction", level.inNetworkReduction);
        json.attribute("oversubscription", level.oversubscription);
        writeShape(level, json);
      });
  });
}

void printJson(const Topology &topology, llvm::raw_ostream &out) {
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attribute("schema", "dtc.topology/1");
    json.attribute("name", topology.name);
    json.attribute("description", topology.description);
    writeSystem(topology, json);
    if (topology.isHomogeneous())
      return;
    json.attributeArray("parts", [&] {
      for (const Topology &part : topology.parts)
        json.object([&] {
          json.attribute("name", part.name);
          writeSystem(part, json);
        });
    });
    json.attributeArray("links", [&] {
      for (const PartLink &link : topology.partLinks)
        json.object([&] {
          json.attributeArray("between", [&] {
            json.value(topology.parts[link.first].name);
            json.value(topology.parts[link.second].name);
          });
          json.attribute("kind", nameOf(link.link.kind));
          json.attribute("bandwidth", link.link.bandwidth);
          json.attribute("latency", link.link.latency);
          json.attribute("oversubscription", link.link.oversubscription);
        });
    });
  });
  out << "\n";
}

} // namespace

int runTopologyList(llvm::raw_ostream &out, llvm::raw_ostream &errors) {
  Table table({"name", "devices a node", "memory", "bf16", "description"});
  for (const std::string &name : catalogueNames()) {
    Result<Topology> topology = loadTopology(name);
    if (!topology)
      return topology.error().report(errors);
    const DeviceKind &device = topology->device;
    std::string count =
        device.deviceClass == DeviceClass::Cpu ? "any" : std::to_string(topology->devicesPerNode);
    double peak = device.peak(ComputeType::BF16);
    table.addRow({name, count, bytes(device.memoryBytes), peak > 0 ? flops(peak) : "none",
                  topology->description});
  }
  table.print(out);
  return 0;
}

int runTopologyShow(const std::string &nameOrFile, int64_t nodes, int64_t devices,
                    OutputFormat format, llvm::raw_ostream &out, llvm::raw_ostream &errors) {
  Result<Topology> topology = loadTopology(nameOrFile, nodes, devices);
  if (!topology)
    return topology.error().report(errors);
  if (format == OutputFormat::Json)
    printJson(*topology, out);
  else
    printText(*topology, out);
  return 0;
}

int runTopologyCheck(const std::string &file, llvm::raw_ostream &out, llvm::raw_ostream &errors) {
  Result<std::string> text = readFile(file, int64_t(16) << 20);
  if (!text)
    return text.error().report(errors);
  Result<Topology> topology = parseTopology(*text, file);
  if (!topology)
    return topology.error().report(errors);
  out << file << ": '" << topology->name << "' describes "
      << plural(topology->numDevices(), "device") << " in " << plural(topology->nodes, "node");
  if (topology->isHomogeneous())
    out << " on " << plural(static_cast<int64_t>(topology->levels.size()), "level")
        << " of links\n";
  else
    out << " in " << plural(static_cast<int64_t>(topology->parts.size()), "part") << "\n";
  return 0;
}

// Writes the description to the file, or to `out` where there is none.
static int writeDescription(const SystemDescription &system, const std::string &head,
                            const std::string &outputFile, llvm::raw_ostream &out,
                            llvm::raw_ostream &errors) {
  std::string text = head + printDescription(system);
  if (outputFile.empty()) {
    out << text;
    return 0;
  }
  Outcome written = writeFileAtomically(outputFile, text);
  return written ? 0 : written.error().report(errors);
}

int runTopologyDiscover(const std::string &outputFile, llvm::raw_ostream &out,
                        llvm::raw_ostream &errors, const std::string &nvmlLibrary) {
  if (std::optional<Inventory> inventory = discoverGpus(nvmlLibrary)) {
    Result<SystemDescription> system = describeInventory(*inventory, "");
    if (!system)
      return system.error().report(errors);
    system->name = "discovered";
    return writeDescription(*system,
                            "# Found by 'dtc topology discover' through NVML and hwloc without "
                            "measuring: correct what you know better.\n",
                            outputFile, out, errors);
  }
  Result<SystemDescription> system = parseDescription(catalogueText("cpu"), "cpu.toml");
  if (!system)
    return system.error().report(errors);
  system->name = "discovered";
  system->description = system->device.name + ", " + plural(system->device.computeUnits, "core");
  return writeDescription(
      *system,
      "# Found by 'dtc topology discover' without measuring: correct what you know better.\n"
      "# Sizes and rates are those of a whole node, which its processes share.\n",
      outputFile, out, errors);
}

int runTopologyImportNccl(const std::string &xmlFile, const std::string &device,
                          const std::string &outputFile, llvm::raw_ostream &out,
                          llvm::raw_ostream &errors) {
  Result<std::string> text = readFile(xmlFile, int64_t(16) << 20);
  if (!text)
    return text.error().report(errors);
  Result<Inventory> inventory = readNcclXml(*text, xmlFile);
  if (!inventory)
    return inventory.error().report(errors);
  Result<SystemDescription> system = describeInventory(*inventory, device);
  if (!system)
    return system.error().report(errors);
  return writeDescription(*system,
                          "# Imported from NCCL's description of the node: check the network, of "
                          "which it knows the adapters only.\n",
                          outputFile, out, errors);
}

} // namespace dtc
