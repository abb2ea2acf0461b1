// A plan as the flags or the configuration of software that others wrote. docs/export.md has a
// table of what goes where.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/describe/stack/SoftwareStack.h"
#include "compiler/show/export/ExportedPlan.h"

namespace dtc {

// A training framework that plans are exported to.
enum class Launcher : uint8_t { MegatronLm, MegatronBridge, TorchTitan, DeepSpeed, MaxText };

// The words of `dtc export --to`, in the order of the enumerators.
llvm::ArrayRef<llvm::StringRef> launcherNames();
// Returns the launcher with that name; nullopt if there is none.
std::optional<Launcher> launcherFrom(llvm::StringRef name);

// The versions that a launcher's exports can be written for, the newest release first.
llvm::ArrayRef<LauncherRelease> releasesOf(Launcher launcher);

// The one of that version; of "" the newest release. Errors: another version, with those there are.
Result<LauncherRelease> releaseFrom(Launcher launcher, llvm::StringRef version);

// `software` is the stack that the plan was made for (stackOf): it says what the plan's words mean,
// as selective recomputation. `version` is one of releasesOf(launcher), or "" for the newest
// release. Errors: the decisions of the plan that the launcher can't be told and that change what
// is computed, the seconds or the memory of a step. One of them is one line with the decision, what
// there is instead and how to plan for it; of several each has its line. Example:
//   Megatron-LM has the schedules 1f1b and interleaved, and the plan has gpipe; plan again with
//   '--fix schedule=1f1b', or with '--stack megatron-core'
Result<ExportedPlan> exportPlan(const Plan &plan, const SoftwareStack &software, Launcher launcher,
                                llvm::StringRef version = "");

// The stack that a plan was made for; on GPUs, where its launchers run, of those that differ there.
Result<SoftwareStack> stackOf(const Plan &plan);

} // namespace dtc
