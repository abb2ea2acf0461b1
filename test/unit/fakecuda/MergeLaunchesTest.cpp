// Tests that launches that are merged compute the same, whatever their dependences.
#include "test/unit/fakecuda/CudaTestSupport.h"

#include "runtime/cuda/MergeLaunches.h"

#include <algorithm>
#include <random>

namespace dtc::rt {
namespace {

using test::CudaRank;
using test::launchOf;
using test::ProgramBuilder;

// Kernels are distinguished by address alone.
cu::Function kernel(size_t number) {
  static char handles[4];
  return reinterpret_cast<cu::Function>(&handles[number]);
}

// Reads cell `from` and writes cell `to`, of 8 bytes each.
LaunchPiece move(uint64_t from, uint64_t to, cu::Function merged) {
  LaunchPiece piece;
  piece.ranges = {{.begin = 8 * from, .end = 8 * from + 8},
                  {.begin = 8 * to, .end = 8 * to + 8, .isWritten = true}};
  piece.merged = merged;
  return piece;
}

std::vector<LaunchGroup> group(const std::vector<LaunchPiece> &pieces) {
  std::vector<const LaunchPiece *> launches;
  for (const LaunchPiece &piece : pieces)
    launches.push_back(&piece);
  return groupLaunches(launches);
}

std::vector<std::vector<size_t>> membersOf(const std::vector<LaunchGroup> &groups) {
  std::vector<std::vector<size_t>> members;
  for (const LaunchGroup &each : groups)
    members.push_back(each.members);
  return members;
}

using Members = std::vector<std::vector<size_t>>;

TEST(MergeLaunches, AreOneWhereNothingDependsOnAnother) {
  EXPECT_EQ(membersOf(group({move(0, 1, kernel(0)), move(2, 3, kernel(0)), move(4, 5, kernel(0))})),
            (Members{{0, 1, 2}}));
}

TEST(MergeLaunches, AreAloneWithoutAKernelForSeveral) {
  EXPECT_EQ(membersOf(group({move(0, 1, nullptr), move(2, 3, nullptr)})), (Members{{0}, {1}}));
}

// In LAMB, each tensor has its direction, then its norms, then its step.
TEST(MergeLaunches, OfSeveralTensorsBecomeOneForEachStage) {
  std::vector<LaunchPiece> pieces;
  for (uint64_t tensor : {0, 10, 20}) {
    pieces.push_back(move(tensor, tensor + 1, kernel(0)));
    pieces.push_back(move(tensor + 1, tensor + 2, nullptr));
    pieces.push_back(move(tensor + 2, tensor + 3, kernel(1)));
  }
  EXPECT_EQ(membersOf(group(pieces)), (Members{{0, 3, 6}, {1}, {4}, {7}, {2, 5, 8}}));
}

TEST(MergeLaunches, StayBehindWhatTheyReadAndWrite) {
  // The three cases are a read after a write, a write after a read, and a write after a write.
  EXPECT_EQ(membersOf(group({move(0, 1, kernel(0)), move(1, 2, kernel(0))})), (Members{{0}, {1}}));
  EXPECT_EQ(membersOf(group({move(0, 1, kernel(0)), move(2, 0, kernel(0))})), (Members{{0}, {1}}));
  EXPECT_EQ(membersOf(group({move(0, 1, kernel(0)), move(2, 1, kernel(0))})), (Members{{0}, {1}}));
}

// A copy counts as accessing everything between the first and the last element of a side.
TEST(MergeLaunches, StayBehindCopies) {
  // The copy takes rows 1 and 0 of three, columns 1 to 3 of 4, to consecutive groups of four bytes.
  format::StridedCopyT table;
  table.dtype = format::DType::f32;
  table.sizes = {2, 3};
  table.src_strides = {-4, 1};
  table.dst_strides = {3, 1};
  flatbuffers::FlatBufferBuilder bytes;
  bytes.Finish(format::CreateStridedCopy(bytes, &table));
  const auto *copy = flatbuffers::GetRoot<format::StridedCopy>(bytes.GetBufferPointer());
  auto at = [](uint64_t address) { return reinterpret_cast<char *>(address); };
  LaunchPiece piece = describe(*copy, {at(1000 + 4 * 5), at(2000)});
  ASSERT_EQ(piece.ranges.size(), 2U);
  EXPECT_EQ(piece.ranges[0].begin, 1000U + 4 * 1);
  EXPECT_EQ(piece.ranges[0].end, 1000U + 4 * 8);
  EXPECT_FALSE(piece.ranges[0].isWritten);
  EXPECT_EQ(piece.ranges[1].begin, 2000U);
  EXPECT_EQ(piece.ranges[1].end, 2000U + 4 * 6);
  EXPECT_TRUE(piece.ranges[1].isWritten);
  EXPECT_EQ(piece.merged, nullptr);
}

// Runs random programs of a few cells in their order and in that of the groups.
TEST(MergeLaunches, ComputeTheSame) {
  std::mt19937 random(7);
  auto pick = [&](uint64_t count) { return random() % count; };
  size_t merged = 0;
  for (int round = 0; round < 2000; ++round) {
    uint64_t cells = 2 + pick(12);
    std::vector<LaunchPiece> pieces;
    for (uint64_t count = 1 + pick(12); pieces.size() < count;)
      pieces.push_back(move(pick(cells), pick(cells),
                            pick(4) == 0 ? nullptr : kernel(static_cast<size_t>(pick(3)))));
    std::vector<uint64_t> wanted(cells), found;
    for (uint64_t i = 0; i < cells; ++i)
      wanted[i] = i + 1;
    found = wanted;
    auto run = [&](std::vector<uint64_t> &memory, const LaunchPiece &piece, size_t number) {
      memory[piece.ranges[1].begin / 8] =
          memory[piece.ranges[1].begin / 8] * 31 + memory[piece.ranges[0].begin / 8] * 7 + number;
    };
    for (size_t i = 0; i < pieces.size(); ++i)
      run(wanted, pieces[i], i);
    size_t count = 0;
    for (const LaunchGroup &each : group(pieces)) {
      merged += each.members.size() > 1;
      // Members of a group run at once, so any order must do.
      for (size_t i = each.members.size(); i-- > 0; ++count)
        run(found, pieces[each.members[i]], each.members[i]);
      for (size_t member : each.members)
        EXPECT_EQ(pieces[member].merged, pieces[each.members[0]].merged);
    }
    EXPECT_EQ(count, pieces.size());
    ASSERT_EQ(found, wanted) << round;
  }
  EXPECT_GT(merged, 1000U);
}

// The sums y = x + y of two tensors, of which the second is longer than a block; then both into the
// first.
struct Sums {
  Sums() : builder(test::simtProgram({{"dp", 1}})) {
    for (uint64_t size : {uint64_t(3), uint64_t(13)}) {
      uint32_t add = builder.kernel("add", {4 * size, 4 * size}, size);
      builder.manifest.kernels[add]->threads = 64;
      builder.manifest.kernels[add]->num_results = 1;
      builder.manifest.kernels[add]->merged = "add_merged";
      x.push_back(builder.buffer("x", size));
      y.push_back(builder.buffer("y", size));
      kernels.push_back(add);
    }
    for (size_t i : {0, 1})
      builder.add(launchOf(kernels[i], {x[i], y[i]}, i == 0 ? 3 : 13));
    builder.add(launchOf(kernels[0], {y[1], y[0]}, 3)); // the first elements of the longer one
  }

