// Tests the plans that the search leaves out for a stack, and the errors for pins that the stack
// does not support.
#include "compiler/search/planner/LegalPlans.h"
#include "compiler/decide/decisions/ReadPins.h"
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/topology/LoadTopology.h"

#include "compiler/decide/decisions/RecomputeMixes.h"
#include "compiler/describe/stack/StackFields.h"
#include "compiler/search/planner/DetailSpace.h"
#include "compiler/search/planner/MeshSpace.h"

#include <gtest/gtest.h>

#include <set>

using namespace dtc;

namespace {

LegalSpace spaceOf(const char *stack) { return loadStack(stack)->space; }

Decisions decisions(int64_t dp, int64_t tp, int64_t pp) {
  Decisions d;
  d.dp = dp;
  d.tp = tp;
  d.pp = pp;
  d.numMicroBatches = 8;
  return d;
}

std::string errorOf(const std::map<std::string, std::string> &fixed, const char *stack) {
  Result<Pins> pins = readPins(fixed);
  EXPECT_TRUE(pins.ok());
  std::optional<UserError> error = checkLegal(*pins, *loadStack(stack));
  return error ? error->message : "";
}

} // namespace

TEST(CheckPrecision, IsOfTheStackAndTheDevice) {
  Topology h100 = *loadTopology("dgx-h100", 1, 8), a100 = *loadTopology("dgx-a100-80g", 1, 8);
  SoftwareStack core = *loadStack("megatron-core"), deepspeed = *loadStack("deepspeed"),
                titan = *loadStack("torchtitan");
  for (const PrecisionRow &row : kPrecisions)
    EXPECT_FALSE(checkPrecision(row.value, core, h100)) << row.name.str();
  EXPECT_EQ(checkPrecision(Precision::FP8, deepspeed, h100)->message,
            "--precision fp8: software 'deepspeed' can't train in this precision");
  EXPECT_EQ(checkPrecision(Precision::F16, titan, h100)->note,
            "use f32, bf16, fp8; 'dtc stack show torchtitan' lists all under [space]");
  EXPECT_EQ(checkPrecision(Precision::FP8, core, a100)->message,
            "--precision fp8: device 'A100-SXM4-80GB' of 'dgx-a100-80g' has no matrix products in "
            "8 bits");
  EXPECT_FALSE(checkPrecision(Precision::BF16, core, a100));
}

TEST(IsLegal, HasAllThatIsCostedForDtc) {
  LegalSpace own = spaceOf("dtc");
  for (ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::Interleaved,
                            ScheduleKind::ZeroBubbleH1, ScheduleKind::ZeroBubbleV,
                            ScheduleKind::ZeroBubble2P, ScheduleKind::VHalf, ScheduleKind::VMin}) {
    Decisions d = decisions(2, 2, 4);
    d.schedule = kind;
    d.virtualStages = virtualStagesOf(kind).value_or(1);
    d.zero = 3;
    d.recomputeMost = Recompute::Selective;
    d.order = {'p', 't', 'c', 'd'};
    EXPECT_TRUE(isLegal(d, own, 7));
  }
}

TEST(IsLegal, SplitsTensorsOfPartsDifferentlyWhereTheStackDoes) {
  Decisions d = decisions(2, 4, 2);
  d.microBatch = 4;
  for (const char *stack : {"dtc", "dtc-gpu", "megatron-core", "megatron-bridge", "torchtitan"}) {
    d.tensorOfParts = {};
    EXPECT_TRUE(isLegalMesh(d, spaceOf(stack))) << stack;
    d.tensorOfParts = {4, 1};
    EXPECT_EQ(isLegalMesh(d, spaceOf(stack)), llvm::StringRef(stack).starts_with("dtc")) << stack;
  }
}

