#include "runtime/format/Operands.h"

#include "runtime/base/Text.h"

namespace dtc::format {

std::string groupOf(const Manifest &manifest, const Collective &collective) {
  return collective.group() < sizeOf(manifest.groups())
             ? manifest.groups()->Get(collective.group())->name()->str()
             : "a group that is not there";
}

// A file that is being checked may hold any number for kind, role and group.
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
