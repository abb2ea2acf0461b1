// Checks which plans the software that runs them supports.
#include "compiler/search/planner/LegalPlans.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Experts.h"
#include "compiler/decide/decisions/Rules.h"
#include "compiler/describe/stack/StackFields.h"

#include <array>
#include <vector>

namespace dtc {

using D = Decisions;
namespace {

// Returns true if the decisions obey the rules of the software that a part of the search asks for.
bool obeys(const Decisions &d, const LegalSpace &space, StackRule::Part part) {
  using Holds = bool (*)(const Decisions &, const LegalSpace &);
  static const std::array<std::vector<Holds>, 3> rules = [] {
    std::array<std::vector<Holds>, 3> ofParts;
    for (const Decision *decision : decisions())
      for (const StackRule &rule : decision->stackRules)
        ofParts[static_cast<size_t>(rule.part)].push_back(rule.holds);
    return ofParts;
  }();
  return llvm::all_of(rules[static_cast<size_t>(part)],
                      [&](Holds holds) { return holds(d, space); });
}

// Returns the decisions that pins may stand for: all combinations of what a pin of the schedule
// means, and of experts that are folded or not where no pin says. Open axes have `ranks`.
llvm::SmallVector<Decisions, 4> meaningsOf(const Pins &pins, int64_t ranks) {
  Decisions d = pins.decisions();
  for (int64_t Decisions::*axis : {&D::dp, &D::tp, &D::pp, &D::cp})
    d.*axis = pins[axis].value_or(ranks);
  llvm::SmallVector<Decisions, 4> all;
  for (bool folds : foldingsOf(pins, d.tp)) {
    all.push_back(withFoldedExperts(d, folds));
    if (d.schedule == ScheduleKind::ZeroBubbleH1) {
      all.push_back(all.back());
      all.back().schedule = ScheduleKind::ZeroBubbleV;
    }
  }
  return all;
}

// Returns the text with the words of the software in place of the sets of [space] in braces.
std::string withWords(llvm::StringRef text, const LegalSpace &space) {
  auto [before, rest] = text.split('{');
  auto [key, after] = rest.split('}');
  if (key.empty())
    return text.str();
  std::string words = wordsOf(spaceSet(key), space);
  return before.str() + (words.empty() ? "nothing" : words) + after.str();
}

} // namespace

bool isLegalZero(const Decisions &d, const LegalSpace &space) {
  return obeys(d, space, StackRule::Part::Zero);
}

bool isLegalMesh(const Decisions &d, const LegalSpace &space) {
  return obeys(d, space, StackRule::Part::Mesh);
}

bool isLegal(const Decisions &d, const LegalSpace &space, int64_t layers) {
  bool isEven = d.pp == 1 || space.unevenStages || layers % (d.pp * d.virtualStages) == 0;
  // The search has asked for the mesh before, so that it refuses least.
  return isEven && obeys(d, space, StackRule::Part::Details) && isLegalZero(d, space) &&
         isLegalMesh(d, space);
}

std::optional<UserError> checkLegal(const Pins &pins, const SoftwareStack &software) {
  const LegalSpace &space = software.space;
  const llvm::SmallVector<Decisions, 4> few = meaningsOf(pins, 1), several = meaningsOf(pins, 2);
  auto isBroken = [&](const StackRule &rule) {
    const auto &meanings = rule.openIsSeveral ? several : few;
    return !rule.keys.empty() && arePinned(rule.keys, pins) &&
           llvm::none_of(meanings, [&](const Decisions &d) { return rule.holds(d, space); });
  };
  for (const Decision *decision : decisions())
    for (const StackRule &rule : decision->stackRules)
      if (isBroken(rule))
        return UserError("--fix " + pinsText(rule.keys, several.front()) + ": software '" +
                             software.name + "' does not support it",
                         withWords(rule.mend, space) + "; 'dtc stack show " + software.name +
                             "' lists all under [space]");
  return std::nullopt;
}

// Returns true if pins and software with buckets of its own leave a plan whose gradients overlap as
// pinned.
static bool mayOverlapAs(bool overlaps, const Pins &pins, const SoftwareStack &software) {
  const LegalSpace &space = software.space;
  bool mayPipeline = pins[&D::pp] != 1 && space.pipelineParallel,
       mayDoWithout = pins[&D::pp].value_or(1) == 1;
  if (mayPipeline && space.reducesLast(/*isPipelined=*/true, 0) != overlaps)
    return true;
  for (int64_t zero = 0; mayDoWithout && zero <= 3; ++zero)
    if (pins[&D::zero].value_or(zero) == zero && (space.zero >> zero & 1) != 0 &&
        space.reducesLast(/*isPipelined=*/false, zero) != overlaps)
      return true;
  return false;
}

std::optional<UserError> checkBuckets(const Pins &pins, const SoftwareStack &software) {
  if (pins[&D::bucketBytes] && !software.choosesBuckets)
    return UserError("--fix bucket_mib: software '" + software.name +
                         "' chooses its gradient buckets itself",
                     "the planner chooses buckets where dtc trains on GPUs, and where a stack's "
                     "'chooses_buckets' is true");
  if (pins[&D::overlapGradients] && !software.choosesBuckets &&
      !mayOverlapAs(*pins[&D::overlapGradients], pins, software))
    return UserError("--fix overlap=" + std::to_string(*pins[&D::overlapGradients]) +
                         ": software '" + software.name + "' reduces gradients " +
                         (*pins[&D::overlapGradients] ? "as a whole after the backward pass"
                                                      : "beside the backward pass") +
                         " under these pins",
                     "use overlap=" + std::to_string(!*pins[&D::overlapGradients]) +
                         ", or leave it out");
  if (pins[&D::bucketBytes] && pins[&D::overlapGradients] == false)
    return UserError("--fix overlap=0,bucket_mib=" + std::to_string(*pins[&D::bucketBytes] >> 20) +
                         ": without overlap gradients are reduced as a whole",
                     "leave one of the two out");
  return std::nullopt;
}

std::optional<UserError> checkTraining(Optimizer optimizer, std::optional<GradientType> gradDtype,
                                       const SoftwareStack &software) {
  auto refuse = [&](const llvm::Twine &flag, const llvm::Twine &mend) {
    return UserError(
        (flag + ": software '" + software.name + "' does not support it").str(),
        (mend + "; 'dtc stack show " + software.name + "' lists all under [space]").str());
  };
  if (!hasWordOf(software.space.optimizers, optimizer.kind))
    return refuse("--optimizer " + nameOf(optimizer.kind),
                  "use " + wordsOf(spaceSet("optimizers"), software.space));
  // Only dtc's own programs store state in fewer bits.
  if (optimizer.state != StateType::F32 && !software.runsPrograms)
    return UserError(("--optimizer-state " + nameOf(optimizer.state) + ": software '" +
                      software.name + "' stores the optimizer's state in f32")
                         .str(),
                     "use --optimizer-state f32, or leave out --stack");
  if (!hasStateIn(optimizer.kind, optimizer.state))
    return UserError(("--optimizer-state " + nameOf(optimizer.state) + ": the optimizer " +
                      nameOf(optimizer.kind) + " does not have both moments of a parameter")
                         .str(),
                     "use --optimizer-state bf16, or --optimizer adamw");
  constexpr GradientType wide = GradientType::F32;
  if (gradDtype && bytesOf(*gradDtype) < bytesOf(wide) && !software.space.halfReductions)
    return refuse("--grad-dtype " + nameOf(*gradDtype), "use --grad-dtype " + nameOf(wide));
  return std::nullopt;
}

std::optional<UserError> checkPrecision(Precision precision, const SoftwareStack &software,
                                        const Topology &topology) {
  std::string flag = "--precision " + nameOf(precision).str();
  if (!hasWordOf(software.space.precisions, precision))
    return UserError(flag + ": software '" + software.name + "' can't train in this precision",
                     "use " + wordsOf(spaceSet("precisions"), software.space) +
                         "; 'dtc stack show " + software.name + "' lists all under [space]");
  // A device without a rate for another type uses that of f32; 8-bit types are worthless without a
  // rate.
  ComputeType type = computeTypeOf(precision);
  bool isCpu = topology.device.deviceClass == DeviceClass::Cpu; // where it is a check of numbers
  if (type == ComputeType::FP8 && !isCpu && topology.device.peak(type) == 0)
    return UserError(flag + ": device '" + topology.device.name + "' of '" + topology.name +
                         "' has no matrix products in 8 bits",
                     ("use --precision " + nameOf(storedAs(precision)) +
                      ", or a topology whose file says device.peak." + nameOf(type))
                         .str());
  return std::nullopt;
}

std::string impliedBy(const Pins &pins, const SoftwareStack &software) {
  if (!software.searchesPlacements || pins[&D::placement] || pins[&D::tp].value_or(2) == 1)
    return "";
  if (pins[&D::sequenceParallel])
    return "sp=" + std::to_string(*pins[&D::sequenceParallel]) + " asks for Megatron's placements";
  return pins[&D::tp] ? "tp=" + std::to_string(*pins[&D::tp]) + " asks for weights that are split"
                      : "";
}

} // namespace dtc
