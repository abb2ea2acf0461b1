// Enumerates the ways in which stages may share the vocabulary.
#include "compiler/search/planner/VocabularyChoices.h"
#include "compiler/decide/decisions/Pipeline.h"

#include "compiler/decide/decisions/Words.h"

namespace dtc {

using D = Decisions;

llvm::SmallVector<int64_t, 3> vocabularyChoices(Decisions d, const SpaceLimits &limits,
                                                const Pins &pins) {
  llvm::SmallVector<int64_t, 3> choices;
  for (d.vocabOverPp = 0; d.vocabOverPp <= 2; ++d.vocabOverPp) {
    // On heterogeneous devices, equal shares would take different times.
    bool isThere = d.vocabOverPp == 0 ||
                   (limits.untied && limits.groups.empty() && mayDivideVocabulary(d) &&
                    (!limits.space || limits.space->vocabOverPp >> (d.vocabOverPp - 1) & 1));
    if (isThere && permits(pins[&D::vocabOverPp], d.vocabOverPp))
      choices.push_back(d.vocabOverPp);
  }
  return choices;
}

} // namespace dtc