TEST(IsLegal, KeepsToSchedulesOfTheStack) {
  LegalSpace core = spaceOf("megatron-core");
  Decisions d = decisions(1, 1, 4);
  EXPECT_TRUE(isLegal(d, core, 8));
  d.schedule = ScheduleKind::ZeroBubbleH1;
  EXPECT_FALSE(isLegal(d, core, 8));
  EXPECT_TRUE(isLegal(decisions(4, 1, 1), core, 8));
  d.schedule = ScheduleKind::Interleaved;
  d.virtualStages = 2;
  EXPECT_TRUE(isLegal(d, core, 8));
  d.numMicroBatches = 6; // not divided by 4
  EXPECT_FALSE(isLegal(d, core, 8));
}

TEST(IsLegal, KeepsToAlgorithmsOfVocabulariesOverStages) {
  LegalSpace space = spaceOf("dtc");
  Decisions d = decisions(2, 1, 4);
  EXPECT_TRUE(isLegal(d, space, 8));
  d.vocabOverPp = 1;
  EXPECT_FALSE(isLegal(d, space, 8)); // no software runs it
  space.vocabOverPp = 0b10;
  EXPECT_FALSE(isLegal(d, space, 8));
  d.vocabOverPp = 2;
  EXPECT_TRUE(isLegal(d, space, 8));
  d.zero = 1;
  EXPECT_TRUE(isLegal(d, space, 8));
  d.zero = 2;
  EXPECT_FALSE(isLegal(d, space, 8));
  d.zero = 0;
  d.schedule = ScheduleKind::GPipe;
  EXPECT_FALSE(isLegal(d, space, 8));
  d.schedule = ScheduleKind::VHalf;
  d.virtualStages = 2;
  EXPECT_TRUE(isLegal(d, space, 8));
  d = decisions(8, 1, 1);
  d.vocabOverPp = 2;
  EXPECT_FALSE(isLegal(d, space, 8));
}

TEST(IsLegal, KeepsToZeroWithAndWithoutStages) {
  LegalSpace deepspeed = spaceOf("deepspeed");
  Decisions d = decisions(4, 1, 1);
  d.zero = 3;
  EXPECT_TRUE(isLegal(d, deepspeed, 8));
  d.pp = 2;
  EXPECT_FALSE(isLegal(d, deepspeed, 8));
  d.zero = 1;
  EXPECT_TRUE(isLegal(d, deepspeed, 8));
  d.offloadOptimizer = true;
  EXPECT_TRUE(isLegal(d, deepspeed, 8));
  EXPECT_FALSE(isLegal(d, spaceOf("torchtitan"), 8));
}

TEST(IsLegal, KeepsToZeroBesideContextsAndExperts) {
  auto isLegalWith = [](const char *stack, int64_t zero, int64_t cp, int64_t ep) {
    Decisions d = decisions(8, 1, 1);
    d.zero = zero;
    d.cp = cp;
    d.ep = ep;
    d.contextKind = ContextKind::AllGather;
    return isLegal(d, spaceOf(stack), 8);
  };
  for (int64_t zero : {0, 1, 2, 3}) {
    bool isMaxText = zero == 0 || zero == 3, isTitan = zero != 1; // legal if cp and ep are 1
    EXPECT_EQ(isLegalWith("maxtext", zero, 1, 1), isMaxText);
    EXPECT_EQ(isLegalWith("maxtext", zero, 2, 1), zero == 3);
    EXPECT_EQ(isLegalWith("maxtext", zero, 1, 4), zero == 3);
    EXPECT_EQ(isLegalWith("torchtitan", zero, 1, 1), isTitan);
    EXPECT_EQ(isLegalWith("torchtitan", zero, 2, 1), zero >= 2);
    EXPECT_EQ(isLegalWith("torchtitan", zero, 1, 4), zero >= 2);
    EXPECT_EQ(isLegalWith("megatron-core", zero, 2, 4), zero < 2);
  }
  // MaxText's experts are over fsdp, which does not include cp.
  EXPECT_TRUE(isLegalWith("maxtext", 3, 2, 8));
  EXPECT_FALSE(isLegalWith("maxtext", 3, 2, 16));
  EXPECT_TRUE(isLegalWith("torchtitan", 3, 2, 16));
}

