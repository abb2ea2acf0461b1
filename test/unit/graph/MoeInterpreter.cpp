// Runs the ops of a mixture of experts on small tensors, by their definitions.
#include "Interpreter.h"

#include "dialects/graph/Moe.h"
#include "dialects/graph/MoeOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace dtc::graph;

namespace {

// Returns the softmax over the last dim.
std::vector<double> softmaxOf(const Tensor &logits) {
  std::vector<double> p(logits.data.size());
  int64_t width = logits.dim(-1);
  for (size_t begin = 0; begin < p.size(); begin += width) {
    double sum = 0;
    for (int64_t e = 0; e < width; ++e)
      sum += std::exp(logits.data[begin + e]);
    for (int64_t e = 0; e < width; ++e)
      p[begin + e] = std::exp(logits.data[begin + e]) / sum;
  }
  return p;
}

class MoeInterpreter {
public:
  explicit MoeInterpreter(Values &values) : values(values) {}

  void visit(MoeRouterOp op) {
    Tensor logits = values[op.getLogits()];
    std::vector<double> p = softmaxOf(logits);
    int64_t sequence = logits.dim(1), experts = logits.dim(2), top = op.getTop();
    Tensor weights = Tensor::zeros(op.getWeights().getType()), chosen = weights, slots = weights;
    Tensor load = Tensor::zeros(op.getLoad().getType()), importance = load;
    std::vector<double> taken(experts);
    for (int64_t token = 0; token < logits.count(0, 2); ++token) {
      if (token % static_cast<int64_t>(op.getGroup()) == 0)
        std::fill(taken.begin(), taken.end(), 0);
      std::vector<int64_t> order(experts);
      std::iota(order.begin(), order.end(), 0);
      const double *row = &p[token * experts];
      std::sort(order.begin(), order.end(),
                [&](int64_t a, int64_t b) { return row[a] != row[b] ? row[a] > row[b] : a < b; });
      double sum = 0;
      for (int64_t k = 0; k < top; ++k)
        sum += row[order[k]];
      int64_t sample = token / sequence;
      for (int64_t k = 0; k < top; ++k) {
        weights.data[token * top + k] = row[order[k]] / (op.getNormalised() ? sum : 1);
        chosen.data[token * top + k] = static_cast<double>(order[k]);
        slots.data[token * top + k] = taken[order[k]]++;
        load.data[sample * experts + order[k]] += 1;
      }
      for (int64_t e = 0; e < experts; ++e)
        importance.data[sample * experts + e] += row[e];
    }
    values[op.getWeights()] = weights;
    values[op.getExperts()] = chosen;
    values[op.getSlots()] = slots;
    values[op.getLoad()] = load;
    values[op.getImportance()] = importance;
  }

  void visit(MoeRouterGradOp op) {
    Tensor logits = values[op.getLogits()], chosen = values[op.getExperts()];
    std::vector<double> p = softmaxOf(logits);
    int64_t sequence = logits.dim(1), experts = logits.dim(2), top = chosen.dim(2);
    Tensor out = Tensor::zeros(op.getType());
    for (int64_t token = 0; token < logits.count(0, 2); ++token) {
      const double *row = &p[token * experts];
      std::vector<double> dp(experts, 0.0);
      if (op.getDimportance())
        for (int64_t e = 0; e < experts; ++e)
          dp[e] += values[op.getDimportance()].data[token / sequence * experts + e];
      if (op.getDweights()) {
        const double *dw = &values[op.getDweights()].data[token * top];
        const double *choice = &chosen.data[token * top];
        double sum = 0, mean = 0;
        for (int64_t k = 0; k < top; ++k)
          sum += row[static_cast<int64_t>(choice[k])];
        for (int64_t k = 0; k < top; ++k)
          mean += dw[k] * row[static_cast<int64_t>(choice[k])] / sum;
        for (int64_t k = 0; k < top; ++k)
          dp[static_cast<int64_t>(choice[k])] += op.getNormalised() ? (dw[k] - mean) / sum : dw[k];
      }
      double dot = 0;
      for (int64_t e = 0; e < experts; ++e)
        dot += dp[e] * row[e];
      for (int64_t e = 0; e < experts; ++e)
        out.data[token * experts + e] = row[e] * (dp[e] - dot);
    }
    values[op.getResult()] = out;
  }

