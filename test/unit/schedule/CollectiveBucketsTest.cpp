// Tests of passes/schedule/CollectiveBuckets.
#include "passes/schedule/CollectiveBuckets.h"

#include <gtest/gtest.h>

using namespace dtc;
using Buckets = std::vector<std::vector<unsigned>>;

TEST(CollectiveBuckets, CloseBeforeTheyPassTheLimit) {
  CollectiveBuckets buckets(100);
  buckets.add(0, "a", 40);
  buckets.add(1, "a", 50);
  buckets.add(2, "a", 30);
  EXPECT_EQ(buckets.take(), (Buckets{{0, 1}, {2}}));
}

TEST(CollectiveBuckets, LeaveABigOneAlone) {
  CollectiveBuckets buckets(100);
  buckets.add(0, "a", 500);
  buckets.add(1, "a", 1);
  buckets.add(2, "a", 99);
  EXPECT_EQ(buckets.take(), (Buckets{{0}, {1, 2}}));
}

TEST(CollectiveBuckets, KeepKeysApart) {
  CollectiveBuckets buckets(100);
  buckets.add(0, "b", 10);
  buckets.add(1, "a", 10);
  buckets.add(2, "b", 10);
  EXPECT_EQ(buckets.take(), (Buckets{{1}, {0, 2}}));
}

TEST(CollectiveBuckets, CloseWhereAMemberIsNeeded) {
  CollectiveBuckets buckets(100);
  buckets.add(0, "a", 10);
  buckets.add(1, "a", 10);
  buckets.closeIf([](unsigned member) { return member == 0; });
  buckets.add(2, "a", 10);
  buckets.closeIf([](unsigned member) { return member == 0; });
  EXPECT_EQ(buckets.take(), (Buckets{{0, 1}, {2}}));
}

TEST(CollectiveBuckets, WithoutALimitOfBytesMergeNothing) {
  CollectiveBuckets buckets(0);
  buckets.add(0, "a", 10);
  buckets.add(1, "a", 10);
  EXPECT_EQ(buckets.take(), (Buckets{{0}, {1}}));
  EXPECT_EQ(buckets.take(), Buckets{});
}
