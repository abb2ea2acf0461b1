// Runs the ops of mixtures of experts without drops on small tensors, by their definitions.
#include "Interpreter.h"

#include "dialects/graph/ExchangeOps.h"
#include "dialects/graph/RouteOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

using namespace mlir;
using namespace dtc::graph;

namespace {

class RouteInterpreter {
public:
  explicit RouteInterpreter(Values &values) : values(values) {}

  void visit(RouteTokensOp op) {
    Tensor logits = values[op.getLogits()];
    int64_t experts = logits.dim(2), top = op.getTop();
    Tensor weights = Tensor::zeros(op.getWeights().getType()), chosen = weights;
    for (int64_t token = 0; token < logits.count(0, 2); ++token) {
      std::vector<double> s = scoresOf(op.getScore(), logits, token), value = s;
      for (int64_t e = 0; op.getBias() && e < experts; ++e)
        value[e] += values[op.getBias()].data[e];
      keepGroups(op, value);
      std::vector<int64_t> order = bestFirst(value);
      double sum = op.getEpsilon().convertToDouble();
      for (int64_t k = 0; k < top; ++k)
        sum += s[order[k]];
      for (int64_t k = 0; k < top; ++k) {
        weights.data[token * top + k] =
            s[order[k]] / (op.getNormalised() ? sum : 1) * op.getScale().convertToDouble();
        chosen.data[token * top + k] = static_cast<double>(order[k]);
      }
    }
    values[op.getWeights()] = weights;
    values[op.getExperts()] = chosen;
  }

  // Differentiates the weights of the choice that was made by central differences of its formula.
  void visit(RouteGradOp op) {
    Tensor logits = values[op.getLogits()], chosen = values[op.getExperts()];
    Tensor dweights = values[op.getDweights()], out = Tensor::zeros(op.getType());
    int64_t experts = logits.dim(2), top = chosen.dim(2);
    auto objective = [&](int64_t token) {
      std::vector<double> s = scoresOf(op.getScore(), logits, token);
      double sum = op.getEpsilon().convertToDouble(), result = 0;
      for (int64_t k = 0; k < top; ++k)
        sum += s[static_cast<int64_t>(chosen.data[token * top + k])];
      for (int64_t k = 0; k < top; ++k)
        result += dweights.data[token * top + k] *
                  s[static_cast<int64_t>(chosen.data[token * top + k])] *
                  op.getScale().convertToDouble() / (op.getNormalised() ? sum : 1);
      return result;
    };
    constexpr double step = 1e-6;
    for (int64_t token = 0; token < logits.count(0, 2); ++token)
      for (int64_t e = 0; e < experts; ++e) {
        double &logit = logits.data[token * experts + e], kept = logit;
        logit = kept + step;
        double after = objective(token);
        logit = kept - step;
        out.data[token * experts + e] = (after - objective(token)) / (2 * step);
        logit = kept;
      }
    values[op.getResult()] = out;
  }

  void visit(PlaceRowsOp op) {
    Tensor experts = values[op.getExperts()];
    Tensor rowOf = Tensor::zeros(op.getRowOf().getType());
    Tensor counts = Tensor::zeros(op.getCounts().getType());
    std::vector<size_t> order(experts.data.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(experts.data[a], a) < std::pair(experts.data[b], b);
    });
    int64_t ofSample = experts.count(1, 3);
    int64_t samples = experts.dim(0), ofRank = counts.dim(1) / static_cast<int64_t>(op.getRanks());
    std::vector<int64_t> filled(op.getRanks() * samples, 0); // rows of each block
    for (size_t row = 0; row < order.size(); ++row) {
      int64_t block = static_cast<int64_t>(experts.data[order[row]]) / ofRank * samples +
                      static_cast<int64_t>(order[row]) / ofSample;
      rowOf.data[order[row]] = static_cast<double>(
          op.getRanks() == 1 ? static_cast<int64_t>(row) : block * ofSample + filled[block]++);
    }
    for (size_t i = 0; i < experts.data.size(); ++i)
      counts.data[i / ofSample * counts.dim(1) + static_cast<int64_t>(experts.data[i])] += 1;
    values[op.getRowOf()] = rowOf;
    values[op.getCounts()] = counts;
  }

