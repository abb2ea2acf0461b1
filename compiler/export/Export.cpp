#include "compiler/export/Export.h"

#include "compiler/export/Launchers.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {
namespace {

struct Row {
  llvm::StringRef name;
  Result<ExportedPlan> (*write)(const launch::PlanView &);
};

// In the order of Launcher.
constexpr Row rows[] = {{"megatron-lm", launch::exportToMegatronLm},
                        {"megatron-bridge", launch::exportToMegatronBridge},
                        {"torchtitan", launch::exportToTorchTitan},
                        {"deepspeed", launch::exportToDeepSpeed},
                        {"maxtext", launch::exportToMaxText}};

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

Result<ExportedPlan> exportPlan(const Plan &plan, const SoftwareStack &software,
                                Launcher launcher) {
  return rows[static_cast<size_t>(launcher)].write(launch::PlanView(plan, software));
}

Result<SoftwareStack> stackOf(const Plan &plan) {
  Result<SoftwareStack> stack = loadStack(plan.origin.software);
  if (!stack || stack->onGpu.empty())
    return stack;
  return loadStack(stack->onGpu);
}

} // namespace dtc
