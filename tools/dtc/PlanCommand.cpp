// dtc plan: chooses how to spread a model over a cluster.
#include "compiler/decide/plan/PlanToJson.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/show/report/DecidedForUser.h"
#include "tools/dtc/DecidedForYou.h"
#include "tools/dtc/PlanningFlags.h"

#include "compiler/decide/decisions/Words.h"
#include "compiler/search/planner/PlanCache.h"
#include "compiler/show/explain/PlanText.h"
#include "compiler/show/explain/Recipes.h"
#include "compiler/show/explain/WhatIf.h"
#include "compiler/show/report/Report.h"
#include "compiler/support/File.h"
#include "compiler/support/Hints.h"
#include "compiler/support/Units.h"

#include "llvm/Support/FileSystem.h"

#include "mlir/IR/MLIRContext.h"

namespace dtc {
namespace {

struct PlanFlags : PlanningFlags {
  std::string output, report, cache, format = "text";
  int64_t spareNodes = 0;
};

Result<PlanCache> openCache(const std::string &folder) {
  return PlanCache::open(
      folder, llvm::sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&openCache)));
}

Status checkSpareNodes(int64_t spare, const Topology &topology) {
  if (spare < topology.nodes && (spare == 0 || topology.isUniform()))
    return {};
  return UserError("--spare-nodes " + std::to_string(spare) + " of '" + topology.name +
                       "', which has " + std::to_string(topology.nodes) +
                       (topology.isUniform() ? " nodes" : " nodes that differ"),
                   "use equal nodes, and leave at least one");
}

// Fills the cache with the plans for the nodes that are left when 1, 2, ... are lost, and prints
// the result of each on `out`.
Status planForLosses(const PlanFlags &flags, const PlanRequest &whole, const PlanCache &cache,
                     llvm::raw_ostream &out) {
  for (int64_t lost = 1; lost <= flags.spareNodes; ++lost) {
    PlanFlags fewer = flags;
    fewer.nodes = whole.topology.nodes - lost;
    Result<PlanRequest> request = requestOf(fewer, whole.model);
    if (!request)
      return request.error();
    bool wasFound = false;
    Result<PlanResult> planResult = planModel(*request, cache, wasFound);
    if (!planResult)
      return planResult.error();
    const Plan &plan = planResult->best;
    out << "  " << lost << (lost == 1 ? " node lost       " : " nodes lost      ") << plan.nodes
        << (plan.nodes == 1 ? " node, dp=" : " nodes, dp=") << plan.decisions.dp
        << " tp=" << plan.decisions.tp
        << (plan.decisions.hasUnevenTensor() ? " tp_of_parts=" + tensorOfPartsText(plan.decisions)
                                             : std::string())
        << " pp=" << plan.decisions.pp << " cp=" << plan.decisions.cp
        << (plan.decisions.cp > 1 ? " by " + contextText(plan.decisions) : std::string())
        << " ep=" << plan.decisions.ep << (plan.decisions.spreadsExperts('t') ? " etp=1" : "")
        << ", step " << printRounded(plan.predicted.stepSeconds, Quantity::Seconds)
        << (wasFound ? " (cached)" : "") << "\n";
  }
  return {};
}

// Returns a function that makes larger systems: with more devices if --devices is given, else with
// more nodes.
Enlarge largerSystems(const PlanFlags &flags, const PlanRequest &request) {
  int64_t nodes = request.topology.nodes;
  return [&flags, nodes](int64_t factor) -> std::optional<LargerSystem> {
    int64_t more = flags.devices * factor,
            moreNodes = flags.devices > 0 ? flags.nodes : nodes * factor;
    Result<Topology> topology = loadTopology(flags.topology, moreNodes, more);
    if (!topology)
      return std::nullopt;
    return LargerSystem{*topology, flags.devices > 0 ? "--devices " + std::to_string(more)
                                                     : "--nodes " + std::to_string(moreNodes)};
  };
}

