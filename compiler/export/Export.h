// A plan as the flags or the configuration of software that others wrote. docs/export.md has a
// table of what goes where.
#pragma once

#include "compiler/plan/Plan.h"
#include "compiler/stack/SoftwareStack.h"

namespace dtc {

enum class Launcher : uint8_t { MegatronLm, MegatronBridge, TorchTitan, DeepSpeed, MaxText };

// The words of `dtc export --to`, in the order of the enumerators.
llvm::ArrayRef<llvm::StringRef> launcherNames();
std::optional<Launcher> launcherFrom(llvm::StringRef name);

struct ExportedPlan {
  std::string text; // of the file
  // For the user: what the file can't say and the launch or the model's code has to, and what the
  // launcher does in another way without harm. One line each.
  std::vector<std::string> notes;
};

// `software` is the stack that the plan was made for (stackOf): it says what the plan's words mean,
// as selective recomputation.
// Errors: a decision of the plan that the launcher can't be told and that changes what is computed,
// the seconds or the memory of a step; one line with the decision, what there is instead and how to
// plan for it. Example:
//   Megatron-LM has the schedules 1f1b and interleaved, and the plan has gpipe; plan again with
//   '--fix schedule=1f1b', or with '--stack megatron-core'
Result<ExportedPlan> exportPlan(const Plan &plan, const SoftwareStack &software, Launcher launcher);

// The stack that a plan was made for; on GPUs, where its launchers run, of those that differ there.
Result<SoftwareStack> stackOf(const Plan &plan);

} // namespace dtc
