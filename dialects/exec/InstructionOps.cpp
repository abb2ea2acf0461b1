// Implements the instructions: their accesses and verifiers.
#include "dialects/exec/BufferChecks.h"

#include <limits>

using namespace mlir;
using namespace dtc::exec;

namespace {
// Returns the elements that `batch` matrices of `rows` x `columns` with row stride `stride` span.
int64_t span(int64_t rows, int64_t columns, int64_t stride, int64_t batch, int64_t batchStride) {
  return (batch - 1) * batchStride + (rows - 1) * stride + columns;
}

// Checks a tensor of attention heads: `tokens` rows of `columns` elements, `row` elements apart, 0
// if they have no gaps.
LogicalResult verifyHeads(InstructionOpInterface op, StringRef role, Value buffer, int64_t tokens,
                          int64_t columns, int64_t row, Type dtype) {
  if (row != 0 && row < columns) // attention_c4
    return op.emitOpError() << "has '" << role << "' in rows of " << row
                            << " elements; the heads of a token have " << columns;
  return verifyElements(op, role, buffer, span(tokens, columns, row == 0 ? columns : row, 1, 0),
                        true, dtype);
}

// Returns the head dim of values.
template <typename Op> int64_t valueDimOf(Op op) {
  return op.getValueDim() > 0 ? op.getValueDim() : op.getHeadDim();
}

// Checks the prefix and what is added to scores.
template <typename Op> LogicalResult verifyScores(Op op) {
  auto prefix = static_cast<int64_t>(op.getPrefix()), keys = static_cast<int64_t>(op.getKeys());
  if (prefix < 0 || (prefix > keys && !op.getStarts()) ||
      (prefix > 0 && (!op.getCausal() || op.getWindow() > 0)))
    return op.emitOpError() << "has a prefix of " << prefix // attention_c6
                            << "; want 1 to keys, of causal attention without a window";
  Type f32 = Float32Type::get(op.getContext());
  if (Value lengths = op.getLengths())
    if (failed(verifyElements(op, "lengths", lengths, op.getBatch(), true,
                              IntegerType::get(op.getContext(), 32))))
      return failure();
  if (Value documents = op.getDocuments()) {
    auto queries = static_cast<int64_t>(op.getQueries());
    if (prefix > 0 || keys < queries) // attention_c8
      return op.emitOpError() << "has documents, a prefix of " << prefix << ", " << queries
                              << " queries and " << keys
                              << " keys; want no prefix and as many keys at least";
    if (failed(verifyElements(op, "documents", documents, op.getBatch() * keys, true,
                              IntegerType::get(op.getContext(), 32))))
      return failure();
  }
  if (Value starts = op.getStarts()) {
    if (op.getDocuments() || op.getSeed()) // attention_c9
      return op.emitOpError("has starts; want no documents and no dropout");
    if (failed(
            verifyElements(op, "starts", starts, 2, true, IntegerType::get(op.getContext(), 32))))
      return failure();
  }
  if (Value slopes = op.getSlopes())
    if (failed(verifyElements(op, "slopes", slopes, op.getHeads(), true, f32)))
      return failure();
  std::optional<ArrayRef<int64_t>> sizes = op.getBiasSizes();
  if (static_cast<bool>(op.getBias()) != sizes.has_value() || (sizes && sizes->size() != 4))
    return op.emitOpError("wants bias and four bias_sizes, or neither"); // attention_c7
  if (!sizes)
    return success();
  int64_t batch = op.getBatch(), heads = op.getHeads(), queries = op.getQueries();
  const int64_t whole[] = {batch, heads, queries, keys};
  int64_t elements = 1;
  for (auto [size, all] : llvm::zip(*sizes, whole)) {
    if (size != 1 && size != all)
      return op.emitOpError() << "has a bias with a size of " << size << "; want 1 or " << all;
    elements *= size;
  }
  return verifyElements(op, "bias", op.getBias(), elements, true, f32);
}

template <typename Op> LogicalResult verifyAttention(Op op) {
  int64_t batch = op.getBatch(), heads = op.getHeads(), kvHeads = op.getKvHeads();
  int64_t queries = op.getQueries(), keys = op.getKeys(), dim = op.getHeadDim();
  int64_t valueDim = valueDimOf(op);
  if (kvHeads <= 0 || heads % kvHeads != 0) // attention_c2
    return op.emitOpError() << "has " << heads << " heads and " << kvHeads
                            << " kv_heads; want a multiple";
  if ((op.getDropout().convertToDouble() > 0) != (op.getSeed() && op.getStep())) // attention_c3
    return op.emitOpError() << "has dropout " << op.getDropout().convertToDouble()
                            << "; seed and step go with a dropout above 0";
  auto window = static_cast<int64_t>(op.getWindow());
  if (window < 0) // attention_c5
    return op.emitOpError() << "has a window of " << window << "; want a positive one";
  if (!(op.getSoftCap().convertToDouble() >= 0)) // attention_c5
    return op.emitOpError() << "has a soft_cap of " << op.getSoftCap().convertToDouble()
                            << "; want a positive one";
  Type dtype = getDtype(op.getOut());
  if (failed(verifyScores(op)))
    return failure();
  if (failed(verifyFloats(op, "out", op.getOut(), batch * queries * heads * valueDim,
                          true)) || // attention_c1
      failed(verifyHeads(op, "q", op.getQ(), batch * queries, heads * dim, op.getQRow(), dtype)) ||
      failed(verifyHeads(op, "k", op.getK(), batch * keys, kvHeads * dim, op.getKRow(), dtype)) ||
      failed(
          verifyHeads(op, "v", op.getV(), batch * keys, kvHeads * valueDim, op.getVRow(), dtype)))
    return failure();
  return verifyElements(op, "lse", op.getLse(), batch * heads * queries, true);
}

template <typename Op>
LogicalResult verifyRows(Op op, StringRef tableRole, Value table, Type tableType, StringRef outRole,
                         Value out) {
  Type i32 = IntegerType::get(op.getContext(), 32);
  int64_t rows = op.getRows(), columns = op.getColumns(), tokens = op.getTokens();
  if (failed(verifyElements(op, tableRole, table, rows * columns, true, tableType)) ||
      failed(verifyElements(op, "ids", op.getIds(), tokens, true, i32)))
    return failure();
  return verifyFloats(op, outRole, out, tokens * columns, true);
}

// Returns the first and last element that a box touches on any rank, in any micro-batch and layer.
std::pair<int64_t, int64_t> boxBounds(CopyOp op, ArrayRef<int64_t> strides, RankScalarAttr offset) {
  auto program = op->getParentOfType<ProgramOp>();
  auto [low, high] =
      offset.getBounds(program.getAxisSizes(), program.getMicroBatches(), getLayers(op));
  for (auto [size, stride] : llvm::zip(op.getSizes(), strides))
    (stride < 0 ? low : high) += stride * (size - 1);
  return {low, high};
}

LogicalResult verifyBox(CopyOp op, StringRef role, Value buffer, ArrayRef<int64_t> strides,
                        RankScalarAttr offset) {
  auto program = op->getParentOfType<ProgramOp>();
  if (offset.getStrides().size() > program.getAxisSizes().size())
    return op.emitOpError() << "uses mesh axis " << offset.getStrides().size() - 1 << " of "
                            << program.getAxisSizes().size();
  auto [low, high] = boxBounds(op, strides, offset);
  int64_t elements = getBytes(buffer) / getElementBytes(getDtype(buffer));
  if (low >= 0 && high < elements)
    return success();
  return op.emitOpError() << "reaches elements " << low << " to " << high << " of " << role << " '"
                          << getName(buffer) << "', which has " << elements;
}

template <typename Op> LogicalResult verifyEvent(Op op) {
  int64_t first = op.getEvent(), events = op->template getParentOfType<ProgramOp>().getEvents();
  int64_t last = first + static_cast<int64_t>(op.getLayerStride()) * (getLayers(op) - 1);
  auto slots = static_cast<int64_t>(op.getSlots());
  auto task = op->template getParentOfType<TaskOp>();
  if (slots < 1 || (slots > 1 && task && !task.getPerMicroBatch())) // event_c2
    return op.emitOpError() << "has " << slots << " slots; want 1 or more, and 1 in a task that is "
                            << "not of a micro-batch";
  for (int64_t event : {first, last, std::max(first, last) + slots - 1})
    if (event < 0 || event >= events) // event_c1
      return op.emitOpError() << "names event " << event << "; the program has " << events
                              << " events";
  return success();
}
} // namespace

