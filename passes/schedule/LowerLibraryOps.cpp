// Exec lowering of the ops that the runtime has kernels for: matrix products, attention, embedding,
// convolution, pooling.
#include "dialects/exec/GroupedOps.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/ImageOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/RouteOps.h"
#include "passes/schedule/ExecEmitter.h"
#include "passes/schedule/ExecLoweringInterface.h"
#include "passes/schedule/RowParts.h"

#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace dtc;

namespace {
LogicalResult wantStatic(Operation *op) {
  for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value value : values)
      if (failed(getStaticType(op, value)))
        return failure();
  return success();
}

LogicalResult wantF32(Operation *op) {
  if (failed(wantStatic(op)))
    return failure();
  for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value value : values)
      if (Type element = getElementTypeOrSelf(value); element.isF16() || element.isBF16())
        return op->emitOpError() << "has an operand of " << element << "; its kernel takes f32";
  return success();
}

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

struct LowerLinear : ExecLoweringInterface::ExternalModel<LowerLinear, graph::LinearOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto linear = cast<graph::LinearOp>(op);
    if (failed(wantStatic(op)))
      return failure();
    ArrayRef<int64_t> x = shapeOf(linear.getX());
    int64_t in = numElements(x.take_back(linear.getContract()));
    int64_t rows = numElements(x.drop_back(linear.getContract()));
    int64_t out = numElements(shapeOf(linear.getWeight())) / in;
    exec::GemmOp::create(emitter.instructions(), emitter.lookup(linear.getX()), false,
                         emitter.lookup(linear.getWeight()), linear.getTransposed(),
                         emitter.define(linear.getResult()), ArrayRef<int64_t>{rows, out, in});
    return success();
  }
};

// Computes dw [in, out] = x^T dy, or dw [out, in] = dy^T x.
struct LowerLinearWeightGrad
    : ExecLoweringInterface::ExternalModel<LowerLinearWeightGrad, graph::LinearWeightGradOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto grad = cast<graph::LinearWeightGradOp>(op);
    if (failed(wantStatic(op)))
      return failure();
    ArrayRef<int64_t> x = shapeOf(grad.getX());
    int64_t in = numElements(x.take_back(grad.getContract()));
    int64_t rows = numElements(x.drop_back(grad.getContract()));
    int64_t out = numElements(shapeOf(grad.getDy())) / rows;
    Value left = emitter.lookup(grad.getX()), right = emitter.lookup(grad.getDy());
    if (grad.getTransposed()) {
      std::swap(left, right);
      std::swap(in, out);
    }
    exec::GemmOp::create(emitter.instructions(), left, true, right, false,
                         emitter.define(grad.getResult()), ArrayRef<int64_t>{in, out, rows});
    return success();
  }
};

struct LowerMatmul : ExecLoweringInterface::ExternalModel<LowerMatmul, graph::MatmulOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto matmul = cast<graph::MatmulOp>(op);
    if (failed(wantStatic(op)))
      return failure();
    ArrayRef<int64_t> a = shapeOf(matmul.getA()), c = shapeOf(matmul.getResult());
    int64_t m = c[c.size() - 2], n = c[c.size() - 1];
    int64_t k = a[a.size() - (matmul.getTransposeA() ? 2 : 1)];
    exec::GemmOp::create(emitter.instructions(), emitter.lookup(matmul.getA()),
                         matmul.getTransposeA(), emitter.lookup(matmul.getB()),
                         matmul.getTransposeB(), emitter.define(matmul.getResult()),
                         ArrayRef<int64_t>{m, n, k}, numElements(c.drop_back(2)));
    return success();
  }
};

// Creates a grouped product of rows [experts, batch, rows, columns...].
void createGrouped(Operation *op, Value a, Value b, bool transB, Value counts, Value rowsValue,
                   Value columnsValue, bool sumsRows, ExecEmitter &emitter) {
  constexpr unsigned kRowDims = 3; // experts, samples and rows of each
  ArrayRef<int64_t> x = shapeOf(rowsValue), columns = shapeOf(columnsValue);
  exec::GroupedGemmOp::create(emitter.instructions(), emitter.lookup(a), emitter.lookup(b),
                              emitter.lookup(counts), emitter.define(op->getResult(0)), x[0], x[1],
                              numElements(x.take_front(kRowDims)),
                              numElements(x.drop_front(kRowDims)),
                              numElements(columns.drop_front(kRowDims)), transB, sumsRows,
                              /*accumulate=*/false, /*stream=*/0);
}

