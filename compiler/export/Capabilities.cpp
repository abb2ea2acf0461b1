#include "compiler/export/Capabilities.h"

#include "compiler/plan/DecisionNames.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc::launch {
namespace {

using Found = std::optional<UserError>;

template <typename T, typename Word> std::string wordsOf(llvm::ArrayRef<T> values, Word &&word) {
  std::vector<std::string> words;
  for (const T &value : values)
    words.push_back(word(value));
  return words.empty() ? "none" : listOf(words);
}
std::string numberOf(int64_t number) { return std::to_string(number); }

// As --fix has it.
std::string fixOf(ScheduleKind kind) {
  std::string fix = "schedule=" + planNameOf(kind).str();
  if (isV(kind))
    fix += ",virtual_stages=2";
  return fix;
}

Found checkPipeline(const PlanView &view, const Capabilities &launcher) {
  const Decisions &d = view.d;
  if (d.pp == 1)
    return std::nullopt;
  auto nameOf = [](ScheduleKind kind) { return toString(kind).str(); };
  if (launcher.schedules.empty())
    return inexpressible(launcher, "no pipeline parallelism", "pp " + numberOf(d.pp), "pp=1");
  if (!llvm::is_contained(launcher.schedules, d.schedule))
    return inexpressible(launcher, "the schedules " + wordsOf(launcher.schedules, nameOf),
                         nameOf(d.schedule), fixOf(launcher.schedules.front()));
  if (std::string what = findMisplacedChunk(view); !what.empty())
    return UserError("the plan's " + what + "; plans of 'dtc plan' have them there");
  if (!launcher.unevenStages && !view.hasEvenChunks())
    return inexpressible(launcher, "as many layers on each stage as on the others",
                         "stages that differ", "");
  if (launcher.roundsOfStages && d.virtualStages > 1 && d.numMicroBatches % d.pp != 0)
    return inexpressible(launcher, "interleaving of a number of micro-batches that pp divides",
                         numberOf(d.numMicroBatches) + " micro-batches with pp " + numberOf(d.pp),
                         "schedule=1f1b");
  return std::nullopt;
}

Found checkZero(const PlanView &view, const Capabilities &launcher) {
  const Decisions &d = view.d;
  llvm::ArrayRef<int64_t> stages = d.pp > 1 ? launcher.zeroOfPipelines : launcher.zero;
  if (view.gradientRanks() > 1 && !llvm::is_contained(stages, d.zero))
    return inexpressible(
        launcher, "ZeRO " + wordsOf(stages, numberOf) + (d.pp > 1 ? " under a pipeline" : ""),
        "ZeRO " + numberOf(d.zero),
        "zero=" + numberOf(d.zero > 0 ? stages.back() : stages.front()));
  if (!launcher.zeroGroups && view.replicas() > 1 && d.zero > 0)
    return inexpressible(launcher, "ZeRO over all of dp",
                         "groups of " + numberOf(view.shards()) + " ranks",
                         "zero_group=" + numberOf(d.dp));
  return std::nullopt;
}

Found checkSplits(const PlanView &view, const Capabilities &launcher) {
  const Decisions &d = view.d;
  if (d.hasUnevenTensor())
    return inexpressible(launcher, "as many ranks of tensor parallelism on all stages",
                         "tp by part " + tensorOfPartsText(d), "tp_of_parts=even");
  if (d.placement != 0)
    return inexpressible(launcher, "Megatron's placements of ops", "searched ones",
                         "placement=megatron");
  if (d.vocabOverPp > 0)
    return inexpressible(launcher, "embedding and output layer on the first and the last stage",
                         "a vocabulary that all stages share out", "vocab_over_pp=0");
  if (d.tp > 1 && d.sequenceParallel && !launcher.sequenceParallel)
    return inexpressible(launcher, "no sequence parallelism beside tensor parallelism", "sp 1",
                         "sp=0");
  if (view.splitsKvGroups && !launcher.splitsKvGroups)
    return inexpressible(launcher, "tensor parallelism of no more ranks than kv heads",
                         "tp " + numberOf(d.tp) + " beyond them", "");
  if (d.cp > 1 && launcher.contexts.empty())
    return inexpressible(launcher, "no context parallelism", "cp " + numberOf(d.cp), "cp=1");
  auto nameOf = [](ContextKind kind) { return toString(kind).str(); };
  if (d.cp > 1 && !llvm::is_contained(launcher.contexts, d.contextKind))
    return inexpressible(launcher, "context parallelism by " + wordsOf(launcher.contexts, nameOf),
                         nameOf(d.contextKind), "cp_kind=" + nameOf(launcher.contexts.front()));
  if (d.cp > 1 && hasRing(d.contextKind) && view.plan.modelSlides)
    return inexpressible(launcher, "sliding windows with all-to-all or all-gather alone",
                         nameOf(d.contextKind), "cp_kind=all-gather");
  if (d.cp > 1 && view.plan.sequenceLength % (2 * d.cp) != 0)
    return inexpressible(launcher, "sequences that 2 cp divides",
                         "cp " + numberOf(d.cp) + " with sequences of " +
                             numberOf(view.plan.sequenceLength),
                         "cp=1");
  if (d.ep > 1 && !launcher.expertParallel)
    return inexpressible(launcher, "no expert parallelism", "ep " + numberOf(d.ep), "ep=1");
  if (d.foldedExperts && !launcher.foldedExperts)
    return inexpressible(launcher, "no experts spread over the ranks of tensor parallelism",
                         "etp 1", "etp=tp");
  if (view.hasExperts && d.tp > 1 && !d.foldedExperts && !launcher.expertTensorParallel)
    return inexpressible(launcher, "whole experts under tensor parallelism",
                         "tp " + numberOf(d.tp) + " that splits them",
                         launcher.foldedExperts ? "etp=1" : "tp=1");
  return std::nullopt;
}

Found checkNumbers(const PlanView &view, const Capabilities &launcher) {
  const Plan &plan = view.plan;
  auto quoted = [](llvm::StringRef word) { return word.str(); };
  if (!llvm::is_contained(launcher.precisions, plan.precision))
    return UserError((launcher.name + " trains in " + wordsOf(launcher.precisions, quoted) +
                      ", and the plan is for " + plan.precision +
                      "; plan again with '--precision " + launcher.precisions.front() + "'")
                         .str());
  if (!llvm::is_contained(launcher.optimizers, plan.optimizer))
    return UserError((launcher.name + " has the optimizers " +
                      wordsOf(launcher.optimizers, quoted) + ", and the plan is for " +
                      plan.optimizer + "; plan again with '--optimizer " +
                      launcher.optimizers.front() + "'")
                         .str());
  if (view.reduced == Width::Half && view.gradientRanks() > 1 && !launcher.halfReductions)
    return UserError((launcher.name +
                      " reduces gradients in 32 bits, and the plan does in 16; "
                      "plan again with '--grad-dtype f32 --stack " +
                      launcher.stack + "'")
                         .str());
  if (view.d.offloadOptimizer && !launcher.offload)
    return inexpressible(launcher, "no optimizer in the host's memory that leaves parameters",
                         "offload 1", "offload=0");
  if (view.d.layersOnHost != LayersOnHost::None && !launcher.offloadActivations)
    return inexpressible(launcher, "activations in the devices' memory alone",
                         "those of " + toString(view.d.layersOnHost).str() + " layers on the host",
                         "offload_activations=0");
  return std::nullopt;
}

Found checkRecompute(const PlanView &view, const Capabilities &launcher) {
  for (const PlanStage &stage : view.plan.stages)
    for (const std::string &layer : stage.recompute)
      if (isPartial(recomputeFrom(layer).value_or(Recompute::None)))
        return inexpressible(launcher, "recomputation of all ops or of a selection of its own",
                             "layers that recompute " + layer, "recompute=full");
  bool isSelective =
      llvm::any_of(view.chunks, [](const Chunk &chunk) { return chunk.selective > 0; });
  if (!isSelective || launcher.selective == Selective::InModel ||
      launcher.selective == selectiveOf(view.software))
    return std::nullopt;
  return UserError((launcher.name + " recomputes other ops selectively than the stack '" +
                    view.software.name + "' that the plan was made for; plan again with '--stack " +
                    launcher.stack + "', or with '--fix recompute=full'")
                       .str());
}

} // namespace

Selective selectiveOf(const SoftwareStack &software) {
  return software.selectiveShare > 0   ? Selective::Share
         : software.selectiveAttention ? Selective::Attention
                                       : Selective::AllButProducts;
}

UserError inexpressible(const Capabilities &launcher, const std::string &has,
                        const std::string &found, const std::string &fix) {
  std::string mend = fix.empty() ? "" : "'--fix " + fix + "', or with ";
  return UserError((launcher.name + " has " + has + ", and the plan has " + found +
                    "; plan again with " + mend + "'--stack " + launcher.stack + "'")
                       .str());
}

Found findInexpressible(const PlanView &view, const Capabilities &launcher) {
  for (auto check : {checkPipeline, checkZero, checkSplits, checkNumbers, checkRecompute})
    if (Found found = check(view, launcher))
      return found;
  return std::nullopt;
}

} // namespace dtc::launch
