// Runs graph ops on small tensors in double precision.
#include "Interpreter.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/ShapeOps.h"

#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace mlir;
using namespace dtc::graph;

Tensor Tensor::zeros(Type type) {
  Tensor tensor;
  tensor.shape.assign(cast<RankedTensorType>(type).getShape().begin(),
                      cast<RankedTensorType>(type).getShape().end());
  tensor.data.assign(tensor.count(0, static_cast<int64_t>(tensor.shape.size())), 0.0);
  return tensor;
}

int64_t Tensor::count(int64_t begin, int64_t end) const {
  if (end < 0)
    end += static_cast<int64_t>(shape.size());
  int64_t total = 1;
  for (int64_t i = begin; i < end; ++i)
    total *= shape[i];
  return total;
}

namespace {

// Computes c[i,j] (+)= sum over k of a(i,k) b(k,j), with both read through functions.
void product(int64_t m, int64_t n, int64_t k, Tensor &c, int64_t cBegin,
             llvm::function_ref<double(int64_t, int64_t)> a,
             llvm::function_ref<double(int64_t, int64_t)> b) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t l = 0; l < k; ++l)
        c.data[cBegin + i * n + j] += a(i, l) * b(l, j);
}

class Interpreter {
public:
  explicit Interpreter(Values &values) : values(values) {}

  void visit(LinearOp op) {
    const Tensor &x = in(op.getX()), &w = in(op.getWeight());
    int64_t lead = static_cast<int64_t>(x.shape.size()) - op.getContract();
    int64_t m = x.count(0, lead), k = x.count(lead, x.shape.size());
    Tensor &y = out(op.getResult());
    int64_t n = y.data.size() / m;
    product(
        m, n, k, y, 0, [&](int64_t i, int64_t l) { return x.data[i * k + l]; },
        [&](int64_t l, int64_t j) { return w.data[op.getTransposed() ? j * k + l : l * n + j]; });
  }

  void visit(LinearWeightGradOp op) {
    const Tensor &x = in(op.getX()), &dy = in(op.getDy());
    int64_t lead = static_cast<int64_t>(x.shape.size()) - op.getContract();
    int64_t rows = x.count(0, lead), k = x.data.size() / rows, n = dy.data.size() / rows;
    auto xt = [&](int64_t i, int64_t l) { return x.data[l * k + i]; };
    auto d = [&](int64_t l, int64_t j) { return dy.data[l * n + j]; };
    Tensor &dw = out(op.getResult());
    if (op.getTransposed())
      product(
          n, k, rows, dw, 0, [&](int64_t i, int64_t l) { return d(l, i); },
          [&](int64_t l, int64_t j) { return xt(j, l); });
    else
      product(k, n, rows, dw, 0, xt, d);
  }

  void visit(MatmulOp op) {
    const Tensor &a = in(op.getA()), &b = in(op.getB());
    Tensor &c = out(op.getResult());
    int64_t m = c.dim(-2), n = c.dim(-1), k = op.getTransposeA() ? a.dim(-2) : a.dim(-1);
    for (int64_t i = 0, batch = c.count(0, -2); i < batch; ++i)
      product(
          m, n, k, c, i * m * n,
          [&](int64_t r, int64_t l) {
            return a.data[i * m * k + (op.getTransposeA() ? l * m + r : r * k + l)];
          },
          [&](int64_t l, int64_t s) {
            return b.data[i * k * n + (op.getTransposeB() ? s * k + l : l * n + s)];
          });
  }

  void visit(EmbeddingOp op) {
    const Tensor &table = in(op.getTable()), &ids = in(op.getIds());
    Tensor &y = out(op.getResult());
    int64_t width = table.dim(1);
    for (size_t i = 0; i < ids.data.size(); ++i)
      for (int64_t c = 0; c < width; ++c)
        y.data[i * width + c] = table.data[static_cast<int64_t>(ids.data[i]) * width + c];
  }

