// Tests which stack files are accepted, and the messages about mistakes.
#include "compiler/describe/stack/StackFile.h"
#include "compiler/describe/stack/Fingerprint.h"
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/stack/StackFields.h"
#include "dialects/graph/Recompute.h"

#include <gtest/gtest.h>

#include <random>

using namespace dtc;

namespace {

constexpr const char *kHead = "name = \"mine\"\nextends = \"gpu\"\n";

std::string errorOf(const std::string &text) {
  Result<SoftwareStack> stack = parseStack(text, "s.toml");
  return stack ? "" : stack.error().text();
}

} // namespace

TEST(ParseStack, TakesWhatItDoesNotSayFromTheStackThatItExtends) {
  Result<StackFile> file =
      readStack(std::string(kHead) + "[overlap]\ntp_hidden = 0.25\n", "s.toml");
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_EQ(file->stack.tpHidden, 0.25);
  EXPECT_EQ(file->saidBy.at("tp_hidden"), "mine");
  EXPECT_EQ(file->stack.fragmentation, 1.05);
  EXPECT_EQ(file->saidBy.at("fragmentation"), "gpu");
  EXPECT_EQ(file->stack.productShare, 1);
  EXPECT_EQ(file->saidBy.at("product_share"), "dtc");
  EXPECT_EQ(file->stack.extends, (std::vector<std::string>{"gpu", "dtc"}));
}

// Each flag and each figure is read, also at its bounds.
TEST(ParseStack, ReadsEachKey) {
  for (const StackFlag &flag : stackFlags())
    for (bool value : {false, true}) {
      std::string text = kHead + ("[" + flag.table + "]\n" + flag.key + " = ").str() +
                         (value ? "true" : "false") + "\n";
      Result<SoftwareStack> stack = parseStack(text, "s.toml");
      ASSERT_TRUE(stack.ok()) << stack.error().text();
      EXPECT_EQ((*stack).*flag.member, value) << flag.key.str();
    }
  for (const StackFigure &figure : stackFigures())
    for (double value : {figure.least, figure.most}) {
      char buffer[64];
      snprintf(buffer, sizeof(buffer), "%.17g", value);
      std::string written =
          figure.quantity ? "\"" + printExact(value, *figure.quantity) + "\"" : buffer;
      std::string text =
          kHead + ("[" + figure.table + "]\n" + figure.key + " = ").str() + written + "\n";
      Result<SoftwareStack> stack = parseStack(text, "s.toml");
      ASSERT_TRUE(stack.ok()) << stack.error().text();
      EXPECT_EQ((*stack).*figure.member, value) << figure.key.str();
    }
}

TEST(ParseStack, ReadsTheSpace) {
  for (const SpaceFlag &flag : spaceFlags())
    for (bool value : {false, true}) {
      Result<SoftwareStack> stack = parseStack(
          kHead + ("[space]\n" + flag.key + " = ").str() + (value ? "true" : "false"), "s.toml");
      ASSERT_TRUE(stack.ok()) << stack.error().text();
      EXPECT_EQ(stack->space.*flag.member, value) << flag.key.str();
    }
  for (const SpaceSet &set : spaceSets())
    for (auto [index, word] : llvm::enumerate(set.words)) {
      std::string text = kHead + ("[space]\n" + set.key + " = ['" + word + "']\n").str();
      if (set.key == "offload_activations") // a subset of what all layers may do
        text += ("recompute = ['" + word + "']").str();
      Result<SoftwareStack> stack = parseStack(text, "s.toml");
      ASSERT_TRUE(stack.ok()) << stack.error().text();
      EXPECT_EQ(stack->space.*set.member, 1u << index) << word.str();
      EXPECT_EQ(wordsOf(set, stack->space), word);
    }
  for (auto [how, word] : llvm::zip_equal(kRecomputes, spaceSet("recompute").words))
    EXPECT_EQ(word, toString(how));
  LegalSpace core = loadStack("megatron-core")->space;
  EXPECT_EQ(wordsOf(spaceSet("schedules"), core), "1f1b, interleaved");
  EXPECT_EQ(wordsOf(spaceSet("zero"), core), "0, 1");
  EXPECT_EQ(wordsOf(spaceSet("recompute_mixes"), core), "none-full");
}

