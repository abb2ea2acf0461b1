// Tests programs on 1, 2 and 4 ranks: collectives, rank scalars, streams.
#include "test/unit/exec/RankRunner.h"
#include "test/unit/format/Sample.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace dtc::rt {
namespace {

using test::get;
using test::ProgramBuilder;
using test::put;

using Kind = format::CollectiveKind;

TEST(Ranks, RunEveryCollective) {
  for (int ranks : {1, 2, 4}) {
    auto n = static_cast<uint32_t>(ranks);
    ProgramBuilder builder({{"dp", n}});
    uint32_t one = builder.buffer("one", 2), sum = builder.buffer("sum", 2),
             largest = builder.buffer("largest", 2), all = builder.buffer("all", 2 * n),
             part = builder.buffer("part", 2), swapped = builder.buffer("swapped", 2 * n);
    builder.add(test::collective(Kind::all_reduce, builder.group({0}), one, sum, 2));
    format::CollectiveT max =
        test::collective(Kind::all_reduce, builder.group({0}), one, largest, 2);
    max.reduce = format::ReduceKind::max;
    builder.add(std::move(max));
    builder.add(test::collective(Kind::all_gather, builder.group({0}), one, all, 2));
    builder.add(test::collective(Kind::reduce_scatter, builder.group({0}), all, part, 2));
    builder.add(test::collective(Kind::all_to_all, builder.group({0}), all, swapped, 2));
    test::runRanks(ranks, builder.file(), [&](int rank, Executor &executor, Device &device) {
      auto r = static_cast<float>(rank);
      put(executor, device, one, {r + 1, -r});
      test::step(executor);
      float total = 0;
      for (int i = 0; i < ranks; ++i)
        total += static_cast<float>(i);
      auto size = static_cast<float>(ranks);
      EXPECT_EQ(get(executor, device, sum), (std::vector<float>{total + size, -total}));
      EXPECT_EQ(get(executor, device, largest), (std::vector<float>{size, 0}));
      std::vector<float> gathered, received;
      for (int i = 0; i < ranks; ++i) {
        gathered.insert(gathered.end(), {static_cast<float>(i + 1), -static_cast<float>(i)});
        received.insert(received.end(), {r + 1, -r});
      }
      EXPECT_EQ(get(executor, device, all), gathered);
      EXPECT_EQ(get(executor, device, part), (std::vector<float>{size * (r + 1), -size * r}));
      EXPECT_EQ(get(executor, device, swapped), received);
    });
  }
}

// Each rank sends to the second next one and receives from the one before: two rings at the same
// time, with sends and receives on streams of their own.
TEST(Ranks, SendAround) {
  ProgramBuilder builder({{"cp", 3}});
  builder.program().num_streams = 3;
  uint32_t x = builder.buffer("x", 2), previous = builder.buffer("previous", 2),
           next = builder.buffer("next", 2), all = builder.group({0});
  using format::TransferKind;
  builder.add(test::transfer(TransferKind::send, all, 1, x, 2), 1);
  builder.add(test::transfer(TransferKind::send, all, 2, x, 2), 2);
  builder.add(test::transfer(TransferKind::receive, all, 2, previous, 2));
  builder.add(test::transfer(TransferKind::receive, all, 1, next, 2));
  test::runRanks(3, builder.file(), [&](int rank, Executor &executor, Device &device) {
    for (int turn = 0; turn < 20; ++turn) {
      auto value = [&](int of) {
        return std::vector<float>{static_cast<float>(of % 3), static_cast<float>(turn)};
      };
      put(executor, device, x, value(rank));
      test::step(executor);
      EXPECT_EQ(get(executor, device, previous), value(rank + 2));
      EXPECT_EQ(get(executor, device, next), value(rank + 1));
    }
  });
}

// Each axis of a 2 x 2 mesh has its own groups, and both axes together have all ranks.
TEST(Ranks, GroupsFollowTheMesh) {
  ProgramBuilder builder({{"dp", 2}, {"tp", 2}});
  uint32_t x = builder.buffer("x", 1), dp = builder.buffer("dp", 1), tp = builder.buffer("tp", 1),
           both = builder.buffer("both", 4);
  builder.add(test::collective(Kind::all_reduce, builder.group({0}), x, dp, 1));
  builder.add(test::collective(Kind::all_reduce, builder.group({1}), x, tp, 1));
  builder.add(test::collective(Kind::all_gather, builder.group({0, 1}), x, both, 1));
  test::runRanks(4, builder.file(), [&](int rank, Executor &executor, Device &device) {
    put(executor, device, x, {std::pow(10.0f, static_cast<float>(rank))});
    test::step(executor);
    const float overDp[] = {101, 1010, 101, 1010}, overTp[] = {11, 11, 1100, 1100};
    EXPECT_EQ(get(executor, device, dp)[0], overDp[rank]);
    EXPECT_EQ(get(executor, device, tp)[0], overTp[rank]);
    EXPECT_EQ(get(executor, device, both), (std::vector<float>{1, 10, 100, 1000}));
    EXPECT_EQ(executor.coordinates(), (std::vector<uint32_t>{static_cast<uint32_t>(rank / 2),
                                                             static_cast<uint32_t>(rank % 2)}));
  });
}

// There are two classes of ranks. Those of one class meet in a list that is no mesh axis, in its
// own order.
TEST(Ranks, GroupsAreListsOfRanks) {
  ProgramBuilder builder({{"dp", 4}});
  uint32_t x = builder.buffer("x", 1), both = builder.buffer("both", 2);
  auto ends = std::make_unique<format::GroupT>();
  ends->name = "ends";
  ends->size = 2;
  ends->ranks = {3, 0};
  builder.manifest.groups.push_back(std::move(ends));
  builder.add(test::collective(Kind::all_gather, 0, x, both, 1));
  builder.manifest.programs.push_back(std::make_unique<format::ProgramT>(builder.program()));
  builder.manifest.programs[1]->tasks[0]->instructions.clear();
  builder.manifest.rank_program = {0, 1, 1, 0};
  test::runRanks(4, builder.file(), [&](int rank, Executor &executor, Device &device) {
    put(executor, device, x, {static_cast<float>(rank + 1)});
    test::step(executor);
    bool isEnd = rank == 0 || rank == 3;
    EXPECT_EQ(get(executor, device, both),
              (isEnd ? std::vector<float>{4, 1} : std::vector<float>{0, 0}));
  });
}

// The mesh is 2 x 2 x 3, in which the ranks outside of an axis's group differ by two coordinates.
TEST(Ranks, GroupsFollowAMeshOfThreeAxes) {
  ProgramBuilder builder({{"dp", 2}, {"cp", 2}, {"tp", 3}});
  uint32_t x = builder.buffer("x", 1);
  std::vector<uint32_t> sums;
  const std::vector<std::vector<uint32_t>> groups = {{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}};
  for (const std::vector<uint32_t> &axes : groups) {
    sums.push_back(builder.buffer("sum " + std::to_string(sums.size()), 1));
    builder.add(test::collective(Kind::all_reduce, builder.group(axes), x, sums.back(), 1));
  }
  auto coordinates = [](int rank) { return std::array<int, 3>{rank / 6, rank / 3 % 2, rank % 3}; };
  test::runRanks(12, builder.file(), [&](int rank, Executor &executor, Device &device) {
    put(executor, device, x, {std::pow(2.0f, static_cast<float>(rank))});
    test::step(executor);
    // Rank r adds 2^r, so the sum of a group shows its members.
    for (size_t i = 0; i < groups.size(); ++i) {
      float wanted = 0;
      for (int other = 0; other < 12; ++other) {
        bool isInGroup = true;
        for (uint32_t axis = 0; axis < 3; ++axis)
          isInGroup &= coordinates(rank)[axis] == coordinates(other)[axis] ||
                       std::find(groups[i].begin(), groups[i].end(), axis) != groups[i].end();
        wanted += isInGroup ? std::pow(2.0f, static_cast<float>(other)) : 0;
      }
      EXPECT_EQ(get(executor, device, sums[i])[0], wanted) << "group " << i;
    }
  });
}

// Coordinates on both axes select the part, and one piece is counted from the end.
TEST(Ranks, RankScalarsAddUpTheirTerms) {
  ProgramBuilder builder({{"dp", 2}, {"tp", 2}});
  uint32_t src = builder.buffer("src", 8), dst = builder.buffer("dst", 2);
  format::StridedCopyT op = test::copy(src, dst, 2);
  op.src_offset = test::rankScalar(6, {{-4, 0}, {-2, 1}});
  builder.add(std::move(op));
  test::runRanks(4, builder.file(), [&](int rank, Executor &executor, Device &device) {
    put(executor, device, src, {0, 1, 2, 3, 4, 5, 6, 7});
    test::step(executor);
    int begin = 6 - 4 * (rank / 2) - 2 * (rank % 2);
    auto first = static_cast<float>(begin);
    EXPECT_EQ(get(executor, device, dst), (std::vector<float>{first, first + 1}));
  });
}

// Each rank copies its own row of a table into the row before it, counted from the end.
TEST(Ranks, RankScalarsPickTheRanksPart) {
  ProgramBuilder builder({{"dp", 2}, {"tp", 2}});
  uint32_t src = builder.buffer("src", 8), dst = builder.buffer("dst", 8);
  format::StridedCopyT op = test::copy(src, dst, 2);
  op.src_offset = test::rankScalar(1, {{4, 1}});
  op.dst_offset = test::rankScalar(6, {{-2, 0}});
  builder.add(std::move(op));
  test::runRanks(4, builder.file(), [&](int rank, Executor &executor, Device &device) {
    put(executor, device, src, {0, 1, 2, 3, 4, 5, 6, 7});
    test::step(executor);
    std::vector<float> wanted(8);
    size_t to = rank / 2 == 0 ? 6 : 4;
    wanted[to] = rank % 2 == 0 ? 1 : 5;
    wanted[to + 1] = rank % 2 == 0 ? 2 : 6;
    EXPECT_EQ(get(executor, device, dst), wanted);
  });
}

// The gradient of the first half is summed on stream 1 while stream 0 computes the second. Many
// steps run, so that an ordering that is only usually right is found.
TEST(Ranks, EventsOrderTwoStreams) {
  for (int ranks : {1, 2, 4}) {
    ProgramBuilder builder({{"dp", static_cast<uint32_t>(ranks)}});
    builder.program().num_streams = 2;
    builder.program().num_events = 2;
    constexpr uint64_t count = 4096;
    uint32_t x = builder.buffer("x", count), first = builder.buffer("first", count),
             second = builder.buffer("second", count), sum = builder.buffer("sum", count);
    for (uint32_t half : {first, second}) {
      builder.add(test::copy(x, half, count));
      builder.add(test::record(0)); // one event, recorded twice
      builder.add(test::wait(0), 1);
      builder.add(test::collective(Kind::all_reduce, builder.group({0}), half, half, count), 1);
    }
    builder.add(test::record(1), 1);
    builder.add(test::wait(1));
    builder.add(test::copy(first, sum, count));
    format::StridedCopyT add = test::copy(second, sum, count);
    add.accumulate = true;
    builder.add(std::move(add));
    test::runRanks(ranks, builder.file(), [&](int rank, Executor &executor, Device &device) {
      for (int i = 0; i < 50; ++i) {
        auto value = static_cast<float>(i + rank);
        put(executor, device, x, std::vector<float>(count, value));
        test::step(executor);
        float total = 0;
        for (int r = 0; r < ranks; ++r)
          total += static_cast<float>(i + r);
        ASSERT_EQ(get(executor, device, sum), std::vector<float>(count, 2 * total));
      }
    });
  }
}

// The sample program uses every instruction. Its loss is a sum over ranks, on which all ranks
// agree.
TEST(Ranks, SampleProgramAgreesOnItsLoss) {
  std::vector<uint8_t> object = test::readBytes(DTC_SAMPLE_KERNELS);
  for (int ranks : {1, 2, 4}) {
    std::vector<float> losses(static_cast<size_t>(ranks));
    test::SampleIndices at;
    ProgramBuilder builder = test::sampleProgram(static_cast<uint32_t>(ranks), object, &at);
    test::runRanks(
        ranks, builder.file(),
        [&](int rank, Executor &executor, Device &device) {
          put(executor, device, at.tokens, std::vector<float>(8, std::bit_cast<float>(int32_t{4})));
          put(executor, device, at.embed, std::vector<float>(128, 0.5f));
          put(executor, device, at.head, std::vector<float>(static_cast<size_t>(64 / ranks), 1));
          float previous = INFINITY;
          for (uint64_t i = 1; i <= 5; ++i) {
            ASSERT_TRUE(executor.setScalars({.step = i, .baseLr = 0.125f}).ok());
            StepResult result;
            Status status = executor.runStep(result);
            ASSERT_TRUE(status.ok()) << status.message();
            EXPECT_GT(result.loss, 0);
            EXPECT_LT(result.loss, previous * 4) << "weights decay";
            previous = result.loss;
          }
          losses[static_cast<size_t>(rank)] = previous;
        },
        2);
    for (float loss : losses)
      EXPECT_EQ(loss, losses[0]);
  }
}

} // namespace
} // namespace dtc::rt
