// Checks the layers; assigns random streams.
#include "dialects/graph/NnOps.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/RandomPoints.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// Fails unless 1 <= contract <= number of dims of `type`.
static LogicalResult checkContract(Operation *op, StringRef name, RankedTensorType type,
                                   int64_t contract) {
  if (contract >= 1 && contract <= type.getRank())
    return success();
  return op->emitOpError() << "contracts " << contract << " dims, but '" << name << "' has "
                           << type.getRank();
}

// Checks x[lead..., in...] weight[in..., out...] -> [lead..., out...], with `transposed`
// weight[out..., in...]; bias[out...]. `contract` is the number of `in` dims.
LogicalResult LinearOp::verify() {
  RankedTensorType x = tensorType(getX()), weight = tensorType(getWeight());
  RankedTensorType result = getType();
  int64_t contract = getContract();
  if (failed(checkContract(*this, "x", x, contract)) ||                // linear_c1
      failed(checkAtLeastDims(*this, "weight", weight, contract + 1))) // linear_c2
    return failure();
  int64_t lead = x.getRank() - contract, out = weight.getRank() - contract;
  int64_t inBegin = getTransposed() ? out : 0, outBegin = getTransposed() ? 0 : contract;
  for (int64_t i = 0; i < contract; ++i) // linear_c3
    if (weight.getDimSize(inBegin + i) != x.getDimSize(lead + i))
      return emitOpError() << "dim " << inBegin + i << " of 'weight' is "
                           << sizeText(weight.getDimSize(inBegin + i)) << ", but dim " << lead + i
                           << " of 'x' is " << sizeText(x.getDimSize(lead + i));
  if (failed(DimList() // linear_c4
                 .dims("x", x, 0, lead)
                 .dims("weight", weight, outBegin, outBegin + out)
                 .check(*this, "result", result)))
    return failure();
  if (failed(checkSameElement(*this, "weight", weight, "x", x)) || // linear_c5
      failed(checkProductElement(*this, result, "x", x)))          // linear_c6
    return failure();
  if (!getBias())
    return success();
  if (failed(DimList() // linear_c7
                 .dims("weight", weight, outBegin, outBegin + out)
                 .check(*this, "bias", tensorType(getBias()))))
    return failure();
  return checkSameElement(*this, "bias", getBias().getType(), "result", result); // linear_c7
}

// Checks a[batch..., m, k] b[batch..., k, n] -> [batch..., m, n]; transposed operands have their
// last two dims swapped. Below, `n` is the dim of n in b, `kOfA` the dim of k in a.
LogicalResult MatmulOp::verify() {
  RankedTensorType a = tensorType(getA()), b = tensorType(getB());
  int64_t batch = a.getRank() - 2;
  if (failed(checkAtLeastDims(*this, "a", a, 2)) ||     // matmul_c1
      failed(checkNumDims(*this, "b", b, a.getRank()))) // matmul_c1
    return failure();
  int64_t m = batch + (getTransposeA() ? 1 : 0), kOfA = batch + (getTransposeA() ? 0 : 1);
  int64_t n = batch + (getTransposeB() ? 0 : 1);
  DimList wanted;
  wanted.dims("a", a, 0, batch);
  if (getTransposeB())
    wanted.dims("b", b, n, n + 1).dims("a", a, kOfA, kOfA + 1);
  else
    wanted.dims("a", a, kOfA, kOfA + 1).dims("b", b, n, n + 1);
  if (failed(wanted.check(*this, "b", b))) // matmul_c2, matmul_c3
    return failure();
  if (failed(DimList() // matmul_c4
                 .dims("a", a, 0, batch)
                 .dims("a", a, m, m + 1)
                 .dims("b", b, n, n + 1)
                 .check(*this, "result", getType())))
    return failure();
  if (failed(checkSameElement(*this, "b", b, "a", a))) // matmul_c5
    return failure();
  return checkProductElement(*this, getType(), "a", a); // matmul_c6
}