// The distributed optimizer's state is on the host only together with ZeRO.
TEST(IsLegal, HasTheOptimizerOnTheHostWithZero) {
  Decisions d = decisions(8, 1, 1);
  d.offloadOptimizer = true;
  for (int64_t zero : {0, 1, 2, 3}) {
    d.zero = zero;
    EXPECT_EQ(isLegal(d, spaceOf("megatron-core"), 8), zero == 1);
    EXPECT_EQ(isLegal(d, spaceOf("maxtext"), 8), zero == 0 || zero == 3);
    EXPECT_EQ(isLegal(d, spaceOf("deepspeed"), 8), zero > 0);
    EXPECT_FALSE(isLegal(d, spaceOf("torchtitan"), 8));
    EXPECT_TRUE(isLegal(d, spaceOf("dtc-gpu"), 8));
  }
}

TEST(IsLegal, FillsStagesOfSchedulesThatWantIt) {
  Decisions d = decisions(1, 1, 2);
  for (int64_t microBatches : {7, 8}) {
    d.numMicroBatches = microBatches;
    d.virtualStages = 1;
    d.schedule = ScheduleKind::GPipe;
    d.zero = 0;
    EXPECT_EQ(isLegal(d, spaceOf("maxtext"), 8), microBatches == 8);
    EXPECT_TRUE(isLegal(d, spaceOf("torchtitan"), 8));
    d.schedule = ScheduleKind::OneForwardOneBackward;
    EXPECT_TRUE(isLegal(d, spaceOf("megatron-core"), 8));
    d.schedule = ScheduleKind::Interleaved;
    d.virtualStages = 2;
    EXPECT_EQ(isLegal(d, spaceOf("megatron-core"), 8), microBatches == 8);
    EXPECT_TRUE(isLegal(d, spaceOf("dtc-gpu"), 8));
  }
}

TEST(EnumerateMeshes, SplitsSequencesBesideExpertsWhereTheStackWantsIt) {
  SpaceLimits limits;
  limits.devices = limits.globalBatch = limits.layers = limits.tokenGroups = 8;
  limits.sequence = 128;
  auto countWithout = [&](const char *stack, int64_t experts) {
    limits.space = spaceOf(stack);
    limits.experts = experts;
    return llvm::count_if(*enumerateMeshes(limits, Pins()),
                          [](const Decisions &d) { return d.tp > 1 && !d.sequenceParallel; });
  };
  EXPECT_GT(countWithout("megatron-core", 1), 0);
  EXPECT_EQ(countWithout("megatron-core", 8), 0);
  EXPECT_GT(countWithout("dtc-gpu", 8), 0);
}

// One rank has nothing to shard, and is in a stage of ZeRO that the software has.
TEST(EnumerateDetails, HasTheLeastZeroOfAStackWhereRanksHaveNoCopies) {
  SpaceLimits limits;
  limits.mayOffload = true;
  using Choices = std::set<std::pair<int64_t, bool>>; // ZeRO, optimizer on the host
  auto choicesOf = [&](const char *stack) {
    limits.space = spaceOf(stack);
    Choices choices;
    for (const Decisions &d : enumerateDetails(Decisions(), limits, Pins()))
      choices.insert({d.zero, d.offloadOptimizer});
    return choices;
  };
  EXPECT_EQ(choicesOf("dtc-gpu"), (Choices{{0, false}, {0, true}}));
  EXPECT_EQ(choicesOf("megatron-core"), (Choices{{0, false}, {1, true}}));
  EXPECT_EQ(choicesOf("deepspeed"), (Choices{{1, false}, {1, true}}));
  EXPECT_EQ(choicesOf("torchtitan"), (Choices{{0, false}}));
}

