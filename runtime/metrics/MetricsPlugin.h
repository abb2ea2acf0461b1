// The interface between dtrun and libdtc_metrics.so, which has Prometheus' library and is opened
// only if a run serves metrics.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dtc::rt {

// One value of a metric.
struct MetricSample {
  std::vector<std::pair<std::string, std::string>> labels; // names and values
  double value = 0;
};

// A metric with all samples of one name: letters, digits and '_', with its unit at the end.
struct Metric {
  std::string name, help;
  bool isCounter = false; // if false the value may go down, too
  std::vector<MetricSample> samples;
};

// Raised when any type of this interface changes: both sides come from one build.
inline constexpr int kMetricsPluginVersion = 1;
using MetricsPluginVersion = int();
// Writes Prometheus' text format; empty if there is no memory for it.
using MetricsText = void(const std::vector<Metric> &metrics, std::string &text);
inline constexpr const char *kMetricsPluginVersionSymbol = "dtcMetricsPluginVersion";
inline constexpr const char *kMetricsTextSymbol = "dtcMetricsText";

} // namespace dtc::rt