  void visit(EmbeddingGradOp op) {
    const Tensor &ids = in(op.getIds()), &dy = in(op.getDy());
    Tensor &grad = out(op.getResult());
    int64_t width = grad.dim(1);
    for (size_t i = 0; i < ids.data.size(); ++i)
      for (int64_t c = 0; c < width && static_cast<uint64_t>(ids.data[i]) != op.getPadding(); ++c)
        grad.data[static_cast<int64_t>(ids.data[i]) * width + c] += dy.data[i * width + c];
  }

  void visit(LayerNormOp op) {
    norm(op.getX(), op.getResult(), op.getRstd(), op.getMean(), op.getEpsilon().convertToDouble(),
         &in(op.getWeight()), &in(op.getBias()));
  }
  void visit(RmsNormOp op) {
    norm(op.getX(), op.getResult(), op.getRstd(), Value(), op.getEpsilon().convertToDouble(),
         &in(op.getWeight()), nullptr);
  }
  void visit(LayerNormGradOp op) {
    normGrad(op.getX(), op.getMean(), op.getRstd(), op.getDy(), op.getWeight(), op.getResult());
  }
  void visit(RmsNormGradOp op) {
    normGrad(op.getX(), Value(), op.getRstd(), op.getDy(), op.getWeight(), op.getResult());
  }
  void visit(LayerNormParamGradOp op) {
    paramGrad(op.getX(), op.getMean(), op.getRstd(), op.getDy(), op.getDweight(), op.getDbias());
  }
  void visit(RmsNormParamGradOp op) {
    paramGrad(op.getX(), Value(), op.getRstd(), op.getDy(), op.getResult(), Value());
  }

  void visit(RotaryOp op) {
    const Tensor &x = in(op.getX()), &cos = in(op.getCos()), &sin = in(op.getSin());
    Tensor &y = out(op.getResult());
    int64_t times = x.dim(1), heads = x.dim(2), half = x.dim(3) / 2;
    double sign = op.getInverse() ? -1 : 1;
    for (int64_t row = 0, rows = x.count(0, 3); row < rows; ++row)
      for (int64_t i = 0; i < half; ++i) {
        int64_t position = row / heads % (cos.shape.size() == 3 ? x.count(0, 2) : times);
        int64_t table = position * half + i, first = row * 2 * half + i;
        double c = cos.data[table], s = sign * sin.data[table];
        y.data[first] = x.data[first] * c - x.data[first + half] * s;
        y.data[first + half] = x.data[first + half] * c + x.data[first] * s;
      }
  }

  // Returns the element of bias that is added to the score of query t and key s.
  static int64_t biasIndex(const Tensor &bias, int64_t b, int64_t h, int64_t t, int64_t s) {
    int64_t index = 0, coordinates[] = {b, h, t, s};
    for (int64_t dim = 0; dim < 4; ++dim)
      index = index * bias.dim(dim) + (bias.dim(dim) == 1 ? 0 : coordinates[dim]);
    return index;
  }

  // Returns the position of query 0, counted from the first key.
  template <typename OpTy> int64_t firstPosition(OpTy op) {
    if (!op.getStarts())
      return in(op.getK()).dim(1) - in(op.getQ()).dim(1);
    const Tensor &starts = in(op.getStarts());
    return static_cast<int64_t>(starts.data[0] - starts.data[1]);
  }

  // Returns whether query t of sample b sees key s.
  template <typename OpTy> bool sees(OpTy op, int64_t b, int64_t t, int64_t s) {
    int64_t position = t + firstPosition(op), prefix = op.getPrefix().value_or(0);
    if (op.getStarts())
      prefix -= static_cast<int64_t>(in(op.getStarts()).data[1]);
    bool isHidden = op.getCausal() && s > position && s >= prefix;
    if (std::optional<uint64_t> sliding = op.getSliding())
      isHidden |= s <= position - static_cast<int64_t>(*sliding);
    if (op.getLengths())
      isHidden |= s >= in(op.getLengths()).data[b];
    if (op.getDocuments()) {
      const Tensor &documents = in(op.getDocuments());
      const double *numbers = &documents.data[b * documents.dim(1)];
      isHidden |= numbers[s] != numbers[position];
    }
    return !isHidden;
  }

