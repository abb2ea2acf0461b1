// Builds models as graph IR.
#include "models/ModelBuilder.h"

#include "dialects/graph/Inputs.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace dtc {

ModelBuilder::ModelBuilder(MLIRContext *context, StringRef name, int64_t sequence)
    : builder(context), loc(NameLoc::get(builder.getStringAttr(name))), sequence(sequence) {
  context->loadDialect<graph::GraphDialect>();
  module = ModuleOp::create(loc, name);
  module.get()->setAttr(graph::kSequenceLengthAttr, builder.getI64IntegerAttr(sequence));
  builder.setInsertionPointToEnd(module->getBody());
}

OwningOpRef<ModuleOp> ModelBuilder::take() {
  assert(succeeded(verify(*module)) && "builders check what they are given");
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

RankedTensorType ModelBuilder::ids() {
  return RankedTensorType::get({ShapedType::kDynamic, sequence}, builder.getI32Type());
}

RankedTensorType ModelBuilder::typeOf(Value value) const {
  return cast<RankedTensorType>(value.getType());
}

RankedTensorType ModelBuilder::withoutLast(Value value) const {
  return RankedTensorType::get(typeOf(value).getShape().drop_back(),
                               Float32Type::get(builder.getContext()));
}

void ModelBuilder::declare(StringRef name, const ParameterSpec &spec) {
  assert(!parameters.count(name) && "each parameter is declared once");
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module->getBody());
  double stddev = spec.init == graph::InitKind::Normal ? spec.stddev : 0.0;
  DenseI64ArrayAttr stored =
      spec.stored.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(spec.stored);
  parameters[name] = graph::ParameterOp::create(
      builder, loc, builder.getStringAttr(name), TypeAttr::get(tensor(spec.shape)),
      graph::InitKindAttr::get(builder.getContext(), spec.init), builder.getF64FloatAttr(0),
      builder.getF64FloatAttr(stddev), stored, spec.decay ? builder.getUnitAttr() : UnitAttr(),
      graph::PlacementAttr(), graph::PlacementAttr());
}