int64_t EmbeddingOp::getIndexLimit(unsigned operand) {
  return operand == 1 ? tensorType(getTable()).getDimSize(0) : 0;
}

// Checks table[entries, c] ids[...] -> [..., c]. Ids may be of any integer type; getIndexLimit
// gives their range, which is checked on input data.
LogicalResult EmbeddingOp::verify() {
  RankedTensorType table = tensorType(getTable()), ids = tensorType(getIds());
  if (failed(checkNumDims(*this, "table", table, 2)) || // embedding_c1
      failed(DimList()                                  // embedding_c2
                 .all("ids", ids)
                 .dims("table", table, 1, 2)
                 .check(*this, "result", getType())) ||
      failed(checkSameElement(*this, "result", getType(), "table", table))) // embedding_c3
    return failure();
  if (failed(checkWindows(*this, getWindows()))) // embedding_c4
    return failure();
  return checkPadding(*this, getPadding(), getWindows(), table.getDimSize(0)); // embedding_c5
}

// Checks the constraints that both norms share; `params` are weight and bias, `statistics` mean and
// rstd.
static LogicalResult verifyNorm(Operation *op, ArrayRef<std::pair<StringRef, Value>> params,
                                ArrayRef<std::pair<StringRef, Value>> statistics, double epsilon) {
  RankedTensorType x = tensorType(op->getOperand(0)), result = tensorType(op->getResult(0));
  if (failed(checkAtLeastDims(op, "x", x, 1)) ||                   // norm_c1
      failed(DimList().all("x", x).check(op, "result", result)) || // norm_c2
      failed(checkSameElement(op, "result", result, "x", x)))      // norm_c3
    return failure();
  int64_t last = x.getRank() - 1;
  for (auto [name, value] : params)
    if (failed(
            DimList().dims("x", x, last, last + 1).check(op, name, tensorType(value))) || // norm_c4
        failed(checkSameElement(op, name, value.getType(), "x", x)))                      // norm_c3
      return failure();
  for (auto [name, value] : statistics)
    if (failed(DimList().dims("x", x, 0, last).check(op, name, tensorType(value))) || // norm_c5
        failed(checkF32(op, name, value.getType())))                                  // norm_c6
      return failure();
  if (epsilon > 0 && epsilon < 1)
    return success();
  return op->emitOpError() << "'epsilon' is " << numberText(epsilon) // norm_c7
                           << ", but a number above 0 and below 1 is wanted";
}

// Statistics for backward are both present or both absent: short forms omit them until
// dtc-complete-ops.
LogicalResult LayerNormOp::verify() {
  if (getStatistics().size() == 1 || getStatistics().size() > 2) // norm_c8
    return emitOpError() << "has " << getNumResults()
                         << " results, but 1 (the rows) or 3 (mean and rstd, too) are wanted";
  SmallVector<std::pair<StringRef, Value>> statistics;
  if (getMean())
    statistics = {{"mean", getMean()}, {"rstd", getRstd()}};
  return verifyNorm(*this, {{"weight", getWeight()}, {"bias", getBias()}}, statistics,
                    getEpsilon().convertToDouble());
}

LogicalResult RmsNormOp::verify() {
  SmallVector<std::pair<StringRef, Value>> statistics;
  if (getRstd())
    statistics = {{"rstd", getRstd()}};
  return verifyNorm(*this, {{"weight", getWeight()}}, statistics, getEpsilon().convertToDouble());
}

LogicalResult SoftmaxOp::verify() {
  return checkAtLeastDims(*this, "x", tensorType(getX()), 1); // softmax_c1
}