  void visit(ExchangeOp op) { values[op.getResult()] = values[op.getX()]; }
  void visit(RoundRowsOp op) {
    Tensor rowOf = values[op.getRowOf()];
    int64_t choices = rowOf.count(1, 3), room = op.getRoom();
    for (double &row : rowOf.data) {
      int64_t block = static_cast<int64_t>(row) / choices, at = static_cast<int64_t>(row) % choices;
      bool isThere = at / room == static_cast<int64_t>(op.getRound());
      row = isThere ? static_cast<double>(block * room + at % room) : -1;
    }
    values[op.getResult()] = rowOf;
  }
  // Counts one row after the other.
  void visit(RoundCountsOp op) {
    Tensor counts = values[op.getCounts()], now = Tensor::zeros(op.getType());
    int64_t experts = op.getExperts(), row = 0;
    for (size_t i = 0; i < counts.data.size(); ++i) {
      row = static_cast<int64_t>(i) % experts == 0 ? 0 : row; // of another block
      for (double left = counts.data[i]; left > 0; --left, ++row)
        now.data[i] +=
            row / static_cast<int64_t>(op.getRoom()) == static_cast<int64_t>(op.getRound());
    }
    values[op.getResult()] = now;
  }
  void visit(PlaceBlocksOp op) {
    Tensor counts = values[op.getCounts()], rowOf = Tensor::zeros(op.getType());
    int64_t samples = counts.dim(0), experts = counts.dim(1), rows = rowOf.dim(2);
    int64_t ofRank = experts / rowOf.dim(0), next = 0;
    std::vector<int64_t> filled(rowOf.dim(0) * samples, 0);
    for (int64_t e = 0; e < experts; ++e)
      for (int64_t b = 0; b < samples; ++b)
        for (double i = 0; i < counts.data[b * experts + e]; ++i) {
          int64_t block = e / ofRank * samples + b;
          rowOf.data[block * rows + filled[block]++] = static_cast<double>(next++);
        }
    for (size_t block = 0; block < filled.size(); ++block)
      for (int64_t row = filled[block]; row < rows; ++row)
        rowOf.data[static_cast<int64_t>(block) * rows + row] = static_cast<double>(-1 - next++);
    values[op.getResult()] = rowOf;
  }
  void visit(SortRowsOp op) {
    Tensor blocks = values[op.getBlocks()], rows = Tensor::zeros(op.getType());
    eachRowIndex(values[op.getRowOf()], blocks.dim(3),
                 [&](int64_t row, int64_t ofBlock) { rows.data[row] = blocks.data[ofBlock]; });
    values[op.getResult()] = rows;
  }
  void visit(UnsortRowsOp op) {
    Tensor rows = values[op.getRows()], blocks = Tensor::zeros(op.getType());
    eachRowIndex(values[op.getRowOf()], rows.dim(3),
                 [&](int64_t row, int64_t ofBlock) { blocks.data[ofBlock] = rows.data[row]; });
    values[op.getResult()] = blocks;
  }

  void visit(PackRowsOp op) {
    Tensor tokens = values[op.getTokens()], rows = Tensor::zeros(op.getType());
    eachChoice(op, tokens.dim(2), [&](int64_t row, int64_t token, int64_t choice) {
      rows.data[row] = tokens.data[token] * weightOf(op.getWeights(), choice);
    });
    values[op.getResult()] = rows;
  }
  void visit(UnpackRowsOp op) {
    Tensor rows = values[op.getRows()], tokens = Tensor::zeros(op.getType());
    eachChoice(op, tokens.dim(2), [&](int64_t row, int64_t token, int64_t choice) {
      tokens.data[token] += rows.data[row] * weightOf(op.getWeights(), choice);
    });
    values[op.getResult()] = tokens;
  }
  void visit(UnpackWeightGradOp op) {
    Tensor rows = values[op.getRows()], tokens = values[op.getTokens()];
    Tensor grad = Tensor::zeros(op.getType());
    eachChoice(op, tokens.dim(2), [&](int64_t row, int64_t token, int64_t choice) {
      grad.data[choice] += rows.data[row] * tokens.data[token];
    });
    values[op.getResult()] = grad;
  }

