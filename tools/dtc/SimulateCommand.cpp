// dtc simulate: runs a plan's step event by event.
#include "tools/dtc/Commands.h"
#include "tools/dtc/PlanFiles.h"

#include "compiler/explain/PlanPipeline.h"
#include "compiler/support/File.h"

namespace dtc {
namespace {

struct SimulateFlags {
  std::string file, trace, format = "text";
};

int runSimulate(const SimulateFlags &flags) {
  Result<Plan> plan = readPlan(flags.file, "simulating");
  if (!plan)
    return plan.error().report(llvm::errs());
  Result<SimulatedStep> step = compareWithSimulation(*plan);
  if (!step)
    return UserError(step.error().message, step.error().note, {flags.file}).report(llvm::errs());
  if (!flags.trace.empty()) {
    std::string trace;
    llvm::raw_string_ostream stream(trace);
    writeStepTrace(stream, step->simulation);
    if (Outcome wrote = writeFileAtomically(flags.trace, trace); !wrote)
      return wrote.error().report(llvm::errs());
  }
  if (flags.format == "json")
    llvm::outs() << simulationToJson(*plan, *step);
  else
    printSimulation(llvm::outs(), *plan, *step);
  return 0;
}

} // namespace

void addSimulate(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "simulate", "Runs a plan's step event by event\n\nExample:\n  dtc simulate plan.json --trace "
                  "trace.json   (open trace.json in ui.perfetto.dev)");
  auto flags = std::make_shared<SimulateFlags>();
  command->add_option("PLAN", flags->file, "plan JSON of 'dtc plan -o', or a .dte file")
      ->required();
  command->add_option("--trace", flags->trace,
                      "write the time line for chrome://tracing and ui.perfetto.dev to this file");
  command->add_option("--format", flags->format, "text or json, on stdout")
      ->check(CLI::IsMember({"text", "json"}));
  command->callback([flags, &exitCode] { exitCode = runSimulate(*flags); });
}

} // namespace dtc