struct LowerGroupedLinear
    : ExecLoweringInterface::ExternalModel<LowerGroupedLinear, graph::GroupedLinearOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto linear = cast<graph::GroupedLinearOp>(op);
    if (failed(wantStatic(op)))
      return failure();
    createGrouped(op, linear.getX(), linear.getWeight(), linear.getTransposed(), linear.getCounts(),
                  linear.getX(), linear.getResult(), /*sumsRows=*/false, emitter);
    return success();
  }
};

// Computes dw[e] [in, out] = x^T dy, or dw[e] [out, in] = dy^T x.
struct LowerGroupedLinearWeightGrad
    : ExecLoweringInterface::ExternalModel<LowerGroupedLinearWeightGrad,
                                           graph::GroupedLinearWeightGradOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto grad = cast<graph::GroupedLinearWeightGradOp>(op);
    if (failed(wantStatic(op)))
      return failure();
    Value left = grad.getX(), right = grad.getDy();
    if (grad.getTransposed())
      std::swap(left, right);
    createGrouped(op, left, right, /*transB=*/false, grad.getCounts(), left, right,
                  /*sumsRows=*/true, emitter);
    return success();
  }
};

// Elements from one token to the next in q, k and v, or in their gradients; 0 for all if none has
// gaps.
using HeadRows = std::array<int64_t, 3>;

HeadRows headRows(ArrayRef<Value> heads, ExecEmitter &emitter) {
  HeadRows rows{};
  bool hasGaps = llvm::any_of(heads, [&](Value each) { return emitter.rowStride(each) != 0; });
  for (size_t i = 0; hasGaps && i < rows.size(); ++i) {
    int64_t stride = emitter.rowStride(heads[i]);
    rows[i] = stride != 0 ? stride : numElements(shapeOf(heads[i]).take_back(2));
  }
  return rows;
}

// A distance that no query has to a key: starts are at most 2^29, and tokens fewer.
constexpr int64_t kMostDistance = int64_t(1) << 30;

// The fields that attention and its gradient share in the exec dialect.
struct AttentionFields {
  int64_t batch = 0, queries = 0, keys = 0, heads = 0, kvHeads = 0, headDim = 0, totalHeads = 0;
  Value seed, step;
  exec::RankScalarAttr id, firstBatch, firstHead; // null without dropout
  HeadRows rows;
  int64_t window = 0; // 0 if it hides no key
  APFloat softCap{0.0};
  int64_t valueDim = 0, prefix = 0; // 0: headDim; none
  Value lengths, bias, slopes, documents, starts;
  DenseI64ArrayAttr biasSizes; // null without bias
};

// Sets what is added to scores, which keys there are, and the head dim of values.
template <typename Op>
LogicalResult setScores(Op op, AttentionFields &fields, ExecEmitter &emitter) {
  if (int64_t valueDim = shapeOf(op.getV())[3]; valueDim != fields.headDim)
    fields.valueDim = valueDim;
  fields.prefix = std::min(static_cast<int64_t>(op.getPrefix().value_or(0)), kMostDistance);
  if (Value lengths = op.getLengths()) {
    Type element = cast<RankedTensorType>(lengths.getType()).getElementType();
    if (!element.isInteger(32))
      return op.emitOpError() << "has lengths of " << lengths.getType()
                              << "; the runtime takes i32";
    fields.lengths = emitter.lookup(lengths);
  }
  if (Value documents = op.getDocuments()) {
    Type element = cast<RankedTensorType>(documents.getType()).getElementType();
    if (!element.isInteger(32))
      return op.emitOpError() << "has documents of " << documents.getType()
                              << "; the runtime takes i32";
    fields.documents = emitter.lookup(documents);
  }
  if (Value starts = op.getStarts()) {
    Type element = cast<RankedTensorType>(starts.getType()).getElementType();
    if (!element.isInteger(32))
      return op.emitOpError() << "has starts of " << starts.getType() << "; the runtime takes i32";
    fields.starts = emitter.lookup(starts);
  }
  if (Value bias = op.getBias()) {
    fields.bias = emitter.lookup(bias);
    fields.biasSizes = DenseI64ArrayAttr::get(op->getContext(), shapeOf(bias));
  }
  if (Value slopes = op.getSlopes())
    fields.slopes = emitter.lookup(slopes);
  return success();
}

