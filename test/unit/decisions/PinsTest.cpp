// Tests that the keys of --fix are read as their table describes.
#include "compiler/decide/decisions/Pins.h"
#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/ReadPins.h"

#include "compiler/decide/decisions/Words.h"

#include "llvm/ADT/SmallVector.h"
#include "gtest/gtest.h"

#include <vector>

using namespace dtc;

namespace {

std::string errorOf(const std::string &key, const std::string &value) {
  Result<Pins> pins = readPins({{key, value}});
  return pins ? "" : pins.error().text();
}

// Returns the forms in --fix of all decisions that it knows.
std::vector<const Decision *> pinnable() {
  std::vector<const Decision *> all;
  for (const Decision *each : decisions())
    if (!each->pin.name.empty())
      all.push_back(each);
  return all;
}

const InPins &keyOf(llvm::StringRef name) {
  for (const Decision *each : pinnable())
    if (each->pin.name == name)
      return each->pin;
  ADD_FAILURE() << "no key " << name.str();
  return pinnable().front()->pin;
}

// Returns the words of a text such as "none, selective or full": none, selective and full.
llvm::SmallVector<llvm::StringRef> wordsOf(const InPins &key) {
  llvm::SmallVector<llvm::StringRef> words, last;
  key.words.split(words, ", ");
  words.pop_back_val().split(last, " or ");
  words.append(last);
  return words;
}

} // namespace

TEST(PinKeys, SayWhatIsRead) {
  for (const Decision *each : pinnable()) {
    const InPins &key = each->pin;
    std::string name = key.name.str();
    EXPECT_FALSE(key.values().empty()) << name;
    EXPECT_FALSE(key.meaning.empty()) << name;
    EXPECT_NE(errorOf(name, "no-such-word"), "") << name;
    if (!key.isNumber())
      continue;
    for (int64_t value : {key.low, key.high})
      EXPECT_EQ(errorOf(name, std::to_string(value)), "") << name;
    for (int64_t value : {key.low - 1, key.high + 1})
      EXPECT_NE(errorOf(name, std::to_string(value)), "") << name;
    Result<Pins> pins = readPins({{name, std::to_string(key.low)}});
    EXPECT_TRUE(pins->has(*each)) << name;
    EXPECT_EQ(each->field.get(pins->decisions()) != 0, key.low != 0) << name;
  }
}

TEST(PinKeys, ListTheirWords) {
  for (llvm::StringRef name : {"schedule", "recompute", "placement", "cp_kind"}) {
    EXPECT_GE(wordsOf(keyOf(name)).size(), 2u) << name.str();
    for (llvm::StringRef word : wordsOf(keyOf(name)))
      EXPECT_EQ(errorOf(name.str(), word.str()), "") << name.str() << " " << word.str();
  }
  for (ScheduleKind kind :
       {ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward, ScheduleKind::Interleaved,
        ScheduleKind::ZeroBubbleH1, ScheduleKind::ZeroBubbleV, ScheduleKind::ZeroBubble2P,
        ScheduleKind::VHalf, ScheduleKind::VMin})
    EXPECT_TRUE(llvm::is_contained(wordsOf(keyOf("schedule")), toString(kind)));
  EXPECT_EQ(keyOf("recompute").values(), listOfRecomputes());
  EXPECT_EQ(keyOf("zero").values(), "0 to 3");
  EXPECT_EQ(keyOf("sp").values(), "0 or 1");
  EXPECT_EQ(keyOf("tp").values(), "1 or more");
}

TEST(PinKeys, AreListedWhereOneIsUnknown) {
  Result<Pins> pins = readPins({{"stages", "2"}});
  ASSERT_FALSE(pins);
  EXPECT_EQ(pins.error().message, "--fix stages=2: there is no key 'stages'");
  std::string list = ", " + pins.error().note.substr(std::string("keys are ").size()) + ",";
  std::string help = "\n" + pinKeysText();
  for (const Decision *each : pinnable()) {
    const InPins &key = each->pin;
    EXPECT_NE(list.find(", " + key.name.str() + ","), std::string::npos) << key.name.str();
    EXPECT_NE(help.find("\n" + key.name.str() + "=" + key.values() + "; "), std::string::npos);
  }
}

TEST(ReadPins, SuggestsTheNearestKeyAndWord) {
  Result<Pins> pins = readPins({{"tpp", "2"}});
  ASSERT_FALSE(pins);
  EXPECT_EQ(pins.error().note.find("did you mean 'tp'? keys are "), 0u) << pins.error().note;
  pins = readPins({{"cp_kind", "rng"}});
  ASSERT_FALSE(pins);
  EXPECT_EQ(pins.error().note.find("did you mean 'ring'? "), 0u) << pins.error().note;
  pins = readPins({{"axis_order", "tpp"}}); // a key whose values are no list
  ASSERT_FALSE(pins);
  EXPECT_EQ(pins.error().note.find("did you mean"), std::string::npos) << pins.error().note;
}

