// Stages with tensor-parallel degrees of their own cost the same as in plans where all stages have
// that degree.
#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/estimate/StageCoster.h"
#include "compiler/search/planner/TensorChoices.h"
#include "models/Gpt2.h"
#include "passes/Pipelines.h"
#include "test/unit/estimate/AppliedCells.h"
#include "test/unit/planner/CertifiedStack.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace dtc {
namespace {

// Stages of 8 devices on each of three groups, with 4 samples of a micro-batch in all.
class UnevenTensor : public testing::Test {
protected:
  UnevenTensor()
      : context(MLIRContext::Threading::DISABLED), module(gpt2()), folded(foldLayers(*module)),
        cells(folded), software(certifiedStack()), applied(cells, request) {
    topology = *loadTopology("mixed-l4-a100-h100");
    request.topology = &topology;
    request.software = &software;
    request.precision = cellPrecision(Precision::BF16, OptimizerKind::AdamW, software);
    request.memoryLimit = 1e12;
    request.bucketSizes = {8 << 20};
    even.tp = 4;
    even.dp = 2;
    even.pp = 3;
    even.microBatch = 4;
    even.numMicroBatches = 6;
    even.sequenceParallel = true;
  }

  OwningOpRef<ModuleOp> gpt2() {
    loadDialects(context);
    Gpt2Config config;
    config.vocabulary = 512;
    config.positions = 1024;
    config.width = 256;
    config.layers = 6;
    config.heads = 4;
    return completed(buildGpt2(&context, config, 1024));
  }

  std::vector<StageEstimate> stagesOf(const Decisions &d) {
    ModelCost cost = applied.cost(d);
    return stagesOfCut(StageInputs(cost, d, request), {{0, 0}, {1, 2}, {3, 5}}, ways);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  FoldedModel folded;
  CellStore cells;
  Topology topology;
  SoftwareStack software;
  EstimateRequest request;
  AppliedCells applied;
  Decisions even;
  std::vector<LayerWay> ways{{}, {Recompute::Full}, {}, {}, {Recompute::Selective}, {}};
};

TEST_F(UnevenTensor, LeavesAsManyDevicesAndSamples) {
  Decisions d = even;
  d.tensorOfParts = {1, 4, 2};
  Decisions first = d.onPart(0), second = d.onPart(1), third = d.onPart(2);
  EXPECT_EQ(std::tuple(first.tp, first.dp, first.microBatch, first.sequenceParallel),
            std::tuple(1, 8, 1, false));
  EXPECT_EQ(second, even);
  EXPECT_EQ(std::tuple(third.tp, third.dp, third.microBatch, third.sequenceParallel),
            std::tuple(2, 4, 2, true));
  EXPECT_EQ(d.onPart(17), even); // A stage over several groups has the mesh's degree.
  EXPECT_TRUE(d.hasUnevenTensor());
  EXPECT_FALSE(first.hasUnevenTensor());
  EXPECT_EQ(first.devices(), d.devices());
}

// One rank of dp has no replicas, unless a group has more.
TEST_F(UnevenTensor, HasReplicasWherePartsHave) {
  Decisions d;
  d.tp = 4;
  d.pp = 2;
  EXPECT_FALSE(d.hasReplicas());
  d.tensorOfParts = {4, 1};
  EXPECT_TRUE(d.hasReplicas());
}

TEST_F(UnevenTensor, CostsEachStageAsTheMeshOfItsRanks) {
  int compared = 0;
  for (int64_t zero : {0, 1, 2, 3})
    for (int partOrder : {0, 1, 4})
      for (TensorOfParts tensor : {TensorOfParts{1, 4, 2}, {4, 2, 2}, {2, 1, 4}, {4, 1, 1}}) {
        Decisions d = even;
        d.zero = zero;
        d.partOrder = partOrder;
        d.tensorOfParts = tensor;
        std::vector<StageEstimate> stages = stagesOf(d);
        for (size_t stage = 0; stage < 3; ++stage) {
          int64_t part = ranksOfStage(d, topology, static_cast<int64_t>(stage)).front() / 8;
          Decisions similar = d.onPart(static_cast<size_t>(part));
          ASSERT_EQ(similar.tp, tensor[static_cast<size_t>(part)]);
          StageEstimate other = stagesOf(similar)[stage];
          const StageEstimate &own = stages[stage];
          EXPECT_EQ(own.forward, other.forward);
          EXPECT_EQ(own.backwardInput, other.backwardInput);
          EXPECT_EQ(own.backwardWeight, other.backwardWeight);
          EXPECT_EQ(own.exposedSeconds, other.exposedSeconds);
          EXPECT_EQ(own.gradientSeconds, other.gradientSeconds);
          EXPECT_EQ(own.optimizerSeconds, other.optimizerSeconds);
          EXPECT_EQ(own.keptPerMicroBatch, other.keptPerMicroBatch);
          EXPECT_EQ(own.memory.parameters, other.memory.parameters);
          EXPECT_EQ(own.memory.gradients, other.memory.gradients);
          EXPECT_EQ(own.memory.optimizer, other.memory.optimizer);
          EXPECT_EQ(own.memory.activations, other.memory.activations);
          EXPECT_EQ(own.memory.total(), other.memory.total());
          ++compared;
        }
      }
  EXPECT_EQ(compared, 4 * 3 * 4 * 3);
}

// Every rank sends an equal share of a stage's output, whatever share of a sample tensor
// parallelism gives it. Without sequence parallelism the ranks that split tensors gather the
// output; ranks that split none do not.
TEST_F(UnevenTensor, SendsAsMuchAndGathersWhereTensorsAreSplit) {
  Decisions d = even;
  ModelCost sharded = applied.cost(d);
  double part = sharded.blocks.front().input;
  d.tensorOfParts = {1, 4, 1};
  ModelCost uneven = applied.cost(d);
  EXPECT_EQ(uneven.transfers, sharded.transfers);
  d.sequenceParallel = false;
  ModelCost whole = applied.cost(d);
  EXPECT_EQ(whole.blocks.front().input, 4 * part);
  ASSERT_EQ(whole.transfers.size(), 2u);
  double gather = collectiveSeconds(CollectiveKind::AllGather, 4 * part, {{4, 1}},
                                    topology.groups[1].device.name == topology.parts[1].device.name
                                        ? topology.slice(8, 8)
                                        : topology);
  // Group 1, the A100s, is on both boundaries of stages 0, 1 and 2.
  EXPECT_DOUBLE_EQ(whole.transfers[0], sharded.transfers[0] + gather);
  EXPECT_DOUBLE_EQ(whole.transfers[1], sharded.transfers[1] + gather);
  EXPECT_EQ(whole.transferSeconds, std::max(whole.transfers[0], whole.transfers[1]));
  d.tensorOfParts = {1, 1, 4};
  ModelCost last = applied.cost(d);
  EXPECT_EQ(last.transfers[0], sharded.transfers[0]);
  EXPECT_GT(last.transfers[1], sharded.transfers[1]);
}

class TensorChoices : public testing::Test {
protected:
  TensorChoices() {
    topology = loadTopology("mixed-a100-h100")->slice(24, 16);
    limits.groups = topology.groups;
    mesh.tp = 4;
    mesh.dp = 2;
    mesh.pp = 2;
    mesh.microBatch = 4;
  }
  using Choices = std::vector<TensorOfParts>;
  Choices choices() { return tensorChoices(mesh, limits, pins); }

