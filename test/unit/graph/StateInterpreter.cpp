// Runs batch norm on small tensors, from its definition.
#include "Interpreter.h"

#include "dialects/graph/StateOps.h"

#include <cmath>

using namespace mlir;
using namespace dtc::graph;

static void runBatchNorm(BatchNormaliseOp op, Values &values) {
  Tensor y = Tensor::zeros(op.getResult().getType()), mean = Tensor::zeros(op.getMean().getType());
  Tensor variance = mean, unbiased = mean;
  const Tensor x = values[op.getX()], w = values[op.getWeight()], b = values[op.getBias()];
  int64_t rows = x.dim(0), channels = x.dim(1),
          positions = x.count(2, static_cast<int64_t>(x.shape.size()));
  auto n = static_cast<double>(rows * positions);
  auto forChannel = [&](int64_t channel, auto body) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t position = 0; position < positions; ++position)
        body((row * channels + channel) * positions + position);
  };
  for (int64_t c = 0; c < channels; ++c) {
    forChannel(c, [&](int64_t at) { mean.data[c] += x.data[at] / n; });
    forChannel(c, [&](int64_t at) {
      variance.data[c] += (x.data[at] - mean.data[c]) * (x.data[at] - mean.data[c]) / n;
    });
    unbiased.data[c] = variance.data[c] * n / (n - 1);
    bool trains = op.getHeld().empty() || values[op.getHeld()[2]].data[0] > 0;
    double usedMean = trains ? mean.data[c] : values[op.getHeld()[0]].data[c];
    double used = trains ? variance.data[c] : values[op.getHeld()[1]].data[c];
    double slope = w.data[c] / std::sqrt(used + op.getEpsilon().convertToDouble());
    forChannel(c, [&](int64_t at) { y.data[at] = (x.data[at] - usedMean) * slope + b.data[c]; });
  }
  values[op.getResult()] = y;
  values[op.getMean()] = mean;
  values[op.getVariance()] = variance;
  values[op.getUnbiased()] = unbiased;
}

bool dtc::graph::interpretState(Operation *op, Values &values) {
  if (auto finish = dyn_cast<FinishOp>(op)) {
    Tensor x = values[finish.getX()];
    values[finish.getResult()] = x;
    return true;
  }
  auto norm = dyn_cast<BatchNormaliseOp>(op);
  if (norm)
    runBatchNorm(norm, values);
  return static_cast<bool>(norm);
}