// Checks the numbers that stand for the frequencies. Frequency i is base^(-i / pairs), or one of a
// list. `factor` with the other three scales as Hugging Face's rope_type "llama3": frequencies of
// waves longer than positions / low are divided by `factor`, those of waves shorter than positions
// / high are kept, and those in between are interpolated. Without the other three all frequencies
// are divided.
static LogicalResult verifyFrequencies(RotaryTableOp op) {
  if (op.getInverseFrequencies().has_value() == op.getBase().has_value()) // rotary_table_c6
    return op.emitOpError() << "wants either a list of frequencies or 'base'";
  if (op.getFactor() && !op.getBase()) // rotary_table_c6
    return op.emitOpError() << "has 'factor', but a list of frequencies instead of 'base'";
  bool hasLow = op.getLow().has_value();
  if (hasLow != op.getHigh().has_value() || hasLow != op.getPositions().has_value() ||
      (hasLow && !op.getFactor())) // rotary_table_c6
    return op.emitOpError() << "wants 'factor', 'low', 'high' and 'positions' together";
  for (auto [name, value] : {std::pair<StringRef, std::optional<APFloat>>{"base", op.getBase()},
                             {"factor", op.getFactor()},
                             {"low", op.getLow()}})
    if (value && !(value->convertToDouble() > 0)) // rotary_table_c7
      return op.emitOpError() << "'" << name << "' is " << numberText(value->convertToDouble())
                              << ", but a number above 0 is wanted";
  if (!hasLow)
    return success();
  if (!(op.getHigh()->convertToDouble() > op.getLow()->convertToDouble())) // rotary_table_c7
    return op.emitOpError() << "'high' is " << numberText(op.getHigh()->convertToDouble())
                            << ", but a number above 'low', which is "
                            << numberText(op.getLow()->convertToDouble()) << ", is wanted";
  if (static_cast<int64_t>(*op.getPositions()) < 1) // rotary_table_c7
    return op.emitOpError() << "'positions' is " << static_cast<int64_t>(*op.getPositions())
                            << ", but 1 or more is wanted";
  return success();
}

// Checks cos, sin[positions, pairs]. Both are known with the model: they do not depend on the
// batch.
LogicalResult RotaryTableOp::verify() {
  RankedTensorType cos = tensorType(getCos()), sin = tensorType(getSin());
  if (failed(checkNumDims(*this, "cos", cos, 2))) // rotary_table_c1
    return failure();
  if (std::optional<ArrayRef<double>> frequencies = getInverseFrequencies();
      frequencies && (cos.getDimSize(1) != static_cast<int64_t>(frequencies->size()) ||
                      frequencies->empty())) // rotary_table_c2
    return emitOpError() << "dim 1 of 'cos' is " << sizeText(cos.getDimSize(1))
                         << ", but there are " << frequencies->size() << " frequencies";
  if (cos.isDynamicDim(1)) // rotary_table_c2
    return emitOpError() << "dim 1 of 'cos' is dynamic, but there is a frequency for each of it";
  if (failed(DimList().all("cos", cos).check(*this, "sin", sin)) || // rotary_table_c3
      failed(checkSameElement(*this, "sin", sin, "cos", cos)))
    return failure();
  if (cos.isDynamicDim(0)) // rotary_table_c4
    return emitOpError() << "dim 0 of 'cos' is dynamic, but positions are counted at compile time";
  if (failed(verifyFrequencies(*this)))
    return failure();
  return checkWindows(*this, getWindows()); // rotary_table_c5
}

