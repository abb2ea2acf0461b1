// Tests that every field of Decisions is a decision, and that none is missing in a key or an order.
#include "compiler/decide/decisions/Decision.h"
#include "compiler/decide/decisions/AllDecisions.h"

#include "compiler/decide/decisions/Rules.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <set>

using namespace dtc;

namespace {

// Converts to anything, to count the fields of an aggregate.
struct Anything {
  template <typename T> operator T() const;
};

template <typename T, typename... Fields> constexpr size_t numFields() {
  if constexpr (requires { T{Fields()..., Anything()}; })
    return numFields<T, Fields..., Anything>();
  else
    return sizeof...(Fields);
}

// Returns the decisions with another value of one of them.
Decisions flipped(const Decisions &d, const Decision &decision) {
  Decisions other = d;
  decision.field.set(other, decision.field.get(d) == 0 ? 1 : 0);
  return other;
}

// Returns decisions with other values than the usual ones.
Decisions unusual() {
  Decisions d;
  for (const Decision *each : allDecisions())
    each->field.set(d, 1);
  return d;
}

const char *nameOf(KeptResult result) {
  switch (result) {
  case KeptResult::Work:
    return "Work";
  case KeptResult::PartCost:
    return "PartCost";
  case KeptResult::MeshCost:
    return "MeshCost";
  case KeptResult::Estimates:
    return "Estimates";
  case KeptResult::LeastMemory:
    return "LeastMemory";
  case KeptResult::Program:
    return "Program";
  case KeptResult::Lowered:
    return "Lowered";
  }
  return "";
}

} // namespace

// A field without a row would be in no key, no plan file and no order.
TEST(Decisions, HaveARowEach) {
  EXPECT_EQ(allDecisions().size(), numFields<Decisions>());
  std::set<size_t> offsets;
  std::set<llvm::StringRef> keys;
  for (const Decision *each : allDecisions()) {
    EXPECT_TRUE(offsets.insert(each->field.offset()).second) << each->key.str();
    EXPECT_TRUE(keys.insert(each->key).second) << each->key.str();
  }
}

TEST(Decisions, AreReadAndSetByTheirRows) {
  for (const Decisions &base : {Decisions(), unusual()})
    for (const Decision *each : allDecisions()) {
      Decisions other = flipped(base, *each);
      EXPECT_NE(other, base) << each->key.str();
      EXPECT_NE(each->field.get(other), each->field.get(base)) << each->key.str();
      for (const Decision *rest : allDecisions())
        EXPECT_EQ(rest == each, rest->field.get(other) != rest->field.get(base))
            << each->key.str() << " " << rest->key.str();
      each->field.set(other, each->field.get(base));
      EXPECT_EQ(other, base) << each->key.str();
    }
}

// Results are kept by these keys: a forgotten decision would give those of another one. So each is
// part of every key, or says why it is not; and what a key leaves out is in the rest.
TEST(Decisions, AreInEveryKeyThatTheyDoNotRefuse) {
  for (const Decisions &base : {Decisions(), unusual()})
    for (const Decision *each : allDecisions())
      for (KeptResult result : kKeptResults) {
        Decisions other = flipped(base, *each);
        bool isPart = each->whyLeftOut(result).empty();
        EXPECT_EQ(keyOf(result, other) != keyOf(result, base), isPart)
            << each->key.str() << " in " << nameOf(result);
        EXPECT_EQ(restOf(result, other) != restOf(result, base), !isPart)
            << each->key.str() << " in " << nameOf(result);
      }
}

TEST(Decisions, GiveAReasonOnceForEachKeyThatTheyRefuse) {
  for (const Decision *each : allDecisions()) {
    std::set<KeptResult> seen;
    for (const LeftOut &left : each->leftOut) {
      EXPECT_TRUE(seen.insert(left.of).second) << each->key.str() << " in " << nameOf(left.of);
      EXPECT_GT(left.why.size(), 10u) << each->key.str() << " in " << nameOf(left.of);
    }
  }
}

