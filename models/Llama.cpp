// Builds Llama and related models as graph IR.
#include "models/Llama.h"

using namespace mlir;

namespace dtc {
namespace {

class LlamaBuilder {
public:
  LlamaBuilder(MLIRContext *context, const LlamaConfig &config, int64_t sequence)
      : config(config), model(context, config.name, sequence) {}

  OwningOpRef<ModuleOp> build() {
    int64_t t = model.sequenceLength(), d = config.headDim, c = config.width;
    hidden = model.batched({t, c});
    angles = model.tensor({t, d / 2});
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
    if (config.experts > 0)
      model.nameType("top", model.ids({config.top}));
    buildLoss(buildBlock());
    return model.take();
  }

private:
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

  Value norm(const std::string &value, const std::string &name) {
    return model.parameter(ParameterSpec::norm(value, name + ".weight", config.width));
  }

  // A linear layer. `bias` is null if it has none.
  struct Linear {
    Value weight, bias;
  };

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

  // 1. The parameters of a block.

  struct Attention {
    Linear q, k, v, o;
  };
  struct Mlp {
    Linear gate, up, down;
  };
  struct Experts {
    Value gate, w1, w2, w3;
  };

  Attention declareAttention() {
    int64_t c = config.width, h = config.heads, kv = config.kvHeads, d = config.headDim;
    bool hasBias = config.projectionBias;
    Attention a;
    a.q = declare("q_proj", "self_attn.q_proj", {h, d, c}, hasBias, {2, 1}, 1);
    a.k = declare("k_proj", "self_attn.k_proj", {kv, d, c}, hasBias, {2, 1}, 1);
    a.v = declare("v_proj", "self_attn.v_proj", {kv, d, c}, hasBias, {2, 1}, 1);
    a.o = declare("o_proj", "self_attn.o_proj", {c, h, d}, config.outputBias, {1, 2}, 2);
    return a;
  }

  Mlp declareMlp() {
    int64_t c = config.width, f = config.innerWidth;
    Mlp m;
    m.gate = declare("gate_proj", "mlp.gate_proj", {f, c}, config.mlpBias, {}, 1);
    m.up = declare("up_proj", "mlp.up_proj", {f, c}, config.mlpBias, {}, 1);
    m.down = declare("down_proj", "mlp.down_proj", {c, f}, config.mlpBias, {}, 1);
    return m;
  }

  Experts declareExperts() {
    int64_t e = config.experts, c = config.width, f = config.innerWidth;
    auto expert = [&](StringRef name, ArrayRef<int64_t> shape) {
      return weight(name, ("block_sparse_moe.experts.*." + name + ".weight").str(), shape);
    };
    Experts x;
    x.gate = model.parameter(weight("gate", "block_sparse_moe.gate.weight", {e, c}));
    x.w1 = model.parameter(expert("w1", {e, f, c}));
    x.w2 = model.parameter(expert("w2", {e, c, f}));
    x.w3 = model.parameter(expert("w3", {e, f, c}));
    return x;
  }

  // 2. The operations of a block.

  Value buildAttention(const Attention &a, Value x, std::pair<Value, Value> rotation) {
    Value q = project("raw_q", x, a.q), k = project("raw_k", x, a.k), v = project("v", x, a.v);
    q = model.as("q").rotary(q, rotation);
    k = model.as("k").rotary(k, rotation);
    Value heads = model.as("heads").attention(q, k, v, {}, config.attentionDropout, config.sliding);
    return project("attended", heads, a.o, 2);
  }

  Value buildMlp(const Mlp &m, Value x) {
    Value gate = project("gate", x, m.gate), up = project("up", x, m.up);
    gate = model.as("open").silu(gate);
    Value gated = model.as("gated").multiply(gate, up);
    return project("mlp", gated, m.down);
  }

