// Reads the environment variables in the table of Env.def.
#include "runtime/base/Env.h"

#include "runtime/base/Text.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace dtc::rt {
using format::text;

static constexpr EnvInfo table[] = {
#define DTC_ENV(id, name, default_, unit, sentence) {name, default_, unit, sentence},
#include "runtime/base/Env.def"
#undef DTC_ENV
};

std::span<const EnvInfo> envTable() { return table; }
const EnvInfo &envInfo(EnvVar variable) { return table[static_cast<size_t>(variable)]; }

std::string envText(EnvVar variable) {
  const EnvInfo &info = envInfo(variable);
  const char *value = std::getenv(info.name);
  return value && *value ? value : info.defaultValue;
}

template <typename T>
static Status parse(EnvVar variable, const char *wanted, bool (*accept)(T), T &value) {
  std::string found = envText(variable);
  T parsed{};
  auto [end, error] = std::from_chars(found.data(), found.data() + found.size(), parsed);
  if (error != std::errc() || end != found.data() + found.size() || !accept(parsed))
    return Status::invalidArgument(text("environment variable ", envInfo(variable).name, " is '",
                                        found, "'; wanted ", wanted, " (", envInfo(variable).unit,
                                        ")"));
  value = parsed;
  return Status::okStatus();
}

Status envUnsigned(EnvVar variable, uint64_t &value) {
  return parse<uint64_t>(
      variable, "a whole number, 0 or more", [](uint64_t) { return true; }, value);
}

Status envSeconds(EnvVar variable, double &seconds) {
  return parse<double>(
      variable, "a number above 0", [](double v) { return std::isfinite(v) && v > 0; }, seconds);
}

static Status checkVariable(EnvVar variable) {
  std::string_view unit = envInfo(variable).unit;
  uint64_t count = 0;
  double seconds = 0;
  if (unit == "seconds")
    return envSeconds(variable, seconds);
  if (unit == "0 or 1")
    return parse<uint64_t>(
        variable, "a digit", [](uint64_t digit) { return digit <= 1; }, count);
  // All other units are words, which only their readers know.
  for (const char *number : {"threads", "microseconds", "milliseconds", "bytes", "KiB",
                             "a whole number", "a version", "port"})
    if (unit == number)
      return envUnsigned(variable, count);
  return {};
}

Status checkEnv() {
  for (size_t i = 0; i < std::size(table); ++i)
    if (const char *value = std::getenv(table[i].name); value && *value)
      DTC_RETURN_IF_ERROR(checkVariable(static_cast<EnvVar>(i)));
  return {};
}

std::string describeEnv() {
  std::string out;
  for (const EnvInfo &info : table)
    out += text("  ", info.name, " (", info.unit, ", default '", info.defaultValue,
                "'): ", info.sentence, "\n");
  return out;
}

} // namespace dtc::rt
