// Checks each instruction by itself: its indices, and that it stays inside its buffers on every
// rank that runs it.
#include "runtime/format/VerifyInstructions.h"

#include "runtime/format/Description.h"
#include "runtime/format/InstructionText.h"
#include "runtime/format/Instructions.h"
#include "runtime/format/Limits.h"
#include "runtime/format/Target.h"
#include "runtime/format/VerifyContext.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dtc::format {
namespace {

// The bytes [begin, end), from addressOf on, that an operand may touch in slot, micro-batch and
// layer 0, and the strides by which they move.
struct Span {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t slotStride = 0, microBatchStride = 0;
  uint32_t slots = 1;
  uint64_t reach = 0; // the most that slot and micro-batch add
  int64_t layerStride = 0;

  bool movesAs(const Span &other) const {
    return slotStride == other.slotStride && (slotStride == 0 || slots == other.slots) &&
           microBatchStride == other.microBatchStride;
  }
  // Returns the span in another layer, which is in the arena.
  Span inLayer(uint32_t layer) const {
    Span moved = *this;
    uint64_t by = static_cast<uint64_t>(layerStride) * layer; // modulo 2^64, as is the sum
    moved.begin += by;
    moved.end += by;
    return moved;
  }
};

// Returns true if two spans share a byte in some run, in layer 0. Spans that move the same way keep
// their distance.
bool overlapInFirst(const Span &a, const Span &b) {
  if (a.movesAs(b))
    return a.begin < b.end && b.begin < a.end;
  return a.begin < b.end + b.reach && b.begin < a.end + a.reach;
}

// The smallest and largest value of a rank scalar.
struct Bounds {
  int64_t low = 0;
  int64_t high = 0;
};

class InstructionVerifier {
public:
  InstructionVerifier(const ProgramContext &context, const Task &task, uint32_t index,
                      uint32_t layers)
      : context(context), task(task), instruction(*task.instructions()->Get(index)), index(index),
        layers(layers) {}

  rt::Status verify();

private:
  template <typename... Pieces> rt::Status fail(const Pieces &...pieces) const {
    return context.failHere("task '", task.name()->string_view(), "', instruction ", index, ", ",
                            describe(context.manifest, instruction), ": ", pieces...);
  }

  // Checks that the buffer exists and is in the arena in every layer.
  rt::Status bufferExists(const char *operand, uint32_t buffer) const;
  // Checks that the buffer exists and has at least `elements` elements of `type`.
  rt::Status holds(const char *operand, uint32_t buffer, DType type, Checked elements) const;
  rt::Status sizeInRange(const char *name, uint64_t size) const;
  rt::Status bounds(const Description::Scalar &scalar, Bounds &bounds) const;
  // Returns the span of bytes [begin, end) of a buffer.
  Span spanOf(uint32_t index, uint64_t begin, uint64_t end) const {
    const Buffer &buffer = context.buffer(index);
    return {addressOf(buffer) + begin,   addressOf(buffer) + end, buffer.slot_stride(),
            buffer.micro_batch_stride(), buffer.slots(),          context.reachOf(buffer).value(),
            buffer.layer_stride()};
  }
  Span spanOf(uint32_t buffer, Checked bytes) const { return spanOf(buffer, 0, bytes.value()); }

  // Returns true if two spans share a byte in some run and layer.
  bool overlap(const Span &a, const Span &b) const {
    uint32_t differing = a.layerStride == b.layerStride ? 1 : layers;
    for (uint32_t layer = 0; layer < differing; ++layer)
      if (overlapInFirst(a.inLayer(layer), b.inLayer(layer)))
        return true;
    return false;
  }

  rt::Status verifyDescription();
  rt::Status verifyMemory() const;
  rt::Status verifySharing() const;
  // Rules that a description cannot state, as they depend on kernels, boxes or the mesh.
  rt::Status verifyOp(const Launch &op) const;
  rt::Status verifyOp(const Gemm &op) const;
  rt::Status verifyOp(const StridedCopy &op) const;
  rt::Status verifyDistinct(const StridedCopy &op) const;
  rt::Status verifySide(const StridedCopy &op, const char *name, uint32_t buffer,
                        const flatbuffers::Vector<int64_t> *strides, const RankScalar *offset,
                        Span &span) const;
  rt::Status verifyGroup(uint32_t group) const;
  rt::Status verifyOp(const Collective &op) const;
  rt::Status verifyOp(const Transfer &op) const;
  rt::Status verifyEvent(uint32_t event, int32_t layerStride, uint32_t slots) const;

