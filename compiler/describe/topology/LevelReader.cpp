// Reads and prints levels of links in topology files.
#include "compiler/describe/topology/LevelReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <charconv>
#include <functional>
#include <numeric>

namespace dtc {
namespace {

constexpr int64_t maxCount = int64_t(1) << 20;
constexpr size_t maxAxes = 6;
constexpr llvm::StringRef levelKeys[] = {"name",
                                         "kind",
                                         "shape",
                                         "group",
                                         "bandwidth",
                                         "latency",
                                         "in_network_reduction",
                                         "oversubscription",
                                         "shared_bandwidth",
                                         "subset_bandwidth",
                                         "dims",
                                         "axes",
                                         "wrap_from",
                                         "cross_rail"};
constexpr llvm::StringRef linkKeys[] = {"between", "kind", "bandwidth", "latency",
                                        "oversubscription"};
constexpr llvm::StringRef slowKeys[] = {"level", "nodes", "bandwidth", "latency"};
constexpr size_t maxSlowNodes = 4096; // nodes of one [[slow_link]]

// The keys that only one shape has.
struct ShapeKey {
  llvm::StringRef key;
  LinkShape shape;
};
constexpr ShapeKey shapeKeys[] = {{"shared_bandwidth", LinkShape::HostBridge},
                                  {"subset_bandwidth", LinkShape::Direct},
                                  {"dims", LinkShape::Torus},
                                  {"axes", LinkShape::Torus},
                                  {"wrap_from", LinkShape::Torus},
                                  {"cross_rail", LinkShape::Rail}};

std::string number(double value) {
  char buffer[64];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
}

// Reads `dims`, or makes as many zeros as `axes` gives.
void readAxes(TableReader &reader, const LevelContext &context, LinkLevel &level) {
  if (reader.has("dims")) {
    level.dims = reader.counts("dims", 1, maxCount, maxAxes);
    int64_t product = 1;
    for (int64_t dim : level.dims)
      product = std::min(maxCount + 1, product * dim);
    if (product > maxCount)
      reader.fail("dims", "'dims' of " + context.what + " are more than " +
                              std::to_string(maxCount) + " groups");
    if (reader.has("axes") || reader.has("group"))
      reader.fail(reader.has("axes") ? "axes" : "group",
                  "'dims' of " + context.what + " says already how many groups there are",
                  "leave out either");
    level.groupSize = product;
    return;
  }
  if (!reader.has("axes"))
    return reader.fail("shape", context.what + " is a torus without axes",
                       "write dims = [4, 4, 4], or axes = 3 for sizes that follow --nodes");
  level.dims.assign(static_cast<size_t>(reader.count("axes", 1, maxAxes)), 0);
}

// Reads "inside", for traffic that changes rails within the node, or a number, for traffic over the
// spine.
double readCrossRail(TableReader &reader) {
  if (!reader.has("cross_rail") || reader.isWord("cross_rail", "inside"))
    return 0;
  return reader.number("cross_rail", 1, 1000, 1,
                       "'inside', or the oversubscription of the spine, ");
}

void readShape(TableReader &reader, const LevelContext &context, LinkLevel &level) {
  for (const ShapeKey &each : shapeKeys)
    if (reader.has(each.key) && each.shape != level.shape)
      return reader.fail(each.key,
                         "'" + each.key.str() + "' of " + context.what + " is of shape '" +
                             nameOf(each.shape).str() + "', but the shape is '" +
                             nameOf(level.shape).str() + "'",
                         "leave it out, or write shape = \"" + nameOf(each.shape).str() + "\"");
  switch (level.shape) {
  case LinkShape::HostBridge:
    level.sharedBandwidth = reader.quantity("shared_bandwidth", Quantity::BytesPerSecond);
    break;
  case LinkShape::Direct:
    if (reader.has("subset_bandwidth")) {
      size_t wanted = static_cast<size_t>(std::max<int64_t>(level.groupSize, 1)) - 1;
      level.subsetBandwidth =
          reader.quantities("subset_bandwidth", Quantity::BytesPerSecond, wanted);
    }
    break;
  case LinkShape::Torus:
    level.wrapFrom = reader.count("wrap_from", 0, maxCount, 3);
    readAxes(reader, context, level);
    break;
  case LinkShape::Rail:
    level.crossRail = readCrossRail(reader);
    break;
  case LinkShape::Switch:
  case LinkShape::Dragonfly:
    break;
  }
}

void readRates(TableReader &reader, double discovered, LinkLevel &level) {
  if (reader.isWord("bandwidth", "discover")) {
    if (discovered <= 0 || level.kind != LinkKind::SharedMemory)
      reader.fail("bandwidth",
                  discovered <= 0 ? "'bandwidth' cannot be discovered for class 'gpu'"
                                  : "'bandwidth' can be discovered for kind 'shm' only",
                  "write the figure with its unit");
    level.bandwidth = discovered;
  } else {
    level.bandwidth = reader.quantity("bandwidth", Quantity::BytesPerSecond);
  }
  level.latency = reader.quantity("latency", Quantity::Seconds, /*zeroAllowed=*/true);
  level.oversubscription = reader.number("oversubscription", 1, 1000, 1);
}

} // namespace

LinkLevel readLevel(const toml::table &table, const LevelContext &context, FirstError &errors) {
  TableReader reader(table, context.what, levelKeys, errors);
  LinkLevel level;
  level.name = reader.word("name");
  level.kind = static_cast<LinkKind>(reader.choice("kind", kLinkNames));
  if (reader.has("shape"))
    level.shape = static_cast<LinkShape>(reader.choice("shape", kShapeNames));
  if (context.inCpuNode && (reader.has("group") || reader.has("dims")))
    reader.fail(
        reader.has("group") ? "group" : "dims",
        "the first level of class 'cpu' joins the processes of a node, however many they are",
        "leave '" + std::string(reader.has("group") ? "group" : "dims") + "' out");
  bool hasDims = level.shape == LinkShape::Torus && reader.has("dims");
  bool open = context.inCpuNode || context.mayBeOpen || hasDims;
  level.groupSize =
      reader.count("group", 1, maxCount, open ? std::optional<int64_t>(0) : std::nullopt);
  readRates(reader, context.discovered, level);
  level.inNetworkReduction = reader.flag("in_network_reduction", false);
  readShape(reader, context, level);
  return level;
}

LinkLevel readPartLink(const toml::table &table, llvm::ArrayRef<llvm::StringRef> parts,
                       std::string &first, std::string &second, FirstError &errors) {
  TableReader reader(table, "[[link]]", linkKeys, errors);
  LinkLevel level;
  level.name = "link";
  level.groupSize = 2;
  level.kind = static_cast<LinkKind>(reader.choice("kind", kLinkNames));
  readRates(reader, 0, level);
  if (!reader.has("between"))
    return level;
  std::vector<std::string> between = reader.words("between", 2);
  if (between.size() != 2)
    return level;
  for (const std::string &name : between)
    if (!llvm::is_contained(parts, name)) {
      std::string nearest = nearestName(name, parts);
      reader.fail("between", "'between' of [[link]] names '" + name + "', which is no [[part]]",
                  nearest.empty() ? "name two of the parts" : "did you mean '" + nearest + "'?");
    }
  if (between[0] == between[1])
    reader.fail("between", "'between' of [[link]] names '" + between[0] + "' twice",
                "name two parts; the levels inside a part are its own");
  first = between[0];
  second = between[1];
  return level;
}

SlowLinkDescription readSlowLink(const toml::table &table, const std::string &what,
                                 const SystemDescription &system, FirstError &errors) {
  TableReader reader(table, what, slowKeys, errors);
  SlowLinkDescription slow;
  slow.level = reader.word("level");
  slow.nodes = reader.counts("nodes", 0, system.nodes - 1, maxSlowNodes);
  llvm::sort(slow.nodes);
  slow.nodes.erase(std::unique(slow.nodes.begin(), slow.nodes.end()), slow.nodes.end());
  slow.bandwidth = reader.quantity("bandwidth", Quantity::BytesPerSecond);
  std::vector<llvm::StringRef> names;
  const LinkLevel *level = nullptr;
  for (const LinkLevel &each : system.levels) {
    names.push_back(each.name);
    level = each.name == slow.level ? &each : level;
  }
  if (!level) {
    std::string nearest = nearestName(slow.level, names);
    reader.fail("level",
                "'level' of " + what + " is '" + slow.level + "', which no [[level]] is named",
                nearest.empty() ? "name one of the levels" : "did you mean '" + nearest + "'?");
    return slow;
  }
  slow.latency = reader.has("latency")
                     ? reader.quantity("latency", Quantity::Seconds, /*zeroAllowed=*/true)
                     : level->latency;
  if (slow.bandwidth > level->bandwidth)
    reader.fail(
        "bandwidth",
        "'bandwidth' of " + what + " is " + printExact(slow.bandwidth, Quantity::BytesPerSecond) +
            ", more than the level's " + printExact(level->bandwidth, Quantity::BytesPerSecond),
        "write the quicker figure in the level, and a [[slow_link]] for the other nodes");
  if (slow.latency < level->latency)
    reader.fail("latency",
                "'latency' of " + what + " is " + printExact(slow.latency, Quantity::Seconds) +
                    ", less than the level's " + printExact(level->latency, Quantity::Seconds),
                "leave it out where it is the level's");
  return slow;
}

std::string quoteToml(llvm::StringRef text) {
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

void printLevel(const LinkLevel &level, llvm::raw_ostream &out) {
  auto rate = [](double value) { return quoteToml(printExact(value, Quantity::BytesPerSecond)); };
  out << "kind = " << quoteToml(nameOf(level.kind)) << "\n";
  if (level.shape != LinkShape::Switch)
    out << "shape = " << quoteToml(nameOf(level.shape)) << "\n";
  bool fixedDims = !level.dims.empty() && level.dims[0];
  if (fixedDims) {
    out << "dims = [";
    llvm::interleaveComma(level.dims, out);
    out << "]\n";
  } else if (!level.dims.empty()) {
    out << "axes = " << level.dims.size() << "\n";
  }
  if (level.groupSize && !fixedDims)
    out << "group = " << level.groupSize << "\n";
  out << "bandwidth = " << rate(level.bandwidth) << "\n"
      << "latency = " << quoteToml(printExact(level.latency, Quantity::Seconds)) << "\n";
  if (level.inNetworkReduction)
    out << "in_network_reduction = true\n";
  if (level.oversubscription != 1)
    out << "oversubscription = " << number(level.oversubscription) << "\n";
  if (level.shape == LinkShape::HostBridge)
    out << "shared_bandwidth = " << rate(level.sharedBandwidth) << "\n";
  if (!level.subsetBandwidth.empty()) {
    out << "subset_bandwidth = [";
    llvm::interleave(
        level.subsetBandwidth, out, [&](double value) { out << rate(value); }, ", ");
    out << "]\n";
  }
  if (level.shape == LinkShape::Torus && level.wrapFrom != 3)
    out << "wrap_from = " << level.wrapFrom << "\n";
  if (level.shape == LinkShape::Rail && level.crossRail > 0)
    out << "cross_rail = " << number(level.crossRail) << "\n";
}

void printSlowLink(const SlowLinkDescription &slow, llvm::raw_ostream &out) {
  out << "level = " << quoteToml(slow.level) << "\nnodes = [";
  llvm::interleaveComma(slow.nodes, out);
  out << "]\nbandwidth = " << quoteToml(printExact(slow.bandwidth, Quantity::BytesPerSecond))
      << "\nlatency = " << quoteToml(printExact(slow.latency, Quantity::Seconds)) << "\n";
}

} // namespace dtc
