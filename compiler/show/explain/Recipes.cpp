// Ways to train that others publish or teach, beside a plan.
#include "compiler/show/explain/Recipes.h"

#include "compiler/decide/plan/Executable.h"
#include "compiler/show/explain/Figures.h"
#include "compiler/show/explain/Runners.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>
#include <tuple>

namespace dtc {
namespace {

constexpr int64_t kWorkOfRecipes = kSearchWork / 3;

// A configuration that was published for one model, whatever the number of replicas.
struct Published {
  llvm::StringRef name; // the publisher and the system
  int64_t layers, hidden, experts;
  llvm::StringRef pins;
};

constexpr Published kPublished[] = {
    // docs.nvidia.com/nemo/megatron-bridge, nightly of 2026: bridge.perf_recipes.llama.h100.llama3
    {"Megatron-Bridge, 8 H100", 32, 4096, 0, "tp=1,pp=1,cp=2,zero=1"},
    {"Megatron-Bridge, 64 H100", 80, 8192, 0, "tp=4,pp=4,cp=2,virtual_stages=5,zero=1"},
    // The same, llama31.
    {"Megatron-Bridge, 1,024 H100", 126, 16384, 0, "tp=8,pp=8,cp=2,zero=1"},
    // Grattafiori et al. 2024, arXiv:2407.21783, table 4
    {"Llama 3's authors, 16,384 H100", 126, 16384, 0, "tp=8,pp=16,cp=1"},
    // pytorch/torchtitan, docs/performance.md of 2024
    {"TorchTitan, 128 H100", 126, 16384, 0, "tp=8,pp=1,cp=1,zero=3"},
    // Liu et al. 2025, arXiv:2504.14960, table 3: without folding, and with it
    {"Megatron-Core, 128 H100", 56, 6144, 8, "tp=2,pp=8,cp=1,ep=4,zero=1"},
    {"Megatron-Core with folded experts, 128 H100", 56, 6144, 8,
     "tp=2,pp=8,cp=1,ep=8,etp=1,zero=1"},
    // NVIDIA/dgxc-benchmarking, gpt3, release 24.11.1
    {"NeMo, 128 H100", 96, 12288, 0, "tp=4,pp=8,cp=1,virtual_stages=12,zero=1"},
    // Narayanan et al. 2021, arXiv:2104.04473, table 2
    {"Megatron-LM, 384 A100", 96, 12288, 0, "tp=8,pp=12,cp=1"},
};

std::map<std::string, std::string> pinsFrom(llvm::StringRef text) {
  std::map<std::string, std::string> pins;
  llvm::SmallVector<llvm::StringRef> pairs;
  text.split(pairs, ',');
  for (llvm::StringRef pair : pairs) {
    auto [key, value] = pair.split('=');
    pins[key.str()] = value.str();
  }
  return pins;
}

std::string pinText(const std::map<std::string, std::string> &pins) {
  std::string text;
  for (const auto &[key, value] : pins)
    text += (text.empty() ? "" : ",") + key + "=" + value;
  return text;
}

// Nothing where both have a key with different values.
std::optional<std::map<std::string, std::string>>
joinedPins(std::map<std::string, std::string> pins,
           const std::map<std::string, std::string> &others) {
  for (const auto &[key, value] : others)
    if (auto [it, isNew] = pins.emplace(key, value); !isNew && it->second != value)
      return std::nullopt;
  return pins;
}

int64_t numLayersOf(const Plan &plan) {
  int64_t layers = 0;
  for (const PlanStage &stage : plan.stages)
    layers += static_cast<int64_t>(stage.recompute.size());
  return layers;
}

class RecipeCoster {
public:
  RecipeCoster(const PlanRequest &request, const Plan &plan, size_t recipes)
      : request(request), plan(plan), limit(figures::memoryLimitOf(plan, request.topology)) {
    this->request.searchWork = kWorkOfRecipes / static_cast<int64_t>(std::max<size_t>(1, recipes));
    this->request.mayIdle = false; // recipes are for all devices
  }

  // Nothing where the recipe can't be expressed.
  std::optional<Plan> planOf(const Recipe &recipe) {
    std::optional<std::map<std::string, std::string>> pins = joinedPins(recipe.pins, request.fixed);
    if (!pins)
      return std::nullopt;
    PlanRequest pinned = request;
    pinned.fixed = std::move(*pins);
    std::optional<Plan> least;
    Result<PlanResult> planResult = planModel(pinned, &least);
    if (!planResult && !least)
      return std::nullopt;
    Plan made = planResult ? std::move(planResult->best) : std::move(*least);
    made.predicted.fits &= planResult.ok();
    // A request that names no software gets only plans that 'dtc compile' takes.
    if (request.prefersExecutable && isExecutable(plan.decisions) && !isExecutable(made.decisions))
      return std::nullopt;
    return made;
  }

