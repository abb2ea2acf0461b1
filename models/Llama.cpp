// Builds Llama and related models as graph IR.
#include "models/Llama.h"

#include "dialects/graph/NnOps.h"
#include "models/LatentAttention.h"

#include <array>
#include <cmath>

using namespace mlir;

namespace dtc {
namespace {

// A norm and, if it has one, its bias.
struct Norm {
  Value weight, bias;
  int64_t plainWidth = 0; // the width of a norm that has no weight

  explicit operator bool() const { return weight || plainWidth > 0; }
};

// A linear layer. `bias` is null if it has none.
struct Linear {
  Value weight, bias;
};

// Queries, keys and values: `q` is all three if one weight has them.
struct Attention {
  Linear q, k, v, o;
  Norm qNorm, kNorm;
  Value sinks; // null if it has none
};

// The MLP: `up` is the gate, too, if one weight has both.
struct Mlp {
  Linear gate, up, down;
};

// Returns a name below a module. Example: "self_attn.q_proj".
std::string under(StringRef module, StringRef name) { return (module + "." + name).str(); }

bool isThere(const char *name) { return *name != 0; }

class LlamaBuilder {
public:
  LlamaBuilder(MLIRContext *context, const LlamaConfig &config, int64_t sequence)
      : config(config), features(config.features),
        model(context, config.name, sequence, config.documents) {}

  OwningOpRef<ModuleOp> build() {
    int64_t t = model.sequenceLength(), d = config.headDim, c = config.width;
    rotaryDims = config.rotaryDims > 0 ? config.rotaryDims : d;
    hidden = model.batched({t, c});
    angles = model.hasDocuments() ? model.batched({t, rotaryDims / 2})
                                  : model.tensor({t, rotaryDims / 2});
    model.nameType("tokens", model.ids());
    model.nameType("hidden", hidden);
    model.nameType("width", model.tensor({c}));
    model.nameType("angles", angles);
    model.nameType("heads", model.batched({t, config.heads, d}));
    model.nameType("kv_heads", model.batched({t, config.kvHeads, d}));
    model.nameType("q_proj", model.tensor({config.heads, d, c}));
    model.nameType("kv_proj", model.tensor({config.kvHeads, d, c}));
    model.nameType("up_proj", model.tensor({config.innerWidth, c}));
    model.nameType("inner", model.batched({t, config.innerWidth}));
    model.nameType("words", model.tensor({config.vocabulary, c}));
    if (hasExperts())
      model.nameType("top", model.ids({config.experts.top}));
    for (bool isRotated : {true, false})
      for (bool isLocal : {false, true})
        for (bool isDense : {true, false})
          if (Kind kind{isRotated, isLocal, isDense}; hasLayers(kind))
            blockOf(kind) = buildBlock(kind);
    buildLoss();
    return model.take();
  }

private:
  // 0. Kinds of layers. Each has a block.

  struct Kind {
    bool isRotated, isLocal, isDense;
    bool operator==(const Kind &) const = default;
  };

  Kind kindOf(int64_t layer) const {
    return {config.rotaryLayers.empty() || config.rotaryLayers[layer] == 1,
            config.localLayers.empty() || config.localLayers[layer] == 1,
            config.experts.experts == 0 ||
                (!config.denseLayers.empty() && config.denseLayers[layer] == 1)};
  }

  bool hasLayers(Kind kind) const {
    return llvm::any_of(llvm::seq<int64_t>(0, config.layers),
                        [&](int64_t layer) { return kindOf(layer) == kind; });
  }

  graph::FuncOp &blockOf(Kind kind) {
    return blocks[4 * kind.isDense + 2 * kind.isRotated + kind.isLocal];
  }

  // Counts the layers with experts, also those of modules that predict later tokens.
  int64_t countLayersOfExperts() const {
    int64_t later = kindOf(config.layers - 1).isDense ? 0 : config.laterTokens;
    return config.layers - llvm::count(config.denseLayers, 1) + later;
  }
  bool hasExperts() const { return config.experts.experts > 0; }

  // Returns the name of the block of a kind: "block" if all layers of a model are alike.
  std::string nameOf(Kind kind) const {
    std::string name = kind.isRotated ? "" : "unrotated_";
    if (kind.isLocal && !config.localLayers.empty())
      name += "local_";
    if (kind.isDense && hasExperts())
      name += "dense_";
    return name + "block";
  }