SmallVector<std::pair<unsigned, unsigned>> LaunchOp::getInPlacePairs() {
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (kernel && kernel.getInPlace())
    for (auto pair : kernel.getInPlace()->getAsRange<DenseI64ArrayAttr>())
      pairs.emplace_back(pair[0], pair[1]);
  return pairs;
}

// Looks up the kernel in the program's symbol table: searching for the kernel of each launch would
// be quadratic.
LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel) // launch_c1
    return emitOpError() << "runs @" << getKernel() << ", which the program does not declare";
  ArrayRef<int64_t> wanted = kernel.getBuffers();
  size_t scalars = getScalars() ? getScalars()->size() : 0;
  size_t buffers = getInputs().size() + getOutputs().size();
  if (buffers != wanted.size() || scalars != kernel.getScalars()) { // launch_c2
    InFlightDiagnostic diagnostic = emitOpError() << "gives @" << getKernel() << " " << buffers
                                                  << " buffers and " << scalars << " scalars";
    diagnostic.attachNote(kernel.getLoc())
        << "it takes " << wanted.size() << " buffers and " << kernel.getScalars() << " scalars";
    return diagnostic;
  }
  if (getShares() && getShares()->size() != getOutputs().size()) // launch_c4
    return emitOpError() << "says of " << getShares()->size()
                         << " outputs what shares they are, it has " << getOutputs().size();
  unsigned index = 0;
  for (ValueRange group : {ValueRange(getInputs()), ValueRange(getOutputs())})
    for (Value buffer : group) {
      int64_t want = wanted[index];
      if (getBytes(buffer) < want) // launch_c3
        return emitOpError() << "gives @" << getKernel() << " buffer " << index << " '"
                             << getName(buffer) << "' of " << getBytes(buffer)
                             << " bytes; it wants " << want << " bytes";
      ++index;
    }
  return success();
}

