// Converts points to lines of words and back.
#include "compiler/measure/calibrate/Points.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace dtc {
namespace {

// Reads the words of one line in turn. Becomes false when one is missing or wrong.
class Words {
public:
  explicit Words(llvm::StringRef line) { line.split(words, ' ', -1, /*KeepEmpty=*/false); }

  llvm::StringRef next() { return at < words.size() ? words[at++] : (isGood = false, ""); }
  int64_t count() {
    int64_t value = 0;
    isGood &= !next().getAsInteger(10, value) && value >= 0;
    return value;
  }
  double number() {
    double value = 0;
    isGood &= llvm::to_float(next(), value);
    return value;
  }
  template <typename Kind> Kind name(int kinds) {
    llvm::StringRef word = next();
    for (int i = 0; i < kinds; ++i)
      if (nameOf(static_cast<Kind>(i)) == word)
        return static_cast<Kind>(i);
    isGood = false;
    return {};
  }
  Measured time() {
    Measured time;
    time.seconds = number();
    time.repeats = count();
    time.spread = number();
    isGood &= time.seconds > 0 && time.repeats > 0;
    return time;
  }
  bool isDone() const { return isGood && at == words.size(); }

private:
  llvm::SmallVector<llvm::StringRef, 12> words;
  size_t at = 0;
  bool isGood = true;
};

void printTime(const Measured &time, llvm::raw_ostream &out) {
  char text[96];
  snprintf(text, sizeof(text), " %.17g %lld %.6g\n", time.seconds,
           static_cast<long long>(time.repeats), time.spread);
  out << text;
}

bool readPoint(llvm::StringRef line, const std::string &level, Calibration &calibration) {
  Words words(line);
  llvm::StringRef kind = words.next();
  if (kind == "launch") {
    LaunchPoint point;
    point.units = words.count();
    point.time = words.time();
    calibration.launches.push_back(point);
  } else if (kind == "product") {
    ProductPoint point;
    point.type = words.name<ComputeType>(numComputeTypes);
    for (int64_t *size : {&point.m, &point.n, &point.k, &point.batch, &point.units})
      *size = words.count();
    point.time = words.time();
    calibration.products.push_back(point);
  } else if (kind == "memory") {
    MemoryPoint point;
    point.pattern = words.name<MemoryPattern>(numMemoryPatterns);
    point.bytes = words.count();
    point.units = words.count();
    point.time = words.time();
    calibration.memory.push_back(point);
  } else if (kind == "attention") {
    AttentionPoint point;
    point.type = words.name<ComputeType>(numComputeTypes);
    for (int64_t *size : {&point.sequence, &point.headDim, &point.heads, &point.units})
      *size = words.count();
    point.causal = words.count() != 0;
    point.backward = words.count() != 0;
    point.time = words.time();
    calibration.attention.push_back(point);
  } else if (kind == "collective") {
    CollectivePoint point;
    point.kind = words.name<CollectiveKind>(numCollectiveKinds);
    point.level = level;
    point.ranks = words.count();
    point.bytes = words.count();
    point.time = words.time();
    calibration.collectives.push_back(point);
  } else {
    return false;
  }
  return words.isDone();
}

} // namespace

std::string printPoints(const Calibration &calibration) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const LaunchPoint &point : calibration.launches) {
    out << "launch " << point.units;
    printTime(point.time, out);
  }
  for (const ProductPoint &point : calibration.products) {
    out << "product " << nameOf(point.type) << " " << point.m << " " << point.n << " " << point.k
        << " " << point.batch << " " << point.units;
    printTime(point.time, out);
  }
  for (const MemoryPoint &point : calibration.memory) {
    out << "memory " << nameOf(point.pattern) << " " << point.bytes << " " << point.units;
    printTime(point.time, out);
  }
  for (const AttentionPoint &point : calibration.attention) {
    out << "attention " << nameOf(point.type) << " " << point.sequence << " " << point.headDim
        << " " << point.heads << " " << point.units << " " << int(point.causal) << " "
        << int(point.backward);
    printTime(point.time, out);
  }
  for (const CollectivePoint &point : calibration.collectives) {
    out << "collective " << nameOf(point.kind) << " " << point.ranks << " " << point.bytes;
    printTime(point.time, out);
  }
  return text;
}

Status readPoints(llvm::StringRef text, const std::string &level, Calibration &calibration) {
  llvm::SmallVector<llvm::StringRef, 0> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (size_t i = 0; i < lines.size(); ++i)
    if (!readPoint(lines[i], level, calibration))
      return UserError("reading what the ranks measured: line " + std::to_string(i + 1) + " is '" +
                       lines[i].take_front(80).str() + "', which is no point");
  return {};
}

} // namespace dtc
