// Tests loopback: the conformance suite on 1 to 4 threads, and what only loopback guarantees.
#include "runtime/comm/Loopback.h"
#include "test/unit/comm/Conformance.h"
#include "test/unit/comm/RanksAsThreads.h"

#include <gtest/gtest.h>

namespace dtc::rt {
namespace {
using test::onEach;

class LoopbackConformance : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(LoopbackConformance, Holds) {
  auto [ranks, check] = GetParam();
  auto world = makeLoopbackWorld(ranks, 20);
  onEach(world, conformance::checks[check].run);
}
INSTANTIATE_TEST_SUITE_P(Ranks, LoopbackConformance,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Range(0, conformance::numChecks)),
                         [](const auto &info) {
                           return std::string(conformance::checks[std::get<1>(info.param)].name) +
                                  "On" + std::to_string(std::get<0>(info.param));
                         });

TEST(Loopback, SumsInOrderOfRank) {
  // 1e8 + 1 - 1e8 is 0 in this order and 1 in another.
  auto world = makeLoopbackWorld(3);
  const float values[] = {1e8f, 1, -1e8f};
  onEach(world, [&](Comm &comm) {
    float sum = -1;
    ASSERT_TRUE(comm.allReduce(&values[comm.rank()], &sum, 1, DataType::F32, Reduction::Sum).ok());
    EXPECT_EQ(sum, 0);
  });
}

TEST(Loopback, NamesGroupOperationAndSecondsOfATimeOut) {
  auto world = makeLoopbackWorld(2, 0.05);
  float value = 1;
  Status status = world[1]->allReduce(&value, &value, 1, DataType::F32, Reduction::Sum);
  EXPECT_EQ(status.statusCode(), StatusCode::Aborted);
  EXPECT_EQ(status.message(), "all-reduce of 1 f32 on group 'world' (rank 1 of 2): a rank did not "
                              "arrive within 0.05 s");
  // The job has also ended for the rank that comes too late.
  status = world[0]->barrier();
  EXPECT_EQ(status.statusCode(), StatusCode::Aborted);
}

TEST(Loopback, TimesOutOnSendAndReceive) {
  auto world = makeLoopbackWorld(2, 0.05);
  float value = 1;
  EXPECT_EQ(world[0]->receive(&value, 1, DataType::F32, 1).message(),
            "receive of 1 f32 from rank 1 on group 'world' (rank 0 of 2): a rank did not arrive "
            "within 0.05 s");
  auto other = makeLoopbackWorld(2, 0.05);
  EXPECT_EQ(other[0]->send(&value, 1, DataType::F32, 1).statusCode(), StatusCode::Aborted);
  EXPECT_EQ(other[1]->receive(&value, 1, DataType::F32, 0).statusCode(), StatusCode::Aborted);
}

TEST(Loopback, WakesAllGroupsWhenARankGivesUp) {
  auto world = makeLoopbackWorld(3, 20);
  onEach(world, [&](Comm &comm) {
    std::unique_ptr<Comm> pair;
    ASSERT_TRUE(comm.split(comm.rank() / 2, comm.rank(), pair).ok());
    if (comm.rank() == 2) {
      comm.abandon("its data is damaged");
      return;
    }
    if (comm.rank() == 0) {
      Status status = pair->barrier();
      EXPECT_EQ(status.message(), "barrier on group 'part 0 of world' (rank 0 of 2): rank 2 of "
                                  "'world' gave up: its data is damaged");
    }
  });
}

TEST(Loopback, SaysWhoCalledWhat) {
  auto world = makeLoopbackWorld(2, 20);
  onEach(world, [&](Comm &comm) {
    float values[4] = {};
    Status status = comm.rank() == 0
                        ? comm.allReduce(values, values, 2, DataType::F32, Reduction::Sum)
                        : comm.broadcast(values, 4, DataType::U8, 1);
    EXPECT_EQ(status.statusCode(), StatusCode::Internal);
    EXPECT_EQ(status.message(),
              "members of group 'world' called different operations: rank 0 all-reduce of 2 f32, "
              "rank 1 broadcast of 4 u8 from rank 1");
  });
}

TEST(Loopback, RefusesAMessageOfAnotherSize) {
  auto world = makeLoopbackWorld(2, 20);
  onEach(world, [&](Comm &comm) {
    float values[4] = {};
    if (comm.rank() == 0) {
      EXPECT_TRUE(comm.send(values, 4, DataType::F32, 1).ok());
      return;
    }
    EXPECT_EQ(comm.receive(values, 3, DataType::F32, 0).message(),
              "receive of 3 f32 from rank 0 on group 'world' (rank 1 of 2) met send of 4 f32");
  });
}

TEST(DataType, HasTheSizeOfItsElements) {
  EXPECT_EQ(bytesOf(DataType::F32), 4u);
  EXPECT_EQ(bytesOf(DataType::Bf16), 2u);
  EXPECT_EQ(bytesOf(DataType::F16), 2u);
  EXPECT_EQ(bytesOf(DataType::I32), 4u);
  EXPECT_EQ(bytesOf(DataType::I64), 8u);
  EXPECT_EQ(bytesOf(DataType::U8), 1u);
}
} // namespace
} // namespace dtc::rt