  const ProgramContext &context;
  const Task &task;
  const Instruction &instruction;
  uint32_t index;
  uint32_t layers; // layers in which the instruction runs
  Description description;
};

rt::Status InstructionVerifier::bufferExists(const char *operand, uint32_t buffer) const {
  if (buffer >= context.numBuffers())
    return fail("'", operand, "' is buffer ", buffer, ", there are ", context.numBuffers());
  const Buffer &found = context.buffer(buffer);
  auto offset = static_cast<int64_t>(found.offset());
  auto end = static_cast<int64_t>(
      (Checked(found.offset()) + context.reachOf(found) + found.bytes()).value());
  int64_t moved = 0;
  if (!checkedMul<int64_t>(found.layer_stride(), layers - 1, moved) ||
      !checkedAdd(offset, moved, offset) || !checkedAdd(end, moved, end) || offset < 0 ||
      static_cast<uint64_t>(end) > context.arenaOf(found))
    return fail("'", operand, "' is ", context.bufferName(buffer), ", which moves on by ",
                found.layer_stride(), " bytes in each of ", layers, " layers, out of the arena of ",
                context.arenaOf(found));
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

rt::Status InstructionVerifier::bounds(const Description::Scalar &described, Bounds &bounds) const {
  auto [name, scalar, least, most] = described;
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
  if (scalar) {
    auto last = static_cast<int64_t>(context.manifest.num_micro_batches() - 1);
    int64_t moved = 0;
    if (!checkedMul<int64_t>(scalar->micro_batch_stride(), last, moved) ||
        !checkedAdd(bounds.low, std::min<int64_t>(moved, 0), bounds.low) ||
        !checkedAdd(bounds.high, std::max<int64_t>(moved, 0), bounds.high))
      return fail("'", name, "' does not fit in 64 bits in some micro-batch");
    if (!checkedMul<int64_t>(scalar->layer_stride(), layers - 1, moved) ||
        !checkedAdd(bounds.low, std::min<int64_t>(moved, 0), bounds.low) ||
        !checkedAdd(bounds.high, std::max<int64_t>(moved, 0), bounds.high))
      return fail("'", name, "' does not fit in 64 bits in some layer");
  }
  if (bounds.low < least || bounds.high > most)
    return fail("'", name, "' is ", bounds.low, " to ", bounds.high, " over the ranks, wanted ",
                least, " to ", most);
  return {};
}

rt::Status InstructionVerifier::verifyDescription() {
  describe(instruction, description);
  if (!description.broken.empty())
    return fail(description.broken);
  for (const Operand &operand : description.operands) {
    if (operand.access == Access::None)
      continue;
    DTC_RETURN_IF_ERROR(operand.dtype
                            ? holds(operand.name, operand.buffer, *operand.dtype, operand.elements)
                            : bufferExists(operand.name, operand.buffer));
  }
  Bounds unused;
  for (const Description::Scalar &scalar : description.scalars)
    DTC_RETURN_IF_ERROR(bounds(scalar, unused));
  DTC_RETURN_IF_ERROR(verifyMemory());
  return verifySharing();
}

// Checks memory spaces: launches and zeros work in one space, copies may cross, all else is on the
// device.
rt::Status InstructionVerifier::verifyMemory() const {
  const StridedCopy *copy = instruction.op_as_StridedCopy();
  bool works = copy || instruction.op_as_Launch() || instruction.op_as_Zero();
  const Operand *first = nullptr;
  for (const Operand &operand : description.operands) {
    if (operand.access == Access::None)
      continue;
    first = first ? first : &operand;
    MemorySpace space = context.buffer(operand.buffer).space();
    if (space == MemorySpace::host && !works)
      return fail("'", operand.name, "' is ", context.bufferName(operand.buffer),
                  " of the host's memory, wanted one of the device's");
    if (space != context.buffer(first->buffer).space() && (!copy || copy->accumulate()))
      return fail("'", first->name, "' is ", context.bufferName(first->buffer), " and '",
                  operand.name, "' is ", context.bufferName(operand.buffer),
                  " of another memory, wanted both in one");
  }
  return {};
}

// Returns true if rows of two operands alternate, as parts of one tensor do, in every run and
// layer.
bool interleave(const Operand &a, const Span &inA, const Operand &b, const Span &inB) {
  if (!a.hasGaps() || a.rowStride != b.rowStride || a.dtype != b.dtype || !inA.movesAs(inB) ||
      inA.layerStride != inB.layerStride)
    return false;
  if (inB.begin < inA.begin)
    return interleave(b, inB, a, inA);
  uint64_t element = bytesOf(*a.dtype), distance = inB.begin - inA.begin;
  return distance >= a.rowElements * element &&
         distance + b.rowElements * element <= a.rowStride * element;
}

// Checks that a written buffer shares no memory with the others.
rt::Status InstructionVerifier::verifySharing() const {
  auto span = [&](const Operand &operand) {
    return operand.dtype ? spanOf(operand.buffer, operand.elements * bytesOf(*operand.dtype))
                         : Span();
  };
  for (const Operand &written : description.operands)
    for (const Operand &operand : description.operands) {
      if (written.access != Access::Write || &operand == &written)
        continue;
      Span a = span(written), b = span(operand);
      if (overlap(a, b) && !interleave(written, a, operand, b))
        return fail("'", operand.name, "' and '", written.name, "' share memory: bytes ",
                    b.begin % hostMemory, " to ", b.end % hostMemory, " and ", a.begin % hostMemory,
                    " to ", a.end % hostMemory, " of the arena");
    }
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
    if (context.buffer(buffer).bytes() < kernel.min_bytes()->Get(i))
      return fail("operand ", i, " is ", context.bufferName(buffer), " of ",
                  context.buffer(buffer).bytes(), " bytes, wanted at least ",
                  kernel.min_bytes()->Get(i));
  }
  // All buffers are in one memory space, as checked before.
  bool onHost =
      sizeOf(op.buffers()) > 0 && context.buffer(op.buffers()->Get(0)).space() == MemorySpace::host;
  SegmentKind wanted = onHost ? SegmentKind::code : kernelSegments(deviceOf(context.manifest));
  SegmentKind kind = context.manifest.segments()->Get(kernel.code_segment())->kind();
  if (kind != wanted)
    return fail("the kernel is in a segment of kind ", EnumNameSegmentKind(kind),
                ", and its buffers in the memory of the ", onHost ? "host" : "device", ", wanted ",
                EnumNameSegmentKind(wanted));
  if (sizeOf(op.shares()) != 0 && sizeOf(op.shares()) != kernel.num_results())
    return fail("'shares' has ", sizeOf(op.shares()), " entries, the kernel has ",
                kernel.num_results(), " results");
  for (uint32_t i = 0; i < sizeOf(op.shares()); ++i)
    if (op.shares()->Get(i) >> sizeOf(context.manifest.mesh()))
      return fail("'shares' names an axis that the mesh does not have");
  if (op.range() == 0 || op.range() > kernel.range())
    return fail("the range is ", op.range(), ", wanted 1 to ", kernel.range(),
                ", the range of the kernel");
  return {};
}

rt::Status InstructionVerifier::verifyOp(const Gemm &op) const {
  if (hasEpilogue(op) && !isForGpu(context.manifest))
    return fail("it does more than multiply ('epilogue' is ", EnumNameEpilogue(op.epilogue()),
                op.addend() == noBuffer ? "" : ", with an addend",
                "), which the device of the file, ", deviceOf(context.manifest), ", does not");
  return {};
}

// Checks that no element of dst is written twice: each stride steps over all that the smaller ones
// reach.
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
  DTC_RETURN_IF_ERROR(bounds({name, offset, -maxScalar, maxScalar}, box));
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
  span = spanOf(buffer, static_cast<uint64_t>(box.low) * bytesOf(op.dtype()),
                (static_cast<uint64_t>(box.high) + 1) * bytesOf(op.dtype()));
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
    return fail("'src' and 'dst' share memory: bytes ", src.begin % hostMemory, " to ",
                src.end % hostMemory, " and ", dst.begin % hostMemory, " to ", dst.end % hostMemory,
                " of the arena");
  return {};
}

