// Prints a topology as JSON for programs. docs/topologies.md has its keys.
#include "compiler/describe/topology/ShowJson.h"

#include "llvm/Support/JSON.h"

namespace dtc {
namespace {

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

// Writes each group of devices with the figures of its links.
void writeGroups(const Topology &topology, llvm::json::OStream &json) {
  json.attributeArray("groups", [&] {
    for (const DeviceGroup &group : topology.groups)
      json.object([&] {
        json.attribute("first_device", group.firstDevice);
        json.attribute("devices", group.numDevices);
        json.attribute("nodes", group.nodes);
        json.attribute("devices_per_node", group.devicesPerNode);
        json.attribute("device", group.device.name);
        json.attributeArray("levels", [&] {
          for (const LinkLevel &level : group.levels)
            json.object([&] {
              json.attribute("name", level.name);
              json.attribute("bandwidth", level.bandwidth);
              json.attribute("latency", level.latency);
            });
        });
      });
  });
}

// Writes the keys of one kind of device and its links.
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
    json.attribute("graph_latency", device.replayLatency());
    json.attributeObject("peak", [&] {
      for (int type = 0; type < numComputeTypes; ++type)
        if (device.peakFlops[type] > 0)
          json.attribute(nameOf(static_cast<ComputeType>(type)), device.peakFlops[type]);
    });
    if (const HostShare &host = device.host; host.isKnown())
      json.attributeObject("host_share", [&] {
        json.attribute("memory", host.memoryBytes);
        json.attribute("memory_bandwidth", host.memoryBandwidth);
        json.attribute("link_bandwidth", host.linkBandwidth);
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

} // namespace

void showJson(const Topology &topology, llvm::raw_ostream &out) {
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attribute("schema", "dtc.topology/1");
    json.attribute("name", topology.name);
    json.attribute("description", topology.description);
    writeSystem(topology, json);
    writeGroups(topology, json);
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

} // namespace dtc
