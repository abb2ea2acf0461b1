// Quantities with units written out.
#include "compiler/topology/Units.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace dtc {
namespace {

struct Suffix {
  const char *text;
  double factor;
};

const std::vector<Suffix> &suffixesOf(Unit unit) {
  static const std::vector<Suffix> bytes{{"B", 1},          {"kB", 1e3},         {"MB", 1e6},         {"GB", 1e9},
                                         {"TB", 1e12},      {"KiB", 0x1p10},     {"MiB", 0x1p20},     {"GiB", 0x1p30},
                                         {"TiB", 0x1p40}};
  static const std::vector<Suffix> rates{{"B/s", 1},         {"kB/s", 1e3},        {"MB/s", 1e6},   {"GB/s", 1e9},
                                         {"TB/s", 1e12},     {"MiB/s", 0x1p20},    {"GiB/s", 0x1p30}, {"Mb/s", 1e6 / 8},
                                         {"Gb/s", 1e9 / 8},  {"Tb/s", 1e12 / 8}};
  static const std::vector<Suffix> flops{{"FLOP/s", 1}, {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}};
  static const std::vector<Suffix> seconds{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  switch (unit) {
  case Unit::Bytes:
    return bytes;
  case Unit::BytesPerSecond:
    return rates;
  case Unit::FlopsPerSecond:
    return flops;
  case Unit::Seconds:
    return seconds;
  }
  return bytes;
}

} // namespace

std::optional<double> parseQuantity(const std::string &text, Unit unit) {
  const char *begin = text.c_str();
  char *end = nullptr;
  double value = std::strtod(begin, &end);
  if (end == begin || !std::isfinite(value) || value < 0)
    return std::nullopt;
  while (*end == ' ')
    ++end;
  for (const Suffix &suffix : suffixesOf(unit))
    if (std::string(end) == suffix.text)
      return value * suffix.factor;
  return std::nullopt;
}

const char *examplesOf(Unit unit) {
  switch (unit) {
  case Unit::Bytes:
    return "'80 GB' or '24 GiB'";
  case Unit::BytesPerSecond:
    return "'450 GB/s' or '400 Gb/s'";
  case Unit::FlopsPerSecond:
    return "'989 TFLOP/s'";
  case Unit::Seconds:
    return "'1.5 us'";
  }
  return "";
}

std::string formatQuantity(double value, Unit unit) {
  struct Scale {
    double factor;
    const char *text;
  };
  static const Scale bytes[] = {{0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}, {1, "B"}};
  static const Scale rates[] = {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}};
  static const Scale flops[] = {{1e15, "PFLOP/s"}, {1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}, {1e6, "MFLOP/s"}, {1, "FLOP/s"}};
  static const Scale seconds[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}, {1e-9, "ns"}};
  const Scale *scales = unit == Unit::Bytes            ? bytes
                        : unit == Unit::BytesPerSecond ? rates
                        : unit == Unit::FlopsPerSecond ? flops
                                                       : seconds;
  int index = 0;
  while (index < 4 && std::fabs(value) < scales[index].factor)
    ++index;
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.4g %s", value / scales[index].factor, scales[index].text);
  return buffer;
}

} // namespace dtc
