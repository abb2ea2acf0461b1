// dtc simulate: runs a step of a plan event by event, or of an executable instruction by
// instruction.
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/show/explain/PrintSimulation.h"
#include "tools/dtc/Commands.h"
#include "tools/dtc/PlanFiles.h"

#include "compiler/show/explain/PlanPipeline.h"
#include "compiler/show/timeline/PrintTimeline.h"
#include "compiler/show/timeline/ProgramTrace.h"
#include "compiler/support/File.h"
#include "runtime/format/Verify.h"

#include <span>

namespace dtc {
namespace {

struct SimulateFlags {
  std::string file, topology, trace, against, format = "text";
};

Status writeTraceFile(const std::string &file,
                      llvm::function_ref<void(llvm::raw_ostream &)> write) {
  if (file.empty())
    return {};
  std::string trace;
  llvm::raw_string_ostream stream(trace);
  write(stream);
  return writeFileAtomically(file, trace);
}

int simulatePlanFile(const SimulateFlags &flags, const Plan &plan) {
  if (!flags.topology.empty())
    return UserError("--topology prices the instructions of an executable, and '" + flags.file +
                         "' is a plan, which has its costs",
                     "leave it out, or plan on that topology")
        .report(llvm::errs());
  if (!flags.against.empty())
    return UserError("--against compares with a run of an executable, and '" + flags.file +
                         "' is a plan",
                     "give the .dte file that was run")
        .report(llvm::errs());
  Result<SimulatedStep> step = compareWithSimulation(plan);
  if (!step)
    return UserError(step.error().message, step.error().note, {flags.file}).report(llvm::errs());
  if (Status wrote = writeTraceFile(
          flags.trace, [&](llvm::raw_ostream &out) { writeStepTrace(out, step->simulation); });
      !wrote)
    return wrote.error().report(llvm::errs());
  if (flags.format == "json")
    llvm::outs() << simulationToJson(plan, *step);
  else
    printSimulation(llvm::outs(), plan, *step);
  return 0;
}

// `contents` must be at an address that is a multiple of 16, such as that of a string on the heap.
int simulateExecutable(const SimulateFlags &flags, const std::string &contents, const Plan &plan) {
  Result<Topology> topology = loadTopology(
      flags.topology.empty() ? topologyOf(plan) : flags.topology, plan.nodes, plan.devices);
  if (!topology && flags.topology.empty())
    return UserError(topology.error().message,
                     "the plan was made for it; give what prices the program by --topology")
        .report(llvm::errs());
  if (!topology)
    return topology.error().report(llvm::errs());
  const format::Manifest *manifest = nullptr;
  std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(contents.data()),
                                 contents.size());
  if (rt::Status status = format::verifyExecutable(bytes, flags.file, manifest); !status.ok())
    return UserError(status.message()).report(llvm::errs());
  if (static_cast<int64_t>(manifest->rank_program()->size()) != plan.devices)
    return UserError("simulating '" + flags.file + "': the executable is for " +
                         std::to_string(manifest->rank_program()->size()) +
                         " ranks, and its plan for " + std::to_string(plan.devices) + " devices",
                     "compile the model again")
        .report(llvm::errs());
  Result<ProgramSimulation> simulation = simulateProgram(*manifest, costOn(*manifest, *topology));
  if (!simulation)
    return simulation.error().report(llvm::errs());
  std::optional<Comparison> measured;
  if (!flags.against.empty()) {
    Result<std::string> text = readFile(flags.against);
    if (!text)
      return text.error().report(llvm::errs());
    Result<Comparison> compared = compareWithTrace(*manifest, *simulation, *text, flags.against);
    if (!compared)
      return compared.error().report(llvm::errs());
    measured = std::move(*compared);
  }
  if (Status wrote = writeTraceFile(
          flags.trace,
          [&](llvm::raw_ostream &out) { writeProgramTrace(out, *manifest, *simulation); });
      !wrote)
    return wrote.error().report(llvm::errs());
  TimelineText about{plan.modelName, plan.predicted.stepSeconds};
  if (flags.format == "json")
    llvm::outs() << timelineToJson(about, *simulation, measured);
  else
    printTimeline(llvm::outs(), about, *simulation, measured);
  return 0;
}

int runSimulate(const SimulateFlags &flags) {
  Result<std::string> contents = readFile(flags.file);
  Result<Plan> plan = readPlan(flags.file, "simulating");
  if (!plan)
    return plan.error().report(llvm::errs());
  return contents && llvm::StringRef(*contents).starts_with("DTEX")
             ? simulateExecutable(flags, *contents, *plan)
             : simulatePlanFile(flags, *plan);
}

} // namespace

void addSimulate(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "simulate", "Simulates a step event by event: the schedule of a plan, or the instructions of "
                  "an executable\n\nExample:\n  dtc simulate gpt2.dte --trace trace.json   (open "
                  "trace.json in ui.perfetto.dev)");
  auto flags = std::make_shared<SimulateFlags>();
  command->add_option("FILE", flags->file, "a .dte file, or plan JSON of 'dtc plan -o'")
      ->required();
  command->add_option(
      "--topology", flags->topology,
      "the topology that prices an executable's instructions (default: the plan's)");
  command->add_option("--trace", flags->trace,
                      "write the time line for chrome://tracing and ui.perfetto.dev to this file");
  command->add_option("--against", flags->against,
                      "a profile of this executable by 'dtrun --profile', to compare with");
  command->add_option("--format", flags->format, "text or json, on stdout")
      ->check(oneOf({"text", "json"}));
  command->callback([flags, &exitCode] { exitCode = runSimulate(*flags); });
}

} // namespace dtc
