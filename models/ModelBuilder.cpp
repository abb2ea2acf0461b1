// Builds models as graph IR.
#include "models/ModelBuilder.h"

#include "dialects/graph/ActivationOps.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Inputs.h"
#include "dialects/graph/Moe.h"
#include "dialects/graph/MoeOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/ShapeOps.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace dtc {

ModelBuilder::ModelBuilder(MLIRContext *context, StringRef name, int64_t sequence,
                           Documents documents)
    : builder(context), loc(NameLoc::get(builder.getStringAttr(name))), sequence(sequence),
      documentKind(documents) {
  context->loadDialect<graph::GraphDialect>();
  module = ModuleOp::create(loc, name);
  if (sequence > 0)
    module.get()->setAttr(graph::kSequenceLengthAttr, builder.getI64IntegerAttr(sequence));
  builder.setInsertionPointToEnd(module->getBody());
}

OwningOpRef<ModuleOp> ModelBuilder::take() {
  assert(succeeded(verify(*module)) && "builders check what they are given");
  graph::setTypeNames(*module, typeNames);
  return std::move(module);
}

RankedTensorType ModelBuilder::tensor(ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, builder.getF32Type());
}

RankedTensorType ModelBuilder::batched(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> full{ShapedType::kDynamic};
  full.append(shape.begin(), shape.end());
  return tensor(full);
}

RankedTensorType ModelBuilder::integers(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> full{ShapedType::kDynamic};
  full.append(shape.begin(), shape.end());
  return RankedTensorType::get(full, builder.getI32Type());
}

RankedTensorType ModelBuilder::ids(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> full{sequence};
  full.append(shape.begin(), shape.end());
  return integers(full);
}

RankedTensorType ModelBuilder::typeOf(Value value) const {
  return cast<RankedTensorType>(value.getType());
}

ModelBuilder &ModelBuilder::as(ArrayRef<StringRef> values) {
  names.clear();
  for (StringRef value : values)
    names.push_back(value.str());
  return *this;
}

void ModelBuilder::nameType(StringRef name, Type type) {
  bool isNamed = llvm::any_of(typeNames, [&](const auto &entry) { return entry.second == type; });
  if (!isNamed)
    typeNames[name.str()] = type;
}

Location ModelBuilder::next() {
  Location named = graph::nameValues(SmallVector<StringRef>(names.begin(), names.end()), loc);
  names.clear();
  return named;
}

SmallVector<Value> ModelBuilder::parameters(ArrayRef<ParameterSpec> specs) {
  SmallVector<Attribute> declarations;
  SmallVector<Type> types;
  SmallVector<StringRef> values;
  for (const ParameterSpec &spec : specs) {
    double stddev = spec.init == graph::InitKind::Normal ? spec.stddev : 0.0;
    declarations.push_back(graph::DeclarationAttr::get(
        builder.getContext(), builder.getStringAttr(spec.name), spec.init,
        llvm::APFloat(spec.constant), llvm::APFloat(stddev), spec.stored, spec.decay, spec.frozen));
    types.push_back(tensor(spec.shape));
    values.push_back(spec.value);
  }
  as(values);
  auto op = graph::ParamOp::create(builder, next(), types, builder.getArrayAttr(declarations));
  return SmallVector<Value>(op.getResults());
}

graph::FuncOp ModelBuilder::beginBlock(StringRef name, ArrayRef<std::pair<StringRef, Type>> given) {
  SmallVector<std::pair<StringRef, Type>> arguments(given);
  if (hasDocuments() && name != graph::kLossFunction)
    arguments.push_back({kDocumentsInput, ids()});
  SmallVector<Type> types;
  for (const auto &[value, type] : arguments)
    types.push_back(type);
  builder.setInsertionPointToEnd(module->getBody());
  current = graph::FuncOp::create(builder, loc, name, builder.getFunctionType(types, {}));
  Block &body =
      current.getBody().empty() ? current.getBody().emplaceBlock() : current.getBody().front();
  if (body.getNumArguments() == 0)
    body.addArguments(types, SmallVector<Location>(types.size(), loc));
  for (auto [argument, named] : llvm::zip(body.getArguments(), arguments))
    argument.setLoc(graph::nameValues({named.first}, loc));
  if (name != graph::kLossFunction)
    current.setPrivate();
  builder.setInsertionPointToEnd(&body);
  return current;
}

