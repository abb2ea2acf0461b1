// A description of hardware: lookups, printing.
#include "compiler/topology/Topology.h"

#include "compiler/topology/Units.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace dtc {

double DeviceKind::peak(const std::string &dtype) const {
  auto it = peakFlops.find(dtype);
  return it == peakFlops.end() ? 0 : it->second;
}

size_t Topology::levelOf(int64_t size, int64_t stride) const {
  int64_t span = (size - 1) * stride + 1, held = 1;
  for (size_t level = 0; level < levels.size(); ++level) {
    held *= levels[level].size;
    if (span <= held)
      return level;
  }
  return levels.empty() ? 0 : levels.size() - 1;
}

std::string topologyToText(const Topology &topology) {
  std::string text = topology.name + ": " + topology.description + "\n";
  text += "  devices   " + std::to_string(topology.devices) + " (" + std::to_string(topology.nodes()) + " nodes x " +
          std::to_string(topology.devicesPerNode) + ")\n";
  text += "  device    " + topology.device.name + ", " +
          formatQuantity(static_cast<double>(topology.device.memoryBytes), Unit::Bytes) + " at " +
          formatQuantity(topology.device.memoryBandwidth, Unit::BytesPerSecond) + ", launch " +
          formatQuantity(topology.device.launchSeconds, Unit::Seconds) + "\n";
  for (const auto &[dtype, flops] : topology.device.peakFlops)
    text += "    " + dtype + std::string(dtype.size() < 6 ? 6 - dtype.size() : 1, ' ') +
            formatQuantity(flops, Unit::FlopsPerSecond) + "\n";
  for (const LinkLevel &level : topology.levels) {
    text += "  level     " + level.name + " (" + level.kind + "): joins " + std::to_string(level.size) + ", " +
            formatQuantity(level.bandwidth, Unit::BytesPerSecond) + " per device, latency " +
            formatQuantity(level.latencySeconds, Unit::Seconds);
    if (level.oversubscription != 1) {
      char ratio[32];
      std::snprintf(ratio, sizeof ratio, ", %g:1 oversubscribed", level.oversubscription);
      text += ratio;
    }
    text += level.inNetworkReduction ? ", reduces in the network\n" : "\n";
  }
  return text;
}

std::string topologyToJson(const Topology &topology) {
  nlohmann::ordered_json json;
  json["name"] = topology.name;
  json["description"] = topology.description;
  json["devices"] = topology.devices;
  json["nodes"] = topology.nodes();
  json["devices_per_node"] = topology.devicesPerNode;
  json["device"] = {{"name", topology.device.name},
                    {"memory_bytes", topology.device.memoryBytes},
                    {"memory_bandwidth", topology.device.memoryBandwidth},
                    {"launch_s", topology.device.launchSeconds},
                    {"peak_flops", topology.device.peakFlops}};
  json["levels"] = nlohmann::ordered_json::array();
  for (const LinkLevel &level : topology.levels)
    json["levels"].push_back({{"name", level.name},
                              {"kind", level.kind},
                              {"size", level.size},
                              {"bandwidth", level.bandwidth},
                              {"latency_s", level.latencySeconds},
                              {"oversubscription", level.oversubscription},
                              {"in_network_reduction", level.inNetworkReduction}});
  return json.dump(2) + "\n";
}

} // namespace dtc
