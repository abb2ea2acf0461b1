// The communication of one program with the others, as far as values go.
#pragma once

#include "compiler/prove/verify/Board.h"
#include "compiler/prove/verify/Execution.h"
#include "compiler/prove/verify/GroupAxes.h"

#include <optional>

namespace dtc {

// Sends values of a program to the board, and takes from it those of the programs it meets.
class Channels {
public:
  Channels(const Execution &at, const GroupAxes &groups, Board &board)
      : at(at), groups(groups), board(board) {}

  // Returns the channel of a collective of this program.
  Board::Key collective(uint32_t group) const {
    return {at.steps.index, group, at.source->source->stream()};
  }
  // Returns the channel of sends of this program by a shift.
  Board::Key send(uint32_t group, uint32_t shift) const {
    return {at.steps.index, group, kSends + shift};
  }
  // Returns the channel of receives by a shift. They are counted apart from sends by that shift.
  Board::Key receive(uint32_t group, uint32_t shift) const {
    return {at.steps.index, group, kReceives | shift};
  }

  // Records the value that the program contributes to an operation.
  void post(const Board::Key &key, const Value &value) { board.post(key, Board::Sent::of(value)); }
  // Returns the join of the values that all programs contribute to a collective, over the axes of
  // this program; nullopt if one is not known yet.
  std::optional<Value> contributed(const Board::Key &key);
  // Returns the join of the values that are sent to this program; nullopt if one is not known yet.
  std::optional<Value> received(const Board::Key &key);
  // Counts the operation of a channel that has been met.
  void pass(const Board::Key &key) { ++met[key]; }
  // From now on, the next value that is not known counts as one that differs along all axes.
  void guessNext(bool guesses) { isForced = guesses; }

  // Returns the number of operations that have been met.
  const Board::Counts &counts() const { return met; }
  // Skips repetitions of the operations since `before`, which the others are expected to repeat.
  void skip(const Board::Counts &before, uint32_t periods);
  // Returns the number of operations that the program has posted.
  Board::Counts posted() const { return board.counts(at.steps.index); }
  // Posts the operations between two counts again.
  void repeat(const Board::Counts &from, const Board::Counts &to, uint32_t times) {
    board.repeat(from, to, times);
  }

private:
  // Ways within a group, for Board::Key::way: streams of collectives come first.
  static constexpr uint32_t kSends = 256, kReceives = 1u << 31;

  std::optional<Board::Sent> sentBy(const Board::Key &key, size_t number);
  bool joinSent(Value &value, const Board::Key &key, size_t number);
  Board::Key sendTo(uint32_t program, const Board::Key &receive) const;
  void expect(const Board::Key &key, size_t from, size_t length, size_t count);

  const Execution &at;
  const GroupAxes &groups;
  Board &board;
  Board::Counts met; // operations so far
  bool isForced = false;
};

} // namespace dtc
