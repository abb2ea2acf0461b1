#include "runtime/exec/Groups.h"

#include "runtime/base/TensorSpec.h"
#include "runtime/comm/Loopback.h"
#include "runtime/exec/Binding.h"

namespace dtc::rt {

std::optional<Groups::Key> Groups::keyOf(const format::Manifest &manifest,
                                         const format::Instruction &instruction) {
  if (const format::Collective *op = instruction.op_as_Collective())
    return Key{op->group(), false, instruction.stream()};
  const format::Transfer *op = instruction.op_as_Transfer();
  if (!op)
    return std::nullopt;
  uint32_t size = manifest.groups()->Get(op->group())->size();
  return Key{op->group(), true,
             op->kind() == format::TransferKind::send ? op->shift() : size - op->shift()};
}

Status Groups::create(const format::Manifest &file, Comm &world) {
  manifest = &file;
  for (const format::Program *program : *file.programs())
    for (const format::Task *task : *program->tasks())
      for (const format::Instruction *instruction : *task->instructions())
        if (std::optional<Key> key = keyOf(file, *instruction))
          groups[*key] = nullptr;

  for (auto &[key, comm] : groups) {
    const format::Group &group = *file.groups()->Get(key.group);
    uint32_t lists = group.ranks()->size() / group.size(), mine = lists, place = 0;
    for (uint32_t i = 0; i < group.ranks()->size(); ++i)
      if (group.ranks()->Get(i) == static_cast<uint32_t>(world.rank())) {
        mine = i / group.size();
        place = i % group.size();
      }
    if (group.size() == 1)
      comm = std::move(makeLoopbackWorld(1).front());
    else // ranks in no list share a communicator that nobody uses
      DTC_RETURN_IF_ERROR(world.split(static_cast<int>(mine), static_cast<int>(place), comm));
    comm->setName(group.name()->str());
  }
  return {};
}

Comm *Groups::find(const format::Instruction &instruction) const {
  std::optional<Key> key = keyOf(*manifest, instruction);
  return key ? groups.at(*key).get() : nullptr;
}

} // namespace dtc::rt