  // Describes a weight [out..., in...], the layout of torch.nn.Linear. `stored` tells which dims
  // are one dim in the file.
  ParameterSpec weight(StringRef value, StringRef name, ArrayRef<int64_t> shape,
                       ArrayRef<int64_t> stored = {}) const {
    return {value.str(),
            name.str(),
            SmallVector<int64_t, 4>(shape),
            SmallVector<int64_t, 4>(stored),
            graph::InitKind::Normal,
            config.initializerRange,
            true};
  }

  // 1. Norms and linear layers.

  // Declares a norm of rows of `size` elements.
  Norm declareNorm(const std::string &value, const std::string &name, int64_t size) {
    if (features.norm == LlamaNorm::Plain)
      return {Value(), Value(), size};
    SmallVector<ParameterSpec> specs{ParameterSpec::norm(value, name + ".weight", size)};
    if (features.norm == LlamaNorm::RmsPlusOne)
      specs[0].init = graph::InitKind::Zeros;
    if (features.norm == LlamaNorm::Layer)
      specs.push_back(ParameterSpec::bias(value + "_bias", name + ".bias", {size}));
    SmallVector<Value> values = model.parameters(specs);
    return {values[0], values.size() > 1 ? values[1] : Value()};
  }

  // Declares the norm of a place in a layer, or none if the family has none there.
  Norm declareNorm(const std::string &value, const char *name) {
    return isThere(name) ? declareNorm(value, name, config.width) : Norm();
  }

  Value normalise(StringRef name, Value x, const Norm &norm) {
    if (features.norm == LlamaNorm::Rms)
      return model.as(name).rmsNorm(x, norm.weight, config.epsilon);
    if (features.norm == LlamaNorm::RmsPlusOne) {
      Value one = model.as("one").constant(1, {});
      Value factors = model.as((name + "_factors").str()).add(norm.weight, one);
      return model.as(name).rmsNorm(x, factors, config.epsilon);
    }
    Value weight = norm.weight, bias = norm.bias;
    if (!weight)
      weight = model.as("ones").constant(1, {norm.plainWidth});
    if (!bias)
      bias = model.as("zeros").constant(0, cast<RankedTensorType>(weight.getType()).getShape());
    return model.as(name).layerNorm(x, weight, bias, config.epsilon);
  }

  // Returns `x` itself if there is no norm.
  Value normaliseIfAny(StringRef name, Value x, const Norm &norm) {
    return norm ? normalise(name, x, norm) : x;
  }

  Linear declare(const std::string &value, const std::string &name, ArrayRef<int64_t> shape,
                 bool hasBias, ArrayRef<int64_t> stored, int64_t contract) {
    SmallVector<ParameterSpec> specs{weight(value, name + ".weight", shape, stored)};
    if (hasBias)
      specs.push_back(
          ParameterSpec::bias(value + "_bias", name + ".bias", shape.drop_back(contract)));
    SmallVector<Value> values = model.parameters(specs);
    return {values[0], hasBias ? values[1] : Value()};
  }

  Value project(StringRef name, Value x, const Linear &linear, int64_t contract = 1) {
    return model.as(name).linear(x, linear.weight, linear.bias, /*transposed=*/true, contract);
  }

  // 2. The parameters of a block.

  Attention declareAttention() {
    int64_t c = config.width, h = config.heads, kv = config.kvHeads, d = config.headDim;
    bool hasBias = config.projectionBias;
    auto name = [&](StringRef part) { return under(features.attention, part); };
    Attention a;
    if (features.qkv == LlamaQkv::Apart) {
      a.q = declare("q_proj", name("q_proj"), {h, d, c}, hasBias, {2, 1}, 1);
      a.k = declare("k_proj", name("k_proj"), {kv, d, c}, hasBias, {2, 1}, 1);
      a.v = declare("v_proj", name("v_proj"), {kv, d, c}, hasBias, {2, 1}, 1);
    } else if (features.qkv == LlamaQkv::ByHead) {
      a.q = declare("qkv_proj", name(features.fusedQkv), {h, 3, d, c}, hasBias, {3, 1}, 1);
    } else if (kv == h) {
      a.q = declare("qkv_proj", name(features.fusedQkv), {3, h, d, c}, hasBias, {3, 1}, 1);
    } else {
      a.q = declare("qkv_proj", name(features.fusedQkv), {h + 2 * kv, d, c}, hasBias, {2, 1}, 1);
    }
    if (features.sinks)
      a.sinks = model.parameter(weight("sinks", name("sinks"), {h}));
    a.o = declare("o_proj", name(features.output), {c, h, d}, config.outputBias, {1, 2}, 2);
    if (features.qkNorm == LlamaQkNorm::EachHead) {
      auto norm = [&](const char *part, int64_t heads) {
        ParameterSpec spec =
            ParameterSpec::norm(std::string(part) + "_norm", name(part) + features.qkNormWeight, d);
        spec.shape = {heads, d};
        return Norm{model.parameter(spec), Value()};
      };
      a.qNorm = norm("q", h);
      a.kNorm = norm("k", kv);
    } else if (features.qkNorm != LlamaQkNorm::None) {
      bool isWhole = features.qkNorm == LlamaQkNorm::Whole;
      std::string ending = features.qkNormName;
      a.qNorm = declareNorm("q_norm", name("q" + ending), isWhole ? h * d : d);
      a.kNorm = declareNorm("k_norm", name("k" + ending), isWhole ? kv * d : d);
    }
    return a;
  }

