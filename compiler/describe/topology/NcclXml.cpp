// Reads NCCL's XML: system > cpu > pci > ... > pci > gpu > nvlink, and nic > net.
#include "compiler/describe/topology/NcclXml.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <pugixml.hpp>

#include <cstring>
#include <set>

namespace dtc {
namespace {

constexpr size_t maxDepth = 32, maxGpus = 1024, maxAdapters = 4096;
constexpr size_t maxLinks = 128; // links of one GPU: 72 GPUs and the switches between them

class XmlReader {
public:
  XmlReader(llvm::StringRef text, const std::string &path) : text(text), path(path) {
    inventory.source = "NCCL topology dump '" + path + "'";
    for (size_t at = text.find('\n'); at != llvm::StringRef::npos; at = text.find('\n', at + 1))
      lineStarts.push_back(at + 1);
  }

  Result<Inventory> read();

private:
  SourceLocation locationOf(ptrdiff_t offset) const;
  void fail(const pugi::xml_node &node, const std::string &message, const std::string &note = "") {
    if (!error)
      error = UserError(message, note, locationOf(node.offset_debug()));
  }
  // Returns a whole number, decimal or hexadecimal, or `fallback` if the attribute is absent or
  // empty.
  int64_t number(const pugi::xml_node &node, const char *key, int64_t low, int64_t high,
                 int64_t fallback);

  // Reads the elements below a cpu or pci. `bridges` lead to it.
  void readBelow(const pugi::xml_node &node, const pugi::xml_node &cpu,
                 std::vector<std::string> &bridges);
  void readPci(const pugi::xml_node &pci, const pugi::xml_node &cpu,
               std::vector<std::string> &bridges);
  void readGpu(const pugi::xml_node &gpu, const pugi::xml_node &pci, const pugi::xml_node &cpu,
               const std::vector<std::string> &bridges);
  void readNic(const pugi::xml_node &nic, const pugi::xml_node &pci, const pugi::xml_node &cpu,
               const std::vector<std::string> &bridges);