  // Returns the sum of exponentials of query row (b, h, t), of whose scores it is `ofScores`: with
  // a sink for attention, and that of lse for its gradient.
  double totalOf(AttentionOp op, int64_t, int64_t h, int64_t, double ofScores) {
    return op.getSinks() ? ofScores + std::exp(in(op.getSinks()).data[h]) : ofScores;
  }
  double totalOf(AttentionGradOp op, int64_t b, int64_t h, int64_t t, double) {
    const Tensor &lse = in(op.getLse());
    return std::exp(lse.data[(b * lse.dim(1) + h) * lse.dim(2) + t]);
  }

  // Returns the weights of query row (b, h, t), after softmax. `caps` are the derivatives of soft
  // caps.
  template <typename OpTy>
  std::vector<double> weights(OpTy op, int64_t b, int64_t h, int64_t t, double *lse,
                              std::vector<double> *caps = nullptr) {
    const Tensor &q = in(op.getQ()), &k = in(op.getK());
    int64_t keys = k.dim(1);
    std::vector<double> scores(keys);
    if (caps)
      caps->assign(keys, 1);
    double total = 0;
    for (int64_t s = 0; s < keys; ++s) {
      if (!sees(op, b, t, s))
        continue;
      for (int64_t d = 0; d < q.dim(3); ++d)
        scores[s] += q.data[at(q, b, t, h, d)] * k.data[at(k, b, s, kvHead(q, k, h), d)];
      scores[s] *= op.getScaleAttr().getValueAsDouble();
      if (FloatAttr cap = op.getSoftCapAttr()) {
        double part = std::tanh(scores[s] / cap.getValueAsDouble());
        scores[s] = part * cap.getValueAsDouble();
        if (caps)
          (*caps)[s] = 1 - part * part;
      }
      if (op.getBias())
        scores[s] += in(op.getBias()).data[biasIndex(in(op.getBias()), b, h, t, s)];
      if (op.getSlopes())
        scores[s] -= in(op.getSlopes()).data[h] * std::abs(t + firstPosition(op) - s);
      scores[s] = std::exp(scores[s]);
      total += scores[s];
    }
    total = totalOf(op, b, h, t, total);
    for (double &score : scores)
      score = total == 0 ? 0 : score / total;
    if (lse)
      *lse = std::log(total);
    return scores;
  }

  void visit(AttentionOp op) {
    const Tensor &q = in(op.getQ()), &v = in(op.getV());
    Tensor y = Tensor::zeros(op.getResult().getType()), lse = Tensor::zeros(op.getLse().getType());
    for (int64_t b = 0; b < q.dim(0); ++b)
      for (int64_t h = 0; h < q.dim(2); ++h)
        for (int64_t t = 0; t < q.dim(1); ++t) {
          std::vector<double> p =
              weights(op, b, h, t, &lse.data[(b * q.dim(2) + h) * q.dim(1) + t]);
          for (int64_t d = 0; d < v.dim(3); ++d)
            for (size_t s = 0; s < p.size(); ++s)
              y.data[at(y, b, t, h, d)] += p[s] * v.data[at(v, b, s, kvHead(q, v, h), d)];
        }
    values[op.getResult()] = y;
    values[op.getLse()] = lse;
  }

