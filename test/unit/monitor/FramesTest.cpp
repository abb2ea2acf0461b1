#include "runtime/monitor/Frames.h"
#include "test/unit/monitor/Notes.h"

#include <gtest/gtest.h>

#include <random>

namespace dtc::rt {
namespace {

Frame fullFrame(FrameKind kind) {
  Frame frame;
  frame.kind = kind;
  if (kind == FrameKind::Hello) {
    frame.secret.fill(7);
    frame.rank = 3;
    frame.process = 4711;
    frame.host = "a";
  }
  if (kind == FrameKind::Beat || kind == FrameKind::Ended) {
    frame.standing.activity = Activity::Stepping;
    frame.standing.isInStep = true;
    frame.standing.moves = 99;
    frame.standing.waits = {{1, Meets::Send, 12, -1, 64}, {0, Meets::Collective, 5, 2, 0}};
    frame.standing.started[3][1] = 8;
    frame.standing.work = {2, 7, 30, 45, 5};
    frame.standing.position = "step 1";
  }
  if (kind == FrameKind::Ended) {
    frame.ending = {0, 11, true, false, "words"};
    frame.stacks = "#0\n#1\n";
  }
  if (kind == FrameKind::Verdict) {
    frame.exitCode = 3;
    frame.reason = "rank 1 died";
  }
  return frame;
}

Status decodeWhole(const std::vector<uint8_t> &bytes, Frame &frame) {
  return decode(bytes[4], std::span(bytes).subspan(kFrameHeader), frame);
}

TEST(Frames, ComeBackAsTheyWere) {
  for (uint32_t kind = 0; kind < kFrameKinds; ++kind) {
    std::vector<uint8_t> bytes = encode(fullFrame(static_cast<FrameKind>(kind)));
    Frame frame;
    ASSERT_TRUE(decodeWhole(bytes, frame).ok()) << kind;
    EXPECT_EQ(encode(frame), bytes) << kind;
  }
}

TEST(Frames, RefuseWhatIsCutOrHasMore) {
  for (uint32_t kind = 0; kind < kFrameKinds; ++kind) {
    std::vector<uint8_t> bytes = encode(fullFrame(static_cast<FrameKind>(kind)));
    Frame frame;
    for (size_t size = kFrameHeader; size < bytes.size(); ++size)
      EXPECT_FALSE(
          decode(kind, std::span(bytes).subspan(kFrameHeader, size - kFrameHeader), frame).ok())
          << kind << " " << size;
    bytes.push_back(0);
    EXPECT_FALSE(decodeWhole(bytes, frame).ok()) << kind;
  }
  Frame frame;
  EXPECT_FALSE(decode(kFrameKinds, {}, frame).ok());
}

TEST(Frames, RefuseMoreWaitsThanThereMayBe) {
  Frame frame = fullFrame(FrameKind::Beat), found;
  frame.standing.waits.resize(Standing::kWaits);
  EXPECT_TRUE(decodeWhole(encode(frame), found).ok());
  frame.standing.waits.resize(Standing::kWaits + 1);
  EXPECT_FALSE(decodeWhole(encode(frame), found).ok());
}

TEST(Frames, TakeNoWordOfAPeerForAnother) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    uint32_t kind = random() % kFrameKinds;
    std::vector<uint8_t> bytes = encode(fullFrame(static_cast<FrameKind>(kind)));
    for (int change = 0; change < 3 && bytes.size() > kFrameHeader; ++change)
      bytes[kFrameHeader + random() % (bytes.size() - kFrameHeader)] =
          static_cast<uint8_t>(random());
    Frame frame;
    if (!decodeWhole(bytes, frame).ok())
      continue;
    EXPECT_LE(frame.standing.waits.size(), Standing::kWaits);
    EXPECT_LE(frame.exitCode, 255u);
    for (char c : frame.standing.position + frame.host + frame.ending.words)
      EXPECT_GE(static_cast<unsigned char>(c), ' ');
  }
}

TEST(ProgramNotes, ComeBackAsTheyWereOrNotAtAll) {
  ProgramNotes notes = test::smallNotes(), found;
  std::vector<uint8_t> bytes = notes.encode();
  ASSERT_TRUE(ProgramNotes::decode(bytes, found).ok());
  EXPECT_EQ(found.encode(), bytes);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(ProgramNotes::decode(std::span(bytes).first(size), found).ok()) << size;
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> wrong = bytes;
    wrong[random() % wrong.size()] = static_cast<uint8_t>(random());
    if (!ProgramNotes::decode(wrong, found).ok())
      continue;
    for (const NotedIssue &issue : found.issues[0])
      EXPECT_LT(issue.instruction, found.instructions.size());
    for (uint32_t rank = 0; rank < 5; ++rank)
      (void)found.peerOf(1, Meets::Receive, rank);
  }
}

// Rank 0 sends to rank 1 in a list of 0 and 1.
TEST(ProgramNotes, KnowWhoMeetsWhom) {
  ProgramNotes notes = test::smallNotes();
  EXPECT_EQ(notes.peerOf(1, Meets::Send, 0), 1);
  EXPECT_EQ(notes.peerOf(1, Meets::Receive, 1), 0);
  EXPECT_EQ(notes.peerOf(1, Meets::Receive, 3), 2);
  EXPECT_EQ(notes.peerOf(1, Meets::Collective, 3), -1);
  EXPECT_EQ(notes.peerOf(9, Meets::Send, 3), -1);
  EXPECT_EQ(notes.listOf(0, 3)[0], 1u);
  EXPECT_TRUE(notes.listOf(0, 4).empty());
}

} // namespace
} // namespace dtc::rt