graph::FuncOp ModelBuilder::beginLoss(ArrayRef<std::pair<StringRef, Type>> inputs) {
  graph::FuncOp loss = beginBlock(graph::kLossFunction, inputs);
  for (auto [index, input] : llvm::enumerate(inputs))
    loss.setArgAttr(static_cast<unsigned>(index), graph::kInputAttr,
                    builder.getStringAttr(input.first));
  return loss;
}

void ModelBuilder::endFunc(ValueRange results) {
  graph::ReturnOp::create(builder, loc, results);
  current.setFunctionType(builder.getFunctionType(current.getArgumentTypes(), results.getTypes()));
}

Value ModelBuilder::linear(Value x, Value weight, Value bias, bool transposed, int64_t contract) {
  ArrayRef<int64_t> in = typeOf(x).getShape(), w = typeOf(weight).getShape();
  SmallVector<int64_t> shape(in.drop_back(contract));
  ArrayRef<int64_t> out = transposed ? w.drop_back(contract) : w.drop_front(contract);
  shape.append(out.begin(), out.end());
  return graph::LinearOp::create(builder, next(), tensor(shape), x, weight, bias, contract,
                                 transposed);
}

Value ModelBuilder::add(Value a, Value b) {
  return graph::AddOp::create(builder, next(), a.getType(), a, b);
}

Value ModelBuilder::multiply(Value a, Value b) {
  return graph::MultiplyOp::create(builder, next(), a.getType(), a, b);
}

Value ModelBuilder::gelu(Value x, graph::GeluKind kind) {
  return graph::GeluOp::create(builder, next(), x.getType(), x, kind);
}

Value ModelBuilder::silu(Value x) { return graph::SiluOp::create(builder, next(), x.getType(), x); }

Value ModelBuilder::tanh(Value x) { return graph::TanhOp::create(builder, next(), x.getType(), x); }

Value ModelBuilder::relu(Value x) { return graph::ReluOp::create(builder, next(), x.getType(), x); }

Value ModelBuilder::layerNorm(Value x, Value weight, Value bias, double epsilon) {
  return graph::LayerNormOp::create(builder, next(), x.getType(), TypeRange(), x, weight, bias,
                                    builder.getF64FloatAttr(epsilon))
      .getResult();
}

Value ModelBuilder::rmsNorm(Value x, Value weight, double epsilon) {
  return graph::RmsNormOp::create(builder, next(), x.getType(), Type(), x, weight,
                                  builder.getF64FloatAttr(epsilon))
      .getResult();
}

Value ModelBuilder::embedding(Value table, Value ids, std::optional<int64_t> padding) {
  SmallVector<int64_t> shape(typeOf(ids).getShape());
  shape.push_back(typeOf(table).getShape().back());
  return graph::EmbeddingOp::create(builder, next(), tensor(shape), table, ids,
                                    padding ? builder.getI64IntegerAttr(*padding) : IntegerAttr(),
                                    ArrayAttr());
}

Value ModelBuilder::first(Value x, int64_t size) { return slice(x, 0, 0, size); }

Value ModelBuilder::slice(Value x, int64_t dim, int64_t start, int64_t size, bool squeeze) {
  SmallVector<int64_t> shape(typeOf(x).getShape());
  shape[dim] = size;
  if (squeeze)
    shape.erase(shape.begin() + dim);
  return graph::SliceOp::create(builder, next(), tensor(shape), x, dim, start, size, squeeze);
}

Value ModelBuilder::concat(ValueRange values, int64_t dim) {
  SmallVector<int64_t> shape(typeOf(values.front()).getShape());
  shape[dim] = 0;
  for (Value each : values)
    shape[dim] += typeOf(each).getDimSize(dim);
  return graph::ConcatOp::create(builder, next(), tensor(shape), values, dim, /*stack=*/false);
}

Value ModelBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, typeOf(x).getElementType());
  return graph::ReshapeOp::create(builder, next(), type, x);
}

Value ModelBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(typeOf(x).getDimSize(dim));
  return graph::TransposeOp::create(builder, next(), tensor(shape), x, permutation);
}

Value ModelBuilder::constant(double value, ArrayRef<int64_t> shape) {
  return graph::ConstantOp::create(builder, next(), tensor(shape), builder.getF64FloatAttr(value));
}

SmallVector<Value> ModelBuilder::unstack(Value x, int64_t dim) {
  SmallVector<int64_t> shape(typeOf(x).getShape());
  SmallVector<Type> types(static_cast<size_t>(shape[dim]));
  shape.erase(shape.begin() + dim);
  llvm::fill(types, tensor(shape));
  auto op = graph::UnstackOp::create(builder, next(), types, x, dim);
  return SmallVector<Value>(op.getResults());
}