void GemmOp::build(OpBuilder &builder, OperationState &state, Value a, bool transA, Value b,
                   bool transB, Value c, ArrayRef<int64_t> sizes, int64_t batch) {
  int64_t m = sizes[0], n = sizes[1], k = sizes[2];
  state.addOperands({a, b, c});
  state.getOrAddProperties<Properties>().operandSegmentSizes = {1, 1, 0, 0, 0, 1, 0};
  auto unit = [&](bool set) { return set ? builder.getUnitAttr() : UnitAttr(); };
  if (UnitAttr attr = unit(transA))
    state.addAttribute(getTransAAttrName(state.name), attr);
  if (UnitAttr attr = unit(transB))
    state.addAttribute(getTransBAttrName(state.name), attr);
  state.addAttribute(getSizesAttrName(state.name), builder.getDenseI64ArrayAttr(sizes));
  state.addAttribute(getStridesAttrName(state.name),
                     builder.getDenseI64ArrayAttr({transA ? m : k, transB ? k : n, n}));
  if (batch == 1)
    return;
  state.addAttribute(getBatchAttrName(state.name), builder.getI64IntegerAttr(batch));
  state.addAttribute(getBatchStridesAttrName(state.name),
                     builder.getDenseI64ArrayAttr({m * k, k * n, m * n}));
}

bool GemmOp::accumulates() { return !getBeta().isZero(); }

bool GemmOp::accumulateInto(Value target, bool startsSum) {
  if (accumulates() || hasEpilogue())
    return false;
  getCMutable().assign(target);
  setBetaAttr(Builder(getContext()).getF32FloatAttr(1));
  setStartsSum(startsSum);
  return true;
}

