// Builds encoders as graph IR.
#include "models/Encoder.h"

#include <cmath>

using namespace mlir;

namespace dtc {
namespace {

// The number that is added to the score of a hidden key: graph.attention gives it no weight.
constexpr double kHidden = -1e30;

// A layer norm or a linear layer. `bias` is null if it has none.
struct Weights {
  Value weight, bias;
};

struct Attention {
  Weights q, k, v, o; // `q` is all three if one weight has them
};

// The padding of samples, if they have any: their lengths, behind which attention computes nothing,
// and what is added to the scores of keys, which hides padding in front of tokens as well.
struct Padding {
  Value lengths, scores; // [batch]; [batch, 1, 1, keys]
};

bool isThere(const char *name) { return *name != 0; }

class EncoderBuilder {
public:
  EncoderBuilder(MLIRContext *context, const EncoderConfig &config, int64_t sequence)
      : config(config), features(config.features), model(context, config.name, sequence),
        tokens(config.features.ofImages ? patches(0) * patches(1) + 1 : sequence),
        headDim(config.width / config.heads) {}

  OwningOpRef<ModuleOp> build() {
    int64_t c = config.width;
    hidden = model.batched({tokens, c});
    keys = model.batched({1, 1, tokens});
    angles = model.tensor({tokens, headDim / 2});
    model.nameType("hidden", hidden);
    model.nameType("width", model.tensor({c}));
    if (!features.ofImages) {
      model.nameType("tokens", model.ids());
      model.nameType("words", model.tensor({config.vocabulary, config.embeddingWidth}));
      model.nameType("keys", keys);
      model.nameType("lengths", model.integers({}));
    }
    if (features.rotary)
      model.nameType("angles", angles);
    model.nameType("heads", model.batched({tokens, config.heads, headDim}));
    model.nameType("up_proj", model.tensor({config.innerWidth, c}));
    model.nameType("inner", model.batched({tokens, config.innerWidth}));
    for (int64_t layer = 0; layer < config.layers; ++layer)
      if (graph::FuncOp &block = blockOf(kindOf(layer)); !block)
        block = buildBlock(kindOf(layer));
    buildLoss();
    return model.take();
  }

private:
  // 0. Kinds of layers. Each has a block.

  struct Kind {
    bool isFirst, isLocal; // isFirst: attention has no norm in front
    bool operator==(const Kind &) const = default;
  };

  Kind kindOf(int64_t layer) const {
    return {features.firstUnnormed && layer == 0,
            !config.localLayers.empty() && config.localLayers[layer] == 1};
  }

  graph::FuncOp &blockOf(Kind kind) { return blocks[2 * kind.isFirst + kind.isLocal]; }

  std::string nameOf(const char *name) const {
    return isThere(features.base) ? std::string(features.base) + "." + name : name;
  }

  int64_t patches(int dim) const { return config.image[dim] / config.patch[dim]; }

  // 1. Parameters.

  ParameterSpec weight(const std::string &value, const std::string &name, ArrayRef<int64_t> shape,
                       ArrayRef<int64_t> stored = {}) const {
    return {value,
            name,
            SmallVector<int64_t, 4>(shape),
            SmallVector<int64_t, 4>(stored),
            graph::InitKind::Normal,
            config.initializerRange,
            true};
  }

  Weights declareNorm(const std::string &value, const std::string &name, int64_t width) {
    SmallVector<ParameterSpec> specs{ParameterSpec::norm(value, name + ".weight", width)};
    if (config.normBias)
      specs.push_back(ParameterSpec::bias(value + "_bias", name + ".bias", {width}));
    SmallVector<Value> values = model.parameters(specs);
    return {values[0], config.normBias ? values[1] : Value()};
  }

  Weights declareNormIfAny(const std::string &value, const char *name) {
    return isThere(name) ? declareNorm(value, name, config.width) : Weights();
  }

  // `contract` is the number of the last dims of `shape` that go in.
  Weights declare(const std::string &value, const std::string &name, ArrayRef<int64_t> shape,
                  bool hasBias, ArrayRef<int64_t> stored = {}, int64_t contract = 1) {
    SmallVector<ParameterSpec> specs{weight(value, name + ".weight", shape, stored)};
    if (hasBias)
      specs.push_back(
          ParameterSpec::bias(value + "_bias", name + ".bias", shape.drop_back(contract)));
    SmallVector<Value> values = model.parameters(specs);
    return {values[0], hasBias ? values[1] : Value()};
  }

