// Adds up the memory of programs for GPUs.
#include "compiler/build/driver/FitMemory.h"

#include "compiler/support/Units.h"
#include "runtime/format/Communicators.h"
#include "runtime/format/Target.h"

#include "llvm/Support/FormatVariadic.h"

namespace dtc {

Status checkFits(const Plan &plan, const format::Manifest &manifest) {
  double usable = static_cast<double>(plan.predicted.usableMemoryBytes);
  if (!format::isForGpu(manifest) || !plan.predicted.fits || usable <= 0)
    return {};
  auto text = [](double bytes) { return printRounded(bytes, Quantity::Bytes); };
  format::Communicators communicators(manifest);
  for (uint32_t p = 0; p < manifest.programs()->size(); ++p) {
    size_t made = communicators.of(p).size();
    if (made == 0)
      continue;
    const PlanStage &stage = plan.stages[p < plan.stages.size() ? p : 0];
    auto arena = static_cast<double>(manifest.programs()->Get(p)->arena_bytes());
    auto buffers = static_cast<double>(communicators.bytesOf(p));
    auto reserved = static_cast<double>(stage.memory.reserved);
    if (double all = arena + buffers + reserved; all > usable)
      return UserError(
          llvm::formatv(
              "compiling '{0}': ranks of stage {1} need {2} of memory, {3} for the arena, "
              "{4} for the buffers of {5} communicators of NCCL and {6} for libraries; "
              "they may use {7}",
              plan.modelName, p, text(all), text(arena), text(buffers), made, text(reserved),
              text(usable))
              .str(),
          "plan with a larger --memory-margin, fewer axes of ranks or a smaller micro_batch; "
          "--max-memory none compiles it all the same");
  }
  return {};
}

} // namespace dtc