// Checks the operands and results of the epilogue.
static LogicalResult verifyEpilogue(GemmOp op) {
  if (op.getGeluInput() && !op.getGelu()) // gemm_c6
    return op.emitOpError() << "keeps what GELU is of, and takes no GELU";
  if (op.getGeluOf() && (op.getBias() || op.getGelu())) // gemm_c6
    return op.emitOpError() << "has 'gelu_grad', and does more than that";
  if (op.getGelu() && !op.getBias()) // gemm_c6
    return op.emitOpError() << "takes GELU of a sum without a bias";
  if (op.hasEpilogue() && (op.getBatch() != 1 || op.accumulates())) // gemm_c6
    return op.emitOpError() << "does more than multiply, and is "
                            << (op.getBatch() != 1 ? "a batch of products" : "added to c");
  int64_t m = op.getSizes()[0], n = op.getSizes()[1];
  int64_t spanned = span(m, n, op.getStrides()[2], 1, 0);
  const struct {
    StringRef role;
    Value buffer;
    int64_t elements;
  } others[] = {{"addend", op.getAddend(), spanned},
                {"bias", op.getBias(), n},
                {"gelu_of", op.getGeluOf(), m * n},
                {"gelu_input", op.getGeluInput(), m * n}};
  for (const auto &[role, buffer, elements] : others) { // gemm_c2, gemm_c5
    if (!buffer)
      continue;
    if (failed(verifyElements(op, role, buffer, elements, false, getDtype(op.getC()))))
      return failure();
  }
  return success();
}

LogicalResult GemmOp::verify() {
  ArrayRef<int64_t> sizes = getSizes(), strides = getStrides();
  if (sizes.size() != 3 || strides.size() != 3 ||
      !llvm::all_of(sizes, [](int64_t size) { return size > 0; })) // gemm_c1
    return emitOpError() << "has sizes [" << sizes << "] and strides [" << strides
                         << "]; want three positive sizes and three strides";
  SmallVector<int64_t> batchStrides(getBatchStrides());
  int64_t batch = getBatch();
  if (batch < 1 || batchStrides.size() != (batch == 1 && batchStrides.empty() ? 0u : 3u))
    return emitOpError() << "has batch " << batch << " and batch_strides [" << batchStrides
                         << "]; want three strides";
  batchStrides.resize(3);
  int64_t m = sizes[0], n = sizes[1], k = sizes[2];
  struct Matrix {
    StringRef role;
    Value buffer;
    int64_t rows, columns;
  } matrices[] = {{"a", getA(), getTransA() ? k : m, getTransA() ? m : k},
                  {"b", getB(), getTransB() ? n : k, getTransB() ? k : n},
                  {"c", getC(), m, n}};
  for (auto [index, matrix] : llvm::enumerate(matrices)) {
    if (strides[index] < matrix.columns) // gemm_c1
      return emitOpError() << "has a row stride of " << strides[index] << " for " << matrix.role
                           << ", whose rows have " << matrix.columns << " elements";
    int64_t elements =
        span(matrix.rows, matrix.columns, strides[index], batch, batchStrides[index]);
    if (failed(verifyFloats(*this, matrix.role, matrix.buffer, elements, false))) // gemm_c2
      return failure();
  }
  Type dtype = getDtype(getA()), result = getDtype(getC());
  if (dtype != getDtype(getB()) || (result != dtype && !result.isF32())) // gemm_c5
    return emitOpError() << "multiplies " << dtype << " by " << getDtype(getB()) << " to " << result
                         << "; want one type, or f32 for 'c'";
  if (failed(verifyEpilogue(*this)))
    return failure();
  for (Value written : {getC(), getGeluInput()})
    for (Value read : {getA(), getB(), getAddend(), getBias(), getGeluOf()})
      if (written && read && getRange(written).overlaps(getRange(read))) // gemm_c3
        return emitOpError() << "writes '" << getName(written) << "', which it also reads";
  if (getGeluInput() && getRange(getC()).overlaps(getRange(getGeluInput()))) // gemm_c3
    return emitOpError() << "writes '" << getName(getC()) << "' twice";
  return verifyStartsSum(*this);
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  Value sinks = getSinks();
  return sinks ? verifyElements(*this, "sinks", sinks, getHeads(), true,
                                Float32Type::get(getContext()))
               : success();
}

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  int64_t batch = getBatch(), dim = getHeadDim();
  int64_t queries = batch * getQueries(), keys = batch * getKeys();
  int64_t query = getHeads() * dim, key = getKvHeads() * dim; // elements per token
  int64_t result = getHeads() * valueDimOf(*this), value = getKvHeads() * valueDimOf(*this);
  Type dtype = getDtype(getQ());
  if (getDbias() && !getBias()) // attention_grad_c1
    return emitOpError("has dbias, but no bias");
  if (getDbias() && getBytes(getDbias()) != getBytes(getBias()))
    return emitOpError() << "has dbias of " << getBytes(getDbias())
                         << " bytes; want those of bias, " << getBytes(getBias());
  if (failed(verifyElements(*this, "dout", getDout(), queries * result, true, dtype)) ||
      failed(verifyHeads(*this, "dq", getDq(), queries, query, getDqRow(), dtype)) ||
      failed(verifyHeads(*this, "dk", getDk(), keys, key, getDkRow(), dtype)) ||
      failed(verifyHeads(*this, "dv", getDv(), keys, value, getDvRow(), dtype)) ||
      (getDlse() && failed(verifyElements(*this, "dlse", getDlse(), queries * getHeads(), true))))
    return failure();
  return verifyElements(*this, "scratch", getScratch(), queries * getHeads(), true);
}

