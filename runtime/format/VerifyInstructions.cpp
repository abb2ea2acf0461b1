// Checks each instruction by itself: its indices, and that it stays inside its buffers on every
// rank that runs it.
#include "runtime/format/VerifyContext.h"

#include <algorithm>
#include <array>
#include <utility>

namespace dtc::format {
namespace {

// Sizes and leading dimensions reach BLAS as int.
constexpr uint64_t maxSize = (uint64_t(1) << 31) - 1;
constexpr int64_t maxScalar = int64_t(1) << 48;

// The arena bytes [begin, end) that an operand may touch.
struct Span {
  uint64_t begin = 0;
  uint64_t end = 0;
};

bool overlap(Span a, Span b) { return a.begin < b.end && b.begin < a.end; }

// Smallest and largest value of a rank scalar.
struct Bounds {
  int64_t low = 0;
  int64_t high = 0;
};

class InstructionVerifier {
public:
  InstructionVerifier(const ProgramContext &context, uint32_t index)
      : context(context), instruction(*context.program.instructions()->Get(index)), index(index) {}

  rt::Status verify() const;

private:
  template <typename... Pieces> rt::Status fail(const Pieces &...pieces) const {
    return context.failHere("instruction ", index, ", ", describe(context.manifest, instruction),
                            ": ", pieces...);
  }

  // The operand is a buffer that exists.
  rt::Status bufferExists(const char *operand, uint32_t buffer) const;
  // The buffer exists, has elements of `type`, and at least `elements` of them.
  rt::Status holds(const char *operand, uint32_t buffer, DType type, Checked elements) const;
  rt::Status sizeInRange(const char *name, uint64_t size) const;
  rt::Status bounds(const char *name, const RankScalar *scalar, Bounds &bounds) const;
  Span spanOf(uint32_t buffer, Checked bytes) const {
    return {context.buffer(buffer).offset(), context.buffer(buffer).offset() + bytes.value()};
  }

  rt::Status verifyOp(const Launch &op) const;
  rt::Status verifyOp(const Gemm &op) const;
  rt::Status verifyOp(const Attention &op) const;
  rt::Status verifyOp(const AttentionGrad &op) const;
  rt::Status verifyDropout(const Attention &op) const;
  template <typename Op>
  rt::Status verifyLookup(const Op &op, const char *tableName, uint32_t table, const char *outName,
                          uint32_t out) const;
  rt::Status verifyOp(const StridedCopy &op) const;
  rt::Status verifyDistinct(const StridedCopy &op) const;
  rt::Status verifySide(const StridedCopy &op, const char *name, uint32_t buffer,
                        const flatbuffers::Vector<int64_t> *strides, const RankScalar *offset,
                        Span &span) const;
  rt::Status verifyOp(const Collective &op) const;
  rt::Status verifyEvent(uint32_t event) const;