template <typename Op> FailureOr<AttentionFields> attentionFields(Op op, ExecEmitter &emitter) {
  if (failed(wantStatic(op)))
    return failure();
  ArrayRef<int64_t> q = shapeOf(op.getQ()), k = shapeOf(op.getK());
  AttentionFields fields{};
  fields.batch = q[0], fields.queries = q[1], fields.keys = k[1];
  fields.heads = q[2], fields.kvHeads = k[2], fields.headDim = q[3];
  fields.rows = headRows({op.getQ(), op.getK(), op.getV()}, emitter);
  if (auto sliding = static_cast<int64_t>(op.getSliding().value_or(0));
      sliding < (op.getStarts() ? kMostDistance : std::max(fields.keys, fields.queries)))
    fields.window = sliding;
  fields.softCap = op.getSoftCap().value_or(APFloat(0.0));
  if (failed(setScores(op, fields, emitter)))
    return failure();
  if (op.getDropout().convertToDouble() == 0)
    return fields;
  // Loops 0, 1 and 2 of the op's rule are samples, kv heads and the query heads per kv head.
  constexpr unsigned kBatchLoop = 0, kHeadLoop = 1, kGroupLoop = 2;
  ArrayAttr windows = op.getWindows().value_or(ArrayAttr());
  auto wholeOf = [&](unsigned loop, int64_t local) {
    graph::WindowAttr window = ExecEmitter::findWindow(windows, loop);
    return window ? window.getGlobal() : local;
  };
  int64_t group = wholeOf(kGroupLoop, fields.heads / fields.kvHeads);
  auto batch = emitter.firstIndex(op, windows, kBatchLoop);
  auto head = emitter.firstIndex(op, windows, kHeadLoop, 0, group);
  auto inGroup = emitter.firstIndex(op, windows, kGroupLoop, 0);
  if (failed(batch) || failed(head) || failed(inGroup))
    return failure();
  fields.id =
      emitter.constant(static_cast<int64_t>(std::optional<uint64_t>(op.getId()).value_or(0)));
  fields.firstBatch = ExecEmitter::sum(*batch, emitter.firstSample());
  fields.firstHead = ExecEmitter::sum(*head, *inGroup);
  fields.totalHeads = wholeOf(kHeadLoop, fields.kvHeads) * group;
  fields.seed = emitter.lookup(op.getSeed());
  fields.step = emitter.lookup(op.getStep());
  return fields;
}

struct LowerAttention : ExecLoweringInterface::ExternalModel<LowerAttention, graph::AttentionOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto attention = cast<graph::AttentionOp>(op);
    FailureOr<AttentionFields> fields = attentionFields(attention, emitter);
    if (failed(fields))
      return failure();
    exec::AttentionOp::create(
        emitter.instructions(), emitter.lookup(attention.getQ()), emitter.lookup(attention.getK()),
        emitter.lookup(attention.getV()), fields->seed, fields->step, fields->lengths, fields->bias,
        fields->slopes, fields->documents,
        attention.getSinks() ? emitter.lookup(attention.getSinks()) : Value(), fields->starts,
        emitter.define(attention.getResult()), emitter.define(attention.getLse()), fields->batch,
        fields->queries, fields->keys, fields->heads, fields->kvHeads, fields->headDim,
        fields->valueDim, fields->rows[0], fields->rows[1], fields->rows[2], attention.getCausal(),
        fields->window, fields->prefix, fields->biasSizes, fields->softCap, *attention.getScale(),
        attention.getDropout(), fields->id, fields->firstBatch, fields->firstHead,
        fields->totalHeads,
        /*stream=*/0);
    return success();
  }
};

