// Implements the commands `dtc topology list|show|check|discover`.
#include "compiler/describe/topology/Commands.h"

#include "compiler/describe/topology/Description.h"
#include "compiler/describe/topology/GpuMachine.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/describe/topology/NcclXml.h"
#include "compiler/describe/topology/ParseDescription.h"
#include "compiler/describe/topology/Plural.h"
#include "compiler/describe/topology/ShowJson.h"
#include "compiler/describe/topology/ShowText.h"
#include "compiler/describe/topology/TopologyCatalogue.h"
#include "compiler/support/File.h"
#include "compiler/support/Table.h"
#include "compiler/support/Units.h"

namespace dtc {
namespace {

std::string bytes(int64_t value) {
  return printRounded(static_cast<double>(value), Quantity::Bytes);
}
std::string flops(double value) { return printRounded(value, Quantity::FlopsPerSecond, 4); }

} // namespace

int runTopologyList(llvm::raw_ostream &out, llvm::raw_ostream &errors) {
  Table table({"name", "devices a node", "memory", nameOf(ComputeType::BF16).str(), "description"});
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
    showJson(*topology, out);
  else
    showText(*topology, out);
  return 0;
}

int runTopologyCheck(const std::string &file, llvm::raw_ostream &out, llvm::raw_ostream &errors) {
  Result<std::string> text = readFile(file, int64_t(16) << 20);
  if (!text)
    return text.error().report(errors);
  Result<Topology> topology = parseTopology(*text, file);
  if (!topology) {
    UserError error = topology.error();
    if (error.location.file.empty()) // an error about counts, which no flag gives here
      error.location.file = file;
    return error.report(errors);
  }
  out << file << ": '" << topology->name << "' describes "
      << plural(topology->numDevices(), "device") << " in " << plural(topology->nodes, "node");
  if (topology->isHomogeneous())
    out << " on " << plural(static_cast<int64_t>(topology->levels.size()), "level")
        << " of links\n";
  else
    out << " in " << plural(static_cast<int64_t>(topology->parts.size()), "part") << "\n";
  return 0;
}

// Writes the description to the file, or to `out` if no file is given.
static int writeDescription(const SystemDescription &system, const std::string &head,
                            const std::string &outputFile, llvm::raw_ostream &out,
                            llvm::raw_ostream &errors) {
  std::string text = head + printDescription(system);
  if (outputFile.empty()) {
    out << text;
    return 0;
  }
  Status written = writeFileAtomically(outputFile, text);
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
