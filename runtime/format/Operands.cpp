#include "runtime/format/Operands.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <numeric>

namespace dtc::format {
namespace {

void attentionOperands(const Attention &op, std::vector<Operand> &operands) {
  bool dropout = op.dropout() > 0;
  operands.insert(operands.end(), {{"q", op.q()},
                                   {"k", op.k()},
                                   {"v", op.v()},
                                   {"out", op.out()},
                                   {"lse", op.lse()},
                                   {"seed", dropout ? op.seed() : noBuffer},
                                   {"step", dropout ? op.step() : noBuffer}});
}

} // namespace

void operandsOf(const Instruction &instruction, std::vector<Operand> &operands) {
  operands.clear();
  if (const Launch *op = instruction.op_as_Launch()) {
    for (uint32_t i = 0; i < sizeOf(op->buffers()); ++i)
      operands.push_back({"buffers", op->buffers()->Get(i)});
  } else if (const Gemm *op = instruction.op_as_Gemm()) {
    operands = {{"a", op->a()}, {"b", op->b()}, {"c", op->c()}};
  } else if (const Attention *op = instruction.op_as_Attention()) {
    attentionOperands(*op, operands);
  } else if (const AttentionGrad *op = instruction.op_as_AttentionGrad()) {
    attentionOperands(*op->forward(), operands);
    operands.insert(operands.end(), {{"dout", op->dout()},
                                     {"dq", op->dq()},
                                     {"dk", op->dk()},
                                     {"dv", op->dv()},
                                     {"scratch", op->scratch()}});
  } else if (const Embedding *op = instruction.op_as_Embedding()) {
    operands = {{"table", op->table_()}, {"ids", op->ids()}, {"out", op->out()}};
  } else if (const EmbeddingGrad *op = instruction.op_as_EmbeddingGrad()) {
    operands = {{"grad", op->grad()}, {"ids", op->ids()}, {"dout", op->dout()}};
  } else if (const StridedCopy *op = instruction.op_as_StridedCopy()) {
    operands = {{"src", op->src()}, {"dst", op->dst()}};
  } else if (const Zero *op = instruction.op_as_Zero()) {
    operands = {{"dst", op->dst()}};
  } else if (const Collective *op = instruction.op_as_Collective()) {
    operands = {{"src", op->src()}, {"dst", op->dst()}};
  }
}

void rankScalarsOf(const Instruction &instruction, std::vector<const RankScalar *> &scalars) {
  scalars.clear();
  if (const Launch *op = instruction.op_as_Launch()) {
    for (uint32_t i = 0; i < sizeOf(op->scalars()); ++i)
      scalars.push_back(op->scalars()->Get(i));
  } else if (const Attention *op = instruction.op_as_Attention()) {
    scalars = {op->first_batch(), op->first_head()};
  } else if (const AttentionGrad *op = instruction.op_as_AttentionGrad()) {
    scalars = {op->forward()->first_batch(), op->forward()->first_head()};
  } else if (const Embedding *op = instruction.op_as_Embedding()) {
    scalars = {op->first_row()};
  } else if (const EmbeddingGrad *op = instruction.op_as_EmbeddingGrad()) {
    scalars = {op->first_row()};
  } else if (const StridedCopy *op = instruction.op_as_StridedCopy()) {
    scalars = {op->src_offset(), op->dst_offset()};
  }
}

const char *opName(Op op) {
  switch (op) {
  case Op::Launch:
    return "launch";
  case Op::Gemm:
    return "gemm";
  case Op::Attention:
    return "attention";
  case Op::AttentionGrad:
    return "attention_grad";
  case Op::Embedding:
    return "embedding";
  case Op::EmbeddingGrad:
    return "embedding_grad";
  case Op::StridedCopy:
    return "strided_copy";
  case Op::Zero:
    return "zero";
  case Op::Collective:
    return "collective";
  case Op::Record:
    return "record";
  case Op::Wait:
    return "wait";
  case Op::NONE:
    break;
  }
  return "unknown op";
}

// Axes "tp.kv" and "tp.group" are parts of one.
static std::string_view wholeName(std::string_view name) {
  return name.substr(0, std::min(name.find('.'), name.size()));
}

std::string groupOf(const Manifest &manifest, const Collective &collective) {
  auto nameOf = [&](uint32_t axis) {
    return axis < manifest.mesh()->size() ? manifest.mesh()->Get(axis)->name()->string_view()
                                          : "an axis that is not there";
  };
  auto countOf = [&](auto axes, std::string_view whole) {
    uint32_t count = 0;
    for (uint32_t axis : axes)
      count += wholeName(nameOf(axis)) == whole;
    return count;
  };
  std::vector<uint32_t> all(manifest.mesh()->size()), group;
  std::iota(all.begin(), all.end(), 0);
  for (uint32_t i = 0; i < sizeOf(collective.axes()); ++i)
    group.push_back(collective.axes()->Get(i));
  std::string out, last;
  for (uint32_t axis : group) {
    std::string name(nameOf(axis)), whole(wholeName(name));
    if (countOf(group, whole) == countOf(all, whole))
      name = whole;
    if (name != last)
      out = text(out, out.empty() ? "" : " x ", name);
    last = name;
  }
  return out.empty() ? "one rank" : out;
}

// A file that is being checked may hold any number for kind, role and axes.
static std::string describe(const Manifest &manifest, const Collective &collective) {
  constexpr const char *moved[] = {"gradients",         "parameters",        "activations",
                                   "tokens of experts", "tensors of stages", "control values"};
  constexpr size_t numRoles = sizeof(moved) / sizeof(*moved);
  static_assert(numRoles == static_cast<size_t>(CollectiveRole::MAX) + 1);
  auto role = static_cast<size_t>(collective.role());
  std::string out = text(
      collective.kind() <= CollectiveKind::MAX ? EnumNameCollectiveKind(collective.kind())
                                               : "collective",
      " of ", role < numRoles ? moved[role] : "something", " over ", groupOf(manifest, collective));
  return collective.name() ? text(out, " '", collective.name()->string_view(), "'") : out;
}

std::string describe(const Manifest &manifest, const Instruction &instruction) {
  const Collective *collective = instruction.op_as_Collective();
  std::string out = collective ? describe(manifest, *collective) : opName(instruction.op_type());
  if (const Launch *launch = instruction.op_as_Launch())
    if (launch->kernel() < sizeOf(manifest.kernels()))
      out = text(out, " of '", manifest.kernels()->Get(launch->kernel())->symbol()->string_view(),
                 "'");
  if (instruction.location() >= sizeOf(manifest.locations()))
    return out;
  const Location *location = manifest.locations()->Get(instruction.location());
  if (location->file() && location->file()->size() > 0)
    out = text(out, " at ", location->file()->string_view(), ":", location->line(), ":",
               location->column());
  if (location->name() && location->name()->size() > 0)
    out = text(out, " (", location->name()->string_view(), ")");
  return out;
}

uint64_t bytesOf(DType type) {
  switch (type) {
  case DType::u8:
    return 1;
  case DType::bf16:
  case DType::f16:
    return 2;
  case DType::f32:
  case DType::i32:
    return 4;
  case DType::i64:
    return 8;
  }
  return 0;
}

} // namespace dtc::format
