#include "compiler/show/export/Capabilities.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Words.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc::launch {
namespace {

template <typename T, typename Word> std::string wordsOf(llvm::ArrayRef<T> values, Word &&word) {
  std::vector<std::string> words;
  for (const T &value : values)
    words.push_back(word(value));
  return words.empty() ? "none" : listOf(words);
}
std::string numberOf(int64_t number) { return std::to_string(number); }

// Returns the value of --fix that chooses a schedule.
std::string fixOf(ScheduleKind kind) {
  std::string fix = "schedule=" + toString(kind).str();
  if (isV(kind))
    fix += ",virtual_stages=2";
  return fix;
}

// Returns the largest divisor of `value` that is no more than `most`.
int64_t divisorUpTo(int64_t value, int64_t most) {
  int64_t divisor = std::min(value, most);
  while (value % divisor != 0)
    --divisor;
  return divisor;
}

void checkPipeline(const PlanView &view, const Capabilities &launcher, Misfits &out) {
  const Decisions &d = view.d;
  if (d.pp == 1)
    return;
  auto nameOf = [](ScheduleKind kind) { return toString(kind).str(); };
  if (launcher.schedules.empty())
    return out.add("no pipeline parallelism", "pp " + numberOf(d.pp), "pp=1");
  if (!llvm::is_contained(launcher.schedules, d.schedule))
    out.add("the schedules " + wordsOf(launcher.schedules, nameOf), nameOf(d.schedule),
            fixOf(launcher.schedules.front()));
  if (!launcher.unevenStages && !view.hasEvenChunks())
    out.add("as many layers on each stage as on the others", "stages that differ", "");
  if (launcher.roundsOfStages && d.virtualStages > 1 && d.numMicroBatches % d.pp != 0)
    out.add("interleaving of a number of micro-batches that pp divides",
            numberOf(d.numMicroBatches) + " micro-batches with pp " + numberOf(d.pp),
            "schedule=1f1b");
}

void checkZero(const PlanView &view, const Capabilities &launcher, Misfits &out) {
  const Decisions &d = view.d;
  llvm::ArrayRef<int64_t> stages = d.pp > 1 ? launcher.zeroOfPipelines : launcher.zero;
  if (view.gradientRanks() > 1 && !llvm::is_contained(stages, d.zero))
    out.add("ZeRO " + wordsOf(stages, numberOf) + (d.pp > 1 ? " under a pipeline" : ""),
            "ZeRO " + numberOf(d.zero),
            "zero=" + numberOf(d.zero > 0 ? stages.back() : stages.front()));
  if (!launcher.zeroGroups && view.replicas() > 1 && d.zero > 0)
    out.add("ZeRO over all of dp", "groups of " + numberOf(view.shards()) + " ranks",
            "zero_group=" + numberOf(d.dp));
}

// Launchers assert as they build a model that tp divides the sizes that it cuts.
void checkShape(const PlanView &view, const Capabilities &launcher, Misfits &out) {
  const ModelArchitecture &model = view.plan.architecture;
  int64_t tp = view.d.tp;
  auto check = [&](int64_t size, const std::string &what) {
    if (tp > 1 && size > 0 && size % tp != 0)
      out.add(what + " in a number that tp divides", numberOf(size) + " with tp " + numberOf(tp),
              "tp=" + numberOf(divisorUpTo(size, tp)));
  };
  check(model.heads, "attention heads");
  if (model.kvHeads > 0 && model.kvHeads % tp != 0 && tp % model.kvHeads != 0)
    out.add("kv heads in a number that tp divides or is a multiple of",
            numberOf(model.kvHeads) + " with tp " + numberOf(tp),
            "tp=" + numberOf(divisorUpTo(model.kvHeads, tp)));
  if (view.d.tensorRanksOfExpert() > 1)
    check(model.inner, "inner widths");
  if (!launcher.unevenVocabulary)
    check(model.vocabulary, "vocabularies");
}

void checkSplits(const PlanView &view, const Capabilities &launcher, Misfits &out) {
  const Decisions &d = view.d;
  for (const Decision *each : allDecisions())
    if (const InLaunchers &all = each->launchers; all.holds && !all.holds(d))
      out.add(all.have.str(), all.found ? all.found(d) : each->phraseOf(d), all.fix.str());
  if (d.tp > 1 && d.sequenceParallel && !launcher.sequenceParallel)
    out.add("no sequence parallelism beside tensor parallelism", "sp 1", "sp=0");
  if (view.splitsKvGroups && !launcher.splitsKvGroups)
    out.add("tensor parallelism of no more ranks than kv heads",
            "tp " + numberOf(d.tp) + " beyond them", "");
}

void checkContext(const PlanView &view, const Capabilities &launcher, Misfits &out) {
  const Decisions &d = view.d;
  if (d.cp == 1)
    return;
  auto nameOf = [](ContextKind kind) { return toString(kind).str(); };
  if (launcher.contexts.empty())
    return out.add("no context parallelism", "cp " + numberOf(d.cp), "cp=1");
  if (!llvm::is_contained(launcher.contexts, d.contextKind))
    out.add("context parallelism by " + wordsOf(launcher.contexts, nameOf), nameOf(d.contextKind),
            "cp_kind=" + nameOf(launcher.contexts.front()));
  else if (hasRing(d.contextKind) && view.plan.modelSlides)
    out.add("sliding windows with all-to-all or all-gather alone", nameOf(d.contextKind),
            "cp_kind=all-gather");
  if (view.plan.sequenceLength % (2 * d.cp) != 0)
    out.add("sequences that 2 cp divides",
            "cp " + numberOf(d.cp) + " with sequences of " + numberOf(view.plan.sequenceLength),
            "cp=1");
}

void checkExperts(const PlanView &view, const Capabilities &launcher, Misfits &out) {
  const Decisions &d = view.d;
  if (d.ep > 1 && !launcher.expertParallel)
    out.add("no expert parallelism", "ep " + numberOf(d.ep), "ep=1");
  bool areSplit = d.tensorRanksOfExpert() > 1, areWhole = d.tp > 1 && !areSplit;
  if (areWhole && !launcher.wholeExperts)
    out.add("no experts spread over the ranks of tensor parallelism", "etp 1", "etp=tp");
  if (view.hasExperts && areSplit && !launcher.splitExperts)
    out.add("whole experts under tensor parallelism", "tp " + numberOf(d.tp) + " that splits them",
            launcher.wholeExperts ? "etp=1" : "tp=1");
  if (view.hasCapacity() && !launcher.expertCapacity)
    out.say((launcher.name + " drops no tokens, and the plan's experts have a capacity of " +
             decimalOf(view.plan.architecture.capacity) + " times their share")
                .str(),
            "a model without 'moe_expert_capacity_factor'");
}

void checkNumbers(const PlanView &view, const Capabilities &launcher, Misfits &out) {
  const Plan &plan = view.plan;
  auto word = [](auto value) { return nameOf(value).str(); };
  if (!llvm::is_contained(launcher.precisions, plan.precision))
    out.say((launcher.name + " trains in " + wordsOf(launcher.precisions, word) +
             ", and the plan is for " + nameOf(plan.precision))
                .str(),
            ("'--precision " + nameOf(launcher.precisions.front()) + "'").str());
  if (!llvm::is_contained(launcher.optimizers, plan.optimizer))
    out.say((launcher.name + " has the optimizers " + wordsOf(launcher.optimizers, word) +
             ", and the plan is for " + nameOf(plan.optimizer))
                .str(),
            ("'--optimizer " + nameOf(launcher.optimizers.front()) + "'").str());
  if (plan.optimizerState != StateType::F32)
    out.say((launcher.name + " is given the optimizer's state in f32, and the plan has it in " +
             nameOf(plan.optimizerState))
                .str(),
            "'--optimizer-state f32'");
  if (view.reduced == Width::Half && view.gradientRanks() > 1 && !launcher.halfReductions)
    out.say((launcher.name + " reduces gradients in 32 bits, and the plan does in 16").str(),
            ("'--grad-dtype f32 --stack " + launcher.stack + "'").str());
  if (view.d.offloadOptimizer && !launcher.offload)
    out.add("no optimizer in the host's memory that leaves parameters", "offload 1", "offload=0");
  if (view.d.offloadsLayers() && !launcher.offloadActivations)
    out.add("activations in the devices' memory alone", "those of " + offloadText(view.d),
            "offload_activations=0");
}

void checkTrained(const PlanView &view, const Capabilities &launcher, Misfits &out) {
  int64_t frozen = view.plan.frozenParameters;
  if (frozen > 0 && !launcher.freezesParameters)
    out.say((launcher.name + " trains all parameters of its models, and the plan has " +
             numberOf(frozen) + " that are frozen")
                .str(),
            "a model without 'frozen'");
}

void checkRecompute(const PlanView &view, const Capabilities &launcher, Misfits &out) {
  for (const PlanStage &stage : view.plan.stages)
    for (const std::string &layer : stage.recompute)
      if (isPartial(recomputeFrom(layer).value_or(Recompute::None)))
        return out.add("recomputation of all ops or of a selection of its own",
                       "layers that recompute " + layer, "recompute=full");
  bool isSelective =
      llvm::any_of(view.chunks, [](const Chunk &chunk) { return chunk.selective > 0; });
  if (!isSelective || launcher.selective == Selective::InModel ||
      launcher.selective == selectiveOf(view.software))
    return;
  out.say((launcher.name + " recomputes other ops selectively than the stack '" +
           view.software.name + "' that the plan was made for")
              .str(),
          ("'--stack " + launcher.stack + "', or with '--fix recompute=full'").str());
}

// Quotes `text` so that a shell reads it as one word.
std::string shellWord(const std::string &text) {
  bool isPlain = text.find_first_not_of(
                     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=,:"
                     "@%") == std::string::npos;
  if (isPlain && !text.empty())
    return text;
  std::string out = "'";
  for (char c : text)
    out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

} // namespace

Selective selectiveOf(const SoftwareStack &software) {
  return software.selectiveShare > 0   ? Selective::Share
         : software.selectiveAttention ? Selective::Attention
                                       : Selective::AllButProducts;
}

void Misfits::add(const std::string &has, const std::string &found, const std::string &fix) {
  std::string mend = fix.empty() ? "" : "'--fix " + fix + "', or with ";
  say((launcher.name + " has " + has + ", and the plan has " + found).str(),
      (mend + "'--stack " + launcher.stack + "'").str());
}

void Misfits::say(const std::string &sentence, const std::string &mend) {
  list.push_back({sentence, mend});
}

// The request behind the plan, for the launcher's stack and in what the launcher has.
std::string Misfits::planAgain() const {
  const Plan &plan = view.plan;
  const PlanOrigin &origin = plan.origin;
  auto offered = [](auto values, auto value) {
    return nameOf(llvm::is_contained(values, value) ? value : values.front()).str();
  };
  std::string command = "dtc plan " + shellWord(origin.model);
  if (plan.sequenceLength > 0 && !llvm::StringRef(origin.model).ends_with(".mlir"))
    command += " --seq-len " + numberOf(plan.sequenceLength);
  command += " --topology " + shellWord(origin.topology);
  if (origin.nodes > 0)
    command += " --nodes " + numberOf(origin.nodes);
  return command + " --devices " + numberOf(plan.devices) + " --global-batch " +
         numberOf(plan.globalBatch) + " --precision " +
         offered(launcher.precisions, plan.precision) + " --optimizer " +
         offered(launcher.optimizers, plan.optimizer) + " --stack " + launcher.stack.str() +
         " -o plan.json";
}

UserError Misfits::error() const {
  if (list.size() == 1)
    return UserError(list.front().sentence + "; plan again with " + list.front().mend);
  std::string message = (launcher.name + " can't express " + numberOf(list.size()) +
                         " decisions of the plan; plan again with '--stack " + launcher.stack + "'")
                            .str();
  for (const Misfit &misfit : list)
    message += "\n  " + misfit.sentence + " (" + misfit.mend + ")";
  const PlanOrigin &origin = view.plan.origin;
  if (origin.model.empty() || origin.topology.empty())
    return UserError(message);
  return UserError(message, "this makes a plan without all of them:\n  " + planAgain());
}

void addCommonMisfits(const PlanView &view, const Capabilities &launcher, Misfits &misfits) {
  for (auto check : {checkPipeline, checkZero, checkShape, checkSplits, checkContext, checkExperts,
                     checkNumbers, checkTrained, checkRecompute})
    check(view, launcher, misfits);
}

} // namespace dtc::launch
