#include "compiler/timeline/InstructionCost.h"

#include "compiler/estimate/HostOffload.h"
#include "runtime/format/Description.h"

#include <algorithm>

namespace dtc {
namespace {

ComputeType computeTypeOf(format::DType type) {
  switch (type) {
  case format::DType::bf16:
    return ComputeType::BF16;
  case format::DType::f16:
    return ComputeType::F16;
  default:
    return ComputeType::F32;
  }
}

// Half of the scores of causal attention are never made. Backward makes them again and has four products
// of its own, where forward has two in all.
OpWork attentionWork(const format::Attention &op, bool backward) {
  OpWork work;
  work.kind = WorkKind::Attention;
  work.m = static_cast<int64_t>(op.queries());
  work.n = static_cast<int64_t>(op.keys());
  work.k = static_cast<int64_t>(op.head_dim());
  work.batch = static_cast<int64_t>(op.batch() * op.heads());
  work.type = computeTypeOf(op.dtype());
  work.causal = op.causal();
  work.backward = backward;
  double product = 2.0 * static_cast<double>(work.batch) * static_cast<double>(work.m) *
                   static_cast<double>(work.n) * static_cast<double>(work.k);
  work.flops = product * (backward ? 5 : 2) / (op.causal() ? 2 : 1);
  return work;
}

OpWork convolutionWork(const format::Conv2dShape &s) {
  auto pixels = [](uint64_t size, uint64_t kernel, uint64_t stride, uint64_t padding,
                   uint64_t dilation) {
    return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  };
  uint64_t result =
      s.batch() *
      pixels(s.height(), s.kernel_height(), s.stride_height(), s.padding_height(),
             s.dilation_height()) *
      pixels(s.width(), s.kernel_width(), s.stride_width(), s.padding_width(), s.dilation_width());
  return productWork(
      static_cast<int64_t>(result), static_cast<int64_t>(s.filters() / s.groups()),
      static_cast<int64_t>(s.channels() / s.groups() * s.kernel_height() * s.kernel_width()),
      static_cast<int64_t>(s.groups()), ComputeType::F32);
}

class Costs {
public:
  Costs(const format::Manifest &manifest, const Topology &topology)
      : manifest(manifest), topology(topology) {}

  InstructionTime of(const format::Program &program, const format::Instruction &instruction) const {
    if (const format::Collective *op = instruction.op_as_Collective())
      return ofCollective(*op);
    if (const format::Transfer *op = instruction.op_as_Transfer())
      return ofTransfer(*op);
    if (instruction.op_as_Record() || instruction.op_as_Wait())
      return {};
    if (std::optional<double> seconds = hostSeconds(program, instruction))
      return {*seconds, 0, 0};
    OpWork work = workOf(instruction);
    if (work.kind == WorkKind::Memory || work.bytes == 0)
      work.bytes = bytesOf(program, instruction);
    return {secondsOf(work, topology.device), 0, 0};
  }

private:
  // Of what the host does behind a device, or what goes from one to the other; a CPU is its own host.
  std::optional<double> hostSeconds(const format::Program &program,
                                    const format::Instruction &instruction) const {
    HostShare host = topology.device.hostShare();
    if (program.host_bytes() == 0 || topology.device.deviceClass == DeviceClass::Cpu ||
        !host.isKnown())
      return std::nullopt;
    format::Description description;
    format::describe(instruction, description);
    size_t there = 0;
    for (const format::Operand &operand : description.operands)
      there += operand.access != format::Access::None &&
               program.buffers()->Get(operand.buffer)->space() == format::MemorySpace::host;
    if (there == 0)
      return std::nullopt;
    double bytes = bytesOf(program, instruction);
    return there == description.operands.size() ? hostWorkSeconds(bytes, host)
                                                : hostCopySeconds(bytes / 2, host);
  }

  static OpWork workOf(const format::Instruction &instruction) {
    if (const format::Gemm *op = instruction.op_as_Gemm())
      return productWork(static_cast<int64_t>(op->m()), static_cast<int64_t>(op->n()),
                         static_cast<int64_t>(op->k()), static_cast<int64_t>(op->batch()),
                         computeTypeOf(op->dtype()));
    if (const format::Attention *op = instruction.op_as_Attention())
      return attentionWork(*op, false);
    if (const format::AttentionGrad *op = instruction.op_as_AttentionGrad())
      return attentionWork(*op->forward(), true);
    if (const format::Conv2d *op = instruction.op_as_Conv2d())
      return convolutionWork(*op->shape());
    if (const format::Conv2dInputGrad *op = instruction.op_as_Conv2dInputGrad())
      return convolutionWork(*op->shape());
    if (const format::Conv2dWeightGrad *op = instruction.op_as_Conv2dWeightGrad())
      return convolutionWork(*op->shape());
    return {};
  }

