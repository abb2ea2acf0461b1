// What a run serves to Prometheus.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/metrics/MetricsPlugin.h"

#include <memory>
#include <string>
#include <vector>

namespace dtc::rt {

class MetricsServer {
public:
  virtual ~MetricsServer() = default; // ends serving
  virtual int port() const = 0;
  // What /metrics says from now on. Does not wait for who reads.
  virtual void set(std::vector<Metric> metrics) = 0;
};

// Serves http://ADDRESS:PORT/metrics until `server` goes; an `address` is numeric, port 0 is any that
// is free. Unavailable where the plugin cannot be loaded, InvalidArgument where the address cannot be
// listened at.
Status serveMetrics(const std::string &address, int port, std::unique_ptr<MetricsServer> &server);

} // namespace dtc::rt