  // Returns the experts' output and, if it counts, the loss of uneven use.
  std::pair<Value, Value> buildExperts(const Experts &e, Value x) {
    Value logits = model.as("scores").linear(x, e.gate, Value(), /*transposed=*/true);
    Routing routing = model.route(logits, config.top, config.capacity);
    Value rows = model.as("rows").dispatch(x, routing);
    Value gate = model.as("gate_rows").expertLinear(rows, e.w1, routing);
    gate = model.as("open").silu(gate);
    Value up = model.as("up").expertLinear(rows, e.w3, routing);
    Value gated = model.as("gated").multiply(gate, up);
    Value balance;
    if (config.balanceCoefficient > 0)
      balance = model.as("balance").balanceLoss(routing, config.balanceCoefficient);
    Value out = model.as("down").expertLinear(gated, e.w2, routing);
    return {model.as("mixed").combine(out, routing), balance};
  }

  // Returns true if layers add up a loss of uneven use, [batch], beside their output.
  bool hasBalance() const { return config.experts > 0 && config.balanceCoefficient > 0; }

  graph::FuncOp buildBlock() {
    SmallVector<std::pair<StringRef, Type>> arguments{{"x", hidden}};
    if (hasBalance())
      arguments.push_back({"uneven", model.batched({})});
    arguments.append({{"cos", angles}, {"sin", angles}});
    graph::FuncOp func = model.beginBlock("block", arguments);
    std::pair<Value, Value> rotation{func.getArguments().drop_back().back(),
                                     func.getArguments().back()};
    Value x = func.getArgument(0), inputNorm = norm("input_norm", "input_layernorm");
    Attention attention = declareAttention();
    Value postNorm = norm("post_norm", "post_attention_layernorm");
    Mlp mlp;
    Experts experts;
    if (config.experts > 0)
      experts = declareExperts();
    else
      mlp = declareMlp();

    Value normed = model.as("normed").rmsNorm(x, inputNorm, config.epsilon);
    Value attended = buildAttention(attention, normed, rotation);
    Value middle = model.as("middle").add(x, attended);
    normed = model.as("normed_2").rmsNorm(middle, postNorm, config.epsilon);
    if (config.experts == 0) {
      Value out = buildMlp(mlp, normed);
      model.endFunc(model.as("out").add(middle, out));
      return func;
    }
    auto [mixed, balance] = buildExperts(experts, normed);
    SmallVector<Value> results{model.as("out").add(middle, mixed)};
    if (balance)
      results.push_back(model.as("sum").add(func.getArgument(1), balance));
    model.endFunc(results);
    return func;
  }

  void buildLoss(graph::FuncOp block) {
    graph::FuncOp func = model.beginLoss();
    ParameterSpec words =
        weight("embed_tokens", "model.embed_tokens.weight", {config.vocabulary, config.width});
    Value table = model.parameter(words);
    SmallVector<Value> operands{
        model.as("x").embedding(table, func.getArgument(0), config.padding)};
    if (hasBalance())
      operands.push_back(model.as("even").zeroForEachSample());
    auto carrying = static_cast<int64_t>(operands.size());
    std::pair<Value, Value> rotation =
        model.as({"cos", "sin"}).rotaryTable(config.rotary, config.headDim);
    operands.append({rotation.first, rotation.second});
    SmallVector<StringRef> names{"layers", "uneven"};
    SmallVector<Value> results =
        model.as(ArrayRef(names).take_front(static_cast<size_t>(carrying)))
            .repeat(block, config.layers, "model.layers.{}", operands, carrying);
    Value lastNorm = norm("norm", "model.norm");
    Value x = model.as("normed").rmsNorm(results[0], lastNorm, config.epsilon);
    Value head = config.tied ? table
                             : model.parameter(weight("lm_head", "lm_head.weight",
                                                      {config.vocabulary, config.width}));
    Value logits = model.as("logits").linear(x, head, Value(), /*transposed=*/true);
    Value loss = model.as("loss").meanCrossEntropy(logits, func.getArgument(1));
    if (hasBalance()) {
      Value balance = model.as("mean").mean(results[1]);
      balance = model.as("per_layer").scale(balance, 1 / static_cast<double>(config.layers));
      loss = model.as("total").add(loss, balance);
    }
    model.endFunc(loss);
  }

  const LlamaConfig &config;
  RankedTensorType hidden, angles;
  ModelBuilder model;
};

} // namespace

OwningOpRef<ModuleOp> buildLlama(MLIRContext *context, const LlamaConfig &config,
                                 int64_t sequence) {
  return LlamaBuilder(context, config, sequence).build();
}

} // namespace dtc
