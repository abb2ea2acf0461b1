// Builds mixtures of experts as graph IR.
#include "models/Experts.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/PointOps.h"
#include "dialects/graph/RouteOps.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/StateAttributes.h"
#include "dialects/graph/StateOps.h"

#include <limits>

using namespace mlir;

namespace dtc {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

std::string under(StringRef module, const Twine &name) { return (module + "." + name).str(); }

bool isThere(const char *name) { return *name != 0; }

// Megatron-LM adds it to a sum of scores before it divides by it.
constexpr double kLeastSum = 1e-20;

// The rows of a layer's tokens, ordered by expert.
struct Rows {
  ModelBuilder &model;
  int64_t experts, perExpert;
  Value rowOf, counts;

  RankedTensorType type(ArrayRef<int64_t> columns) const {
    SmallVector<int64_t> shape{experts, ShapedType::kDynamic, perExpert};
    shape.append(columns.begin(), columns.end());
    return model.tensor(shape);
  }
  Value pack(Value tokens) const {
    return model.make<graph::PackRowsOp>(type({typeOf(tokens).getShape().back()}), tokens, rowOf,
                                         Value(), ArrayAttr());
  }
  // Multiplies by a weight [experts, out..., in], or [experts, in, out...] if it is not transposed.
  Value linear(Value x, Value weight, bool isTransposed = true) const {
    ArrayRef<int64_t> shape = typeOf(weight).getShape().drop_front();
    ArrayRef<int64_t> out = isTransposed ? shape.drop_back() : shape.drop_front();
    return model.make<graph::GroupedLinearOp>(type(out), x, weight, counts, isTransposed);
  }
  // Adds a bias [experts, columns...]: the product of rows of a one with it, so that a row gets
  // that of its expert.
  Value addBias(StringRef name, Value x, Value bias) const {
    SmallVector<int64_t> shape(typeOf(bias).getShape());
    shape.insert(shape.begin() + 1, 1);
    std::string prefix = name.str();
    Value ones =
        model.as(prefix + "_one").constant(1, {ShapedType::kDynamic, model.sequenceLength(), 1});
    model.as(prefix + "_ones");
    Value rows = pack(ones);
    Value wide = model.as(prefix + "_bias_of").reshape(bias, shape);
    model.as(prefix + "_biases");
    Value added = linear(rows, wide, /*isTransposed=*/false);
    return model.as(name).add(x, added);
  }
};

} // namespace

Value ExpertLayer::parameter(StringRef value, StringRef name, ArrayRef<int64_t> shape,
                             ArrayRef<int64_t> stored) {
  return model.parameter({value.str(), name.str(), SmallVector<int64_t, 4>(shape),
                          SmallVector<int64_t, 4>(stored), graph::InitKind::Normal, deviation,
                          true});
}

Value ExpertLayer::bias(StringRef value, StringRef name, ArrayRef<int64_t> shape) {
  return model.parameter(ParameterSpec::bias(value, name, shape));
}

void ExpertLayer::declareExperts() {
  int64_t e = config.experts, c = columns, f = config.width;
  StringRef module = features.module;
  auto each = [&](const char *name) {
    return under(module, Twine("experts.*.") + name + ".weight");
  };
  switch (features.weights) {
  case ExpertWeights::Apart:
    gate = parameter(features.gate, each(features.gate), {e, f, c});
    down = parameter(features.down, each(features.down), {e, c, f});
    up = parameter(features.up, each(features.up), {e, f, c});
    return;
  case ExpertWeights::GateUpInOne:
    up = parameter("gate_up", under(module, Twine(features.up) + ".weight"), {e, 2, f, c},
                   {1, 2, 1});
    down = parameter("down", under(module, Twine(features.down) + ".weight"), {e, c, f});
    return;
  case ExpertWeights::Alternating:
    up = parameter("gate_up", under(module, features.up), {e, c, f, 2}, {1, 1, 2});
    down = parameter("down", under(module, features.down), {e, f, c});
    break;
  }
  if (!features.expertBias)
    return;
  ParameterSpec spec =
      ParameterSpec::bias("gate_up_bias", under(module, Twine(features.up) + "_bias"), {e, f, 2});
  spec.stored = {1, 2};
  upBias = model.parameter(spec);
  spec = ParameterSpec::bias("down_bias", under(module, Twine(features.down) + "_bias"), {e, c});
  spec.stored = {};
  downBias = model.parameter(spec);
}

