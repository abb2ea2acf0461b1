// Builds GPT-2 as graph IR.
#include "models/Gpt2.h"

#include <cmath>

using namespace mlir;

namespace dtc {
namespace {

class Gpt2Builder {
public:
  Gpt2Builder(MLIRContext *context, const Gpt2Config &config, int64_t sequence)
      : config(config), inner(config.innerWidth ? config.innerWidth : 4 * config.width),
        headDim(config.width / config.heads), model(context, "gpt2", sequence, config.documents) {}

  OwningOpRef<ModuleOp> build() {
    hidden = model.batched({model.sequenceLength(), config.width});
    model.nameType("tokens", model.ids());
    model.nameType("hidden", hidden);
    model.nameType("width", model.tensor({config.width}));
    model.nameType("heads", model.batched({model.sequenceLength(), config.heads, headDim}));
    buildLoss(buildBlock());
    return model.take();
  }

private:
  ParameterSpec weight(StringRef value, StringRef name, ArrayRef<int64_t> shape,
                       double scale = 1) const {
    return {value.str(),
            name.str(),
            SmallVector<int64_t, 4>(shape),
            {},
            graph::InitKind::Normal,
            config.initializerRange * scale,
            true};
  }

  SmallVector<Value> norm(const std::string &value, const std::string &name) {
    return model.parameters({ParameterSpec::norm(value, name + ".weight", config.width),
                             ParameterSpec::bias(value + "_bias", name + ".bias", {config.width})});
  }

  graph::FuncOp buildBlock() {
    int64_t c = config.width, h = config.heads, d = headDim;
    graph::FuncOp func = model.beginBlock("block", {{"x", hidden}});
    SmallVector<Value> ln1 = norm("ln_1", "ln_1");
    ParameterSpec attnWeight = weight("c_attn", "attn.c_attn.weight", {c, 3, h, d});
    attnWeight.stored = {1, 3};
    SmallVector<Value> attn = model.parameters(
        {attnWeight, ParameterSpec::bias("c_attn_bias", "attn.c_attn.bias", {3, h, d})});
    // Projections onto the residual stream start smaller, as in section 2.3 of the paper.
    double residual = 1 / std::sqrt(2.0 * static_cast<double>(config.layers));
    ParameterSpec outWeight = weight("proj", "attn.c_proj.weight", {h, d, c}, residual);
    outWeight.stored = {2, 1};
    SmallVector<Value> out =
        model.parameters({outWeight, ParameterSpec::bias("proj_bias", "attn.c_proj.bias", {c})});
    SmallVector<Value> ln2 = norm("ln_2", "ln_2");
    SmallVector<Value> up =
        model.parameters({weight("fc", "mlp.c_fc.weight", {c, inner}),
                          ParameterSpec::bias("fc_bias", "mlp.c_fc.bias", {inner})});
    SmallVector<Value> down =
        model.parameters({weight("down", "mlp.c_proj.weight", {inner, c}, residual),
                          ParameterSpec::bias("down_bias", "mlp.c_proj.bias", {c})});

    Value x = func.getArgument(0);
    Value normed = model.as("normed").layerNorm(x, ln1[0], ln1[1], config.epsilon);
    Value qkv = model.as("qkv").linear(normed, attn[0], attn[1], false); // [b, t, 3, heads, d]
    SmallVector<Value> each = model.as({"q", "k", "v"}).unstack(qkv, 2);
    std::optional<double> scale;
    if (!config.scaleAttention)
      scale = 1;
    Value heads =
        model.as("heads").attention(each[0], each[1], each[2], scale, config.attentionDropout);
    Value attended = model.as("attended").linear(heads, out[0], out[1], false, 2);
    attended = model.as("kept").dropout(attended, config.residualDropout);
    Value middle = model.as("middle").add(x, attended);
    normed = model.as("normed_2").layerNorm(middle, ln2[0], ln2[1], config.epsilon);
    Value fc = model.as("inner").linear(normed, up[0], up[1], false);
    fc = model.as("active").gelu(fc, config.activation);
    Value mlp = model.as("mlp").linear(fc, down[0], down[1], false);
    mlp = model.as("kept_2").dropout(mlp, config.residualDropout);
    model.endFunc(model.as("out").add(middle, mlp));
    return func;
  }

  void buildLoss(graph::FuncOp block) {
    graph::FuncOp func = model.beginLoss();
    SmallVector<Value> tables = model.parameters(
        {weight("wte", "transformer.wte.weight", {config.vocabulary, config.width}),
         weight("wpe", "transformer.wpe.weight", {config.positions, config.width})});
    Value positions = tables[1];
    if (model.hasDocuments())
      positions = model.as("positions").embedding(positions, model.positions());
    else if (config.positions > model.sequenceLength())
      positions = model.as("positions").first(positions, model.sequenceLength());
    Value words = model.as("words").embedding(tables[0], func.getArgument(0));
    Value x = model.as("placed").add(words, positions);
    x = model.as("kept").dropout(x, config.embeddingDropout);
    x = model.as("layers").repeat(block, config.layers, "transformer.h.{}", x).front();
    SmallVector<Value> last = norm("ln_f", "transformer.ln_f");
    x = model.as("normed").layerNorm(x, last[0], last[1], config.epsilon);
    Value head = tables[0];
    if (!config.tied)
      head =
          model.parameter(weight("lm_head", "lm_head.weight", {config.vocabulary, config.width}));
    Value logits = model.as("logits").linear(x, head, Value(), /*transposed=*/true);
    model.endFunc(model.as("loss").meanCrossEntropy(logits, func.getArgument(1)));
  }

  const Gpt2Config &config;
  int64_t inner, headDim;
  RankedTensorType hidden;
  ModelBuilder model;
};

} // namespace

OwningOpRef<ModuleOp> buildGpt2(MLIRContext *context, const Gpt2Config &config, int64_t sequence) {
  return Gpt2Builder(context, config, sequence).build();
}

} // namespace dtc