std::pair<Value, Value> ModelBuilder::rotaryTable(const RotarySpec &rotary, int64_t headDim) {
  RankedTensorType type = tensor({sequence, headDim / 2});
  auto number = [&](std::optional<double> value) {
    return value ? builder.getF64FloatAttr(*value) : FloatAttr();
  };
  SmallVector<std::string> wanted = names;
  bool isScaled = rotary.magnitude != 1, isListed = !rotary.frequencies.empty();
  if (isScaled || hasDocuments())
    names = {"plain_cos", "plain_sin"};
  auto table = graph::RotaryTableOp::create(
      builder, next(), type, type,
      isListed ? builder.getDenseF64ArrayAttr(rotary.frequencies) : DenseF64ArrayAttr(),
      isListed ? FloatAttr() : number(rotary.base), number(rotary.factor), number(rotary.low),
      number(rotary.high),
      rotary.positions ? builder.getI64IntegerAttr(*rotary.positions) : IntegerAttr(), ArrayAttr());
  auto finish = [&](size_t index, Value value) {
    std::string name = index < wanted.size() ? wanted[index] : "";
    if (isScaled)
      value = as(hasDocuments() ? "scaled_" + name : name).scale(value, rotary.magnitude);
    return hasDocuments() ? as(name).embedding(value, positions()) : value;
  };
  Value cos = finish(0, table.getCos());
  return {cos, finish(1, table.getSin())};
}

Value ModelBuilder::rotary(Value x, std::pair<Value, Value> table) {
  return graph::RotaryOp::create(builder, next(), x.getType(), x, table.first, table.second,
                                 UnitAttr());
}

Value ModelBuilder::attention(Value q, Value k, Value v, std::optional<double> scale,
                              double dropout, int64_t sliding, double softCap, bool causal) {
  SmallVector<int64_t> shape(typeOf(q).getShape());
  shape.back() = typeOf(v).getShape().back();
  return graph::AttentionOp::create(
             builder, next(), typeOf(q).clone(shape), Type(), q, k, v, Value(), Value(), Value(),
             Value(), documents(), Value(), Value(), Value(),
             causal ? builder.getUnitAttr() : UnitAttr(),
             sliding > 0 ? builder.getI64IntegerAttr(sliding) : IntegerAttr(), IntegerAttr(),
             softCap > 0 ? builder.getF64FloatAttr(softCap) : FloatAttr(),
             scale ? builder.getF64FloatAttr(*scale) : FloatAttr(),
             builder.getF64FloatAttr(dropout), IntegerAttr(), ArrayAttr())
      .getResult();
}

Value ModelBuilder::repeatHead(Value x, int64_t heads) {
  SmallVector<int64_t> shape(typeOf(x).getShape());
  shape[2] = heads;
  return graph::BroadcastOp::create(builder, next(), typeOf(x).clone(shape), x,
                                    builder.getDenseI64ArrayAttr({2}), Value());
}

Value ModelBuilder::dropout(Value x, double p) {
  if (p <= 0) {
    names.clear();
    return x;
  }
  return graph::DropoutOp::create(builder, next(), x.getType(), x, Value(), Value(),
                                  builder.getF64FloatAttr(p), IntegerAttr(), DenseI64ArrayAttr(),
                                  ArrayAttr());
}

Value ModelBuilder::meanCrossEntropy(Value logits, Value targets) {
  if (documentKind == Documents::LossPerDocument)
    return documentLoss(logits, targets);
  return graph::CrossEntropyOp::create(builder, next(), tensor({}), Type(), logits, targets,
                                       builder.getI64IntegerAttr(kIgnoredTarget),
                                       builder.getUnitAttr())
      .getLoss();
}

Value ModelBuilder::scale(Value x, double factor) {
  return graph::ScaleOp::create(builder, next(), x.getType(), x, builder.getF64FloatAttr(factor));
}

Value ModelBuilder::mean(Value x) {
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(x).getRank()));
  return graph::ReduceOp::create(
      builder, next(), tensor({}), x,
      graph::ReduceKindAttr::get(builder.getContext(), graph::ReduceKind::Mean),
      builder.getDenseI64ArrayAttr(dims), builder.getF64FloatAttr(1), ArrayAttr());
}

