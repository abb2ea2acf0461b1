#include "runtime/exec/Groups.h"

#include "runtime/base/TensorSpec.h"
#include "runtime/comm/Loopback.h"
#include "runtime/exec/Binding.h"

namespace dtc::rt {

Status Groups::create(const format::Manifest &manifest, Comm &world) {
  for (const format::Program *program : *manifest.programs())
    for (const format::Task *task : *program->tasks())
      for (const format::Instruction *instruction : *task->instructions())
        if (const format::Collective *collective = instruction->op_as_Collective())
          groups[{collective->group(), instruction->stream()}] = nullptr;

  for (auto &[key, comm] : groups) {
    const format::Group &group = *manifest.groups()->Get(key.first);
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

Comm &Groups::find(const format::Collective &collective, uint32_t stream) const {
  return *groups.at({collective.group(), stream});
}

} // namespace dtc::rt