void ExpertLayer::declare() {
  int64_t e = config.experts, c = columns;
  std::string name = under(features.module, features.router);
  router = parameter("gate", name + ".weight", {e, c});
  if (features.routerBias)
    routerBias = bias("gate_bias", name + ".bias", {e});
  if (isThere(features.correction)) {
    ParameterSpec spec = ParameterSpec::bias("correction", under(name, features.correction), {e});
    spec.frozen = true;
    correction = model.parameter(spec);
  }
  declareExperts();
  if (!isThere(features.shared) || config.sharedWidth == 0)
    return;
  int64_t f = config.sharedWidth;
  std::string shared = under(features.module, features.shared);
  sharedGate = parameter("shared_gate_proj", shared + ".gate_proj.weight", {f, c});
  sharedUp = parameter("shared_up_proj", shared + ".up_proj.weight", {f, c});
  sharedDown = parameter("shared_down_proj", shared + ".down_proj.weight", {c, f});
  if (config.sharedBias) {
    sharedGateBias = bias("shared_gate_bias", shared + ".gate_proj.bias", {f});
    sharedUpBias = bias("shared_up_bias", shared + ".up_proj.bias", {f});
    sharedDownBias = bias("shared_down_bias", shared + ".down_proj.bias", {c});
  }
  if (isThere(features.sharedGate))
    sharedScale = parameter("shared_scale",
                            under(features.module, Twine(features.sharedGate) + ".weight"), {1, c});
}

// Multiplies the active gate with up.
Value ExpertLayer::gated(Value gateRows, Value upRows, llvm::function_ref<Value(Value)> activate) {
  if (features.clamp == 0) {
    Value open = activate(gateRows);
    return model.as("gated").multiply(open, upRows);
  }
  constexpr double slope = 1.702, infinity = std::numeric_limits<double>::infinity();
  Value low = model.as("gate_clamped")
                  .point(graph::PointFunction::Clamp, gateRows, {-infinity, features.clamp});
  Value both = model.as("up_clamped")
                   .point(graph::PointFunction::Clamp, upRows, {-features.clamp, features.clamp});
  Value steep = model.as("gate_steep").scale(low, slope);
  Value open = model.as("open").point(graph::PointFunction::Sigmoid, steep);
  Value active = model.as("gate_active").multiply(low, open);
  Value one = model.as("one").constant(1, {});
  Value more = model.as("up_more").add(both, one);
  return model.as("gated").multiply(more, active);
}

Value ExpertLayer::buildWithoutDrops(Value x, Value logits,
                                     llvm::function_ref<Value(Value)> activate, Output &output) {
  int64_t sequence = model.sequenceLength(), experts = config.experts, top = config.top;
  RankedTensorType choices = model.batched({sequence, top}), indices = model.ids({top});
  Value bias = correction;
  if (bias && config.correctionRate > 0)
    bias = model.as("correction_before").make<graph::DetachOp>(bias.getType(), bias);
  auto route = model.as({"weights", "experts"})
                   .make<graph::RouteTokensOp>(
                       choices, indices, logits, bias, top, StringRef(config.score),
                       config.normalised, llvm::APFloat(config.epsilon),
                       llvm::APFloat(config.scale), config.groups, config.kept, config.members);
  auto placeRows = model.as({"places", "counts"})
                       .make<graph::PlaceRowsOp>(
                           indices, model.batched({experts}).clone(indices.getElementType()),
                           route.getExperts());
  Rows rows{model, experts,
            static_cast<int64_t>(llvm::divideCeil(static_cast<uint64_t>(sequence * top),
                                                  static_cast<uint64_t>(experts))),
            placeRows.getRowOf(), placeRows.getCounts()};
  model.as("rows");
  Value packed = rows.pack(x), gateRows, upRows;
  bool isTransposed = features.weights != ExpertWeights::Alternating;
  if (features.weights == ExpertWeights::Apart) {
    model.as("gate_rows");
    gateRows = rows.linear(packed, gate);
    model.as("up");
    upRows = rows.linear(packed, up);
  } else {
    model.as("gate_up_rows");
    Value bothRows = rows.linear(packed, up, isTransposed);
    if (upBias)
      bothRows = rows.addBias("gate_up_biased", bothRows, upBias);
    SmallVector<Value> each = model.as({"gate_rows", "up"}).unstack(bothRows, isTransposed ? 3 : 4);
    gateRows = each[0], upRows = each[1];
  }
  Value inner = gated(gateRows, upRows, activate);
  model.as("down");
  Value out = rows.linear(inner, down, isTransposed);
  if (downBias)
    out = rows.addBias("down_biased", out, downBias);
  if (config.balance > 0)
    addBalance(logits, placeRows.getCounts(), output);
  Value mixed = model.as("mixed").make<graph::UnpackRowsOp>(
      model.batched({sequence, columns}), out, rows.rowOf, route.getWeights(), ArrayAttr());
  return config.correctionRate > 0 ? moveCorrection(mixed, placeRows.getCounts()) : mixed;
}

