// The plugin libdtc_metrics.so: writes metrics with prometheus-cpp, whose exceptions end here.
//
// Its HTTP server is not used: the threads of Debian's civetweb have stacks of 100 kB, of which the
// thread-local memory of OpenBLAS takes 60, so that an answer of 404 ends the process.
#include "runtime/metrics/MetricsPlugin.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <exception>

namespace dtc::rt {
namespace {

prometheus::MetricFamily familyOf(const Metric &metric) {
  prometheus::MetricFamily family;
  family.name = metric.name;
  family.help = metric.help;
  family.type = metric.isCounter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
  for (const MetricSample &sample : metric.samples) {
    prometheus::ClientMetric &value = family.metric.emplace_back();
    for (const auto &[name, label] : sample.labels)
      value.label.push_back({name, label});
    (metric.isCounter ? value.counter.value : value.gauge.value) = sample.value;
  }
  return family;
}

} // namespace
} // namespace dtc::rt

extern "C" __attribute__((visibility("default"))) int dtcMetricsPluginVersion() {
  return dtc::rt::kMetricsPluginVersion;
}

extern "C" __attribute__((visibility("default"))) void
dtcMetricsText(const std::vector<dtc::rt::Metric> &metrics, std::string &text) {
  try {
    std::vector<prometheus::MetricFamily> families;
    for (const dtc::rt::Metric &metric : metrics)
      if (!metric.samples.empty())
        families.push_back(dtc::rt::familyOf(metric));
    text = prometheus::TextSerializer().Serialize(families);
  } catch (const std::exception &) {
    text.clear();
  }
}
