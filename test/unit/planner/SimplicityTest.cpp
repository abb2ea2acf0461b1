// Tests which of two plans is simpler.
#include "compiler/search/planner/Simplicity.h"
#include "compiler/decide/decisions/AllDecisions.h"

#include "compiler/decide/decisions/Decision.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

namespace dtc {
namespace {

Decisions with(int64_t tp, int64_t pp, int64_t zero = 1) {
  Decisions d;
  d.dp = 8;
  d.tp = tp;
  d.pp = pp;
  d.zero = zero;
  return d;
}

Plan planOf(const Decisions &decisions, int64_t peakBytes) {
  Plan plan;
  plan.decisions = decisions;
  plan.predicted.peakMemoryBytes = peakBytes;
  return plan;
}

// Tests every row of the table alone.
TEST(ComplexityOf, AddsUpMechanisms) {
  EXPECT_EQ(complexityOf(Decisions()), 0);
  struct Case {
    const char *name;
    int points;
    void (*use)(Decisions &);
  };
  const Case cases[] = {
      {"tensor parallelism", 4, [](Decisions &d) { d.tp = 2; }},
      {"pipeline parallelism", 4, [](Decisions &d) { d.pp = 2; }},
      {"expert parallelism", 4, [](Decisions &d) { d.ep = 2; }},
      {"context parallelism", 5, [](Decisions &d) { d.cp = 2; }},
      {"a higher kind of ZeRO", 3, [](Decisions &d) { d.zero = 3; }},
      {"ZeRO within groups", 2, [](Decisions &d) { d.zeroGroup = 8; }},
      {"experts folded over tp", 1, [](Decisions &d) { d.foldedExperts = true; }},
      {"rounds of rows of experts", 1, [](Decisions &d) { d.expertRoomPerMille = 1250; }},
      {"tp by part", 2,
       [](Decisions &d) {
         d.tensorOfParts = {1, 2};
       }},
      {"virtual stages", 2, [](Decisions &d) { d.virtualStages = 2; }},
      {"vocabulary over stages", 3, [](Decisions &d) { d.vocabOverPp = 1; }},
      {"recomputation", 2, [](Decisions &d) { d.recompute = d.recomputeMost = Recompute::Full; }},
      {"loss in chunks", 1, [](Decisions &d) { d.lossChunks = 4; }},
      {"optimizer on the host", 3, [](Decisions &d) { d.offloadOptimizer = true; }},
      {"activations on the host", 3, [](Decisions &d) { d.layersOnHost = LayersOnHost::Some; }},
      {"searched placements", 1, [](Decisions &d) { d.placement = 2; }},
      {"compressed gradients", 2,
       [](Decisions &d) {
         d.compression = numbersOf({CompressKind::PowerSgd, 4});
       }},
      {"another order of axes", 1,
       [](Decisions &d) {
         d.order = {'t', 'c', 'p', 'd'};
       }},
  };
  size_t mechanisms = 0;
  for (const Decision *each : decisions())
    mechanisms += each->mechanism.points ? 1 : 0;
  EXPECT_EQ(std::size(cases) + 1, mechanisms); // split backward passes need a pipeline
  for (const Case &each : cases) {
    Decisions d;
    each.use(d);
    EXPECT_EQ(complexityOf(d), each.points) << each.name;
    EXPECT_EQ(mechanismsBeyond(Decisions(), d), each.name);
    EXPECT_EQ(mechanismsBeyond(d, Decisions()), "");
  }
  Decisions split = with(1, 2);
  split.schedule = ScheduleKind::ZeroBubbleH1;
  EXPECT_EQ(complexityOf(split) - complexityOf(with(1, 2)), 2);
  Decisions free = with(2, 1);
  free.sequenceParallel = true;
  free.zero = 0; // counts as ZeRO-1
  free.microBatch = 4;
  free.numMicroBatches = 8;
  EXPECT_EQ(complexityOf(free), complexityOf(with(2, 1)));
}

// A plan's layers do what its decisions say; those of a candidate may do less.
TEST(ComplexityOf, IsNoLessThanWhatASearchMayMakeOfIt) {
  Decisions may;
  may.recomputeMost = Recompute::Full;
  may.layersOnHost = LayersOnHost::Some;
  EXPECT_EQ(leastComplexityOf(may), 0);
  EXPECT_EQ(complexityOf(may), 6);
  may.recompute = Recompute::Selective;
  EXPECT_EQ(leastComplexityOf(may), 2);
}

TEST(Simplicity, ComesBeforeMemoryAndMemoryBeforeSeconds) {
  Decisions interleaved = with(1, 2), deeper;
  interleaved.virtualStages = 2;
  deeper = interleaved;
  deeper.virtualStages = 5;
  auto of = [](const Decisions &d, int64_t bytes, double seconds) {
    return simplicityOf(planOf(d, bytes), seconds);
  };
  EXPECT_LT(of(with(1, 2), 90, 2), of(interleaved, 50, 1));
  EXPECT_LT(of(interleaved, 90, 2), of(deeper, 50, 1));
  deeper.virtualStages = 4;
  EXPECT_LT(of(deeper, 50, 2), of(interleaved, 90, 1));
  EXPECT_LT(of(with(1, 2), 50, 2), of(with(1, 2), 90, 1));
  EXPECT_LT(of(with(1, 2), 50, 1), of(with(2, 1), 50, 2));
  EXPECT_LT(of(with(1, 1, 3), 90, 2), of(with(2, 1, 1), 50, 1)); // FSDP before tensor parallelism
}

TEST(ReasonToPassOver, NamesWhatSpeaksAgainstTheFastest) {
  Decisions interleaved = with(1, 2), deeper;
  interleaved.virtualStages = 2;
  deeper = interleaved;
  deeper.virtualStages = 5;
  EXPECT_EQ(reasonToPassOver(planOf(with(1, 2), 1), planOf(with(1, 2), 1)), "");
  EXPECT_EQ(reasonToPassOver(planOf(interleaved, 1), planOf(with(2, 1), 1)),
            "pipeline parallelism, virtual stages");
  EXPECT_EQ(reasonToPassOver(planOf(deeper, 1), planOf(interleaved, 2)), "virtual stages");
  Decisions larger = with(1, 2);
  larger.microBatch = 2;
  EXPECT_EQ(reasonToPassOver(planOf(larger, 2), planOf(with(1, 2), 1)), "more memory");
}

// The share is 1 %, or half of the noise if that is less: 0 for exact estimates.
TEST(TieShare, IsOnePercentAtMost) {
  EXPECT_EQ(tieShare(0.032), 0.01);
  EXPECT_EQ(tieShare(0.012), 0.006);
  EXPECT_EQ(tieShare(0), 0);
}

} // namespace
} // namespace dtc
