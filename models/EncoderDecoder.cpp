// Builds T5 as graph IR.
#include "models/EncoderDecoder.h"

#include <cmath>

using namespace mlir;

namespace dtc {
namespace {

struct Projections {
  Value q, k, v, o;
};

struct Mlp {
  Value gate, up, down; // `gate` is null if it has none
};

class T5Builder {
public:
  T5Builder(MLIRContext *context, const T5Config &config, int64_t sequence)
      : config(config), tokens(sequence), model(context, config.name, sequence) {}

  OwningOpRef<ModuleOp> build() {
    int64_t c = config.width, h = config.heads, d = config.headDim, f = config.innerWidth;
    hidden = model.batched({tokens, c});
    biasType = model.tensor({1, h, tokens, tokens});
    model.nameType("tokens", model.ids());
    model.nameType("hidden", hidden);
    model.nameType("width", model.tensor({c}));
    model.nameType("words", model.tensor({config.vocabulary, c}));
    model.nameType("heads", model.batched({tokens, h, d}));
    model.nameType("bias", biasType);
    model.nameType("lengths", model.integers({}));
    model.nameType("proj", model.tensor({h, d, c}));
    model.nameType("up_proj", model.tensor({f, c}));
    model.nameType("inner", model.batched({tokens, f}));
    encoderBlock = buildEncoderBlock();
    decoderBlock = buildDecoderBlock();
    buildLoss();
    return model.take();
  }

private:
  // 1. Parameters.

  ParameterSpec weight(StringRef value, const std::string &name, ArrayRef<int64_t> shape,
                       double variance, ArrayRef<int64_t> stored = {}) const {
    return {value.str(),
            name + ".weight",
            SmallVector<int64_t, 4>(shape),
            SmallVector<int64_t, 4>(stored),
            graph::InitKind::Normal,
            config.initializerFactor * std::sqrt(variance),
            true};
  }

  Value declareNorm(StringRef value, const std::string &name) {
    ParameterSpec spec = ParameterSpec::norm(value, name + ".weight", config.width);
    if (config.initializerFactor != 1) {
      spec.init = graph::InitKind::Constant;
      spec.constant = config.initializerFactor;
    }
    return model.parameter(spec);
  }

  Projections declareAttention(const std::string &prefix, const std::string &module) {
    int64_t c = config.width, h = config.heads, d = config.headDim;
    double in = 1.0 / static_cast<double>(c), each = 1.0 / static_cast<double>(d);
    auto proj = [&](const char *name, double variance) {
      return weight(prefix + name + "_proj", module + "." + name, {h, d, c}, variance, {2, 1});
    };
    SmallVector<Value> all = model.parameters({proj("q", in * each), proj("k", in), proj("v", in),
                                               weight(prefix + "o_proj", module + ".o", {c, h, d},
                                                      each / static_cast<double>(h), {1, 2})});
    return {all[0], all[1], all[2], all[3]};
  }

  Mlp declareMlp(const std::string &module) {
    int64_t c = config.width, f = config.innerWidth;
    double in = 1.0 / static_cast<double>(c), inner = 1.0 / static_cast<double>(f);
    SmallVector<ParameterSpec> specs;
    if (config.gated)
      specs = {weight("gate_proj", module + ".wi_0", {f, c}, in),
               weight("up_proj", module + ".wi_1", {f, c}, in)};
    else
      specs = {weight("up_proj", module + ".wi", {f, c}, in)};
    specs.push_back(weight("down_proj", module + ".wo", {c, f}, inner));
    SmallVector<Value> all = model.parameters(specs);
    return {config.gated ? all[0] : Value(), all[all.size() - 2], all.back()};
  }

  // 2. The operations of a block.

  Value project(StringRef name, Value x, Value weight, int64_t contract = 1) {
    return model.as(name).linear(x, weight, Value(), /*transposed=*/true, contract);
  }

  Value kept(StringRef name, Value x) { return model.as(name).dropout(x, config.dropout); }

