// Compares the planner's estimate of memory with the static plan of the same program.
#include "bench/planner/StaticPlans.h"

#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/memory/ProgramMemory.h"
#include "compiler/price/memory/StaticMemory.h"
#include "compiler/price/workload/ApplyStack.h"
#include "compiler/search/planner/JointSearch.h"
#include "models/Gpt2.h"
#include "models/Llama.h"
#include "passes/Pipelines.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Format.h"

#include <limits>

namespace dtc::published {
namespace {

struct Shape {
  const char *name;
  int64_t vocabulary, width, layers, heads;
  int64_t kvHeads = 0, innerWidth = 0; // Llama's; 0 for GPT-2
  bool tied = true;
};

constexpr Shape shapes[] = {
    {"gpt2-quickstart", 256, 128, 4, 4},
    {"gpt2-mini", 50257, 256, 6, 4},
    {"gpt2-124m", 50257, 768, 12, 12},
    {"gpt2-355m", 50257, 1024, 24, 16},
    {"gpt2-deep", 8192, 512, 32, 8},
    {"gpt2-untied", 32000, 512, 8, 8, 0, 0, false},
    {"llama-small", 32000, 288, 6, 6, 6, 768},
    {"llama-1b", 128256, 2048, 16, 32, 8, 8192},
    {"llama-tiny", 32000, 2048, 22, 32, 4, 5632, false},
    {"llama-3b", 128256, 3072, 28, 24, 8, 8192},
};
constexpr int kDraws = 9; // number of draws for each shape

mlir::OwningOpRef<mlir::ModuleOp> build(mlir::MLIRContext *context, const Shape &shape,
                                        int64_t sequence) {
  if (shape.kvHeads == 0) {
    Gpt2Config config;
    config.vocabulary = shape.vocabulary;
    config.positions = sequence;
    config.width = shape.width;
    config.layers = shape.layers;
    config.heads = shape.heads;
    config.tied = shape.tied;
    return completed(buildGpt2(context, config, sequence));
  }
  LlamaConfig config;
  config.vocabulary = shape.vocabulary;
  config.width = shape.width;
  config.innerWidth = shape.innerWidth;
  config.layers = shape.layers;
  config.heads = shape.heads;
  config.kvHeads = shape.kvHeads;
  config.headDim = shape.width / shape.heads;
  config.rotary.base = 500000;
  config.tied = shape.tied;
  return completed(buildLlama(context, config, sequence));
}

// Draws numbers that are the same in every build (Steele et al. 2014, SplitMix64).
class Draw {
public:
  int64_t below(int64_t bound) {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<int64_t>((z ^ (z >> 31)) % static_cast<uint64_t>(bound));
  }
  int64_t power(int64_t least, int64_t most) { // Returns a power of two.
    int64_t value = least;
    for (int64_t left = below(16); left > 0; --left)
      value = value >= most ? least : 2 * value;
    return value;
  }

private:
  uint64_t state = 1;
};

bool divides(const Shape &shape, int64_t tp) {
  int64_t heads = shape.kvHeads ? shape.kvHeads : shape.heads;
  return heads % tp == 0 && shape.width % tp == 0;
}

Decisions drawDecisions(Draw &draw, const Shape &shape) {
  Decisions d;
  int64_t devices = draw.power(1, 16);
  do
    d.tp = draw.power(1, devices);
  while (!divides(shape, d.tp));
  d.dp = devices / d.tp;
  d.sequenceParallel = d.tp > 1 && draw.below(2);
  d.zero = d.dp > 1 ? draw.below(2) : 0;
  d.microBatch = draw.power(1, 8);
  d.numMicroBatches = draw.power(1, 4);
  return d;
}

std::string nameOf(const Shape &shape, int64_t sequence, const Decisions &d) {
  std::string name;
  llvm::raw_string_ostream(name) << shape.name << " seq=" << sequence << " dp=" << d.dp
                                 << " tp=" << d.tp << " sp=" << d.sequenceParallel
                                 << " zero=" << d.zero << " micro_batch=" << d.microBatch << " x"
                                 << d.numMicroBatches;
  return name;
}

// Returns the estimate that the search makes.
std::optional<double> estimatedBytes(mlir::ModuleOp module, const Decisions &d) {
  Topology topology = *loadTopology("cpu", 0, d.devices());
  SoftwareStack software = *loadStackFor(kOwnStack, topology.device);
  FoldedModel folded = foldLayers(module);
  CellStore cells(folded);
  ProgramMemory programs(module, OptimizerKind::AdamW);
  const PlacementPoint *own = cells.point(d.tp, d.sequenceParallel);
  if (!own)
    return std::nullopt;
  EstimateRequest request;
  request.topology = &topology;
  request.software = &software;
  request.precision = cellPrecision(Precision::F32, OptimizerKind::AdamW, software);
  request.memoryLimit = std::numeric_limits<double>::max();
  request.programs = &programs;
  ModelCells applied = applyStack(own->cells, software, request.precision.compute);
  ModelCost cost = costModel(applied, d, topology, request.precision);
  cost.placements = &own->placements;
  return estimateStep(cost, d, request).peakBytes;
}

std::optional<double> plannedBytes(mlir::ModuleOp module, const Decisions &d) {
  FoldedModel folded = foldLayers(module);
  CellStore cells(folded);
  const PlacementPoint *own = cells.point(d.tp, d.sequenceParallel);
  Plan plan = compiledPlan(d, OptimizerKind::AdamW);
  if (!own || !placeTensors(module, plan, own->placements))
    return std::nullopt;
  std::optional<std::vector<StaticSize>> bytes = staticSizes(module, plan);
  return bytes ? std::optional<double>(static_cast<double>(bytes->front().device)) : std::nullopt;
}

} // namespace

std::vector<StaticPlan> compareStaticPlans() {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  std::vector<StaticPlan> plans;
  Draw draw;
  for (const Shape &shape : shapes)
    for (int i = 0; i < kDraws; ++i) {
      int64_t sequence = draw.power(64, 1024);
      Decisions d = drawDecisions(draw, shape);
      auto module = build(&context, shape, sequence);
      std::optional<double> estimated = estimatedBytes(*module, d);
      std::optional<double> planned = plannedBytes(*module, d);
      if (estimated && planned)
        plans.push_back({nameOf(shape, sequence, d), *estimated, *planned});
    }
  return plans;
}

StaticPlanErrors errorsOf(std::vector<StaticPlan> plans) {
  if (plans.empty())
    return {};
  llvm::sort(plans, [](const StaticPlan &a, const StaticPlan &b) {
    return std::abs(a.off()) < std::abs(b.off());
  });
  return {std::abs(plans[plans.size() / 2].off()), plans.back()};
}

void printStaticPlans(const std::vector<StaticPlan> &plans, llvm::raw_ostream &out) {
  for (const StaticPlan &plan : plans)
    out << llvm::format("%7.2f %%  %9.1f MiB of %9.1f MiB  ", 100 * plan.off(),
                        plan.estimated / (1 << 20), plan.planned / (1 << 20))
        << plan.name << "\n";
  StaticPlanErrors errors = errorsOf(plans);
  out << plans.size()
      << llvm::format(" programs, estimate off by %.2f %% at the median, %.2f %% at most: ",
                      100 * errors.median, 100 * std::abs(errors.worst.off()))
      << errors.worst.name << "\n";
}

} // namespace dtc::published
