// Limits of 'dtc compile'.
#include "compiler/decide/plan/Executable.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "runtime/format/Limits.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {
namespace {

constexpr llvm::StringRef kCantYet = ", which dtc can't compile yet; plan with ";

} // namespace

std::string whyNotExecutable(const Plan &plan) {
  if (const Decision *each = findUncompilable(plan.decisions))
    return ("the plan has " + each->key + " = " + each->valueOf(plan.decisions) + kCantYet +
            each->program.mend)
        .str();
  return "";
}

double overLongest(const StepLength &length) {
  return std::max(static_cast<double>(length.instructions) /
                      static_cast<double>(format::maxExecuted),
                  static_cast<double>(length.stops) / static_cast<double>(format::maxStops));
}

std::string whyTooLong(const StepLength &length, int64_t microBatches) {
  auto over = [&](int64_t count, const char *what, uint64_t most) -> std::string {
    if (count <= static_cast<int64_t>(most))
      return "";
    return "a step of " + std::to_string(microBatches) + " micro-batches runs " +
           std::to_string(count) + " " + what + ", an executable at most " + std::to_string(most);
  };
  std::string why = over(length.instructions, "instructions", format::maxExecuted);
  return why.empty()
             ? over(length.stops, "records, waits, collectives and transfers", format::maxStops)
             : why;
}

} // namespace dtc