  Topology topology;
  SpaceLimits limits;
  Decisions mesh;
  Pins pins;
};

TEST_F(TensorChoices, AreThoseWithAsManyRanksOnOnePartAndFewerOnAnother) {
  EXPECT_EQ(choices(), (Choices{{}, {4, 1}, {4, 2}, {1, 4}, {2, 4}}));
  mesh.microBatch = 2; // can't be divided by four
  EXPECT_EQ(choices(), (Choices{{}, {4, 2}, {2, 4}}));
  mesh.microBatch = 1;
  EXPECT_EQ(choices(), Choices{{}});
}

TEST_F(TensorChoices, AreNoneWhereStagesSpanPartsOrSplitNothing) {
  mesh.tp = 1;
  EXPECT_EQ(choices(), Choices{{}});
  mesh.tp = 4;
  limits.groups = loadTopology("mixed-a100-h100")->slice(28, 8).groups; // 4 of each: half a stage
  EXPECT_EQ(choices(), Choices{{}});
  limits.groups = {limits.groups.front()};
  limits.groups.front().numDevices = 16;
  EXPECT_EQ(choices(), Choices{{}});
}

TEST_F(TensorChoices, KeepToPins) {
  pins.fix(&Decisions::tensorOfParts, {2, 4});
  EXPECT_EQ(choices(), (Choices{{2, 4}}));
  pins.fix(&Decisions::tp, 4); // set by reading the pin
  EXPECT_EQ(choices(), (Choices{{2, 4}}));
  pins.fix(&Decisions::tensorOfParts, TensorOfParts{});
  EXPECT_EQ(choices(), Choices{{}});
  for (int64_t Decisions::*of : {&Decisions::tp, &Decisions::dp, &Decisions::microBatch}) {
    pins = Pins();
    pins.fix(of, 4);
    EXPECT_EQ(choices(), Choices{{}}); // holds for all stages
  }
  pins = Pins();
  pins.fix(&Decisions::placement, true);
  EXPECT_EQ(choices(), Choices{{}});
  pins = Pins();
  pins.fix(&Decisions::zeroGroup, 2);
  EXPECT_EQ(choices(), Choices{{}});
}

} // namespace
} // namespace dtc