  static double bytesOf(const format::Program &program, const format::Instruction &instruction) {
    format::Description description;
    format::describe(instruction, description);
    double bytes = 0;
    // Of an embedding the rows that are looked up, not the table.
    bool looksUp = instruction.op_as_Embedding() != nullptr;
    for (const format::Operand &operand : description.operands) {
      if (operand.access == format::Access::None || (looksUp && operand.name[0] == 't'))
        continue;
      bytes += static_cast<double>(
          operand.dtype ? (operand.elements * format::bytesOf(*operand.dtype)).value()
                        : program.buffers()->Get(operand.buffer)->bytes());
    }
    if (const format::StridedCopy *op = instruction.op_as_StridedCopy()) {
      bytes = (op->accumulate() ? 3.0 : 2.0) * static_cast<double>(format::bytesOf(op->dtype()));
      for (uint32_t i = 0; i < format::sizeOf(op->sizes()); ++i)
        bytes *= static_cast<double>(op->sizes()->Get(i));
    }
    return bytes;
  }

  // The first list, as spans of ranks at equal distances, innermost first.
  RankGroup spansOf(uint32_t index) const {
    const format::Group &group = *manifest.groups()->Get(index);
    RankGroup spans;
    uint32_t done = 1;
    while (done < group.size()) {
      int64_t first = group.ranks()->Get(0);
      int64_t stride = static_cast<int64_t>(group.ranks()->Get(done)) - first;
      uint32_t size = 1;
      while ((size + 1) * done <= group.size() &&
             static_cast<int64_t>(group.ranks()->Get(size * done)) - first == stride * size)
        ++size;
      spans.push_back({size, std::max<int64_t>(stride, 1)});
      done *= size;
      if (size == 1 || group.size() % done != 0)
        return {{group.size(), 1}}; // no pattern
    }
    llvm::sort(spans, [](const RankSpan &a, const RankSpan &b) { return a.stride < b.stride; });
    return spans;
  }

  InstructionTime timeOf(CollectiveKind kind, double bytes, const RankGroup &group) const {
    InstructionTime time;
    time.seconds = collectiveSeconds(kind, bytes, group, topology);
    if (!topology.isHomogeneous() || time.seconds == 0)
      return time;
    llvm::SmallVector<double> links = linkSeconds(kind, bytes, group, topology);
    for (size_t level = 0; level < links.size(); ++level)
      if (links[level] > time.linkSeconds) {
        time.linkSeconds = std::min(links[level], time.seconds);
        time.level = static_cast<int>(level);
      }
    return time;
  }

  InstructionTime ofCollective(const format::Collective &op) const {
    constexpr CollectiveKind kinds[] = {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                        CollectiveKind::ReduceScatter, CollectiveKind::AllToAll};
    double ranks = op.kind() == format::CollectiveKind::all_reduce
                       ? 1
                       : manifest.groups()->Get(op.group())->size();
    return timeOf(kinds[static_cast<size_t>(op.kind())],
                  ranks * static_cast<double>(op.count() * format::bytesOf(op.dtype())),
                  spansOf(op.group()));
  }

  InstructionTime ofTransfer(const format::Transfer &op) const {
    const auto &ranks = *manifest.groups()->Get(op.group())->ranks();
    int64_t distance =
        std::abs(static_cast<int64_t>(ranks.Get(op.shift())) - static_cast<int64_t>(ranks.Get(0)));
    return timeOf(CollectiveKind::SendRecv,
                  static_cast<double>(op.count() * format::bytesOf(op.dtype())), {{2, distance}});
  }

  const format::Manifest &manifest;
  const Topology &topology;
};

} // namespace

InstructionCost costOn(const format::Manifest &manifest, const Topology &topology) {
  return [costs = Costs(manifest, topology)](const format::Program &program,
                                             const format::Instruction &instruction) {
    return costs.of(program, instruction);
  };
}

} // namespace dtc