  Mlp declareMlp() {
    int64_t c = config.width, f = config.innerWidth;
    std::string up = under("mlp", features.up);
    Mlp m;
    if (features.gateUpInOne) {
      m.up = declare("gate_up_proj", up, {2, f, c}, config.mlpBias, {2, 1}, 1);
    } else {
      if (features.gated)
        m.gate = declare("gate_proj", "mlp.gate_proj", {f, c}, config.mlpBias, {}, 1);
      m.up = declare("up_proj", up, {f, c}, config.mlpBias, {}, 1);
    }
    m.down = declare("down_proj", under("mlp", features.down), {c, f}, config.mlpBias, {}, 1);
    return m;
  }

  // 3. The operations of a block.

  // Returns q, k and v, [batch, sequence, heads, head dim].
  std::array<Value, 3> projectHeads(const Attention &a, Value x) {
    if (features.qkv == LlamaQkv::Apart)
      return {project("raw_q", x, a.q), project("raw_k", x, a.k), project("v", x, a.v)};
    Value qkv = project("qkv", x, a.q);
    int64_t h = config.heads, kv = config.kvHeads;
    if (features.qkv == LlamaQkv::ByHead || kv == h) {
      SmallVector<Value> each =
          model.as({"raw_q", "raw_k", "v"}).unstack(qkv, features.qkv == LlamaQkv::ByHead ? 3 : 2);
      return {each[0], each[1], each[2]};
    }
    Value q = model.as("raw_q").slice(qkv, 2, 0, h), k = model.as("raw_k").slice(qkv, 2, h, kv);
    return {q, k, model.as("v").slice(qkv, 2, h + kv, kv)};
  }

  // Normalises queries or keys, [batch, sequence, heads, head dim].
  Value normaliseHeads(StringRef name, Value x, const Norm &norm) {
    if (features.qkNorm == LlamaQkNorm::EachHead) {
      Value ones = model.as("ones").constant(1, {config.headDim});
      Value zeros = model.as("zeros").constant(0, {config.headDim});
      x = model.as((name + "_even").str()).layerNorm(x, ones, zeros, config.epsilon);
      return model.as(name).multiply(x, norm.weight);
    }
    if (features.qkNorm != LlamaQkNorm::Whole)
      return normaliseIfAny(name, x, norm);
    SmallVector<int64_t> shape(cast<RankedTensorType>(x.getType()).getShape());
    Value rows =
        model.as((name + "_rows").str()).reshape(x, {shape[0], shape[1], shape[2] * shape[3]});
    rows = normalise((name + "_normed").str(), rows, norm);
    return model.as(name).reshape(rows, shape);
  }

  // Turns pairs of elements 2i and 2i + 1 into pairs i and i + r/2 of the r elements of a head.
  // Queries and keys change alike, so that their products do not.
  Value uninterleave(const std::string &name, Value x) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(x.getType()).getShape());
    Value pairs =
        model.as(name + "_pairs").reshape(x, {shape[0], shape[1], shape[2], shape[3] / 2, 2});
    pairs = model.as(name + "_halves").transpose(pairs, {0, 1, 2, 4, 3});
    return model.as(name + "_turned").reshape(pairs, shape);
  }

