#include "runtime/monitor/FlightDump.h"
#include "runtime/monitor/Standing.h"
#include "test/unit/monitor/Notes.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>
#include <unistd.h>

namespace dtc::rt {
namespace {

TEST(FlightRecorder, KeepsTheLastEventsInOrder) {
  auto recorder = std::make_unique<FlightRecorder>();
  for (uint64_t i = 1; i <= 5000; ++i)
    EXPECT_EQ(recorder->schedule(i * 10, 1, i, 7), i);
  std::vector<FlightEvent> events = recorder->read();
  ASSERT_EQ(events.size(), FlightRecorder::kEvents);
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].id, 3001 + i);
    EXPECT_EQ(events[i].tag, events[i].id * 10);
    EXPECT_EQ(events[i].sequence, events[i].id);
  }
  EXPECT_EQ(recorder->find(3000).id, 0u);
  EXPECT_EQ(recorder->find(5000).created, 7);
}

TEST(FlightRecorder, LeavesAloneWhatIsOverwritten) {
  auto recorder = std::make_unique<FlightRecorder>();
  for (uint64_t i = 1; i <= FlightRecorder::kEvents + 1; ++i)
    (void)recorder->schedule(i, 0, i, 1);
  recorder->start(1, 50); // its slot now belongs to event 2001
  recorder->complete(1, 60);
  EXPECT_EQ(recorder->find(FlightRecorder::kEvents + 1).started, 0);
  EXPECT_EQ(recorder->find(FlightRecorder::kEvents + 1).completed, 0);
  recorder->start(2, 50);
  EXPECT_EQ(recorder->find(2).started, 50);
}

// An event that is read while it is written is complete: it has tag, sequence and time of one
// event.
TEST(FlightRecorder, IsReadWhileItIsWritten) {
  auto recorder = std::make_unique<FlightRecorder>();
  std::atomic<bool> ends{false};
  std::thread writer([&] {
    for (uint64_t i = 1; !ends; ++i)
      (void)recorder->schedule(i * 3, static_cast<uint32_t>(i % 7), i * 5, static_cast<int64_t>(i));
  });
  size_t seen = 0;
  while (recorder->find(1).id == 0 && recorder->read().empty())
    std::this_thread::yield();
  for (int round = 0; round < 200; ++round)
    for (const FlightEvent &event : recorder->read()) {
      ++seen;
      ASSERT_EQ(event.tag, event.id * 3);
      ASSERT_EQ(event.sequence, event.id * 5);
      ASSERT_EQ(event.group, event.id % 7);
      ASSERT_EQ(event.created, static_cast<int64_t>(event.id));
    }
  ends = true;
  writer.join();
  EXPECT_GT(seen, 0u);
}

// Recording costs a rank some nanoseconds per instruction, and some tens more for an event.
TEST(Progress, CostsLittle) {
  auto page = std::make_unique<ProgressPage>();
  Progress progress(*page, -1);
  constexpr int count = 200000;
  int64_t begin = monotonicNanos();
  for (int i = 0; i < count; ++i) {
    progress.begin(0, 1, 0, 0);
    progress.end(0, 0, 0);
  }
  double instruction = static_cast<double>(monotonicNanos() - begin) / count;
  begin = monotonicNanos();
  for (int i = 0; i < count; ++i) {
    uint64_t event = progress.schedule(1, 0, Meets::Collective);
    progress.begin(0, 1, event, monotonicNanos());
    progress.end(0, event, monotonicNanos());
  }
  double collective = static_cast<double>(monotonicNanos() - begin) / count;
  std::printf("an instruction costs %.1f ns, a collective %.1f ns\n", instruction, collective);
  EXPECT_LT(collective, 20000); // a limit for a busy machine
}

// A rank that has finished an all-reduce, is in its second all-reduce, and has enqueued a send.
class Dump : public testing::Test {
protected:
  void SetUp() override {
    progress.describe(notes);
    progress.enter(Activity::Stepping);
    progress.enterStep(4, 0, 9);
    uint64_t first = progress.schedule(tag(1), 0, Meets::Collective);
    uint64_t second = progress.schedule(tag(1), 0, Meets::Collective);
    (void)progress.schedule(tag(2), 1, Meets::Send);
    progress.begin(1, tag(1), first, 1000);
    progress.end(1, first, 3000000);
    progress.begin(1, tag(1), second, 4000000);
  }
  static uint64_t tag(uint64_t issue) { return uint64_t(4) << 32 | issue; }

  std::unique_ptr<ProgressPage> page = std::make_unique<ProgressPage>();
  Progress progress{*page, -1};
  ProgramNotes notes = test::smallNotes();
};