  Attention declareAttention() {
    int64_t c = config.width, h = config.heads, d = headDim;
    bool hasBias = config.queryBias;
    Attention a;
    if (isThere(features.qkv)) {
      a.q = declare("qkv_proj", features.qkv, {3, h, d, c}, hasBias, {3, 1});
    } else {
      a.q = declare("q_proj", features.query, {h, d, c}, hasBias, {2, 1});
      a.k = declare("k_proj", features.key, {h, d, c}, hasBias, {2, 1});
      a.v = declare("v_proj", features.value, {h, d, c}, hasBias, {2, 1});
    }
    a.o = declare("o_proj", features.output, {c, h, d}, config.outputBias, {1, 2}, 2);
    return a;
  }

  // 2. The operations of a block.

  Value normalise(StringRef name, Value x, const Weights &norm) {
    if (!norm.weight)
      return x;
    Value bias = norm.bias;
    if (!bias)
      bias =
          model.as("zeros").constant(0, cast<RankedTensorType>(norm.weight.getType()).getShape());
    return model.as(name).layerNorm(x, norm.weight, bias, config.epsilon);
  }

  Value project(StringRef name, Value x, const Weights &linear, int64_t contract = 1) {
    return model.as(name).linear(x, linear.weight, linear.bias, /*transposed=*/true, contract);
  }

  Value activate(StringRef name, Value x, EncoderActivation activation) {
    model.as(name);
    switch (activation) {
    case EncoderActivation::GeluErf:
      return model.gelu(x, graph::GeluKind::Erf);
    case EncoderActivation::GeluTanh:
      return model.gelu(x, graph::GeluKind::Tanh);
    case EncoderActivation::Relu:
      return model.relu(x);
    case EncoderActivation::Silu:
      return model.silu(x);
    case EncoderActivation::Tanh:
      return model.tanh(x);
    }
    llvm_unreachable("all activations are listed");
  }

  Value buildAttention(const Attention &a, Value x, const Padding &padding,
                       std::pair<Value, Value> rotation, bool isLocal) {
    Value q, k, v;
    if (isThere(features.qkv)) {
      Value qkv = project("qkv", x, a.q);
      SmallVector<Value> each = model.as({"q", "k", "v"}).unstack(qkv, 2);
      q = each[0], k = each[1], v = each[2];
    } else {
      q = project("q", x, a.q), k = project("k", x, a.k), v = project("v", x, a.v);
    }
    if (rotation.first) {
      q = model.as("q_rotated").rotary(q, rotation);
      k = model.as("k_rotated").rotary(k, rotation);
    }
    AttentionSpec spec;
    spec.dropout = config.attentionDropout;
    spec.sliding = isLocal ? config.reach + 1 : 0; // the query's own key is one
    spec.lengths = padding.lengths, spec.bias = padding.scores;
    Value heads = model.as("heads").attend(q, k, v, spec);
    return project("attended", heads, a.o, 2);
  }

  graph::FuncOp buildBlock(Kind kind) {
    int64_t c = config.width, f = config.innerWidth;
    SmallVector<std::pair<StringRef, Type>> arguments{{"x", hidden}};
    if (!features.ofImages)
      arguments.append({{"lengths", model.integers({})}, {"padding", keys}});
    if (features.rotary)
      arguments.append({{"cos", angles}, {"sin", angles}});
    std::string name = kind.isFirst ? "first_" : "";
    graph::FuncOp func =
        model.beginBlock(name + (kind.isLocal ? "local_block" : "block"), arguments);
    Value x = func.getArgument(0);
    Padding padding;
    if (!features.ofImages)
      padding = {func.getArgument(1), func.getArgument(2)};
    std::pair<Value, Value> rotation;
    if (features.rotary)
      rotation = {func.getArguments().drop_back().back(), func.getArguments().back()};
    bool isFirst = features.normsFirst;
    Weights attentionNorm, mlpNorm;
    if (isFirst && !kind.isFirst)
      attentionNorm = declareNormIfAny("attention_norm", features.attentionNorm);
    Attention attention = declareAttention();
    if (!isFirst)
      attentionNorm = declareNormIfAny("attention_norm", features.attentionNorm);
    if (isFirst)
      mlpNorm = declareNormIfAny("mlp_norm", features.mlpNorm);
    Weights up = features.gated
                     ? declare("up_gate_proj", features.up, {2, f, c}, config.mlpBias, {2, 1})
                     : declare("up_proj", features.up, {f, c}, config.mlpBias);
    Weights down = declare("down_proj", features.down, {c, f}, config.mlpBias);
    if (!isFirst)
      mlpNorm = declareNormIfAny("mlp_norm", features.mlpNorm);

    Value normed = isFirst ? normalise("normed", x, attentionNorm) : x;
    Value attended = buildAttention(attention, normed, padding, rotation, kind.isLocal);
    if (features.outputDropped)
      attended = model.as("attended_kept").dropout(attended, config.outputDropout);
    Value middle = model.as("middle").add(x, attended);
    if (!isFirst)
      middle = normalise("middle_normed", middle, attentionNorm);
    normed = isFirst ? normalise("normed_2", middle, mlpNorm) : middle;
    Value out = project("mlp", buildInner(normed, up), down);
    if (!features.gated) // dropout of a gated MLP is inside
      out = model.as("mlp_kept").dropout(out, config.innerDropout);
    out = model.as("out").add(middle, out);
    model.endFunc(isFirst ? out : normalise("out_normed", out, mlpNorm));
    return func;
  }