// Layers on the host may recompute what all layers may. Inherited words that depend on a removed
// word are removed too.
TEST(ParseStack, OffloadsActivationsOfWhatLayersMayRecompute) {
  const SpaceSet &set = spaceSet("offload_activations");
  std::string head = "name = 'mine'\nextends = 'maxtext'\n[space]\nrecompute = ['none', 'full']\n";
  Result<SoftwareStack> inherits = parseStack(head, "s.toml");
  ASSERT_TRUE(inherits.ok()) << inherits.error().text();
  EXPECT_EQ(wordsOf(set, inherits->space), "full");
  EXPECT_FALSE(parseStack(head + "offload_activations = ['selective']\n", "s.toml").ok());
  EXPECT_TRUE(parseStack(head + "offload_activations = ['none']\n", "s.toml").ok());
}

// Groups of ops come on top of cheap ops. If a stack defines selective recomputation in another
// way, it does not inherit groups from the stack that it extends, and may not ask for them.
TEST(ParseStack, RecomputesGroupsOfOpsOnTopOfWhatIsCheap) {
  const SpaceSet &set = spaceSet("recompute");
  for (const char *change :
       {"[recomputation]\nselective_attention = true\n", "[recomputation]\nselective_share = 0.5\n",
        "[kernels]\nblocked_attention = false\n", ""}) {
    std::string head = "name = 'mine'\nextends = 'dtc'\n" + std::string(change);
    Result<SoftwareStack> inherits = parseStack(head, "s.toml"),
                          asks = parseStack(head + "[space]\nrecompute = ['selective+linear']\n",
                                            "s.toml");
    ASSERT_TRUE(inherits.ok()) << inherits.error().text();
    bool isCheap = *change == 0;
    EXPECT_EQ(wordsOf(set, inherits->space) == "none, selective, full", !isCheap) << change;
    EXPECT_EQ(asks.ok(), isCheap) << change;
  }
}

TEST(ParseStack, KeysOfTheSpaceAreOfTheMembersOfTheirName) {
  auto flag = [](llvm::StringRef key) {
    return llvm::find_if(spaceFlags(), [&](const SpaceFlag &each) { return each.key == key; })
        ->member;
  };
  EXPECT_EQ(flag("tensor_parallel"), &LegalSpace::tensorParallel);
  EXPECT_EQ(flag("pipeline_parallel"), &LegalSpace::pipelineParallel);
  EXPECT_EQ(flag("expert_parallel"), &LegalSpace::expertParallel);
  EXPECT_EQ(flag("experts_beside_tensor"), &LegalSpace::expertsBesideTensor);
  EXPECT_EQ(flag("folded_experts"), &LegalSpace::foldedExperts);
  EXPECT_EQ(flag("experts_want_sequence"), &LegalSpace::expertsWantSequence);
  EXPECT_EQ(flag("experts_within_data"), &LegalSpace::expertsWithinData);
  EXPECT_EQ(flag("offload_all_layers"), &LegalSpace::offloadAllLayers);
  EXPECT_EQ(flag("offload_some_layers"), &LegalSpace::offloadSomeLayers);
  EXPECT_EQ(flag("offload_beside_pipeline"), &LegalSpace::offloadBesidePipeline);
  EXPECT_EQ(flag("loss_in_chunks"), &LegalSpace::lossInChunks);
  EXPECT_EQ(flag("uneven_stages"), &LegalSpace::unevenStages);
  EXPECT_EQ(flag("splits_kv_heads"), &LegalSpace::splitsKvHeads);
  EXPECT_EQ(flag("uneven_heads"), &LegalSpace::unevenHeads);
  EXPECT_EQ(flag("uneven_inner"), &LegalSpace::unevenInner);
  EXPECT_EQ(flag("uneven_vocabulary"), &LegalSpace::unevenVocabulary);
  EXPECT_EQ(flag("slides_in_rings"), &LegalSpace::slidesInRings);
  EXPECT_EQ(flag("context_beside_pipeline"), &LegalSpace::contextBesidePipeline);
  EXPECT_EQ(flag("uneven_tensor"), &LegalSpace::unevenTensor);
  EXPECT_EQ(flag("half_reductions"), &LegalSpace::halfReductions);
  EXPECT_EQ(flag("even_recompute"), &LegalSpace::evenRecompute);
  EXPECT_EQ(flag("pipelines_reduce_last"), &LegalSpace::pipelinesReduceLast);
  EXPECT_EQ(spaceSet("sequence_parallel").member, &LegalSpace::sequenceParallel);
  EXPECT_EQ(spaceSet("context_kinds").member, &LegalSpace::contextKinds);
  EXPECT_EQ(spaceSet("zero").member, &LegalSpace::zero);
  EXPECT_EQ(spaceSet("zero_of_pipelines").member, &LegalSpace::zeroOfPipelines);
  EXPECT_EQ(spaceSet("zero_groups").member, &LegalSpace::zeroGroups);
  EXPECT_EQ(spaceSet("zero_of_contexts_and_experts").member, &LegalSpace::zeroOfContextsAndExperts);
  EXPECT_EQ(spaceSet("zero_that_reduces_last").member, &LegalSpace::zeroThatReducesLast);
  EXPECT_EQ(spaceSet("offload").member, &LegalSpace::offload);
  EXPECT_EQ(spaceSet("schedules").member, &LegalSpace::schedules);
  EXPECT_EQ(spaceSet("fills_stages").member, &LegalSpace::fillsStages);
  EXPECT_EQ(spaceSet("optimizers").member, &LegalSpace::optimizers);
  EXPECT_EQ(spaceSet("vocab_over_pp").member, &LegalSpace::vocabOverPp);
  EXPECT_EQ(spaceSet("recompute").member, &LegalSpace::recompute);
  EXPECT_EQ(spaceSet("recompute_mixes").member, &LegalSpace::recomputeMixes);
  EXPECT_EQ(spaceSet("offload_activations").member, &LegalSpace::offloadActivations);
  EXPECT_EQ(spaceSet("precisions").member, &LegalSpace::precisions);
  EXPECT_EQ(spaceSet("axis_orders").member, &LegalSpace::axisOrders);
}

