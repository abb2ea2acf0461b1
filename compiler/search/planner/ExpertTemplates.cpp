// Lists plans that engineers set by hand.
#include "compiler/search/planner/ExpertTemplates.h"

#include "compiler/decide/decisions/Memory.h"
#include "compiler/search/planner/DetailSpace.h"
#include "compiler/search/planner/MeshSpace.h"

namespace dtc {

std::vector<Decisions> expertTemplates(const SpaceLimits &limits, const Pins &pins,
                                       int64_t devicesPerNode) {
  std::vector<Decisions> templates;
  Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
  if (!meshes)
    return templates;
  for (const Decisions &mesh : *meshes) {
    bool megatron = mesh.order == kMegatronOrder && mesh.tp <= devicesPerNode && mesh.cp == 1 &&
                    mesh.microBatch <= 2 && (mesh.tp == 1 || mesh.sequenceParallel) &&
                    (mesh.pp == 1 || mesh.tp == devicesPerNode || mesh.tp == 1);
    bool fsdp = mesh.tp == 1 && mesh.pp == 1 && mesh.cp == 1;
    if (!megatron && !fsdp)
      continue;
    for (const Decisions &d : enumerateDetails(mesh, limits, pins)) {
      bool usual = d.schedule == ScheduleKind::OneForwardOneBackward ||
                   d.schedule == ScheduleKind::Interleaved;
      if (usual && !offloadsUnasked(d, pins) &&
          ((megatron && d.zero == 1) || (fsdp && d.zero == 3)))
        templates.push_back(d);
    }
  }
  return templates;
}

} // namespace dtc
