#include "runtime/device/CpuFeatures.h"

#include "runtime/base/Text.h"

#include <string_view>

namespace dtc::rt {
namespace {

// __builtin_cpu_supports wants literals; it asks cpuid, and the operating system for the wide
// registers.
bool hasCpuFeature(std::string_view wanted) {
  __builtin_cpu_init();
#define DTC_CPU_FEATURE(name, builtin)                                                             \
  if (wanted == name)                                                                              \
    return __builtin_cpu_supports(builtin) != 0;
#include "runtime/format/CpuFeatures.def"
#undef DTC_CPU_FEATURE
  return false;
}

} // namespace

std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &wanted) {
  std::vector<std::string> missing;
  for (const std::string &name : wanted)
    if (!hasCpuFeature(name))
      missing.push_back(name);
  return missing;
}

Status checkCpuFeatures(const std::vector<std::string> &wanted) {
  std::string list;
  for (const std::string &name : missingCpuFeatures(wanted))
    list += (list.empty() ? "" : ", ") + name;
  if (list.empty())
    return {};
  return Status::unavailable(format::text(
      "the program's code needs processor features that this machine does not have: ", list,
      "; recompile with dtc on or for this machine"));
}

} // namespace dtc::rt
