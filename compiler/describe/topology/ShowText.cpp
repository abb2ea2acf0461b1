// Prints a topology as text for people.
#include "compiler/describe/topology/ShowText.h"

#include "compiler/describe/topology/Plural.h"

#include "compiler/describe/topology/Description.h"
#include "compiler/support/Table.h"
#include "compiler/support/Units.h"

namespace dtc {
namespace {

std::string bytes(int64_t value) {
  return printRounded(static_cast<double>(value), Quantity::Bytes);
}
std::string rate(double value) { return printRounded(value, Quantity::BytesPerSecond); }
std::string flops(double value) { return printRounded(value, Quantity::FlopsPerSecond, 4); }
std::string time(double value) { return printRounded(value, Quantity::Seconds); }

// Returns 1 as "1", 2.5 as "2.5".
std::string factor(double value) {
  char buffer[32];
  snprintf(buffer, sizeof(buffer), "%g", value);
  return buffer;
}

// Returns the text that the shape adds: "torus 4 x 4 x 8", "rail, other rails inside the node".
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
      << "  launch latency  " << time(device.launchLatency);
  if (device.graphLatency > 0)
    out << ", " << time(device.graphLatency) << " within a replayed graph";
  out << "\n";
  for (int type = 0; type < numComputeTypes; ++type) {
    std::string label = ("peak " + nameOf(static_cast<ComputeType>(type))).str();
    if (device.peakFlops[type] > 0)
      out << "  " << label << std::string(16 - label.size(), ' ') << flops(device.peakFlops[type])
          << "\n";
  }
  if (const HostShare &host = device.host; host.isKnown())
    out << "  share of host   " << bytes(host.memoryBytes) << ", " << rate(host.memoryBandwidth)
        << ", over " << rate(host.linkBandwidth) << "\n";
}

// Returns the levels without slow links.
std::vector<LinkLevel> usualLevels(const Topology &topology) {
  std::vector<LinkLevel> levels = topology.levels;
  for (const DeviceGroup &group : topology.groups)
    for (size_t i = 0; i < levels.size(); ++i) {
      levels[i].bandwidth = std::max(levels[i].bandwidth, group.levels[i].bandwidth);
      levels[i].sharedBandwidth =
          std::max(levels[i].sharedBandwidth, group.levels[i].sharedBandwidth);
      levels[i].latency = std::min(levels[i].latency, group.levels[i].latency);
    }
  return levels;
}

void printSlowLinks(const Topology &topology, llvm::ArrayRef<LinkLevel> usual,
                    llvm::raw_ostream &out) {
  if (topology.isUniform())
    return;
  out << "\nslow links:\n";
  Table table({"level", "nodes", "bandwidth", "latency"});
  for (const DeviceGroup &group : topology.groups)
    for (size_t i = 0; i < usual.size(); ++i) {
      const LinkLevel &level = group.levels[i];
      if (level.bandwidth == usual[i].bandwidth && level.latency == usual[i].latency)
        continue;
      int64_t first = group.firstDevice / group.devicesPerNode, last = first + group.nodes - 1;
      table.addRow({level.name,
                    std::to_string(first) + (last > first ? " to " + std::to_string(last) : ""),
                    rate(level.bandwidth), time(level.latency)});
    }
  table.print(out, 2);
}

void printLevels(const Topology &topology, llvm::raw_ostream &out) {
  if (topology.levels.empty()) {
    out << "\nno links: one device\n";
    return;
  }
  std::vector<LinkLevel> levels = usualLevels(topology);
  out << "\nlinks, from the inside out; bandwidth a device and direction:\n";
  Table table(
      {"level", "kind", "shape", "joins", "bandwidth", "latency", "reduces", "oversubscribed"});
  for (size_t i = 0; i < levels.size(); ++i) {
    const LinkLevel &level = levels[i];
    std::string joins =
        i == 0 ? plural(level.groupSize, "device") : std::to_string(level.groupSize) + " groups";
    table.addRow({level.name, nameOf(level.kind).str(), shapeText(level), joins,
                  rate(level.bandwidth), time(level.latency),
                  level.inNetworkReduction ? "yes" : "no", factor(level.oversubscription)});
  }
  table.print(out, 2);
  printSlowLinks(topology, levels, out);
}

} // namespace

void showText(const Topology &topology, llvm::raw_ostream &out) {
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

} // namespace dtc