TEST(CheckTraining, IsOfTheStack) {
  auto errorWith = [](OptimizerKind optimizer, GradientType gradDtype, const char *stack) {
    std::optional<UserError> error = checkTraining(optimizer, gradDtype, *loadStack(stack));
    return error ? error->message + "; " + error->note : "";
  };
  for (const OptimizerRow &row : kOptimizers)
    EXPECT_EQ(errorWith(row.value, GradientType::BF16, "dtc-gpu"), "");
  EXPECT_EQ(errorWith(OptimizerKind::Sgd, GradientType::BF16, "megatron-core"), "");
  EXPECT_EQ(
      errorWith(OptimizerKind::Lamb, GradientType::F32, "megatron-core"),
      "--optimizer lamb: software 'megatron-core' does not support it; use adamw, sgd; 'dtc stack "
      "show megatron-core' lists all under [space]");
  EXPECT_EQ(errorWith(OptimizerKind::AdamW, GradientType::F32, "torchtitan"), "");
  EXPECT_EQ(
      errorWith(OptimizerKind::AdamW, GradientType::BF16, "torchtitan"),
      "--grad-dtype bf16: software 'torchtitan' does not support it; use --grad-dtype f32; 'dtc "
      "stack show torchtitan' lists all under [space]");
}

TEST(IsLegal, KeepsActivationsOnTheHostToWhatTheStackHas) {
  LegalSpace core = spaceOf("megatron-core"), maxtext = spaceOf("maxtext");
  Decisions d = decisions(4, 1, 1);
  d.layersOnHost = LayersOnHost::Some;
  EXPECT_TRUE(isLegal(d, core, 8));
  EXPECT_TRUE(isLegal(d, spaceOf("megatron-bridge"), 8));
  for (const char *stack : {"maxtext", "torchtitan", "deepspeed", "dtc", "dtc-gpu"})
    EXPECT_FALSE(isLegal(d, spaceOf(stack), 8)) << stack;
  d.layersOnHost = LayersOnHost::All;
  EXPECT_FALSE(isLegal(d, core, 8)); // all layers but one can be
  core.offloadAllLayers = true;
  EXPECT_TRUE(isLegal(d, core, 8));
  EXPECT_FALSE(isLegal(d, maxtext, 8));
  d.recompute = d.recomputeMost = Recompute::Full;
  EXPECT_FALSE(isLegal(d, core, 8)); // only layers that recompute nothing can be
  EXPECT_TRUE(isLegal(d, maxtext, 8));
  d.recompute = d.recomputeMost = Recompute::None;
  d.pp = 2;
  EXPECT_FALSE(isLegal(d, core, 8));
  core.offloadBesidePipeline = true;
  EXPECT_TRUE(isLegal(d, core, 8));
  core.offloadActivations = 0;
  EXPECT_FALSE(isLegal(d, core, 8));
}

TEST(IsLegal, KeepsToGroupsOfZero) {
  LegalSpace maxtext = spaceOf("maxtext");
  Decisions d = decisions(4, 1, 1);
  d.zeroGroup = 2;
  for (int64_t zero : {1, 2, 3}) {
    d.zero = zero;
    EXPECT_FALSE(isLegal(d, spaceOf("deepspeed"), 8)); // DeepSpeed has removed MiCS
    EXPECT_EQ(isLegal(d, spaceOf("megatron-core"), 8), zero == 1);
    EXPECT_EQ(isLegal(d, maxtext, 8), zero == 3);
    EXPECT_TRUE(isLegal(d, spaceOf("dtc"), 8));
    EXPECT_TRUE(isLegal(d, spaceOf("dtc-gpu"), 8));
  }
  maxtext.zeroGroups = 0;
  EXPECT_FALSE(isLegal(d, maxtext, 8));
  d.zeroGroup = 0;
  EXPECT_TRUE(isLegal(d, maxtext, 8));
}

TEST(IsLegal, CutsEvenlyWhereStagesAre) {
  LegalSpace maxtext = spaceOf("maxtext");
  Decisions d = decisions(1, 1, 4);
  d.schedule = ScheduleKind::GPipe;
  EXPECT_TRUE(isLegal(d, maxtext, 8));
  EXPECT_FALSE(isLegal(d, maxtext, 6));
  EXPECT_FALSE(isLegal(d, maxtext, 7));
}

