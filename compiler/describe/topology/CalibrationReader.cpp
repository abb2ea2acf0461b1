// Converts measured curves from TOML to points and back.
#include "compiler/describe/topology/CalibrationReader.h"

#include "compiler/describe/topology/Calibration.h"
#include "compiler/describe/topology/LevelReader.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <set>

namespace dtc {
namespace {

constexpr llvm::StringRef calibrationKeys[] = {"machine",  "software", "date",      "launches",
                                               "products", "memory",   "attention", "collectives"};
constexpr llvm::StringRef launchKeys[] = {"graph", "units", "time", "repeats", "spread"};
constexpr llvm::StringRef productKeys[] = {"type",  "m",    "n",       "k",     "batch",
                                           "units", "time", "repeats", "spread"};
constexpr llvm::StringRef memoryKeys[] = {"pattern", "bytes", "units", "time", "repeats", "spread"};
constexpr llvm::StringRef attentionKeys[] = {"type",    "sequence", "head_dim", "heads",
                                             "causal",  "backward", "units",    "time",
                                             "repeats", "spread"};
constexpr llvm::StringRef collectiveKeys[] = {"kind", "level",   "ranks", "bytes",
                                              "time", "repeats", "spread"};
constexpr int64_t maxSize = int64_t(1) << 31;  // size of a dimension
constexpr int64_t maxBytes = int64_t(1) << 50; // 1 PiB
constexpr int64_t maxCount = int64_t(1) << 31;
constexpr size_t maxPoints = 20000;                       // per kind
constexpr double leastSeconds = 1e-9, mostSeconds = 3600; // time of one run

class CalibrationReader {
public:
  CalibrationReader(const DeviceKind &device, llvm::ArrayRef<LinkLevel> levels, FirstError &errors)
      : errors(errors) {
    result.device = device;
    result.device.calibration = nullptr;
    result.levels = levels.vec();
  }

  std::shared_ptr<const Calibration> read(const toml::table &table);

private:
  void readProduct(const toml::table &table, const std::string &what);
  void readMemory(const toml::table &table, const std::string &what);
  void readAttention(const toml::table &table, const std::string &what);
  void readCollective(const toml::table &table, const std::string &what);
  void readLaunch(const toml::table &table, const std::string &what);
  Measured readTime(TableReader &reader);
  ComputeType readType(TableReader &reader, const std::string &what);
  int64_t readUnits(TableReader &reader);
  void checkLevel(TableReader &reader, const std::string &what, const CollectivePoint &point);

  template <typename Read>
  void readAll(TableReader &root, llvm::StringRef key, llvm::StringRef one, Read read);
  // Two points at the same place would contradict each other, or count twice.
  void checkNew(TableReader &reader, llvm::StringRef key, const std::string &what,
                std::vector<int64_t> coordinates);