// Ties go to the decisions that compare least, so any two have to differ.
TEST(Decisions, HaveAnOrderThatSeesEachOfThem) {
  for (const Decisions &base : {Decisions(), unusual()})
    for (const Decision *each : allDecisions()) {
      Decisions other = flipped(base, *each);
      bool isLess = each->field.get(base) < each->field.get(other);
      EXPECT_EQ(base < other, isLess) << each->key.str();
      EXPECT_EQ(other < base, !isLess) << each->key.str();
    }
}

TEST(Decisions, AreComparedInTheOrderOfTiesAndNotOfFields) {
  Decisions moreData, moreTensor, inAnotherOrder, onOtherParts;
  moreData.dp = 2;
  moreTensor.tp = 2;
  EXPECT_LT(moreTensor, moreData);
  inAnotherOrder.order = {'p', 't', 'c', 'd'};
  EXPECT_LT(inAnotherOrder, Decisions()); // letter by letter
  onOtherParts.tensorOfParts = {1, 8};
  Decisions onSwapped;
  onSwapped.tensorOfParts = {8, 1};
  EXPECT_LT(onOtherParts, onSwapped); // part by part
}

// A plan that says a decision says it in a form that is read again.
TEST(Decisions, HaveReadersOfTheirForms) {
  for (const Decision *each : decisions()) {
    const InPlan &plan = each->plan;
    EXPECT_EQ(plan.form == PlanForm::Word, plan.readWord != nullptr) << each->key.str();
    EXPECT_EQ(plan.form == PlanForm::NumberList, plan.readList && plan.list) << each->key.str();
    if (plan.form == PlanForm::Word) {
      Decisions d;
      EXPECT_EQ(plan.readWord(each->valueOf(d), d), "") << each->key.str();
      EXPECT_EQ(d, Decisions()) << each->key.str();
    }
    EXPECT_EQ(each->pin.isNumber(), each->pin.readWord == nullptr) << each->key.str();
  }
  EXPECT_EQ(decisions().size(), decisionsOfPlans().size());
}

// The refusals of rules name keys of plans, and the usual decisions break none.
TEST(Rules, AreOfKnownDecisions) {
  size_t rules = 0;
  for (const Decision *each : decisions())
    for (const Rule &rule : each->rules) {
      ++rules;
      llvm::SmallVector<llvm::StringRef> keys;
      rule.keys.split(keys, ',');
      EXPECT_GE(keys.size(), 2u) << rule.keys.str();
      for (llvm::StringRef key : keys)
        EXPECT_TRUE(findDecision(key)) << key.str();
      EXPECT_TRUE(rule.holds(Decisions())) << rule.keys.str();
      EXPECT_FALSE(rule.why.empty()) << rule.keys.str();
      EXPECT_TRUE(rule.mend.starts_with("use ")) << rule.mend.str();
    }
  EXPECT_GT(rules, 10u);
  EXPECT_EQ(findBrokenRule(Decisions()), nullptr);
}

TEST(Rules, AreRefusedInPinsAndInPlansAlike) {
  Decisions d;
  d.pp = 4;
  d.vocabOverPp = 2;
  d.schedule = ScheduleKind::GPipe;
  const Rule *broken = findBrokenRule(d);
  ASSERT_TRUE(broken);
  EXPECT_EQ(faultOf(*broken, d).key, "vocab_over_pp");
  EXPECT_EQ(faultOf(*broken, d).what,
            "is 2 with schedule gpipe: vocabulary parallelism needs schedule 1f1b or v-half");
  Pins pins;
  pins.fix(&Decisions::vocabOverPp, 2);
  EXPECT_FALSE(findBrokenRule(pins));
  pins.fix(&Decisions::schedule, ScheduleKind::GPipe);
  EXPECT_EQ(findBrokenRule(pins)->message,
            "--fix vocab_over_pp=2,schedule=gpipe: vocabulary parallelism needs schedule 1f1b or "
            "v-half");
  EXPECT_EQ(findBrokenRule(pins)->note, "use schedule=1f1b or v-half, or vocab_over_pp=0");
}