rt::Status InstructionVerifier::verifyGroup(uint32_t group) const {
  if (group >= context.inGroup.size())
    return fail("the group is ", group, ", there are ", context.inGroup.size());
  if (!context.inGroup[group])
    return fail("not all ranks of the program are in the group");
  return {};
}

rt::Status InstructionVerifier::verifyOp(const Transfer &op) const {
  if (op.kind() > TransferKind::MAX || op.role() > CollectiveRole::MAX)
    return fail("kind is ", static_cast<int>(op.kind()), ", role ", static_cast<int>(op.role()),
                "; at least one of these is unknown to this version");
  DTC_RETURN_IF_ERROR(verifyGroup(op.group()));
  uint32_t ranks = context.manifest.groups()->Get(op.group())->size();
  if (op.shift() == 0 || op.shift() >= ranks)
    return fail("its peer is ", op.shift(), " places further in a list of ", ranks,
                ", wanted another rank of the list");
  return {};
}

rt::Status InstructionVerifier::verifyOp(const Collective &op) const {
  if (op.kind() > CollectiveKind::MAX || op.reduce() > ReduceKind::MAX || op.dtype() > DType::MAX ||
      op.role() > CollectiveRole::MAX)
    return fail("kind is ", static_cast<int>(op.kind()), ", reduce ", static_cast<int>(op.reduce()),
                ", dtype ", static_cast<int>(op.dtype()), ", role ", static_cast<int>(op.role()),
                "; at least one of these is unknown to this version");
  DTC_RETURN_IF_ERROR(verifyGroup(op.group()));
  uint64_t ranks = context.manifest.groups()->Get(op.group())->size();
  bool gathers = op.kind() == CollectiveKind::all_gather;
  bool scatters = op.kind() == CollectiveKind::reduce_scatter;
  bool exchanges = op.kind() == CollectiveKind::all_to_all;
  Checked src = Checked(op.count()) * (scatters || exchanges ? ranks : 1);
  Checked dst = Checked(op.count()) * (gathers || exchanges ? ranks : 1);
  DTC_RETURN_IF_ERROR(holds("src", op.src(), op.dtype(), src));
  DTC_RETURN_IF_ERROR(holds("dst", op.dst(), op.dtype(), dst));
  Span from = spanOf(op.src(), src * bytesOf(op.dtype()));
  Span to = spanOf(op.dst(), dst * bytesOf(op.dtype()));
  bool inPlace = op.kind() == CollectiveKind::all_reduce && from.begin == to.begin &&
                 from.movesAs(to) && from.layerStride == to.layerStride;
  if (overlap(from, to) && !inPlace)
    return fail("'src' and 'dst' share memory: bytes ", from.begin, " to ", from.end, " and ",
                to.begin, " to ", to.end, " of the arena");
  return {};
}