SmallVector<Value> ModelBuilder::repeat(graph::FuncOp callee, int64_t count, StringRef prefix,
                                        ValueRange given, int64_t carrying, int64_t instance) {
  SmallVector<Value> operands(given);
  if (hasDocuments())
    operands.push_back(documents());
  auto op = graph::RepeatOp::create(
      builder, next(), callee.getResultTypes(), builder.getI64IntegerAttr(count),
      FlatSymbolRefAttr::get(callee.getSymNameAttr()), operands,
      builder.getI64IntegerAttr(carrying), UnitAttr(), builder.getStringAttr(prefix),
      builder.getI64IntegerAttr(instance));
  return SmallVector<Value>(op.getResults());
}

namespace {

// Rows that an expert has on average for a group. More rows leave fewer tokens without a free row.
constexpr int64_t kRowsPerGroup = 16;
constexpr int64_t kMaxGroups = 64;

// Returns the number of tokens per group. A sequence can be split over as many ranks as it has
// groups, so this makes as many groups as leave each expert some rows.
int64_t chooseGroup(int64_t sequence, int64_t top, int64_t experts) {
  int64_t groups = 1;
  while (groups < kMaxGroups && sequence % (groups * 2) == 0 &&
         sequence / (groups * 2) * top >= experts * kRowsPerGroup)
    groups *= 2;
  return sequence / groups;
}

} // namespace

Routing ModelBuilder::route(Value logits, int64_t top, double capacity) {
  int64_t experts = typeOf(logits).getDimSize(2);
  Routing routing;
  routing.group = chooseGroup(sequence, top, experts);
  routing.capacity = capacity;
  RankedTensorType choices = batched({sequence, top}), perSequence = batched({experts});
  RankedTensorType indices = choices.clone(builder.getI32Type());
  as({"weights", "experts", "slots", "load", "importance"});
  auto router = graph::MoeRouterOp::create(builder, next(), choices, indices, indices, perSequence,
                                           perSequence, logits, builder.getI64IntegerAttr(top),
                                           /*normalised=*/builder.getUnitAttr(),
                                           builder.getI64IntegerAttr(routing.group));
  routing.weights = router.getWeights();
  routing.experts = router.getExperts();
  routing.slots = router.getSlots();
  routing.load = router.getLoad();
  routing.importance = router.getImportance();
  return routing;
}

Value ModelBuilder::dispatch(Value tokens, const Routing &routing) {
  ArrayRef<int64_t> shape = typeOf(tokens).getShape();
  int64_t experts = typeOf(routing.load).getDimSize(1);
  FailureOr<int64_t> rows = graph::expertCapacity(
      routing.group, typeOf(routing.experts).getDimSize(2), routing.capacity, experts);
  assert(succeeded(rows) && "the importer bounds sizes and capacity");
  RankedTensorType type = tensor({experts, shape[0], shape[1] / routing.group * *rows, shape[2]});
  return graph::MoeDispatchOp::create(builder, next(), type, tokens, routing.experts, routing.slots,
                                      Value(), builder.getI64IntegerAttr(routing.group),
                                      builder.getF64FloatAttr(routing.capacity), ArrayAttr());
}

Value ModelBuilder::combine(Value rows, const Routing &routing) {
  RankedTensorType type = batched({sequence, typeOf(rows).getDimSize(3)});
  return graph::MoeCombineOp::create(builder, next(), type, rows, routing.experts, routing.slots,
                                     routing.weights, builder.getI64IntegerAttr(routing.group),
                                     builder.getF64FloatAttr(routing.capacity), ArrayAttr());
}

Value ModelBuilder::expertLinear(Value rows, Value weight, const Routing &routing) {
  SmallVector<int64_t> shape(typeOf(rows).getShape());
  double choices =
      static_cast<double>(sequence) * static_cast<double>(typeOf(routing.experts).getDimSize(2));
  double fill = choices / (static_cast<double>(shape[0]) * static_cast<double>(shape[2]));
  shape.back() = typeOf(weight).getDimSize(1);
  return graph::ExpertLinearOp::create(builder, next(), tensor(shape), rows, weight,
                                       /*transposed=*/builder.getUnitAttr(),
                                       builder.getF64FloatAttr(std::min(1.0, fill)));
}

Value ModelBuilder::balanceLoss(const Routing &routing, double coefficient) {
  RankedTensorType type = tensor(typeOf(routing.load).getShape().drop_back());
  return graph::MoeBalanceLossOp::create(builder, next(), type, routing.load, routing.importance,
                                         builder.getI64IntegerAttr(sequence),
                                         builder.getF64FloatAttr(coefficient));
}

} // namespace dtc