// Gives the loss of uneven use what it needs of each sample.
void ExpertLayer::addBalance(Value logits, Value counts, Output &output) {
  auto experts = static_cast<double>(config.experts);
  double share = 1 / static_cast<double>(model.sequenceLength());
  if (config.balancesAsMegatron)
    counts = countsByScore(logits, counts);
  Value load = model.as("uses").castTo(counts, /*isInteger=*/false);
  load = model.as("load").scale(load, share);
  Value p = config.balancesAsMegatron ? scoresOf(logits) : model.as("p").softmax(logits);
  Value importance = model.as("importance").reduce(graph::ReduceKind::Sum, p, 1, share);
  if (!config.balancesSequences) {
    output.carried = {load, importance};
    return;
  }
  double factor = config.balance * experts;
  if (config.balancesAsMegatron)
    factor /= static_cast<double>(config.top);
  Value products = model.as("uneven_by_expert").multiply(load, importance);
  output.carried = {model.as("balance").reduce(graph::ReduceKind::Sum, products, 1, factor)};
}

// Returns the scores of all experts, which add up to 1.
Value ExpertLayer::scoresOf(Value logits) {
  if (StringRef(config.score) == "softmax")
    return model.as("p").softmax(logits);
  Value scores = model.as("s").point(graph::PointFunction::Sigmoid, logits);
  Value sum = model.as("s_sum").reduce(graph::ReduceKind::Sum, scores, 2);
  Value least = model.as("least").constant(kLeastSum, {});
  sum = model.as("s_sum_positive").add(sum, least);
  sum = model.as("s_sums").reshape(sum, {ShapedType::kDynamic, model.sequenceLength(), 1});
  return model.as("p").divide(scores, sum);
}

// Returns how often each sample has chosen each expert by its scores alone: the router itself may
// choose by a correction and in groups, too.
Value ExpertLayer::countsByScore(Value logits, Value counts) {
  if (!correction && config.groups == 1)
    return counts;
  RankedTensorType choices = model.batched({model.sequenceLength(), config.top});
  RankedTensorType indices = model.ids({config.top});
  auto best = model.as({"best_weights", "best"})
                  .make<graph::RouteTokensOp>(choices, indices, logits, Value(), config.top,
                                              StringRef(config.score), false, llvm::APFloat(0.0),
                                              llvm::APFloat(1.0), 1, 1, 1);
  return model.as({"best_places", "best_counts"})
      .make<graph::PlaceRowsOp>(indices, counts.getType(), best.getExperts())
      .getCounts();
}

// Returns the loss of large logits of each sample: the mean over its tokens of the square of
// log(sum(exp(logits))). Source: Zoph et al. 2022, arXiv:2202.08906.
Value ExpertLayer::zLossOf(Value logits) {
  SmallVector<int64_t> column{ShapedType::kDynamic, model.sequenceLength(), 1};
  Value most = model.as("most").reduce(graph::ReduceKind::Max, logits, 2);
  most = model.as("most_held").make<graph::DetachOp>(most.getType(), most);
  Value mosts = model.as("mosts").reshape(most, column);
  Value below = model.as("below").subtract(logits, mosts);
  Value powers = model.as("powers").make<graph::ExpOp>(below.getType(), below);
  Value sum = model.as("power_sum").reduce(graph::ReduceKind::Sum, powers, 2);
  Value logarithm = model.as("log_of_sum").make<graph::LogOp>(sum.getType(), sum);
  Value z = model.as("z").add(most, logarithm);
  Value squares = model.as("z_squared").multiply(z, z);
  return model.as("z_loss").reduce(graph::ReduceKind::Sum, squares, 1,
                                   config.zLoss / static_cast<double>(model.sequenceLength()));
}

// Lets the correction move by the choices of all samples; returns the tokens.
Value ExpertLayer::moveCorrection(Value tokens, Value counts) {
  Value uses = model.as("uses_of_sample").castTo(counts, /*isInteger=*/false);
  uses = model.as("uses_of_all").reduce(graph::ReduceKind::Sum, uses, 0);
  OpBuilder numbers(tokens.getContext());
  return model.as("mixed_and_counted")
      .make<graph::ObserveOp>(tokens.getType(), tokens, correction, uses, graph::ObserveKind::Sum,
                              numbers.getF64FloatAttr(config.correctionRate));
}

