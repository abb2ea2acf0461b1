// Tests decisions that ranks make together, on ranks that are threads.
#include "runtime/comm/Agree.h"
#include "runtime/comm/Loopback.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace dtc::rt {
namespace {

void onRanks(int ranks, const std::function<void(Comm &)> &body) {
  auto worlds = makeLoopbackWorld(ranks, 30);
  std::vector<std::thread> threads;
  for (auto &world : worlds)
    threads.emplace_back([&] { body(*world); });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Agree, GivesTheErrorOfOneRankToAll) {
  onRanks(3, [](Control &world) {
    EXPECT_TRUE(agree(world, {}).ok());
    int rank = world.rank();
    Status mine = rank == 0 ? Status() : Status::notFound("no file on " + std::to_string(rank));
    Status all = agree(world, mine);
    EXPECT_EQ(all.statusCode(), StatusCode::NotFound);
    EXPECT_EQ(all.message(), "rank 1: no file on 1");
    EXPECT_EQ(agree(world, Status::internal("")).statusCode(), StatusCode::Internal);
  });
}

TEST(Agree, TellsTheLowestRankThatClaims) {
  onRanks(4, [](Control &world) {
    int lowest = 9;
    EXPECT_TRUE(agree(world, {}, false, lowest).ok());
    EXPECT_EQ(lowest, -1);
    EXPECT_TRUE(agree(world, {}, world.rank() >= 2, lowest).ok());
    EXPECT_EQ(lowest, 2);
    Status mine = world.rank() == 3 ? Status::notFound("x") : Status();
    EXPECT_EQ(agree(world, mine, world.rank() == 0, lowest).message(), "rank 3: x");
    EXPECT_EQ(lowest, 0);
  });
}

// Calls the function on all ranks, with traits that differ in one value each.
std::string compare(const std::vector<std::string> &seeds) {
  std::string message;
  onRanks(static_cast<int>(seeds.size()), [&](Control &world) {
    const Trait traits[] = {{"program", "17", "'a.dte'"},
                            {"--seed", seeds[static_cast<size_t>(world.rank())], {}}};
    Status status = agreeOnTraits(world, traits);
    EXPECT_EQ(status.ok(), status.statusCode() != StatusCode::InvalidArgument);
    if (world.rank() + 1 == world.size())
      message = status.message();
  });
  return message;
}

TEST(Agree, NamesTheRankThatDiffersFromMost) {
  EXPECT_EQ(compare({"1"}), "");
  EXPECT_EQ(compare({"1", "1", "1"}), "");
  std::string message = compare({"2", "1", "1"});
  EXPECT_EQ(message.rfind("rank 0 on host '", 0), 0u) << message;
  EXPECT_NE(message.find("' has --seed 2, rank 1 on host '"), std::string::npos) << message;
  EXPECT_NE(message.find("' has --seed 1; all ranks of a job must have the same"),
            std::string::npos)
      << message;
  // If two values are equally frequent, the lower rank's is the job's.
  EXPECT_EQ(compare({"1", "2"}).rfind("rank 1 on host '", 0), 0u);
  EXPECT_EQ(compare({"2", "1", "1", "2"}).rfind("rank 1 on host '", 0), 0u);
}

TEST(Agree, LeavesOutRanksWithoutAValue) {
  EXPECT_EQ(compare({"", "1", "", "1"}), "");
  EXPECT_EQ(compare({"", "", ""}), "");
  EXPECT_EQ(compare({"", "1", "", "2", ""}).rfind("rank 3 on host '", 0), 0u);
}

} // namespace
} // namespace dtc::rt
