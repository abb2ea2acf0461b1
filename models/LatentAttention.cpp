// Builds multi-head latent attention as graph IR.
#include "models/LatentAttention.h"

using namespace mlir;

namespace dtc {

// The norms of latents have it in every model: the classes leave out the config's.
static constexpr double kLatentEpsilon = 1e-6;

LatentAttention::Linear LatentAttention::declareLinear(StringRef name, ArrayRef<int64_t> shape,
                                                       ArrayRef<int64_t> stored, bool hasBias) {
  std::string module = (Twine(config.features.attention) + "." + name).str();
  SmallVector<ParameterSpec> specs{{name.str(), module + ".weight", SmallVector<int64_t, 4>(shape),
                                    SmallVector<int64_t, 4>(stored), graph::InitKind::Normal,
                                    config.initializerRange, true}};
  if (hasBias)
    specs.push_back(ParameterSpec::bias((name + "_bias").str(), module + ".bias", shape[0]));
  SmallVector<Value> values = model.parameters(specs);
  return {values[0], hasBias ? values[1] : Value()};
}

Value LatentAttention::declareNorm(StringRef name, int64_t size) {
  std::string module = (Twine(config.features.attention) + "." + name).str();
  return model.parameter(ParameterSpec::norm(name, module + ".weight", size));
}

Value LatentAttention::project(StringRef name, Value x, const Linear &linear, int64_t contract) {
  return model.as(name).linear(x, linear.weight, linear.bias, /*transposed=*/true, contract);
}

void LatentAttention::declare() {
  const LatentConfig &latent = config.latent;
  int64_t c = config.width, h = config.heads, rotated = config.headDim;
  int64_t source = latent.queryRank > 0 ? latent.queryRank : c;
  if (latent.queryRank > 0) {
    queryDown = declareLinear("q_a_proj", {latent.queryRank, c}, {}, config.projectionBias);
    queryNorm = declareNorm("q_a_layernorm", latent.queryRank);
  }
  queryUp = declareLinear(latent.queryRank > 0 ? "q_b_proj" : "q_proj",
                          {h, latent.plainDim + rotated, source}, {2, 1});
  keyDown =
      declareLinear("kv_a_proj_with_mqa", {latent.keyRank + rotated, c}, {}, config.projectionBias);
  keyNorm = declareNorm("kv_a_layernorm", latent.keyRank);
  keyUp =
      declareLinear("kv_b_proj", {h, latent.plainDim + latent.valueDim, latent.keyRank}, {2, 1});
  output = declareLinear("o_proj", {c, h, latent.valueDim}, {1, 2}, config.outputBias);
}

// One head of keys is rotated, and serves all heads.
Value LatentAttention::build(Value x, llvm::function_ref<Value(StringRef, Value)> rotate) {
  const LatentConfig &latent = config.latent;
  int64_t t = model.sequenceLength(), h = config.heads, rotated = config.headDim;
  Value source = x;
  if (queryNorm) {
    Value raw = project("q_raw_latent", x, queryDown);
    source = model.as("q_latent").rmsNorm(raw, queryNorm, kLatentEpsilon);
  }
  Value whole = project("raw_q", source, queryUp);
  Value plain = model.as("q_plain").slice(whole, 3, 0, latent.plainDim);
  Value turned = model.as("q_unturned").slice(whole, 3, latent.plainDim, rotated);
  turned = rotate("q_turned", turned);
  Value q = model.as("q").concat({plain, turned}, 3);

  Value down = project("kv_down", x, keyDown);
  Value raw = model.as("kv_raw_latent").slice(down, 2, 0, latent.keyRank);
  Value shared = model.as("kv_latent").rmsNorm(raw, keyNorm, kLatentEpsilon);
  Value kv = project("kv", shared, keyUp);
  plain = model.as("k_plain").slice(kv, 3, 0, latent.plainDim);
  Value v = model.as("v").slice(kv, 3, latent.plainDim, latent.valueDim);
  turned = model.as("k_unturned").slice(down, 2, latent.keyRank, rotated);
  turned = model.as("k_head").reshape(turned, {ShapedType::kDynamic, t, 1, rotated});
  turned = rotate("k_turned", turned);
  turned = model.as("k_heads").repeatHead(turned, h);
  Value k = model.as("k").concat({plain, turned}, 3);

  Value heads =
      model.as("heads").attention(q, k, v, config.attentionScale, config.attentionDropout);
  return project("attended", heads, output, 2);
}

} // namespace dtc
