// Compares the estimate of a program's memory with the static plan of the program itself.
#include "compiler/price/memory/ProgramMemory.h"
#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/topology/LoadTopology.h"

#include "compiler/price/memory/StaticMemory.h"
#include "compiler/search/planner/PlacementFrontier.h"
#include "models/Gpt2.h"
#include "models/Llama.h"
#include "passes/Pipelines.h"
#include "test/unit/estimate/OwnStack.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <map>

namespace dtc {
namespace {

// The error that the design allows for estimates of programs that compile.
constexpr double kTolerance = 0.03;

class ProgramMemoryTest : public testing::Test {
protected:
  ProgramMemoryTest() : context(mlir::MLIRContext::Threading::DISABLED) { loadDialects(context); }

  mlir::OwningOpRef<mlir::ModuleOp> gpt2(int64_t layers, int64_t vocabulary = 8192) {
    Gpt2Config config;
    config.vocabulary = vocabulary;
    config.width = 256;
    config.layers = layers;
    config.heads = 4;
    return completed(buildGpt2(&context, config, 128));
  }

  mlir::OwningOpRef<mlir::ModuleOp> llama(int64_t layers, bool tied) {
    LlamaConfig config;
    config.vocabulary = 16384;
    config.width = 256;
    config.innerWidth = 704;
    config.layers = layers;
    config.heads = 8;
    config.kvHeads = 4;
    config.headDim = 32;
    config.tied = tied;
    return completed(buildLlama(&context, config, 128));
  }

  static Decisions decide(int64_t dp, int64_t tp, int64_t microBatch, int64_t microBatches) {
    Decisions d;
    d.dp = dp;
    d.tp = tp;
    d.microBatch = microBatch;
    d.numMicroBatches = microBatches;
    return d;
  }

  static SearchedPlacements megatron(mlir::ModuleOp model, const Decisions &d) {
    if (d.tp == 1)
      return {};
    return *PlacementSearcher(foldLayers(model)).megatron(d.tp, d.sequenceParallel);
  }

  // Uses Megatron's placements if none are given.
  void expectAgreement(mlir::ModuleOp model, const Decisions &d,
                       OptimizerKind optimizer = OptimizerKind::AdamW,
                       const SearchedPlacements *placements = nullptr, bool onGpu = false) {
    SearchedPlacements given = placements ? *placements : megatron(model, d);
    Plan plan = compiledPlan(d, optimizer);
    ASSERT_TRUE(placeTensors(model, plan, given));
    std::optional<std::vector<StaticSize>> planned = staticSizes(model, plan, onGpu);
    std::optional<MemoryParts> estimated =
        ProgramMemory(model, optimizer, Precision::F32, GradientType::F32, onGpu).of(d, given);
    ASSERT_TRUE(planned && estimated);
    auto bytes = static_cast<double>(planned->front().device);
    EXPECT_NEAR(estimated->total() / bytes, 1, kTolerance);
    EXPECT_EQ(planned->front().host > 0, d.offloadOptimizer);
    EXPECT_EQ(estimated->onHost, static_cast<double>(planned->front().host));
  }