Value ModelBuilder::get(StringRef name) {
  graph::ParameterOp parameter = parameters.lookup(name);
  assert(parameter && "parameters are declared before they are read");
  return graph::GetOp::create(builder, loc, parameter.getType(),
                              FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
}

graph::FuncOp ModelBuilder::beginFunc(StringRef name, ArrayRef<Type> arguments, bool isPrivate) {
  builder.setInsertionPointToEnd(module->getBody());
  current = graph::FuncOp::create(builder, loc, name, builder.getFunctionType(arguments, {}));
  if (isPrivate)
    current.setPrivate();
  Block &body =
      current.getBody().empty() ? current.getBody().emplaceBlock() : current.getBody().front();
  if (body.getNumArguments() == 0)
    body.addArguments(arguments, SmallVector<Location>(arguments.size(), loc));
  builder.setInsertionPointToEnd(&body);
  return current;
}

graph::FuncOp ModelBuilder::beginLoss() {
  graph::FuncOp loss = beginFunc(graph::kLossFunction, {ids(), ids()}, /*isPrivate=*/false);
  loss.setArgAttr(0, graph::kInputAttr, builder.getStringAttr("tokens"));
  loss.setArgAttr(1, graph::kInputAttr, builder.getStringAttr("targets"));
  return loss;
}

void ModelBuilder::endFunc(ValueRange results) {
  graph::ReturnOp::create(builder, loc, results);
  current.setFunctionType(builder.getFunctionType(current.getArgumentTypes(), results.getTypes()));
}

Value ModelBuilder::linear(Value x, Value weight, bool transposed, int64_t contract) {
  ArrayRef<int64_t> in = typeOf(x).getShape(), w = typeOf(weight).getShape();
  SmallVector<int64_t> shape(in.drop_back(contract));
  ArrayRef<int64_t> out = transposed ? w.drop_back(contract) : w.drop_front(contract);
  shape.append(out.begin(), out.end());
  return graph::LinearOp::create(builder, loc, tensor(shape), x, weight, contract, transposed);
}

Value ModelBuilder::add(Value a, Value b) {
  return graph::AddOp::create(builder, loc, a.getType(), a, b);
}

Value ModelBuilder::multiply(Value a, Value b) {
  return graph::MultiplyOp::create(builder, loc, a.getType(), a, b);
}

Value ModelBuilder::gelu(Value x, graph::GeluKind kind) {
  return graph::GeluOp::create(builder, loc, x.getType(), x, kind);
}

Value ModelBuilder::silu(Value x) { return graph::SiluOp::create(builder, loc, x.getType(), x); }

Value ModelBuilder::layerNorm(Value x, Value weight, Value bias, double epsilon) {
  return graph::LayerNormOp::create(builder, loc, x.getType(), TypeRange(), x, weight, bias,
                                    builder.getF64FloatAttr(epsilon))
      .getResult();
}

Value ModelBuilder::rmsNorm(Value x, Value weight, double epsilon) {
  return graph::RmsNormOp::create(builder, loc, x.getType(), Type(), x, weight,
                                  builder.getF64FloatAttr(epsilon))
      .getResult();
}

Value ModelBuilder::embedding(Value table, Value ids) {
  SmallVector<int64_t> shape(typeOf(ids).getShape());
  shape.push_back(typeOf(table).getShape().back());
  return graph::EmbeddingOp::create(builder, loc, tensor(shape), table, ids, ArrayAttr());
}

Value ModelBuilder::slice(Value x, int64_t dim, int64_t start, int64_t size, bool squeeze) {
  SmallVector<int64_t> shape(typeOf(x).getShape());
  if (squeeze)
    shape.erase(shape.begin() + dim);
  else
    shape[dim] = size;
  return graph::SliceOp::create(builder, loc, tensor(shape), x, dim, start, size, squeeze);
}

std::pair<Value, Value> ModelBuilder::rotaryTable(ArrayRef<double> inverseFrequencies) {
  RankedTensorType type = tensor({sequence, static_cast<int64_t>(inverseFrequencies.size())});
  auto table = graph::RotaryTableOp::create(
      builder, loc, type, type, builder.getDenseF64ArrayAttr(inverseFrequencies), FloatAttr(),
      FloatAttr(), FloatAttr(), FloatAttr(), IntegerAttr(), ArrayAttr());
  return {table.getCos(), table.getSin()};
}

Value ModelBuilder::rotary(Value x, std::pair<Value, Value> table) {
  return graph::RotaryOp::create(builder, loc, x.getType(), x, table.first, table.second,
                                 UnitAttr());
}

Value ModelBuilder::attention(Value q, Value k, Value v, std::optional<double> scale,
                              double dropout, int64_t sliding) {
  return graph::AttentionOp::create(
             builder, loc, q.getType(), Type(), q, k, v, Value(), Value(), builder.getUnitAttr(),
             sliding > 0 ? builder.getI64IntegerAttr(sliding) : IntegerAttr(),
             scale ? builder.getF64FloatAttr(*scale) : FloatAttr(),
             builder.getF64FloatAttr(dropout), IntegerAttr(), builder.getI64IntegerAttr(0),
             ArrayAttr())
      .getResult();
}

Value ModelBuilder::dropout(Value x, double p) {
  if (p <= 0)
    return x;
  return graph::DropoutOp::create(builder, loc, x.getType(), x, Value(), Value(),
                                  builder.getF64FloatAttr(p), IntegerAttr(),
                                  builder.getI64IntegerAttr(0), DenseI64ArrayAttr(), ArrayAttr());
}

Value ModelBuilder::meanCrossEntropy(Value logits, Value targets) {
  return graph::CrossEntropyOp::create(builder, loc, tensor({}), Type(), logits, targets,
                                       IntegerAttr(), builder.getUnitAttr())
      .getLoss();
}

Value ModelBuilder::scale(Value x, double factor) {
  return graph::ScaleOp::create(builder, loc, x.getType(), x, builder.getF64FloatAttr(factor));
}

Value ModelBuilder::mean(Value x) {
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(x).getRank()));
  return graph::ReduceOp::create(
      builder, loc, tensor({}), x,
      graph::ReduceKindAttr::get(builder.getContext(), graph::ReduceKind::Mean),
      builder.getDenseI64ArrayAttr(dims), builder.getF64FloatAttr(1), ArrayAttr());
}

SmallVector<Value> ModelBuilder::call(graph::FuncOp callee, ValueRange operands, int64_t instance) {
  auto op = graph::CallOp::create(builder, loc, callee.getResultTypes(),
                                  FlatSymbolRefAttr::get(callee.getSymNameAttr()), operands,
                                  builder.getI64IntegerAttr(instance), ArrayAttr(), ArrayAttr());
  return SmallVector<Value>(op.getResults());
}

} // namespace dtc