struct LowerAttentionGrad
    : ExecLoweringInterface::ExternalModel<LowerAttentionGrad, graph::AttentionGradOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto grad = cast<graph::AttentionGradOp>(op);
    FailureOr<AttentionFields> fields = attentionFields(grad, emitter);
    if (failed(fields))
      return failure();
    Value scratch = emitter.createBuffer("attention_scratch", exec::BufferKind::Temporary,
                                         Float32Type::get(op->getContext()),
                                         fields->batch * fields->heads * fields->queries);
    SmallVector<Value> gradients{grad.getDq(), grad.getDk(), grad.getDv()};
    if (!defineInRows(gradients, emitter))
      for (Value gradient : gradients)
        emitter.define(gradient);
    HeadRows gradRows = headRows(gradients, emitter);
    exec::AttentionGradOp::create(
        emitter.instructions(), emitter.lookup(grad.getQ()), emitter.lookup(grad.getK()),
        emitter.lookup(grad.getV()), emitter.lookup(grad.getOut()), emitter.lookup(grad.getLse()),
        emitter.lookup(grad.getDout()), grad.getDlse() ? emitter.lookup(grad.getDlse()) : Value(),
        fields->seed, fields->step, fields->lengths, fields->bias, fields->slopes,
        fields->documents, fields->starts, emitter.lookup(grad.getDq()),
        emitter.lookup(grad.getDk()), emitter.lookup(grad.getDv()), scratch,
        grad.getDbias() ? emitter.define(grad.getDbias()) : Value(), fields->batch, fields->queries,
        fields->keys, fields->heads, fields->kvHeads, fields->headDim, fields->valueDim,
        fields->rows[0], fields->rows[1], fields->rows[2], grad.getCausal(), fields->window,
        fields->prefix, fields->biasSizes, fields->softCap, grad.getScale(), grad.getDropout(),
        fields->id, fields->firstBatch, fields->firstHead, fields->totalHeads, gradRows[0],
        gradRows[1], gradRows[2], /*stream=*/0);
    return success();
  }
};

// A rank's rows of a table, as pieces; consecutive pieces are consecutive in the rank's tensor.
struct RowPieces {
  SmallVector<exec::RankScalarAttr, 2> firstRows;
  int64_t rows, columns; // size of one piece

  Value of(Value table, size_t piece, ExecEmitter &emitter) const {
    return emitter.createView(table, static_cast<int64_t>(piece) * rows * columns, rows * columns);
  }
};

// Returns the pieces of a table's rows from the window of the one loop whose global index the op's
// rule requires.
template <typename Op>
FailureOr<RowPieces> rowPieces(Op op, ArrayRef<int64_t> table, ExecEmitter &emitter) {
  if (!cast<RankedTensorType>(op.getIds().getType()).getElementType().isInteger(32))
    return op.emitOpError() << "has ids of " << op.getIds().getType() << "; the runtime takes i32";
  RowPieces pieces{{emitter.constant(0)}, table[0], table[1]};
  unsigned loop = op.getRule().indexedLoops.front();
  graph::WindowAttr window = ExecEmitter::findWindow(op.getWindows().value_or(ArrayAttr()), loop);
  if (!window)
    return pieces;
  auto starts = emitter.pieceStarts(op, window);
  if (failed(starts))
    return failure();
  pieces.firstRows = *starts;
  pieces.rows /= static_cast<int64_t>(starts->size());
  return pieces;
}