  // Attention of `x` to `source`. T5's scores have no scale.
  Value attend(const std::string &prefix, const Projections &weights, Value x, Value source,
               AttentionSpec spec) {
    Value q = project(prefix + "q", x, weights.q), k = project(prefix + "k", source, weights.k),
          v = project(prefix + "v", source, weights.v);
    spec.scale = 1;
    spec.dropout = config.dropout;
    Value heads = model.as(prefix + "heads").attend(q, k, v, spec);
    return kept(prefix + "attended_kept", project(prefix + "attended", heads, weights.o, 2));
  }

  Value activate(StringRef name, Value x) {
    model.as(name);
    switch (config.activation) {
    case T5Activation::Relu:
      return model.relu(x);
    case T5Activation::GeluTanh:
      return model.gelu(x, graph::GeluKind::Tanh);
    case T5Activation::GeluErf:
      return model.gelu(x, graph::GeluKind::Erf);
    case T5Activation::Silu:
      return model.silu(x);
    }
    llvm_unreachable("all activations are listed");
  }

  Value applyMlp(const Mlp &mlp, Value x) {
    Value open;
    if (mlp.gate) {
      Value gate = project("gate", x, mlp.gate), up = project("up", x, mlp.up);
      gate = activate("open", gate);
      open = model.as("gated").multiply(gate, up);
    } else {
      open = activate("open", project("up", x, mlp.up));
    }
    return kept("mlp_kept", project("mlp", kept("open_kept", open), mlp.down));
  }

  Value normalise(StringRef name, Value x, Value norm) {
    return model.as(name).rmsNorm(x, norm, config.epsilon);
  }

  // 3. Blocks.

  graph::FuncOp buildEncoderBlock() {
    graph::FuncOp func = model.beginBlock(
        "encoder_block", {{"x", hidden}, {"bias", biasType}, {"lengths", model.integers({})}});
    Value x = func.getArgument(0);
    Projections attention = declareAttention("", "layer.0.SelfAttention");
    Value attentionNorm = declareNorm("attention_norm", "layer.0.layer_norm");
    Mlp mlp = declareMlp("layer.1.DenseReluDense");
    Value mlpNorm = declareNorm("mlp_norm", "layer.1.layer_norm");
    AttentionSpec spec;
    spec.bias = func.getArgument(1), spec.lengths = func.getArgument(2);
    Value normed = normalise("normed", x, attentionNorm);
    Value attended = attend("", attention, normed, normed, spec);
    Value middle = model.as("middle").add(x, attended);
    Value out = applyMlp(mlp, normalise("normed_2", middle, mlpNorm));
    model.endFunc(model.as("out").add(middle, out));
    return func;
  }

  graph::FuncOp buildDecoderBlock() {
    graph::FuncOp func = model.beginBlock(
        "decoder_block",
        {{"x", hidden}, {"bias", biasType}, {"encoded", hidden}, {"lengths", model.integers({})}});
    Value x = func.getArgument(0), encoded = func.getArgument(2);
    Projections own = declareAttention("", "layer.0.SelfAttention");
    Value ownNorm = declareNorm("attention_norm", "layer.0.layer_norm");
    Projections cross = declareAttention("cross_", "layer.1.EncDecAttention");
    Value crossNorm = declareNorm("cross_norm", "layer.1.layer_norm");
    Mlp mlp = declareMlp("layer.2.DenseReluDense");
    Value mlpNorm = declareNorm("mlp_norm", "layer.2.layer_norm");
    AttentionSpec ownSpec, crossSpec;
    ownSpec.causal = true, ownSpec.bias = func.getArgument(1);
    crossSpec.lengths = func.getArgument(3);
    Value normed = normalise("normed", x, ownNorm);
    Value attended = attend("", own, normed, normed, ownSpec);
    Value read = model.as("read").add(x, attended);
    normed = normalise("normed_2", read, crossNorm);
    attended = attend("cross_", cross, normed, encoded, crossSpec);
    Value middle = model.as("middle").add(read, attended);
    Value out = applyMlp(mlp, normalise("normed_3", middle, mlpNorm));
    model.endFunc(model.as("out").add(middle, out));
    return func;
  }

