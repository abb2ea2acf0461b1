// Enumerates the ways of experts beside tensor parallelism, and says why there is none.
#include "compiler/search/planner/ExpertChoices.h"

#include "compiler/decide/decisions/Experts.h"
#include "compiler/search/planner/Divisors.h"

namespace dtc {

using D = Decisions;

llvm::SmallVector<Decisions, 2> expertChoices(const Decisions &mesh, const SpaceLimits &limits,
                                              const Pins &pins) {
  if (mesh.tp == 1 || limits.experts <= 1)
    return {mesh};
  llvm::SmallVector<Decisions, 2> choices;
  for (bool folds : foldingsOf(pins, mesh.tp)) {
    bool isThere =
        folds ? limits.tokenGroups % mesh.tp == 0 && pins[&D::sequenceParallel].value_or(true)
              : !limits.space || limits.space->expertsBesideTensor;
    if (isThere)
      choices.push_back(withFoldedExperts(mesh, folds));
  }
  return choices;
}

bool mayFoldAtAll(const SpaceLimits &limits, const Pins &pins) {
  return limits.experts > 1 && llvm::is_contained(foldingsOf(pins, /*tp=*/2), true);
}

std::optional<UserError> findFoldingError(const SpaceLimits &limits, const Pins &pins) {
  if (!pinsFoldedExperts(pins))
    return std::nullopt;
  auto number = [](int64_t value) { return std::to_string(value); };
  if (limits.experts == 1)
    return UserError("--fix etp=1: the model has no experts", "leave it out");
  if (pins[&D::tp] && *pins[&D::tp] > 1 && limits.tokenGroups % *pins[&D::tp] != 0)
    return UserError("--fix etp=1,tp=" + number(*pins[&D::tp]) + " does not divide the " +
                         number(limits.tokenGroups) +
                         " groups of tokens that the model routes separately",
                     "the nearest that does is tp=" +
                         number(nearestOf(divisorsOf(limits.tokenGroups), *pins[&D::tp])));
  return std::nullopt;
}

std::optional<UserError> findRoomError(const SpaceLimits &limits, const Pins &pins) {
  if (pins[&D::expertRoomPerMille].value_or(0) == 0 || limits.exchangesRows)
    return std::nullopt;
  return UserError(limits.experts == 1
                       ? "--fix expert_room: the model has no experts"
                       : "--fix expert_room: only programs of dtc have rounds of rows of experts, "
                         "of models that drop none",
                   "leave it out");
}

} // namespace dtc