// Checks x[batch, position, head, 2 pairs] cos, sin[position, pairs] or [batch, position, pairs] ->
// the shape of x; element i rotates with element i + pairs.
LogicalResult RotaryOp::verify() {
  RankedTensorType x = tensorType(getX()), cos = tensorType(getCos()), sin = tensorType(getSin());
  if (failed(checkNumDims(*this, "x", x, 4))) // rotary_c1
    return failure();
  if (x.isDynamicDim(3) || x.getDimSize(3) % 2 != 0) // rotary_c2
    return emitOpError() << "dim 3 of 'x' is " << sizeText(x.getDimSize(3))
                         << ", but an even number is wanted: elements rotate in pairs";
  DimList table;
  table.dims("x", x, cos.getRank() == 3 ? 0 : 1, 2)
      .size(x.getDimSize(3) / 2, "half of dim 3 of 'x'");
  if (failed(table.check(*this, "cos", cos)) ||
      failed(table.check(*this, "sin", sin)) ||                        // rotary_c3
      failed(DimList().all("x", x).check(*this, "result", getType()))) // rotary_c4
    return failure();
  if (failed(checkSameElement(*this, "sin", sin, "cos", cos)) || // rotary_c5
      failed(checkSameElement(*this, "result", getType(), "x", x)))
    return failure();
  if (cos.getElementType().isF32())
    return success();
  return checkSameElement(*this, "cos", cos, "x", x); // rotary_c5
}

// Checks logits[rows..., entries] targets[rows...] -> loss, lse[rows...] in f32. With `mean` the
// result is one number without lse: it is a short form, and the complete op has the lse of the
// rows.
LogicalResult CrossEntropyOp::verify() {
  RankedTensorType logits = tensorType(getLogits()), targets = tensorType(getTargets());
  if (failed(checkAtLeastDims(*this, "logits", logits, 1))) // cross_entropy_c1
    return failure();
  DimList rows;
  rows.dims("logits", logits, 0, logits.getRank() - 1);
  if (failed(rows.check(*this, "targets", targets))) // cross_entropy_c2
    return failure();
  if (getMean() && (getLse() || tensorType(getLoss()).getRank() != 0)) // cross_entropy_c6
    return emitOpError() << "is a 'mean', which is one tensor<f32>, but its first result is "
                         << getLoss().getType();
  if ((!getMean() &&
       failed(rows.check(*this, "loss", tensorType(getLoss())))) || // cross_entropy_c3
      failed(checkF32(*this, "loss", getLoss().getType())))         // cross_entropy_c4
    return failure();
  if (getLse() && (failed(rows.check(*this, "lse", tensorType(getLse()))) || // cross_entropy_c3
                   failed(checkF32(*this, "lse", getLse().getType()))))      // cross_entropy_c4
    return failure();
  return checkIgnoring(*this, getIgnoring(), targets); // cross_entropy_c5
}

int64_t CrossEntropyOp::getIndexLimit(unsigned operand) {
  return operand == 1 ? tensorType(getLogits()).getShape().back() : 0;
}

std::optional<int64_t> CrossEntropyOp::getIgnoredIndex() { return getIgnoring(); }

LogicalResult CountedOp::verify() {
  if (failed(checkF32(*this, "result", getType()))) // counted_c1
    return failure();
  return checkIgnoring(*this, getIgnoring(), tensorType(getTargets())); // counted_c2
}

LogicalResult WeightedMeanOp::verify() {
  return checkF32(*this, "x", getX().getType()); // weighted_mean_c1
}

// Checks x[rows..., entries] max[rows...] -> [rows...], in f32 however narrow x is: there are many
// vocabulary entries.
LogicalResult SumExpOp::verify() {
  RankedTensorType x = tensorType(getX());
  if (failed(checkAtLeastDims(*this, "x", x, 1))) // sum_exp_c1
    return failure();
  DimList rows;
  rows.dims("x", x, 0, x.getRank() - 1);
  if (failed(rows.check(*this, "max", tensorType(getMax()))) || // sum_exp_c2
      failed(rows.check(*this, "result", getType())) ||         // sum_exp_c3
      failed(checkF32(*this, "result", getType())))             // sum_exp_c4
    return failure();
  return checkWindows(*this, getWindows()); // sum_exp_c5
}

int64_t PickOp::getIndexLimit(unsigned operand) {
  return operand == 1 ? tensorType(getX()).getShape().back() : 0;
}