  // 4. What all layers of a side share.

  // Returns the bucket of each pair of a query and a key as a number, [queries, keys]. Keys behind
  // the query have buckets of their own in the encoder; the decoder does not see them.
  Value buckets(const std::string &side, bool isCausal) {
    int64_t count = isCausal ? config.buckets : config.buckets / 2, exact = count / 2;
    Value positions = model.as(side + "places").iota(tokens);
    Value column = model.as(side + "column").reshape(positions, {tokens, 1});
    Value offsets =
        model.as(side + "offsets").subtract(column, positions); // above 0: keys in front
    Value distances = isCausal
                          ? model.as(side + "distances").relu(offsets)
                          : model.as(side + "distances").point(graph::PointFunction::Abs, offsets);
    Value sum = distances;
    if (SmallVector<int64_t> starts = bucketStarts(count, config.maxDistance, tokens);
        exact < tokens) { // else each distance has a bucket
      Value limit = model.as(side + "exact").constant(static_cast<double>(exact), {});
      Value isNear = model.as(side + "is_near").compare(graph::CompareKind::Lt, distances, limit);
      sum = model.as(side + "near").where(isNear, distances, limit);
      for (int64_t start : ArrayRef<int64_t>(starts).drop_front(exact)) {
        Value from = model.as(side + "from").constant(static_cast<double>(start), {});
        Value isIn = model.as(side + "is_in").compare(graph::CompareKind::Ge, distances, from);
        sum = model.as(side + "bucket").add(sum, isIn);
      }
    }
    if (isCausal)
      return sum;
    Value zero = model.as(side + "zero").constant(0, {});
    Value isBehind = model.as(side + "is_behind").compare(graph::CompareKind::Lt, offsets, zero);
    Value first = model.as(side + "first").scale(isBehind, static_cast<double>(count));
    return model.as(side + "bucket").add(sum, first);
  }

  // Returns what is added to the scores of a side.
  Value buildBias(const std::string &side, bool isCausal) {
    std::string module = side + ".block.0.layer.0.SelfAttention.relative_attention_bias";
    std::string prefix = side + "_";
    Value table = model.parameter(weight(prefix + "table", module, {config.buckets, config.heads},
                                         1.0 / static_cast<double>(config.width)));
    Value ids = buckets(prefix, isCausal);
    ids = model.as(prefix + "ids").castTo(ids, /*isInteger=*/true);
    Value each = model.as(prefix + "biases").embedding(table, ids);
    each = model.as(prefix + "by_head").transpose(each, {2, 0, 1});
    return model.as(prefix + "bias").reshape(each, {1, config.heads, tokens, tokens});
  }

  // Returns rows of embeddings that are NaN where a sample has padding that is not behind its
  // tokens: attention knows lengths only, and a wrong loss ends the run.
  Value refuseHoles(Value x, Value mask, Value lengths) {
    Value zero = model.as("no_token").constant(0, {});
    Value one = model.as("a_token").constant(1, {});
    Value marks = model.as("marks").castTo(mask, /*isInteger=*/false);
    Value isToken = model.as("is_token").compare(graph::CompareKind::Ne, marks, zero);
    Value count = model.as("count").reduce(graph::ReduceKind::Sum, isToken, 1);
    Value length = model.as("length").castTo(lengths, /*isInteger=*/false);
    Value isWhole = model.as("is_whole").compare(graph::CompareKind::Eq, count, length);
    Value factor = model.as("factor").divide(one, isWhole);
    Value column = model.as("factor_column").reshape(factor, {ShapedType::kDynamic, 1, 1});
    return model.as("embedded_whole").multiply(x, column);
  }