  // Returns what the second layer of the MLP reads.
  Value buildInner(Value x, const Weights &up) {
    if (!features.gated) {
      Value inner = project("up", x, up);
      return activate("open", inner, config.activation);
    }
    Value both = project("up_gate", x, up);
    SmallVector<Value> each = model.as({"up", "gate"}).unstack(both, 2);
    Value open = activate("open", each[0], config.activation);
    Value gated = model.as("gated").multiply(open, each[1]);
    return model.as("gated_kept").dropout(gated, config.innerDropout);
  }

  // 3. What goes into the layers.

  // Returns the positions of tokens in the table of positions: those that are no padding count from
  // behind the padding row, the others are that row.
  Value positionsBehindPadding(Value ids) {
    auto padding = static_cast<double>(*config.padding);
    Value numbers = model.as("id_numbers").castTo(ids, /*isInteger=*/false);
    Value row = model.as("padding_row").constant(padding, {});
    Value isWord = model.as("is_word").compare(graph::CompareKind::Ne, numbers, row);
    Value count = model.as("count").cumsum(isWord, 1);
    Value counted = model.as("counted").multiply(count, isWord);
    Value positionIds = model.as("place_numbers").add(counted, row);
    return model.as("places").castTo(positionIds, /*isInteger=*/true);
  }

  // Returns embedded tokens before dropout, [batch, tokens, embedding width].
  Value embedTokens(Value ids, Value typeIds) {
    int64_t e = config.embeddingWidth;
    table = model.parameter(
        weight("words", nameOf(features.words) + ".weight", {config.vocabulary, e}));
    Value positions, types;
    if (isThere(features.positions))
      positions = model.parameter(
          weight("positions", nameOf(features.positions) + ".weight", {config.positions, e}));
    if (isThere(features.types))
      types =
          model.parameter(weight("types", nameOf(features.types) + ".weight", {config.types, e}));
    Weights norm = declareNorm("embedding_norm", nameOf(features.embeddingNorm), e);
    Value x = model.as("word").embedding(table, ids, config.padding);
    if (types && config.types > 1) {
      Value type = model.as("type").embedding(types, typeIds);
      x = model.as("typed").add(x, type);
    } else if (types) {
      x = model.as("typed").add(x, types);
    }
    if (positions && features.positionsSkipPadding) {
      Value placed = positionsBehindPadding(ids);
      placed = model.as("position").embedding(positions, placed, config.padding);
      x = model.as("placed").add(x, placed);
    } else if (positions) {
      if (config.positions > tokens)
        positions = model.as("first_positions").first(positions, tokens);
      x = model.as("placed").add(x, positions);
    }
    return normalise("embedded", x, norm);
  }

  // Returns embedded patches behind a token of the model, before dropout.
  Value embedPatches(Value pixels) {
    int64_t c = config.width, n = config.channels, p = config.patch[0], q = config.patch[1];
    ParameterSpec first = weight("cls_token", nameOf("embeddings.cls_token"), {1, 1, c});
    ParameterSpec positionIds = weight("positions", nameOf(features.positions), {1, tokens, c});
    SmallVector<Value> values = model.parameters({first, positionIds});
    Weights projection = declare("projection", nameOf(features.words), {c, n, p, q},
                                 /*hasBias=*/true, {}, /*contract=*/3);
    for (int dim : {0, 1}) // pixels behind the last whole patch do not count
      if (int64_t used = patches(dim) * config.patch[dim]; used < config.image[dim])
        pixels = model.as("cut").slice(pixels, dim + 2, 0, used);
    int64_t batch = ShapedType::kDynamic;
    Value x = model.as("rows").reshape(pixels, {batch, n, patches(0), p, patches(1), q});
    x = model.as("patches").transpose(x, {0, 2, 4, 1, 3, 5});
    x = model.as("projected").linear(x, projection.weight, projection.bias, true, 3);
    x = model.as("sequence").reshape(x, {batch, tokens - 1, c});
    x = model.as("behind_token").pad(x, 1, 1, 0);
    Value token = model.as("in_front").pad(values[0], 1, 0, tokens - 1);
    Value placed = model.as("token_placed").add(values[1], token);
    return model.as("placed").add(x, placed);
  }