// Checks x[rows..., entries] targets[rows...] -> [rows...].
LogicalResult PickOp::verify() {
  RankedTensorType x = tensorType(getX());
  if (failed(checkAtLeastDims(*this, "x", x, 1))) // pick_c1
    return failure();
  DimList rows;
  rows.dims("x", x, 0, x.getRank() - 1);
  if (failed(rows.check(*this, "targets", tensorType(getTargets()))) || // pick_c2
      failed(rows.check(*this, "result", getType())) ||                 // pick_c3
      failed(checkProductElement(*this, getType(), "x", x)))            // pick_c4
    return failure();
  return checkWindows(*this, getWindows()); // pick_c5
}

// The number of an element is its index in the whole tensor, so all sizes except the outermost, the
// batch, must be known: in the type, or in `global_shape`.
LogicalResult DropoutOp::verify() {
  RankedTensorType x = tensorType(getX());
  if (failed(checkKey(*this, getId().has_value(), getSeed(), getStep()))) // dropout_c6
    return failure();
  double p = getP().convertToDouble();
  if (!(p >= 0 && p < 1)) // dropout_c1
    return emitOpError() << "'p' is " << numberText(p)
                         << ", but a number from 0 to below 1 is wanted";
  for (int64_t dim = 1; dim < x.getRank(); ++dim)
    if (x.isDynamicDim(dim)) // dropout_c5
      return emitOpError() << "dim " << dim << " of 'x' is dynamic; only the batch (dim 0) may be";
  if (std::optional<ArrayRef<int64_t>> global = getGlobalShape()) {
    if (static_cast<int64_t>(global->size()) != x.getRank()) // dropout_c2
      return emitOpError() << "'global_shape' has " << global->size() << " dims, but 'x' has "
                           << x.getRank();
    for (const auto &[dim, size] : llvm::enumerate(*global))
      if (size < 1) // dropout_c3
        return emitOpError() << "dim " << dim << " of 'global_shape' is " << size
                             << ", but 1 or more is wanted";
  }
  return checkWindows(*this, getWindows()); // dropout_c4
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return getP().isZero() ? OpFoldResult(getX()) : OpFoldResult();
}

void DropoutOp::setInstance(uint64_t instance) {
  if (getId())
    setId(*getId() + kStreamsPerInstance * instance);
}
void DropoutOp::becomePartOf(ArrayRef<int64_t> shape) {
  if (!getGlobalShape())
    setGlobalShape(shape);
}
void AttentionOp::setInstance(uint64_t instance) {
  if (getId())
    setId(*getId() + kStreamsPerInstance * instance);
}
void AttentionGradOp::setInstance(uint64_t instance) {
  setId(getId() + kStreamsPerInstance * instance);
}

// Parses [1.0, 0.01] or base 10000.0. Prints numbers with enough digits to read them back: the
// array attribute would print seven.
static ParseResult parseFrequencies(OpAsmParser &parser, DenseF64ArrayAttr &frequencies,
                                    FloatAttr &base) {
  Builder &builder = parser.getBuilder();
  if (succeeded(parser.parseOptionalKeyword("base"))) {
    double value = 0;
    if (parser.parseFloat(value))
      return failure();
    base = builder.getF64FloatAttr(value);
    return success();
  }
  SmallVector<double> values;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     [&] { return parser.parseFloat(values.emplace_back()); }))
    return failure();
  frequencies = builder.getDenseF64ArrayAttr(values);
  return success();
}

static void printFrequencies(OpAsmPrinter &printer, Operation *, DenseF64ArrayAttr frequencies,
                             FloatAttr base) {
  if (base) {
    printer << "base ";
    printer.printFloat(base.getValue());
    return;
  }
  printer << "[";
  llvm::interleaveComma(frequencies.asArrayRef(), printer,
                        [&](double value) { printer.printFloat(APFloat(value)); });
  printer << "]";
}

#define GET_OP_CLASSES
#include "dialects/graph/NnOps.cpp.inc"
