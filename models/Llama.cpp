// Llama and its kin as graph IR.
#include "models/Llama.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace dtc {
namespace {

class LlamaBuilder {
public:
  LlamaBuilder(MLIRContext *context, const LlamaConfig &config, int64_t sequence)
      : config(config), model(context, config.name, sequence) {}

  OwningOpRef<ModuleOp> build() {
    graph::FuncOp block = buildBlock();
    buildLoss(block);
    return model.take();
  }

private:
  ParameterSpec weight(ArrayRef<int64_t> shape, ArrayRef<int64_t> stored = {}) const {
    return ParameterSpec::weight(shape, config.initializerRange, stored);
  }

  // x times `name`.weight [out..., in...], plus `name`.bias where there is one. Dims of a list are
  // one dim in files.
  Value project(Value x, const std::string &name, ArrayRef<int64_t> out, ArrayRef<int64_t> in,
                bool hasBias) {
    auto merged = [](ArrayRef<int64_t> dims) {
      return std::accumulate(dims.begin(), dims.end(), int64_t(1), std::multiplies<>());
    };
    SmallVector<int64_t> shape(out), stored;
    shape.append(in.begin(), in.end());
    if (shape.size() > 2)
      stored = {merged(out), merged(in)};
    Value w = model.param(name + ".weight", weight(shape, stored));
    Value y = model.linear(x, w, /*transposed=*/true, static_cast<int64_t>(in.size()));
    if (!hasBias)
      return y;
    SmallVector<int64_t> storedBias;
    if (out.size() > 1)
      storedBias = {merged(out)};
    return model.add(y, model.param(name + ".bias", ParameterSpec::bias(out, storedBias)));
  }

  Value norm(Value x, const std::string &name) {
    return model.rmsNorm(x, model.param(name + ".weight", ParameterSpec::norm(config.width)),
                         config.epsilon);
  }

  Value buildAttention(Value x, std::pair<Value, Value> rotation) {
    int64_t c = config.width, h = config.heads, kv = config.kvHeads, d = config.headDim;
    bool bias = config.projectionBias;
    Value q = model.rotary(project(x, "self_attn.q_proj", {h, d}, {c}, bias), rotation);
    Value k = model.rotary(project(x, "self_attn.k_proj", {kv, d}, {c}, bias), rotation);
    Value v = project(x, "self_attn.v_proj", {kv, d}, {c}, bias);
    Value attended = model.attention(q, k, v, 1 / std::sqrt(static_cast<double>(d)),
                                     config.attentionDropout, config.sliding);
    return project(attended, "self_attn.o_proj", {c}, {h, d}, config.outputBias);
  }

  Value buildMlp(Value x) {
    int64_t c = config.width, f = config.innerWidth;
    Value gate = model.silu(project(x, "mlp.gate_proj", {f}, {c}, config.mlpBias));
    Value gated = model.multiply(gate, project(x, "mlp.up_proj", {f}, {c}, config.mlpBias));
    return project(gated, "mlp.down_proj", {c}, {f}, config.mlpBias);
  }

  // The experts' output and, where it counts, the loss of uneven use.
  std::pair<Value, Value> buildExperts(Value x) {
    int64_t c = config.width, f = config.innerWidth, e = config.experts;
    Value gate = model.param("block_sparse_moe.gate.weight", weight({e, c}));
    Routing routing =
        model.route(model.linear(x, gate, /*transposed=*/true), config.top, config.capacity);
    Value rows = model.dispatch(x, routing);
    auto expert = [&](Value value, const char *name, ArrayRef<int64_t> shape) {
      std::string full = std::string("block_sparse_moe.experts.*.") + name + ".weight";
      return model.expertLinear(value, model.param(full, weight(shape)), routing);
    };
    Value gated =
        model.multiply(model.silu(expert(rows, "w1", {e, f, c})), expert(rows, "w3", {e, f, c}));
    Value balance = config.balanceCoefficient > 0
                        ? model.balanceLoss(routing, config.balanceCoefficient)
                        : Value();
    return {model.combine(expert(gated, "w2", {e, c, f}), routing), balance};
  }

  // Whether layers add up a loss of uneven use, [batch], beside what they compute.
  bool hasBalance() const { return config.experts > 0 && config.balanceCoefficient > 0; }

  graph::FuncOp buildBlock() {
    RankedTensorType table = model.tensor({model.sequenceLength(), config.headDim / 2});
    SmallVector<Type> types{model.batched({model.sequenceLength(), config.width})};
    if (hasBalance())
      types.push_back(model.batched({}));
    types.append({table, table});
    graph::FuncOp func = model.beginFunc("block", types, /*isPrivate=*/true);
    Value x = func.getArgument(0);
    std::pair<Value, Value> rotation{func.getArgument(func.getNumArguments() - 2),
                                     func.getArgument(func.getNumArguments() - 1)};
    Value middle = model.add(x, buildAttention(norm(x, "input_layernorm"), rotation));
    Value hidden = norm(middle, "post_attention_layernorm");
    if (config.experts == 0) {
      model.endFunc(model.add(middle, buildMlp(hidden)));
      return func;
    }
    auto [out, balance] = buildExperts(hidden);
    SmallVector<Value> results{model.add(middle, out)};
    if (balance)
      results.push_back(model.add(func.getArgument(1), balance));
    model.endFunc(results);
    return func;
  }

  void buildLoss(graph::FuncOp block) {
    graph::FuncOp func = model.beginLoss();
    Value table =
        model.param("model.embed_tokens.weight", weight({config.vocabulary, config.width}));
    Value x = model.embedding(table, func.getArgument(0));
    std::pair<Value, Value> rotation = model.rotaryTable(config.inverseFrequencies);
    SmallVector<Value> operands{x};
    if (hasBalance())
      operands.push_back(model.zeroForEachSample());
    auto carrying = static_cast<int64_t>(operands.size());
    operands.append({rotation.first, rotation.second});
    SmallVector<Value> results =
        model.repeat(block, config.layers, operands, "model.layers.{}", carrying);
    x = norm(results[0], "model.norm");
    Value head = config.tied
                     ? table
                     : model.param("lm_head.weight", weight({config.vocabulary, config.width}));
    Value loss =
        model.meanCrossEntropy(model.linear(x, head, /*transposed=*/true), func.getArgument(1));
    if (hasBalance())
      loss = model.add(loss,
                       model.scale(model.mean(results[1]), 1 / static_cast<double>(config.layers)));
    model.endFunc(loss);
  }

  const LlamaConfig &config;
  ModelBuilder model;
};

} // namespace

std::vector<double> rotaryFrequencies(double theta, int64_t headDim) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < headDim / 2; ++i)
    frequencies.push_back(
        std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(headDim)));
  return frequencies;
}

void stretchLlama3(std::vector<double> &frequencies, double factor, double lowFactor,
                   double highFactor, double originalPositions) {
  for (double &frequency : frequencies) {
    double wavelength = 2 * M_PI / frequency;
    if (wavelength > originalPositions / lowFactor) {
      frequency /= factor;
    } else if (wavelength > originalPositions / highFactor) {
      double smooth = (originalPositions / wavelength - lowFactor) / (highFactor - lowFactor);
      frequency = (1 - smooth) * frequency / factor + smooth * frequency;
    }
  }
}

OwningOpRef<ModuleOp> buildLlama(MLIRContext *context, const LlamaConfig &config,
                                 int64_t sequence) {
  return LlamaBuilder(context, config, sequence).build();
}

} // namespace dtc