Value ExpertLayer::buildWithCapacity(Value x, Value logits,
                                     llvm::function_ref<Value(Value)> activate, Output &output) {
  Routing routing = model.route(logits, config.top, *config.capacity);
  Value rows = model.as("rows").dispatch(x, routing);
  Value gateRows = model.as("gate_rows").expertLinear(rows, gate, routing);
  gateRows = activate(gateRows);
  Value upRows = model.as("up").expertLinear(rows, up, routing);
  Value inner = model.as("gated").multiply(gateRows, upRows);
  if (config.balance > 0)
    output.carried = {model.as("balance").balanceLoss(routing, config.balance)};
  Value out = model.as("down").expertLinear(inner, down, routing);
  return model.as("mixed").combine(out, routing);
}

Value ExpertLayer::buildShared(Value x, llvm::function_ref<Value(Value)> activate) {
  auto linear = [&](StringRef name, Value of, Value weight, Value bias) {
    return model.as(name).linear(of, weight, bias, /*transposed=*/true);
  };
  Value open = activate(linear("shared_gate", x, sharedGate, sharedGateBias));
  Value wide = linear("shared_up", x, sharedUp, sharedUpBias);
  Value inner = model.as("shared_gated").multiply(open, wide);
  Value out = linear("shared", inner, sharedDown, sharedDownBias);
  if (!sharedScale)
    return out;
  Value score = linear("shared_score", x, sharedScale, Value());
  Value share = model.as("shared_share").point(graph::PointFunction::Sigmoid, score);
  return model.as("shared_part").multiply(out, share);
}

ExpertLayer::Output ExpertLayer::build(Value x, llvm::function_ref<Value(Value)> activate) {
  Output output;
  Value logits = model.as("scores").linear(x, router, routerBias, /*transposed=*/true);
  if (features.routerIsWide)
    logits.getDefiningOp()->setAttr(graph::kWideAttr, UnitAttr::get(x.getContext()));
  output.tokens = config.capacity ? buildWithCapacity(x, logits, activate, output)
                                  : buildWithoutDrops(x, logits, activate, output);
  if (config.zLoss > 0)
    output.carried.push_back(zLossOf(logits));
  if (sharedDown) {
    Value shared = buildShared(x, activate);
    output.tokens = model.as("mixed_and_shared").add(output.tokens, shared);
  }
  return output;
}

SmallVector<std::pair<StringRef, Type>> carriedTypes(ModelBuilder &model,
                                                     const ExpertConfig &config) {
  SmallVector<std::pair<StringRef, Type>> types;
  if (config.experts == 0)
    return types;
  RankedTensorType ofSample = model.batched({}), ofExperts = model.batched({config.experts});
  if (config.balance > 0 && (config.balancesSequences || config.capacity))
    types.push_back({"uneven", ofSample});
  else if (config.balance > 0)
    types.append({{"loads", ofExperts}, {"importances", ofExperts}});
  if (config.zLoss > 0)
    types.push_back({"z_losses", ofSample});
  return types;
}

// transformers' load_balancing_loss_func: experts * sum over e of the share of choices of e times
// the mean of its scores, both over all layers and tokens of the batch.
static Value unevenLoss(ModelBuilder &model, const ExpertConfig &config, int64_t layers,
                        ValueRange carried) {
  double share = 1 / static_cast<double>(layers);
  if (carried.size() == 1) {
    Value balance = model.as("mean").mean(carried.front());
    return config.balancesAsMegatron ? balance : model.as("per_layer").scale(balance, share);
  }
  // Counts have no gradient, so that none travels back through the layers.
  Value loads = model.as("loads_held").make<graph::DetachOp>(carried[0].getType(), carried[0]);
  Value load = model.as("load").reduce(graph::ReduceKind::Mean, loads, 0);
  Value importance = model.as("importance").reduce(graph::ReduceKind::Mean, carried[1], 0);
  Value products = model.as("uneven_by_expert").multiply(load, importance);
  return model.as("balance").reduce(graph::ReduceKind::Sum, products, 0,
                                    config.balance * static_cast<double>(config.experts) * share *
                                        share);
}

Value balanceLoss(ModelBuilder &model, const ExpertConfig &config, int64_t layers,
                  ValueRange carried) {
  Value ofLogits;
  if (config.zLoss > 0) {
    ofLogits = model.as("z_loss").mean(carried.back());
    carried = carried.drop_back();
    if (carried.empty())
      return ofLogits;
  }
  Value balance = unevenLoss(model, config, layers, carried);
  return ofLogits ? model.as("balance_and_z").add(balance, ofLogits) : balance;
}

} // namespace dtc