  const ProgramContext &context;
  const Instruction &instruction;
  uint32_t index;
};

rt::Status InstructionVerifier::bufferExists(const char *operand, uint32_t buffer) const {
  if (buffer >= context.numBuffers())
    return fail("'", operand, "' is buffer ", buffer, ", there are ", context.numBuffers());
  return {};
}

rt::Status InstructionVerifier::holds(const char *operand, uint32_t buffer, DType type,
                                      Checked elements) const {
  DTC_RETURN_IF_ERROR(bufferExists(operand, buffer));
  const Buffer &found = context.buffer(buffer);
  if (found.dtype() != type)
    return fail("'", operand, "' is ", context.bufferName(buffer), " of ",
                EnumNameDType(found.dtype()), ", wanted ", EnumNameDType(type));
  Checked bytes = elements * bytesOf(type);
  if (!bytes.atMost(found.bytes()))
    return fail("'", operand, "' is ", context.bufferName(buffer), " of ", found.bytes(),
                " bytes, wanted ",
                bytes.ok() ? text("at least ", bytes.value()) : "more than fit in 64 bits");
  return {};
}

rt::Status InstructionVerifier::sizeInRange(const char *name, uint64_t size) const {
  if (size == 0 || size > maxSize)
    return fail("'", name, "' is ", size, ", wanted 1 to ", maxSize);
  return {};
}

rt::Status InstructionVerifier::bounds(const char *name, const RankScalar *scalar,
                                       Bounds &bounds) const {
  bounds = {scalar ? scalar->base() : 0, scalar ? scalar->base() : 0};
  if (scalar && !isAligned(scalar->terms()))
    return fail("the terms of '", name, "' are not aligned to 8 bytes");
  for (uint32_t i = 0; scalar && i < sizeOf(scalar->terms()); ++i) {
    const RankTerm &term = *scalar->terms()->Get(i);
    if (term.axis() >= context.ranges.size())
      return fail("'", name, "' depends on mesh axis ", term.axis(), ", the mesh has ",
                  context.ranges.size());
    CoordinateRange range = context.ranges[term.axis()];
    int64_t first = 0, last = 0;
    if (!checkedMul<int64_t>(term.stride(), range.first, first) ||
        !checkedMul<int64_t>(term.stride(), range.last, last) ||
        !checkedAdd(bounds.low, std::min(first, last), bounds.low) ||
        !checkedAdd(bounds.high, std::max(first, last), bounds.high))
      return fail("'", name, "' does not fit in 64 bits on some rank");
  }
  if (bounds.low < -maxScalar || bounds.high > maxScalar)
    return fail("'", name, "' is ", bounds.low, " to ", bounds.high, ", wanted at most ", maxScalar,
                " either way");
  return {};
}

rt::Status InstructionVerifier::verifyOp(const Launch &op) const {
  const auto *kernels = context.manifest.kernels();
  if (op.kernel() >= sizeOf(kernels))
    return fail("the kernel is ", op.kernel(), ", there are ", sizeOf(kernels));
  const Kernel &kernel = *kernels->Get(op.kernel());
  if (sizeOf(op.buffers()) != kernel.num_buffers() || sizeOf(op.scalars()) != kernel.num_scalars())
    return fail("it has ", sizeOf(op.buffers()), " buffers and ", sizeOf(op.scalars()),
                " scalars, the kernel takes ", kernel.num_buffers(), " and ", kernel.num_scalars());
  for (uint32_t i = 0; i < sizeOf(op.buffers()); ++i) {
    uint32_t buffer = op.buffers()->Get(i);
    DTC_RETURN_IF_ERROR(bufferExists("buffers", buffer));
    if (context.buffer(buffer).bytes() < kernel.min_bytes()->Get(i))
      return fail("operand ", i, " is ", context.bufferName(buffer), " of ",
                  context.buffer(buffer).bytes(), " bytes, wanted at least ",
                  kernel.min_bytes()->Get(i));
  }
  Bounds unused;
  for (uint32_t i = 0; i < sizeOf(op.scalars()); ++i)
    DTC_RETURN_IF_ERROR(bounds("scalars", op.scalars()->Get(i), unused));
  if (op.range() == 0 || op.range() > kernel.range())
    return fail("the range is ", op.range(), ", wanted 1 to ", kernel.range(),
                ", the range of the kernel");
  return {};
}

rt::Status InstructionVerifier::verifyOp(const Gemm &op) const {
  const std::pair<const char *, uint64_t> sizes[] = {
      {"m", op.m()},     {"n", op.n()},     {"k", op.k()},        {"lda", op.lda()},
      {"ldb", op.ldb()}, {"ldc", op.ldc()}, {"batch", op.batch()}};
  for (auto [name, size] : sizes)
    DTC_RETURN_IF_ERROR(sizeInRange(name, size));
  if (!std::isfinite(op.alpha()) || !std::isfinite(op.beta()))
    return fail("alpha is ", op.alpha(), " and beta ", op.beta(), ", wanted finite numbers");
  struct Matrix {
    const char *name;
    const char *ldName;
    uint32_t buffer;
    uint64_t rows, columns, ld, stride;
  };
  const Matrix matrices[] = {{"a", "lda", op.a(), op.trans_a() ? op.k() : op.m(),
                              op.trans_a() ? op.m() : op.k(), op.lda(), op.stride_a()},
                             {"b", "ldb", op.b(), op.trans_b() ? op.n() : op.k(),
                              op.trans_b() ? op.k() : op.n(), op.ldb(), op.stride_b()},
                             {"c", "ldc", op.c(), op.m(), op.n(), op.ldc(), op.stride_c()}};
  std::array<Span, 3> spans;
  for (size_t i = 0; i < 3; ++i) {
    const Matrix &matrix = matrices[i];
    if (matrix.ld < matrix.columns)
      return fail("'", matrix.ldName, "' is ", matrix.ld, ", wanted at least the ", matrix.columns,
                  " columns of '", matrix.name, "'");
    uint64_t stride = op.batch() > 1 ? matrix.stride : 0;
    if (matrix.stride > maxArenaBytes)
      return fail("the batch stride of '", matrix.name, "' is ", matrix.stride, ", wanted at most ",
                  maxArenaBytes);
    Checked elements = (Checked(op.batch()) - 1) * stride + (Checked(matrix.rows) - 1) * matrix.ld +
                       matrix.columns;
    DTC_RETURN_IF_ERROR(holds(matrix.name, matrix.buffer, DType::f32, elements));
    spans[i] = spanOf(matrix.buffer, elements * 4);
  }
  // Products of the batch either follow each other or lie side by side in the rows.
  uint64_t stride = op.stride_c();
  bool follow = stride >= (op.m() - 1) * op.ldc() + op.n();
  bool sideBySide =
      stride >= op.n() && (Checked(op.batch() - 1) * stride + op.n()).atMost(op.ldc());
  if (op.batch() > 1 && !follow && !sideBySide)
    return fail("the batch stride of 'c' is ", stride, ", at which its ", op.batch(), " products ",
                "of ", op.m(), " x ", op.n(), " overlap");
  if (op.c() == op.a() || op.c() == op.b())
    return fail("'c' is also 'a' or 'b', wanted another buffer");
  return {};
}

rt::Status InstructionVerifier::verifyDropout(const Attention &op) const {
  if (!(op.dropout() >= 0 && op.dropout() < 1))
    return fail("'dropout' is ", op.dropout(), ", wanted at least 0 and less than 1");
  Bounds batch, head;
  DTC_RETURN_IF_ERROR(bounds("first_batch", op.first_batch(), batch));
  DTC_RETURN_IF_ERROR(bounds("first_head", op.first_head(), head));
  if (op.dropout() == 0)
    return {};
  if (batch.low < 0 || head.low < 0)
    return fail("'first_batch' is ", batch.low, " and 'first_head' ", head.low,
                " on some rank, wanted at least 0");
  // The last ranks may hold padded heads only, so first_head can be past total_heads: both only key
  // random numbers.
  if (op.total_heads() == 0 || op.total_heads() > maxSize ||
      static_cast<uint64_t>(head.high) > maxSize)
    return fail("'total_heads' is ", op.total_heads(), " and first_head ", head.high,
                ", wanted total_heads of at least 1 and both at most ", maxSize);
  DTC_RETURN_IF_ERROR(holds("seed", op.seed(), DType::i64, 1));
  return holds("step", op.step(), DType::f32, 1);
}

rt::Status InstructionVerifier::verifyOp(const Attention &op) const {
  const std::pair<const char *, uint64_t> sizes[] = {
      {"batch", op.batch()}, {"queries", op.queries()},   {"keys", op.keys()},
      {"heads", op.heads()}, {"kv_heads", op.kv_heads()}, {"head_dim", op.head_dim()}};
  for (auto [name, size] : sizes)
    DTC_RETURN_IF_ERROR(sizeInRange(name, size));
  if (op.heads() % op.kv_heads() != 0)
    return fail("'heads' is ", op.heads(), ", wanted a multiple of kv_heads, ", op.kv_heads());
  if (op.causal() && op.keys() < op.queries())
    return fail("causal with ", op.queries(), " queries and ", op.keys(),
                " keys, wanted as many keys at least");
  if (!std::isfinite(op.scale()))
    return fail("'scale' is ", op.scale(), ", wanted a finite number");
  Checked queries = Checked(op.batch()) * op.queries() * op.heads();
  Checked keys = Checked(op.batch()) * op.keys() * op.kv_heads() * op.head_dim();
  DTC_RETURN_IF_ERROR(holds("q", op.q(), DType::f32, queries * op.head_dim()));
  DTC_RETURN_IF_ERROR(holds("k", op.k(), DType::f32, keys));
  DTC_RETURN_IF_ERROR(holds("v", op.v(), DType::f32, keys));
  DTC_RETURN_IF_ERROR(holds("out", op.out(), DType::f32, queries * op.head_dim()));
  DTC_RETURN_IF_ERROR(holds("lse", op.lse(), DType::f32, queries));
  return verifyDropout(op);
}

rt::Status InstructionVerifier::verifyOp(const AttentionGrad &op) const {
  const Attention &forward = *op.forward();
  DTC_RETURN_IF_ERROR(verifyOp(forward));
  Checked queries = Checked(forward.batch()) * forward.queries() * forward.heads();
  Checked keys =
      Checked(forward.batch()) * forward.keys() * forward.kv_heads() * forward.head_dim();
  DTC_RETURN_IF_ERROR(holds("dout", op.dout(), DType::f32, queries * forward.head_dim()));
  DTC_RETURN_IF_ERROR(holds("dq", op.dq(), DType::f32, queries * forward.head_dim()));
  DTC_RETURN_IF_ERROR(holds("dk", op.dk(), DType::f32, keys));
  DTC_RETURN_IF_ERROR(holds("dv", op.dv(), DType::f32, keys));
  return holds("scratch", op.scratch(), DType::f32, queries);
}

template <typename Op>
rt::Status InstructionVerifier::verifyLookup(const Op &op, const char *tableName, uint32_t table,
                                             const char *outName, uint32_t out) const {
  DTC_RETURN_IF_ERROR(sizeInRange("rows", op.rows()));
  DTC_RETURN_IF_ERROR(sizeInRange("columns", op.columns()));
  DTC_RETURN_IF_ERROR(sizeInRange("tokens", op.tokens()));
  DTC_RETURN_IF_ERROR(holds(tableName, table, DType::f32, Checked(op.rows()) * op.columns()));
  DTC_RETURN_IF_ERROR(holds("ids", op.ids(), DType::i32, op.tokens()));
  DTC_RETURN_IF_ERROR(holds(outName, out, DType::f32, Checked(op.tokens()) * op.columns()));
  Bounds unused;
  return bounds("first_row", op.first_row(), unused);
}

// No element of dst is written twice: each stride steps over all that the smaller ones reach.
rt::Status InstructionVerifier::verifyDistinct(const StridedCopy &op) const {
  std::vector<std::pair<uint64_t, uint64_t>> dims; // stride, size
  for (uint32_t i = 0; i < sizeOf(op.sizes()); ++i) {
    int64_t stride = op.dst_strides()->Get(i);
    uint64_t magnitude = stride < 0 ? 0 - static_cast<uint64_t>(stride) : stride;
    if (op.sizes()->Get(i) > 1)
      dims.push_back({magnitude, op.sizes()->Get(i)});
  }
  std::sort(dims.begin(), dims.end());
  Checked reach = 0;
  for (auto [stride, size] : dims) {
    if (!reach.ok() || stride <= reach.value())
      return fail("'dst_strides' write some element of 'dst' more than once");
    reach = reach + Checked(size - 1) * stride;
  }
  return {};
}

rt::Status InstructionVerifier::verifySide(const StridedCopy &op, const char *name, uint32_t buffer,
                                           const flatbuffers::Vector<int64_t> *strides,
                                           const RankScalar *offset, Span &span) const {
  DTC_RETURN_IF_ERROR(holds(name, buffer, op.dtype(), 0));
  if (sizeOf(strides) != sizeOf(op.sizes()))
    return fail("'", name, "' has ", sizeOf(strides), " strides for ", sizeOf(op.sizes()),
                " sizes");
  Bounds box;
  DTC_RETURN_IF_ERROR(bounds(name, offset, box));
  for (uint32_t i = 0; i < sizeOf(strides); ++i) {
    int64_t reach = 0;
    if (!checkedMul(strides->Get(i), static_cast<int64_t>(op.sizes()->Get(i) - 1), reach) ||
        !checkedAdd(reach < 0 ? box.low : box.high, reach, reach < 0 ? box.low : box.high))
      return fail("the box of '", name, "' does not fit in 64 bits");
  }
  uint64_t elements = context.buffer(buffer).bytes() / bytesOf(op.dtype());
  if (box.low < 0 || static_cast<uint64_t>(box.high) >= elements)
    return fail("'", name, "' is elements ", box.low, " to ", box.high, " of ",
                context.bufferName(buffer), ", which has ", elements);
  uint64_t start = context.buffer(buffer).offset();
  span = {start + static_cast<uint64_t>(box.low) * bytesOf(op.dtype()),
          start + (static_cast<uint64_t>(box.high) + 1) * bytesOf(op.dtype())};
  return {};
}

rt::Status InstructionVerifier::verifyOp(const StridedCopy &op) const {
  if (op.dtype() > DType::MAX)
    return fail("'dtype' is ", static_cast<int>(op.dtype()), ", wanted at most ",
                static_cast<int>(DType::MAX));
  if (!isAligned(op.sizes()) || !isAligned(op.src_strides()) || !isAligned(op.dst_strides()))
    return fail("its sizes or strides are not aligned to 8 bytes");
  if (sizeOf(op.sizes()) > maxDims)
    return fail("it has ", sizeOf(op.sizes()), " dims, wanted at most ", maxDims);
  for (uint32_t i = 0; i < sizeOf(op.sizes()); ++i)
    DTC_RETURN_IF_ERROR(sizeInRange("sizes", op.sizes()->Get(i)));
  Span src, dst;
  DTC_RETURN_IF_ERROR(verifySide(op, "src", op.src(), op.src_strides(), op.src_offset(), src));
  DTC_RETURN_IF_ERROR(verifySide(op, "dst", op.dst(), op.dst_strides(), op.dst_offset(), dst));
  DTC_RETURN_IF_ERROR(verifyDistinct(op));
  if (op.accumulate() && op.dtype() != DType::f32)
    return fail("it accumulates ", EnumNameDType(op.dtype()), ", wanted f32");
  if (overlap(src, dst))
    return fail("'src' and 'dst' share memory: bytes ", src.begin, " to ", src.end, " and ",
                dst.begin, " to ", dst.end, " of the arena");
  return {};
}

rt::Status InstructionVerifier::verifyOp(const Collective &op) const {
  if (op.kind() > CollectiveKind::MAX || op.reduce() > ReduceKind::MAX || op.dtype() > DType::MAX ||
      op.role() > CollectiveRole::MAX)
    return fail("kind is ", static_cast<int>(op.kind()), ", reduce ", static_cast<int>(op.reduce()),
                ", dtype ", static_cast<int>(op.dtype()), ", role ", static_cast<int>(op.role()),
                ", of which one is not known");
  uint64_t ranks = 1;
  for (uint32_t i = 0; i < sizeOf(op.axes()); ++i) {
    uint32_t axis = op.axes()->Get(i);
    if (axis >= context.ranges.size())
      return fail("it is over mesh axis ", axis, ", the mesh has ", context.ranges.size());
    if (i > 0 && axis <= op.axes()->Get(i - 1))
      return fail("its mesh axes are ", op.axes()->Get(i - 1), ", ", axis, ", wanted ascending");
    ranks *= context.manifest.mesh()->Get(axis)->size();
  }
  DTC_RETURN_IF_ERROR(sizeInRange("count", op.count()));
  bool gathers = op.kind() == CollectiveKind::all_gather;
  bool scatters = op.kind() == CollectiveKind::reduce_scatter;
  bool exchanges = op.kind() == CollectiveKind::all_to_all;
  Checked src = Checked(op.count()) * (scatters || exchanges ? ranks : 1);
  Checked dst = Checked(op.count()) * (gathers || exchanges ? ranks : 1);
  DTC_RETURN_IF_ERROR(holds("src", op.src(), op.dtype(), src));
  DTC_RETURN_IF_ERROR(holds("dst", op.dst(), op.dtype(), dst));
  Span from = spanOf(op.src(), src * bytesOf(op.dtype()));
  Span to = spanOf(op.dst(), dst * bytesOf(op.dtype()));
  bool inPlace = op.kind() == CollectiveKind::all_reduce && from.begin == to.begin;
  if (overlap(from, to) && !inPlace)
    return fail("'src' and 'dst' share memory: bytes ", from.begin, " to ", from.end, " and ",
                to.begin, " to ", to.end, " of the arena");
  return {};
}

rt::Status InstructionVerifier::verifyEvent(uint32_t event) const {
  if (event >= context.program.num_events())
    return fail("the event is ", event, ", there are ", context.program.num_events());
  return {};
}

rt::Status InstructionVerifier::verify() const {
  // First, as every message about it repeats the name.
  if (const Collective *op = instruction.op_as_Collective())
    DTC_RETURN_IF_ERROR(context.checkName("the name of a collective", op->name()));
  if (instruction.stream() >= context.program.num_streams())
    return fail("the stream is ", static_cast<int>(instruction.stream()), ", there are ",
                context.program.num_streams());
  if (instruction.location() >= std::max(1u, sizeOf(context.manifest.locations())))
    return fail("the location is ", instruction.location(), ", there are ",
                sizeOf(context.manifest.locations()));
  switch (instruction.op_type()) {
  case Op::Launch:
    return verifyOp(*instruction.op_as_Launch());
  case Op::Gemm:
    return verifyOp(*instruction.op_as_Gemm());
  case Op::Attention:
    return verifyOp(*instruction.op_as_Attention());
  case Op::AttentionGrad:
    return verifyOp(*instruction.op_as_AttentionGrad());
  case Op::Embedding: {
    const Embedding &op = *instruction.op_as_Embedding();
    return verifyLookup(op, "table", op.table_(), "out", op.out());
  }
  case Op::EmbeddingGrad: {
    const EmbeddingGrad &op = *instruction.op_as_EmbeddingGrad();
    return verifyLookup(op, "grad", op.grad(), "dout", op.dout());
  }
  case Op::StridedCopy:
    return verifyOp(*instruction.op_as_StridedCopy());
  case Op::Zero:
    return bufferExists("dst", instruction.op_as_Zero()->dst());
  case Op::Collective:
    return verifyOp(*instruction.op_as_Collective());
  case Op::Record:
    return verifyEvent(instruction.op_as_Record()->event());
  case Op::Wait:
    return verifyEvent(instruction.op_as_Wait()->event());
  case Op::NONE:
    break;
  }
  return fail("the op has type ", static_cast<int>(instruction.op_type()), ", wanted 1 to ",
              static_cast<int>(Op::MAX));
}

} // namespace

rt::Status verifyInstruction(const ProgramContext &context, uint32_t index) {
  return InstructionVerifier(context, index).verify();
}

} // namespace dtc::format