TEST(IsLegal, CutsVirtualStagesEvenlyToo) {
  LegalSpace own = spaceOf("dtc");
  own.unevenStages = false;
  Decisions d = decisions(1, 1, 4);
  d.schedule = ScheduleKind::Interleaved;
  d.virtualStages = 2;
  EXPECT_TRUE(isLegal(d, own, 16));
  EXPECT_FALSE(isLegal(d, own, 12)); // three layers a stage, for two chunks
}

TEST(IsLegal, HasExpertsWithoutTensorParallelism) {
  LegalSpace core = spaceOf("megatron-core");
  core.expertsBesideTensor = false;
  Decisions d = decisions(4, 1, 1);
  d.ep = 2;
  EXPECT_TRUE(isLegalMesh(d, core));
  d.tp = 2;
  EXPECT_FALSE(isLegalMesh(d, core));
}

// Stacks split experts, fold them, or support both; DeepSpeed supports neither.
TEST(IsLegal, SplitsOrFoldsExpertsAsTheStackDoes) {
  Decisions split = decisions(4, 2, 1);
  split.ep = 2;
  split.sequenceParallel = true;
  Decisions folded = split;
  folded.foldedExperts = true;
  for (auto [stack, splits, folds] : {std::tuple("dtc", true, true),
                                      {"megatron-core", true, true},
                                      {"megatron-bridge", true, true},
                                      {"torchtitan", false, true},
                                      {"maxtext", true, false},
                                      {"deepspeed", false, false}}) {
    LegalSpace space = spaceOf(stack);
    EXPECT_EQ(isLegalMesh(split, space), splits) << stack;
    EXPECT_EQ(isLegalMesh(folded, space), folds) << stack;
  }
  folded.ep = 1;
  EXPECT_FALSE(isLegalMesh(folded, spaceOf("maxtext")));
}

// A mixture of experts on torchtitan has tensor parallelism with whole experts alone, for every ep.
TEST(EnumerateMeshes, SplitsNoExpertWhereTheStackDoesNot) {
  SpaceLimits limits;
  limits.devices = limits.globalBatch = limits.layers = limits.experts = limits.tokenGroups = 8;
  limits.sequence = 128;
  int folded = 0;
  for (const char *stack : {"torchtitan", "megatron-core"}) {
    limits.space = spaceOf(stack);
    int split = 0;
    Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, Pins());
    for (const Decisions &d : *meshes) {
      split += d.tp > 1 && !d.foldedExperts;
      folded += d.foldedExperts;
    }
    EXPECT_EQ(split > 0, stack == std::string("megatron-core"));
  }
  EXPECT_GT(folded, 0);
}

// If stages are inside of replicas, Megatron-Core has as many copies of an expert, 4 x 2 / ep, as
// of all other parameters, 4.
TEST(IsLegal, HasAsManyCopiesOfExpertsWhereStagesAreInside) {
  LegalSpace core = spaceOf("megatron-core");
  Decisions d = decisions(4, 2, 2);
  d.sequenceParallel = d.foldedExperts = true;
  for (int64_t ep : {1, 2, 4}) {
    d.ep = ep;
    d.order = kMegatronOrder;
    EXPECT_TRUE(isLegalMesh(d, core));
    d.order = {'t', 'c', 'p', 'd'};
    EXPECT_EQ(isLegalMesh(d, core), ep == 2);
    EXPECT_TRUE(isLegalMesh(d, spaceOf("dtc")));
  }
}

