// Writes points as TOML.
#include "CurvesFile.h"

#include <cstdarg>
#include <cstdio>
#include <utility>

namespace {

class Writer {
public:
  // Appends formatted text, as printf does.
  [[gnu::format(printf, 2, 3)]] void print(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char line[512];
    (void)std::vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    text += line;
  }

  // Writes "name = [", a line for each point, and "]", or nothing without points. `print` writes
  // the keys of a point, and `remark` a comment behind it for people.
  template <typename Points, typename Print, typename Remark>
  void list(const char *name, const Points &points, Print printPoint, Remark remark) {
    if (points.empty())
      return;
    print("%s = [\n", name);
    for (const auto &point : points) {
      print("  { ");
      printPoint(point);
      print("time = \"%.6g us\", repeats = %d, spread = %.3g },", point.time.seconds * 1e6,
            point.time.repeats, point.time.spread);
      std::string words = remark(point);
      if (!words.empty())
        print(" # %s", words.c_str());
      print("\n");
    }
    print("]\n");
  }

  std::string text;
};

// Returns a basic string of TOML.
std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      result += '\\';
    if (code < 0x20 || code == 0x7f) {
      char escape[8];
      (void)std::snprintf(escape, sizeof(escape), "\\u%04X", static_cast<unsigned>(code));
      result += escape;
    } else {
      result += c;
    }
  }
  return result + "\"";
}

long long wide(int64_t value) { return value; }

// Returns text such as "CUDA 13.0, cuBLASLt 13.0.2, driver 580.95.05".
std::string softwareOf(const CurvesHead &head) {
  const DeviceFacts &facts = head.facts;
  char text[192];
  int runtime = facts.runtime;
  (void)std::snprintf(text, sizeof(text), "CUDA %d.%d, cuBLASLt %lld.%lld.%lld, driver %s",
                      runtime / 1000, runtime % 1000 / 10, wide(facts.cublasLt / 10000),
                      wide(facts.cublasLt / 100 % 100), wide(facts.cublasLt % 100),
                      head.before.driver.empty() ? "unknown" : head.before.driver.c_str());
  return text;
}

void printMoment(Writer &out, const char *when, const Moment &moment) {
  if (moment.clockHz > 0)
    out.print("# %s: %.0f MHz, memory %.0f MHz, %.0f W of %.0f W, %.0f C\n", when,
              moment.clockHz / 1e6, moment.memoryClockHz / 1e6, moment.powerWatts,
              moment.powerLimitWatts, moment.celsius);
}

} // namespace

std::string curvesText(const CurvesHead &head, const MeasuredPoints &points) {
  const DeviceFacts &facts = head.facts;
  Writer out;
  out.print("# Written by tools/calibrate-gpu; \"dtc calibrate --curves\" puts it into a topology "
            "file.\n[calibration]\n");
  std::string count = facts.count > 1 ? ", one of " + std::to_string(facts.count) : "";
  out.text += "machine = " + quoted(facts.name + count) + "\n";
  out.text += "software = " + quoted(softwareOf(head)) + "\n";
  out.text += "date = " + quoted(head.date) + "\n";
  printMoment(out, "before", head.before);
  printMoment(out, "after", head.after);
  auto silent = [](const auto &) { return std::string(); };
  out.list(
      "launches", points.launches,
      [&](const MeasuredLaunch &point) {
        out.print("graph = %s, units = %d, ", point.graph ? "true" : "false", facts.units);
      },
      silent);
  out.list(
      "products", points.products,
      [&](const MeasuredProduct &point) {
        const Product &product = point.product;
        out.print("type = \"%s\", m = %lld, n = %lld, k = %lld, units = %d, ", nameOf(product.type),
                  wide(product.m), wide(product.n), wide(product.k), facts.units);
      },
      [](const MeasuredProduct &point) {
        return point.product.layer + ", " + nameOf(point.product.form);
      });
  out.list(
      "memory", points.memory,
      [&](const MeasuredMemory &point) {
        out.print("pattern = \"%s\", bytes = %lld, units = %d, ", point.pattern.c_str(),
                  wide(point.bytes), facts.units);
      },
      silent);
  std::string level = quoted(head.level);
  out.list(
      "collectives", points.collectives,
      [&](const MeasuredCollective &point) {
        out.print("kind = \"%s\", level = %s, ranks = %d, bytes = %lld, ", point.kind.c_str(),
                  level.c_str(), point.ranks, wide(point.bytes));
      },
      silent);
  return std::move(out.text);
}