  // Returns the decoder's inputs: the start in front of all labels but the last, and padding in the
  // place of labels that do not count.
  Value shiftRight(Value labels) {
    auto number = [&](StringRef name, int64_t value) {
      return model.as(name).constant(static_cast<double>(value), {});
    };
    Value numbers = model.as("label_numbers").castTo(labels, /*isInteger=*/false);
    Value ignored = number("ignored", kIgnoredTarget), padding = number("padding", config.padding);
    Value counts = model.as("counts").compare(graph::CompareKind::Ne, numbers, ignored);
    Value words = model.as("label_words").where(counts, numbers, padding);
    Value start = number("start", config.start);
    Value above = model.as("above_start").subtract(words, start); // pads are zeros
    if (tokens > 1) {
      above = model.as("above_start_cut").slice(above, 1, 0, tokens - 1);
      above = model.as("above_start_shifted").pad(above, 1, 1, 0);
    } else {
      above = model.as("nothing").scale(above, 0);
    }
    Value shifted = model.as("shifted_numbers").add(above, start);
    return model.as("shifted").castTo(shifted, /*isInteger=*/true);
  }

  void buildLoss() {
    graph::FuncOp func = model.beginLoss(
        {{"input_ids", model.ids()}, {"attention_mask", model.ids()}, {"labels", model.ids()}});
    Value ids = func.getArgument(0), mask = func.getArgument(1), labels = func.getArgument(2);
    Value words = model.parameter(weight("words", "shared", {config.vocabulary, config.width}, 1));
    Value lengths = model.as("lengths").lengthsOf(mask);
    Value bias = buildBias("encoder", /*isCausal=*/false);
    Value x = model.as("embedded").embedding(words, ids);
    x = kept("embedded_kept", refuseHoles(x, mask, lengths));
    x = model.as("encoder_layers")
            .repeat(encoderBlock, config.layers, "encoder.block.{}", {x, bias, lengths})
            .front();
    Value norm = declareNorm("encoder_norm", "encoder.final_layer_norm");
    Value encoded = kept("encoded_kept", normalise("encoded", x, norm));

    bias = buildBias("decoder", /*isCausal=*/true);
    Value shifted = shiftRight(labels);
    x = model.as("target_words").embedding(words, shifted);
    x = kept("target_words_kept", x);
    x = model.as("decoder_layers")
            .repeat(decoderBlock, config.decoderLayers, "decoder.block.{}",
                    {x, bias, encoded, lengths}, 1, config.layers)
            .front();
    norm = declareNorm("decoder_norm", "decoder.final_layer_norm");
    x = kept("decoded_kept", normalise("decoded", x, norm));
    if (config.scalesOutputs)
      x = model.as("decoded_scaled").scale(x, 1 / std::sqrt(static_cast<double>(config.width)));
    Value logits = project("logits", x, words);
    model.endFunc(model.as("loss").meanCrossEntropy(logits, labels));
  }

  const T5Config &config;
  int64_t tokens;
  ModelBuilder model;
  RankedTensorType hidden, biasType;
  graph::FuncOp encoderBlock, decoderBlock;
};

} // namespace

SmallVector<int64_t> bucketStarts(int64_t buckets, int64_t maxDistance, int64_t distances) {
  int64_t exact = buckets / 2, ranges = buckets - exact;
  SmallVector<int64_t> starts;
  for (int64_t distance = 1; distance < distances; ++distance) {
    int64_t bucket = distance;
    if (distance >= exact) { // in f32, as the class of transformers counts them
      float share = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                    static_cast<float>(
                        std::log(static_cast<double>(maxDistance) / static_cast<double>(exact)));
      auto range = static_cast<int64_t>(share * static_cast<float>(ranges));
      bucket = std::min(exact + range, buckets - 1);
    }
    while (static_cast<int64_t>(starts.size()) < bucket)
      starts.push_back(distance);
  }
  return starts;
}

OwningOpRef<ModuleOp> buildT5(MLIRContext *context, const T5Config &config, int64_t sequence) {
  return T5Builder(context, config, sequence).build();
}

} // namespace dtc
