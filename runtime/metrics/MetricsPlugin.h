// The door between dtrun and libdtc_metrics.so, which has Prometheus' library and is opened only where
// a run serves anything.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dtc::rt {

struct MetricSample {
  std::vector<std::pair<std::string, std::string>> labels; // names and values
  double value = 0;
};

// Of one name: letters, digits and '_', with its unit at the end.
struct Metric {
  std::string name, help;
  bool isCounter = false; // else it may go down, too
  std::vector<MetricSample> samples;
};

// Raised when anything that crosses the door changes: both sides come from one build.
inline constexpr int kMetricsPluginVersion = 1;
using MetricsPluginVersion = int();
// Prometheus' text format; empty where there is no memory for it.
using MetricsText = void(const std::vector<Metric> &metrics, std::string &text);
inline constexpr const char *kMetricsPluginVersionSymbol = "dtcMetricsPluginVersion";
inline constexpr const char *kMetricsTextSymbol = "dtcMetricsText";

} // namespace dtc::rt