// Lowers an embedding. Ids outside of a piece give 0, so that the results of the pieces add up.
struct LowerEmbedding : ExecLoweringInterface::ExternalModel<LowerEmbedding, graph::EmbeddingOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto embedding = cast<graph::EmbeddingOp>(op);
    FailureOr<RowPieces> pieces = rowPieces(embedding, shapeOf(embedding.getTable()), emitter);
    if (failed(wantStatic(op)) || failed(pieces))
      return failure();
    if (pieces->firstRows.size() > 1 && failed(wantF32(op))) // accumulating pieces requires f32
      return failure();
    Value table = emitter.lookup(embedding.getTable()), ids = emitter.lookup(embedding.getIds());
    Value result = emitter.define(embedding.getResult());
    int64_t tokens = numElements(shapeOf(embedding.getIds()));
    for (auto [piece, first] : llvm::enumerate(pieces->firstRows)) {
      Value out = piece == 0
                      ? result
                      : emitter.createBuffer("piece", exec::BufferKind::Temporary,
                                             exec::getDtype(result), tokens * pieces->columns);
      exec::EmbeddingOp::create(emitter.instructions(), pieces->of(table, piece, emitter), ids, out,
                                pieces->rows, pieces->columns, tokens, first, /*stream=*/0);
      if (piece > 0)
        exec::CopyOp::create(emitter.instructions(), out, result, /*accumulate=*/true);
    }
    return success();
  }
};

struct LowerEmbeddingGrad
    : ExecLoweringInterface::ExternalModel<LowerEmbeddingGrad, graph::EmbeddingGradOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto grad = cast<graph::EmbeddingGradOp>(op);
    FailureOr<RowPieces> pieces = rowPieces(grad, shapeOf(grad.getResult()), emitter);
    if (failed(wantStatic(op)) || failed(pieces))
      return failure();
    Value result = emitter.define(grad.getResult());
    for (auto [piece, first] : llvm::enumerate(pieces->firstRows))
      exec::EmbeddingGradOp::create(
          emitter.instructions(), emitter.lookup(grad.getIds()), emitter.lookup(grad.getDy()),
          pieces->of(result, piece, emitter), pieces->rows, pieces->columns,
          numElements(shapeOf(grad.getIds())), first,
          static_cast<int64_t>(grad.getPadding().value_or(-1)), /*accumulate=*/false,
          /*stream=*/0);
    return success();
  }
};
// Calls `create` with the attributes that convolution and its gradients share in the exec dialect:
// the sizes of image and kernel, stride, padding and dilation.
template <typename Op, typename Create>
LogicalResult lowerConvolution(Op op, Value image, Value weight, const Create &create) {
  if (failed(wantF32(op)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(image), w = shapeOf(weight);
  create(x[0], x[1], w[0], x[1] / w[1], x[2], x[3], w[2], w[3], op.getStride()[0],
         op.getStride()[1], op.getPadding()[0], op.getPadding()[1], op.getDilation()[0],
         op.getDilation()[1]);
  return success();
}

struct LowerConv2d : ExecLoweringInterface::ExternalModel<LowerConv2d, graph::Conv2dOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto conv = cast<graph::Conv2dOp>(op);
    return lowerConvolution(conv, conv.getX(), conv.getWeight(), [&](auto... sizes) {
      exec::Conv2dOp::create(emitter.instructions(), emitter.lookup(conv.getX()),
                             emitter.lookup(conv.getWeight()), emitter.define(conv.getResult()),
                             sizes..., /*stream=*/0);
    });
  }
};

// Lowers an op from the result of a convolution, operand 0, to its image.
template <typename Op>
struct LowerTransposed : ExecLoweringInterface::ExternalModel<LowerTransposed<Op>, Op> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto conv = cast<Op>(op);
    return lowerConvolution(conv, conv.getResult(), conv.getWeight(), [&](auto... sizes) {
      exec::Conv2dInputGradOp::create(emitter.instructions(), emitter.lookup(op->getOperand(0)),
                                      emitter.lookup(conv.getWeight()),
                                      emitter.define(conv.getResult()), sizes..., /*stream=*/0);
    });
  }
};

// The number of pieces in which the batch is summed, each of which may run on a thread of its own;
// each takes the memory of a weight.
constexpr int64_t kWeightGradPieces = 8;

