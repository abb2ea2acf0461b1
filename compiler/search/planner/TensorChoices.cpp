// Chooses tensor-parallel degrees per device group on heterogeneous systems.
#include "compiler/search/planner/TensorChoices.h"

#include "compiler/search/planner/ZeroGroups.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc {

using D = Decisions;

std::vector<TensorOfParts> tensorChoices(const Decisions &mesh, const SpaceLimits &limits,
                                         const Pins &pins) {
  std::vector<TensorOfParts> choices;
  if (!pins.isUneven())
    choices.push_back({});
  int64_t stageSize = mesh.devices() / mesh.pp;
  bool hasWholeStages = llvm::all_of(
      limits.groups, [&](const DeviceGroup &group) { return group.numDevices % stageSize == 0; });
  bool isGiven = pins[&D::tensorOfParts] || !(pins[&D::tp] || pins[&D::dp] || pins[&D::microBatch]);
  size_t parts = limits.groups.size();
  if (mesh.tp == 1 || mesh.tp > kMostTensorOfPart || !hasWholeStages || !isGiven || parts < 2 ||
      parts > kMostUnevenParts || (pins[&D::placement] == 1) || pinnedGroupOf(pins, 0) > 0)
    return choices;
  // Degrees of one group that leave whole samples to the others; combinations are counted up like
  // digits.
  std::vector<int64_t> ranks;
  for (int64_t divisor = 1; divisor <= mesh.tp; ++divisor)
    if (mesh.tp % divisor == 0 && mesh.microBatch % (mesh.tp / divisor) == 0)
      ranks.push_back(divisor);
  std::vector<size_t> digits(parts, 0);
  for (bool isDone = false; !isDone;) {
    TensorOfParts each{};
    int64_t most = 0, least = mesh.tp;
    for (size_t part = 0; part < parts; ++part) {
      int64_t own = ranks[digits[part]];
      each[part] = static_cast<int16_t>(own);
      most = std::max(most, own);
      least = std::min(least, own);
    }
    if (most == mesh.tp && least < mesh.tp && pins[&D::tensorOfParts].value_or(each) == each)
      choices.push_back(each);
    isDone = true;
    for (size_t part = 0; part < parts && isDone; ++part) {
      digits[part] = (digits[part] + 1) % ranks.size();
      isDone = digits[part] == 0;
    }
  }
  return choices;
}

} // namespace dtc