TEST(IsLegal, KeepsToAxesAndTheirOrder) {
  LegalSpace core = spaceOf("megatron-core"), deepspeed = spaceOf("deepspeed");
  EXPECT_FALSE(isLegalMesh(decisions(2, 2, 1), deepspeed));
  Decisions d = decisions(2, 2, 2);
  EXPECT_TRUE(isLegalMesh(d, core));
  d.order = {'t', 'c', 'p', 'd'};
  EXPECT_TRUE(isLegalMesh(d, core));
  d.order = {'p', 't', 'c', 'd'};
  EXPECT_FALSE(isLegalMesh(d, core));
  d.pp = 1; // The remaining axes are in Megatron's order.
  EXPECT_TRUE(isLegalMesh(d, core));
  d.cp = 2;
  EXPECT_TRUE(isLegalMesh(d, core));
  for (ContextKind kind : {ContextKind::AllToAll, ContextKind::Both, ContextKind::AllGather}) {
    d.contextKind = kind;
    EXPECT_TRUE(isLegalMesh(d, core));
    core.contextKinds &= ~(1u << static_cast<int>(kind));
    EXPECT_FALSE(isLegalMesh(d, core));
  }
  d.contextKind = ContextKind::Ring;
  EXPECT_TRUE(isLegalMesh(d, core));
  core.contextKinds = 0;
  EXPECT_FALSE(isLegalMesh(d, core));
  core.contextKinds = 1;
  core.contextBesidePipeline = false;
  EXPECT_TRUE(isLegalMesh(d, core));
  d.pp = 2;
  d.order = kMegatronOrder;
  EXPECT_FALSE(isLegalMesh(d, core));
  d.cp = 1;
  EXPECT_TRUE(isLegalMesh(d, core));
  d.pp = 1;
  d.order = {'p', 't', 'c', 'd'};
  d.ep = 2;
  EXPECT_TRUE(isLegalMesh(d, core));
  core.expertsBesideTensor = false;
  EXPECT_FALSE(isLegalMesh(d, core));
  core.expertsBesideTensor = true;
  core.expertParallel = false;
  EXPECT_FALSE(isLegalMesh(d, core));
  d.ep = 1;
  core.sequenceParallel = 1; // off
  EXPECT_TRUE(isLegalMesh(d, core));
  d.sequenceParallel = true;
  EXPECT_FALSE(isLegalMesh(d, core));
}

// One of two mixed ways is part of the other, and more than selective is used only if the stack
// supports it.
TEST(RecomputeMixes, AreThoseOfTheSpace) {
  using Mixes = std::vector<std::pair<Recompute, Recompute>>;
  constexpr Recompute none = Recompute::None, selective = Recompute::Selective,
                      full = Recompute::Full;
  EXPECT_EQ(recomputeMixes(spaceOf("megatron-core")), (Mixes{{none, full}}));
  EXPECT_EQ(recomputeMixes(spaceOf("maxtext")), Mixes{});
  EXPECT_EQ(recomputeMixes(spaceOf("gpu")),
            (Mixes{{none, selective}, {none, full}, {selective, full}}));
  LegalSpace own = spaceOf("dtc");
  EXPECT_TRUE(mayMix(selective, Recompute::SelectiveLinear, own));
  EXPECT_TRUE(mayMix(Recompute::SelectiveExperts, Recompute::SelectiveProducts, own));
  EXPECT_TRUE(mayMix(Recompute::SelectiveAll, full, own));
  EXPECT_FALSE(mayMix(Recompute::SelectiveAttention, Recompute::SelectiveLinear, own));
  EXPECT_FALSE(mayMix(Recompute::SelectiveLinear, selective, own));
  EXPECT_FALSE(mayMix(full, full, own));
  // None mixes with the nine others, selective with seven and full; the seven mix with those that
  // they are part of, and full.
  EXPECT_EQ(recomputeMixes(own).size(), 9u + 8 + 12 + 7);
}

TEST(IsLegal, MixesRecomputationWhereTheStackDoes) {
  LegalSpace core = spaceOf("megatron-core"), titan = spaceOf("torchtitan"), own = spaceOf("dtc");
  Decisions d = decisions(8, 1, 1);
  for (Recompute all : {Recompute::None, Recompute::Selective, Recompute::Full}) {
    d.recompute = d.recomputeMost = all;
    EXPECT_TRUE(isLegal(d, core, 8));
  }
  for (auto [least, most] : {std::pair(Recompute::None, Recompute::Selective),
                             {Recompute::None, Recompute::Full},
                             {Recompute::Selective, Recompute::Full}}) {
    d.recompute = least;
    d.recomputeMost = most;
    EXPECT_FALSE(isLegal(d, titan, 8));
    EXPECT_TRUE(isLegal(d, own, 8));
  }
  EXPECT_TRUE(mayMix(Recompute::None, Recompute::Full, core));
  EXPECT_FALSE(mayMix(Recompute::None, Recompute::Selective, core));
  EXPECT_FALSE(mayMix(Recompute::Selective, Recompute::Full, core));
}

