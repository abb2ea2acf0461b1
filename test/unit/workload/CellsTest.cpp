// Tests how quantities scale.
#include "compiler/price/workload/Cells.h"

#include "gtest/gtest.h"

namespace dtc {
namespace {

TEST(CellScale, MultipliesAndDividesByItsBits) {
  CellScale scale{/*samples=*/3, /*cp=*/2, /*ep=*/4};
  EXPECT_EQ(scale.factor(0), 1);
  EXPECT_EQ(scale.factor(ScalesWithBatch), 3);
  EXPECT_EQ(scale.factor(ScalesWithBatch | ScalesWithSequence), 1.5);
  EXPECT_EQ(scale.factor(ScalesWithExperts), 0.25);
  // If there are fewer experts, each gets the tokens of more ranks.
  EXPECT_EQ(scale.factor(ScalesWithExperts | ScalesWithCapacity), 1);
  scale.vocabulary = 6;
  EXPECT_EQ(scale.factor(ScalesWithBatch | ScalesWithVocabulary), 0.5);
}

TEST(Amount, AddsEachPartWithItsScale) {
  Amount amount;
  amount.parts[0] = 10;
  amount.parts[ScalesWithBatch] = 4;
  amount.parts[ScalesWithExperts] = 8;
  EXPECT_EQ(amount.at({1, 1, 1}), 22);
  EXPECT_EQ(amount.at({3, 2, 4}), 10 + 12 + 2);
}

TEST(Amount, SubtractsWhatWasAdded) {
  Amount one, other;
  one.parts[ScalesWithBatch] = 4;
  other.parts[ScalesWithBatch] = 1;
  other.parts[0] = 5;
  one += other;
  EXPECT_EQ(one.at({2, 1, 1}), 15);
  one -= other;
  EXPECT_EQ(one.at({2, 1, 1}), 8);
}

} // namespace
} // namespace dtc