  KnownRecipe rowOf(const Recipe &recipe, const Plan &made) const {
    KnownRecipe row;
    row.name = recipe.name;
    row.pins = pinText(recipe.pins);
    row.stepSeconds = made.predicted.stepSeconds;
    row.peakMemoryBytes = made.predicted.peakMemoryBytes;
    row.fits = made.predicted.fits;
    row.isChosen = row.fits && made.decisions == plan.decisions;
    int64_t usable =
        plan.predicted.usableMemoryBytes > 0 ? plan.predicted.usableMemoryBytes : limit;
    if (!row.isChosen)
      row.losesOn = row.fits ? whyNot(plan, made)
                             : "does not fit: needs " + figures::bytes(row.peakMemoryBytes) +
                                   " of " + figures::bytes(usable);
    return row;
  }

private:
  PlanRequest request;
  const Plan &plan;
  int64_t limit;
};

} // namespace

std::vector<Recipe> recipesFor(int64_t layers, int64_t hidden, int64_t experts,
                               const Topology &topology) {
  std::vector<Recipe> recipes;
  int64_t devices = topology.numDevices(), perNode = topology.devicesPerNode;
  if (devices == 1)
    return recipes;
  auto add = [&](llvm::StringRef name, const std::string &pins) {
    recipes.push_back({name.str(), pinsFrom(pins)});
  };
  for (const Published &each : kPublished)
    if (each.layers == layers && each.hidden == hidden &&
        each.experts == (experts > 1 ? experts : 0))
      add(("published: " + each.name).str(), each.pins.str());
  std::string whole = experts > 1 ? ",ep=1" : ""; // each rank computes all experts
  std::string node = std::to_string(std::min(perNode, devices));
  add("data parallelism with ZeRO-1", "tp=1,pp=1,cp=1,zero=1" + whole);
  // Zhao et al. 2023, arXiv:2304.11277: full and hybrid sharding
  add("FSDP: ZeRO-3 over all devices", "tp=1,pp=1,cp=1,zero=3" + whole);
  if (devices > perNode && perNode > 1)
    add("HSDP: ZeRO-3 within a node", "tp=1,pp=1,cp=1,zero=3,zero_group=" + node + whole);
  if (experts > 1)
    // Rajbhandari et al. 2022, arXiv:2201.05596
    add("experts over a node, ZeRO-1",
        "tp=1,pp=1,cp=1,zero=1,ep=" +
            std::to_string(std::min(std::min(perNode, devices), experts)));
  if (perNode == 1)
    return recipes;
  // pytorch/torchtitan, docs/performance.md: two-dimensional parallelism of its larger models
  if (devices > perNode)
    add("tp of a node and FSDP", "pp=1,cp=1,zero=3,sp=1,tp=" + node);
  // Narayanan et al. 2021, arXiv:2104.04473, section 3: tensor parallelism up to a node, then as
  // few stages as fit
  for (int64_t stages = 1; stages <= std::min(devices / perNode, layers); stages *= 2)
    add("tp of a node, then few stages",
        "cp=1,zero=1,sp=1,tp=" + node + ",pp=" + std::to_string(stages));
  return recipes;
}

std::vector<KnownRecipe> knownRecipes(const PlanRequest &request, const Plan &plan) {
  std::vector<KnownRecipe> known;
  if (request.topology.device.deviceClass == DeviceClass::Cpu)
    return known;
  std::vector<Recipe> recipes = recipesFor(numLayersOf(plan), plan.architecture.hidden,
                                           plan.architecture.experts, request.topology);
  RecipeCoster coster(request, plan, recipes.size());
  std::set<Decisions> seen;
  for (size_t first = 0, end = 0; first < recipes.size(); first = end) {
    while (end < recipes.size() && recipes[end].name == recipes[first].name)
      ++end;
    std::optional<std::pair<size_t, Plan>> found; // the first that fits, or the smallest
    for (size_t index = first; index < end && (!found || !found->second.predicted.fits); ++index)
      if (std::optional<Plan> made = coster.planOf(recipes[index]);
          made && (!found || made->predicted.fits ||
                   made->predicted.peakMemoryBytes < found->second.predicted.peakMemoryBytes))
        found = {index, std::move(*made)};
    if (found && seen.insert(found->second.decisions).second)
      known.push_back(coster.rowOf(recipes[found->first], found->second));
  }
  auto rankOf = [](const KnownRecipe &row) {
    double figure = row.fits ? row.stepSeconds : static_cast<double>(row.peakMemoryBytes);
    return std::tuple(!row.fits, figure, row.name);
  };
  llvm::sort(known,
             [&](const KnownRecipe &a, const KnownRecipe &b) { return rankOf(a) < rankOf(b); });
  return known;
}

} // namespace dtc