TEST(EnumerateDetails, HasEachRecomputationOfAStackOnce) {
  SpaceLimits limits;
  limits.devices = 8;
  limits.globalBatch = 8;
  limits.layers = 8;
  limits.sequence = 1024;
  limits.space = spaceOf("torchtitan");
  Pins pins;
  pins.fix(&Decisions::zero, 3);
  std::vector<std::pair<Recompute, Recompute>> found;
  for (const Decisions &d : enumerateDetails(decisions(8, 1, 1), limits, pins))
    found.push_back({d.recompute, d.recomputeMost});
  using R = Recompute;
  EXPECT_EQ(found, (std::vector<std::pair<R, R>>{
                       {R::None, R::None}, {R::Selective, R::Selective}, {R::Full, R::Full}}));
  Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, Pins());
  ASSERT_TRUE(meshes.ok());
  limits.space = spaceOf("deepspeed");
  Result<std::vector<Decisions>> fewer = enumerateMeshes(limits, Pins());
  ASSERT_TRUE(fewer.ok());
  EXPECT_LT(fewer->size(), meshes->size());
  for (const Decisions &d : *fewer)
    EXPECT_EQ(d.tp, 1);
}

TEST(CheckLegal, NamesWhatTheSoftwareLacks) {
  EXPECT_EQ(errorOf({{"schedule", "zero-bubble"}}, "megatron-core"),
            "--fix schedule=zero-bubble: software 'megatron-core' does not support it");
  EXPECT_EQ(errorOf({{"schedule", "zero-bubble"}}, "torchtitan"), ""); // The stack has ZB-V.
  EXPECT_EQ(errorOf({{"schedule", "zb-2p"}}, "torchtitan"),
            "--fix schedule=zb-2p: software 'torchtitan' does not support it");
  EXPECT_EQ(errorOf({{"zero", "3"}}, "megatron-core"),
            "--fix zero=3: software 'megatron-core' does not support it");
  EXPECT_EQ(errorOf({{"zero", "3"}, {"pp", "2"}}, "deepspeed"),
            "--fix zero=3,pp=2: software 'deepspeed' does not support it");
  EXPECT_EQ(errorOf({{"zero", "3"}}, "deepspeed"), "");
  EXPECT_EQ(errorOf({{"tp", "2"}}, "deepspeed"),
            "--fix tp=2: software 'deepspeed' does not support it");
  EXPECT_EQ(errorOf({{"ep", "2"}}, "deepspeed"),
            "--fix ep=2: software 'deepspeed' does not support it");
  EXPECT_EQ(errorOf({{"etp", "1"}}, "maxtext"),
            "--fix etp=1: software 'maxtext' does not support it");
  EXPECT_EQ(errorOf({{"etp", "1"}, {"tp", "1"}}, "maxtext"), "");
  EXPECT_EQ(errorOf({{"etp", "1"}, {"tp", "8"}, {"ep", "8"}}, "megatron-core"), "");
  EXPECT_EQ(errorOf({{"etp", "tp"}, {"tp", "2"}, {"ep", "2"}}, "torchtitan"),
            "--fix tp=2,ep=2: software 'torchtitan' does not support it");
  EXPECT_EQ(errorOf({{"tp", "2"}, {"ep", "2"}}, "torchtitan"), "");
  EXPECT_EQ(errorOf({{"cp", "2"}}, "deepspeed"), "");
  EXPECT_EQ(errorOf({{"tp_of_parts", "8-4"}}, "megatron-core"),
            "--fix tp_of_parts=8-4: software 'megatron-core' does not support it");
  EXPECT_EQ(errorOf({{"tp_of_parts", "even"}}, "megatron-core"), "");
  EXPECT_EQ(errorOf({{"tp_of_parts", "8-4"}}, "dtc"), "");
  EXPECT_EQ(errorOf({{"cp_kind", "ring"}}, "deepspeed"),
            "--fix cp_kind=ring: software 'deepspeed' does not support it");
  EXPECT_EQ(errorOf({{"cp_kind", "all-to-all"}}, "deepspeed"), "");
  EXPECT_EQ(errorOf({{"cp", "2"}, {"pp", "2"}}, "deepspeed"),
            "--fix cp=2,pp=2: software 'deepspeed' does not support it");
  EXPECT_EQ(errorOf({{"cp_inner", "2"}}, "torchtitan"),
            "--fix cp_kind=both: software 'torchtitan' does not support it");
  EXPECT_EQ(errorOf({{"recompute", "selective"}}, "deepspeed"),
            "--fix recompute=selective: software 'deepspeed' does not support it");
  EXPECT_EQ(errorOf({{"offload", "1"}}, "megatron-core"), "");
  EXPECT_EQ(errorOf({{"offload", "1"}, {"zero", "0"}}, "megatron-core"),
            "--fix zero=0,offload=1: software 'megatron-core' does not support it");
  EXPECT_EQ(errorOf({{"zero", "0"}}, "deepspeed"),
            "--fix zero=0: software 'deepspeed' does not support it");
  EXPECT_EQ(errorOf({{"zero", "0"}, {"cp", "2"}}, "maxtext"),
            "--fix zero=0,cp=2: software 'maxtext' does not support it");
  EXPECT_EQ(errorOf({{"zero", "0"}, {"ep", "2"}}, "maxtext"),
            "--fix zero=0,ep=2: software 'maxtext' does not support it");
  EXPECT_EQ(errorOf({{"zero", "0"}}, "maxtext"), "");
  EXPECT_EQ(errorOf({{"offload_activations", "1"}}, "megatron-core"),
            "--fix offload_activations=1: software 'megatron-core' does not support it");
  EXPECT_EQ(errorOf({{"offload", "1"}}, "torchtitan"),
            "--fix offload=1: software 'torchtitan' does not support it");
  EXPECT_EQ(errorOf({{"zero", "1"}, {"zero_group", "8"}}, "deepspeed"),
            "--fix zero=1,zero_group=8: software 'deepspeed' does not support it");
  EXPECT_EQ(errorOf({{"zero", "3"}, {"zero_group", "8"}}, "deepspeed"),
            "--fix zero=3,zero_group=8: software 'deepspeed' does not support it");
  EXPECT_EQ(errorOf({{"zero_group", "8"}}, "deepspeed"),
            "--fix zero_group=8: software 'deepspeed' does not support it");
  EXPECT_EQ(errorOf({{"zero", "3"}, {"zero_group", "8"}}, "maxtext"), "");
  EXPECT_EQ(errorOf({{"zero_group", "8"}}, "maxtext"), "");
  EXPECT_EQ(errorOf({{"vocab_over_pp", "1"}}, "megatron-core"),
            "--fix vocab_over_pp=1: software 'megatron-core' does not support it");
  EXPECT_EQ(errorOf({{"vocab_over_pp", "0"}}, "megatron-core"), "");
  EXPECT_EQ(errorOf({{"axis_order", "pp-tp-cp-dp"}}, "megatron-core"),
            "--fix axis_order=pp-tp-cp-dp: software 'megatron-core' does not support it");
  EXPECT_EQ(errorOf({{"axis_order", "tp-cp-pp-dp"}}, "megatron-core"), "");
  EXPECT_EQ(errorOf({{"axis_order", "pp-tp-cp-dp"}, {"pp", "1"}}, "megatron-core"), "");
  for (const char *stack : {"megatron-core", "megatron-bridge", "torchtitan", "maxtext", "dtc"})
    EXPECT_EQ(errorOf({{"tp", "8"}, {"pp", "4"}, {"sp", "1"}}, stack), "");
}
