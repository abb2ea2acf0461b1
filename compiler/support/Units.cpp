// Parses and prints quantities with units, exactly, in decimal and binary prefixes.
#include "compiler/support/Units.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <charconv>
#include <cmath>
#include <tuple>

namespace dtc {
namespace {

// A unit of 10^exponent10 * 2^exponent2 base units.
struct Unit {
  llvm::StringRef name;
  int exponent10 = 0, exponent2 = 0;
  bool printed = true; // false for spellings that are only read
};

constexpr Unit byteUnits[] = {
    {"B"},          {"kB", 3},      {"MB", 6},      {"GB", 9},      {"TB", 12},     {"PB", 15},
    {"KiB", 0, 10}, {"MiB", 0, 20}, {"GiB", 0, 30}, {"TiB", 0, 40}, {"PiB", 0, 50},
};
constexpr Unit byteRateUnits[] = {
    {"B/s"},
    {"kB/s", 3},
    {"MB/s", 6},
    {"GB/s", 9},
    {"TB/s", 12},
    {"PB/s", 15},
    {"KiB/s", 0, 10, false},
    {"MiB/s", 0, 20, false},
    {"GiB/s", 0, 30, false},
    {"TiB/s", 0, 40, false},
    {"Mbit/s", 6, -3, false},
    {"Gbit/s", 9, -3, false},
    {"Tbit/s", 12, -3, false},
};
constexpr Unit flopRateUnits[] = {
    {"FLOP/s"},      {"kFLOP/s", 3},  {"MFLOP/s", 6},  {"GFLOP/s", 9},
    {"TFLOP/s", 12}, {"PFLOP/s", 15}, {"EFLOP/s", 18},
};
constexpr Unit timeUnits[] = {{"ns", -9}, {"us", -6}, {"ms", -3}, {"s"}};

struct Dimension {
  llvm::StringRef what; // "a size", for messages
  llvm::ArrayRef<Unit> units;
};

Dimension dimensionOf(Quantity quantity) {
  switch (quantity) {
  case Quantity::Bytes:
    return {"a number of bytes", byteUnits};
  case Quantity::BytesPerSecond:
    return {"a bandwidth", byteRateUnits};
  case Quantity::FlopsPerSecond:
    return {"a compute rate", flopRateUnits};
  case Quantity::Seconds:
    return {"a time", timeUnits};
  }
  assert(false && "all quantities are listed");
  return {};
}

std::string accepted(const Dimension &dimension) {
  std::string list;
  for (const Unit &unit : dimension.units)
    list += (list.empty() ? "" : ", ") + unit.name.str();
  return "write a number and a unit, one of " + list;
}

// Returns the length of a plain decimal number at the start of `text`: digits [. digits] [e [+-]
// digits].
size_t numberLength(llvm::StringRef text) {
  size_t at = 0;
  auto digits = [&] {
    size_t start = at;
    while (at < text.size() && llvm::isDigit(text[at]))
      ++at;
    return at - start;
  };
  size_t whole = digits(), fraction = 0;
  if (at < text.size() && text[at] == '.') {
    ++at;
    fraction = digits();
  }
  if (whole + fraction == 0)
    return 0;
  size_t mantissa = at;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-'))
      ++at;
    if (digits() == 0)
      at = mantissa;
  }
  return at;
}

// Returns `number` (as numberLength accepts it) times 10^exponent10 * 2^exponent2, rounded once:
// the decimal exponent is added to the text, and a power of two is exact. Returns nothing if the
// result is not a finite double.
std::optional<double> scaled(llvm::StringRef number, int exponent10, int exponent2) {
  size_t exponentAt = number.find_first_of("eE");
  llvm::StringRef mantissa = number.take_front(exponentAt);
  int64_t exponent = exponent10;
  if (exponentAt != llvm::StringRef::npos) {
    llvm::StringRef written = number.drop_front(exponentAt + 1);
    written.consume_front("+");
    int64_t value = 0;
    if (written.getAsInteger(10, value) || value < -100000 || value > 100000)
      return std::nullopt;
    exponent += value;
  }
  std::string text = mantissa.str() + "e" + std::to_string(exponent);
  double value = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  value = std::ldexp(value, exponent2);
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

std::string shortest(double value) {
  char buffer[512];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed).ptr;
  return std::string(buffer, end);
}

// Returns the shortest digits of `value` with the decimal point moved left by `places`: (5e10, 9)
// gives "50".
std::string shifted(double value, int decimals) {
  char buffer[64];
  auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  llvm::StringRef text(buffer, end - buffer);
  auto [mantissa, exponentText] = text.split('e');
  int exponent = 0;
  exponentText.consume_front("+");
  exponentText.getAsInteger(10, exponent);
  std::string digits =
      mantissa.take_front(1).str() + mantissa.drop_front(mantissa.size() > 1 ? 2 : 1).str();
  int point = exponent - decimals + 1; // digits before the point
  if (point <= 0)
    return "0." + std::string(-point, '0') + digits;
  if (static_cast<size_t>(point) >= digits.size())
    return digits + std::string(point - digits.size(), '0');
  return digits.substr(0, point) + "." + digits.substr(point);
}

double inUnit(double value, const Unit &unit) {
  return std::ldexp(value, -unit.exponent2) / std::pow(10.0, unit.exponent10);
}

} // namespace

