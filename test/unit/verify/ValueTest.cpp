#include "compiler/prove/verify/Value.h"
#include "compiler/prove/verify/ValueRanges.h"

#include <gtest/gtest.h>

#include <random>

namespace dtc {
namespace {

constexpr AxisSet kDp = 1, kTp = 2, kPp = 4;

Value valueOf(AxisSet axes, AxisSet partial, AxisSet samples, AxisSet reduced,
              bool isZero = false) {
  Value value;
  value.axes = axes;
  value.partial = partial;
  value.samples = samples;
  value.reduced = reduced;
  value.isZero = isZero;
  return value;
}

Value joined(Value a, const Value &b) {
  a.join(b);
  return a;
}

TEST(Value, JoinIsTrueOfBoth) {
  struct Case {
    const char *name;
    Value a, b, join;
  };
  const Value zero = valueOf(0, 0, 0, 0, true);
  for (const Case &each : {
           Case{"unlike and equal", valueOf(kDp, 0, 0, 0), valueOf(0, 0, 0, 0),
                valueOf(kDp, 0, 0, 0)},
           Case{"parts along other axes", valueOf(kDp, kDp, 0, 0), valueOf(kTp, kTp, 0, 0),
                valueOf(kDp | kTp, kDp | kTp, 0, 0)},
           Case{"samples and none", valueOf(kDp, 0, kDp, 0), valueOf(0, 0, 0, kDp),
                valueOf(kDp, 0, kDp, 0)},
           Case{"summed along both", valueOf(0, 0, 0, kDp | kTp), valueOf(0, 0, 0, kTp | kPp),
                valueOf(0, 0, 0, kTp)},
           Case{"zeros need no sum", valueOf(0, 0, 0, kDp), zero, valueOf(0, 0, 0, kDp)},
           Case{"zeros alone", zero, zero, zero},
       }) {
    SCOPED_TRACE(each.name);
    EXPECT_EQ(joined(each.a, each.b), each.join);
  }
  EXPECT_FALSE(joined(zero, valueOf(0, 0, 0, 0)).isZero);
}

// Draws values of three axes. Zeros have no properties of sums, as Zero writes them.
Value draw(std::mt19937 &random) {
  auto axes = [&] { return static_cast<AxisSet>(random() % 8); };
  Value value = valueOf(axes(), axes(), axes(), axes());
  if (random() % 4 == 0)
    value = valueOf(axes(), 0, 0, kAllAxes, true);
  return value;
}

TEST(Value, JoinIsThatOfALattice) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    Value a = draw(random), b = draw(random), c = draw(random);
    EXPECT_EQ(joined(Value::ofNothing(), a), a);
    EXPECT_EQ(joined(a, Value::ofNothing()), a);
    EXPECT_EQ(joined(a, a), a);
    EXPECT_EQ(joined(a, b), joined(b, a));
    EXPECT_EQ(joined(joined(a, b), c), joined(a, joined(b, c)));
    Value both = joined(a, b);
    EXPECT_EQ(joined(both, a), both) << "a join is above what it joins";
  }
}

// The group of programs that a value was reduced over is of the operand that comes last.
TEST(Value, JoinTakesTheGroupOfOneOperand) {
  Value with, without;
  with.together = 3;
  EXPECT_EQ(joined(with, without).together, 3u);
  EXPECT_EQ(joined(without, with).together, 3u);
}

// A sum in place is not reduced over programs because what was there before it was.
TEST(Value, SumInPlaceKeepsItsOwnGroup) {
  Value before, added;
  before.together = 3;
  before.axes = kDp;
  before.reduced = kTp;
  added.reduced = kDp | kTp;
  added.addTo(before);
  EXPECT_EQ(added.together, 0u);
  EXPECT_EQ(added.axes, kDp);
  EXPECT_EQ(added.reduced, kTp);
}

TEST(Value, SumOnZerosIsTheAddend) {
  Value added = valueOf(kDp, kTp, kDp, kPp), sum = added;
  sum.addTo(valueOf(0, 0, 0, 0, true));
  EXPECT_EQ(sum, added);
}

// Bytes that stay as they are keep all they had; zeros among them are no longer told apart.
TEST(Value, PartlyWrittenBytesHaveBothProperties) {
  Value written = valueOf(kDp, 0, 0, kDp | kTp);
  written.keep(valueOf(kTp, kPp, kTp, 0, true));
  EXPECT_EQ(written, valueOf(kDp | kTp, kPp, kTp, 0));
}

TEST(Value, FinishedSumsAreNoParts) {
  Value value = valueOf(kDp | kTp, kDp | kTp, kDp, 0);
  value.finishSum(kDp);
  EXPECT_EQ(value, valueOf(kDp | kTp, kTp, 0, 0));
  value.equalise(kDp);
  EXPECT_EQ(value, valueOf(kTp, kTp, 0, 0));
}

TEST(ValueRanges, JoinsNeighboursThatAreAlike) {
  ValueRanges ranges;
  ranges.append({0, 8, valueOf(kDp, 0, 0, 0)});
  ranges.append({8, 16, valueOf(kDp, 0, 0, 0)});
  ranges.append({16, 24, valueOf(kTp, 0, 0, 0)});
  ranges.append({32, 40, valueOf(kTp, 0, 0, 0)});
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(ranges.front().begin, 0);
  EXPECT_EQ(ranges.front().end, 16);
  EXPECT_EQ(ranges.joined(), valueOf(kDp | kTp, 0, 0, 0));
}

TEST(ValueRanges, JoinsWhatHasBytesOfARange) {
  ValueRanges ranges;
  ranges.append({16, 24, valueOf(kTp, 0, 0, 0)});
  ranges.append({0, 8, valueOf(kDp, 0, 0, 0)});
  ranges.append({8, 16, valueOf(0, kPp, 0, 0)});
  ranges.sort();
  EXPECT_EQ(ranges.joined(0, 8), valueOf(kDp, 0, 0, 0));
  EXPECT_EQ(ranges.joined(7, 9), valueOf(kDp, kPp, 0, 0));
  EXPECT_EQ(ranges.joined(8, 24), valueOf(kTp, kPp, 0, 0));
  EXPECT_EQ(ranges.joined(24, 32), Value::ofNothing());
}

} // namespace
} // namespace dtc