  void visit(GroupedLinearOp op) {
    Tensor x = values[op.getX()], w = values[op.getWeight()], y = Tensor::zeros(op.getType());
    int64_t in = x.count(3, x.shape.size()), out = y.count(3, y.shape.size());
    eachRow(values[op.getCounts()], [&](int64_t row, int64_t e) {
      for (int64_t k = 0; k < in; ++k)
        for (int64_t n = 0; n < out; ++n)
          y.data[row * out + n] += x.data[row * in + k] * w.data[at(op, e, in, out, k, n)];
    });
    values[op.getResult()] = y;
  }
  void visit(GroupedLinearWeightGradOp op) {
    Tensor x = values[op.getX()], dy = values[op.getDy()], dw = Tensor::zeros(op.getType());
    int64_t in = x.count(3, x.shape.size()), out = dy.count(3, dy.shape.size());
    eachRow(values[op.getCounts()], [&](int64_t row, int64_t e) {
      for (int64_t k = 0; k < in; ++k)
        for (int64_t n = 0; n < out; ++n)
          dw.data[at(op, e, in, out, k, n)] += x.data[row * in + k] * dy.data[row * out + n];
    });
    values[op.getResult()] = dw;
  }

private:
  static std::vector<double> scoresOf(StringRef kind, const Tensor &logits, int64_t token) {
    int64_t experts = logits.dim(2);
    const double *row = &logits.data[token * experts];
    std::vector<double> s(experts);
    double sum = 0;
    for (int64_t e = 0; e < experts; ++e)
      sum += s[e] = kind == "softmax"   ? std::exp(row[e])
                    : kind == "sigmoid" ? 1 / (1 + std::exp(-row[e]))
                                        : std::sqrt(std::log1p(std::exp(row[e])));
    for (int64_t e = 0; kind == "softmax" && e < experts; ++e)
      s[e] /= sum;
    return s;
  }

  static std::vector<int64_t> bestFirst(const std::vector<double> &value) {
    std::vector<int64_t> order(value.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return std::pair(-value[a], a) < std::pair(-value[b], b);
    });
    return order;
  }

  static void keepGroups(RouteTokensOp op, std::vector<double> &value) {
    int64_t groups = op.getGroups(), size = static_cast<int64_t>(value.size()) / groups;
    std::vector<double> ofGroup(groups);
    for (int64_t g = 0; g < groups; ++g) {
      std::vector<double> members(value.begin() + g * size, value.begin() + (g + 1) * size);
      std::sort(members.begin(), members.end(), std::greater<>());
      ofGroup[g] = members[0] + (op.getMembers() == 2 ? members[1] : 0);
    }
    std::vector<int64_t> order = bestFirst(ofGroup);
    for (int64_t i = op.getKept(); i < groups; ++i)
      std::fill_n(value.begin() + order[i] * size, size, -HUGE_VAL);
  }

  double weightOf(Value weights, int64_t choice) {
    return weights ? values[weights].data[choice] : 1;
  }

  template <typename OpTy>
  void eachChoice(OpTy op, int64_t columns,
                  llvm::function_ref<void(int64_t, int64_t, int64_t)> meet) {
    Tensor rowOf = values[op.getRowOf()];
    for (size_t choice = 0; choice < rowOf.data.size(); ++choice)
      for (int64_t h = 0; h < columns && rowOf.data[choice] >= 0; ++h)
        meet(static_cast<int64_t>(rowOf.data[choice]) * columns + h,
             static_cast<int64_t>(choice) / rowOf.dim(2) * columns + h,
             static_cast<int64_t>(choice));
  }

  static void eachRowIndex(const Tensor &rowOf, int64_t columns,
                           llvm::function_ref<void(int64_t, int64_t)> meet) {
    for (size_t row = 0; row < rowOf.data.size(); ++row)
      for (int64_t h = 0; h < columns && rowOf.data[row] >= 0; ++h)
        meet(static_cast<int64_t>(rowOf.data[row]) * columns + h,
             static_cast<int64_t>(row) * columns + h);
  }

  static void eachRow(const Tensor &counts, llvm::function_ref<void(int64_t, int64_t)> meet) {
    int64_t row = 0;
    for (int64_t e = 0; e < counts.dim(1); ++e)
      for (int64_t b = 0; b < counts.dim(0); ++b)
        for (double i = 0; i < counts.data[b * counts.dim(1) + e]; ++i)
          meet(row++, e);
  }

  template <typename OpTy>
  static int64_t at(OpTy op, int64_t e, int64_t in, int64_t out, int64_t k, int64_t n) {
    return e * in * out + (op.getTransposed() ? n * in + k : k * out + n);
  }

  Values &values;
};

} // namespace

bool dtc::graph::interpretRoute(Operation *op, Values &values) {
  RouteInterpreter interpreter(values);
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<RouteTokensOp, RouteGradOp, PlaceRowsOp, PackRowsOp, UnpackRowsOp, UnpackWeightGradOp,
            GroupedLinearOp, GroupedLinearWeightGradOp, ExchangeOp, RoundRowsOp, RoundCountsOp,
            PlaceBlocksOp, SortRowsOp, UnsortRowsOp>([&](auto known) {
        interpreter.visit(known);
        return true;
      })
      .Default([](Operation *) { return false; });
}