  llvm::StringRef text;
  const std::string &path;
  std::vector<size_t> lineStarts{0};
  std::optional<UserError> error;
  Inventory inventory;
  std::set<std::string> adapters; // NCCL lists an adapter without a PCI place below every cpu
};

SourceLocation XmlReader::locationOf(ptrdiff_t offset) const {
  if (offset < 0 || static_cast<size_t>(offset) > text.size())
    return {path, 0, 0};
  auto line = std::prev(llvm::upper_bound(lineStarts, static_cast<size_t>(offset)));
  return {path, line - lineStarts.begin() + 1, offset - static_cast<ptrdiff_t>(*line) + 1};
}

int64_t XmlReader::number(const pugi::xml_node &node, const char *key, int64_t low, int64_t high,
                          int64_t fallback) {
  llvm::StringRef value = llvm::StringRef(node.attribute(key).value()).trim();
  if (value.empty())
    return fallback;
  int64_t result = 0;
  if (!value.getAsInteger(0, result) && result >= low && result <= high)
    return result;
  fail(node, "'" + std::string(key) + "' of <" + node.name() + "> is '" +
                 value.take_front(40).str() + "', wanted a whole number from " +
                 std::to_string(low) + " to " + std::to_string(high));
  return fallback;
}

void XmlReader::readBelow(const pugi::xml_node &node, const pugi::xml_node &cpu,
                          std::vector<std::string> &bridges) {
  for (const pugi::xml_node &child : node.children()) {
    if (error)
      return;
    if (std::strcmp(child.name(), "pci") == 0)
      readPci(child, cpu, bridges);
    else if (std::strcmp(child.name(), "gpu") == 0)
      fail(child, "<gpu> is outside a <pci>", "write the file with NCCL_TOPO_DUMP_FILE");
    else if (std::strcmp(child.name(), "nic") == 0)
      readNic(child, pugi::xml_node(), cpu, bridges);
  }
}

void XmlReader::readPci(const pugi::xml_node &pci, const pugi::xml_node &cpu,
                        std::vector<std::string> &bridges) {
  if (bridges.size() >= maxDepth)
    return fail(pci, "<pci> is nested more than " + std::to_string(maxDepth) + " deep");
  for (const pugi::xml_node &child : pci.children()) {
    if (error)
      return;
    if (std::strcmp(child.name(), "gpu") == 0)
      readGpu(child, pci, cpu, bridges);
    else if (std::strcmp(child.name(), "nic") == 0)
      readNic(child, pci, cpu, bridges);
  }
  bridges.push_back(pci.attribute("busid").value());
  for (const pugi::xml_node &child : pci.children("pci"))
    if (!error)
      readPci(child, cpu, bridges);
  bridges.pop_back();
}

void XmlReader::readGpu(const pugi::xml_node &gpu, const pugi::xml_node &pci,
                        const pugi::xml_node &cpu, const std::vector<std::string> &bridges) {
  if (inventory.gpus.size() >= maxGpus)
    return fail(gpu, "there are more than " + std::to_string(maxGpus) + " GPUs");
  InventoryGpu result;
  result.host = cpu.attribute("host_hash").value();
  result.cpu = cpu.attribute("numaid").value();
  result.busId = pci.attribute("busid").value();
  result.bridges = bridges;
  result.pcieBandwidth =
      pcieBandwidth(pci.attribute("link_speed").value(), number(pci, "link_width", 0, 64, 0));
  int64_t dev = number(gpu, "dev", 0, 1 << 20, 0);
  result.rank = number(gpu, "rank", -1, 1 << 20, dev);
  if (result.rank < 0)
    result.rank = dev;
  result.vendor = static_cast<uint32_t>(number(pci, "vendor", 0, 0xffff, 0));
  result.device = static_cast<uint32_t>(number(pci, "device", 0, 0xffff, 0));
  result.computeCapability = number(gpu, "sm", 0, 10000, 0);
  result.location = locationOf(gpu.offset_debug());
  for (const pugi::xml_node &child : gpu.children()) {
    bool isXgmi = std::strcmp(child.name(), "xgmi") == 0;
    if (!isXgmi && std::strcmp(child.name(), "nvlink") != 0)
      continue;
    if (result.links.size() >= maxLinks)
      return fail(child, "<gpu> has more than " + std::to_string(maxLinks) + " links");
    InventoryLink link;
    link.target = child.attribute("target").value();
    link.count = number(child, "count", 0, 1024, 1);
    // PCI class 0x0680 is a bridge that is neither host nor PCI: an NVSwitch.
    link.toSwitch = number(child, "tclass", 0, 0xffffff, 0) >> 8 == 0x0680;
    result.infinityFabric = result.infinityFabric || isXgmi;
    result.links.push_back(std::move(link));
  }
  inventory.gpus.push_back(std::move(result));
}

void XmlReader::readNic(const pugi::xml_node &nic, const pugi::xml_node &pci,
                        const pugi::xml_node &cpu, const std::vector<std::string> &bridges) {
  int64_t vendor = number(pci, "vendor", 0, 0xffff, 0),
          pciClass = number(pci, "class", 0, 0xffffff, 0);
  for (const pugi::xml_node &net : nic.children("net")) {
    if (inventory.adapters.size() >= maxAdapters)
      return fail(net, "there are more than " + std::to_string(maxAdapters) + " adapters");
    InventoryAdapter adapter;
    adapter.host = cpu.attribute("host_hash").value();
    adapter.cpu = cpu.attribute("numaid").value();
    adapter.name = net.attribute("name").value();
    adapter.bridges = bridges;
    // The unit is Mbit/s.
    adapter.bandwidth = static_cast<double>(number(net, "speed", 0, 100'000'000, 0)) * 1e6 / 8;
    double latency = 0;
    if (llvm::to_float(net.attribute("latency").value(), latency) && latency > 0 && latency < 1e6)
      adapter.latency = latency * 1e-6;
    constexpr int64_t amazon = 0x1d0f, infiniBandClass = 0x0207;
    adapter.kind = vendor == amazon                     ? LinkKind::Efa
                   : (pciClass >> 8) == infiniBandClass ? LinkKind::InfiniBand
                                                        : LinkKind::Ethernet;
    std::string port = net.attribute("port").value();
    if (adapters.insert(adapter.host + "/" + adapter.name + "/" + port).second)
      inventory.adapters.push_back(std::move(adapter));
  }
}

Result<Inventory> XmlReader::read() {
  pugi::xml_document document;
  pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  if (!parsed)
    return UserError("reading XML: " + llvm::StringRef(parsed.description()).lower(),
                     "write the file with NCCL_TOPO_DUMP_FILE", locationOf(parsed.offset));
  pugi::xml_node system = document.child("system");
  if (!system)
    return UserError("'" + path + "' has no <system>: it is not a topology of NCCL",
                     "write one with NCCL_TOPO_DUMP_FILE=topology.xml", {path, 1, 1});
  int64_t version = number(system, "version", 0, 1 << 20, 1);
  if (!error && (version < 1 || version > 2)) // 2 is RCCL's
    fail(system, "'version' of <system> is " + std::to_string(version) + ", wanted 1 or 2");
  for (const pugi::xml_node &cpu : system.children("cpu")) {
    if (inventory.processor.empty())
      inventory.processor = cpu.attribute("vendor").value();
    std::vector<std::string> bridges;
    readBelow(cpu, cpu, bridges);
  }
  // NCCL writes <pci> without a <cpu> if it does not know the NUMA node.
  std::vector<std::string> bridges;
  for (const pugi::xml_node &pci : system.children("pci"))
    if (!error)
      readPci(pci, system, bridges);
  if (error)
    return *error;
  return inventory;
}

} // namespace

Result<Inventory> readNcclXml(llvm::StringRef text, const std::string &path) {
  return XmlReader(text, path).read();
}

} // namespace dtc
