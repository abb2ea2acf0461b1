// Says which sizes of axes a model, its software and pins permit.
#include "compiler/search/planner/MeshRules.h"

#include "compiler/decide/plan/Executable.h"
#include "compiler/search/planner/LegalPlans.h"
#include "runtime/format/Limits.h"

#include "llvm/Support/MathExtras.h"

namespace dtc {

using D = Decisions;

std::optional<DividedSize> findUndivided(int64_t tp, bool folds, const SpaceLimits &limits) {
  if (!limits.space)
    return std::nullopt;
  const LegalSpace &space = *limits.space;
  auto isUndivided = [&](int64_t size, bool mayBe) { return !mayBe && size > 0 && size % tp != 0; };
  if (isUndivided(limits.kvHeads, space.splitsKvHeads))
    return DividedSize{limits.kvHeads, "kv heads", "the stack has no kv head on several ranks"};
  if (isUndivided(limits.heads, space.unevenHeads))
    return DividedSize{limits.heads, "attention heads", "the stack has whole heads on each rank"};
  // Ranks share a kv head in equal numbers.
  if (!space.unevenHeads && limits.kvHeads > 0 && limits.kvHeads % tp != 0 &&
      tp % limits.kvHeads != 0)
    return DividedSize{limits.kvHeads, "kv heads", "ranks that share them have to be a multiple"};
  if (isUndivided(limits.inner, space.unevenInner || folds))
    return DividedSize{limits.inner, "columns of the feed-forward layers",
                       "the stack cuts weights in equal parts"};
  if (isUndivided(limits.vocabulary, space.unevenVocabulary))
    return DividedSize{limits.vocabulary, "rows of the vocabulary",
                       "the stack cuts tables in equal parts"};
  return std::nullopt;
}

std::string undividedText(const DividedSize &size) {
  return "the " + std::to_string(size.size) + " " + size.what + " of the model, and " + size.why;
}

int64_t leastChunksOf(int64_t pp, const Pins &pins) {
  return pp * pins[&D::virtualStages].value_or(pp > 1 ? pins.decisions().virtualStages : 1);
}

bool fitsSequence(int64_t cp, int64_t tp, const SpaceLimits &limits, const Pins &pins) {
  int64_t runs = 2 * cp * (limits.executable ? tp : 1);
  return cp == 1 || (limits.sequence > 0 && limits.sequence % runs == 0 &&
                     (pins[&D::cp] || limits.sequence / cp >= kLeastTokensOfContext));
}

bool mayCompile(int64_t cp, const SpaceLimits &limits, const Pins &pins) {
  return cp == 1 || !limits.executable ||
         (limits.experts <= 1 && (pins[&D::cp] || limits.contextKinds != 0));
}

bool mayRunAll(const Decisions &d, const SpaceLimits &limits) {
  int64_t ofStage = llvm::divideCeilSigned(limits.layers, d.pp) * limits.instructionsOfLayer;
  return ofStage == 0 || d.numMicroBatches <= static_cast<int64_t>(format::maxExecuted) / ofStage;
}

bool isAllowedMesh(const Decisions &d, const SpaceLimits &limits) {
  return (!limits.needsWholeBatch || d.numMicroBatches == 1) &&
         (!limits.needsOneStage || d.pp == 1) &&
         (!limits.executable || (isExecutable(d) && mayRunAll(d, limits))) &&
         !findUndivided(d.tp, d.spreadsExperts('t'), limits) &&
         (!limits.space || (isLegalMesh(d, *limits.space) &&
                            (!limits.space->expertsWantSequence || limits.experts == 1 ||
                             d.tp == 1 || d.sequenceParallel)));
}

} // namespace dtc
