#include "compiler/show/export/Export.h"

#include "compiler/describe/stack/LoadStack.h"
#include "compiler/show/export/ExportedPlan.h"
#include "compiler/show/export/Launchers.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {
namespace {

// Each has a schema in test/export/launchers. The package megatron-core, whose versions are those
// of Megatron-LM here, has Megatron-LM's training code in it.
constexpr LauncherRelease kMegatronLm[] = {{"Megatron-LM", "0.19.2", "2026-10"},
                                           {"Megatron-LM", "d98e8a64", "2026-08-22"}};
constexpr LauncherRelease kMegatronBridge[] = {{"Megatron-Bridge", "0.6.2", "2026-10"},
                                               {"Megatron-Bridge", "067f987d", "2026-08-22"}};
constexpr LauncherRelease kTorchTitan[] = {{"torchtitan", launch::kTorchTitanRelease, "2026-09"},
                                           {"torchtitan", "b5bcd76c", "2026-08-21"}};
constexpr LauncherRelease kDeepSpeed[] = {{"DeepSpeed", launch::kDeepSpeedRelease, "2026-10"},
                                          {"DeepSpeed", "edaa7221", "2026-08-22"}};
constexpr LauncherRelease kMaxText[] = {{"MaxText", "0.2.5", "2026-10"},
                                        {"MaxText", "e591f30c", "2026-08-22"}};

struct Row {
  llvm::StringRef name;
  Result<ExportedPlan> (*write)(const launch::PlanView &);
  llvm::ArrayRef<LauncherRelease> releases;
};

// In the order of Launcher.
constexpr Row rows[] = {{"megatron-lm", launch::exportToMegatronLm, kMegatronLm},
                        {"megatron-bridge", launch::exportToMegatronBridge, kMegatronBridge},
                        {"torchtitan", launch::exportToTorchTitan, kTorchTitan},
                        {"deepspeed", launch::exportToDeepSpeed, kDeepSpeed},
                        {"maxtext", launch::exportToMaxText, kMaxText}};

} // namespace

llvm::ArrayRef<llvm::StringRef> launcherNames() {
  static constexpr llvm::StringRef names[] = {rows[0].name, rows[1].name, rows[2].name,
                                              rows[3].name, rows[4].name};
  return names;
}

std::optional<Launcher> launcherFrom(llvm::StringRef name) {
  for (auto [index, row] : llvm::enumerate(rows))
    if (row.name == name)
      return static_cast<Launcher>(index);
  return std::nullopt;
}

llvm::ArrayRef<LauncherRelease> releasesOf(Launcher launcher) {
  return rows[static_cast<size_t>(launcher)].releases;
}

Result<LauncherRelease> releaseFrom(Launcher launcher, llvm::StringRef version) {
  llvm::ArrayRef<LauncherRelease> releases = releasesOf(launcher);
  if (version.empty())
    return releases.front();
  std::vector<std::string> known;
  for (const LauncherRelease &release : releases) {
    if (release.version == version)
      return release;
    known.push_back((release.version + " (" + release.date + ")").str());
  }
  return UserError(("--launcher-version " + version + ": exports to " + releases.front().name +
                    " are written for the versions " + launch::listOf(known))
                       .str(),
                   ("leave it out for " + releases.front().version + ", the newest release").str());
}

Result<ExportedPlan> exportPlan(const Plan &plan, const SoftwareStack &software, Launcher launcher,
                                llvm::StringRef version) {
  Result<LauncherRelease> release = releaseFrom(launcher, version);
  if (!release)
    return release.error();
  launch::PlanView view(plan, software, *release);
  // A plan that somebody edited, and no launcher's fault.
  if (plan.decisions.pp > 1)
    if (std::string what = launch::findMisplacedChunk(view); !what.empty())
      return UserError("the plan's " + what + "; plans of 'dtc plan' have them there");
  Result<ExportedPlan> out = rows[static_cast<size_t>(launcher)].write(view);
  if (out && plan.decisions.tp > 1 && software.searchesPlacements)
    out->notes.push_back("the plan splits ops over tp for '" + software.name +
                         "', which follows any split; " + release->name.str() +
                         " has Megatron's alone: plan with its own --stack for its seconds and "
                         "memory");
  return out;
}

Result<SoftwareStack> stackOf(const Plan &plan) {
  Result<SoftwareStack> stack = loadStack(plan.origin.software);
  if (!stack || stack->onGpu.empty())
    return stack;
  return loadStack(stack->onGpu);
}

} // namespace dtc