LogicalResult EmbeddingOp::verify() {
  return verifyRows(*this, "table", getTable(), getDtype(getOut()), "out", getOut());
}

LogicalResult EmbeddingGradOp::verify() {
  if (failed(verifyStartsSum(*this)))
    return failure();
  auto padding = static_cast<int64_t>(getPadding());
  if (padding < -1 || padding > std::numeric_limits<int32_t>::max()) // embedding_grad_c3
    return emitOpError("has padding ") << padding << ", wanted -1 or an id";
  return verifyRows(*this, "grad", getGrad(), Float32Type::get(getContext()), "dout", getDout());
}

void CopyOp::build(OpBuilder &builder, OperationState &state, Value src, Value dst, bool accumulate,
                   bool startsSum) {
  int64_t elements = getBytes(src) / getElementBytes(getDtype(src));
  auto zero = RankScalarAttr::get(builder.getContext(), 0);
  build(builder, state, src, dst, ArrayRef<int64_t>{elements}, ArrayRef<int64_t>{1}, zero,
        ArrayRef<int64_t>{1}, zero, accumulate, /*stream=*/0, /*last=*/false, startsSum);
}

bool CopyOp::isWhole() {
  return getSizes().size() == 1 && getSrcStrides()[0] == 1 && getDstStrides()[0] == 1 &&
         getSrcOffset().isConstant() && getSrcOffset().getBase() == 0 &&
         getDstOffset().isConstant() && getDstOffset().getBase() == 0 &&
         getBytes(getSrc()) == getBytes(getDst()) &&
         getSizes()[0] * getElementBytes(getDtype(getSrc())) == getBytes(getSrc());
}

std::pair<int64_t, int64_t> CopyOp::getWrittenRange(unsigned index) {
  auto [low, high] = boxBounds(*this, getDstStrides(), getDstOffset());
  int64_t elementBytes = getElementBytes(getDtype(getDst()));
  return {low * elementBytes, (high + 1 - low) * elementBytes};
}

LogicalResult CopyOp::verify() {
  size_t dims = getSizes().size();
  if (getSrcStrides().size() != dims || getDstStrides().size() != dims ||
      !llvm::all_of(getSizes(), [](int64_t size) { return size > 0; })) // copy_c1
    return emitOpError() << "has sizes [" << getSizes() << "], source strides [" << getSrcStrides()
                         << "] and destination strides [" << getDstStrides()
                         << "]; want positive sizes and a stride of each for every size";
  if (failed(verifyStartsSum(*this)))
    return failure();
  Type dtype = getDtype(getSrc());
  if (dtype != getDtype(getDst()) || (getAccumulate() && !dtype.isF32())) // copy_c2
    return emitOpError() << (getAccumulate() ? "adds " : "copies ") << dtype << " to "
                         << getDtype(getDst())
                         << (getAccumulate() ? "; want f32 on both sides" : "; want one type");
  if (failed(verifyBox(*this, "source", getSrc(), getSrcStrides(), getSrcOffset()))) // copy_c3
    return failure();
  return verifyBox(*this, "destination", getDst(), getDstStrides(), getDstOffset());
}

