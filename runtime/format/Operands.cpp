#include "runtime/format/Operands.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace dtc::format {

std::optional<Communication> communicationOf(const Instruction &instruction) {
  if (const Collective *op = instruction.op_as_Collective())
    return Communication{op->group(), op->role(), op->name()};
  if (const Transfer *op = instruction.op_as_Transfer())
    return Communication{op->group(), op->role(), op->name()};
  return std::nullopt;
}

std::string groupName(const Manifest &manifest, uint32_t group) {
  return group < sizeOf(manifest.groups()) ? manifest.groups()->Get(group)->name()->str()
                                           : "a group that is not there";
}

const Entry *findEntry(const Program &program, EntryKind kind) {
  for (const Entry *entry : *program.entries())
    if (entry->kind() == kind)
      return entry;
  return nullptr;
}

std::vector<uint32_t> countRuns(const Program &program, const Entry &entry) {
  std::vector<uint32_t> runs(program.tasks()->size());
  for (const Run *run : *entry.order())
    ++runs[run->task()];
  return runs;
}

bool isTrained(const Program &program, const Tensor &parameter) {
  for (uint32_t i = 0; i < sizeOf(program.optimizer_state()); ++i) {
    std::string_view state = program.optimizer_state()->Get(i)->name()->string_view();
    if (state.substr(0, state.rfind('.')) == parameter.name()->string_view())
      return true;
  }
  return false;
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