  ProgramBuilder builder;
  std::vector<uint32_t> x, y, kernels;
};

Status runSums(const Sums &sums, const CudaRank &at) {
  std::vector<float> longX, longY;
  for (int i = 0; i < 13; ++i) {
    longX.push_back(static_cast<float>(i));
    longY.push_back(100);
  }
  at.put(sums.x[0], {1, 2, 3});
  at.put(sums.y[0], {10, 20, 30});
  at.put(sums.x[1], longX);
  at.put(sums.y[1], longY);
  StepResult result;
  for (int step = 0; step < 2; ++step)
    DTC_RETURN_IF_ERROR(at.executor.runStep(result));
  // 10 + 1 + 100, then + 1 + 100 again; 20 + 2 + 101, then + 2 + 102
  EXPECT_EQ(at.get(sums.y[0]), (std::vector<float>{212, 227, 242}));
  for (size_t i = 0; i < 13; ++i)
    EXPECT_EQ(at.get(sums.y[1])[i], 100 + 2 * static_cast<float>(i));
  return {};
}

TEST(MergeLaunches, RunAsOneInAGraph) {
  Sums sums;
  std::vector<uint8_t> file = sums.builder.file();
  for (bool graphs : {true, false}) {
    auto fake = makeFakeCuda({.seed = 3});
    auto worlds = makeLoopbackWorld(1);
    Status status = test::onCuda(*fake, file, *worlds[0], {}, graphs, [&](const CudaRank &at) {
      Status ran = runSums(sums, at);
      EXPECT_EQ(fake->numLaunches(), graphs ? 4U : 6U);
      return ran;
    });
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(fake->leaks(), "");
  }
}

// Launches stay apart if an event lies between them, and a launch of part of a tensor is not
// merged, since a merged kernel does all of it.
TEST(MergeLaunches, StayApartAtEventsAndInParts) {
  ProgramBuilder builder(test::simtProgram({{"dp", 1}}));
  builder.program().num_events = 1;
  uint32_t add = builder.kernel("add", {52, 52}, 13);
  builder.manifest.kernels[add]->threads = 64;
  builder.manifest.kernels[add]->num_results = 1;
  builder.manifest.kernels[add]->merged = "add_merged";
  std::vector<uint32_t> x, y;
  for (int i = 0; i < 3; ++i) {
    x.push_back(builder.buffer("x", 13));
    y.push_back(builder.buffer("y", 13));
  }
  builder.add(launchOf(add, {x[0], y[0]}, 13));
  builder.add(test::record(0));
  builder.add(test::wait(0));
  builder.add(launchOf(add, {x[1], y[1]}, 13));
  builder.add(launchOf(add, {x[2], y[2]}, 5));
  std::vector<uint8_t> file = builder.file();
  auto fake = makeFakeCuda({});
  auto worlds = makeLoopbackWorld(1);
  Status status = test::onCuda(*fake, file, *worlds[0], {}, true, [&](const CudaRank &at) {
    for (size_t i = 0; i < 3; ++i) {
      at.put(x[i], std::vector<float>(13, 1));
      at.put(y[i], std::vector<float>(13, 10));
    }
    StepResult result;
    Status ran = at.executor.runStep(result);
    EXPECT_EQ(fake->numLaunches(), 3U);
    EXPECT_EQ(at.get(y[0]), std::vector<float>(13, 11));
    EXPECT_EQ(at.get(y[1]), std::vector<float>(13, 11));
    std::vector<float> part(13, 10);
    std::fill(part.begin(), part.begin() + 5, 11.0F);
    EXPECT_EQ(at.get(y[2]), part);
    return ran;
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(MergeLaunches, SayWhichCallFails) {
  Sums sums;
  std::vector<uint8_t> file = sums.builder.file();
  uint64_t calls = 0;
  for (uint64_t failing = 0; failing <= calls; ++failing) {
    auto fake = makeFakeCuda({.failingCall = failing});
    auto worlds = makeLoopbackWorld(1);
    bool isOver = false; // no call is left to fail
    Status status = test::onCuda(*fake, file, *worlds[0], {}, true, [&](const CudaRank &at) {
      StepResult result;
      Status ran = at.executor.runStep(result);
      if (failing == 0)
        calls = fake->numCalls();
      isOver = fake->numCalls() < failing;
      return ran;
    });
    EXPECT_EQ(status.ok(), failing == 0 || isOver) << failing << ": " << status.message();
    EXPECT_EQ(fake->leaks(), "") << failing;
  }
  EXPECT_GT(calls, 40U);
}

TEST(MergeLaunches, NeedTheirKernel) {
  Sums sums;
  sums.builder.manifest.kernels[0]->merged = "none";
  auto fake = makeFakeCuda({});
  auto worlds = makeLoopbackWorld(1);
  Status status = test::onCuda(*fake, sums.builder.file(), *worlds[0], {}, true,
                               [&](const CudaRank &) { return Status(); });
  EXPECT_NE(status.message().find("has no kernel 'none', which the program calls"),
            std::string::npos)
      << status.message();
}

} // namespace
} // namespace dtc::rt