  Padding paddingOf(Value mask) {
    Value lengths = model.as("lengths").lengthsOf(mask);
    Value shown = model.as("shown").constant(0, {});
    Value hiddenScore = model.as("hidden_score").constant(kHidden, {});
    Value scores = model.as("padding_scores").where(mask, shown, hiddenScore);
    return {lengths, model.as("padding").reshape(scores, {ShapedType::kDynamic, 1, 1, tokens})};
  }

  // 4. The whole model.

  // Calls the blocks of all layers. Layers of one kind that follow each other are one repeat.
  Value buildLayers(Value x, const Padding &padding) {
    std::pair<Value, Value> rotation, localRotation;
    bool hasLocal = llvm::is_contained(config.localLayers, 1);
    bool hasFull = config.localLayers.empty() || llvm::is_contained(config.localLayers, 0);
    if (features.rotary && hasFull)
      rotation = model.as({"cos", "sin"}).rotaryTable(config.rotary, headDim);
    if (features.rotary && hasLocal)
      localRotation = model.as({"local_cos", "local_sin"}).rotaryTable(config.localRotary, headDim);
    for (int64_t first = 0; first < config.layers;) {
      Kind kind = kindOf(first);
      int64_t end = first + 1;
      while (end < config.layers && kindOf(end) == kind)
        ++end;
      SmallVector<Value> operands{x};
      if (padding.lengths)
        operands.append({padding.lengths, padding.scores});
      auto [cos, sin] = kind.isLocal ? localRotation : rotation;
      if (cos)
        operands.append({cos, sin});
      std::string number = first == 0 ? ".{}" : ".{" + std::to_string(first) + "}";
      x = model.as("layers")
              .repeat(blockOf(kind), end - first, nameOf(features.layers) + number, operands, 1,
                      first)
              .front();
      first = end;
    }
    return x;
  }

  // Applies the layers of a head in front of its last one.
  Value openHead(Value x, const EncoderHead &head, int64_t width, bool hasBias) {
    if (!isThere(head.dense))
      return x;
    Weights dense = declare("head_dense", head.dense, {width, config.width}, hasBias);
    Weights norm;
    if (isThere(head.norm))
      norm = declareNorm("head_norm", head.norm, width);
    x = project("head_projected", x, dense);
    x = activate("head_open", x, head.activation.value_or(config.headActivation));
    return normalise("head_normed", x, norm);
  }

  // Returns the loss of masked words: the mean over labels that are not ignored.
  Value maskedWords(Value x, Value labels) {
    const EncoderHead &head = features.wordHead;
    x = openHead(x, head, config.embeddingWidth, config.headBias);
    Value decoder = table, bias;
    std::string out = head.out;
    if (!config.tied)
      decoder = model.parameter(
          weight("decoder", out + ".weight", {config.vocabulary, config.embeddingWidth}));
    if (config.decoderBias) {
      std::string tiedBias = features.wordBias;
      std::string name = config.tied ? tiedBias : out + ".bias";
      bias = model.parameter(ParameterSpec::bias("word_bias", name, {config.vocabulary}));
      // The class of transformers keeps a bias that it does not use where nothing is tied.
      if (!config.tied && tiedBias != name)
        model.parameter(ParameterSpec::bias("unused_bias", tiedBias, {config.vocabulary}));
    }
    Value logits = model.as("logits").linear(x, decoder, bias, /*transposed=*/true);
    return model.as("loss").meanCrossEntropy(logits, labels);
  }

  // Returns one row for each sample: its first token, or the mean of those that are no padding.
  Value pool(Value x, Value mask) {
    if (!config.meanPooled)
      return model.as("pooled").slice(x, 1, 0, 1, /*squeeze=*/true);
    Value seen = model.as("seen").castTo(mask, /*isInteger=*/false);
    Value column = model.as("seen_column").reshape(seen, {ShapedType::kDynamic, tokens, 1});
    Value kept = model.as("seen_rows").multiply(x, column);
    Value sum = model.as("sum_of_rows").reduce(graph::ReduceKind::Sum, kept, 1);
    Value count = model.as("count").reduce(graph::ReduceKind::Sum, column, 1);
    return model.as("pooled").divide(sum, count);
  }