TEST(ParseStack, RefusesWordsThatASetDoesNotHave) {
  EXPECT_EQ(errorOf(std::string(kHead) + "[space]\nzero = ['1', '4']\n"),
            "s.toml:4:14: error: 'zero' of [space] holds '4', wanted of '0', '1', '2', '3', each "
            "once at most");
  EXPECT_EQ(errorOf(std::string(kHead) + "[space]\nzero = ['1', '1']\n").find("s.toml:4:14: "), 0u);
  EXPECT_EQ(errorOf(std::string(kHead) + "[space]\nzero = [1]\n").find("s.toml:4:9: "), 0u);
  EXPECT_EQ(errorOf(std::string(kHead) + "[space]\nzero = 1\n").find("s.toml:4:8: "), 0u);
}

// Keys and members are compared by name, because the table could pair them wrongly.
TEST(ParseStack, KeysAreOfTheMembersOfTheirName) {
  auto figure = [](llvm::StringRef key) {
    for (const StackFigure &each : stackFigures())
      if (each.key == key)
        return each.member;
    return decltype(StackFigure::member)(nullptr);
  };
  auto flag = [](llvm::StringRef key) {
    for (const StackFlag &each : stackFlags())
      if (each.key == key)
        return each.member;
    return decltype(StackFlag::member)(nullptr);
  };
  EXPECT_EQ(figure("product_share"), &SoftwareStack::productShare);
  EXPECT_EQ(figure("attention_share"), &SoftwareStack::attentionShare);
  EXPECT_EQ(figure("grouped_share"), &SoftwareStack::groupedShare);
  EXPECT_EQ(figure("expert_imbalance"), &SoftwareStack::expertImbalance);
  EXPECT_EQ(figure("memory_traffic"), &SoftwareStack::memoryTraffic);
  EXPECT_EQ(figure("composite_traffic"), &SoftwareStack::compositeTraffic);
  EXPECT_EQ(figure("score_traffic"), &SoftwareStack::scoreTraffic);
  EXPECT_EQ(figure("loss_traffic"), &SoftwareStack::lossTraffic);
  EXPECT_EQ(figure("cast_traffic"), &SoftwareStack::castTraffic);
  EXPECT_EQ(figure("dispatch_traffic"), &SoftwareStack::dispatchTraffic);
  EXPECT_EQ(figure("accumulate_bytes"), &SoftwareStack::accumulateBytes);
  EXPECT_EQ(figure("seconds_per_layer"), &SoftwareStack::hostSecondsPerLayer);
  EXPECT_EQ(figure("seconds_per_expert"), &SoftwareStack::hostSecondsPerExpert);
  EXPECT_EQ(figure("kept_share"), &SoftwareStack::keptShare);
  EXPECT_EQ(figure("kept_share_8_bit"), &SoftwareStack::keptShare8);
  EXPECT_EQ(figure("rms_norm_kept"), &SoftwareStack::rmsNormKept);
  EXPECT_EQ(figure("logit_bytes"), &SoftwareStack::logitBytes);
  EXPECT_EQ(figure("selective_share"), &SoftwareStack::selectiveShare);
  EXPECT_EQ(figure("tp_hidden"), &SoftwareStack::tpHidden);
  EXPECT_EQ(figure("cp_hidden"), &SoftwareStack::cpHidden);
  EXPECT_EQ(figure("ep_hidden"), &SoftwareStack::epHidden);
  EXPECT_EQ(figure("dp_hidden"), &SoftwareStack::dpHidden);
  EXPECT_EQ(figure("gather_hidden"), &SoftwareStack::gatherHidden);
  EXPECT_EQ(figure("p2p_hidden"), &SoftwareStack::p2pHidden);
  EXPECT_EQ(figure("overlap_slowdown"), &SoftwareStack::overlapSlowdown);
  EXPECT_EQ(figure("gather_share"), &SoftwareStack::gatherShare);
  EXPECT_EQ(figure("reduce_bytes"), &SoftwareStack::reduceBytes);
  EXPECT_EQ(figure("reserved"), &SoftwareStack::reservedBytes);
  EXPECT_EQ(figure("communicator"), &SoftwareStack::communicatorBytes);
  EXPECT_EQ(figure("fragmentation"), &SoftwareStack::fragmentation);
  EXPECT_EQ(figure("gradient_bytes"), &SoftwareStack::gradientBytes);
  EXPECT_EQ(figure("whole_layers"), &SoftwareStack::wholeLayers);
  EXPECT_EQ(flag("casts_gathered"), &SoftwareStack::castsGathered);
  EXPECT_EQ(flag("keeps_ends"), &SoftwareStack::keepsEmbeddingAndHead);
  EXPECT_EQ(flag("keeps_sent"), &SoftwareStack::keepsSent);
  EXPECT_EQ(flag("searches_placements"), &SoftwareStack::searchesPlacements);
  EXPECT_EQ(flag("chooses_buckets"), &SoftwareStack::choosesBuckets);
  EXPECT_EQ(flag("runs_programs"), &SoftwareStack::runsPrograms);
  EXPECT_EQ(flag("joins_pointwise"), &SoftwareStack::joinsPointwise);
  EXPECT_EQ(flag("blocked_attention"), &SoftwareStack::blockedAttention);
  EXPECT_EQ(flag("gathers_logits"), &SoftwareStack::gathersLogits);
  EXPECT_EQ(flag("selective_attention"), &SoftwareStack::selectiveAttention);
  EXPECT_EQ(flag("gathers_again"), &SoftwareStack::gathersAgain);
  EXPECT_EQ(flag("gathers_rows"), &SoftwareStack::gathersRows);
  EXPECT_EQ(flag("sends_tokens_once"), &SoftwareStack::sendsTokensOnce);
}