  // dS = P (dP - sum(P dP) + dlse) with dP = dout v^T.
  void visit(AttentionGradOp op) {
    Tensor q = in(op.getQ()), k = in(op.getK()), v = in(op.getV()), dy = in(op.getDout());
    Tensor dq = Tensor::zeros(op.getDq().getType()), dk = Tensor::zeros(op.getDk().getType()),
           dv = Tensor::zeros(op.getDv().getType()), dbias;
    if (op.getDbias())
      dbias = Tensor::zeros(op.getDbias().getType());
    double scale = op.getScale().convertToDouble();
    for (int64_t b = 0; b < q.dim(0); ++b)
      for (int64_t h = 0; h < q.dim(2); ++h)
        for (int64_t t = 0; t < q.dim(1); ++t) {
          std::vector<double> caps, p = weights(op, b, h, t, nullptr, &caps), dp(p.size());
          int64_t g = kvHead(q, k, h);
          double mean = 0;
          if (op.getDlse())
            mean = -in(op.getDlse()).data[(b * q.dim(2) + h) * q.dim(1) + t];
          for (size_t s = 0; s < p.size(); ++s) {
            for (int64_t d = 0; d < v.dim(3); ++d) {
              dp[s] += dy.data[at(dy, b, t, h, d)] * v.data[at(v, b, s, g, d)];
              dv.data[at(v, b, s, g, d)] += p[s] * dy.data[at(dy, b, t, h, d)];
            }
            mean += p[s] * dp[s];
          }
          for (size_t s = 0; s < p.size(); ++s) {
            double gradient = p[s] * (dp[s] - mean);
            if (op.getDbias())
              dbias.data[biasIndex(dbias, b, h, t, s)] += gradient;
            for (int64_t d = 0; d < q.dim(3); ++d) {
              double ds = gradient * caps[s] * scale;
              dq.data[at(q, b, t, h, d)] += ds * k.data[at(k, b, s, g, d)];
              dk.data[at(k, b, s, g, d)] += ds * q.data[at(q, b, t, h, d)];
            }
          }
        }
    values[op.getDq()] = dq;
    values[op.getDk()] = dk;
    values[op.getDv()] = dv;
    if (op.getDbias())
      values[op.getDbias()] = dbias;
  }

  void visit(CrossEntropyOp op) {
    Tensor x = in(op.getLogits()), t = in(op.getTargets());
    int64_t words = x.dim(-1);
    Tensor loss = Tensor::zeros(op.getLoss().getType()), lse = loss;
    for (size_t row = 0; row < t.data.size(); ++row) {
      double total = 0;
      for (int64_t w = 0; w < words; ++w)
        total += std::exp(x.data[row * words + w]);
      lse.data[row] = std::log(total);
      if (op.getIgnoring() && t.data[row] == static_cast<double>(*op.getIgnoring()))
        continue;
      loss.data[row] = lse.data[row] - x.data[row * words + static_cast<int64_t>(t.data[row])];
    }
    values[op.getLoss()] = loss;
    values[op.getLse()] = lse;
  }

  void visit(SumExpOp op) {
    const Tensor &x = in(op.getX()), &max = in(op.getMax());
    Tensor &sum = out(op.getResult());
    int64_t words = x.dim(-1);
    for (size_t i = 0; i < x.data.size(); ++i)
      sum.data[i / words] += std::exp(x.data[i] - max.data[i / words]);
  }

  void visit(PickOp op) {
    const Tensor &x = in(op.getX()), &t = in(op.getTargets());
    Tensor &y = out(op.getResult());
    for (size_t row = 0; row < t.data.size(); ++row)
      y.data[row] = x.data[row * x.dim(-1) + static_cast<int64_t>(t.data[row])];
  }

  void visit(CrossEntropyGradOp op) {
    const Tensor &x = in(op.getLogits()), &t = in(op.getTargets()), &lse = in(op.getLse()),
                 &d = in(op.getDloss());
    Tensor &grad = out(op.getResult());
    int64_t words = x.dim(-1);
    for (size_t i = 0; i < x.data.size(); ++i) {
      int64_t row = i / words, word = i % words;
      double hit = static_cast<int64_t>(t.data[row]) == word;
      if (op.getIgnoring() && t.data[row] == static_cast<double>(*op.getIgnoring()))
        continue;
      grad.data[i] = (std::exp(x.data[i] - lse.data[row]) - hit) * d.data[row];
    }
  }

  void visit(SoftmaxOp op) {
    const Tensor &x = in(op.getX());
    Tensor &y = out(op.getResult());
    int64_t width = x.dim(-1);
    for (size_t row = 0; row < x.data.size() / width; ++row) {
      double total = 0;
      for (int64_t i = 0; i < width; ++i)
        total += y.data[row * width + i] = std::exp(x.data[row * width + i]);
      for (int64_t i = 0; i < width; ++i)
        y.data[row * width + i] /= total;
    }
  }

