#include "runtime/format/Operands.h"

#include "runtime/base/Text.h"
#include "runtime/format/Repeats.h"

#include <algorithm>

namespace dtc::format {

std::optional<Meeting> meetingOf(const Instruction &instruction) {
  if (const Collective *op = instruction.op_as_Collective())
    return Meeting{op->group(), op->role(), op->name()};
  if (const Transfer *op = instruction.op_as_Transfer())
    return Meeting{op->group(), op->role(), op->name()};
  return std::nullopt;
}

std::string groupName(const Manifest &manifest, uint32_t group) {
  return group < sizeOf(manifest.groups()) ? manifest.groups()->Get(group)->name()->str()
                                           : "a group that is not there";
}

// A file that is being checked may hold any number for kind, role and group.
static std::string nameOf(const Instruction &instruction) {
  if (const Collective *op = instruction.op_as_Collective())
    if (op->kind() <= CollectiveKind::MAX)
      return EnumNameCollectiveKind(op->kind());
  if (const Transfer *op = instruction.op_as_Transfer())
    if (op->kind() <= TransferKind::MAX)
      return EnumNameTransferKind(op->kind());
  return opName(instruction.op_type());
}

static std::string describe(const Manifest &manifest, const Instruction &instruction,
                            const Meeting &meeting) {
  constexpr const char *moved[] = {"gradients",         "parameters",        "activations",
                                   "tokens of experts", "tensors of stages", "control values"};
  constexpr size_t numRoles = sizeof(moved) / sizeof(*moved);
  static_assert(numRoles == static_cast<size_t>(CollectiveRole::MAX) + 1);
  auto role = static_cast<size_t>(meeting.role);
  std::string out = text(nameOf(instruction), " of ", role < numRoles ? moved[role] : "something",
                         " over ", groupName(manifest, meeting.group));
  return meeting.name ? text(out, " '", meeting.name->string_view(), "'") : out;
}

std::string describe(const Manifest &manifest, const Instruction &instruction) {
  std::optional<Meeting> meeting = meetingOf(instruction);
  std::string out =
      meeting ? describe(manifest, instruction, *meeting) : opName(instruction.op_type());
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

std::vector<uint32_t> countLayers(const Task &task) {
  std::vector<uint32_t> layers(task.instructions()->size(), 1);
  for (uint32_t i = 0; i < sizeOf(task.repeats()); ++i) {
    const Repeat &repeat = *task.repeats()->Get(i);
    std::fill(layers.begin() + repeat.begin(), layers.begin() + repeat.end(), repeat.count());
  }
  return layers;
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