SmallVector<std::pair<unsigned, unsigned>> CollectiveOp::getInPlacePairs() {
  if (getKind() == CollectiveKind::AllReduce)
    return {{0u, 0u}};
  return {};
}

// Parses `axes` [0, 1] | `over` <"ends", 2, [0, 6]>.
static ParseResult parseMembers(OpAsmParser &parser, DenseI64ArrayAttr &axes, RanksAttr &over) {
  Builder &builder = parser.getBuilder();
  if (succeeded(parser.parseOptionalKeyword("over"))) {
    axes = builder.getDenseI64ArrayAttr({});
    over = dyn_cast_or_null<RanksAttr>(RanksAttr::parse(parser, Type()));
    return success(over != nullptr);
  }
  SmallVector<int64_t> list;
  auto parseAxis = [&] { return parser.parseInteger(list.emplace_back()); };
  if (parser.parseKeyword("axes") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
    return failure();
  axes = builder.getDenseI64ArrayAttr(list);
  return success();
}

static void printMembers(OpAsmPrinter &printer, CollectiveOp, DenseI64ArrayAttr axes,
                         RanksAttr over) {
  if (over) {
    printer << "over ";
    over.print(printer);
    return;
  }
  printer << "axes [" << axes.asArrayRef() << ']';
}

template <typename Op> static LogicalResult verifyTransfer(Op op) {
  int64_t shift = op.getShift(), size = op.getOver().getSize();
  if (shift < 1 || shift >= size) // transfer_c1
    return op.emitOpError() << "is with the rank " << shift << " places further in a list of "
                            << size << "; want another one of the list";
  return success();
}
LogicalResult SendOp::verify() { return verifyTransfer(*this); }
LogicalResult ReceiveOp::verify() { return verifyTransfer(*this); }

LogicalResult CollectiveOp::verify() {
  if (getOver() && !getAxes().empty()) // collective_c5
    return emitOpError() << "is over axes [" << getAxes() << "] and over '" << getOver()->getName()
                         << "'; want one of both";
  ArrayRef<int64_t> mesh = (*this)->getParentOfType<ProgramOp>().getAxisSizes();
  int64_t ranks = 1, last = -1;
  for (int64_t axis : getAxes()) {
    if (axis <= last || axis >= static_cast<int64_t>(mesh.size())) // collective_c1
      return emitOpError() << "is over axes [" << getAxes()
                           << "]; want ascending axes of a mesh of " << mesh.size();
    ranks *= mesh[axis];
    last = axis;
  }
  if (getOver())
    ranks = getOver()->getSize();
  CollectiveKind kind = getKind();
  bool manyIn = kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::AllToAll;
  bool manyOut = kind == CollectiveKind::AllGather || kind == CollectiveKind::AllToAll;
  Type dtype = getDtype(getSrc());
  int64_t count = getCount();
  if (failed(
          verifyElements(*this, "source", getSrc(), count * (manyIn ? ranks : 1), true, dtype)) ||
      failed(verifyElements(*this, "destination", getDst(), count * (manyOut ? ranks : 1), true,
                            dtype))) // collective_c2
    return failure();
  BufferRange src = getRange(getSrc()), dst = getRange(getDst());
  bool same = src.root == dst.root && src.offset == dst.offset;
  if (src.overlaps(dst) && !(same && kind == CollectiveKind::AllReduce)) // collective_c3
    return emitOpError() << "has overlapping source '" << ::dtc::exec::getName(getSrc())
                         << "' and destination '" << ::dtc::exec::getName(getDst()) << "'";
  if (getStream() != 0 && !getAsync()) // collective_c4
    return emitOpError() << "is on stream " << getStream()
                         << ", but compute waits for it; only what is async leaves stream 0";
  return success();
}

LogicalResult RecordOp::verify() { return verifyEvent(*this); }
LogicalResult WaitOp::verify() { return verifyEvent(*this); }

#define GET_OP_CLASSES
#include "dialects/exec/InstructionOps.cpp.inc"