  void visit(SoftmaxGradOp op) {
    const Tensor &y = in(op.getY()), &dy = in(op.getDy());
    Tensor &dx = out(op.getResult());
    int64_t width = y.dim(-1);
    for (size_t row = 0; row < y.data.size() / width; ++row) {
      double sum = 0;
      for (int64_t i = 0; i < width; ++i)
        sum += y.data[row * width + i] * dy.data[row * width + i];
      for (int64_t i = 0; i < width; ++i)
        dx.data[row * width + i] = (dy.data[row * width + i] - sum) * y.data[row * width + i];
    }
  }

  void visit(ReduceOp op) {
    const Tensor &x = in(op.getX());
    Tensor &y = out(op.getResult());
    bool isMax = op.getKind() == ReduceKind::Max;
    if (isMax)
      y.data.assign(y.data.size(), -INFINITY);
    for (size_t i = 0; i < x.data.size(); ++i) {
      double &target = y.data[position(
          x, i, [&](int64_t dim) { return !llvm::is_contained(op.getDims(), dim); })];
      target = isMax ? std::max(target, x.data[i]) : target + x.data[i];
    }
    double scale = op.getScale().convertToDouble();
    if (op.getKind() == ReduceKind::Mean)
      scale = static_cast<double>(y.data.size()) / x.data.size();
    for (double &value : y.data)
      value *= scale;
  }

  void visit(ReshapeOp op) {
    Tensor x = in(op.getX());
    out(op.getResult()).data = x.data;
  }

  void visit(TransposeOp op) {
    const Tensor &x = in(op.getX());
    Tensor &y = out(op.getResult());
    for (size_t i = 0; i < x.data.size(); ++i) {
      std::vector<int64_t> index = unflatten(x, i);
      int64_t target = 0;
      for (const auto &[dim, from] : llvm::enumerate(op.getPermutation()))
        target = target * y.shape[dim] + index[from];
      y.data[target] = x.data[i];
    }
  }

  void visit(SliceOp op) {
    const Tensor &x = in(op.getX());
    Tensor &y = out(op.getResult());
    int64_t inner = x.count(op.getDim() + 1, x.shape.size()), size = op.getSize();
    for (size_t i = 0; i < y.data.size(); ++i) {
      int64_t outer = i / (size * inner), rest = i % (size * inner);
      y.data[i] = x.data[(outer * x.dim(op.getDim()) + op.getStart()) * inner + rest];
    }
  }

  void visit(CumsumOp op) {
    const Tensor &x = in(op.getX());
    Tensor &y = out(op.getResult());
    int64_t size = x.dim(op.getDim()), inner = x.count(op.getDim() + 1, x.shape.size());
    for (int64_t i = 0; i < static_cast<int64_t>(y.data.size()); ++i) {
      int64_t at = i / inner % size;
      for (int64_t other = 0; other < size; ++other)
        if (op.getReverse() ? other >= at : other <= at)
          y.data[i] += x.data[i + (other - at) * inner];
    }
  }

  // Visits the elements of a result of gather, or of an operand of scatter_add, with the index of
  // each along the dim and the position of element `index` of the same line in a tensor of `size`.
  void forEachIndexed(const Tensor &of, const Tensor &index, int64_t dim, int64_t size,
                      llvm::function_ref<void(int64_t at, int64_t other)> body) {
    int64_t along = of.dim(dim), inner = of.count(dim + 1, of.shape.size());
    for (int64_t at = 0; at < static_cast<int64_t>(of.data.size()); ++at) {
      int64_t i = at / inner % along, row = at / inner / along;
      double chosen = index.data[index.shape.size() == of.shape.size() ? at : i];
      if (chosen >= 0 && chosen < static_cast<double>(size))
        body(at, (row * size + static_cast<int64_t>(chosen)) * inner + at % inner);
    }
  }

  void visit(GatherOp op) {
    const Tensor &x = in(op.getX()), &index = in(op.getIndex());
    Tensor &y = out(op.getResult());
    int64_t dim = static_cast<int64_t>(op.getDim());
    forEachIndexed(y, index, dim, x.dim(dim),
                   [&](int64_t at, int64_t other) { y.data[at] = x.data[other]; });
  }