  // Rotates the first elements of each head.
  Value rotate(const std::string &name, Value x, std::pair<Value, Value> rotation) {
    Value rest;
    if (rotaryDims < config.headDim) {
      rest = model.as(name + "_rest").slice(x, 3, rotaryDims, config.headDim - rotaryDims);
      x = model.as(name + "_first").slice(x, 3, 0, rotaryDims);
    }
    if (features.interleaved)
      x = uninterleave(name, x);
    if (!rest)
      return model.as(name).rotary(x, rotation);
    x = model.as(name + "_rotated").rotary(x, rotation);
    return model.as(name).concat({x, rest}, 3);
  }

  Value attendWithSinks(Value q, Value k, Value v, Value sinks, bool isLocal) {
    OpBuilder numbers(q.getContext());
    IntegerAttr window =
        isLocal && config.sliding > 0 ? numbers.getI64IntegerAttr(config.sliding) : IntegerAttr();
    return model.as("heads")
        .make<graph::AttentionOp>(q.getType(), Type(), q, k, v, sinks, Value(), Value(), Value(),
                                  model.documents(), Value(), Value(), Value(),
                                  numbers.getUnitAttr(), window, IntegerAttr(), FloatAttr(),
                                  FloatAttr(), numbers.getF64FloatAttr(config.attentionDropout),
                                  IntegerAttr(), ArrayAttr())
        .getResult();
  }

  Value buildAttention(const Attention &a, Value x, std::pair<Value, Value> rotation,
                       bool isLocal) {
    auto [q, k, v] = projectHeads(a, x);
    if (config.clip > 0)
      for (Value *each : {&q, &k, &v})
        *each = model.as("clipped").point(graph::PointFunction::Clamp, *each,
                                          {-config.clip, config.clip});
    q = normaliseHeads("q_normed", q, a.qNorm);
    k = normaliseHeads("k_normed", k, a.kNorm);
    if (rotation.first) {
      q = rotate("q", q, rotation);
      k = rotate("k", k, rotation);
    }
    if (a.sinks)
      return project("attended", attendWithSinks(q, k, v, a.sinks, isLocal), a.o, 2);
    Value heads =
        model.as("heads").attention(q, k, v, config.attentionScale, config.attentionDropout,
                                    isLocal ? config.sliding : 0, config.scoreCap);
    return project("attended", heads, a.o, 2);
  }

  Value activate(Value x) {
    switch (config.activation) {
    case LlamaActivation::Silu:
      return model.as("open").silu(x);
    case LlamaActivation::GeluTanh:
      return model.as("open").gelu(x, graph::GeluKind::Tanh);
    case LlamaActivation::GeluErf:
      return model.as("open").gelu(x, graph::GeluKind::Erf);
    case LlamaActivation::Relu:
      return model.as("open").relu(x);
    }
    llvm_unreachable("all activations are listed");
  }

  Value buildMlp(const Mlp &m, Value x) {
    if (!features.gated)
      return project("mlp", activate(project("up", x, m.up)), m.down);
    Value gate, up;
    if (features.gateUpInOne) {
      Value both = project("gate_up", x, m.up);
      SmallVector<Value> each = model.as({"gate", "up"}).unstack(both, 2);
      gate = each[0], up = each[1];
    } else {
      gate = project("gate", x, m.gate), up = project("up", x, m.up);
    }
    gate = activate(gate);
    Value gated = model.as("gated").multiply(gate, up);
    return project("mlp", gated, m.down);
  }

  // Finishes what attention or the MLP adds to a layer's input.
  Value finish(StringRef name, Value x, const Norm &norm, double dropout) {
    x = normaliseIfAny((name + "_normed").str(), x, norm);
    x = model.as((name + "_kept").str()).dropout(x, dropout);
    return config.residualScale == 1
               ? x
               : model.as((name + "_scaled").str()).scale(x, config.residualScale);
  }

