// Checks that all launchers share: the decisions of a plan that a launcher can be given. Checks of
// one launcher are in its file. Internal to this folder.
#pragma once

#include "compiler/show/export/PlanView.h"

namespace dtc::launch {

// The ops that selective recomputation repeats.
enum class Selective : uint8_t {
  Attention,      // attention alone: Megatron's core_attn
  AllButProducts, // all that costs no matrix product: MaxText's minimal_with_context
  // The share of a stack's recomputation.selective_share: torchtitan's recomputes every second
  // matmul.
  Share,
  InModel, // the model's code says
};
// Returns the ops that a stack's selective recomputation repeats.
Selective selectiveOf(const SoftwareStack &software);

// The decisions that a launcher supports.
struct Capabilities {
  llvm::StringRef name;  // for people
  llvm::StringRef stack; // name in the catalogue; its plans are meant for this launcher
  llvm::ArrayRef<ScheduleKind> schedules;
  bool unevenStages = false;
  // Interleaving wants numbers of micro-batches that stages divide.
  bool roundsOfStages = false;
  llvm::ArrayRef<int64_t> zero, zeroOfPipelines;
  bool zeroGroups = false;
  llvm::ArrayRef<ContextKind> contexts; // none: no context parallelism
  bool expertParallel = false;
  // Tensor parallelism may split experts.
  bool splitExperts = false;
  // Experts may be whole on the ranks of tensor parallelism, over which expert parallelism spreads
  // them.
  bool wholeExperts = false;
  bool sequenceParallel = false;
  // Query heads of one kv head may be on several ranks.
  bool splitsKvGroups = false;
  // Ranks of tensor parallelism may be a number that does not divide the rows of the vocabulary.
  bool unevenVocabulary = true;
  // Experts may have a capacity, beyond which tokens are dropped.
  bool expertCapacity = false;
  // The model's code may freeze parameters.
  bool freezesParameters = false;
  llvm::ArrayRef<Precision> precisions;
  llvm::ArrayRef<OptimizerKind> optimizers;
  // Gradients may be reduced in 16 bits.
  bool halfReductions = false;
  bool offload = false;
  // Activations of layers may be on the host.
  bool offloadActivations = false;
  Selective selective = Selective::AllButProducts;
};

// The decisions of a plan that a launcher can't be told, each with how to plan for it. All of them
// are collected, so that a user corrects a plan once.
class Misfits {
public:
  Misfits(const PlanView &view, const Capabilities &launcher) : view(view), launcher(launcher) {}

  // Adds a decision. `has` is what the launcher has of it, `found` what the plan has, `fix` what
  // --fix takes for the nearest plan; the last may be empty. Examples in Export.h.
  void add(const std::string &has, const std::string &found, const std::string &fix);
  // Adds a decision in a sentence of its own. `mend` says how to plan for it: "'--precision bf16'".
  void say(const std::string &sentence, const std::string &mend);

  // Returns true if the launcher supports the plan.
  bool empty() const { return list.empty(); }
  // The error of one decision in one line; of several a line for each, and where the plan says what
  // it was asked for the command that plans for the launcher. Wants one decision at least.
  UserError error() const;

private:
  struct Misfit {
    std::string sentence, mend;
  };
  std::string planAgain() const;

  const PlanView &view;
  const Capabilities &launcher;
  std::vector<Misfit> list;
};

// Adds what most launchers can't be told for the same reasons.
void addCommonMisfits(const PlanView &view, const Capabilities &launcher, Misfits &misfits);

} // namespace dtc::launch