struct LowerConv2dWeightGrad
    : ExecLoweringInterface::ExternalModel<LowerConv2dWeightGrad, graph::Conv2dWeightGradOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto grad = cast<graph::Conv2dWeightGradOp>(op);
    int64_t pieces = std::min(kWeightGradPieces, shapeOf(grad.getX())[0]);
    return lowerConvolution(grad, grad.getX(), grad.getResult(), [&](auto... sizes) {
      Value scratch = emitter.createBuffer("conv2d_scratch", exec::BufferKind::Temporary,
                                           Float32Type::get(op->getContext()),
                                           pieces * numElements(shapeOf(grad.getResult())));
      exec::Conv2dWeightGradOp::create(emitter.instructions(), emitter.lookup(grad.getX()),
                                       emitter.lookup(grad.getDy()),
                                       emitter.define(grad.getResult()), scratch, sizes..., pieces,
                                       /*accumulate=*/false, /*stream=*/0);
    });
  }
};
// Calls `create` with the attributes that pooling and its gradients share in the exec dialect.
template <typename Op, typename Create>
LogicalResult lowerPooling(Op op, Value image, bool isMax, const Create &create) {
  if (failed(wantF32(op)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(image);
  create(x[0], x[1], x[2], x[3], op.getKernel()[0], op.getKernel()[1], op.getStride()[0],
         op.getStride()[1], op.getPadding()[0], op.getPadding()[1], isMax);
  return success();
}

template <typename PoolOp, bool isMax>
struct LowerPool : ExecLoweringInterface::ExternalModel<LowerPool<PoolOp, isMax>, PoolOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto pool = cast<PoolOp>(op);
    return lowerPooling(pool, pool.getX(), isMax, [&](auto... fields) {
      exec::Pool2dOp::create(emitter.instructions(), emitter.lookup(pool.getX()),
                             emitter.define(pool.getResult()), fields..., /*stream=*/0);
    });
  }
};

template <typename GradOp, bool isMax>
struct LowerPoolGrad : ExecLoweringInterface::ExternalModel<LowerPoolGrad<GradOp, isMax>, GradOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto grad = cast<GradOp>(op);
    return lowerPooling(grad, grad.getResult(), isMax, [&](auto... fields) {
      Value x;
      if constexpr (isMax)
        x = emitter.lookup(grad.getX());
      exec::Pool2dGradOp::create(emitter.instructions(), x, emitter.lookup(grad.getDy()),
                                 emitter.define(grad.getResult()), fields..., /*stream=*/0);
    });
  }
};
} // namespace

void dtc::registerLibraryLowering(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, graph::GraphDialect *) {
    graph::LinearOp::attachInterface<LowerLinear>(*context);
    graph::LinearWeightGradOp::attachInterface<LowerLinearWeightGrad>(*context);
    graph::MatmulOp::attachInterface<LowerMatmul>(*context);
    graph::GroupedLinearOp::attachInterface<LowerGroupedLinear>(*context);
    graph::GroupedLinearWeightGradOp::attachInterface<LowerGroupedLinearWeightGrad>(*context);
    graph::AttentionOp::attachInterface<LowerAttention>(*context);
    graph::AttentionGradOp::attachInterface<LowerAttentionGrad>(*context);
    graph::EmbeddingOp::attachInterface<LowerEmbedding>(*context);
    graph::EmbeddingGradOp::attachInterface<LowerEmbeddingGrad>(*context);
    graph::Conv2dOp::attachInterface<LowerConv2d>(*context);
    graph::Conv2dInputGradOp::attachInterface<LowerTransposed<graph::Conv2dInputGradOp>>(*context);
    graph::ConvTranspose2dOp::attachInterface<LowerTransposed<graph::ConvTranspose2dOp>>(*context);
    graph::Conv2dWeightGradOp::attachInterface<LowerConv2dWeightGrad>(*context);
    graph::MaxPool2dOp::attachInterface<LowerPool<graph::MaxPool2dOp, true>>(*context);
    graph::AvgPool2dOp::attachInterface<LowerPool<graph::AvgPool2dOp, false>>(*context);
    graph::MaxPool2dGradOp::attachInterface<LowerPoolGrad<graph::MaxPool2dGradOp, true>>(*context);
    graph::AvgPool2dGradOp::attachInterface<LowerPoolGrad<graph::AvgPool2dGradOp, false>>(*context);
  });
}