  void visit(ScatterAddOp op) {
    const Tensor &u = in(op.getU()), &index = in(op.getIndex());
    Tensor &y = out(op.getResult());
    int64_t dim = static_cast<int64_t>(op.getDim());
    forEachIndexed(u, index, dim, y.dim(dim),
                   [&](int64_t at, int64_t other) { y.data[other] += u.data[at]; });
  }

  void visit(TopKOp op) {
    const Tensor &x = in(op.getX());
    Tensor &y = out(op.getValues()), &indices = out(op.getIndices());
    int64_t dim = static_cast<int64_t>(op.getDim()), size = x.dim(dim), count = y.dim(dim);
    int64_t inner = x.count(dim + 1, x.shape.size());
    for (int64_t line = 0; line < x.count(0, dim) * inner; ++line) {
      int64_t row = line / inner, column = line % inner;
      auto valueOf = [&](int64_t i) { return x.data[(row * size + i) * inner + column]; };
      std::vector<int64_t> order(size);
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        double first = valueOf(a), second = valueOf(b);
        return first == second ? a < b : (first < second) == op.getSmallest();
      });
      for (int64_t j = 0; j < count; ++j) {
        y.data[(row * count + j) * inner + column] = valueOf(order[j]);
        indices.data[(row * count + j) * inner + column] = static_cast<double>(order[j]);
      }
    }
  }

  void visit(PadOp op) {
    const Tensor &x = in(op.getX());
    Tensor &y = out(op.getResult());
    copyPart(x, op.getDim(), x.dim(op.getDim()), y, op.getLow());
  }

  void visit(ConcatOp op) {
    Tensor y = Tensor::zeros(op.getType());
    int64_t start = 0;
    for (Value input : op.getInputs()) {
      int64_t size = op.getStack() ? 1 : in(input).dim(op.getDim());
      copyPart(in(input), op.getDim(), size, y, start);
      start += size;
    }
    values[op.getResult()] = y;
  }

