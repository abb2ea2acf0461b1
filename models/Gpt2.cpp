// GPT-2 as graph IR.
#include "models/Gpt2.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace dtc {
namespace {

class Gpt2Builder {
public:
  Gpt2Builder(MLIRContext *context, const Gpt2Config &config, int64_t sequence)
      : config(config), inner(config.innerWidth ? config.innerWidth : 4 * config.width),
        headDim(config.width / config.heads), model(context, "gpt2", sequence) {}

  OwningOpRef<ModuleOp> build() {
    graph::FuncOp block = buildBlock();
    buildLoss(block);
    return model.take();
  }

private:
  ParameterSpec weight(ArrayRef<int64_t> shape, ArrayRef<int64_t> stored = {},
                       double scale = 1) const {
    return ParameterSpec::weight(shape, config.initializerRange * scale, stored);
  }

  // x times `name`.weight, whose first `contract` dims are the last of x, plus `name`.bias.
  // Projections onto the residual stream start smaller, as in the paper's section 2.3.
  Value project(Value x, const std::string &name, ArrayRef<int64_t> shape, int64_t contract = 1,
                bool isResidual = false) {
    double scale = isResidual ? 1 / std::sqrt(2.0 * static_cast<double>(config.layers)) : 1;
    ArrayRef<int64_t> out = shape.drop_front(contract);
    auto merged = [](ArrayRef<int64_t> dims) {
      return std::accumulate(dims.begin(), dims.end(), int64_t(1), std::multiplies<>());
    };
    SmallVector<int64_t> stored, storedBias;
    if (shape.size() > 2) {
      stored = {merged(shape.take_front(contract)), merged(out)};
      storedBias = {merged(out)};
    }
    Value w = model.param(name + ".weight", weight(shape, stored, scale));
    Value b =
        model.param(name + ".bias",
                    ParameterSpec::bias(out, out.size() > 1 ? storedBias : ArrayRef<int64_t>()));
    return model.add(model.linear(x, w, false, contract), b);
  }

  Value norm(Value x, const std::string &name) {
    Value w = model.param(name + ".weight", ParameterSpec::norm(config.width));
    Value b = model.param(name + ".bias", ParameterSpec::bias({config.width}));
    return model.layerNorm(x, w, b, config.epsilon);
  }

  graph::FuncOp buildBlock() {
    int64_t c = config.width, h = config.heads, d = headDim;
    graph::FuncOp func =
        model.beginFunc("block", {model.batched({model.sequenceLength(), c})}, /*isPrivate=*/true);
    Value x = func.getArgument(0);
    // [batch, sequence, 3, heads, head dim]
    Value qkv = project(norm(x, "ln_1"), "attn.c_attn", {c, 3, h, d});
    Value q = model.slice(qkv, 2, 0, 1, true), k = model.slice(qkv, 2, 1, 1, true),
          v = model.slice(qkv, 2, 2, 1, true);
    double scale = config.scaleAttention ? 1 / std::sqrt(static_cast<double>(headDim)) : 1;
    Value attended = model.attention(q, k, v, scale, config.attentionDropout);
    Value projected = project(attended, "attn.c_proj", {h, d, c}, 2, /*isResidual=*/true);
    Value middle = model.add(x, model.dropout(projected, config.residualDropout));
    Value hidden = project(norm(middle, "ln_2"), "mlp.c_fc", {c, inner});
    Value out = project(model.gelu(hidden, config.activation), "mlp.c_proj", {inner, c}, 1,
                        /*isResidual=*/true);
    model.endFunc(model.add(middle, model.dropout(out, config.residualDropout)));
    return func;
  }

  void buildLoss(graph::FuncOp block) {
    graph::FuncOp func = model.beginLoss();
    Value table = model.param("transformer.wte.weight", weight({config.vocabulary, config.width}));
    Value positions =
        model.param("transformer.wpe.weight", weight({config.positions, config.width}));
    if (config.positions > model.sequenceLength())
      positions = model.slice(positions, 0, 0, model.sequenceLength(), false);
    Value x = model.add(model.embedding(table, func.getArgument(0)), positions);
    x = model.dropout(x, config.embeddingDropout);
    x = model.repeat(block, config.layers, x, "transformer.h.{}").front();
    x = norm(x, "transformer.ln_f");
    Value head = config.tied
                     ? table
                     : model.param("lm_head.weight", weight({config.vocabulary, config.width}));
    model.endFunc(
        model.meanCrossEntropy(model.linear(x, head, /*transposed=*/true), func.getArgument(1)));
  }

  const Gpt2Config &config;
  int64_t inner, headDim;
  ModelBuilder model;
};

} // namespace

OwningOpRef<ModuleOp> buildGpt2(MLIRContext *context, const Gpt2Config &config, int64_t sequence) {
  return Gpt2Builder(context, config, sequence).build();
}

} // namespace dtc
