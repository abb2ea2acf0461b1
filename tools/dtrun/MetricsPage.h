// What rank 0 serves to Prometheus of the whole job.
#pragma once

#include "runtime/metrics/MetricsServer.h"
#include "tools/dtrun/Options.h"
#include "tools/dtrun/Report.h"

#include <string>

namespace dtc::rt {

class MetricsPage {
public:
  // Serves from now on, and says on stderr where. `model` is a label of nothing but dtc_run_info.
  Status open(const Options &options, const std::string &model, int ranks);
  // Nothing where open() was not called.
  void write(const StepReport &report);
  void write(const EvaluationReport &report);

private:
  void publish();

  std::unique_ptr<MetricsServer> server;
  std::vector<Metric> run, step, evaluation;
  std::vector<BlockNorm> norms; // as last measured
};

// Of a step; what is not known is left out.
std::vector<Metric> metricsOf(const StepReport &report, const std::vector<BlockNorm> &norms);

} // namespace dtc::rt
