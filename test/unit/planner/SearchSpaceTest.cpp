// Tests the choices of the space, computed by hand for small cases.
#include "compiler/decide/decisions/Words.h"
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/search/planner/ContextChoices.h"
#include "compiler/search/planner/DetailSpace.h"
#include "compiler/search/planner/ExpertTemplates.h"
#include "compiler/search/planner/LossChoices.h"
#include "compiler/search/planner/MeshSpace.h"
#include "compiler/search/planner/ZeroGroups.h"

#include "gtest/gtest.h"

#include <set>

namespace dtc {
namespace {

SpaceLimits limitsOf(int64_t devices, int64_t batch, int64_t layers, int64_t sequence) {
  SpaceLimits limits;
  limits.devices = devices;
  limits.globalBatch = batch;
  limits.layers = layers;
  limits.sequence = sequence;
  return limits;
}

// Returns the set of `choose` over all meshes.
template <typename Choose> auto chosen(const SpaceLimits &limits, const Pins &pins, Choose choose) {
  std::set<decltype(choose(Decisions()))> found;
  Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
  EXPECT_TRUE(meshes.ok());
  if (meshes)
    for (const Decisions &d : *meshes)
      found.insert(choose(d));
  return found;
}

using Numbers = std::set<int64_t>;
using Pairs = std::set<std::pair<int64_t, int64_t>>;

TEST(EnumerateMeshes, HasEveryDivisor) {
  SpaceLimits limits = limitsOf(16, 16, 4, 128);
  EXPECT_EQ(chosen(limits, {}, [](const Decisions &d) { return d.tp; }), (Numbers{1, 2, 4, 8, 16}));
  EXPECT_EQ(chosen(limits, {}, [](const Decisions &d) { return d.pp; }), (Numbers{1, 2, 4}));
  Pins pins;
  pins.fix(&Decisions::dp, 4);
  limits.globalBatch = 24; // 6 samples a rank
  EXPECT_EQ(chosen(limits, pins, [](const Decisions &d) { return d.microBatch; }),
            (Numbers{1, 2, 3, 6}));
  EXPECT_EQ(
      chosen(limits, pins, [](const Decisions &d) { return d.microBatch * d.numMicroBatches; }),
      (Numbers{6}));
}

// tp divides the kv heads for software that can't have one on several ranks.
TEST(EnumerateMeshes, SplitsKvHeadsWhereTheSoftwareDoes) {
  SpaceLimits limits = limitsOf(16, 16, 4, 128);
  limits.space = loadStack("dtc")->space;
  limits.kvHeads = 4;
  auto tpOf = [](const Decisions &d) { return d.tp; };
  EXPECT_EQ(chosen(limits, {}, tpOf), (Numbers{1, 2, 4, 8, 16}));
  limits.space->splitsKvHeads = false;
  EXPECT_EQ(chosen(limits, {}, tpOf), (Numbers{1, 2, 4}));
  Pins pins;
  pins.fix(&Decisions::tp, 8);
  Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
  ASSERT_FALSE(meshes);
  EXPECT_EQ(meshes.error().message,
            "--fix tp=8 does not divide the 4 kv heads of the model, and the stack has no kv head "
            "on several ranks");
  EXPECT_EQ(meshes.error().note, "the nearest that does is tp=4");
  pins = Pins();
  pins.fix(&Decisions::dp, 2);
  pins.fix(&Decisions::pp, 1);
  pins.fix(&Decisions::cp, 1);
  EXPECT_EQ(enumerateMeshes(limits, pins).error().message,
            "tp=8, which --fix leaves, does not divide the 4 kv heads of the model, and the stack "
            "has no kv head on several ranks");
  limits.kvHeads = 0;
  EXPECT_EQ(chosen(limits, {}, tpOf), (Numbers{1, 2, 4, 8, 16}));
}

// Experts that tp splits are spread over dp x cp, which is 1 here.
TEST(EnumerateMeshes, SaysWhatExpertsWant) {
  SpaceLimits limits = limitsOf(8, 16, 4, 128);
  limits.experts = limits.tokenGroups = 8;
  Pins pins;
  pins.fix(&Decisions::dp, 1);
  pins.fix(&Decisions::cp, 1);
  pins.fix(&Decisions::tp, 8);
  pins.fix(&Decisions::ep, 8);
  pins.fix(&Decisions::foldedExperts, false);
  Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
  ASSERT_FALSE(meshes);
  EXPECT_EQ(meshes.error().message, "no mesh is left of 8 devices with 8 experts");
  EXPECT_EQ(
      meshes.error().note,
      "without etp=1 ep divides dp x cp, with it sp is 1 and tp divides the 8 groups of tokens; "
      "leave ep, etp, tp or sp to the planner");
  pins.fix(&Decisions::foldedExperts, true);
  EXPECT_TRUE(enumerateMeshes(limits, pins));
}

// Micro-batches beyond 32 samples need a pin.
TEST(EnumerateMeshes, EndsAtMicroBatchesThatAreLongEnough) {
  SpaceLimits limits = limitsOf(1, 64, 1, 128);
  Pins pins;
  auto microBatch = [](const Decisions &d) { return d.microBatch; };
  EXPECT_EQ(chosen(limits, pins, microBatch), (Numbers{1, 2, 4, 8, 16, 32}));
  pins.fix(&Decisions::microBatch, 64);
  EXPECT_EQ(chosen(limits, pins, microBatch), (Numbers{64}));
}

// Executables may run 2^26 instructions in a step: those of a micro-batch by the layers of the
// fullest stage.
TEST(EnumerateMeshes, EndsAtStepsThatAreTooLong) {
  SpaceLimits limits = limitsOf(4, 1 << 17, 7, 128);
  auto shapeOf = [](const Decisions &d) {
    return std::tuple(d.dp, d.tp, d.pp, d.sequenceParallel, d.microBatch, d.numMicroBatches);
  };
  limits.executable = true;
  auto all = chosen(limits, {}, shapeOf);
  limits.instructionsOfLayer = 600;
  auto possible = all;
  std::erase_if(possible, [](const auto &mesh) {
    int64_t pp = std::get<2>(mesh), microBatches = std::get<5>(mesh);
    return microBatches * 600 * ((7 + pp - 1) / pp) > 1 << 26;
  });
  EXPECT_LT(possible.size(), all.size());
  EXPECT_EQ(chosen(limits, {}, shapeOf), possible);
  limits.executable = false;
  EXPECT_GT(chosen(limits, {}, shapeOf).size(), all.size());
}

// A rank has two parts of a sequence, so that causal work is even, and 512 tokens unless cp is
// pinned.
TEST(EnumerateMeshes, CutsSequencesInTwoPartsARank) {
  auto cpOf = [](const Decisions &d) { return d.cp; };
  EXPECT_EQ(chosen(limitsOf(8, 8, 1, 2048), {}, cpOf), (Numbers{1, 2, 4}));
  EXPECT_EQ(chosen(limitsOf(8, 8, 1, 2044), {}, cpOf),
            (Numbers{1, 2})); // 2 x 4 does not divide 2044
  EXPECT_EQ(chosen(limitsOf(8, 8, 1, 2046), {}, cpOf), (Numbers{1}));
  Pins pins;
  pins.fix(&Decisions::cp, 4);
  EXPECT_EQ(chosen(limitsOf(8, 8, 1, 64), pins, cpOf), (Numbers{4}));
}

// Programs have the kinds that the model's attention permits, and no context parallelism unasked
// where nothing is known of it.
TEST(EnumerateMeshes, CutSequencesOfProgramsAsAttentionPermits) {
  auto kindOf = [](const Decisions &d) {
    return d.cp == 1 ? std::string("none") : toString(d.contextKind).str();
  };
  using Kinds = std::set<std::string>;
  SpaceLimits limits = limitsOf(8, 8, 1, 2048);
  limits.executable = true;
  limits.kvHeads = limits.heads = 8;
  EXPECT_EQ(chosen(limits, {}, kindOf), (Kinds{"none"}));
  Pins pins;
  pins.fix(&Decisions::cp, 2);
  EXPECT_EQ(chosen(limits, pins, kindOf), (Kinds{"all-to-all", "all-gather", "ring"}));
  auto bit = [](ContextKind kind) { return 1u << static_cast<unsigned>(kind); };
  limits.contextKinds = bit(ContextKind::AllToAll) | bit(ContextKind::Ring);
  EXPECT_EQ(chosen(limits, {}, kindOf), (Kinds{"none", "all-to-all", "ring"}));
  limits.attentionKinds = bit(ContextKind::AllToAll); // a pin asks for what else mixes tokens
  limits.contextKinds = 0;
  EXPECT_EQ(chosen(limits, pins, kindOf), (Kinds{"all-to-all"}));
  pins.fix(&Decisions::contextKind, ContextKind::Ring); // 'dtc compile' says what is in the way
  EXPECT_EQ(chosen(limits, pins, kindOf), (Kinds{"ring"}));
  limits.experts = 8;
  EXPECT_EQ(chosen(limits, {}, kindOf), (Kinds{"none"}));
}

// Ranks have two runs of tokens, which those of tensor parallelism may share in programs.
TEST(EnumerateMeshes, CutSequencesInEqualRuns) {
  SpaceLimits limits = limitsOf(16, 8, 1, 16);
  limits.kvHeads = limits.heads = 16;
  Pins pins;
  pins.fix(&Decisions::cp, 4);
  auto largest = [&] {
    int64_t tp = 0;
    Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
    for (const Decisions &d : *meshes)
      tp = std::max(tp, d.tp);
    return tp;
  };
  EXPECT_EQ(largest(), 4); // of software that keeps sequences whole there
  limits.executable = true;
  EXPECT_EQ(largest(), 2);
  pins.fix(&Decisions::tp, 4);
  Result<std::vector<Decisions>> none = enumerateMeshes(limits, pins);
  ASSERT_FALSE(none);
  EXPECT_EQ(
      none.error().text(),
      "error: --fix cp=4,tp=4: the 2 tokens of a part of a sequence can't be cut into 4 equal "
      "parts\nnote: use tp=2");
}

// Logits of 2048 tokens and 50,000 words take 0.8 GB with their gradients.
TEST(LossChoices, CutLogitsThatTakeALargeShareOfMemory) {
  using Chunks = llvm::SmallVector<int64_t, 2>;
  SpaceLimits limits = limitsOf(8, 8, 1, 2048);
  limits.space = loadStack("dtc-gpu")->space;
  limits.logits = 2048 * 50'000;
  Decisions d;
  Pins pins;
  EXPECT_EQ(lossChoices(d, limits, pins), Chunks{1}); // nothing is known of the memory
  limits.memoryBytes = 6.5e9;
  EXPECT_EQ(lossChoices(d, limits, pins),
            (Chunks{1, 4, 16})); // 0.102 GB are left, 0.051 GB of them
  limits.sequence = 0;           // the model states none
  EXPECT_EQ(lossChoices(d, limits, pins), Chunks{1});
  limits.sequence = 2048;
  limits.memoryBytes = 6.6e9;
  EXPECT_EQ(lossChoices(d, limits, pins), Chunks{1});
  d.microBatch = 8;
  EXPECT_EQ(lossChoices(d, limits, pins), (Chunks{1, 4, 16, 64}));
  d.cp = d.tp = 2;
  EXPECT_EQ(lossChoices(d, limits, pins), (Chunks{1, 4, 16}));
  d = {};
  limits.memoryBytes = 6.5e9;
  limits.sequence = 510; // 5 and 30 divide it
  EXPECT_EQ(lossChoices(d, limits, pins), (Chunks{1, 5, 30}));
  limits.sequence = 514; // 2 and 257 do
  EXPECT_EQ(lossChoices(d, limits, pins), (Chunks{1, 2}));
  pins.fix(&Decisions::lossChunks, 3);
  EXPECT_EQ(lossChoices(d, limits, pins), Chunks{3});
  pins = Pins();
  limits.space = loadStack("gpu")->space; // has no switch for it
  EXPECT_EQ(lossChoices(d, limits, pins), Chunks{1});
}

// Swapping ranks share the kv heads of a tensor rank; there are 12 kv heads.
TEST(ContextChoices, ShareOutKvHeads) {
  SpaceLimits limits = limitsOf(64, 8, 1, 1 << 17);
  limits.kvHeads = 12;
  using Choice = std::pair<ContextKind, int64_t>;
  constexpr ContextKind ring = ContextKind::Ring, swap = ContextKind::AllToAll,
                        both = ContextKind::Both, gather = ContextKind::AllGather;
  Pins pins;
  auto choices = [&](int64_t tp, int64_t cp) {
    Decisions d;
    d.tp = tp;
    d.cp = cp;
    std::vector<Choice> found;
    for (const Decisions &choice : contextChoices(d, limits, pins))
      found.emplace_back(choice.contextKind, choice.contextInner);
    return found;
  };
  using Choices = std::vector<Choice>;
  EXPECT_EQ(choices(1, 1), (Choices{{ring, 1}}));
  EXPECT_EQ(choices(1, 4), (Choices{{ring, 1}, {swap, 1}, {both, 2}, {gather, 1}}));
  EXPECT_EQ(choices(1, 8), (Choices{{ring, 1}, {both, 2}, {both, 4}, {gather, 1}}));
  EXPECT_EQ(choices(2, 8), (Choices{{ring, 1}, {both, 2}, {gather, 1}}));
  EXPECT_EQ(choices(8, 4), (Choices{{ring, 1}, {gather, 1}})); // ranks share a kv head
  limits.kvHeads = 0;
  EXPECT_EQ(choices(1, 4), (Choices{{ring, 1}, {gather, 1}}));
  limits.kvHeads = 12;
  limits.space = loadStack("deepspeed")->space;
  EXPECT_EQ(choices(1, 4), (Choices{{swap, 1}}));
  EXPECT_EQ(choices(1, 8), Choices());
  limits.space = loadStack("megatron-core")->space;
  limits.slides = true;
  EXPECT_EQ(choices(1, 4), (Choices{{swap, 1}, {gather, 1}}));
  pins.fix(&Decisions::contextKind, ring);
  pins.fix(&Decisions::cp, 4);
  EXPECT_EQ(enumerateMeshes(limits, pins).error().message,
            "--fix cp=4,cp_kind=ring: the model has sliding windows, which the ring attention "
            "of the software lacks");
  pins = Pins();
  limits.space->slidesInRings = true;
  EXPECT_EQ(choices(1, 4), (Choices{{ring, 1}, {swap, 1}, {both, 2}, {gather, 1}}));
  limits.slides = false;
  pins.fix(&Decisions::contextKind, both);
  EXPECT_EQ(choices(1, 8), (Choices{{both, 2}, {both, 4}}));
  pins.fix(&Decisions::contextInner, 4);
  EXPECT_EQ(choices(1, 8), (Choices{{both, 4}}));
  EXPECT_EQ(choices(1, 1), Choices());
  pins.fix(&Decisions::cp, 8);
  auto kindOf = [](const Decisions &d) { return std::pair(d.contextKind, d.contextInner); };
  EXPECT_EQ(chosen(limits, pins, kindOf), (std::set<Choice>{{both, 4}}));
  pins.open(&Decisions::contextInner);
  pins.fix(&Decisions::contextKind, swap);
  Result<std::vector<Decisions>> none = enumerateMeshes(limits, pins);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "--fix cp=8,cp_kind=all-to-all: the ranks of an all-to-all do not "
            "divide the 12 kv heads of the model");
  pins.fix(&Decisions::tp, 2);
  pins.fix(&Decisions::cp, 4);
  EXPECT_EQ(enumerateMeshes(limits, pins).error().message,
            "--fix cp=4,cp_kind=all-to-all: the ranks of an all-to-all do not "
            "divide the 12 kv heads of the model, over tp=2 of them");
  pins.fix(&Decisions::cp, 2);
  pins.fix(&Decisions::contextKind, both);
  EXPECT_EQ(enumerateMeshes(limits, pins).error().message,
            "--fix cp=2,cp_kind=both: cp has no divisor between 1 and itself");
  // The number of devices determines cp if dp, tp and pp are pinned.
  auto errorOf = [&] {
    Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
    return meshes ? "" : meshes.error().message;
  };
  pins = Pins();
  pins.fix(&Decisions::dp, 8);
  pins.fix(&Decisions::pp, 1);
  pins.fix(&Decisions::cp, 4);
  pins.fix(&Decisions::contextKind, swap);
  EXPECT_EQ(errorOf(), "--fix cp=4,cp_kind=all-to-all: the ranks of an all-to-all "
                       "do not divide the 12 kv heads of the model, over tp=2 of them");
  pins.open(&Decisions::cp);
  pins.fix(&Decisions::tp, 8);
  EXPECT_EQ(errorOf(), "--fix tp=8 does not divide the 12 kv heads of the model, and ranks that "
                       "share them have to be a multiple");
  limits.space->unevenHeads = true;
  EXPECT_EQ(errorOf(),
            "--fix cp=1,cp_kind=all-to-all: a kind of context parallelism needs cp of 2 or more");
  pins = Pins();
  pins.fix(&Decisions::contextKind, both);
  pins.fix(&Decisions::contextInner, 5);
  EXPECT_EQ(errorOf(), "--fix cp_inner=5: the ranks of an all-to-all do not divide "
                       "the 12 kv heads of the model");
  pins.fix(&Decisions::contextInner, 2);
  EXPECT_EQ(chosen(limits, pins, [](const Decisions &d) { return d.cp > 1; }),
            (std::set<bool>{true}));
  // The error is not about the kind: one device has a ring, as all plans without context
  // parallelism.
  SpaceLimits one = limitsOf(1, 4, 1, 1 << 17), brief = limitsOf(8, 8, 1, 512);
  one.kvHeads = brief.kvHeads = 8;
  pins = Pins();
  pins.fix(&Decisions::contextKind, ring);
  pins.fix(&Decisions::microBatch, 3);
  EXPECT_EQ(enumerateMeshes(one, pins).error().message.substr(0, 19), "--fix micro_batch=3");
  pins = Pins();
  pins.fix(&Decisions::contextKind, swap);
  EXPECT_EQ(enumerateMeshes(one, pins).error().message,
            "--fix cp_kind=all-to-all: a kind of context parallelism needs cp of 2 or more");
  EXPECT_EQ(
      enumerateMeshes(brief, pins).error().message,
      "--fix cp_kind=all-to-all: a sequence of 512 tokens is not cut into 2 parts a rank with 512 "
      "tokens a rank");
  pins.fix(&Decisions::cp, 2);
  EXPECT_TRUE(enumerateMeshes(brief, pins).ok());
  // This software has rings alone.
  pins = Pins();
  pins.fix(&Decisions::cp, 4);
  limits.slides = true;
  limits.space->slidesInRings = false;
  limits.space->contextKinds = 1;
  EXPECT_EQ(
      errorOf(),
      "--fix cp=4: the model has sliding windows, which the ring attention of the software lacks");
}

// Sequence parallelism cuts each of cp's parts in tp.
TEST(EnumerateMeshes, SharesWhatIsLeftOfTheSequence) {
  SpaceLimits limits = limitsOf(8, 8, 1, 2052); // 4 x 513
  Pairs found;
  for (const Decisions &d : *enumerateMeshes(limits, {}))
    if (d.sequenceParallel)
      found.insert({d.tp, d.cp});
  EXPECT_EQ(found, (Pairs{{2, 1}, {4, 1}, {2, 2}}));
}

TEST(EnumerateMeshes, SharesOutExpertsEvenly) {
  SpaceLimits limits = limitsOf(8, 8, 1, 128);
  auto epOf = [](const Decisions &d) { return d.ep; };
  EXPECT_EQ(chosen(limits, {}, epOf), (Numbers{1}));
  limits.experts = 12;
  EXPECT_EQ(chosen(limits, {}, epOf), (Numbers{1, 2, 4}));
}

// Tokens in 4 groups let 2 or 4 ranks of tensor parallelism have whole experts on 8 devices with 12
// experts. Whole experts are spread over all of a stage's ranks, split ones over those of dp.
TEST(EnumerateMeshes, FoldsExpertsOverTensorParallelism) {
  SpaceLimits limits = limitsOf(8, 8, 1, 128);
  limits.experts = 12;
  limits.tokenGroups = 4;
  auto pairsOf = [&](bool folds, const Pins &pins = Pins()) {
    Pairs found;
    Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
    for (const Decisions &d : *meshes)
      if (d.foldedExperts == folds) {
        EXPECT_TRUE(d.sequenceParallel || !folds);
        found.insert({d.tp, d.ep});
      }
    return found;
  };
  EXPECT_EQ(pairsOf(true), (Pairs{{2, 1}, {2, 2}, {2, 4}, {4, 1}, {4, 2}, {4, 4}}));
  EXPECT_EQ(pairsOf(false),
            (Pairs{{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}, {2, 4}, {4, 1}, {4, 2}, {8, 1}}));
  Pins pins;
  pins.fix(&Decisions::foldedExperts, true);
  EXPECT_EQ(pairsOf(true, pins).size(), 6u);
  EXPECT_EQ(pairsOf(false, pins), (Pairs{{1, 1}, {1, 2}, {1, 4}}));
  pins.fix(&Decisions::foldedExperts, false);
  EXPECT_EQ(pairsOf(true, pins), Pairs());
  EXPECT_EQ(pairsOf(false, pins).size(), 9u);
  pins = {};
  pins.fix(&Decisions::sequenceParallel, 0);
  EXPECT_EQ(pairsOf(true, pins), Pairs());
  limits.experts = 1;
  EXPECT_EQ(pairsOf(true), Pairs());
}

// Orders that differ only in axes of one rank are one; pp is outermost for stages on heterogeneous
// devices.
TEST(EnumerateMeshes, OrdersAxesThatAreThere) {
  SpaceLimits limits = limitsOf(4, 4, 2, 128);
  Pins pins;
  pins.fix(&Decisions::tp, 2);
  pins.fix(&Decisions::pp, 2);
  pins.fix(&Decisions::sequenceParallel, 0);
  pins.fix(&Decisions::microBatch, 1);
  auto orderOf = [](const Decisions &d) { return d.order; };
  EXPECT_EQ(chosen(limits, pins, orderOf),
            (std::set<AxisOrder>{kMegatronOrder, {'p', 't', 'c', 'd'}}));
  Topology mixed = loadTopology("mixed-a100-h100")->slice(24, 16);
  limits.devices = 16;
  limits.groups = mixed.groups;
  pins.fix(&Decisions::dp, 4);
  for (const AxisOrder &order : chosen(limits, pins, orderOf))
    EXPECT_EQ(order.back(), 'p');
}

std::set<std::pair<ScheduleKind, int64_t>> schedulesOf(int64_t pp, int64_t layers, Pins pins = {}) {
  Decisions mesh;
  mesh.pp = pp;
  mesh.numMicroBatches = 8;
  std::set<std::pair<ScheduleKind, int64_t>> found;
  for (const Decisions &d : enumerateDetails(mesh, limitsOf(pp, 8, layers, 128), pins))
    found.insert({d.schedule, d.virtualStages});
  return found;
}

// A chunk needs a layer, except for the first and the last.
TEST(EnumerateDetails, HasSchedulesWithALayerAChunk) {
  using K = ScheduleKind;
  using Schedules = std::set<std::pair<K, int64_t>>;
  EXPECT_EQ(schedulesOf(1, 4), (Schedules{{K::OneForwardOneBackward, 1}}));
  EXPECT_EQ(schedulesOf(4, 5), (Schedules{{K::OneForwardOneBackward, 1},
                                          {K::GPipe, 1},
                                          {K::ZeroBubbleH1, 1},
                                          {K::ZeroBubble2P, 1}}));
  EXPECT_EQ(schedulesOf(2, 4), (Schedules{{K::OneForwardOneBackward, 1},
                                          {K::GPipe, 1},
                                          {K::ZeroBubbleH1, 1},
                                          {K::ZeroBubble2P, 1},
                                          {K::Interleaved, 2},
                                          {K::Interleaved, 3},
                                          {K::ZeroBubbleV, 2},
                                          {K::VHalf, 2},
                                          {K::VMin, 2}}));
  Pins pins;
  pins.fix(&Decisions::schedule, K::ZeroBubbleH1);
  EXPECT_EQ(schedulesOf(2, 4, pins), (Schedules{{K::ZeroBubbleH1, 1}, {K::ZeroBubbleV, 2}}));
  pins.fix(&Decisions::virtualStages, 2);
  EXPECT_EQ(schedulesOf(2, 4, pins), (Schedules{{K::ZeroBubbleV, 2}}));
  pins = {};
  pins.fix(&Decisions::schedule, K::VHalf);
  EXPECT_EQ(schedulesOf(2, 4, pins), (Schedules{{K::VHalf, 2}}));
  EXPECT_EQ(schedulesOf(1, 6, pins), Schedules()); // A V needs two stages.
}

// ZeRO shards among the ranks of dp and cp; its groups hold whole groups of experts.
TEST(EnumerateDetails, SharesOutAmongDataAndContextRanks) {
  SpaceLimits limits = limitsOf(8, 8, 1, 2048);
  auto zeros = [&](const Decisions &mesh, const Pins &pins) {
    Pairs found;
    for (const Decisions &d : enumerateDetails(mesh, limits, pins))
      found.insert({d.zero, d.zeroGroup});
    return found;
  };
  Decisions mesh;
  EXPECT_EQ(zeros(mesh, {}), (Pairs{{0, 0}}));
  mesh.tp = 4;
  EXPECT_EQ(zeros(mesh, {}), (Pairs{{0, 0}}));
  mesh.foldedExperts = true; // each of the four has all experts
  EXPECT_EQ(zeros(mesh, {}), (Pairs{{0, 0}, {1, 0}, {2, 0}, {3, 0}}));
  mesh.ep = 4; // each has its own
  EXPECT_EQ(zeros(mesh, {}), (Pairs{{0, 0}}));
  mesh = {};
  mesh.cp = 2;
  EXPECT_EQ(zeros(mesh, {}), (Pairs{{0, 0}, {1, 0}, {2, 0}, {3, 0}}));
  mesh.cp = 1;
  mesh.dp = 8;
  Pins pins;
  pins.fix(&Decisions::zeroGroup, 2);
  EXPECT_EQ(zeros(mesh, pins), (Pairs{{1, 2}, {2, 2}, {3, 2}}));
  mesh.ep = 4; // more than a group
  EXPECT_EQ(zeros(mesh, pins), Pairs());
  mesh.tp = 2;
  mesh.foldedExperts = true; // a group has 2 x 2 ranks
  EXPECT_EQ(zeros(mesh, pins), (Pairs{{1, 2}, {2, 2}, {3, 2}}));
  mesh.foldedExperts = false;
  pins.fix(&Decisions::zeroGroup, 8); // all of dp
  EXPECT_EQ(zeros(mesh, pins), (Pairs{{0, 0}, {1, 0}, {2, 0}, {3, 0}}));
}

using Ranks = std::vector<int64_t>;

Decisions meshOf(int64_t dp, int64_t tp = 1, int64_t cp = 1) {
  Decisions mesh;
  mesh.dp = dp;
  mesh.tp = tp;
  mesh.cp = cp;
  return mesh;
}

// Groups have every divisor but 1, which splits nothing, and all ranks.
TEST(ZeroGroups, DivideTheRanksOfData) {
  EXPECT_EQ(zeroGroupsOf(meshOf(2)), Ranks());
  EXPECT_EQ(zeroGroupsOf(meshOf(12)), (Ranks{2, 3, 4, 6}));
  EXPECT_EQ(zeroGroupsOf(meshOf(16, 8)), (Ranks{2, 4, 8}));
  Decisions mesh = meshOf(16);
  mesh.ep = 8; // A group of 4 does not have all their ranks.
  EXPECT_EQ(zeroGroupsOf(mesh), Ranks{8});
}

// Ranks of cp hold copies, too: a group has all of them.
TEST(ZeroGroups, HaveAllOfContext) {
  EXPECT_EQ(zeroGroupsOf(meshOf(16, 1, 16)), (Ranks{2, 4, 8}));
  Decisions mesh = meshOf(6, 1, 2);
  mesh.order = {'d', 't', 'c', 'p'}; // 2 x 2 of 6 ranks of dp would not be consecutive
  EXPECT_EQ(zeroGroupsOf(mesh), Ranks{3});
}

TEST(EnumerateGroups, AreOfAllStagesOfZeroThatSoftwareGroups) {
  SpaceLimits limits = limitsOf(8, 8, 4, 128);
  Decisions mesh = meshOf(8);
  auto groups = [&](int64_t zero, const Pins &pins = {}) {
    std::vector<int64_t> found;
    Decisions d = mesh;
    d.zero = zero;
    for (const Decisions &each : enumerateGroups(d, limits, pins))
      found.push_back(each.zeroGroup);
    return found;
  };
  EXPECT_EQ(groups(0), Ranks());
  for (int64_t zero : {1, 2, 3})
    EXPECT_EQ(groups(zero), (Ranks{2, 4}));
  mesh.offloadOptimizer = true;
  EXPECT_EQ(groups(1), (Ranks{2, 4}));
  mesh.offloadOptimizer = false;
  mesh.pp = 2;
  EXPECT_EQ(groups(3), (Ranks{2, 4}));
  mesh.pp = 1;
  Pins pins;
  pins.fix(&Decisions::zeroGroup, 0);
  EXPECT_EQ(groups(1, pins), Ranks());
  limits.space = loadStack("maxtext")->space;
  EXPECT_EQ(groups(1), Ranks());
  EXPECT_EQ(groups(3), (Ranks{2, 4}));
}

// Each choice comes with the optimizer on the device, then on the host if its memory is known.
TEST(EnumerateDetails, PutsTheOptimizerOnTheHostNext) {
  SpaceLimits limits = limitsOf(1, 1, 1, 128);
  Pins pins;
  pins.fix(&Decisions::recompute, Recompute::None);
  auto hosts = [&] {
    std::vector<bool> found;
    for (const Decisions &d : enumerateDetails(Decisions(), limits, pins))
      found.push_back(d.offloadOptimizer);
    return found;
  };
  EXPECT_EQ(hosts(), (std::vector<bool>{false}));
  limits.mayOffload = true;
  EXPECT_EQ(hosts(), (std::vector<bool>{false, true}));
  pins.fix(&Decisions::offloadOptimizer, 1);
  EXPECT_EQ(hosts(), (std::vector<bool>{true}));
}

std::string errorOf(const SpaceLimits &limits, const Pins &pins) {
  Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
  return meshes ? "" : meshes.error().text();
}

TEST(EnumerateMeshes, NamesTheNearestOfAPin) {
  SpaceLimits limits = limitsOf(12, 12, 4, 128);
  limits.topologyName = "t";
  limits.experts = 6;
  Pins pins;
  pins.fix(&Decisions::pp, 4);
  EXPECT_EQ(errorOf(limits, pins), ""); // a layer each
  pins.fix(&Decisions::pp, 6);
  EXPECT_EQ(errorOf(limits, pins), ""); // embedding and head alone
  pins.fix(&Decisions::pp, 12);
  EXPECT_NE(errorOf(limits, pins).find("the nearest choice is pp=6"), std::string::npos);
  limits.space = LegalSpace();
  limits.space->unevenStages = false;
  pins.fix(&Decisions::pp, 6);
  EXPECT_NE(errorOf(limits, pins).find("the nearest choice is pp=4"), std::string::npos);
  limits.space.reset();
  pins = {};
  pins.fix(&Decisions::tp, 5);
  EXPECT_NE(errorOf(limits, pins).find("the nearest that does is tp=4"), std::string::npos);
  pins = {};
  pins.fix(&Decisions::ep, 4);
  EXPECT_NE(errorOf(limits, pins).find("the nearest that does is ep=3"), std::string::npos);
  limits.tokenGroups = 8;
  pins = {};
  pins.fix(&Decisions::foldedExperts, true);
  pins.fix(&Decisions::tp, 6);
  EXPECT_NE(errorOf(limits, pins).find("--fix etp=1,tp=6 does not divide the 8 groups of tokens"),
            std::string::npos);
  EXPECT_NE(errorOf(limits, pins).find("the nearest that does is tp=4"), std::string::npos);
  limits.experts = 1;
  EXPECT_NE(errorOf(limits, pins).find("--fix etp=1: the model has no experts"), std::string::npos);
}

// The templates are Megatron's on one node, tensor parallelism with sp, and FSDP's over all
// devices. ZeRO has nothing to shard if dp is 1.
TEST(ExpertTemplates, AreMegatronsAndFsdps) {
  SpaceLimits limits = limitsOf(16, 16, 4, 128);
  Pairs found;
  for (const Decisions &d : expertTemplates(limits, {}, 8)) {
    EXPECT_EQ(d.zero, d.tp == 1 && d.pp == 1 && d.zero == 3 ? 3 : 1);
    EXPECT_TRUE(d.tp == 1 || d.sequenceParallel);
    EXPECT_EQ(d.cp, 1);
    found.insert({d.tp, d.pp});
  }
  EXPECT_EQ(found, (Pairs{{1, 1}, {1, 2}, {1, 4}, {2, 1}, {4, 1}, {8, 1}}));
}

} // namespace
} // namespace dtc