// Each value arrives in the field that the planner reads.
TEST(ReadPins, FillsEveryPin) {
  Result<Pins> pins = readPins({{"dp", "2"},
                                {"tp", "3"},
                                {"pp", "4"},
                                {"cp", "12"},
                                {"cp_inner", "4"},
                                {"ep", "6"},
                                {"etp", "1"},
                                {"zero", "1"},
                                {"zero_group", "7"},
                                {"sp", "1"},
                                {"micro_batch", "8"},
                                {"schedule", "interleaved"},
                                {"virtual_stages", "9"},
                                {"recompute", "full"},
                                {"overlap", "0"},
                                {"bucket_mib", "10"},
                                {"offload", "1"},
                                {"placement", "searched"},
                                {"axis_order", "pp-tp-cp-dp"}});
  ASSERT_TRUE(pins);
  EXPECT_EQ((*pins)[&Decisions::overlapGradients], false);
  EXPECT_EQ((*pins)[&Decisions::bucketBytes], 10 << 20);
  EXPECT_EQ((*pins)[&Decisions::placement], 1);
  Decisions d = pins->decisions();
  EXPECT_EQ(std::vector<int64_t>(
                {d.dp, d.tp, d.pp, d.cp, d.ep, d.zero, d.zeroGroup, d.microBatch, d.virtualStages}),
            std::vector<int64_t>({2, 3, 4, 12, 6, 1, 7, 8, 9}));
  EXPECT_TRUE(d.sequenceParallel);
  EXPECT_TRUE(d.offloadOptimizer);
  EXPECT_TRUE(d.foldedExperts);
  EXPECT_EQ((*readPins({{"etp", "tp"}, {"tp", "8"}}))[&Decisions::foldedExperts], false);
  EXPECT_FALSE(
      readPins({{"etp", "1"}, {"tp", "1"}})->decisions().foldedExperts); // nothing to fold over
  EXPECT_FALSE(readPins({{"etp", "2"}}));
  EXPECT_EQ((*readPins({{"expert_room", "1.25"}}))[&Decisions::expertRoomPerMille], 1250);
  EXPECT_EQ((*readPins({{"expert_room", "all"}}))[&Decisions::expertRoomPerMille], 0);
  for (const char *room : {"0.99", "-1", "0", "nan", "inf", "1,5", "2x", ""})
    EXPECT_FALSE(readPins({{"expert_room", room}})) << room;
  EXPECT_EQ(readPins({{"expert_room", "2"}, {"ep", "1"}}).error().message,
            "--fix expert_room=2,ep=1: expert_room is of experts on several ranks inside dp");
  EXPECT_EQ(readPins({{"etp", "1"}, {"sp", "0"}, {"tp", "4"}}).error().message,
            "--fix etp=1,sp=0: experts folded over tp need sequence parallelism");
  EXPECT_EQ(d.schedule, ScheduleKind::Interleaved);
  EXPECT_EQ(d.recompute, Recompute::Full);
  EXPECT_EQ(d.recomputeMost, Recompute::Full);
  EXPECT_EQ(d.order, (AxisOrder{'p', 't', 'c', 'd'}));
  EXPECT_EQ(d.contextKind, ContextKind::Both);
  EXPECT_EQ(d.contextInner, 4);
  EXPECT_EQ(readPins({{"cp_kind", "all-to-all"}})->decisions().contextKind, ContextKind::AllToAll);
  EXPECT_EQ((*readPins({{"placement", "megatron"}}))[&Decisions::placement], 0);
}

