// The table of instructions, and the description of each.
#include "runtime/format/Instructions.h"

#include "runtime/format/Description.h"
#include "runtime/format/Limits.h"
#include "runtime/format/VerifyContext.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace dtc::format {
namespace {

void describe(const Launch &op, Description &d) {
  for (uint32_t i = 0; i < sizeOf(op.buffers()); ++i)
    d.other("buffers", op.buffers()->Get(i));
  for (uint32_t i = 0; i < sizeOf(op.scalars()); ++i)
    d.scalar("scalars", op.scalars()->Get(i));
}

// Returns the elements from the first to the last of `batch` matrices.
Checked matrices(uint64_t rows, uint64_t columns, uint64_t ld, uint64_t batch, uint64_t stride) {
  return (Checked(batch) - 1) * (batch > 1 ? stride : 0) + (Checked(rows) - 1) * ld + columns;
}

bool hasBias(Epilogue epilogue) {
  return epilogue == Epilogue::bias || epilogue == Epilogue::gelu_bias ||
         epilogue == Epilogue::gelu_aux_bias;
}

bool hasAux(Epilogue epilogue) {
  return epilogue == Epilogue::gelu_aux_bias || epilogue == Epilogue::dgelu;
}

// Describes what a matrix product has beyond its three matrices.
void describeEpilogue(const Gemm &op, Description &d) {
  Epilogue epilogue = op.epilogue();
  bool isKnown = epilogue <= Epilogue::MAX;
  d.require(isKnown, "'epilogue' is ", static_cast<int>(epilogue), ", wanted at most ",
            static_cast<int>(Epilogue::MAX));
  d.require(op.batch() == 1 && op.beta() == 0, "'epilogue' is ", EnumNameEpilogue(epilogue),
            op.addend() == noBuffer ? "" : " with an addend", ", 'batch' ", op.batch(),
            " and 'beta' ", op.beta(), ", wanted one product that is not added to 'c'");
  if (epilogue != Epilogue::none && isKnown)
    d.flag(EnumNameEpilogue(epilogue), true);
  Checked elements = Checked(op.m()) * op.n();
  if (op.addend() != noBuffer)
    d.reads("addend", op.addend(), op.result_dtype(), matrices(op.m(), op.n(), op.ldc(), 1, 0));
  else
    d.absent("addend");
  if (hasBias(epilogue))
    d.reads("bias", op.bias(), op.result_dtype(), op.n());
  else
    d.absent("bias");
  if (epilogue == Epilogue::gelu_aux_bias)
    d.writes("aux", op.aux(), op.result_dtype(), elements);
  else if (epilogue == Epilogue::dgelu)
    d.reads("aux", op.aux(), op.result_dtype(), elements);
  else
    d.absent("aux");
}

void describe(const Gemm &op, Description &d) {
  d.size("m", op.m());
  d.size("n", op.n());
  d.size("k", op.k());
  d.size("lda", op.lda());
  d.size("ldb", op.ldb());
  d.size("ldc", op.ldc());
  d.size("batch", op.batch());
  d.flag("trans_a", op.trans_a());
  d.flag("trans_b", op.trans_b());
  d.number("alpha", op.alpha());
  d.number("beta", op.beta());
  d.floating("dtype", op.dtype());
  d.flag("to f32", op.dtype() != op.result_dtype());
  d.require(op.result_dtype() == op.dtype() || op.result_dtype() == DType::f32,
            "'result_dtype' is ", static_cast<int>(op.result_dtype()), ", wanted f32 or 'dtype'");
  struct Matrix {
    const char *name, *ldName;
    uint32_t buffer;
    uint64_t rows, columns, ld, stride;
  };
  const Matrix all[] = {{"a", "lda", op.a(), op.trans_a() ? op.k() : op.m(),
                         op.trans_a() ? op.m() : op.k(), op.lda(), op.stride_a()},
                        {"b", "ldb", op.b(), op.trans_b() ? op.n() : op.k(),
                         op.trans_b() ? op.k() : op.n(), op.ldb(), op.stride_b()},
                        {"c", "ldc", op.c(), op.m(), op.n(), op.ldc(), op.stride_c()}};
  for (const Matrix &matrix : all) {
    d.require(matrix.ld >= matrix.columns, "'", matrix.ldName, "' is ", matrix.ld,
              ", wanted at least the ", matrix.columns, " columns of '", matrix.name, "'");
    d.require(matrix.stride <= maxArenaBytes, "the batch stride of '", matrix.name, "' is ",
              matrix.stride, ", wanted at most ", maxArenaBytes);
    Checked elements = matrices(matrix.rows, matrix.columns, matrix.ld, op.batch(), matrix.stride);
    if (matrix.name[0] == 'c')
      d.writes(matrix.name, matrix.buffer, op.result_dtype(), elements);
    else
      d.reads(matrix.name, matrix.buffer, op.dtype(), elements);
  }
  // The results of the batch either follow each other or lie side by side in the rows.
  uint64_t stride = op.stride_c();
  bool follow = stride >= (op.m() - 1) * op.ldc() + op.n();
  bool sideBySide =
      stride >= op.n() && (Checked(op.batch() - 1) * stride + op.n()).atMost(op.ldc());
  d.require(op.batch() <= 1 || follow || sideBySide, "the batch stride of 'c' is ", stride,
            ", at which its ", op.batch(), " products of ", op.m(), " x ", op.n(), " overlap");
  d.require(hasBias(op.epilogue()) || op.bias() == noBuffer,
            "there is a 'bias', and 'epilogue' is ", EnumNameEpilogue(op.epilogue()));
  d.require(hasAux(op.epilogue()) || op.aux() == noBuffer, "there is an 'aux', and 'epilogue' is ",
            EnumNameEpilogue(op.epilogue()));
  if (hasEpilogue(op))
    describeEpilogue(op, d);
}

uint64_t valueDim(const Attention &op) { return op.value_dim() ? op.value_dim() : op.head_dim(); }

struct AttentionElements {
  explicit AttentionElements(const Attention &op)
      : lse(Checked(op.batch()) * op.queries() * op.heads()), result(lse * valueDim(op)) {}
  Checked lse, result;
};

// Describes a tensor of heads that may be part of another tensor: a row per token, `stride` apart;
// 0 if rows have no gaps.
void describeHeads(const char *name, uint32_t buffer, const Attention &op, bool areKeys,
                   uint64_t headDim, const char *strideName, uint64_t stride, Access access,
                   Description &d) {
  Checked columns = Checked(areKeys ? op.kv_heads() : op.heads()) * headDim;
  Checked rows = Checked(op.batch()) * (areKeys ? op.keys() : op.queries());
  uint64_t row = columns.ok() ? columns.value() : 0;
  if (stride != 0)
    d.index(strideName, stride);
  d.require(stride == 0 || (stride >= row && stride <= maxSize), "'", strideName, "' is ", stride,
            ", wanted 0 or ", row, " to ", maxSize);
  Checked elements = stride == 0 ? rows * columns : (rows - 1) * stride + columns;
  access == Access::Read ? d.reads(name, buffer, op.dtype(), elements)
                         : d.writes(name, buffer, op.dtype(), elements);
  d.inRows(row, stride);
}

// Returns the elements of bias, whose sizes are checked.
Checked describeBias(const Attention &op, Description &d) {
  const uint64_t whole[] = {op.batch(), op.heads(), op.queries(), op.keys()};
  uint32_t count = sizeOf(op.bias_sizes());
  d.require(count == 4, "bias has ", count, " sizes, wanted 4");
  if (!isAligned(op.bias_sizes())) {
    d.require(false, "the sizes of bias are not aligned to 8 bytes");
    return 0;
  }
  Checked elements = 1;
  for (uint32_t i = 0; i < count && i < 4; ++i) {
    uint64_t size = op.bias_sizes()->Get(i);
    d.require(size == 1 || size == whole[i], "size ", i, " of bias is ", size, ", wanted 1 or ",
              whole[i]);
    elements = elements * size;
  }
  return elements;
}

void readsIf(const char *name, uint32_t buffer, DType type, Checked elements, Description &d) {
  buffer == noBuffer ? d.absent(name) : d.reads(name, buffer, type, elements);
}

// Describes which keys there are, and what is added to scores.
void describeScores(const Attention &op, Description &d) {
  readsIf("lengths", op.lengths(), DType::i32, op.batch(), d);
  if (op.bias() == noBuffer)
    d.absent("bias");
  else
    d.reads("bias", op.bias(), DType::f32, describeBias(op, d));
  readsIf("slopes", op.slopes(), DType::f32, op.heads(), d);
}

// Describes the positions of the first query and of the first key, the last buffer of attention and
// of its gradient.
void describeStarts(const Attention &op, Description &d) {
  d.require(op.starts() == noBuffer || (op.documents() == noBuffer && op.dropout() == 0),
            "'starts' with documents, or with a dropout of ", op.dropout(), ", wanted neither");
  readsIf("starts", op.starts(), DType::i32, 2, d);
}

// Describes the documents of keys, the last buffer but one of attention's gradient, and of
// attention that before its sinks.
void describeDocuments(const Attention &op, Description &d) {
  d.require(op.documents() == noBuffer || (op.prefix() == 0 && op.keys() >= op.queries()),
            "'documents' with a prefix of ", op.prefix(), ", ", op.queries(), " queries and ",
            op.keys(), " keys, wanted no prefix and as many keys at least");
  readsIf("documents", op.documents(), DType::i32, Checked(op.batch()) * op.keys(), d);
}

// Describes attention; `isForward`: out and lse are written.
void describeAttention(const Attention &op, bool isForward, Description &d) {
  d.size("batch", op.batch());
  d.size("queries", op.queries());
  d.size("keys", op.keys());
  d.size("heads", op.heads());
  d.size("kv_heads", op.kv_heads());
  d.size("head_dim", op.head_dim());
  d.flag("causal", op.causal());
  d.number("scale", op.scale());
  d.number("dropout", op.dropout());
  if (op.window() != 0)
    d.size("window", op.window());
  if (op.soft_cap() != 0)
    d.number("soft_cap", op.soft_cap());
  if (op.value_dim() != 0)
    d.size("value_dim", op.value_dim());
  if (op.prefix() != 0)
    d.size("prefix", op.prefix());
  bool isPrefixed = op.prefix() <= op.keys() || op.starts() != noBuffer;
  d.require(op.prefix() == 0 || (op.causal() && op.window() == 0 && isPrefixed), "'prefix' is ",
            op.prefix(), ", wanted at most keys, ", op.keys(),
            ", of 'causal' attention without a 'window'");
  d.floating("dtype", op.dtype());
  d.require(op.soft_cap() >= 0, "'soft_cap' is ", op.soft_cap(), ", wanted 0 or more");
  d.require(op.kv_heads() > 0 && op.heads() % op.kv_heads() == 0, "'heads' is ", op.heads(),
            ", wanted a multiple of kv_heads, ", op.kv_heads());
  d.require(!op.causal() || op.keys() >= op.queries() || op.starts() != noBuffer, "causal with ",
            op.queries(), " queries and ", op.keys(), " keys, wanted as many keys at least");
  d.require(op.dropout() >= 0 && op.dropout() < 1, "'dropout' is ", op.dropout(),
            ", wanted at least 0 and less than 1");
  AttentionElements elements(op);
  auto result = isForward ? &Description::writes : &Description::reads;
  describeHeads("q", op.q(), op, false, op.head_dim(), "q_row", op.q_row(), Access::Read, d);
  describeHeads("k", op.k(), op, true, op.head_dim(), "k_row", op.k_row(), Access::Read, d);
  describeHeads("v", op.v(), op, true, valueDim(op), "v_row", op.v_row(), Access::Read, d);
  (d.*result)("out", op.out(), op.dtype(), elements.result);
  (d.*result)("lse", op.lse(), DType::f32, elements.lse);
  if (op.dropout() == 0) {
    d.absent("seed");
    d.absent("step");
    describeScores(op, d);
    d.scalar("first_batch", op.first_batch());
    d.scalar("first_head", op.first_head());
    return;
  }
  d.size("total_heads", op.total_heads());
  d.reads("seed", op.seed(), DType::i64, 1);
  d.reads("step", op.step(), DType::f32, 1);
  describeScores(op, d);
  // The last ranks may hold padded heads only, so first_head can be past total_heads: both only key
  // random numbers.
  d.scalar("first_batch", op.first_batch(), 0);
  d.scalar("first_head", op.first_head(), 0, maxSize);
  d.scalar("dropout_id", op.dropout_id(), 0);
}

void describe(const Attention &op, Description &d) {
  describeAttention(op, true, d);
  describeDocuments(op, d);
  readsIf("sinks", op.sinks(), DType::f32, op.heads(), d);
  describeStarts(op, d);
}

void describe(const AttentionGrad &op, Description &d) {
  describeAttention(*op.forward(), false, d);
  const Attention &forward = *op.forward();
  AttentionElements elements(forward);
  d.reads("dout", op.dout(), forward.dtype(), elements.result);
  uint64_t dim = forward.head_dim();
  describeHeads("dq", op.dq(), forward, false, dim, "dq_row", op.dq_row(), Access::Write, d);
  describeHeads("dk", op.dk(), forward, true, dim, "dk_row", op.dk_row(), Access::Write, d);
  describeHeads("dv", op.dv(), forward, true, valueDim(forward), "dv_row", op.dv_row(),
                Access::Write, d);
  d.writes("scratch", op.scratch(), DType::f32, elements.lse);
  readsIf("dlse", op.dlse(), DType::f32, elements.lse, d);
  d.require(op.dbias() == noBuffer || forward.bias() != noBuffer, "'dbias' without a bias");
  d.require(forward.sinks() == noBuffer, "'sinks' in a gradient, whose 'lse' has them");
  if (op.dbias() == noBuffer)
    d.absent("dbias");
  else
    d.writes("dbias", op.dbias(), DType::f32, describeBias(forward, d));
  describeDocuments(forward, d);
  describeStarts(forward, d);
}

template <typename Lookup> void describeRows(const Lookup &op, Description &d) {
  d.size("rows", op.rows());
  d.size("columns", op.columns());
  d.size("tokens", op.tokens());
  d.floating("dtype", op.dtype());
  d.scalar("first_row", op.first_row());
}

void describe(const Embedding &op, Description &d) {
  describeRows(op, d);
  d.reads("table", op.table_(), op.dtype(), Checked(op.rows()) * op.columns());
  d.reads("ids", op.ids(), DType::i32, op.tokens());
  d.writes("out", op.out(), op.dtype(), Checked(op.tokens()) * op.columns());
}

void describe(const EmbeddingGrad &op, Description &d) {
  describeRows(op, d);
  if (op.padding() != -1)
    d.number("padding", static_cast<double>(op.padding()));
  d.require(op.padding() >= -1 && op.padding() <= std::numeric_limits<int32_t>::max(),
            "'padding' is ", op.padding(), ", wanted -1 or an id");
  d.flag("accumulate", op.accumulate());
  d.writes("grad", op.grad(), DType::f32, Checked(op.rows()) * op.columns());
  d.reads("ids", op.ids(), DType::i32, op.tokens());
  d.reads("dout", op.dout(), op.dtype(), Checked(op.tokens()) * op.columns());
}

// Returns the pixels of a result along one side of an image. Overflows, so that no buffer holds it,
// if the kernel does not fit or a size is 0, which `size` reports.
Checked resultPixels(uint64_t image, uint64_t kernel, uint64_t stride, uint64_t padding,
                     uint64_t dilation) {
  Checked rest =
      Checked(image) + Checked(padding) * 2 - Checked(dilation) * (Checked(kernel) - 1) - 1;
  return Checked(rest.ok() ? rest.value() / std::max<uint64_t>(stride, 1) : ~uint64_t(0)) + 1;
}

// The movement of a kernel over an image.
struct Moves {
  Moves(const char *side, uint64_t image, uint64_t kernel, uint64_t stride, uint64_t padding,
        uint64_t dilation, Description &d)
      : pixels(resultPixels(image, kernel, stride, padding, dilation)) {
    d.require(padding <= maxSize, "the padding of its ", side, " is ", padding, ", wanted at most ",
              maxSize);
    d.require(pixels.ok(), "a kernel of ", kernel, " with dilation ", dilation,
              " does not fit into a ", side, " of ", image, " with padding ", padding);
  }
  Checked pixels; // pixels of the result
};

// The number of elements of the three tensors of a convolution.
struct Conv2dElements {
  Conv2dElements(const Conv2dShape &s, Description &d) {
    d.size("batch", s.batch());
    d.size("channels", s.channels());
    d.size("filters", s.filters());
    d.size("groups", s.groups());
    d.size("height", s.height());
    d.size("width", s.width());
    d.size("kernel_height", s.kernel_height());
    d.size("kernel_width", s.kernel_width());
    d.size("stride_height", s.stride_height());
    d.size("stride_width", s.stride_width());
    d.index("padding_height", s.padding_height());
    d.index("padding_width", s.padding_width());
    d.size("dilation_height", s.dilation_height());
    d.size("dilation_width", s.dilation_width());
    uint64_t groups = std::max<uint64_t>(s.groups(), 1);
    d.require(s.channels() % groups == 0 && s.filters() % groups == 0, "'channels' is ",
              s.channels(), " and 'filters' ", s.filters(), ", wanted multiples of groups, ",
              groups);
    Moves down("height", s.height(), s.kernel_height(), s.stride_height(), s.padding_height(),
               s.dilation_height(), d);
    Moves right("width", s.width(), s.kernel_width(), s.stride_width(), s.padding_width(),
                s.dilation_width(), d);
    image = Checked(s.batch()) * s.channels() * s.height() * s.width();
    weight = Checked(s.filters()) * (s.channels() / groups) * s.kernel_height() * s.kernel_width();
    result = Checked(s.batch()) * s.filters() * down.pixels * right.pixels;
  }
  Checked image = 0, weight = 0, result = 0;
};

void describe(const Conv2d &op, Description &d) {
  Conv2dElements elements(*op.shape(), d);
  d.reads("x", op.x(), DType::f32, elements.image);
  d.reads("weight", op.weight(), DType::f32, elements.weight);
  d.writes("y", op.y(), DType::f32, elements.result);
}

void describe(const Conv2dInputGrad &op, Description &d) {
  Conv2dElements elements(*op.shape(), d);
  d.reads("dy", op.dy(), DType::f32, elements.result);
  d.reads("weight", op.weight(), DType::f32, elements.weight);
  d.writes("dx", op.dx(), DType::f32, elements.image);
}

void describe(const Conv2dWeightGrad &op, Description &d) {
  Conv2dElements elements(*op.shape(), d);
  d.size("pieces", op.pieces());
  d.flag("accumulate", op.accumulate());
  d.reads("x", op.x(), DType::f32, elements.image);
  d.reads("dy", op.dy(), DType::f32, elements.result);
  d.writes("dweight", op.dweight(), DType::f32, elements.weight);
  d.writes("scratch", op.scratch(), DType::f32, elements.weight * op.pieces());
}

struct Pool2dElements {
  Pool2dElements(const Pool2dShape &s, Description &d) {
    d.size("batch", s.batch());
    d.size("channels", s.channels());
    d.size("height", s.height());
    d.size("width", s.width());
    d.size("kernel_height", s.kernel_height());
    d.size("kernel_width", s.kernel_width());
    d.size("stride_height", s.stride_height());
    d.size("stride_width", s.stride_width());
    d.index("padding_height", s.padding_height());
    d.index("padding_width", s.padding_width());
    d.flag("max", s.max());
    Moves down("height", s.height(), s.kernel_height(), s.stride_height(), s.padding_height(), 1,
               d);
    Moves right("width", s.width(), s.kernel_width(), s.stride_width(), s.padding_width(), 1, d);
    d.require(
        s.padding_height() <= s.kernel_height() / 2 && s.padding_width() <= s.kernel_width() / 2,
        "the padding is ", s.padding_height(), " and ", s.padding_width(),
        ", wanted at most half of the kernel, ", s.kernel_height(), " and ", s.kernel_width());
    Checked channels = Checked(s.batch()) * s.channels();
    image = channels * s.height() * s.width();
    result = channels * down.pixels * right.pixels;
  }
  Checked image = 0, result = 0;
};

void describe(const Pool2d &op, Description &d) {
  Pool2dElements elements(*op.shape(), d);
  d.reads("x", op.x(), DType::f32, elements.image);
  d.writes("y", op.y(), DType::f32, elements.result);
}

void describe(const Pool2dGrad &op, Description &d) {
  Pool2dElements elements(*op.shape(), d);
  if (op.shape()->max())
    d.reads("x", op.x(), DType::f32, elements.image);
  else
    d.absent("x");
  d.reads("dy", op.dy(), DType::f32, elements.result);
  d.writes("dx", op.dx(), DType::f32, elements.image);
}

void describe(const GroupedGemm &op, Description &d) {
  d.size("groups", op.groups());
  d.size("samples", op.samples());
  d.size("rows", op.rows());
  d.size("k", op.k());
  d.size("n", op.n());
  d.flag("trans_b", op.trans_b());
  d.flag("sums_rows", op.sums_rows());
  d.flag("accumulate", op.accumulate());
  d.floating("dtype", op.dtype());
  d.flag("to f32", op.dtype() != op.result_dtype());
  d.require(op.result_dtype() == op.dtype() || op.result_dtype() == DType::f32,
            "'result_dtype' is ", static_cast<int>(op.result_dtype()), ", wanted f32 or 'dtype'");
  d.require(!op.sums_rows() || !op.trans_b(), "'trans_b' with 'sums_rows', whose 'b' has rows");
  d.require(!op.accumulate() || (op.sums_rows() && op.result_dtype() == DType::f32),
            "'accumulate' ", op.sums_rows() ? "of " : "without 'sums_rows', of ",
            EnumNameDType(op.result_dtype()), ", wanted sums of rows in f32");
  Checked matrices = Checked(op.groups()) * op.k() * op.n(), outer = Checked(op.rows()) * op.n();
  d.reads("a", op.a(), op.dtype(), Checked(op.rows()) * op.k());
  d.reads("b", op.b(), op.dtype(), op.sums_rows() ? outer : matrices);
  d.reads("counts", op.counts(), DType::i32, Checked(op.samples()) * op.groups());
  d.writes("c", op.c(), op.result_dtype(), op.sums_rows() ? matrices : outer);
}

void describe(const StridedCopy &op, Description &d) {
  d.flag("accumulate", op.accumulate());
  d.other("src", op.src(), Access::Read);
  d.other("dst", op.dst(), Access::Write);
  d.scalar("src_offset", op.src_offset());
  d.scalar("dst_offset", op.dst_offset());
}

void describe(const Zero &op, Description &d) { d.other("dst", op.dst(), Access::Write); }

void describe(const Collective &op, Description &d) {
  d.size("count", op.count());
  d.other("src", op.src(), Access::Read);
  d.other("dst", op.dst(), Access::Write);
}

void describe(const Transfer &op, Description &d) {
  d.size("count", op.count());
  d.index("shift", op.shift());
  if (op.kind() == TransferKind::send)
    d.reads("buffer", op.buffer(), op.dtype(), op.count());
  else
    d.writes("buffer", op.buffer(), op.dtype(), op.count());
}

template <typename Op> void describeEvent(const Op &op, Description &d) {
  d.index("event", op.event());
  if (op.layer_stride() != 0)
    d.number("layer_stride", op.layer_stride());
  if (op.slots() != 1)
    d.number("slots", op.slots());
}
void describe(const Record &op, Description &d) { describeEvent(op, d); }
void describe(const Wait &op, Description &d) { describeEvent(op, d); }

constexpr size_t numOps = static_cast<size_t>(Op::MAX) + 1;

template <typename Table>
constexpr void set(std::array<InstructionKind, numOps> &kinds, const char *name, TimeClass time) {
  kinds[static_cast<size_t>(OpTraits<Table>::enum_value)] = {
      name, time, [](const Instruction &instruction, Description &d) {
        describe(*static_cast<const Table *>(instruction.op()), d);
      }};
}

constexpr std::array<InstructionKind, numOps> kinds = [] {
  std::array<InstructionKind, numOps> table;
  set<Launch>(table, "launch", TimeClass::Kernel);
  set<Gemm>(table, "gemm", TimeClass::Gemm);
  set<Attention>(table, "attention", TimeClass::Attention);
  set<AttentionGrad>(table, "attention_grad", TimeClass::Attention);
  set<Embedding>(table, "embedding", TimeClass::Embedding);
  set<EmbeddingGrad>(table, "embedding_grad", TimeClass::Embedding);
  set<StridedCopy>(table, "copy", TimeClass::Copy);
  set<Zero>(table, "zero", TimeClass::Copy);
  set<Collective>(table, "collective", TimeClass::Collective);
  set<Transfer>(table, "transfer", TimeClass::Collective);
  set<Record>(table, "record", TimeClass::Wait);
  set<Wait>(table, "wait", TimeClass::Wait);
  set<Conv2d>(table, "conv2d", TimeClass::Gemm);
  set<Conv2dInputGrad>(table, "conv2d_input_grad", TimeClass::Gemm);
  set<Conv2dWeightGrad>(table, "conv2d_weight_grad", TimeClass::Gemm);
  set<GroupedGemm>(table, "grouped_gemm", TimeClass::Gemm);
  set<Pool2d>(table, "pool2d", TimeClass::Kernel);
  set<Pool2dGrad>(table, "pool2d_grad", TimeClass::Kernel);
  return table;
}();

// Op::NONE, which is 0, is no instruction; all others have an entry.
constexpr bool isComplete() {
  for (size_t op = 1; op < numOps; ++op)
    if (!kinds[op].describe)
      return false;
  return true;
}
static_assert(isComplete(), "every kind of instruction has an entry");

} // namespace

const InstructionKind &kindOf(Op op) {
  auto index = static_cast<size_t>(op);
  return kinds[index < numOps ? index : 0];
}

void describe(const Instruction &instruction, Description &description) {
  description.clear();
  if (auto fill = kindOf(instruction.op_type()).describe; fill && instruction.op())
    fill(instruction, description);
}

const char *opName(Op op) { return kindOf(op).name; }

} // namespace dtc::format
