#include "runtime/exec/Groups.h"

#include "runtime/base/TensorSpec.h"
#include "runtime/comm/Loopback.h"
#include "runtime/exec/Binding.h"

namespace dtc::rt {

uint32_t Groups::maskOf(const format::Collective &collective) {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < format::sizeOf(collective.axes()); ++i)
    mask |= 1u << collective.axes()->Get(i);
  return mask;
}

Status Groups::create(const format::Manifest &manifest, Comm &world) {
  for (const format::Program *program : *manifest.programs())
    for (const format::Task *task : *program->tasks())
      for (const format::Instruction *instruction : *task->instructions())
        if (const format::Collective *collective = instruction->op_as_Collective())
          groups[{maskOf(*collective), instruction->stream()}] = nullptr;

  std::vector<uint32_t> mesh = meshSizes(manifest);
  std::vector<uint32_t> coordinates = meshCoordinates(mesh, static_cast<uint32_t>(world.rank()));
  for (auto &[key, group] : groups) {
    int size = 1, colour = 0;
    std::string name;
    for (size_t axis = 0; axis < mesh.size(); ++axis) {
      if (key.first >> axis & 1) {
        size *= static_cast<int>(mesh[axis]);
        name += (name.empty() ? "" : " x ") +
                manifest.mesh()->Get(static_cast<uint32_t>(axis))->name()->str();
      } else {
        colour = colour * static_cast<int>(mesh[axis]) + static_cast<int>(coordinates[axis]);
      }
    }
    if (size == 1)
      group = std::move(makeLoopbackWorld(1).front());
    else
      DTC_RETURN_IF_ERROR(world.split(colour, world.rank(), group));
    if (!name.empty())
      group->setName(name);
  }
  return {};
}

Comm &Groups::find(const format::Collective &collective, uint32_t stream) const {
  return *groups.at({maskOf(collective), stream});
}

} // namespace dtc::rt