TEST(ReadPins, HasTensorsOfParts) {
  auto readParts = [](std::map<std::string, std::string> fixed, const std::string &parts) {
    fixed["tp_of_parts"] = parts;
    return readPins(fixed);
  };
  Result<Pins> pins = readParts({}, "1-8-4");
  ASSERT_TRUE(pins);
  EXPECT_TRUE(pins->isUneven());
  EXPECT_EQ((*pins)[&Decisions::tp], 8); // the largest of them
  EXPECT_EQ(pins->decisions().tensorOfParts, (TensorOfParts{1, 8, 4}));
  EXPECT_EQ((*readParts({{"tp", "8"}, {"dp", "2"}}, "8-1"))[&Decisions::dp], 2);
  Result<Pins> even = readParts({}, "even");
  EXPECT_FALSE(even->isUneven());
  EXPECT_TRUE(even->has(&Decisions::tensorOfParts));
  EXPECT_FALSE(even->has(&Decisions::tp));
  auto messageOf = [&](const std::map<std::string, std::string> &fixed, const std::string &parts) {
    Result<Pins> wrong = readParts(fixed, parts);
    return wrong ? "" : wrong.error().message;
  };
  for (const char *parts : {"", "8", "8-3", "8-0", "8--1", "8-x", "1-1-1-1-2", "32768-1"})
    EXPECT_EQ(messageOf({}, parts), "--fix tp_of_parts=" + std::string(parts) +
                                        ": not a list of tensor-parallel ranks by part");
  EXPECT_EQ(messageOf({}, "4-4"),
            "--fix tp_of_parts=4-4: all parts have the same tensor parallelism");
  EXPECT_EQ(messageOf({{"tp", "4"}}, "8-4"),
            "--fix tp_of_parts=8-4,tp=4: tp has to be the largest of tp_of_parts");
  EXPECT_EQ(messageOf({{"pp", "1"}}, "8-4"),
            "--fix tp_of_parts=8-4,pp=1: each part needs pipeline stages of its own");
  EXPECT_EQ(messageOf({{"placement", "searched"}}, "8-4"),
            "--fix tp_of_parts=8-4,placement=searched: searched placements need the same tp on all "
            "parts");
  EXPECT_EQ(messageOf({{"zero_group", "2"}}, "8-4"),
            "--fix tp_of_parts=8-4,zero_group=2: parts have different numbers of ranks of dp");
}

TEST(ReadPins, RefusesVocabulariesWherePassesHaveNoPlace) {
  auto messageOf = [](std::map<std::string, std::string> fixed) {
    fixed["vocab_over_pp"] = "2";
    Result<Pins> pins = readPins(fixed);
    return pins ? "" : pins.error().message;
  };
  EXPECT_EQ(readPins({{"vocab_over_pp", "2"}, {"pp", "4"}})->decisions().vocabOverPp, 2);
  EXPECT_EQ(messageOf({{"schedule", "v-half"}, {"zero", "1"}}), "");
  EXPECT_EQ(messageOf({{"pp", "1"}}),
            "--fix vocab_over_pp=2,pp=1: vocabulary parallelism needs pipeline stages");
  EXPECT_EQ(
      messageOf({{"schedule", "gpipe"}}),
      "--fix vocab_over_pp=2,schedule=gpipe: vocabulary parallelism needs schedule 1f1b or v-half");
  EXPECT_EQ(messageOf({{"zero", "2"}}),
            "--fix vocab_over_pp=2,zero=2: vocabulary parallelism needs zero=0 or zero=1");
  EXPECT_TRUE(readPins({{"vocab_over_pp", "0"}, {"pp", "1"}, {"zero", "3"}}));
}

TEST(ReadPins, RefusesKindsOfContextParallelismWithoutRanks) {
  auto errorOf = [](const std::map<std::string, std::string> &fixed) {
    Result<Pins> pins = readPins(fixed);
    return pins ? "" : pins.error().message;
  };
  EXPECT_EQ(errorOf({{"cp", "1"}, {"cp_kind", "all-to-all"}}),
            "--fix cp_kind=all-to-all,cp=1: a kind of context parallelism needs cp of 2 or more");
  EXPECT_EQ(
      errorOf({{"cp", "1"}, {"cp_inner", "2"}}),
      "--fix cp_inner=2,cp=1: cp_kind=both needs a cp_inner that divides cp and is less than it");
  EXPECT_EQ(errorOf({{"cp", "1"}}), "");
  EXPECT_EQ(errorOf({{"cp_kind", "ring"}, {"cp_inner", "2"}}),
            "--fix cp_inner=2,cp_kind=ring: cp_inner needs cp_kind=both");
  for (const char *inner : {"8", "3", "16"})
    EXPECT_EQ(errorOf({{"cp", "8"}, {"cp_inner", inner}}),
              std::string("--fix cp_inner=") + inner +
                  ",cp=8: cp_kind=both needs a cp_inner that divides cp and is less than it");
  EXPECT_EQ(errorOf({{"cp", "8"}, {"cp_kind", "both"}, {"cp_inner", "2"}}), "");
}

