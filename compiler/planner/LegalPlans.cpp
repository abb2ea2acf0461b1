// Checks which plans the software that runs them supports.
#include "compiler/planner/LegalPlans.h"

#include "compiler/plan/DecisionNames.h"
#include "compiler/stack/StackFields.h"

namespace dtc {
namespace {

bool has(uint32_t words, size_t index) { return (words >> index & 1) != 0; }
template <typename Enum> bool hasOne(uint32_t words, Enum value) {
  return has(words, static_cast<size_t>(value));
}

// Returns the axes of more than one rank, from the innermost on; others make no difference.
std::string keyOf(const AxisOrder &order, const Decisions &d) {
  std::string key;
  for (char axis : order)
    if (d.sizeOf(axis) > 1)
      key += axis;
  return key;
}

bool isLegalOrder(const Decisions &d, const LegalSpace &space) {
  constexpr AxisOrder orders[] = {kMegatronOrder, {'t', 'c', 'p', 'd'}};
  if (has(space.axisOrders, 0))
    return true;
  // Megatron-Core needs as many copies of an expert as of everything else if stages are inside of
  // replicas (parallel_state.py: "When not using pp-last rank ordering ...").
  bool areUnlike = d.pp > 1 && (d.ep > 1 || d.foldedExperts) && d.ranksOfExperts() / d.ep != d.dp;
  for (auto [index, order] : llvm::enumerate(orders))
    if (has(space.axisOrders, index + 1) && keyOf(order, d) == keyOf(d.order, d) &&
        !(areUnlike && keyOf(order, d) != keyOf(kMegatronOrder, d)))
      return true;
  return false;
}

bool isLegalContext(const Decisions &d, const LegalSpace &space) {
  return d.cp == 1 ||
         (hasOne(space.contextKinds, d.contextKind) && (d.pp == 1 || space.contextBesidePipeline));
}

// Returns true if the software supports groups for the ZeRO stage; ZeRO-0 splits nothing.
bool mayGroup(int64_t zero, const LegalSpace &space) {
  return zero > 0 && has(space.zeroGroups, static_cast<size_t>(zero - 1));
}

bool isLegalForExperts(const Decisions &d, const LegalSpace &space) {
  if (d.ep > 1 && !space.expertParallel)
    return false;
  return d.foldedExperts ? space.foldedExperts
                         : d.ep == 1 || d.tp == 1 || space.expertsBesideTensor;
}

bool isLegalRecompute(const Decisions &d, const LegalSpace &space) {
  return d.mayRecomputeMore() ? mayMix(d.recompute, d.recomputeMost, space)
                              : hasOne(space.recompute, d.recompute);
}

bool isLegalOnHost(const Decisions &d, const LegalSpace &space) {
  if (d.layersOnHost == LayersOnHost::None)
    return true;
  bool isSome = d.layersOnHost == LayersOnHost::Some;
  return space.offloadActivations != 0 && (d.pp == 1 || space.offloadBesidePipeline) &&
         (isSome ? space.offloadSomeLayers
                 : space.offloadAllLayers && hasOne(space.offloadActivations, d.recompute));
}

bool isLegalSchedule(const Decisions &d, const LegalSpace &space, int64_t layers) {
  return d.pp == 1 || (hasOne(space.schedules, d.schedule) &&
                       (space.unevenStages || layers % (d.pp * d.virtualStages) == 0) &&
                       (!hasOne(space.fillsStages, d.schedule) || d.numMicroBatches % d.pp == 0));
}

bool isLegalVocabulary(const Decisions &d, const LegalSpace &space) {
  return d.vocabOverPp == 0 ||
         (mayDivideVocabulary(d) && has(space.vocabOverPp, static_cast<size_t>(d.vocabOverPp - 1)));
}

} // namespace

bool isLegalZero(const Decisions &d, const LegalSpace &space) {
  bool isSplit = d.cp > 1 || d.ep > 1;
  return hasOne(d.pp > 1 ? space.zeroOfPipelines : space.zero, d.zero) &&
         (!isSplit || hasOne(space.zeroOfContextsAndExperts, d.zero)) &&
         (d.zeroGroup == 0 || mayGroup(d.zero, space)) &&
         (!d.offloadOptimizer || hasOne(space.offload, d.zero)) &&
         (!space.expertsWithinData || d.zeroRanks() % d.ep == 0);
}

bool isLegalMesh(const Decisions &d, const LegalSpace &space) {
  return (d.tp == 1 ||
          (space.tensorParallel && hasOne(space.sequenceParallel, d.sequenceParallel))) &&
         (space.unevenTensor || !d.hasUnevenTensor()) && (d.pp == 1 || space.pipelineParallel) &&
         isLegalContext(d, space) && isLegalForExperts(d, space) && isLegalOrder(d, space);
}

bool isLegal(const Decisions &decisions, const LegalSpace &space, int64_t layers) {
  return isLegalMesh(decisions, space) && isLegalZero(decisions, space) &&
         isLegalRecompute(decisions, space) && isLegalOnHost(decisions, space) &&
         isLegalSchedule(decisions, space, layers) && isLegalVocabulary(decisions, space);
}

std::optional<UserError> checkLegal(const Pins &pins, const SoftwareStack &software) {
  const LegalSpace &space = software.space;
  auto refuse = [&](const std::string &pin, const std::string &has) {
    return UserError("--fix " + pin + ": software '" + software.name + "' does not support it",
                     has + "; 'dtc stack show " + software.name + "' lists all under [space]");
  };
  auto wordsOfKey = [&](llvm::StringRef key) {
    std::string words = wordsOf(spaceSet(key), space);
    return key.str() + " can be " + (words.empty() ? "nothing" : words);
  };
  auto size = [](const std::optional<int64_t> &pin) { return pin.value_or(1); };
  if (pins.isUneven() && !space.unevenTensor)
    return refuse("tp_of_parts=" + tensorOfPartsText(pins.decisions()), "use tp_of_parts=even");
  const std::tuple<const char *, int64_t, bool> sizes[] = {
      {"tp", size(pins.tp), space.tensorParallel},
      {"pp", size(pins.pp), space.pipelineParallel},
      {"cp", size(pins.cp), space.contextKinds != 0},
      {"ep", size(pins.ep), space.expertParallel}};
  for (auto [name, ranks, isLegal] : sizes)
    if (ranks > 1 && !isLegal)
      return refuse(std::string(name) + "=" + std::to_string(ranks),
                    std::string("use ") + name + "=1");
  if (size(pins.cp) > 1 && size(pins.pp) > 1 && !space.contextBesidePipeline)
    return refuse("cp=" + std::to_string(*pins.cp) + ",pp=" + std::to_string(*pins.pp),
                  "one of them has to be 1");
  bool folds = pins.foldedExperts.value_or(false),
       mayFold = space.foldedExperts && pins.foldedExperts.value_or(true);
  if (folds && !space.foldedExperts && pins.tp != 1)
    return refuse("etp=1", "use etp=tp");
  if (size(pins.ep) > 1 && size(pins.tp) > 1 && !space.expertsBesideTensor && !mayFold)
    return refuse("tp=" + std::to_string(*pins.tp) + ",ep=" + std::to_string(*pins.ep),
                  "one of them has to be 1");
  if (pins.sp && size(pins.tp) > 1 && !hasOne(space.sequenceParallel, *pins.sp))
    return refuse("sp=" + std::to_string(*pins.sp), wordsOfKey("sequence_parallel"));
  if (pins.contextKind && pins.cp != 1 && !hasOne(space.contextKinds, *pins.contextKind))
    return refuse("cp_kind=" + toString(*pins.contextKind).str(), wordsOfKey("context_kinds"));
  bool isPipeline = size(pins.pp) > 1;
  if (pins.zero && !hasOne(isPipeline ? space.zeroOfPipelines : space.zero, *pins.zero))
    return refuse("zero=" + std::to_string(*pins.zero) +
                      (isPipeline ? ",pp=" + std::to_string(*pins.pp) : ""),
                  wordsOfKey(isPipeline ? "zero_of_pipelines" : "zero"));
  if (pins.zeroGroup.value_or(0) > 0 &&
      !(pins.zero.value_or(0) > 0 ? mayGroup(*pins.zero, space) : space.zeroGroups != 0))
    return refuse((pins.zero ? "zero=" + std::to_string(*pins.zero) + "," : "") +
                      "zero_group=" + std::to_string(*pins.zeroGroup),
                  wordsOfKey("zero_groups"));
  if (pins.offload.value_or(0) > 0 &&
      !(pins.zero ? hasOne(space.offload, *pins.zero) : space.offload != 0))
    return refuse(
        (pins.zero && space.offload != 0 ? "zero=" + std::to_string(*pins.zero) + "," : "") +
            "offload=1",
        space.offload == 0 ? "use offload=0"
                           : "with that, zero can be " + wordsOf(spaceSet("offload"), space));
  if (pins.zero && (size(pins.cp) > 1 || size(pins.ep) > 1) &&
      !hasOne(space.zeroOfContextsAndExperts, *pins.zero))
    return refuse("zero=" + std::to_string(*pins.zero) +
                      (size(pins.cp) > 1 ? ",cp=" + std::to_string(*pins.cp)
                                         : ",ep=" + std::to_string(*pins.ep)),
                  wordsOfKey("zero_of_contexts_and_experts"));
  if (pins.offloadActivations.value_or(0) > 0) {
    if (space.offloadActivations == 0)
      return refuse("offload_activations=1", "use offload_activations=0");
    if (!space.offloadAllLayers)
      return refuse(
          "offload_activations=1",
          "there all layers but one are on the host at most; leave it out, and as few are "
          "as memory asks for");
    if (pins.recompute && !hasOne(space.offloadActivations, *pins.recompute))
      return refuse("offload_activations=1,recompute=" + toString(*pins.recompute).str(),
                    "with that on, recompute can be " +
                        wordsOf(spaceSet("offload_activations"), space));
    if (size(pins.pp) > 1 && !space.offloadBesidePipeline)
      return refuse("offload_activations=1,pp=" + std::to_string(*pins.pp),
                    "one of them has to go");
  }
  // A plan without a pipeline has no schedule; it says 1f1b.
  bool isScheduled = !pins.schedule || pins.pp == 1;
  for (auto [index, word] : llvm::enumerate(spaceSet("schedules").words))
    isScheduled |= has(space.schedules, index) && pins.allows(static_cast<ScheduleKind>(index));
  if (!isScheduled)
    return refuse("schedule=" + toString(*pins.schedule).str(), wordsOfKey("schedules"));
  if (int64_t algorithm = pins.vocabOverPp.value_or(0);
      algorithm > 0 && !has(space.vocabOverPp, static_cast<size_t>(algorithm - 1)))
    return refuse("vocab_over_pp=" + std::to_string(algorithm),
                  space.vocabOverPp == 0 ? "use vocab_over_pp=0" : wordsOfKey("vocab_over_pp"));
  if (pins.recompute && !hasOne(space.recompute, *pins.recompute))
    return refuse("recompute=" + toString(*pins.recompute).str(), wordsOfKey("recompute"));
  Decisions d = pins.decisions();
  for (auto [axis, pin] :
       {std::pair{&d.tp, &pins.tp}, {&d.cp, &pins.cp}, {&d.dp, &pins.dp}, {&d.pp, &pins.pp}})
    *axis = pin->value_or(2); // an axis that is not pinned counts by its position
  if (pins.order && !isLegalOrder(d, space)) {
    std::string order = orderText(*pins.order);
    std::replace(order.begin(), order.end(), ' ', '-');
    return refuse("axis_order=" + order, wordsOfKey("axis_orders"));
  }
  return std::nullopt;
}

// Returns true if pins and software with buckets of its own leave a plan whose gradients overlap as
// pinned.
static bool mayOverlapAs(bool overlaps, const Pins &pins, const SoftwareStack &software) {
  const LegalSpace &space = software.space;
  bool mayPipeline = pins.pp != 1 && space.pipelineParallel,
       mayDoWithout = pins.pp.value_or(1) == 1;
  if (mayPipeline && space.reducesLast(/*isPipelined=*/true, 0) != overlaps)
    return true;
  for (int64_t zero = 0; mayDoWithout && zero <= 3; ++zero)
    if (pins.zero.value_or(zero) == zero && (space.zero >> zero & 1) != 0 &&
        space.reducesLast(/*isPipelined=*/false, zero) != overlaps)
      return true;
  return false;
}

std::optional<UserError> checkBuckets(const Pins &pins, const SoftwareStack &software) {
  if (pins.bucketMebibytes && !software.choosesBuckets)
    return UserError("--fix bucket_mib: software '" + software.name +
                         "' chooses its gradient buckets itself",
                     "the planner chooses buckets where dtc trains on GPUs, and where a stack's "
                     "'chooses_buckets' is true");
  if (pins.overlap && !software.choosesBuckets && !mayOverlapAs(*pins.overlap != 0, pins, software))
    return UserError(
        "--fix overlap=" + std::to_string(*pins.overlap) + ": software '" + software.name +
            "' reduces gradients " +
            (*pins.overlap ? "as a whole after the backward pass" : "beside the backward pass") +
            " under these pins",
        "use overlap=" + std::to_string(1 - *pins.overlap) + ", or leave it out");
  if (pins.bucketMebibytes && pins.overlap == 0)
    return UserError("--fix overlap=0,bucket_mib=" + std::to_string(*pins.bucketMebibytes) +
                         ": without overlap gradients are reduced as a whole",
                     "leave one of the two out");
  return std::nullopt;
}

std::optional<UserError> checkTraining(OptimizerKind optimizer,
                                       std::optional<GradientType> gradDtype,
                                       const SoftwareStack &software) {
  auto refuse = [&](const llvm::Twine &flag, const llvm::Twine &mend) {
    return UserError(
        (flag + ": software '" + software.name + "' does not support it").str(),
        (mend + "; 'dtc stack show " + software.name + "' lists all under [space]").str());
  };
  if (!hasOne(software.space.optimizers, optimizer))
    return refuse("--optimizer " + nameOf(optimizer),
                  "use " + wordsOf(spaceSet("optimizers"), software.space));
  constexpr GradientType wide = GradientType::F32;
  if (gradDtype && bytesOf(*gradDtype) < bytesOf(wide) && !software.space.halfReductions)
    return refuse("--grad-dtype " + nameOf(*gradDtype), "use --grad-dtype " + nameOf(wide));
  return std::nullopt;
}

std::optional<UserError> checkPrecision(Precision precision, const SoftwareStack &software,
                                        const Topology &topology) {
  std::string flag = "--precision " + nameOf(precision).str();
  if (!hasOne(software.space.precisions, precision))
    return UserError(flag + ": software '" + software.name + "' can't train in this precision",
                     "use " + wordsOf(spaceSet("precisions"), software.space) +
                         "; 'dtc stack show " + software.name + "' lists all under [space]");
  // A device without a rate for another type uses that of f32; 8-bit types are worthless without a
  // rate.
  ComputeType type = computeTypeOf(precision);
  if (type == ComputeType::FP8 && topology.device.peak(type) == 0)
    return UserError(flag + ": device '" + topology.device.name + "' of '" + topology.name +
                         "' has no matrix products in 8 bits",
                     ("use --precision " + nameOf(storedAs(precision)) +
                      ", or a topology whose file says device.peak." + nameOf(type))
                         .str());
  return std::nullopt;
}

std::string impliedBy(const Pins &pins, const SoftwareStack &software) {
  if (!software.searchesPlacements || pins.searchedPlacements || pins.tp.value_or(2) == 1)
    return "";
  if (pins.sp)
    return "sp=" + std::to_string(*pins.sp) + " asks for Megatron's placements";
  return pins.tp ? "tp=" + std::to_string(*pins.tp) + " asks for weights that are split" : "";
}

} // namespace dtc
