#include "tools/dtrun/MetricsPage.h"

#include "runtime/base/Text.h"
#include "runtime/format/Printable.h"

#include <cstdio>
#include <ctime>

namespace dtc::rt {
namespace {

using format::text;

class Metrics {
public:
  void add(bool isKnown, const char *name, const char *help, double value) {
    if (isKnown)
      all.push_back({name, help, false, {{{}, value}}});
  }
  void count(bool isKnown, const char *name, const char *help, double value) {
    add(isKnown, name, help, value);
    if (isKnown)
      all.back().isCounter = true;
  }
  void begin(const char *name, const char *help) { all.push_back({name, help, false, {}}); }
  void sample(const char *label, std::string value, double number) {
    sample({{label, std::move(value)}}, number);
  }
  void sample(std::vector<std::pair<std::string, std::string>> labels, double number) {
    all.back().samples.push_back({std::move(labels), number});
  }

  std::vector<Metric> all;
};

void addSplit(const StepReport &report, Metrics &metrics) {
  std::optional<StepSplit> split = splitOf(report);
  metrics.begin("dtc_step_part_seconds", "Where rank 0's time of the last step went.");
  if (split) {
    metrics.sample("part", "compute", split->compute);
    metrics.sample("part", "exposed_communication", split->exposedComm);
    metrics.sample("part", "other", split->other);
  }
  metrics.sample("part", "input_wait", report.inputWait);
}

void addRanks(const RankLoads &loads, Metrics &metrics) {
  metrics.begin("dtc_rank_work_seconds",
                "Time of a step in which a rank computed, as a mean of about a second.");
  for (size_t rank = 0; rank < loads.work.size(); ++rank)
    metrics.sample("rank", text(rank), loads.work[rank]);
  metrics.add(loads.slowest >= 0, "dtc_slowest_rank", "The rank that computes longest.",
              loads.slowest);
  metrics.add(loads.slowest >= 0, "dtc_slowest_rank_excess_ratio",
              "Share of a step for which the slowest rank computes longer than the median one.",
              loads.excess);
  metrics.add(loads.straggler.rank >= 0, "dtc_straggler_rank",
              "The rank that has held the others up for some time; absent where none has.",
              loads.straggler.rank);
  metrics.add(loads.straggler.rank >= 0, "dtc_straggler_cost_ratio",
              "Share of a step that is lost by the straggler.", loads.straggler.costShare);
}

void addExperts(const StepReport &report, Metrics &metrics) {
  if (!report.experts)
    return;
  const ExpertLoads &loads = *report.experts;
  metrics.add(true, "dtc_expert_imbalance_ratio",
              "Most rows of a rank's experts over the mean, of the layer where that is most.",
              loads.imbalance);
  metrics.add(true, "dtc_expert_rounds",
              "Exchanges that a layer of experts took, of the layer that took most.",
              static_cast<double>(loads.rounds));
  metrics.add(report.result.hasLossBeside, "dtc_router_loss",
              "Losses of routers in the training loss: of uneven use and of large logits.",
              report.result.lossBeside);
  metrics.begin("dtc_expert_rows", "Rows of an expert in a step, as last measured.");
  for (size_t layer = 0; layer < loads.rows.size(); ++layer)
    for (size_t expert = 0; expert < loads.rows[layer].size(); ++expert)
      metrics.sample({{"layer", text(layer)}, {"expert", text(expert)}},
                     static_cast<double>(loads.rows[layer][expert]));
}

} // namespace

std::vector<Metric> metricsOf(const StepReport &report, const std::vector<BlockNorm> &norms) {
  const StepResult &result = report.result;
  Metrics metrics;
  metrics.add(true, "dtc_step", "The last step that ran.", static_cast<double>(report.step));
  metrics.add(result.hasLoss, "dtc_loss", "Training loss of the last step.", result.loss);
  metrics.add(result.hasGradNorm, "dtc_grad_norm", "Norm of all gradients, before clipping.",
              result.gradNorm);
  metrics.add(true, "dtc_learning_rate", "Learning rate of the last step.", report.learningRate);
  metrics.add(result.hasLossScale, "dtc_loss_scale", "Loss scale of the last step.",
              result.lossScale);
  metrics.count(result.hasSkippedSteps, "dtc_skipped_steps_total",
                "Steps that changed nothing, as gradients were not finite.", result.skippedSteps);
  metrics.count(true, "dtc_roll_backs_total",
                "Times that a loss took the run back to a checkpoint.",
                static_cast<double>(report.rollBacks));
  metrics.count(true, "dtc_skipped_batches_total", "Batches of data that roll-backs left out.",
                static_cast<double>(report.skippedBatches));
  metrics.add(true, "dtc_step_seconds", "Duration of the last step.", report.seconds);
  addSplit(report, metrics);
  metrics.add(true, "dtc_checkpoint_stall_seconds",
              "For how long training waited for checkpoints before the last step.",
              report.checkpointStall);
  metrics.add(true, "dtc_samples_per_second", "Samples a second, of the whole job.",
              report.samplesPerSecond);
  metrics.add(report.sequenceLength > 0, "dtc_tokens_per_second",
              "Tokens a second, of the whole job.",
              report.samplesPerSecond * static_cast<double>(report.sequenceLength));
  metrics.add(report.mfu >= 0, "dtc_mfu_ratio",
              "Model flops a second over the peak of all devices that the plan is for.",
              report.mfu);
  metrics.add(true, "dtc_memory_planned_bytes", "Device memory of rank 0, as planned.",
              static_cast<double>(report.peakMemoryBytes));
  metrics.add(report.residentBytes > 0, "dtc_memory_resident_bytes",
              "Host memory that rank 0's process has.", static_cast<double>(report.residentBytes));
  addRanks(report.loads, metrics);
  addExperts(report, metrics);
  metrics.add(true, "dtc_elapsed_seconds", "The job's time so far, of all its starts.",
              report.elapsed);
  metrics.begin("dtc_goodput_ratio", "Share of the job's time, by cause.");
  for (size_t i = 0; i < numSpent; ++i)
    metrics.sample("cause", nameOf(static_cast<Spent>(i)), report.goodput[i]);
  metrics.begin("dtc_param_norm", "Norm of the parameters of a block, as last measured.");
  for (const BlockNorm &norm : norms)
    metrics.sample("block", norm.block, norm.norm);
  return metrics.all;
}

Status MetricsPage::open(const Options &options, const std::string &model, int ranks) {
  DTC_RETURN_IF_ERROR(serveMetrics(options.metricsHost, options.metricsPort, server));
  run = {{"dtc_run_info",
          "The run: its value is 1.",
          false,
          {{{{"model", format::printable(model)}, {"version", kVersion}}, 1}}},
         {"dtc_run_steps",
          "The step at which the run ends.",
          false,
          {{{}, static_cast<double>(options.steps)}}},
         {"dtc_run_ranks", "Ranks of the job.", false, {{{}, static_cast<double>(ranks)}}}};
  // Publishes before the address is known, so that no scrape finds an empty page.
  publish();
  bool isSix = options.metricsHost.find(':') != std::string::npos;
  std::fprintf(stderr, "dtrun: metrics are at http://%s%s%s:%d/metrics\n", isSix ? "[" : "",
               options.metricsHost.c_str(), isSix ? "]" : "", server->port());
  return {};
}

void MetricsPage::write(const StepReport &report) {
  if (!server)
    return;
  if (!report.norms.empty())
    norms = report.norms;
  StepReport shown = report;
  if (shown.experts && shown.experts->rows.empty())
    shown.experts->rows = expertRows;
  else if (shown.experts)
    expertRows = shown.experts->rows;
  step = metricsOf(shown, norms);
  step.push_back({"dtc_last_step_timestamp_seconds",
                  "When the last step ended, since 1970.",
                  false,
                  {{{}, static_cast<double>(std::time(nullptr))}}});
  publish();
}

void MetricsPage::write(const EvaluationReport &report) {
  if (!server)
    return;
  evaluation = {{"dtc_eval_loss", "Loss of the last evaluation.", false, {{{}, report.loss}}},
                {"dtc_eval_step",
                 "The step after which it ran.",
                 false,
                 {{{}, static_cast<double>(report.step)}}}};
  publish();
}

void MetricsPage::publish() {
  std::vector<Metric> all = step;
  all.insert(all.end(), run.begin(), run.end());
  all.insert(all.end(), evaluation.begin(), evaluation.end());
  server->set(std::move(all));
}

} // namespace dtc::rt
