// dtc diff: compares two plans.
#include "compiler/show/explain/PrintDiff.h"
#include "tools/dtc/Commands.h"
#include "tools/dtc/PlanFiles.h"

#include "compiler/show/explain/PlanDiff.h"

namespace dtc {
namespace {

struct DiffFlags {
  std::string a, b, format = "text";
};

int runDiff(const DiffFlags &flags) {
  Result<Plan> a = readPlan(flags.a, "comparing");
  if (!a)
    return a.error().report(llvm::errs());
  Result<Plan> b = readPlan(flags.b, "comparing");
  if (!b)
    return b.error().report(llvm::errs());
  PlanDiff diff = diffPlans(*a, *b);
  if (flags.format == "json")
    llvm::outs() << diffToJson(*a, *b, diff);
  else
    printDiff(llvm::outs(), *a, *b, diff);
  return 0;
}

} // namespace

void addDiff(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "diff", "Compares two plans: decisions, time, memory, placements\n\nExample:\n  dtc diff "
              "megatron.json best.json");
  auto flags = std::make_shared<DiffFlags>();
  command->add_option("A", flags->a, "plan JSON of 'dtc plan -o', or a .dte file")->required();
  command->add_option("B", flags->b, "the plan to compare with it")->required();
  command->add_option("--format", flags->format, "text or json, on stdout")
      ->check(oneOf({"text", "json"}));
  command->callback([flags, &exitCode] { exitCode = runDiff(*flags); });
}

} // namespace dtc