  mlir::MLIRContext context;
};

// The squares of several layers' gradients are one launch.
TEST_F(ProgramMemoryTest, CountsSumsInParts) {
  expectAgreement(*gpt2(8), decide(1, 1, 4, 1), OptimizerKind::AdamW, nullptr, /*onGpu=*/true);
  expectAgreement(*llama(8, true), decide(1, 1, 4, 1), OptimizerKind::AdamW, nullptr,
                  /*onGpu=*/true);
}

TEST_F(ProgramMemoryTest, CountsOneRank) {
  expectAgreement(*gpt2(8), decide(1, 1, 4, 1));
  expectAgreement(*gpt2(8), decide(1, 1, 4, 1), OptimizerKind::Sgd);
  expectAgreement(*llama(8, true), decide(1, 1, 4, 1));
}

// Whole matrices in bf16 are gathered for an update and dropped behind it.
TEST_F(ProgramMemoryTest, CountsWholeMatrices) {
  expectAgreement(*llama(8, true), decide(1, 1, 4, 1), OptimizerKind::Muon);
  for (int64_t zero : {0, 1, 3}) {
    Decisions d = decide(2, 2, 4, 1);
    d.zero = zero;
    expectAgreement(*llama(8, false), d, OptimizerKind::Muon);
  }
}

// Frozen parameters keep only their own bytes: no gradient, no moments, no master copy.
TEST_F(ProgramMemoryTest, CountsFrozenParameters) {
  auto partsWith = [&](llvm::StringRef frozen, int64_t zero, Precision precision) {
    mlir::OwningOpRef<mlir::ModuleOp> model = gpt2(6);
    if (!frozen.empty())
      model->lookupSymbol<graph::ParameterOp>(frozen).setFrozen(true);
    Decisions d = decide(2, 1, 2, 2);
    d.zero = zero;
    if (precision == Precision::F32)
      expectAgreement(*model, d);
    return *ProgramMemory(*model, OptimizerKind::AdamW, precision).of(d, {});
  };
  struct Case {
    const char *name;
    double elements;
  };
  for (auto [name, elements] : {Case{"transformer.wte.weight", 8192 * 256.0},
                                Case{"transformer.h.{}.mlp.c_fc.weight", 6 * 256 * 1024.0}})
    for (int64_t zero : {0, 1, 2, 3})
      for (Precision precision : {Precision::F32, Precision::BF16}) {
        MemoryParts whole = partsWith("", zero, precision), less = partsWith(name, zero, precision);
        double ofState = zero >= 1 ? 0.5 : 1, ofGradient = zero >= 2 ? 0.5 : 1;
        double states = precision == Precision::F32 ? 8 : 12;
        EXPECT_EQ(whole.parameters, less.parameters)
            << name << " " << zero << nameOf(precision).str();
        EXPECT_EQ(whole.optimizer - less.optimizer, states * elements * ofState)
            << name << " " << zero << nameOf(precision).str();
        // In 16 bits, parts that are being sent are allocated and freed with them.
        double gradients = whole.gradients - less.gradients, wanted = 4 * elements * ofGradient;
        if (states == 8)
          EXPECT_EQ(gradients, wanted) << name << " " << zero;
        else
          EXPECT_GE(gradients, wanted) << name << " " << zero;
      }
}

// The model has fewer layers than a layer represents.
TEST_F(ProgramMemoryTest, CountsShortModels) {
  for (int64_t layers : {1, 2, 3, 4})
    expectAgreement(*gpt2(layers), decide(2, 1, 2, 2));
}

TEST_F(ProgramMemoryTest, CountsTokensOfAllMicroBatches) {
  for (int64_t microBatches : {2, 3, 5})
    expectAgreement(*gpt2(6), decide(1, 1, 2, microBatches));
}

// The result from a few micro-batches equals that of all of them, to the byte.
TEST_F(ProgramMemoryTest, KnowsManyMicroBatchesFromFew) {
  mlir::OwningOpRef<mlir::ModuleOp> model = gpt2(8);
  for (int64_t microBatches : {7, 8, 33, 64})
    for (int64_t pp : {1, 2, 4})
      for (int64_t microBatch : {1, 3}) {
        Decisions d = decide(2, 1, microBatch, microBatches);
        d.pp = pp;
        Plan plan = compiledPlan(d, OptimizerKind::AdamW);
        for (int64_t stage = 0; stage < pp; ++stage) {
          PlanStage &each = plan.stages.emplace_back();
          each.firstLayer = stage * 8 / pp;
          each.lastLayer = (stage + 1) * 8 / pp - 1;
          each.chunks = {{each.firstLayer, each.lastLayer}};
        }
        ASSERT_TRUE(placeTensors(*model, plan, {}));
        std::optional<std::vector<StaticSize>> few = staticSizes(*model, plan),
                                               whole = staticSizes(*model, plan, false, true);
        ASSERT_TRUE(few && whole) << microBatches << " " << pp;
        ASSERT_EQ(few->size(), static_cast<size_t>(pp));
        for (auto [a, b] : llvm::zip_equal(*few, *whole)) {
          EXPECT_EQ(a.device, b.device) << microBatches << " x " << microBatch << ", pp " << pp;
          EXPECT_EQ(a.host, b.host);
          EXPECT_EQ(a.length.instructions, b.length.instructions);
          EXPECT_EQ(a.length.stops, b.length.stops);
        }
      }
}

// This covers all ways to split, recompute and gather layers. For a plain step it is everything
// that a layer runs for a micro-batch.
TEST_F(ProgramMemoryTest, NoStepRunsFewerInstructionsOfLayers) {
  constexpr int64_t layers = 6, microBatches = 3;
  auto instructionsOf = [&](mlir::ModuleOp model, const Decisions &d) {
    Plan plan = compiledPlan(d, OptimizerKind::AdamW);
    EXPECT_TRUE(placeTensors(model, plan, megatron(model, d)));
    std::optional<std::vector<StaticSize>> sizes = staticSizes(model, plan);
    EXPECT_TRUE(sizes);
    return sizes ? sizes->front().length.instructions : 0;
  };
  for (bool isLlama : {false, true}) {
    auto build = [&](int64_t count) { return isLlama ? llama(count, true) : gpt2(count); };
    mlir::OwningOpRef<mlir::ModuleOp> model = build(layers), longer = build(layers + 1);
    ProgramMemory memory(*model, OptimizerKind::AdamW);
    int64_t ofLayer = memory.instructionsOfLayer();
    EXPECT_GT(ofLayer, 20);
    for (int64_t dp : {1, 2})
      for (int64_t tp : {1, 2})
        for (int64_t zero : {0, 1, 3})
          for (Recompute recompute : {Recompute::None, Recompute::Selective, Recompute::Full}) {
            Decisions d = decide(dp, tp, 2, microBatches);
            d.zero = dp > 1 ? zero : 0;
            d.recompute = d.recomputeMost = recompute;
            EXPECT_LE(layers * ofLayer * microBatches, instructionsOf(*model, d))
                << dp << " " << tp << " " << zero << " " << static_cast<int>(recompute);
          }
    // Counts without the layer's updates.
    auto ofMore = [&](int64_t count) {
      Decisions plain = decide(1, 1, 1, count);
      return instructionsOf(*longer, plain) - instructionsOf(*model, plain);
    };
    EXPECT_EQ(ofMore(microBatches + 1) - ofMore(microBatches), ofLayer);
  }
}

TEST_F(ProgramMemoryTest, CountsTensorParallelism) {
  Decisions d = decide(1, 4, 4, 1);
  expectAgreement(*gpt2(8), d);
  expectAgreement(*llama(8, false), d);
  d.sequenceParallel = true;
  expectAgreement(*gpt2(8), d);
  expectAgreement(*llama(8, false), d);
}

// Gradients are sent in buckets that span layers.
TEST_F(ProgramMemoryTest, CountsDataParallelism) {
  expectAgreement(*gpt2(16), decide(4, 1, 1, 1));
  expectAgreement(*gpt2(16), decide(4, 1, 1, 2));
  expectAgreement(*llama(12, false), decide(8, 2, 1, 1));
}

// Whole gradients end when they are sent, and few of the buffers that send them are in use.
TEST_F(ProgramMemoryTest, CountsZero1) {
  for (int64_t microBatches : {1, 2}) {
    Decisions d = decide(4, 1, 1, microBatches);
    d.zero = 1;
    expectAgreement(*gpt2(32), d);
    expectAgreement(*llama(32, false), d);
  }
  Decisions d = decide(4, 2, 2, 1);
  d.zero = 1;
  d.sequenceParallel = true;
  expectAgreement(*llama(12, true), d);
}

// Reductions over groups are merged, and so are their scatters.
TEST_F(ProgramMemoryTest, CountsGroupsThatShardByThemselves) {
  for (int64_t microBatches : {1, 2}) {
    Decisions d = decide(4, 1, 1, microBatches);
    d.zero = 1;
    d.zeroGroup = 2;
    expectAgreement(*gpt2(32), d);
    expectAgreement(*llama(16, false), d);
  }
}

// Host memory agrees to the byte, because nothing is bucketed there.
TEST_F(ProgramMemoryTest, CountsBothMemories) {
  for (int64_t zero : {0, 1}) {
    Decisions d = decide(4, 1, 1, 2);
    d.zero = zero;
    d.offloadOptimizer = true;
    expectAgreement(*gpt2(12), d);
    expectAgreement(*llama(8, false), d, OptimizerKind::Sgd);
  }
  Decisions d = decide(1, 2, 2, 1);
  d.offloadOptimizer = true;
  expectAgreement(*gpt2(8), d);
}

TEST_F(ProgramMemoryTest, CountsSearchedPlacements) {
  auto model = llama(8, false);
  Decisions d = decide(1, 4, 4, 1);
  Topology topology = *loadTopology("cpu", 0, 4);
  EstimateRequest request;
  request.topology = &topology;
  request.software = &ownStack(topology.device);
  request.precision = cellPrecision(Precision::F32, OptimizerKind::AdamW, *request.software);
  FoldedModel folded = foldLayers(*model);
  CellStore store(folded);
  PlacementFrontier frontier(store, request, {});
  for (const PlacementPoint *point : frontier.of(d.tp, d.sequenceParallel)) {
    expectAgreement(*model, d, OptimizerKind::AdamW, &point->placements);
    ++d.placement;
  }
  EXPECT_GT(d.placement, 1);
}

// Layers do not keep what they compute again.
TEST_F(ProgramMemoryTest, CountsRecomputation) {
  Decisions d = decide(1, 1, 4, 2);
  auto model = gpt2(8, /*vocabulary=*/64);
  std::map<Recompute, double> bytes;
  for (Recompute how : {Recompute::None, Recompute::Selective, Recompute::Full}) {
    d.recompute = d.recomputeMost = how;
    expectAgreement(*model, d);
    bytes[how] = ProgramMemory(*model, OptimizerKind::AdamW).of(d, {})->activations;
  }
  EXPECT_LT(bytes[Recompute::Selective], 0.8 * bytes[Recompute::None]);
  EXPECT_LT(bytes[Recompute::Full], 0.4 * bytes[Recompute::Selective]);
  Decisions split = decide(2, 2, 2, 1);
  split.sequenceParallel = true;
  split.recompute = split.recomputeMost = Recompute::Full;
  expectAgreement(*llama(8, true), split);
}

// This varies micro-batches, recomputation, buckets and sizes of models: everything that may
// matter.
TEST_F(ProgramMemoryTest, NoneNeedsLessThanTheLeast) {
  constexpr int64_t mebibyte = 1 << 20;
  int tight = 0, looked = 0;
  for (int64_t layers : {1, 2, 5}) {
    auto model = layers % 2 ? llama(layers, true) : gpt2(layers, 1024);
    for (auto [dp, tp] : {std::pair<int64_t, int64_t>(1, 1), {4, 1}, {2, 2}, {1, 4}})
      for (int64_t zero : {0, 1, 2, 3}) {
        if (dp == 1 && zero > 0)
          continue;
        SearchedPlacements placements;
        if (tp > 1)
          placements = *PlacementSearcher(foldLayers(*model)).megatron(tp, tp == 4);
        ProgramMemory programs(*model, OptimizerKind::AdamW);
        Decisions d = decide(dp, tp, 1, 1);
        d.sequenceParallel = tp == 4;
        d.zero = zero;
        for (auto [microBatch, microBatches] : {std::pair<int64_t, int64_t>(4, 1), {1, 3}, {3, 5}})
          for (Recompute most : {Recompute::None, Recompute::Selective, Recompute::Full}) {
            d.microBatch = microBatch;
            d.numMicroBatches = microBatches;
            d.recompute = Recompute::None;
            d.recomputeMost = most;
            // Estimates are asked for the smallest buckets, and for one without overlap.
            double least = std::numeric_limits<double>::infinity();
            for (int64_t bucketBytes : {4 * mebibyte, int64_t(0)}) {
              d.overlapGradients = bucketBytes > 0;
              d.bucketBytes = bucketBytes;
              least = std::min(least, programs.leastBytes(d, placements));
            }
            ASSERT_GT(least, 0);
            for (int64_t bucketBytes : {4 * mebibyte, 32 * mebibyte, int64_t(0)})
              for (Recompute how : {Recompute::None, Recompute::Selective, Recompute::Full}) {
                if (how > most)
                  continue;
                Decisions of = d;
                of.recompute = of.recomputeMost = how;
                of.overlapGradients = bucketBytes > 0;
                of.bucketBytes = bucketBytes;
                std::optional<MemoryParts> bytes = programs.of(of, placements);
                ASSERT_TRUE(bytes.has_value());
                ++looked;
                EXPECT_LE(least, bytes->total())
                    << layers << " layers, dp " << dp << " tp " << tp << " zero " << zero << ", "
                    << microBatches << " x " << microBatch << ", recomputes " << int(how) << " of "
                    << int(most) << ", buckets " << bucketBytes;
                tight += least > 0.97 * bytes->total();
              }
          }
      }
  }
  EXPECT_GT(tight, looked / 10);
}

// An arena that is good enough is not improved, and none is larger than a known smaller one: here
// the first one that is tried is a third of a percent above the best.
TEST_F(ProgramMemoryTest, StopsAtArenasThatAreGoodEnough) {
  auto model = llama(6, false);
  Decisions d = decide(4, 2, 2, 1);
  d.zero = 3;
  SearchedPlacements placements = *PlacementSearcher(foldLayers(*model)).megatron(2, false);
  double best = ProgramMemory(*model, OptimizerKind::AdamW).of(d, placements)->total();
  for (double share : {0.5, 0.9999, 1.0001, 1.001, 1.002, 1.003, 1.1}) {
    double bytes =
        ProgramMemory(*model, OptimizerKind::AdamW).of(d, placements, share * best)->total();
    EXPECT_GE(bytes, best);
    EXPECT_LE(bytes, std::max(1.0, share) * best);
    EXPECT_EQ(bytes > best, share > 1.05) << share;
  }
}

TEST_F(ProgramMemoryTest, SaysNothingOfWhatDoesNotCompile) {
  ProgramMemory programs(*gpt2(4), OptimizerKind::AdamW);
  Decisions pipeline = decide(1, 1, 1, 4), mixed = decide(1, 1, 1, 1);
  pipeline.pp = 2;
  mixed.recomputeMost = Recompute::Full;
  for (const Decisions &d : {pipeline, mixed})
    EXPECT_FALSE(programs.of(d, {}).has_value());
}

} // namespace
} // namespace dtc