  // Returns the loss of labels of samples.
  Value classes(Value x, Value labels, Value mask) {
    const EncoderHead &head = features.classHead;
    x = pool(x, mask);
    if (config.dropsHeadInput)
      x = model.as("pooled_kept").dropout(x, config.headDropout);
    x = openHead(x, head, config.width, config.headBias);
    if (isThere(head.dense))
      x = model.as("head_kept").dropout(x, config.headDropout);
    ParameterSpec spec =
        weight("classifier", std::string(head.out) + ".weight", {config.labels, config.width});
    ParameterSpec bias =
        ParameterSpec::bias("classifier_bias", std::string(head.out) + ".bias", {config.labels});
    SmallVector<Value> values = model.parameters({spec, bias});
    Value logits = model.as("logits").linear(x, values[0], values[1], /*transposed=*/true);
    if (config.task == EncoderTask::OneOfClasses)
      return model.as("loss").meanCrossEntropy(logits, labels);
    if (config.task == EncoderTask::SomeOfClasses) { // (1 - y) x - log(sigmoid(x))
      Value product = model.as("named").multiply(logits, labels);
      Value rest = model.as("rest").subtract(logits, product);
      Value sure = model.as("sure").point(graph::PointFunction::LogSigmoid, logits);
      Value each = model.as("losses").subtract(rest, sure);
      return model.as("loss").mean(each);
    }
    if (config.labels == 1)
      logits = model.as("numbers").reshape(logits, {ShapedType::kDynamic});
    Value difference = model.as("difference").subtract(logits, labels);
    Value square = model.as("square").multiply(difference, difference);
    return model.as("loss").mean(square);
  }

  Type labelType() {
    switch (config.task) {
    case EncoderTask::MaskedWords:
      return model.ids();
    case EncoderTask::OneOfClasses:
      return model.integers({});
    case EncoderTask::SomeOfClasses:
      return model.batched({config.labels});
    case EncoderTask::Regression:
      return config.labels == 1 ? model.batched({}) : model.batched({config.labels});
    }
    llvm_unreachable("all tasks are listed");
  }

  void buildLoss() {
    SmallVector<std::pair<StringRef, Type>> inputs;
    bool hasTypes = !features.ofImages && isThere(features.types) && config.types > 1;
    if (features.ofImages)
      inputs.push_back(
          {"pixel_values", model.batched({config.channels, config.image[0], config.image[1]})});
    else
      inputs.append({{"input_ids", model.ids()}, {"attention_mask", model.ids()}});
    if (hasTypes)
      inputs.push_back({"token_type_ids", model.ids()});
    inputs.push_back({"labels", labelType()});
    graph::FuncOp func = model.beginLoss(inputs);
    Value x, mask, labels = func.getArguments().back();
    Padding padding;
    if (features.ofImages) {
      x = embedPatches(func.getArgument(0));
    } else {
      mask = func.getArgument(1);
      padding = paddingOf(mask);
      x = embedTokens(func.getArgument(0), hasTypes ? func.getArgument(2) : Value());
    }
    x = model.as("embedded_kept").dropout(x, config.embeddingDropout);
    if (config.embeddingWidth != config.width) {
      Weights wider = declare("wider", nameOf(features.embeddingProjection),
                              {config.width, config.embeddingWidth}, /*hasBias=*/true);
      x = project("embedded_wide", x, wider);
    }
    x = buildLayers(x, padding);
    if (isThere(features.lastNorm)) {
      Weights norm = declareNorm("last_norm", nameOf(features.lastNorm), config.width);
      x = normalise("normed", x, norm);
    }
    model.endFunc(config.task == EncoderTask::MaskedWords ? maskedWords(x, labels)
                                                          : classes(x, labels, mask));
  }

  const EncoderConfig &config;
  const EncoderFeatures &features;
  ModelBuilder model;
  int64_t tokens, headDim;
  RankedTensorType hidden, keys, angles;
  Value table;                         // the embedding of words
  std::array<graph::FuncOp, 4> blocks; // see blockOf
};

} // namespace

OwningOpRef<ModuleOp> buildEncoder(MLIRContext *context, const EncoderConfig &config,
                                   int64_t sequence) {
  return EncoderBuilder(context, config, sequence).build();
}

} // namespace dtc
