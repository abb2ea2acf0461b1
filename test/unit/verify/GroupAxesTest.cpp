#include "compiler/prove/verify/GroupAxes.h"

#include "test/verify/Packed.h"

#include <gtest/gtest.h>

namespace dtc {
namespace {

constexpr AxisSet kPp = 1, kDp = 2, kTp = 4;

// A mesh of pp 2, dp 2 and tp 2, with a program for each stage, and groups of these lists.
class Job {
public:
  explicit Job(std::vector<std::pair<uint32_t, std::vector<uint32_t>>> lists,
               std::vector<uint32_t> meshRanks = {})
      : packed(make(std::move(lists), std::move(meshRanks))), axes(*packed) {}
  const GroupAxes &operator*() const { return axes; }
  const GroupAxes *operator->() const { return &axes; }
  const format::Manifest &manifest() const { return *packed; }

private:
  static format::ManifestT make(std::vector<std::pair<uint32_t, std::vector<uint32_t>>> lists,
                                std::vector<uint32_t> meshRanks) {
    format::ManifestT manifest;
    manifest.place_ranks = std::move(meshRanks);
    for (const char *name : {"pp", "dp", "tp"}) {
      manifest.mesh.push_back(std::make_unique<format::AxisT>());
      manifest.mesh.back()->name = name;
      manifest.mesh.back()->size = 2;
    }
    manifest.rank_program.resize(8);
    for (uint32_t position = 0; position < 8; ++position)
      manifest
          .rank_program[manifest.place_ranks.empty() ? position : manifest.place_ranks[position]] =
          position / 4;
    for (int program = 0; program < 2; ++program)
      manifest.programs.push_back(std::make_unique<format::ProgramT>());
    for (auto &[size, ranks] : lists) {
      manifest.groups.push_back(std::make_unique<format::GroupT>());
      manifest.groups.back()->name = "lists";
      manifest.groups.back()->size = size;
      manifest.groups.back()->ranks = std::move(ranks);
    }
    return manifest;
  }

  test::Packed packed;
  GroupAxes axes;
};

TEST(GroupAxes, KnowsOnWhichAxesRanksOfAProgramDiffer) {
  Job job({});
  EXPECT_EQ(job->varying(0), kDp | kTp);
  EXPECT_EQ(job->varying(1), kDp | kTp);
}

// Lists of ranks that differ only along dp, or only along dp and tp, join these axes.
TEST(GroupAxes, JoinsTheAxesThatListsHaveAllOf) {
  Job job({{2, {0, 2, 1, 3, 4, 6, 5, 7}}, {4, {0, 1, 2, 3, 4, 5, 6, 7}}});
  for (uint32_t program : {0u, 1u}) {
    EXPECT_EQ(job->joined(0, program), kDp);
    EXPECT_EQ(job->spread(0, program), kDp);
    EXPECT_EQ(job->joined(1, program), kDp | kTp);
    EXPECT_EQ(job->met(0, program), std::vector<uint32_t>{program});
  }
}

// The list of 0 and 3 has neither all of dp nor all of tp: a sum over it gives no information about
// ranks 1 and 2.
TEST(GroupAxes, JoinsNothingWhereAListHasSomeOfTheRanksOfItsAxes) {
  Job job({{2, {0, 3, 1, 2}}});
  EXPECT_EQ(job->joined(0, 0), 0);
  EXPECT_EQ(job->spread(0, 0), kDp | kTp);
}

// One list of a group is along dp, and the other along tp, so neither axis is joined.
TEST(GroupAxes, JoinsWhatEveryListJoins) {
  Job job({{2, {0, 2, 4, 5}}, {2, {0, 2, 4, 6, 1, 5}}});
  EXPECT_EQ(job->joined(0, 0), kDp);
  EXPECT_EQ(job->joined(0, 1), kTp);
  EXPECT_EQ(job->joined(1, 0), 0);
  EXPECT_EQ(job->spread(1, 0), kDp);
}

// Ranks of other programs in a list do not affect the axes of a program's own ranks.
TEST(GroupAxes, TellsTheProgramsOfAListApart) {
  Job job({{2, {0, 4, 1, 5, 2, 6, 3, 7}}});
  EXPECT_EQ(job->joined(0, 0), 0);
  EXPECT_EQ(job->spread(0, 0), 0);
  EXPECT_EQ(job->met(0, 0), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(job->peers(0, 1, 0), std::vector<uint32_t>{1});
  EXPECT_EQ(job->crossed(0, 1, 0), kPp);
}

// Rank 0 sends to 6, which has another part of what is split along dp.
TEST(GroupAxes, SaysWhatATransferCrosses) {
  Job job({{2, {0, 6, 1, 5, 2, 4, 3, 7}}, {4, {0, 1, 4, 5, 2, 3, 6, 7}}});
  EXPECT_EQ(job->crossed(0, 1, 0), kPp | kDp);
  EXPECT_EQ(job->peers(1, 1, 0), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(job->crossed(1, 2, 0), kPp);
}

TEST(GroupAxes, SeesRanksThatDoNotAscendInTheirList) {
  Job job({{2, {2, 3, 0, 1}}, {2, {0, 1, 3, 2}}});
  EXPECT_TRUE(job->ascends(0));
  EXPECT_FALSE(job->ascends(1));
}

// Ranks are counted along dp, then pp, then tp, so the same lists mean other axes.
TEST(GroupAxes, GoesByThePositionsOfRanks) {
  Job job({{2, {0, 4, 1, 5, 2, 6, 3, 7}}, {4, {0, 4, 1, 5, 2, 6, 3, 7}}, {2, {0, 2, 5, 7}}},
          {0, 4, 1, 5, 2, 6, 3, 7});
  EXPECT_EQ(job->varying(0), kDp | kTp);
  EXPECT_EQ(job->joined(0, 0), kTp);
  EXPECT_EQ(job->joined(1, 1), kDp | kTp);
  EXPECT_TRUE(job->ascends(1));
  EXPECT_EQ(job->crossed(2, 1, 0), kPp);
  Job sorted({{4, {0, 1, 4, 5, 2, 3, 6, 7}}}, {0, 4, 1, 5, 2, 6, 3, 7});
  EXPECT_FALSE(sorted->ascends(0));
}

TEST(GroupAxes, NamesAxes) {
  Job job({});
  EXPECT_EQ(axisNames(job.manifest(), kTp), "tp");
  EXPECT_EQ(axisNames(job.manifest(), kPp | kTp), "pp and tp");
}

} // namespace
} // namespace dtc