TEST(ReadPins, RefusesVirtualStagesThatTheScheduleLacks) {
  auto messageOf = [](const std::map<std::string, std::string> &fixed) {
    Result<Pins> pins = readPins(fixed);
    return pins ? "" : pins.error().message;
  };
  EXPECT_EQ(messageOf({{"pp", "1"}, {"virtual_stages", "2"}}),
            "--fix virtual_stages=2,pp=1: virtual stages need a pipeline");
  EXPECT_EQ(messageOf({{"pp", "2"}, {"virtual_stages", "2"}}), "");
  EXPECT_EQ(messageOf({{"schedule", "1f1b"}, {"virtual_stages", "2"}}),
            "--fix virtual_stages=2,schedule=1f1b: 1f1b has at most 1 virtual stage");
  EXPECT_EQ(messageOf({{"schedule", "zero-bubble"}, {"virtual_stages", "2"}}), "");
  EXPECT_EQ(
      messageOf({{"schedule", "zero-bubble"}, {"virtual_stages", "3"}}),
      "--fix virtual_stages=3,schedule=zero-bubble: zero-bubble has at most 2 virtual stages");
  EXPECT_EQ(messageOf({{"schedule", "zb-v"}, {"virtual_stages", "2"}}), "");
  EXPECT_EQ(messageOf({{"schedule", "zb-v"}, {"virtual_stages", "1"}}),
            "--fix virtual_stages=1,schedule=zb-v: zb-v has 2 virtual stages");
  Pins both, alone;
  both.fix(&Decisions::schedule, ScheduleKind::ZeroBubbleH1);
  alone.fix(&Decisions::schedule, ScheduleKind::ZeroBubbleV);
  EXPECT_TRUE(both.allows(ScheduleKind::ZeroBubbleV));
  EXPECT_TRUE(alone.allows(ScheduleKind::ZeroBubbleV));
  EXPECT_FALSE(alone.allows(ScheduleKind::ZeroBubbleH1));
  EXPECT_EQ(messageOf({{"schedule", "zb-2p"}, {"virtual_stages", "2"}}),
            "--fix virtual_stages=2,schedule=zb-2p: zb-2p has at most 1 virtual stage");
  EXPECT_EQ(messageOf({{"schedule", "v-half"}, {"virtual_stages", "2"}}), "");
  EXPECT_EQ(messageOf({{"schedule", "v-half"}, {"pp", "1"}}),
            "--fix schedule=v-half,pp=1: virtual stages need a pipeline");
  EXPECT_EQ(messageOf({{"schedule", "v-half"}, {"virtual_stages", "1"}}),
            "--fix virtual_stages=1,schedule=v-half: v-half has 2 virtual stages");
  EXPECT_EQ(messageOf({{"schedule", "v-min"}, {"virtual_stages", "3"}}),
            "--fix virtual_stages=3,schedule=v-min: v-min has at most 2 virtual stages");
}

TEST(Pins, HaveTheVirtualStagesOfTheirSchedule) {
  EXPECT_EQ(readPins({{"schedule", "v-half"}})->decisions().virtualStages, 2);
  EXPECT_EQ(readPins({{"schedule", "zb-2p"}})->decisions().virtualStages, 1);
  EXPECT_EQ(readPins({{"virtual_stages", "3"}})->decisions().virtualStages, 3);
}

TEST(Pins, AllowBothZeroBubbles) {
  Pins pins;
  EXPECT_TRUE(pins.allows(ScheduleKind::GPipe));
  pins.fix(&Decisions::schedule, ScheduleKind::ZeroBubbleH1);
  EXPECT_TRUE(pins.allows(ScheduleKind::ZeroBubbleH1));
  EXPECT_TRUE(pins.allows(ScheduleKind::ZeroBubbleV));
  EXPECT_FALSE(pins.allows(ScheduleKind::GPipe));
}

// Pins that are made of decisions give these decisions again.
TEST(PinsOf, AreReadAgain) {
  Decisions d;
  d.dp = 4;
  d.tp = 2;
  d.pp = 2;
  d.cp = 4;
  d.contextKind = ContextKind::Both;
  d.contextInner = 2;
  d.zero = 1;
  d.zeroGroup = 2;
  d.sequenceParallel = d.foldedExperts = d.offloadOptimizer = true;
  d.microBatch = 3;
  d.schedule = ScheduleKind::VHalf;
  d.virtualStages = 2;
  d.vocabOverPp = 2;
  d.recompute = d.recomputeMost = Recompute::Selective;
  d.layersOnHost = LayersOnHost::All;
  d.order = {'c', 't', 'd', 'p'};
  d.placement = 1;
  d.bucketBytes = 25 << 20;
  d.overlapGradients = true;
  Result<Pins> pins = readPins(pinsOf(d));
  ASSERT_TRUE(pins) << pins.error().text();
  EXPECT_EQ(pins->decisions(), d);
  EXPECT_EQ(pinsOf(d)["axis_order"], "cp-tp-dp-pp");
}