  graph::FuncOp buildBlock(Kind kind) {
    SmallVector<std::pair<StringRef, Type>> arguments{{"x", hidden}};
    if (!kind.isDense)
      arguments.append(carriedTypes(model, config.experts));
    auto carrying = static_cast<unsigned>(arguments.size());
    if (kind.isRotated)
      arguments.append({{"cos", angles}, {"sin", angles}});
    graph::FuncOp func = model.beginBlock(nameOf(kind), arguments);
    std::pair<Value, Value> rotation;
    if (kind.isRotated)
      rotation = {func.getArgument(carrying), func.getArgument(carrying + 1)};
    Value x = func.getArgument(0);
    Norm attentionIn = declareNorm("input_norm", features.attentionIn);
    LatentAttention latent(model, config);
    Attention attention;
    if (config.latent.keyRank > 0)
      latent.declare();
    else
      attention = declareAttention();
    Norm attentionOut = declareNorm("attended_norm", features.attentionOut);
    Norm mlpIn = declareNorm("post_norm", features.mlpIn);
    Mlp mlp;
    ExpertLayer experts(model, config.experts, config.width, config.initializerRange);
    if (kind.isDense)
      mlp = declareMlp();
    else
      experts.declare();
    Norm mlpOut = declareNorm("mlp_norm", features.mlpOut);

    Value normed = normaliseIfAny("normed", x, attentionIn);
    auto rotateHeads = [&](StringRef name, Value of) { return rotate(name.str(), of, rotation); };
    Value attended = config.latent.keyRank > 0
                         ? latent.build(normed, rotateHeads)
                         : buildAttention(attention, normed, rotation, kind.isLocal);
    attended = finish("attended", attended, attentionOut, config.outputDropout);
    Value middle = model.as("middle").add(x, attended);
    if (features.parallel)
      normed = normaliseIfAny("normed_2", mlpIn ? x : normed, mlpIn);
    else
      normed = normaliseIfAny("normed_2", middle, mlpIn);
    ExpertLayer::Output output;
    if (kind.isDense)
      output.tokens = buildMlp(mlp, normed);
    else
      output = experts.build(normed, [&](Value of) { return activate(of); });
    Value out = finish("mlp", output.tokens, mlpOut, config.mlpDropout);
    SmallVector<Value> results{model.as("out").add(middle, out)};
    for (size_t i = 1; i < carrying; ++i)
      results.push_back(
          model.as("sum").add(func.getArgument(static_cast<unsigned>(i)), output.carried[i - 1]));
    model.endFunc(results);
    return func;
  }

  // 4. The whole model.

  // Makes the tables of rotations that the layers need.
  void buildRotations() {
    auto hasBlock = [&](bool isLocal) {
      return blockOf({true, isLocal, false}) || blockOf({true, isLocal, true});
    };
    if (hasBlock(false) || (hasBlock(true) && !config.localRotary))
      rotation = model.as({"cos", "sin"}).rotaryTable(config.rotary, rotaryDims);
    if (hasBlock(true))
      localRotation =
          config.localRotary
              ? model.as({"local_cos", "local_sin"}).rotaryTable(*config.localRotary, rotaryDims)
              : rotation;
  }

  // Calls the block of a kind for `count` layers from `first` on. `carried` are the hidden values
  // and the losses of experts, which pass by dense layers; returns what they are behind the layers.
  SmallVector<Value> callBlock(Kind kind, StringRef name, int64_t first, int64_t count,
                               SmallVector<Value> carried) {
    SmallVector<StringRef> names{name};
    for (const auto &[value, type] : carriedTypes(model, config.experts))
      names.push_back(value);
    auto [cos, sin] = kind.isLocal ? localRotation : rotation;
    size_t carrying = kind.isDense ? 1 : carried.size();
    SmallVector<Value> operands(ArrayRef(carried).take_front(carrying));
    if (kind.isRotated)
      operands.append({cos, sin});
    std::string number = first == 0 ? "{}" : "{" + std::to_string(first) + "}";
    SmallVector<Value> results =
        model.as(ArrayRef(names).take_front(carrying))
            .repeat(blockOf(kind), count, under(features.base, features.layers + ("." + number)),
                    operands, static_cast<int64_t>(carrying), first);
    llvm::copy(results, carried.begin());
    return carried;
  }

  // Calls the blocks of all layers. Layers of one kind that follow each other are one repeat.
  SmallVector<Value> buildLayers(SmallVector<Value> carried) {
    buildRotations();
    for (int64_t first = 0; first < config.layers;) {
      int64_t end = first + 1;
      Kind kind = kindOf(first);
      while (end < config.layers && kindOf(end) == kind)
        ++end;
      carried = callBlock(kind, "layers", first, end - first, carried);
      first = end;
    }
    return carried;
  }

  // Looks up tokens, with the factor that a family has for embeddings.
  Value embed(const std::string &name, Value table, Value ids) {
    Value x = model.as(name).embedding(table, ids, config.padding);
    double factor = config.embeddingScale;
    if (features.embeddingScaled)
      factor *= std::sqrt(static_cast<double>(config.width));
    if (factor != 1)
      x = model.as(name + "_scaled").scale(x, factor);
    return model.as(name + "_kept").dropout(x, config.embeddingDropout);
  }

