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

// How many dims of `shape` make up each dim of `stored`, which has the same elements in order.
static SmallVector<int64_t> groupsOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> stored) {
  SmallVector<int64_t> groups;
  for (int64_t size : stored) {
    int64_t elements = 1, dims = 0;
    while (elements < size || dims == 0) {
      elements *= shape.front();
      shape = shape.drop_front();
      ++dims;
    }
    assert(elements == size && "files merge dims of the model, and split none");
    groups.push_back(dims);
  }
  return groups;
}

Value ModelBuilder::param(StringRef name, const ParameterSpec &spec) {
  double stddev = spec.init == graph::InitKind::Normal ? spec.stddev : 0.0;
  auto declaration = graph::DeclarationAttr::get(
      builder.getContext(), builder.getStringAttr(name), spec.init, llvm::APFloat(0.0),
      llvm::APFloat(stddev), groupsOf(spec.shape, spec.stored), spec.decay);
  return graph::ParamOp::create(builder, loc, TypeRange{tensor(spec.shape)},
                                builder.getArrayAttr({declaration}))
      .getResult(0);
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
  return graph::LinearOp::create(builder, loc, tensor(shape), x, weight,
                                 builder.getI64IntegerAttr(contract),
                                 transposed ? builder.getUnitAttr() : UnitAttr());
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
  return graph::LayerNormOp::create(builder, loc, x.getType(), withoutLast(x), withoutLast(x), x,
                                    weight, bias, builder.getF64FloatAttr(epsilon))
      .getResult();
}

Value ModelBuilder::rmsNorm(Value x, Value weight, double epsilon) {
  return graph::RmsNormOp::create(builder, loc, x.getType(), withoutLast(x), x, weight,
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
  return graph::SliceOp::create(builder, loc, tensor(shape), x, builder.getI64IntegerAttr(dim),
                                builder.getI64IntegerAttr(start), builder.getI64IntegerAttr(size),
                                squeeze ? builder.getUnitAttr() : UnitAttr());
}

std::pair<Value, Value> ModelBuilder::rotaryTable(ArrayRef<double> inverseFrequencies) {
  RankedTensorType type = tensor({sequence, static_cast<int64_t>(inverseFrequencies.size())});
  auto table = graph::RotaryTableOp::create(
      builder, loc, type, type, builder.getDenseF64ArrayAttr(inverseFrequencies), ArrayAttr());
  return {table.getCos(), table.getSin()};
}

Value ModelBuilder::rotary(Value x, std::pair<Value, Value> table) {
  return graph::RotaryOp::create(builder, loc, x.getType(), x, table.first, table.second,
                                 UnitAttr());
}

std::pair<Value, Value> ModelBuilder::randomKey() {
  Value seed = graph::InputOp::create(builder, loc, RankedTensorType::get({}, builder.getI64Type()),
                                      graph::InputRole::Seed);
  Value step = graph::InputOp::create(builder, loc, tensor({}), graph::InputRole::Step);
  return {seed, step};
}

Value ModelBuilder::attention(Value q, Value k, Value v, double scale, double dropout,
                              int64_t sliding) {
  ArrayRef<int64_t> shape = typeOf(q).getShape();
  RankedTensorType lse = tensor({shape[0], shape[2], shape[1]});
  std::pair<Value, Value> key;
  if (dropout > 0)
    key = randomKey();
  return graph::AttentionOp::create(
             builder, loc, q.getType(), lse, q, k, v, key.first, key.second, builder.getUnitAttr(),
             sliding > 0 ? builder.getI64IntegerAttr(sliding) : IntegerAttr(),
             builder.getF64FloatAttr(scale), builder.getF64FloatAttr(dropout),
             builder.getI64IntegerAttr(dropout > 0 ? nextRandomId++ : 0),
             builder.getI64IntegerAttr(0), ArrayAttr())
      .getResult();
}

Value ModelBuilder::dropout(Value x, double p) {
  if (p <= 0)
    return x;
  auto [seed, step] = randomKey();
  return graph::DropoutOp::create(builder, loc, x.getType(), x, seed, step,
                                  builder.getF64FloatAttr(p),
                                  builder.getI64IntegerAttr(nextRandomId++),
                                  builder.getI64IntegerAttr(0), DenseI64ArrayAttr(), ArrayAttr());
}

Value ModelBuilder::meanCrossEntropy(Value logits, Value targets) {
  RankedTensorType rows = withoutLast(logits);
  auto loss =
      graph::CrossEntropyOp::create(builder, loc, rows, rows, logits, targets, IntegerAttr());
  return mean(loss.getLoss());
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

Value ModelBuilder::zeroForEachSample() {
  return graph::ConstantOp::create(builder, loc, batched({}), builder.getF64FloatAttr(0));
}

SmallVector<Value> ModelBuilder::repeat(graph::FuncOp block, int64_t count, ValueRange operands,
                                        StringRef under, int64_t carrying) {
  auto op = graph::RepeatOp::create(
      builder, loc, block.getResultTypes(), builder.getI64IntegerAttr(count),
      FlatSymbolRefAttr::get(block.getSymNameAttr()), operands, builder.getI64IntegerAttr(carrying),
      UnitAttr(), builder.getStringAttr(under), builder.getI64IntegerAttr(0));
  return SmallVector<Value>(op.getResults());
}

} // namespace dtc
