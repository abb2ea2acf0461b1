// Llama as graph IR.
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
      : config(config), model(context, "llama", config.vocabulary, sequence) {}

  OwningOpRef<ModuleOp> build() {
    declareParameters();
    graph::FuncOp block = buildBlock();
    buildLoss(block);
    return model.take();
  }

private:
  ParameterSpec norm() const { return {{config.width}, {}, graph::InitKind::Ones, 0, false}; }
  ParameterSpec weight(ArrayRef<int64_t> shape, ArrayRef<int64_t> stored = {}) const {
    return {SmallVector<int64_t, 4>(shape), SmallVector<int64_t, 4>(stored),
            graph::InitKind::Normal, config.initializerRange, true};
  }
  static ParameterSpec bias(ArrayRef<int64_t> shape, ArrayRef<int64_t> stored = {}) {
    return {SmallVector<int64_t, 4>(shape), SmallVector<int64_t, 4>(stored), graph::InitKind::Zeros,
            0, false};
  }

  SmallVector<NamedSpec> blockParameters() const {
    int64_t c = config.width, f = config.innerWidth, h = config.heads, kv = config.kvHeads,
            d = config.headDim;
    SmallVector<NamedSpec> list{{"input_layernorm.weight", norm()},
                                {"self_attn.q_proj.weight", weight({h, d, c}, {h * d, c})},
                                {"self_attn.k_proj.weight", weight({kv, d, c}, {kv * d, c})},
                                {"self_attn.v_proj.weight", weight({kv, d, c}, {kv * d, c})},
                                {"self_attn.o_proj.weight", weight({c, h, d}, {c, h * d})},
                                {"post_attention_layernorm.weight", norm()},
                                {"mlp.gate_proj.weight", weight({f, c})},
                                {"mlp.up_proj.weight", weight({f, c})},
                                {"mlp.down_proj.weight", weight({c, f})}};
    if (config.attentionBias) {
      list.push_back({"self_attn.q_proj.bias", bias({h, d}, {h * d})});
      list.push_back({"self_attn.k_proj.bias", bias({kv, d}, {kv * d})});
      list.push_back({"self_attn.v_proj.bias", bias({kv, d}, {kv * d})});
      list.push_back({"self_attn.o_proj.bias", bias({c})});
    }
    if (config.mlpBias) {
      list.push_back({"mlp.gate_proj.bias", bias({f})});
      list.push_back({"mlp.up_proj.bias", bias({f})});
      list.push_back({"mlp.down_proj.bias", bias({c})});
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
    model.declare("model.norm.weight", norm());
    if (!config.tied)
      model.declare("lm_head.weight", weight({config.vocabulary, config.width}));
  }

  graph::FuncOp buildBlock() {
    SmallVector<NamedSpec> parameters = blockParameters();
    RankedTensorType table = model.tensor({model.sequenceLength(), config.headDim / 2});
    SmallVector<Type> types{model.batched({model.sequenceLength(), config.width}), table, table};
    llvm::StringMap<unsigned> arguments;
    for (const NamedSpec &parameter : parameters) {
      arguments[parameter.name] = types.size();
      types.push_back(model.tensor(parameter.spec.shape));
    }
    graph::FuncOp func = model.beginFunc("block", types, /*isPrivate=*/true);
    auto p = [&](StringRef name) -> Value { return func.getArgument(arguments.lookup(name)); };
    auto project = [&](Value x, const std::string &name, int64_t contract = 1) {
      Value y = model.linear(x, p(name + ".weight"), /*transposed=*/true, contract);
      return arguments.count(name + ".bias") ? model.add(y, p(name + ".bias")) : y;
    };
    Value x = func.getArgument(0);
    std::pair<Value, Value> rotation{func.getArgument(1), func.getArgument(2)};
    Value normed = model.rmsNorm(x, p("input_layernorm.weight"), config.epsilon);
    Value q = model.rotary(project(normed, "self_attn.q_proj"), rotation);
    Value k = model.rotary(project(normed, "self_attn.k_proj"), rotation);
    Value v = project(normed, "self_attn.v_proj");
    Value attended = model.attention(q, k, v, 1 / std::sqrt(static_cast<double>(config.headDim)),
                                     config.attentionDropout);
    Value middle = model.add(x, project(attended, "self_attn.o_proj", 2));
    Value hidden = model.rmsNorm(middle, p("post_attention_layernorm.weight"), config.epsilon);
    Value gated = model.multiply(model.silu(project(hidden, "mlp.gate_proj")),
                                 project(hidden, "mlp.up_proj"));
    model.endFunc(model.add(middle, project(gated, "mlp.down_proj")));
    return func;
  }

  void buildLoss(graph::FuncOp block) {
    graph::FuncOp func = model.beginFunc("loss", {model.ids(), model.ids()}, /*isPrivate=*/false);
    Value table = model.get("model.embed_tokens.weight");
    Value x = model.embedding(table, func.getArgument(0));
    std::pair<Value, Value> rotation = model.rotaryTable(config.inverseFrequencies);
    for (int64_t layer = 0; layer < config.layers; ++layer) {
      SmallVector<Value> operands{x, rotation.first, rotation.second};
      for (const NamedSpec &parameter : blockParameters())
        operands.push_back(model.get(layerName(layer, parameter.name)));
      x = model.call(block, operands, layer).front();
    }
    x = model.rmsNorm(x, model.get("model.norm.weight"), config.epsilon);
    Value head = config.tied ? table : model.get("lm_head.weight");
    model.endFunc(
        model.meanCrossEntropy(model.linear(x, head, /*transposed=*/true), func.getArgument(1)));
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
