#include "runtime/format/InstructionText.h"

#include "runtime/base/Text.h"
#include "runtime/format/Instructions.h"
#include "runtime/format/Operands.h"

namespace dtc::format {

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
                            const Communication &communication) {
  constexpr const char *moved[] = {"gradients",         "parameters",        "activations",
                                   "tokens of experts", "tensors of stages", "control values"};
  constexpr size_t numRoles = sizeof(moved) / sizeof(*moved);
  static_assert(numRoles == static_cast<size_t>(CollectiveRole::MAX) + 1);
  auto role = static_cast<size_t>(communication.role);
  std::string out = text(nameOf(instruction), " of ", role < numRoles ? moved[role] : "something",
                         " over ", groupName(manifest, communication.group));
  return communication.name ? text(out, " '", communication.name->string_view(), "'") : out;
}

std::string describe(const Manifest &manifest, const Instruction &instruction) {
  std::optional<Communication> communication = communicationOf(instruction);
  std::string out = communication ? describe(manifest, instruction, *communication)
                                  : opName(instruction.op_type());
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

} // namespace dtc::format