Result<double> parseQuantity(llvm::StringRef text, Quantity quantity) {
  Dimension dimension = dimensionOf(quantity);
  llvm::StringRef trimmed = text.trim();
  auto fail = [&](const std::string &why) {
    return UserError("'" + text.str() + "' is not " + dimension.what.str() + ": " + why,
                     accepted(dimension));
  };
  if (trimmed.starts_with("-"))
    return fail("it is negative");
  size_t length = numberLength(trimmed);
  if (length == 0)
    return fail("it does not start with a number");
  llvm::StringRef number = trimmed.take_front(length), name = trimmed.drop_front(length).ltrim();
  if (name.empty())
    return fail("it has no unit");
  for (const Unit &unit : dimension.units) {
    if (unit.name != name)
      continue;
    std::optional<double> value = scaled(number, unit.exponent10, unit.exponent2);
    if (!value)
      return fail("the number is out of range");
    return *value;
  }
  std::string why = "'" + name.str() + "' is not one of its units";
  if (quantity == Quantity::BytesPerSecond &&
      (name == "Gb/s" || name == "Gbps" || name == "Mb/s" || name == "Tb/s"))
    why += "; bits are written 'Gbit/s', bytes 'GB/s'";
  return fail(why);
}

Result<int64_t> parseBytes(llvm::StringRef text) {
  llvm::StringRef trimmed = text.trim();
  std::string plain;
  if (!trimmed.empty() && numberLength(trimmed) == trimmed.size()) {
    plain = trimmed.str() + " B";
    trimmed = plain;
  }
  Result<double> value = parseQuantity(trimmed, Quantity::Bytes);
  if (!value)
    return value.error();
  if (*value != std::floor(*value))
    return UserError("'" + text.str() + "' is " + shortest(*value) +
                     " bytes, which is not a whole number");
  if (*value >= std::ldexp(1.0, 62))
    return UserError("'" + text.str() +
                     "' is more bytes than can be counted: the limit is 4096 PiB");
  return static_cast<int64_t>(*value);
}

std::string printExact(double value, Quantity quantity) {
  std::string best;
  std::tuple<bool, size_t, size_t> bestRank;
  for (const Unit &unit : dimensionOf(quantity).units) {
    if (!unit.printed)
      continue;
    double amount = inUnit(value, unit);
    bool inRange = amount >= 1 && amount < (unit.exponent2 ? 1024 : 1000);
    std::string number = unit.exponent2 ? shortest(std::ldexp(value, -unit.exponent2))
                                        : shifted(value, unit.exponent10);
    std::tuple<bool, size_t, size_t> rank(!inRange, number.size(), unit.name.size());
    if (best.empty() || rank < bestRank) {
      best = number + " " + unit.name.str();
      bestRank = rank;
    }
  }
  return best;
}

std::string printRounded(double value, Quantity quantity, int digits) {
  Dimension dimension = dimensionOf(quantity);
  const Unit *chosen = nullptr;
  for (const Unit &unit : dimension.units) {
    bool wanted = unit.printed && (quantity != Quantity::Bytes || unit.exponent10 == 0);
    bool isBase = unit.exponent10 == 0 && unit.exponent2 == 0;
    if (wanted && (!chosen || inUnit(value, unit) >= 1 || (value == 0 && isBase)))
      chosen = &unit;
  }
  double amount = inUnit(value, *chosen);
  int whole = amount >= 1 ? static_cast<int>(std::floor(std::log10(amount))) + 1 : 1;
  char buffer[400];
  snprintf(buffer, sizeof(buffer), "%.*f", std::max(0, digits - whole), amount);
  llvm::StringRef text(buffer);
  if (text.contains('.'))
    text = text.rtrim('0').rtrim('.');
  return text.str() + " " + chosen->name.str();
}

} // namespace dtc
