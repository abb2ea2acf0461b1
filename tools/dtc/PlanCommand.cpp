// dtc plan: chooses how to spread a model over a cluster.
#include "tools/dtc/Planning.h"

#include "compiler/report/Report.h"
#include "compiler/support/File.h"

#include "mlir/IR/MLIRContext.h"

namespace dtc {
namespace {

struct PlanFlags : PlanningFlags {
  std::string output, report, format = "text";
};

int runPlan(const PlanFlags &flags) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module = loadModelOf(context, flags);
  if (!module)
    return 1;
  Result<PlanRequest> request = requestOf(flags, *module);
  if (!request)
    return request.error().report(llvm::errs());
  Result<PlanOutcome> outcome = planModel(*request);
  if (!outcome)
    return outcome.error().report(llvm::errs());
  std::string json = planToJson(outcome->best);
  if (!flags.output.empty())
    if (Outcome wrote = writeFileAtomically(flags.output, json); !wrote)
      return wrote.error().report(llvm::errs());
  if (!flags.report.empty())
    if (Outcome wrote = writeFileAtomically(
            flags.report, reportPage(*outcome, request->topology, request->maxMemoryBytes));
        !wrote)
      return wrote.error().report(llvm::errs());
  llvm::outs() << (flags.format == "json" ? json : planToText(*outcome, request->topology));
  return 0;
}

} // namespace

void addPlan(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "plan", "Chooses how to spread a model over a cluster\n\nExample:\n  dtc plan "
              "gpt2/config.json --seq-len 1024 --topology dgx-h100 --global-batch 64");
  auto flags = std::make_shared<PlanFlags>();
  flags->add(*command, /*planGiven=*/false);
  command->add_option("-o,--output", flags->output, "write the plan as JSON to this file");
  command->add_option("--report", flags->report,
                      "write the plan, its time line and the candidates as one HTML page");
  command->add_option("--format", flags->format, "text or json, on stdout")
      ->check(CLI::IsMember({"text", "json"}));
  command->callback([flags, &exitCode] { exitCode = runPlan(*flags); });
}

} // namespace dtc