TEST_F(Dump, HasTheKeysOfPyTorch) {
  std::string json = flightJson(*page, notes, {.rank = 0, .reason = "a \"test\"\n"});
  for (const char *key : {"version", "entries", "pg_config", "pg_status", "nccl_comm_state"})
    EXPECT_NE(json.find(std::string("\"") + key + "\": "), std::string::npos) << key;
  for (const char *key : {"record_id",
                          "pg_id",
                          "process_group",
                          "collective_seq_id",
                          "p2p_seq_id",
                          "op_id",
                          "is_p2p",
                          "profiling_name",
                          "input_sizes",
                          "input_dtypes",
                          "output_sizes",
                          "output_dtypes",
                          "time_created_ns",
                          "time_discovered_started_ns",
                          "time_discovered_completed_ns",
                          "duration_ms",
                          "timeout_ms",
                          "state",
                          "retired",
                          "frames"}) {
    size_t count = 0;
    for (size_t at = 0; (at = json.find(std::string("\"") + key + "\": ", at)) != std::string::npos;
         ++at)
      ++count;
    EXPECT_EQ(count, 3u) << key;
  }
  for (const char *part :
       {"\"state\": \"completed\", \"retired\": true", "\"state\": \"started\", \"retired\": false",
        "\"state\": \"scheduled\"", "\"profiling_name\": \"nccl:all_reduce\"",
        "\"profiling_name\": \"nccl:send 0->1\"", "\"is_p2p\": true", "[\"BFloat16\"]",
        "\"collective_seq_id\": 2", "\"p2p_seq_id\": 1", "\"duration_ms\": 2.999",
        "{\"name\": \"h.0.mlp\", \"filename\": \"m.mlir\", \"line\": 12}",
        "\"name\": \"grad \\\"wte\\\"\"", "\"step\": 9", "\"micro_batch\": 3", "\\u000a",
        "\"last_enqueued_collective\": 2, \"last_started_collective\": 2, \"last_comp"})
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
}

// PyTorch's analyser blames a group that does not contain the rank of an entry.
TEST_F(Dump, SaysThatAllRanksAreInTheControlGroup) {
  (void)progress.schedule(kHostTag | static_cast<uint64_t>(HostCall::Barrier),
                          ProgressPage::kHostGroup, Meets::Collective);
  std::string json = flightJson(*page, notes, {.rank = 2, .ranks = 4});
  EXPECT_NE(json.find("\"desc\": \"control\", \"ranks\": \"[0, 1, 2, 3]\""), std::string::npos)
      << json;
}

TEST_F(Dump, IsBoundedAndAppearsWhole) {
  for (int i = 0; i < 10000; ++i)
    (void)progress.schedule(tag(1), 0, Meets::Collective);
  // The path is unique to this process, because other jobs on this machine may run the same test.
  std::string folder = testing::TempDir() + "/flights-" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  ASSERT_TRUE(writeFlights(folder, *page, notes, {.rank = 12}).ok());
  uintmax_t bytes = std::filesystem::file_size(folder + "/flight-rank-12.json");
  EXPECT_GT(bytes, FlightRecorder::kEvents * 100);
  EXPECT_LT(bytes, FlightRecorder::kEvents * 2000);
  std::filesystem::remove_all(folder);
}

TEST_F(Dump, StandingSaysWhereItWaits) {
  Standing standing = standingOf(*page, notes, 2);
  EXPECT_EQ(standing.position,
            "step 9, task 'forward', micro-batch 3, instruction 1, all_reduce of "
            "gradients over dp, call 2 of its group");
  ASSERT_EQ(standing.waits.size(), 1u);
  EXPECT_EQ(standing.waits[0].sequence, 2u);
  EXPECT_FALSE(standing.computes);
  EXPECT_EQ(standing.trainingStep, 9u);
  EXPECT_EQ(standing.started[0][0], 2u);
  // A stream that waits for it adds no information, but one that computes does.
  progress.begin(0, tag(4), 0, 0);
  EXPECT_FALSE(standingOf(*page, notes, 2).computes);
  uint64_t before = standingOf(*page, notes, 2).moves;
  progress.end(0, 0, 0);
  progress.begin(0, tag(0), 0, 0);
  standing = standingOf(*page, notes, 2);
  EXPECT_TRUE(standing.computes);
  EXPECT_EQ(standing.moves, before + 2);
  EXPECT_NE(standing.position.find("gemm at m.mlir:12:3 (h.0.mlp)"), std::string::npos);
}

// Any content of the page, such as a faulty rank may leave, can be read.
TEST_F(Dump, ReadsAnythingThatIsInThePage) {
  auto *bytes = reinterpret_cast<unsigned char *>(page.get());
  uint32_t state = 1;
  for (int round = 0; round < 20; ++round) {
    for (size_t i = 0; i < sizeof(ProgressPage); ++i)
      bytes[i] = static_cast<unsigned char>((state = state * 1664525 + 1013904223) >> 24);
    EXPECT_LE(standingOf(*page, notes, 0).position.size(), Standing::kPositionBytes);
  }
  (void)page->flights.read().size();
}

} // namespace
} // namespace dtc::rt