  void visit(MoeBalanceLossOp op) {
    Tensor load = values[op.getLoad()], importance = values[op.getImportance()];
    Tensor loss = Tensor::zeros(op.getType());
    int64_t experts = load.dim(1);
    auto tokens = static_cast<double>(op.getTokens());
    for (size_t i = 0; i < load.data.size(); ++i)
      loss.data[i / experts] += op.getCoefficient().convertToDouble() * experts * load.data[i] /
                                tokens * importance.data[i] / tokens;
    values[op.getResult()] = loss;
  }

  void visit(MoeDispatchOp op) {
    Tensor tokens = values[op.getTokens()], rows = Tensor::zeros(op.getType());
    eachRow(op, rows, tokens, [&](int64_t row, int64_t token, int64_t choice) {
      rows.data[row] += tokens.data[token] * weightOf(op.getWeights(), choice);
    });
    values[op.getResult()] = rows;
  }

  void visit(MoeCombineOp op) {
    Tensor rows = values[op.getRows()], tokens = Tensor::zeros(op.getType());
    eachRow(op, rows, tokens, [&](int64_t row, int64_t token, int64_t choice) {
      tokens.data[token] += rows.data[row] * weightOf(op.getWeights(), choice);
    });
    values[op.getResult()] = tokens;
  }

  void visit(MoeWeightGradOp op) {
    Tensor rows = values[op.getRows()], tokens = values[op.getTokens()];
    Tensor grad = Tensor::zeros(op.getType());
    eachRow(op, rows, tokens, [&](int64_t row, int64_t token, int64_t choice) {
      grad.data[choice] += rows.data[row] * tokens.data[token];
    });
    values[op.getResult()] = grad;
  }

  void visit(ExpertLinearOp op) {
    Tensor x = values[op.getX()], w = values[op.getWeight()], y = Tensor::zeros(op.getType());
    int64_t in = x.dim(-1), out = y.dim(-1), rows = x.count(1, -1);
    for (size_t i = 0; i < y.data.size(); ++i) {
      int64_t row = i / out, n = i % out, e = row / rows;
      for (int64_t k = 0; k < in; ++k)
        y.data[i] += x.data[row * in + k] *
                     w.data[e * in * out + (op.getTransposed() ? n * in + k : k * out + n)];
    }
    values[op.getResult()] = y;
  }

  void visit(ExpertLinearWeightGradOp op) {
    Tensor x = values[op.getX()], dy = values[op.getDy()], dw = Tensor::zeros(op.getType());
    int64_t in = x.dim(-1), out = dy.dim(-1), rows = x.count(1, -1);
    for (int64_t row = 0; row < x.count(0, -1); ++row)
      for (int64_t k = 0; k < in; ++k)
        for (int64_t n = 0; n < out; ++n)
          dw.data[row / rows * in * out + (op.getTransposed() ? n * in + k : k * out + n)] +=
              x.data[row * in + k] * dy.data[row * out + n];
    values[op.getResult()] = dw;
  }

private:
  double weightOf(Value weights, int64_t choice) {
    return weights ? values[weights].data[choice] : 1;
  }

  // Calls `meet` for every element of every choice that was not dropped, with its place in the
  // rows, in the tokens, and the choice.
  template <typename OpTy>
  void eachRow(OpTy op, const Tensor &rows, const Tensor &tokens,
               llvm::function_ref<void(int64_t, int64_t, int64_t)> meet) {
    Tensor chosen = values[op.getExperts()], slots = values[op.getSlots()];
    int64_t sequence = tokens.dim(1), columns = tokens.dim(2), top = chosen.dim(2);
    auto group = static_cast<int64_t>(op.getGroup());
    int64_t capacity = rows.dim(2) / (sequence / group);
    for (size_t choice = 0; choice < chosen.data.size(); ++choice) {
      if (slots.data[choice] >= capacity)
        continue;
      int64_t token = choice / top, sample = token / sequence, at = token % sequence;
      int64_t row =
          (static_cast<int64_t>(chosen.data[choice]) * rows.dim(1) + sample) * rows.dim(2) +
          at / group * capacity + static_cast<int64_t>(slots.data[choice]);
      for (int64_t h = 0; h < columns; ++h)
        meet(row * columns + h, token * columns + h, static_cast<int64_t>(choice));
    }
  }

  Values &values;
};

} // namespace

bool dtc::graph::interpretMoe(Operation *op, Values &values) {
  MoeInterpreter interpreter(values);
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<MoeRouterOp, MoeRouterGradOp, MoeBalanceLossOp, MoeDispatchOp, MoeCombineOp,
            MoeWeightGradOp, ExpertLinearOp, ExpertLinearWeightGradOp>([&](auto known) {
        interpreter.visit(known);
        return true;
      })
      .Default([](Operation *) { return false; });
}
