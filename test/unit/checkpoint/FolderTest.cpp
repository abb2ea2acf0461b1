#include "runtime/checkpoint/Folder.h"

#include "runtime/checkpoint/Reader.h"
#include "test/unit/checkpoint/CheckpointMaker.h"
#include "test/unit/data/TempFolder.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace dtc::rt {
namespace {

class Folders : public TempFolder {};

std::vector<uint64_t> stepsOf(const std::string &path) {
  std::vector<uint64_t> steps;
  EXPECT_TRUE(CheckpointFolder::steps(path, steps).ok());
  return steps;
}

TEST_F(Folders, KeepsTheLast) {
  for (uint64_t step : {5, 10, 15, 20})
    makeCheckpoint(folder, step, {tensorOf("w", {3}, -1, 1)}, format::RankMesh({1}));
  EXPECT_EQ(stepsOf(folder), (std::vector<uint64_t>{20, 15, 10, 5}));
  // A checkpoint without a marker does not count.
  std::filesystem::remove(CheckpointFolder::stepPath(folder, 10) + "/COMPLETE");
  CheckpointFolder writes;
  ASSERT_TRUE(writes.openForWriting(folder).ok());
  ASSERT_TRUE(writes.prune(15, 2).ok());
  EXPECT_EQ(stepsOf(folder), (std::vector<uint64_t>{20, 15, 5}));
  ASSERT_TRUE(writes.prune(20, 1).ok());
  EXPECT_EQ(stepsOf(folder), (std::vector<uint64_t>{20}));
}

TEST_F(Folders, KeepsEveryNthBesides) {
  for (uint64_t step : {5, 10, 15, 20, 25, 30})
    makeCheckpoint(folder, step, {tensorOf("w", {3}, -1, 1)}, format::RankMesh({1}));
  std::filesystem::remove(CheckpointFolder::stepPath(folder, 20) + "/COMPLETE");
  CheckpointFolder writes;
  ASSERT_TRUE(writes.openForWriting(folder).ok());
  ASSERT_TRUE(writes.prune(30, 2, 10).ok());
  EXPECT_EQ(stepsOf(folder), (std::vector<uint64_t>{30, 25, 10}));
}

TEST_F(Folders, SaysThatTheFolderAboveIsMissing) {
  CheckpointFolder writes;
  EXPECT_EQ(writes.openForWriting(folder + "/nope/x").message(),
            "making the folder of checkpoints '" + folder +
                "/nope/x': the folder that it is to be in is not there; make that first");
}

TEST_F(Folders, ReplacesAStepThatARunComesToAgain) {
  makeCheckpoint(folder, 5, {tensorOf("w", {3}, -1, 1)}, format::RankMesh({1}));
  makeCheckpoint(folder, 5, {tensorOf("other", {3}, -1, 1)}, format::RankMesh({1}));
  CheckpointReader reader;
  ASSERT_TRUE(reader.open(CheckpointFolder::stepPath(folder, 5)).ok());
  EXPECT_NE(reader.manifest().find("other"), nullptr);
  size_t entries = 0;
  for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator(folder))
    ++entries;
  EXPECT_EQ(entries, 1u);
}

TEST_F(Folders, IsOfOneRunAndOfNamesThatAreItsOwn) {
  for (const char *name : {"step-07", "step-", "step-x", "step-1x", "other", ".writing-4"})
    std::filesystem::create_directory(folder + "/" + name);
  EXPECT_EQ(stepsOf(folder), std::vector<uint64_t>());
  EXPECT_EQ(stepsOf(folder + "/absent"), std::vector<uint64_t>());
  CheckpointFolder first, second;
  ASSERT_TRUE(first.openForWriting(folder).ok());
  EXPECT_FALSE(std::filesystem::exists(folder + "/.writing-4"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/step-x"));
  EXPECT_NE(second.openForWriting(folder).message().find("another run"), std::string::npos);
}

TEST(CheckpointLayout, SharesOutWhatSeveralRanksHold) {
  CheckpointLayout layout;
  ASSERT_TRUE(
      layOut({tensorOf("a", {8}, -1, 2), tensorOf("b", {8}, -1, 2)}, format::RankMesh({2}), layout)
          .ok());
  ASSERT_EQ(layout.shards.size(), 2u);
  EXPECT_EQ(layout.shards[0].pieces.size(), 1u);
  EXPECT_EQ(layout.shards[1].pieces.size(), 1u);
  ASSERT_EQ(layout.tensors.size(), 2u);
  EXPECT_EQ(layout.tensors[0].pieces.size(), 1u);
  EXPECT_NE(layout.tensors[0].pieces[0].shard, layout.tensors[1].pieces[0].shard);
}

} // namespace
} // namespace dtc::rt
