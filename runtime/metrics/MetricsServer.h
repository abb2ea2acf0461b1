// Serves the metrics of a run to Prometheus.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/metrics/MetricsPlugin.h"

#include <memory>
#include <string>
#include <vector>

namespace dtc::rt {

// A server of /metrics.
class MetricsServer {
public:
  virtual ~MetricsServer() = default; // ends serving
  // Returns the port.
  virtual int port() const = 0;
  // Sets the content of /metrics. Does not wait for readers.
  virtual void set(std::vector<Metric> metrics) = 0;
};

// Serves http://ADDRESS:PORT/metrics until `server` is destroyed; `address` is numeric, port 0 is
// any that is free. Unavailable if the plugin cannot be loaded, InvalidArgument if the server
// cannot listen at the address.
Status serveMetrics(const std::string &address, int port, std::unique_ptr<MetricsServer> &server);

} // namespace dtc::rt