private:
  const Tensor &in(Value value) {
    EXPECT_TRUE(values.count(value)) << "a value is read before it is made";
    // Makes a copy, because references into the map are invalid after the next result.
    return inputs.emplace_back(std::make_unique<Tensor>(values[value])).operator*();
  }
  Tensor &out(Value value) { return values[value] = Tensor::zeros(value.getType()); }

  static int64_t at(const Tensor &x, int64_t b, int64_t t, int64_t h, int64_t d) {
    return ((b * x.dim(1) + t) * x.dim(2) + h) * x.dim(3) + d;
  }
  static int64_t kvHead(const Tensor &q, const Tensor &k, int64_t h) {
    return h / (q.dim(2) / k.dim(2));
  }

  static std::vector<int64_t> unflatten(const Tensor &x, size_t flat) {
    std::vector<int64_t> index(x.shape.size());
    for (size_t dim = index.size(); dim-- > 0; flat /= x.shape[dim])
      index[dim] = flat % x.shape[dim];
    return index;
  }
  // Returns the row-major position of an element of `x` in a tensor with only the dims that `keeps`
  // accepts.
  static int64_t position(const Tensor &x, size_t flat, llvm::function_ref<bool(int64_t)> keeps) {
    std::vector<int64_t> index = unflatten(x, flat);
    int64_t target = 0;
    for (size_t dim = 0; dim < index.size(); ++dim)
      if (keeps(dim))
        target = target * x.shape[dim] + index[dim];
    return target;
  }
  // Copies x, `size` elements along `dim`, into y from `start` on.
  static void copyPart(const Tensor &x, int64_t dim, int64_t size, Tensor &y, int64_t start) {
    int64_t inner = y.count(dim + 1, y.shape.size());
    for (size_t i = 0; i < x.data.size(); ++i)
      y.data[(i / (size * inner) * y.dim(dim) + start) * inner + i % (size * inner)] = x.data[i];
  }

  void norm(Value xValue, Value yValue, Value rstdValue, Value meanValue, double epsilon,
            const Tensor *weight, const Tensor *bias) {
    const Tensor &x = in(xValue);
    Tensor y = Tensor::zeros(yValue.getType()), rstd = Tensor::zeros(rstdValue.getType()),
           means = rstd;
    int64_t width = x.dim(-1);
    for (size_t row = 0; row < rstd.data.size(); ++row) {
      const double *first = &x.data[row * width];
      double mean = meanValue ? std::accumulate(first, first + width, 0.0) / width : 0, square = 0;
      for (int64_t i = 0; i < width; ++i)
        square += (first[i] - mean) * (first[i] - mean) / width;
      means.data[row] = mean;
      rstd.data[row] = 1 / std::sqrt(square + epsilon);
      for (int64_t i = 0; i < width; ++i)
        y.data[row * width + i] =
            (first[i] - mean) * rstd.data[row] * weight->data[i] + (bias ? bias->data[i] : 0);
    }
    values[yValue] = y;
    values[rstdValue] = rstd;
    if (meanValue)
      values[meanValue] = means;
  }

  void normGrad(Value xValue, Value meanValue, Value rstdValue, Value dyValue, Value wValue,
                Value dxValue) {
    const Tensor &x = in(xValue), &rstd = in(rstdValue), &dy = in(dyValue), &w = in(wValue);
    const Tensor *means = meanValue ? &in(meanValue) : nullptr;
    Tensor &dx = out(dxValue);
    int64_t width = x.dim(-1);
    for (size_t i = 0; i < x.data.size(); ++i) {
      int64_t row = i / width, begin = row * width;
      auto n = [&](int64_t j) {
        return (x.data[j] - (means ? means->data[row] : 0)) * rstd.data[row];
      };
      auto g = [&](int64_t j) { return dy.data[j] * w.data[j - begin]; };
      double sum = 0, dot = 0;
      for (int64_t j = begin; j < begin + width; ++j) {
        sum += means ? g(j) / width : 0;
        dot += g(j) * n(j) / width;
      }
      dx.data[i] = rstd.data[row] * (g(i) - sum - n(i) * dot);
    }
  }

  void paramGrad(Value xValue, Value meanValue, Value rstdValue, Value dyValue, Value dwValue,
                 Value dbValue) {
    const Tensor &x = in(xValue), &rstd = in(rstdValue), &dy = in(dyValue);
    const Tensor *means = meanValue ? &in(meanValue) : nullptr;
    Tensor dw = Tensor::zeros(dwValue.getType()), db = dw;
    int64_t width = x.dim(-1);
    for (size_t i = 0; i < x.data.size(); ++i) {
      int64_t row = i / width;
      dw.data[i % width] +=
          dy.data[i] * (x.data[i] - (means ? means->data[row] : 0)) * rstd.data[row];
      db.data[i % width] += dy.data[i];
    }
    values[dwValue] = dw;
    if (dbValue)
      values[dbValue] = db;
  }

  Values &values;
  std::vector<std::unique_ptr<Tensor>> inputs;
};

} // namespace

void dtc::graph::interpret(Operation *op, Values &values) {
  if (auto pointwise = dyn_cast<PointwiseOpInterface>(op))
    return interpretPoints(pointwise, values);
  if (interpretMoe(op, values) || interpretRoute(op, values) || interpretImage(op, values) ||
      interpretState(op, values))
    return;
  Interpreter interpreter(values);
  llvm::TypeSwitch<Operation *>(op)
      .Case<LinearOp, LinearWeightGradOp, MatmulOp, EmbeddingOp, EmbeddingGradOp, LayerNormOp,
            LayerNormGradOp, LayerNormParamGradOp, RmsNormOp, RmsNormGradOp, RmsNormParamGradOp,
            RotaryOp, AttentionOp, AttentionGradOp, CrossEntropyOp, SumExpOp, PickOp,
            CrossEntropyGradOp, SoftmaxOp, SoftmaxGradOp, ReduceOp, ReshapeOp, TransposeOp, SliceOp,
            PadOp, CumsumOp, GatherOp, ScatterAddOp, TopKOp, ConcatOp>(
          [&](auto known) { interpreter.visit(known); })
      .Default([](Operation *other) {
        ADD_FAILURE() << "no meaning for " << other->getName().getStringRef().str();
      });
}