  Calibration result;
  FirstError &errors;
  std::set<std::vector<int64_t>> known;
};

std::shared_ptr<const Calibration> CalibrationReader::read(const toml::table &table) {
  TableReader reader(table, "[calibration]", calibrationKeys, errors);
  result.machine = reader.word("machine", "");
  result.software = reader.word("software", "");
  result.date = reader.word("date", "");
  readAll(reader, "launches", "launch",
          [&](const toml::table &point, const std::string &what) { readLaunch(point, what); });
  readAll(reader, "products", "product",
          [&](const toml::table &point, const std::string &what) { readProduct(point, what); });
  readAll(reader, "memory", "memory point",
          [&](const toml::table &point, const std::string &what) { readMemory(point, what); });
  readAll(reader, "attention", "attention point",
          [&](const toml::table &point, const std::string &what) { readAttention(point, what); });
  readAll(reader, "collectives", "collective",
          [&](const toml::table &point, const std::string &what) { readCollective(point, what); });
  return std::make_shared<const Calibration>(std::move(result));
}

template <typename Read>
void CalibrationReader::readAll(TableReader &root, llvm::StringRef key, llvm::StringRef one,
                                Read read) {
  std::vector<const toml::table *> points = root.tables(key);
  if (points.size() > maxPoints)
    return root.fail(key, "'" + key.str() + "' of [calibration] has " +
                              std::to_string(points.size()) + " points, more than " +
                              std::to_string(maxPoints));
  known.clear();
  for (size_t i = 0; i < points.size() && !errors.error; ++i)
    read(*points[i], one.str() + " " + std::to_string(i + 1) + " of [calibration]");
}

void CalibrationReader::checkNew(TableReader &reader, llvm::StringRef key, const std::string &what,
                                 std::vector<int64_t> coordinates) {
  if (!errors.error && !known.insert(std::move(coordinates)).second)
    reader.fail(key, what + " repeats an earlier one", "leave out either");
}

void CalibrationReader::readLaunch(const toml::table &table, const std::string &what) {
  TableReader reader(table, what, launchKeys, errors);
  LaunchPoint point;
  point.graph = reader.flag("graph", false);
  point.units = readUnits(reader);
  point.time = readTime(reader);
  checkNew(reader, "time", what, {point.graph, point.units});
  result.launches.push_back(point);
}

Measured CalibrationReader::readTime(TableReader &reader) {
  Measured time;
  time.seconds = reader.quantity("time", Quantity::Seconds);
  if (!(time.seconds >= leastSeconds && time.seconds <= mostSeconds))
    reader.fail("time", "'time' is " + printExact(time.seconds, Quantity::Seconds) + ", wanted " +
                            printExact(leastSeconds, Quantity::Seconds) + " to " +
                            printExact(mostSeconds, Quantity::Seconds));
  time.repeats = reader.count("repeats", 1, maxCount, 1);
  time.spread = reader.number("spread", 0, 1e6, 0);
  return time;
}

ComputeType CalibrationReader::readType(TableReader &reader, const std::string &what) {
  auto type = static_cast<ComputeType>(reader.choice("type", kComputeTypeNames));
  if (!errors.error && result.device.peak(type) <= 0)
    reader.fail("type",
                what + " is of type '" + nameOf(type).str() +
                    "', which [device.peak] says the device does not compute in",
                "add '" + nameOf(type).str() + "' to [device.peak]");
  return type;
}

int64_t CalibrationReader::readUnits(TableReader &reader) {
  return reader.count("units", 1, result.device.computeUnits, result.device.computeUnits);
}

void CalibrationReader::readProduct(const toml::table &table, const std::string &what) {
  TableReader reader(table, what, productKeys, errors);
  ProductPoint point;
  point.type = readType(reader, what);
  point.m = reader.count("m", 1, maxSize);
  point.n = reader.count("n", 1, maxSize);
  point.k = reader.count("k", 1, maxSize);
  point.batch = reader.count("batch", 1, maxSize, 1);
  point.units = readUnits(reader);
  point.time = readTime(reader);
  checkNew(reader, "m", what,
           {static_cast<int64_t>(point.type), point.m, point.n, point.k, point.batch, point.units});
  result.products.push_back(point);
}

void CalibrationReader::readMemory(const toml::table &table, const std::string &what) {
  TableReader reader(table, what, memoryKeys, errors);
  MemoryPoint point;
  point.pattern = static_cast<MemoryPattern>(reader.choice("pattern", kMemoryPatternNames));
  point.bytes = reader.count("bytes", 1, maxBytes);
  point.units = readUnits(reader);
  point.time = readTime(reader);
  checkNew(reader, "bytes", what, {static_cast<int64_t>(point.pattern), point.bytes, point.units});
  result.memory.push_back(point);
}

void CalibrationReader::readAttention(const toml::table &table, const std::string &what) {
  TableReader reader(table, what, attentionKeys, errors);
  AttentionPoint point;
  point.type = readType(reader, what);
  point.sequence = reader.count("sequence", 1, maxSize);
  point.headDim = reader.count("head_dim", 1, 1 << 16);
  point.heads = reader.count("heads", 1, maxSize, 1);
  point.causal = reader.flag("causal", false);
  point.backward = reader.flag("backward", false);
  point.units = readUnits(reader);
  point.time = readTime(reader);
  // The number of heads is not a coordinate of the curve.
  checkNew(reader, "sequence", what,
           {static_cast<int64_t>(point.type), point.sequence, point.headDim, point.causal,
            point.backward, point.units});
  result.attention.push_back(point);
}

void CalibrationReader::readCollective(const toml::table &table, const std::string &what) {
  TableReader reader(table, what, collectiveKeys, errors);
  CollectivePoint point;
  point.kind = static_cast<CollectiveKind>(reader.choice("kind", kCollectiveKindNames));
  point.level = reader.word("level");
  point.ranks = reader.count("ranks", 2, 1 << 20);
  point.bytes = reader.count("bytes", 1, maxBytes);
  point.time = readTime(reader);
  checkLevel(reader, what, point);
  const auto *level = llvm::find_if(result.levels, [&](const LinkLevel &each) {
                        return each.name == point.level;
                      }).base();
  checkNew(
      reader, "bytes", what,
      {static_cast<int64_t>(point.kind), level - result.levels.data(), point.ranks, point.bytes});
  result.collectives.push_back(point);
}

void CalibrationReader::checkLevel(TableReader &reader, const std::string &what,
                                   const CollectivePoint &point) {
  if (errors.error)
    return;
  std::vector<llvm::StringRef> names;
  for (const LinkLevel &level : result.levels) {
    names.emplace_back(level.name);
    if (level.name != point.level)
      continue;
    // 0 means as many as there are.
    if (level.groupSize && point.ranks > level.groupSize)
      reader.fail("ranks", what + " is of " + std::to_string(point.ranks) + " ranks, but level '" +
                               level.name + "' joins " + std::to_string(level.groupSize));
    return;
  }
  std::string nearest = nearestName(point.level, names);
  reader.fail("level", what + " is on level '" + point.level + "', which the file has not",
              nearest.empty() ? "name a [[level]] of this file"
                              : "did you mean '" + nearest + "'?");
}

void printTime(const Measured &time, llvm::raw_ostream &out) {
  char spread[32];
  snprintf(spread, sizeof(spread), "%.3g", time.spread);
  llvm::StringRef text(spread);
  out << "time = " << quoteToml(printExact(time.seconds, Quantity::Seconds))
      << ", repeats = " << time.repeats << ", spread = " << text << " }";
}

// Prints "key = [", a line for each point, and "]".
template <typename Points, typename Print>
void printPoints(llvm::StringRef key, const Points &points, llvm::raw_ostream &out, Print print) {
  if (points.empty())
    return;
  out << key << " = [\n";
  for (const auto &point : points) {
    out << "  { ";
    print(point);
    printTime(point.time, out);
    out << ",\n";
  }
  out << "]\n";
}

} // namespace

std::shared_ptr<const Calibration> readCalibration(const toml::table &table,
                                                   const DeviceKind &device,
                                                   llvm::ArrayRef<LinkLevel> levels,
                                                   FirstError &errors) {
  return CalibrationReader(device, levels, errors).read(table);
}

void printCalibration(const Calibration &calibration, const std::string &prefix,
                      llvm::raw_ostream &out) {
  out << "\n[" << prefix << "calibration]\n";
  for (auto [key, text] :
       {std::pair("machine", &calibration.machine), std::pair("software", &calibration.software),
        std::pair("date", &calibration.date)})
    if (!text->empty())
      out << key << " = " << quoteToml(*text) << "\n";
  printPoints("launches", calibration.launches, out, [&](const LaunchPoint &point) {
    out << "graph = " << (point.graph ? "true" : "false") << ", units = " << point.units << ", ";
  });
  printPoints("products", calibration.products, out, [&](const ProductPoint &point) {
    out << "type = " << quoteToml(nameOf(point.type)) << ", m = " << point.m << ", n = " << point.n
        << ", k = " << point.k << ", batch = " << point.batch << ", units = " << point.units
        << ", ";
  });
  printPoints("memory", calibration.memory, out, [&](const MemoryPoint &point) {
    out << "pattern = " << quoteToml(nameOf(point.pattern)) << ", bytes = " << point.bytes
        << ", units = " << point.units << ", ";
  });
  printPoints("attention", calibration.attention, out, [&](const AttentionPoint &point) {
    out << "type = " << quoteToml(nameOf(point.type)) << ", sequence = " << point.sequence
        << ", head_dim = " << point.headDim << ", heads = " << point.heads
        << ", causal = " << (point.causal ? "true" : "false")
        << ", backward = " << (point.backward ? "true" : "false") << ", units = " << point.units
        << ", ";
  });
  printPoints("collectives", calibration.collectives, out, [&](const CollectivePoint &point) {
    out << "kind = " << quoteToml(nameOf(point.kind)) << ", level = " << quoteToml(point.level)
        << ", ranks = " << point.ranks << ", bytes = " << point.bytes << ", ";
  });
}

} // namespace dtc
