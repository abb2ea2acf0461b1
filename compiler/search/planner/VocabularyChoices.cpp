// Enumerates the ways in which stages may share the vocabulary.
#include "compiler/search/planner/VocabularyChoices.h"

#include "compiler/decide/decisions/Pipeline.h"

namespace dtc {

using D = Decisions;

llvm::SmallVector<Decisions, 3> vocabularyChoices(Decisions d, const SpaceLimits &limits,
                                                  const Pins &pins) {
  llvm::SmallVector<Decisions, 3> choices;
  for (d.vocabOverPp = 0; d.vocabOverPp <= 2; ++d.vocabOverPp) {
    // On heterogeneous devices, equal shares would take different times.
    bool isThere = d.vocabOverPp == 0 ||
                   (limits.untied && limits.groups.empty() && mayDivideVocabulary(d) &&
                    (!limits.space || limits.space->vocabOverPp >> (d.vocabOverPp - 1) & 1));
    if (isThere && permits(pins[&D::vocabOverPp], d.vocabOverPp))
      choices.push_back(d);
  }
  return choices;
}

std::optional<UserError> findVocabularyError(const SpaceLimits &limits, const Pins &pins) {
  int64_t algorithm = pins[&D::vocabOverPp].value_or(0);
  if (algorithm == 0 || (limits.untied && limits.groups.empty()))
    return std::nullopt;
  return UserError("--fix vocab_over_pp=" + std::to_string(algorithm) +
                       (limits.untied ? ": the stages of '" + limits.topologyName +
                                            "' are on heterogeneous devices"
                                      : ": the model ties embedding and output layer"),
                   "use vocab_over_pp=0");
}

} // namespace dtc
