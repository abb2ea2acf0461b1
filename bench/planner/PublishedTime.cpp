// Computes the seconds of a published step from the row's figures.
#include "bench/planner/Case.h"
#include "bench/planner/Sources.h"

namespace dtc::published {
namespace {

// The forward flops of one sample.
struct ForwardFlops {
  double layers = 0, attention = 0, head = 0; // attention: the two products of scores, in full
};

ForwardFlops forwardFlops(const ModelShape &model) {
  double s = static_cast<double>(model.sequence), h = static_cast<double>(model.width),
         wide = static_cast<double>(model.heads * model.headDim),
         keys = static_cast<double>(model.kvHeads * model.headDim),
         inner = static_cast<double>(model.inner), layers = static_cast<double>(model.layers),
         active = model.isMoe ? static_cast<double>(model.topK) : 1;
  ForwardFlops flops;
  flops.layers =
      layers * 2 * s * h * (2 * wide + 2 * keys + (model.isGated ? 3 : 2) * inner * active);
  flops.attention = layers * 4 * s * s * wide;
  flops.head = 2 * s * h * static_cast<double>(model.vocabulary);
  return flops;
}

double stepFlops(const Case &item) {
  ForwardFlops forward = forwardFlops(item.model);
  double batch = static_cast<double>(item.globalBatch);
  switch (ruleOf(*item.row).formula) {
  case FlopsFormula::Graph:
  case FlopsFormula::Parameters:
    return 3 * batch * (forward.layers + forward.attention + forward.head);
  case FlopsFormula::GraphRecomputed:
    return batch * (4 * (forward.layers + forward.attention) + 3 * forward.head);
  case FlopsFormula::Causal:
    return 3 * batch * (forward.layers + forward.attention / 2 + forward.head);
  }
  return 0;
}

} // namespace

void readPublishedTime(Case &item) {
  const Row &row = *item.row;
  double devices = static_cast<double>(item.decisions.devices());
  double tokens = static_cast<double>(item.globalBatch) * static_cast<double>(item.model.sequence);
  if (item.ranOutOfMemory)
    return;
  if (std::optional<double> seconds = row.number("step_time_s"); seconds && *seconds > 0) {
    item.seconds = *seconds;
    item.timeFrom = "step time";
  } else if (std::optional<double> rate = row.number("tokens_per_s_per_gpu"); rate && *rate > 0) {
    item.seconds = tokens / (*rate * devices);
    item.timeFrom = "tokens/s";
  } else if (std::optional<double> rate = row.number("tflops_per_gpu"); rate && *rate > 0) {
    item.seconds = stepFlops(item) / (*rate * 1e12 * devices);
    item.timeFrom = "TFLOP/s";
  } else if (std::optional<double> share = row.number("mfu"); share && *share > 0) {
    // Sources state utilisation against the 16-bit peak unless they give another figure.
    double peak = std::max(item.topology.device.peak(ComputeType::BF16),
                           item.topology.device.peak(ComputeType::F16));
    item.seconds = stepFlops(item) / (*share / 100 * peak * devices);
    item.timeFrom = "MFU";
  }
}

} // namespace dtc::published
