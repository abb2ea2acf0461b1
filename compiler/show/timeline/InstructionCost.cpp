#include "compiler/show/timeline/InstructionCost.h"

#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/OpCost.h"
#include "compiler/price/estimate/HostOffload.h"
#include "runtime/format/Description.h"
#include "runtime/format/Instructions.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>

namespace dtc {
namespace {

ComputeType computeTypeOf(format::DType type) {
  switch (type) {
  case format::DType::bf16:
    return ComputeType::BF16;
  case format::DType::f16:
    return ComputeType::F16;
  case format::DType::f32:
  case format::DType::i32:
  case format::DType::i64:
  case format::DType::u8:
    return ComputeType::F32;
  }
  llvm_unreachable("the loader has checked it");
}

// Half of the scores of causal attention are never made, and with a window w of n keys the part
// (1 - w/n)^2 of the others is not either (a triangle in front of the windows). Backward makes them
// again and has four products of its own, where forward has two in all. A prefix of p keys adds a
// triangle of (p/n)^2. Lengths and documents hide keys that only the run knows.
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
  double hidden = 0;
  if (op.window() > 0 && op.window() < op.keys())
    hidden = 1 - static_cast<double>(op.window()) / static_cast<double>(op.keys());
  double shown = static_cast<double>(op.prefix()) / static_cast<double>(op.keys());
  double values = op.value_dim() == 0 ? 1 : static_cast<double>(op.value_dim()) / work.k;
  double products = backward ? 3 + 2 * values : 1 + values;
  work.flops = product * products / (op.causal() ? 2 : 1) * (1 - hidden * hidden + shown * shown);
  return work;
}

// A product for each group, each with the mean number of rows.
OpWork groupedWork(const format::GroupedGemm &op) {
  auto groups = static_cast<int64_t>(op.groups()), k = static_cast<int64_t>(op.k());
  auto rows = static_cast<int64_t>((op.rows() + op.groups() - 1) / op.groups());
  return productWork(op.sums_rows() ? k : rows, static_cast<int64_t>(op.n()),
                     op.sums_rows() ? rows : k, groups, computeTypeOf(op.dtype()));
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
      : manifest(manifest), topology(topology),
        launch(topology.device.deviceClass == DeviceClass::Gpu ? Launch::Replayed
                                                               : Launch::Single) {
    if (topology.isUniform())
      return;
    for (const DeviceGroup &group : topology.groups)
      systems.push_back(topology.slice(group.firstDevice, group.numDevices));
    for (uint32_t rank = 0; rank < manifest.rank_program()->size(); ++rank)
      spans[manifest.rank_program()->Get(rank)].add(rank);
  }

  InstructionTime of(uint32_t rank, const format::Instruction &instruction) {
    if (const format::Collective *op = instruction.op_as_Collective())
      return ofCollective(rank, *op);
    if (const format::Transfer *op = instruction.op_as_Transfer())
      return ofTransfer(rank, *op);
    if (instruction.op_as_Record() || instruction.op_as_Wait())
      return {};
    const format::Program &program = *manifest.programs()->Get(manifest.rank_program()->Get(rank));
    // A rank stands for all of its program, the slowest of which the others wait for.
    const DeviceKind &device = systemOf(spanOf(manifest.rank_program()->Get(rank))).device;
    if (std::optional<double> seconds = hostSeconds(program, instruction, device))
      return {*seconds, 0, 0};
    OpWork work = workOf(instruction);
    if (work.kind == WorkKind::Memory || work.bytes == 0)
      work.bytes = bytesOf(program, instruction);
    return {secondsOf(work, device, launch) + epilogueSeconds(program, instruction, device), 0, 0};
  }

private:
  struct Span {
    int64_t first = std::numeric_limits<int64_t>::max(), last = -1;
    void add(int64_t rank) {
      first = std::min(first, rank);
      last = std::max(last, rank);
    }
  };
  Span spanOf(uint32_t program) const {
    auto found = spans.find(program);
    return found == spans.end() ? Span() : found->second;
  }
  // Returns the system that the ranks of a span are on: its device group, or the whole topology,
  // which has the weakest values of all, if it spans several.
  const Topology &systemOf(Span span) const {
    for (size_t i = 0; i < systems.size(); ++i) {
      const DeviceGroup &group = topology.groups[i];
      if (span.first >= group.firstDevice && span.last < group.firstDevice + group.numDevices)
        return systems[i];
    }
    return topology;
  }

  // The list of a group that a rank is in, and its position there.
  struct Membership {
    llvm::ArrayRef<uint32_t> list;
    uint32_t index = 0;
  };
  Membership membershipIn(uint32_t group, uint32_t rank) {
    auto [entry, isNew] = memberships.try_emplace({group, rank});
    if (!isNew)
      return entry->second;
    const format::Group &of = *manifest.groups()->Get(group);
    llvm::ArrayRef<uint32_t> ranks(of.ranks()->data(), of.ranks()->size());
    auto at = static_cast<uint32_t>(llvm::find(ranks, rank) - ranks.begin());
    assert(at < ranks.size() && "who communicates over a group is in it");
    return entry->second = {ranks.slice(at / of.size() * of.size(), of.size()), at % of.size()};
  }

  // Returns the seconds of work on the host or of host copies; nullopt for other instructions and
  // on CPUs, which are their own host.
  std::optional<double> hostSeconds(const format::Program &program,
                                    const format::Instruction &instruction,
                                    const DeviceKind &device) const {
    HostShare host = device.hostShare();
    if (program.host_bytes() == 0 || device.deviceClass == DeviceClass::Cpu || !host.isKnown())
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
    if (const format::GroupedGemm *op = instruction.op_as_GroupedGemm())
      return groupedWork(*op);
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

  // Returns the seconds of an epilogue's reads and writes besides the matrices: tiles do these at
  // their ends, when no multiplication is left.
  static double epilogueSeconds(const format::Program &program,
                                const format::Instruction &instruction, const DeviceKind &device) {
    const format::Gemm *op = instruction.op_as_Gemm();
    if (!op || !format::hasEpilogue(*op))
      return 0;
    OpWork matrices = productWork(static_cast<int64_t>(op->m()), static_cast<int64_t>(op->n()),
                                  static_cast<int64_t>(op->k()), 1, computeTypeOf(op->dtype()));
    OpWork more;
    more.bytes = std::max(bytesOf(program, instruction) - matrices.bytes, 0.0);
    return explainOp(more, device).memorySeconds;
  }

  static double bytesOf(const format::Program &program, const format::Instruction &instruction) {
    format::Description description;
    format::describe(instruction, description);
    double bytes = 0;
    // An embedding reads the looked-up rows, not the table.
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

  // Converts members to spans of equal distances, innermost first.
  static RankGroup spansOf(llvm::ArrayRef<uint32_t> members) {
    auto list = llvm::to_vector(members);
    llvm::sort(list);
    RankGroup spans;
    auto ranks = static_cast<uint32_t>(list.size()), done = uint32_t(1);
    while (done < ranks) {
      int64_t first = list[0], stride = int64_t(list[done]) - first;
      uint32_t size = 1;
      while ((size + 1) * done <= ranks && int64_t(list[size * done]) - first == stride * size)
        ++size;
      spans.push_back({size, std::max<int64_t>(stride, 1)});
      done *= size;
      if (size == 1 || ranks % done != 0)
        return {{ranks, (int64_t(list.back()) - first) / (ranks - 1)}}; // no pattern
    }
    return spans;
  }

  static InstructionTime timeOf(CollectiveKind kind, double bytes, const RankGroup &group,
                                const Topology &system) {
    InstructionTime time;
    time.seconds = collectiveSeconds(kind, bytes, group, system);
    if (!system.isHomogeneous() || time.seconds == 0)
      return time;
    llvm::SmallVector<double> links = linkSeconds(kind, bytes, group, system);
    for (size_t level = 0; level < links.size(); ++level)
      if (links[level] > time.linkSeconds) {
        time.linkSeconds = std::min(links[level], time.seconds);
        time.level = static_cast<int>(level);
      }
    return time;
  }

  InstructionTime ofCollective(uint32_t rank, const format::Collective &op) {
    constexpr CollectiveKind kinds[] = {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                        CollectiveKind::ReduceScatter, CollectiveKind::AllToAll};
    llvm::ArrayRef<uint32_t> list = membershipIn(op.group(), rank).list;
    // Covers all lists that have ranks of the rank's program.
    Span span = spanOf(manifest.rank_program()->Get(rank));
    for (uint32_t member : list)
      span.add(member);
    double ranks =
        op.kind() == format::CollectiveKind::all_reduce ? 1 : static_cast<double>(list.size());
    return timeOf(kinds[static_cast<size_t>(op.kind())],
                  ranks * static_cast<double>(op.count() * format::bytesOf(op.dtype())),
                  spansOf(list), systemOf(span));
  }

  InstructionTime ofTransfer(uint32_t rank, const format::Transfer &op) {
    auto bytes = static_cast<double>(op.count() * format::bytesOf(op.dtype()));
    Membership membership = membershipIn(op.group(), rank);
    int64_t from = rank,
            to = membership.list[(membership.index + op.shift()) % membership.list.size()];
    Span span = spanOf(manifest.rank_program()->Get(rank));
    span.add(from);
    span.add(to);
    const Topology &system = systemOf(span);
    if (&system != &topology || topology.isUniform())
      return timeOf(CollectiveKind::SendRecv, bytes, {{2, std::abs(from - to)}}, system);
    // All ranks of the stage share the way to other device groups.
    auto [entry, isNew] = ways.try_emplace(&op);
    if (isNew)
      entry->second = wayOf(rank, op);
    const Path &path = entry->second;
    return {path.latency + bytes / path.bandwidth, 0, 0};
  }

  // To the ranks that those of the program of `rank` send to, or receive from; of one of them.
  Path wayOf(uint32_t rank, const format::Transfer &op) const {
    const format::Group &group = *manifest.groups()->Get(op.group());
    const auto &programs = *manifest.rank_program();
    std::vector<int64_t> from, to;
    for (uint32_t i = 0; i < group.ranks()->size(); ++i) {
      if (programs.Get(group.ranks()->Get(i)) != programs.Get(rank))
        continue;
      uint32_t first = i / group.size() * group.size();
      from.push_back(group.ranks()->Get(i));
      to.push_back(group.ranks()->Get(first + (i - first + op.shift()) % group.size()));
    }
    Path path = op.kind() == format::TransferKind::send ? pathBetween(from, to, topology)
                                                        : pathBetween(to, from, topology);
    path.bandwidth /= static_cast<double>(from.size());
    return path;
  }

  const format::Manifest &manifest;
  const Topology &topology;
  Launch launch;                  // dtrun records what a GPU does as graphs
  std::vector<Topology> systems;  // like topology.groups, on heterogeneous devices
  std::map<uint32_t, Span> spans; // per program, for heterogeneous devices
  std::map<std::pair<uint32_t, uint32_t>, Membership> memberships;
  std::map<const format::Transfer *, Path> ways;
};

} // namespace

InstructionCost costOn(const format::Manifest &manifest, const Topology &topology) {
  return [costs = std::make_shared<Costs>(manifest, topology)](
             uint32_t rank, const format::Instruction &instruction) {
    return costs->of(rank, instruction);
  };
}

} // namespace dtc