Status checkOutputs(const PlanFlags &flags) {
  for (const std::string &file : {flags.output, flags.report})
    if (Status checked = checkWritable(file); !checked)
      return checked;
  if (!flags.output.empty() && flags.output == flags.report)
    return UserError("-o and --report both name '" + flags.output + "'",
                     "the first is the plan as JSON, the second a page: give each its own file");
  return {};
}

int runPlan(const PlanFlags &flags) {
  if (Status checked = checkOutputs(flags); !checked)
    return checked.error().report(llvm::errs());
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module = loadModelOf(context, flags);
  if (!module)
    return 1;
  Result<PlanRequest> request = requestOf(flags, *module);
  if (!request)
    return request.error().report(llvm::errs());
  if (Status checked = checkSpareNodes(flags.spareNodes, request->topology); !checked)
    return checked.error().report(llvm::errs());
  std::optional<PlanCache> cache;
  if (!flags.cache.empty()) {
    Result<PlanCache> opened = openCache(flags.cache);
    if (!opened)
      return opened.error().report(llvm::errs());
    cache = std::move(*opened);
  }
  bool wasFound = false;
  std::optional<Plan> leastMemory;
  Result<PlanResult> planResult = cache ? planModel(*request, *cache, wasFound, &leastMemory)
                                        : planModel(*request, &leastMemory);
  if (!planResult)
    return reportWithFile(leastMemory ? withRelaxations(*request, planResult.error(), *leastMemory,
                                                        largerSystems(flags, *request))
                                      : planResult.error(),
                          llvm::errs());
  if (!request->fixed.empty() && planResult->best.search.pins.empty())
    planResult->best.search.pins = pinCosts(*request, planResult->best);
  planResult->best.search.recipes = knownRecipes(*request, planResult->best);
  planResult->best.origin = originOf(flags, *request, planResult->best);
  std::string json = planToJson(planResult->best);
  DecidedForUser decided = decidedForYou(flags, *request, planResult->best);
  if (!flags.output.empty())
    if (Status wrote = writeFileAtomically(flags.output, json); !wrote)
      return wrote.error().report(llvm::errs());
  if (!flags.report.empty())
    if (Status wrote = writeFileAtomically(
            flags.report, reportPage(*planResult, request->topology, request->maxMemoryBytes,
                                     commandOf(flags, planResult->best), decided));
        !wrote)
      return wrote.error().report(llvm::errs());
  llvm::raw_ostream &out = llvm::outs();
  bool asText = flags.format == "text";
  out << (asText ? planToText(*planResult, request->topology) : json);
  if (asText)
    out << decidedText(decided) << "  again             " << commandOf(flags, planResult->best)
        << "\n";
  if (asText && wasFound)
    out << "  cache             this plan was in '" << flags.cache << "'\n";
  if (cache)
    if (Status planned = planForLosses(flags, *request, *cache, asText ? out : llvm::nulls());
        !planned)
      return planned.error().report(llvm::errs());
  return 0;
}

} // namespace

void addPlan(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "plan", "Chooses how to spread a model over a cluster\n\nExample:\n  dtc plan "
              "gpt2/config.json --seq-len 1024 --topology dgx-h100 --global-batch 64");
  auto flags = std::make_shared<PlanFlags>();
  flags->add(*command, /*planGiven=*/false);
  command->add_option("-o,--output", flags->output, "write the plan as JSON to this file")
      ->check(notEmpty());
  command
      ->add_option("--report", flags->report,
                   "write the plan, its time line and the candidates as one HTML page")
      ->check(notEmpty());
  CLI::Option *cache =
      command->add_option("--cache", flags->cache,
                          "folder of plans: take the plan from it, or write the new plan to it");
  command
      ->add_option("--spare-nodes", flags->spareNodes,
                   "also plan for the loss of up to this many nodes, into the cache")
      ->check(wholeNumber(1))
      ->needs(cache);
  command->add_option("--format", flags->format, "text or json, on stdout")
      ->check(oneOf({"text", "json"}));
  command->callback([flags, &exitCode] { exitCode = runPlan(*flags); });
}

} // namespace dtc
