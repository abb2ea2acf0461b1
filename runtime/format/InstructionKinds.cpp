// The table of instructions.
#include "runtime/format/InstructionKinds.h"

#include <array>
#include <string_view>

namespace dtc::format {
namespace {

using Operands = std::vector<Operand>;
using Scalars = std::vector<const RankScalar *>;

void addAttention(const Attention &op, Operands &list) {
  bool dropout = op.dropout() > 0;
  list.insert(list.end(), {{"q", op.q()},
                           {"k", op.k()},
                           {"v", op.v()},
                           {"out", op.out()},
                           {"lse", op.lse()},
                           {"seed", dropout ? op.seed() : noBuffer},
                           {"step", dropout ? op.step() : noBuffer}});
}

void addAttentionScalars(const Attention &op, Scalars &list) {
  list.insert(list.end(), {op.first_batch(), op.first_head()});
}

// Calls `add` with the table of the instruction, which is of that kind.
template <typename Table, auto add>
constexpr auto operandsOfTable =
    [](const Instruction &instruction, Operands &list) { add(*instruction.op_as<Table>(), list); };
template <typename Table, auto add>
constexpr auto scalarsOfTable =
    [](const Instruction &instruction, Scalars &list) { add(*instruction.op_as<Table>(), list); };

constexpr size_t numOps = static_cast<size_t>(Op::MAX) + 1;

constexpr std::array<InstructionKind, numOps> kinds = [] {
  std::array<InstructionKind, numOps> table;
  auto set = [&](Op op, InstructionKind kind) { table[static_cast<size_t>(op)] = kind; };
  set(Op::Launch, {"launch", TimeClass::Kernel,
                   operandsOfTable<Launch,
                                   [](const Launch &op, Operands &list) {
                                     for (uint32_t i = 0; i < sizeOf(op.buffers()); ++i)
                                       list.push_back({"buffers", op.buffers()->Get(i)});
                                   }>,
                   scalarsOfTable<Launch, [](const Launch &op, Scalars &list) {
                     for (uint32_t i = 0; i < sizeOf(op.scalars()); ++i)
                       list.push_back(op.scalars()->Get(i));
                   }>});
  set(Op::Gemm, {"gemm", TimeClass::Gemm, operandsOfTable<Gemm, [](const Gemm &op, Operands &list) {
                   list.insert(list.end(), {{"a", op.a()}, {"b", op.b()}, {"c", op.c()}});
                 }>});
  set(Op::Attention, {"attention", TimeClass::Attention, operandsOfTable<Attention, addAttention>,
                      scalarsOfTable<Attention, addAttentionScalars>});
  set(Op::AttentionGrad, {"attention_grad", TimeClass::Attention,
                          operandsOfTable<AttentionGrad,
                                          [](const AttentionGrad &op, Operands &list) {
                                            addAttention(*op.forward(), list);
                                            list.insert(list.end(), {{"dout", op.dout()},
                                                                     {"dq", op.dq()},
                                                                     {"dk", op.dk()},
                                                                     {"dv", op.dv()},
                                                                     {"scratch", op.scratch()}});
                                          }>,
                          scalarsOfTable<AttentionGrad, [](const AttentionGrad &op, Scalars &list) {
                            addAttentionScalars(*op.forward(), list);
                          }>});
  set(Op::Embedding, {"embedding", TimeClass::Embedding,
                      operandsOfTable<Embedding,
                                      [](const Embedding &op, Operands &list) {
                                        list.insert(list.end(), {{"table", op.table_()},
                                                                 {"ids", op.ids()},
                                                                 {"out", op.out()}});
                                      }>,
                      scalarsOfTable<Embedding, [](const Embedding &op, Scalars &list) {
                        list.push_back(op.first_row());
                      }>});
  set(Op::EmbeddingGrad,
      {"embedding_grad", TimeClass::Embedding,
       operandsOfTable<
           EmbeddingGrad,
           [](const EmbeddingGrad &op, Operands &list) {
             list.insert(list.end(), {{"grad", op.grad()}, {"ids", op.ids()}, {"dout", op.dout()}});
           }>,
       scalarsOfTable<EmbeddingGrad, [](const EmbeddingGrad &op, Scalars &list) {
         list.push_back(op.first_row());
       }>});
  set(Op::StridedCopy,
      {"strided_copy", TimeClass::Copy,
       operandsOfTable<StridedCopy,
                       [](const StridedCopy &op, Operands &list) {
                         list.insert(list.end(), {{"src", op.src()}, {"dst", op.dst()}});
                       }>,
       scalarsOfTable<StridedCopy, [](const StridedCopy &op, Scalars &list) {
         list.insert(list.end(), {op.src_offset(), op.dst_offset()});
       }>});
  set(Op::Zero, {"zero", TimeClass::Copy, operandsOfTable<Zero, [](const Zero &op, Operands &list) {
                   list.push_back({"dst", op.dst()});
                 }>});
  set(Op::Collective, {"collective", TimeClass::Collective,
                       operandsOfTable<Collective, [](const Collective &op, Operands &list) {
                         list.insert(list.end(), {{"src", op.src()}, {"dst", op.dst()}});
                       }>});
  set(Op::Record, {"record", TimeClass::Wait});
  set(Op::Wait, {"wait", TimeClass::Wait});
  return table;
}();

// Op::NONE, which is 0, is no instruction; all others have an entry.
constexpr bool isComplete() {
  InstructionKind none;
  for (size_t op = 1; op < numOps; ++op)
    if (std::string_view(kinds[op].name) == none.name)
      return false;
  return true;
}
static_assert(isComplete(), "every kind of instruction has an entry");

} // namespace

const InstructionKind &kindOf(Op op) {
  auto index = static_cast<size_t>(op);
  return kinds[index < numOps ? index : 0];
}

void operandsOf(const Instruction &instruction, std::vector<Operand> &operands) {
  operands.clear();
  if (auto add = kindOf(instruction.op_type()).operands; add && instruction.op())
    add(instruction, operands);
}

void rankScalarsOf(const Instruction &instruction, std::vector<const RankScalar *> &scalars) {
  scalars.clear();
  if (auto add = kindOf(instruction.op_type()).scalars; add && instruction.op())
    add(instruction, scalars);
}

const char *opName(Op op) { return kindOf(op).name; }

} // namespace dtc::format