rt::Status InstructionVerifier::verifyEvent(uint32_t event, int32_t layerStride,
                                            uint32_t slots) const {
  if (slots == 0 || slots > maxSlots)
    return fail("the event has ", slots, " slots, wanted 1 to ", maxSlots);
  int64_t first = event, last = event + static_cast<int64_t>(layerStride) * (layers - 1);
  for (int64_t each : {first, last, std::max(first, last) + slots - 1})
    if (each < 0 || each >= context.program.num_events())
      return fail("the event is ", each, ", there are ", context.program.num_events());
  return {};
}

rt::Status InstructionVerifier::verify() {
  // Checks the name first, as every message about the instruction repeats it.
  if (std::optional<Communication> communication = communicationOf(instruction))
    DTC_RETURN_IF_ERROR(context.checkName(
        text("the name of a ", opName(instruction.op_type())).c_str(), communication->name));
  if (instruction.stream() >= context.program.num_streams())
    return fail("the stream is ", static_cast<int>(instruction.stream()), ", there are ",
                context.program.num_streams());
  if (instruction.location() >= std::max(1u, sizeOf(context.manifest.locations())))
    return fail("the location is ", instruction.location(), ", there are ",
                sizeOf(context.manifest.locations()));
  if (instruction.op_type() == Op::NONE || instruction.op_type() > Op::MAX)
    return fail("the op has type ", static_cast<int>(instruction.op_type()), ", wanted 1 to ",
                static_cast<int>(Op::MAX));
  if (instruction.runs() > Runs::MAX)
    return fail("it runs in ", static_cast<int>(instruction.runs()), ", wanted at most ",
                static_cast<int>(Runs::MAX));
  DTC_RETURN_IF_ERROR(verifyDescription());
  if (const auto *op = instruction.op_as_Launch())
    return verifyOp(*op);
  if (const auto *op = instruction.op_as_Gemm())
    return verifyOp(*op);
  if (const auto *op = instruction.op_as_StridedCopy())
    return verifyOp(*op);
  if (const auto *op = instruction.op_as_Collective())
    return verifyOp(*op);
  if (const auto *op = instruction.op_as_Transfer())
    return verifyOp(*op);
  if (const auto *op = instruction.op_as_Record())
    return verifyEvent(op->event(), op->layer_stride(), op->slots());
  if (const auto *op = instruction.op_as_Wait())
    return verifyEvent(op->event(), op->layer_stride(), op->slots());
  return {};
}

} // namespace

rt::Status verifyInstruction(const ProgramContext &context, const Task &task, uint32_t index,
                             uint32_t layers) {
  return InstructionVerifier(context, task, index, layers).verify();
}

} // namespace dtc::format