  // Builds the module that predicts the token `depth` places behind the next one, as in
  // Megatron-LM and with the names of DeepSeek's files. `before` is the normalised output of the
  // layers, or of the module before. `carried` are the losses of experts behind their place for
  // hidden values; the module's are added. Returns its normalised output.
  Value predictLater(int64_t depth, Value before, Value table, Value tokens,
                     SmallVector<Value> &carried) {
    int64_t c = config.width, layer = config.layers + depth - 1;
    std::string module =
        under(features.base, features.layers + ("." + std::to_string(layer)) + ".");
    Norm ofWords = declareNorm("enorm", module + "enorm", c);
    Norm ofBefore = declareNorm("hnorm", module + "hnorm", c);
    Linear join = declare("eh_proj", module + "eh_proj", {c, 2 * c}, false, {}, 1);
    Norm last = declareNorm("shared_head_norm", module + "shared_head.norm", c);
    Value ids = model.as("later_tokens").shiftLeft(tokens, depth);
    Value words = normalise("later_words", embed("later_x", table, ids), ofWords);
    Value hidden = normalise("later_before", before, ofBefore);
    Value both = model.as("later_both").concat({words, hidden}, 2);
    carried.front() = project("later_in", both, join);
    carried = callBlock(kindOf(config.layers - 1), "later", layer, 1, carried);
    return normalise("later_normed", carried.front(), last);
  }

  // Returns the logits of normalised rows.
  Value buildLogits(const std::string &name, Value x, const Linear &head) {
    // Scaled rows give scaled logits, of which there are more.
    if (config.logitScale != 1)
      x = model.as("normed_scaled").scale(x, config.logitScale);
    bool isCapped = config.logitCap > 0;
    Value logits = project(isCapped ? "raw_" + name : name, x, head);
    if (!isCapped)
      return logits;
    logits = model.as(name + "_of_cap").scale(logits, 1 / config.logitCap);
    logits = model.as(name + "_bounded").tanh(logits);
    return model.as(name).scale(logits, config.logitCap);
  }

  void buildLoss() {
    graph::FuncOp func = model.beginLoss();
    ParameterSpec words =
        weight("embed_tokens", under(features.base, features.embedding) + ".weight",
               {config.vocabulary, config.width});
    Value table = model.parameter(words);
    SmallVector<Value> carried{embed("x", table, func.getArgument(0))};
    for (const auto &[value, type] : carriedTypes(model, config.experts))
      carried.push_back(model.as(value == "uneven" ? "even" : "no_" + value.str())
                            .constant(0, cast<RankedTensorType>(type).getShape()));
    SmallVector<Value> results = buildLayers(carried);
    Norm lastNorm = declareNorm("norm", under(features.base, features.lastNorm), config.width);
    Value x = normalise("normed", results[0], lastNorm);
    SmallVector<Value> later;
    for (int64_t depth = 1; depth <= config.laterTokens; ++depth)
      later.push_back(predictLater(depth, later.empty() ? x : later.back(), table,
                                   func.getArgument(0), results));
    Linear head{config.tied
                    ? table
                    : model.parameter(weight("lm_head", std::string(features.head) + ".weight",
                                             {config.vocabulary, config.width})),
                Value()};
    if (features.headBias)
      head.bias = model.parameter(ParameterSpec::bias(
          "lm_head_bias", std::string(features.head) + ".bias", {config.vocabulary}));
    Value logits = buildLogits("logits", x, head);
    for (Value &rows : later)
      rows = buildLogits("later_logits", rows, head);
    model.as("loss");
    Value loss = later.empty()
                     ? model.meanCrossEntropy(logits, func.getArgument(1))
                     : model.meanWithLater(logits, later, func.getArgument(1), config.laterLoss);
    if (results.size() > 1) {
      Value balance = balanceLoss(model, config.experts, countLayersOfExperts(),
                                  ArrayRef(results).drop_front());
      loss = model.as("total").add(loss, balance);
    }
    model.endFunc(loss);
  }

  const LlamaConfig &config;
  const LlamaFeatures &features;
  int64_t rotaryDims = 0;
  RankedTensorType hidden, angles;
  std::pair<Value, Value> rotation, localRotation;
  ModelBuilder model;
  std::array<graph::FuncOp, 8> blocks; // see blockOf
};

} // namespace

OwningOpRef<ModuleOp> buildLlama(MLIRContext *context, const LlamaConfig &config,
                                 int64_t sequence) {
  return LlamaBuilder(context, config, sequence).build();
}

} // namespace dtc
