// Llama and its kin as graph IR.
#include "models/Llama.h"

#include <cmath>

using namespace mlir;

namespace dtc {
namespace {

struct NamedSpec {
  std::string name;
  ParameterSpec spec;
};

class LlamaBuilder {
public:
  LlamaBuilder(MLIRContext *context, const LlamaConfig &config, int64_t sequence)
      : config(config), model(context, config.name, sequence) {}

  OwningOpRef<ModuleOp> build() {
    declareParameters();
    graph::FuncOp block = buildBlock();
    buildLoss(block);
    return model.take();
  }

private:
  ParameterSpec weight(ArrayRef<int64_t> shape, ArrayRef<int64_t> stored = {}) const {
    return ParameterSpec::weight(shape, config.initializerRange, stored);
  }

  SmallVector<NamedSpec> blockParameters() const {
    int64_t c = config.width, f = config.innerWidth, h = config.heads, kv = config.kvHeads,
            d = config.headDim;
    SmallVector<NamedSpec> list{
        {"input_layernorm.weight", ParameterSpec::norm(config.width)},
        {"self_attn.q_proj.weight", weight({h, d, c}, {h * d, c})},
        {"self_attn.k_proj.weight", weight({kv, d, c}, {kv * d, c})},
        {"self_attn.v_proj.weight", weight({kv, d, c}, {kv * d, c})},
        {"self_attn.o_proj.weight", weight({c, h, d}, {c, h * d})},
        {"post_attention_layernorm.weight", ParameterSpec::norm(config.width)}};
    if (config.experts > 0) {
      int64_t e = config.experts;
      list.push_back({"block_sparse_moe.gate.weight", weight({e, c})});
      list.push_back({"block_sparse_moe.experts.*.w1.weight", weight({e, f, c})});
      list.push_back({"block_sparse_moe.experts.*.w2.weight", weight({e, c, f})});
      list.push_back({"block_sparse_moe.experts.*.w3.weight", weight({e, f, c})});
    } else {
      list.push_back({"mlp.gate_proj.weight", weight({f, c})});
      list.push_back({"mlp.up_proj.weight", weight({f, c})});
      list.push_back({"mlp.down_proj.weight", weight({c, f})});
    }
    if (config.projectionBias) {
      list.push_back({"self_attn.q_proj.bias", ParameterSpec::bias({h, d}, {h * d})});
      list.push_back({"self_attn.k_proj.bias", ParameterSpec::bias({kv, d}, {kv * d})});
      list.push_back({"self_attn.v_proj.bias", ParameterSpec::bias({kv, d}, {kv * d})});
    }
    if (config.outputBias)
      list.push_back({"self_attn.o_proj.bias", ParameterSpec::bias({c})});
    if (config.mlpBias) {
      list.push_back({"mlp.gate_proj.bias", ParameterSpec::bias({f})});
      list.push_back({"mlp.up_proj.bias", ParameterSpec::bias({f})});
      list.push_back({"mlp.down_proj.bias", ParameterSpec::bias({c})});
    }
    return list;
  }

  static std::string layerName(int64_t layer, const std::string &name) {
    return "model.layers." + std::to_string(layer) + "." + name;
  }

  void declareParameters() {
    model.declare("model.embed_tokens.weight", weight({config.vocabulary, config.width}));
    for (int64_t layer = 0; layer < config.layers; ++layer)
      for (const NamedSpec &parameter : blockParameters())
        model.declare(layerName(layer, parameter.name), parameter.spec);
    model.declare("model.norm.weight", ParameterSpec::norm(config.width));
    if (!config.tied)
      model.declare("lm_head.weight", weight({config.vocabulary, config.width}));
  }

  // The arguments of the block by parameter name.
  struct BlockParameters {
    graph::FuncOp func;
    llvm::StringMap<unsigned> arguments;
    Value operator()(StringRef name) {
      assert(arguments.count(name) && "a parameter of the block");
      return func.getArgument(arguments.lookup(name));
    }
    bool has(StringRef name) const { return arguments.count(name) != 0; }
  };

