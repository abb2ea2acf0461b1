// Corrupts the order of events and collectives of good programs.
#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

namespace dtc::format {
namespace {

using test::verify;

TEST(VerifyOrder, RejectsAnEventRecordedOnTwoStreams) {
  test::ProgramBuilder builder({});
  builder.program().num_streams = 2;
  builder.program().num_events = 1;
  builder.add(test::record(0), 0);
  builder.add(test::record(0), 1);
  builder.file();
  EXPECT_NE(verify(builder.manifest).message().find("event 0 is recorded on streams 0 and 1"),
            std::string::npos);
}

// Returns two programs on one data-parallel axis. `first` and `second` are the counts of their
// collectives on streams 0 and 1.
ProgramT twoCollectives(uint64_t first, uint64_t second, uint8_t stream) {
  test::ProgramBuilder builder({{"dp", 2}});
  builder.program().num_streams = 2;
  uint32_t x = builder.buffer("x", 8);
  builder.add(test::collective(CollectiveKind::all_reduce, builder.group({0}), x, x, first), 0);
  builder.add(test::collective(CollectiveKind::all_reduce, builder.group({0}), x, x, second),
              stream);
  return std::move(builder.program());
}

rt::Status verifyPair(ProgramT one, ProgramT two, const char *device = "cpu") {
  test::ProgramBuilder builder({{"dp", 2}});
  builder.manifest.device = device;
  builder.manifest.programs.clear();
  builder.manifest.programs.push_back(std::make_unique<ProgramT>(std::move(one)));
  builder.manifest.programs.push_back(std::make_unique<ProgramT>(std::move(two)));
  builder.manifest.rank_program = {0, 1};
  builder.group({0});
  builder.file();
  return verify(builder.manifest);
}

TEST(VerifyOrder, AcceptsProgramsThatAgreeOnTheirCollectives) {
  rt::Status status = verifyPair(twoCollectives(1, 2, 0), twoCollectives(1, 2, 0));
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(VerifyOrder, RejectsProgramsThatDisagreeOnACollective) {
  for (auto &&other : {std::pair<uint64_t, uint8_t>{3, 0}, {2, 1}}) {
    rt::Status status =
        verifyPair(twoCollectives(1, 2, 0), twoCollectives(1, other.first, other.second));
    EXPECT_NE(status.message().find("run ranks of one group"), std::string::npos)
        << status.message();
  }
}

// Program 0 runs A on stream 0 and then, after a wait, B on stream 1. Program 1 does the opposite.
TEST(VerifyOrder, RejectsCollectivesThatWaitForEachOther) {
  auto crossed = [](uint8_t before) {
    test::ProgramBuilder builder({{"dp", 2}});
    builder.program().num_streams = 2;
    builder.program().num_events = 1;
    uint32_t x = builder.buffer("x", 8);
    uint8_t after = 1 - before;
    builder.add(test::collective(CollectiveKind::all_reduce, builder.group({0}), x, x, 1), before);
    builder.add(test::record(0), before);
    builder.add(test::wait(0), after);
    builder.add(test::collective(CollectiveKind::all_reduce, builder.group({0}), x, x, 1), after);
    return std::move(builder.program());
  };
  EXPECT_TRUE(verifyPair(crossed(0), crossed(0)).ok());
  rt::Status status = verifyPair(crossed(0), crossed(1));
  EXPECT_NE(status.message().find("would wait here forever"), std::string::npos)
      << status.message();
}

// Each rank runs two sums at once on streams of their own. Hosts that enqueue them in other orders
// would wait for each other where NCCL registers the buffers of captured collectives.
TEST(VerifyOrder, RejectsHostsThatEnqueueCollectivesInOtherOrders) {
  auto both = [](uint8_t first) {
    test::ProgramBuilder builder({{"dp", 2}});
    builder.program().num_streams = 2;
    uint32_t x = builder.buffer("x", 8);
    for (uint8_t stream : {first, static_cast<uint8_t>(1 - first)})
      builder.add(test::collective(CollectiveKind::all_reduce, builder.group({0}), x, x, 1),
                  stream);
    return std::move(builder.program());
  };
  EXPECT_TRUE(verifyPair(both(1), both(1), "simt").ok());
  EXPECT_TRUE(verifyPair(both(0), both(1)).ok());
  rt::Status status = verifyPair(both(0), both(1), "simt");
  EXPECT_NE(status.message().find("hosts enqueue their collectives in orders that wait for each "
                                  "other; rank 1 enqueues program 1: task 'step'"),
            std::string::npos)
      << status.message();
}

// Rank 0 receives R, sends X after that, and Y on its own; rank 1 receives Y, sends R after that,
// and receives X. By streams alone both end, but an operation starts after all that its host has
// enqueued before it, so that Y waits for X, X for R, and R for Y.
TEST(VerifyOrder, RejectsLaunchesThatWaitForEachOther) {
  auto verifyBoth = [](bool isYFirst, const char *device = "simt") {
    const std::vector<std::pair<std::string, uint32_t>> mesh{{"pp", 2}, {"a", 1}, {"b", 1}};
    auto program = [&](test::ProgramBuilder &of, bool isFirst) {
      of.program().num_streams = 4;
      of.program().num_events = 1;
      uint32_t buffer = of.buffer("x", 8);
      uint32_t r = of.group({0}), x = of.group({0, 1}), y = of.group({0, 2});
      TransferKind send = TransferKind::send, receive = TransferKind::receive;
      if (isFirst && isYFirst)
        of.add(test::transfer(send, y, 1, buffer, 1), 3);
      of.add(test::transfer(receive, isFirst ? r : y, 1, buffer, 1), 1);
      of.add(test::record(0), 1);
      of.add(test::wait(0), 2);
      of.add(test::transfer(send, isFirst ? x : r, 1, buffer, 1), 2);
      if (!isFirst)
        of.add(test::transfer(receive, x, 1, buffer, 1), 3);
      else if (!isYFirst)
        of.add(test::transfer(send, y, 1, buffer, 1), 3);
    };
    test::ProgramBuilder one(mesh), two(mesh);
    program(one, true);
    program(two, false);
    one.manifest.programs.push_back(std::move(two.manifest.programs[0]));
    one.manifest.rank_program = {0, 1};
    one.manifest.device = device;
    one.file();
    return verify(one.manifest);
  };
  rt::Status status = verifyBoth(true);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(verifyBoth(false, "cpu").ok());
  status = verifyBoth(false);
  EXPECT_NE(status.message().find("would wait here forever"), std::string::npos)
      << status.message();
}

// The first of two runs of a task leaves out the instructions for the last run only.
TEST(VerifyOrder, GoesThroughTheRunsOfAnEntry) {
  auto message = [](Runs recordRuns, Runs waitRuns) {
    test::ProgramBuilder builder({});
    builder.manifest.num_micro_batches = 2;
    builder.program().num_streams = 2;
    builder.program().num_events = 1;
    builder.program().entries[0]->order = {format::Run(0, 0), format::Run(0, 1)};
    builder.add(test::record(0), 1);
    builder.instructions().back()->runs = recordRuns;
    builder.add(test::wait(0));
    builder.instructions().back()->runs = waitRuns;
    builder.file();
    return verify(builder.manifest).message();
  };
  EXPECT_EQ(message(Runs::every, Runs::every), "");
  EXPECT_EQ(message(Runs::every, Runs::last), "");
  EXPECT_EQ(message(Runs::last, Runs::last), "");
  EXPECT_NE(message(Runs::last, Runs::every).find("no record of event 0 comes before this wait"),
            std::string::npos);
}

TEST(VerifyOrder, RejectsEntriesThatOtherProgramsLack) {
  ProgramT one = twoCollectives(1, 2, 0), two = twoCollectives(1, 2, 0);
  two.entries.push_back(std::make_unique<EntryT>());
  two.entries[1]->kind = EntryKind::evaluate;
  EXPECT_NE(
      verifyPair(one, two).message().find("program 0 has no entry 'evaluate', which others have"),
      std::string::npos);
}

// Layer l records event 2 - l on stream 1, and stream 0 waits for event 2 + stride * l.
std::string messageOfEvents(int32_t stride, uint32_t numEvents) {
  test::ProgramBuilder builder({});
  builder.program().num_streams = 2;
  builder.program().num_events = numEvents;
  RecordT record = test::record(2);
  record.layer_stride = -1;
  builder.add(record, 1);
  WaitT wait = test::wait(2);
  wait.layer_stride = stride;
  builder.add(wait);
  builder.program().tasks[0]->repeats = {Repeat(0, 2, 3)};
  builder.file();
  return verify(builder.manifest).message();
}

TEST(VerifyOrder, FollowsEventsFromLayerToLayer) {
  EXPECT_EQ(messageOfEvents(-1, 3), "");
  EXPECT_EQ(messageOfEvents(0, 3), ""); // all wait for the event of layer 0
  EXPECT_NE(messageOfEvents(1, 5).find("instruction 1 in layer 1, wait: no record of event 3 comes "
                                       "before this wait"),
            std::string::npos)
      << messageOfEvents(1, 5);
  EXPECT_NE(messageOfEvents(1, 4).find("the event is 4, there are 4"), std::string::npos);
  EXPECT_NE(messageOfEvents(-2, 3).find("the event is -2, there are 3"), std::string::npos);
}

} // namespace
} // namespace dtc::format
