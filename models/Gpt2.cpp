// GPT-2 as graph IR.
#include "models/Gpt2.h"

#include <cmath>

using namespace mlir;

namespace dtc {
namespace {

constexpr const char *kBlockParameters[] = {
    "ln_1.weight",        "ln_1.bias",        "attn.c_attn.weight", "attn.c_attn.bias",
    "attn.c_proj.weight", "attn.c_proj.bias", "ln_2.weight",        "ln_2.bias",
    "mlp.c_fc.weight",    "mlp.c_fc.bias",    "mlp.c_proj.weight",  "mlp.c_proj.bias"};

class Gpt2Builder {
public:
  Gpt2Builder(MLIRContext *context, const Gpt2Config &config, int64_t sequence)
      : config(config), inner(config.innerWidth ? config.innerWidth : 4 * config.width),
        headDim(config.width / config.heads), model(context, "gpt2", sequence) {}

  OwningOpRef<ModuleOp> build() {
    declareParameters();
    graph::FuncOp block = buildBlock();
    buildLoss(block);
    return model.take();
  }

private:
  ParameterSpec weight(ArrayRef<int64_t> shape, ArrayRef<int64_t> stored = {},
                       double scale = 1) const {
    return ParameterSpec::weight(shape, config.initializerRange * scale, stored);
  }

  // In the order of kBlockParameters.
  SmallVector<ParameterSpec> blockParameters() const {
    int64_t c = config.width, h = config.heads, d = headDim;
    // Projections onto the residual stream start smaller, as in the paper's section 2.3.
    double residual = 1 / std::sqrt(2.0 * static_cast<double>(config.layers));
    return {ParameterSpec::norm(config.width),
            ParameterSpec::bias({config.width}),
            weight({c, 3, h, d}, {c, 3 * c}),
            ParameterSpec::bias({3, h, d}, {3 * c}),
            weight({h, d, c}, {c, c}, residual),
            ParameterSpec::bias({c}),
            ParameterSpec::norm(config.width),
            ParameterSpec::bias({config.width}),
            weight({c, inner}),
            ParameterSpec::bias({inner}),
            weight({inner, c}, {}, residual),
            ParameterSpec::bias({c})};
  }

  static std::string layerName(int64_t layer, const char *name) {
    return "transformer.h." + std::to_string(layer) + "." + name;
  }

  void declareParameters() {
    model.declare("transformer.wte.weight", weight({config.vocabulary, config.width}));
    model.declare("transformer.wpe.weight", weight({config.positions, config.width}));
    for (int64_t layer = 0; layer < config.layers; ++layer)
      for (auto [name, spec] : llvm::zip(kBlockParameters, blockParameters()))
        model.declare(layerName(layer, name), spec);
    model.declare("transformer.ln_f.weight", ParameterSpec::norm(config.width));
    model.declare("transformer.ln_f.bias", ParameterSpec::bias({config.width}));
    if (!config.tied)
      model.declare("lm_head.weight", weight({config.vocabulary, config.width}));
  }

  graph::FuncOp buildBlock() {
    SmallVector<Type> types{model.batched({model.sequenceLength(), config.width})};
    for (const ParameterSpec &spec : blockParameters())
      types.push_back(model.tensor(spec.shape));
    graph::FuncOp func = model.beginFunc("block", types, /*isPrivate=*/true);
    auto p = [&](unsigned index) -> Value { return func.getArgument(index + 1); };
    Value x = func.getArgument(0);
    Value normed = model.layerNorm(x, p(0), p(1), config.epsilon);
    Value qkv =
        model.add(model.linear(normed, p(2), false), p(3)); // [batch, sequence, 3, heads, head dim]
    Value q = model.slice(qkv, 2, 0, 1, true), k = model.slice(qkv, 2, 1, 1, true),
          v = model.slice(qkv, 2, 2, 1, true);
    std::optional<double> scale;
    if (!config.scaleAttention)
      scale = 1;
    Value attended = model.attention(q, k, v, scale, config.attentionDropout);
    Value projected = model.add(model.linear(attended, p(4), false, 2), p(5));
    Value middle = model.add(x, model.dropout(projected, config.residualDropout));
    Value hidden = model.add(
        model.linear(model.layerNorm(middle, p(6), p(7), config.epsilon), p(8), false), p(9));
    Value out = model.add(model.linear(model.gelu(hidden, config.activation), p(10), false), p(11));
    model.endFunc(model.add(middle, model.dropout(out, config.residualDropout)));
    return func;
  }

  void buildLoss(graph::FuncOp block) {
    graph::FuncOp func = model.beginLoss();
    Value table = model.get("transformer.wte.weight"),
          positions = model.get("transformer.wpe.weight");
    if (config.positions > model.sequenceLength())
      positions = model.slice(positions, 0, 0, model.sequenceLength(), false);
    Value x = model.add(model.embedding(table, func.getArgument(0)), positions);
    x = model.dropout(x, config.embeddingDropout);
    for (int64_t layer = 0; layer < config.layers; ++layer) {
      SmallVector<Value> operands{x};
      for (const char *name : kBlockParameters)
        operands.push_back(model.get(layerName(layer, name)));
      x = model.call(block, operands, layer).front();
    }
    x = model.layerNorm(x, model.get("transformer.ln_f.weight"), model.get("transformer.ln_f.bias"),
                        config.epsilon);
    Value head = config.tied ? table : model.get("lm_head.weight");
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