  // x times `name`.weight, plus `name`.bias where there is one.
  Value project(BlockParameters &p, Value x, const std::string &name, int64_t contract = 1) {
    Value y = model.linear(x, p(name + ".weight"), /*transposed=*/true, contract);
    return p.has(name + ".bias") ? model.add(y, p(name + ".bias")) : y;
  }

  Value buildAttention(BlockParameters &p, Value x) {
    std::pair<Value, Value> rotation{p.func.getArgument(1), p.func.getArgument(2)};
    Value q = model.rotary(project(p, x, "self_attn.q_proj"), rotation);
    Value k = model.rotary(project(p, x, "self_attn.k_proj"), rotation);
    Value v = project(p, x, "self_attn.v_proj");
    Value attended = model.attention(q, k, v, {}, config.attentionDropout, config.sliding);
    return project(p, attended, "self_attn.o_proj", 2);
  }

  Value buildMlp(BlockParameters &p, Value x) {
    Value gated =
        model.multiply(model.silu(project(p, x, "mlp.gate_proj")), project(p, x, "mlp.up_proj"));
    return project(p, gated, "mlp.down_proj");
  }

  // The experts' output and, where it counts, the loss of uneven use.
  std::pair<Value, Value> buildExperts(BlockParameters &p, Value x) {
    Value logits = model.linear(x, p("block_sparse_moe.gate.weight"), /*transposed=*/true);
    Routing routing = model.route(logits, config.top, config.capacity);
    Value rows = model.dispatch(x, routing);
    auto expert = [&](Value value, const char *name) {
      std::string weight = std::string("block_sparse_moe.experts.*.") + name + ".weight";
      return model.expertLinear(value, p(weight), routing);
    };
    Value gated = model.multiply(model.silu(expert(rows, "w1")), expert(rows, "w3"));
    Value balance = config.balanceCoefficient > 0
                        ? model.balanceLoss(routing, config.balanceCoefficient)
                        : Value();
    return {model.combine(expert(gated, "w2"), routing), balance};
  }

  graph::FuncOp buildBlock() {
    RankedTensorType table = model.tensor({model.sequenceLength(), config.headDim / 2});
    SmallVector<Type> types{model.batched({model.sequenceLength(), config.width}), table, table};
    BlockParameters p;
    for (const NamedSpec &parameter : blockParameters()) {
      p.arguments[parameter.name] = types.size();
      types.push_back(model.tensor(parameter.spec.shape));
    }
    p.func = model.beginFunc("block", types, /*isPrivate=*/true);
    Value x = p.func.getArgument(0);
    Value normed = model.rmsNorm(x, p("input_layernorm.weight"), config.epsilon);
    Value middle = model.add(x, buildAttention(p, normed));
    Value hidden = model.rmsNorm(middle, p("post_attention_layernorm.weight"), config.epsilon);
    if (config.experts == 0) {
      model.endFunc(model.add(middle, buildMlp(p, hidden)));
      return p.func;
    }
    auto [out, balance] = buildExperts(p, hidden);
    SmallVector<Value> results{model.add(middle, out)};
    if (balance)
      results.push_back(balance);
    model.endFunc(results);
    return p.func;
  }

  void buildLoss(graph::FuncOp block) {
    graph::FuncOp func = model.beginLoss();
    Value table = model.get("model.embed_tokens.weight");
    Value x = model.embedding(table, func.getArgument(0));
    std::pair<Value, Value> rotation = model.rotaryTable(config.inverseFrequencies);
    Value balance;
    for (int64_t layer = 0; layer < config.layers; ++layer) {
      SmallVector<Value> operands{x, rotation.first, rotation.second};
      for (const NamedSpec &parameter : blockParameters())
        operands.push_back(model.get(layerName(layer, parameter.name)));
      SmallVector<Value> results = model.call(block, operands, layer);
      x = results[0];
      if (results.size() > 1)
        balance = balance ? model.add(balance, results[1]) : results[1];
    }
    x = model.rmsNorm(x, model.get("model.norm.weight"), config.epsilon);
    Value head = config.tied ? table : model.get("lm_head.weight");
    Value loss =
        model.meanCrossEntropy(model.linear(x, head, /*transposed=*/true), func.getArgument(1));
    if (balance)
      loss =
          model.add(loss, model.scale(model.mean(balance), 1 / static_cast<double>(config.layers)));
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
