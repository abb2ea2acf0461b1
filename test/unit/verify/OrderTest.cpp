// Tests of the clocks of streams and events, of communications, and of the board between programs.
#include "compiler/prove/verify/Board.h"
#include "compiler/prove/verify/Clocks.h"
#include "compiler/prove/verify/Communications.h"

#include <gtest/gtest.h>

namespace dtc {
namespace {

TEST(Clocks, StreamsKnowOfEachOtherThroughEventsAlone) {
  Clocks clocks(3, 2);
  clocks.tick(0);
  uint32_t time = clocks.timeOf(0);
  EXPECT_TRUE(clocks.isDone(0, 0, time));
  EXPECT_FALSE(clocks.isDone(1, 0, time));
  clocks.record(0, 0);
  clocks.wait(1, 0);
  EXPECT_TRUE(clocks.isDone(1, 0, time));
  EXPECT_FALSE(clocks.isDone(2, 0, time));
  clocks.record(1, 1); // stands for what stream 1 waited for, too
  clocks.wait(2, 1);
  EXPECT_TRUE(clocks.isDone(2, 0, time));
}

TEST(Clocks, EventsStandForWhatWasBeforeTheirRecord) {
  Clocks clocks(2, 1);
  clocks.wait(1, 0); // nothing was recorded
  EXPECT_EQ(clocks.ofStreams()[1], (Clocks::Clock{0, 0}));
  clocks.tick(0);
  clocks.record(0, 0);
  clocks.tick(0);
  clocks.wait(1, 0);
  EXPECT_TRUE(clocks.isDone(1, 0, 1));
  EXPECT_FALSE(clocks.isDone(1, 0, 2));
}

TEST(Communications, FindsTheFirstThatNobodyReads) {
  Communications all;
  EXPECT_EQ(all.findUnread(), nullptr);
  EXPECT_TRUE(all.isRead(all.current()));
  all.begin({2, 5});
  uint32_t first = all.current();
  all.begin({3, 7});
  uint32_t second = all.current();
  EXPECT_FALSE(all.isRead(first));
  all.markRead(first);
  EXPECT_TRUE(all.isRead(first));
  ASSERT_NE(all.findUnread(), nullptr);
  EXPECT_EQ(all.findUnread()->run, 3u);
  EXPECT_EQ(all.findUnread()->step, 7u);
  all.markRead(second);
  EXPECT_EQ(all.findUnread(), nullptr);
  all.beginOther();
  EXPECT_EQ(all.current(), 0u);
}

TEST(Board, FindsOperationsByNumber) {
  Board board;
  const Board::Key key{1, 2, 3};
  board.post(key, {1, 0, 0});
  board.post(key, {2, 0, 0});
  ASSERT_NE(board.find(key, 1), nullptr);
  EXPECT_EQ(board.find(key, 1)->axes, 2);
  EXPECT_EQ(board.find(key, 2), nullptr);
  EXPECT_EQ(board.find({0, 2, 3}, 0), nullptr);
}

TEST(Board, RepeatsWhatAProgramPosted) {
  Board board;
  const Board::Key key{1, 2, 3}, other{0, 2, 3};
  board.post(key, {1, 0, 0});
  Board::Counts before = board.counts(1);
  board.post(key, {2, 0, 0});
  board.post(other, {4, 0, 0});
  board.repeat(before, board.counts(1), 2);
  EXPECT_EQ(board.counts(1), (Board::Counts{{key, 4}}));
  EXPECT_EQ(board.find(key, 3)->axes, 2);
  EXPECT_EQ(board.counts(0), (Board::Counts{{other, 1}}));
}

TEST(Board, ComparesWhatWasExpected) {
  Board board;
  const Board::Key key{1, 2, 3};
  board.post(key, {1, 0, 0});
  board.expect(key, 0, 1, 2); // two more like the first
  EXPECT_FALSE(board.isAsExpected()) << "they were not posted";
  board.post(key, {1, 0, 0});
  board.post(key, {1, 0, 0});
  EXPECT_TRUE(board.isAsExpected());
  board.expect(key, 2, 1, 1);
  board.post(key, {1, 1, 0});
  EXPECT_FALSE(board.isAsExpected());
}

TEST(Board, GuessesAreWrongWherePartsOfSumsCome) {
  Board board;
  const Board::Key key{1, 2, 3};
  Fault fault;
  fault.message = "wrong";
  board.guess(key, 0, fault);
  EXPECT_FALSE(board.findWrongGuess()) << "nothing is known yet";
  board.post(key, {1, 0, 1});
  EXPECT_FALSE(board.findWrongGuess());
  board.guess(key, 1, fault);
  board.post(key, {1, 1, 0});
  ASSERT_TRUE(board.findWrongGuess());
  EXPECT_EQ(board.findWrongGuess()->message, "wrong");
}

} // namespace
} // namespace dtc