TEST(ParseStack, RefusesWhatIsOutOfBounds) {
  for (const StackFigure &figure : stackFigures()) {
    double value = 2 * figure.most;
    std::string written =
        figure.quantity ? "\"" + printExact(value, *figure.quantity) + "\"" : std::to_string(value);
    std::string error =
        errorOf(kHead + ("[" + figure.table + "]\n" + figure.key + " = ").str() + written + "\n");
    EXPECT_EQ(error.find("s.toml:4:"), 0u) << error;
    EXPECT_NE(error.find("error: '" + figure.key.str() + "' of [" + figure.table.str() + "] is "),
              std::string::npos)
        << error;
    EXPECT_NE(error.find(", wanted "), std::string::npos) << error;
  }
}

TEST(ParseStack, RefusesNumbersThatAreNone) {
  for (const char *value : {"nan", "inf", "-inf", "-0.5", "\"1\"", "[1]"})
    EXPECT_NE(errorOf(std::string(kHead) + "[overlap]\ntp_hidden = " + value + "\n")
                  .find("s.toml:4:13: error: 'tp_hidden' of [overlap] is "),
              std::string::npos)
        << value;
}

TEST(ParseStack, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(errorOf("extends = \"gpu\"\n"), "s.toml:1:1: error: the file has no 'name'");
  EXPECT_EQ(errorOf("name = \"a b\"\nextends = \"gpu\"\n"),
            "s.toml:1:8: error: 'name' of the file is 'a b', wanted letters, digits and any of "
            "'-_.+', 64 at most\n"
            "s.toml:1:8: note: the name goes into plans; words about the stack go into "
            "'description'");
  EXPECT_EQ(errorOf("name = \"gpu\"\nextends = \"gpu\"\n"),
            "s.toml:1:8: error: 'name' of the file is 'gpu', as of a stack that it extends\n"
            "s.toml:1:8: note: 'dtc stack show' tells them apart by name");
  EXPECT_EQ(errorOf(std::string(kHead) + "on_gpu = \"dtc-gpus\"\n"),
            "s.toml:3:10: error: 'on_gpu' of the file is 'dtc-gpus', which the catalogue lacks\n"
            "s.toml:3:10: note: did you mean 'dtc-gpu'?");
  EXPECT_EQ(errorOf(std::string(kHead) + "[overlaps]\n"),
            "s.toml:3:2: error: unknown key 'overlaps' in the file\n"
            "s.toml:3:2: note: did you mean 'overlap'?");
  EXPECT_EQ(errorOf(std::string(kHead) + "overlap = 1\n"),
            "s.toml:3:11: error: 'overlap' of the file is 1, wanted a table, [overlap]");
  EXPECT_EQ(errorOf(std::string(kHead) + "[host]\nseconds_per_layer = \"2 h\"\n"),
            "s.toml:4:21: error: 'seconds_per_layer' of [host]: '2 h' is not a time: 'h' is not "
            "one of its units\n"
            "s.toml:4:21: note: write a number and a unit, one of ns, us, ms, s");
  EXPECT_EQ(errorOf("name = \"mine\"\nextends = \"absent.toml\"\n")
                .find("s.toml:2:11: error: 'extends' of the file is 'absent.toml': reading "),
            0u);
}

