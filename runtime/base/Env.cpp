// Reads environment variables by the table in Env.def.
#include "runtime/base/Env.h"

#include "runtime/base/Text.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

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

std::string describeEnv() {
  std::string out;
  for (const EnvInfo &info : table)
    out += text("  ", info.name, " (", info.unit, ", default '", info.defaultValue,
                "'): ", info.sentence, "\n");
  return out;
}

} // namespace dtc::rt
