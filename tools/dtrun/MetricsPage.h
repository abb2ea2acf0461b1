// The metrics of the whole job, which rank 0 serves to Prometheus.
#pragma once

#include "runtime/metrics/MetricsServer.h"
#include "tools/dtrun/Options.h"
#include "tools/dtrun/Report.h"

#include <string>

namespace dtc::rt {

// Holds the last metrics of the run, of a step and of an evaluation.
class MetricsPage {
public:
  // Starts to serve, and prints the address on stderr. Only dtc_run_info gets `model` as a label.
  Status open(const Options &options, const std::string &model, int ranks);
  // Publishes the metrics of a step. Does nothing before open().
  void write(const StepReport &report);
  // Publishes the metrics of an evaluation. Does nothing before open().
  void write(const EvaluationReport &report);

private:
  void publish();

  std::unique_ptr<MetricsServer> server;
  std::vector<Metric> run, step, evaluation;
  std::vector<BlockNorm> norms;                 // as measured last
  std::vector<std::vector<int64_t>> expertRows; // by layer and expert, as gathered last
};

// Returns the metrics of a step. Unknown ones are left out.
std::vector<Metric> metricsOf(const StepReport &report, const std::vector<BlockNorm> &norms);

} // namespace dtc::rt