TEST(Fingerprint, DiffersWhereAFigureDoes) {
  SoftwareStack own = *loadStack(kOwnStack);
  for (const StackFigure &figure : stackFigures()) {
    SoftwareStack other = own;
    other.*figure.member += 1e-9;
    EXPECT_NE(fingerprintOf(own), fingerprintOf(other)) << figure.key.str();
  }
  for (const StackFlag &flag : stackFlags()) {
    SoftwareStack other = own;
    other.*flag.member = !(other.*flag.member);
    EXPECT_NE(fingerprintOf(own), fingerprintOf(other)) << flag.key.str();
  }
  for (const SpaceFlag &flag : spaceFlags()) {
    SoftwareStack other = own;
    other.space.*flag.member = !(other.space.*flag.member);
    EXPECT_NE(fingerprintOf(own), fingerprintOf(other)) << flag.key.str();
  }
  for (const SpaceSet &set : spaceSets()) {
    SoftwareStack other = own;
    other.space.*set.member ^= 1;
    EXPECT_NE(fingerprintOf(own), fingerprintOf(other)) << set.key.str();
  }
  EXPECT_EQ(fingerprintOf(own), fingerprintOf(*loadStack(kOwnStack)));
}

// Any file is read or refused with a message.
TEST(ParseStack, SurvivesMutations) {
  std::mt19937_64 random(1);
  const std::string alphabet = "[]{}=\"'#.,\n 0123456789truefalsnan-+e_";
  std::string whole = textOf(stackCatalogue(), "dtc").str(),
              differences = textOf(stackCatalogue(), "dtc-gpu").str();
  int read = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = round % 2 ? whole : differences;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      size_t at = random() % text.size();
      switch (random() % 3) {
      case 0:
        text[at] = alphabet[random() % alphabet.size()];
        break;
      case 1:
        text.erase(at, 1 + random() % 12);
        break;
      default:
        text.insert(at, text.substr(random() % text.size(), random() % 12));
      }
    }
    Result<SoftwareStack> stack = parseStack(text, "s.toml");
    ++(stack ? read : refused);
    if (!stack) {
      EXPECT_NE(stack.error().message, "");
      continue;
    }
    for (const StackFigure &figure : stackFigures()) {
      double value = (*stack).*figure.member;
      EXPECT_TRUE(value >= figure.least && value <= figure.most) << figure.key.str();
    }
  }
  EXPECT_GT(read, 200); // mutations in comments, names and digits
  EXPECT_GT(refused, 200);
}
