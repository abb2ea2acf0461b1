// dtc explain: shows what a stage, an op or a tensor of a plan does and costs.
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/show/explain/ExplainExperts.h"
#include "compiler/show/explain/ExplainOps.h"
#include "compiler/show/explain/ExplainParts.h"
#include "compiler/show/explain/ExplainStage.h"
#include "compiler/show/explain/ExplainTensor.h"
#include "tools/dtc/PlanFiles.h"
#include "tools/dtc/PlanningFlags.h"

#include "compiler/show/explain/ExplainRequest.h"
#include "compiler/show/explain/Figures.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"

namespace dtc {
namespace {

struct ExplainFlags {
  std::string file, op, tensor, model, topology, format = "text";
  int64_t stage = -1;
  bool experts = false;
};

// Returns the flags that load what the plan was made for. --model and --topology take precedence
// over the plan.
Result<PlanningFlags> flagsBehind(const ExplainFlags &flags, const Plan &plan) {
  PlanningFlags origin;
  origin.model = flags.model;
  if (!llvm::StringRef(flags.model).ends_with(".mlir"))
    origin.sequence = plan.sequenceLength;
  if (flags.model.empty())
    if (Status taken = takeModelOf(plan, flags.file, "explaining",
                                   "give --model config.json or model.mlir", origin);
        !taken)
      return taken.error();
  origin.topology =
      flags.topology.empty() ? fileNamedBy(flags.file, topologyOf(plan)) : flags.topology;
  origin.nodes = plan.origin.nodes;
  origin.devices = plan.devices;
  return origin;
}

int runExplain(const ExplainFlags &flags) {
  Result<Plan> plan = readPlan(flags.file, "explaining");
  if (!plan)
    return plan.error().report(llvm::errs());
  Result<PlanningFlags> origin = flagsBehind(flags, *plan);
  if (!origin)
    return origin.error().report(llvm::errs());
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> model = loadModelOf(context, *origin);
  if (!model)
    return 1;
  Result<Topology> topology = loadTopology(origin->topology, origin->nodes, origin->devices);
  if (!topology)
    return topology.error().report(llvm::errs());
  bool asked = flags.stage >= 0;
  size_t stage = asked ? static_cast<size_t>(flags.stage) : slowestStage(*plan);
  const Plan ofStage = planOfStage(*plan, *topology, stage);
  Result<CostedPlan> costed = costPlan(ofStage, *model, *topology, stage);
  if (!costed)
    return costed.error().report(llvm::errs());
  ExplainRequest request{ofStage, *costed, *model, flags.format == "json"};
  Status done;
  if (!flags.op.empty()) {
    done = explainOps(llvm::outs(), request, flags.op);
  } else if (!flags.tensor.empty()) {
    done = explainTensor(llvm::outs(), request, flags.tensor);
  } else if (flags.experts) {
    done = explainExperts(llvm::outs(), request, stage);
  } else {
    if (!asked && !request.json)
      llvm::outs() << figures::settingsText(*plan) << "\nThe slowest stage; --stage N, --op NAME "
                   << "and --tensor NAME explain others, single ops and parameters.\n\n";
    done = explainStage(llvm::outs(), request, static_cast<int64_t>(stage));
  }
  return done ? 0 : done.error().report(llvm::errs());
}

} // namespace

void addExplain(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "explain",
      "Explains what a stage, an op or a tensor of a plan does and costs\n\nExamples:\n "
      " dtc explain plan.json --stage 0\n  dtc explain plan.json --op mlp.c_fc\n  dtc "
      "explain plan.json --experts\n  dtc explain plan.json --tensor transformer.wte.weight");
  auto flags = std::make_shared<ExplainFlags>();
  command->add_option("PLAN", flags->file, "plan JSON of 'dtc plan -o', or a .dte file")
      ->required();
  auto *stage =
      command
          ->add_option("--stage", flags->stage, "the stage to explain (default: the slowest one)")
          ->check(wholeNumber(0));
  auto *op = command
                 ->add_option("--op", flags->op,
                              "all ops whose name, or parameter's name, contains this text")
                 ->check(notEmpty());
  auto *tensor = command
                     ->add_option("--tensor", flags->tensor,
                                  "the parameter of this name, or all whose name contains it")
                     ->check(notEmpty());
  op->excludes(stage)->excludes(tensor);
  tensor->excludes(stage);
  command
      ->add_flag("--experts", flags->experts,
                 "rows of experts, bytes of their exchange, and what uneven use costs")
      ->excludes(op)
      ->excludes(tensor);
  command->add_option("--model", flags->model,
                      "the model (default: the file that the plan was made from)");
  command->add_option("--topology", flags->topology, "the topology (default: the plan's)");
  command->add_option("--format", flags->format, "text or json, on stdout")
      ->check(oneOf({"text", "json"}));
  command->callback([flags, &exitCode] { exitCode = runExplain(*flags); });
}

} // namespace dtc
