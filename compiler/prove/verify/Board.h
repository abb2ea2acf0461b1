// The values that programs send to each other or reduce together.
#pragma once

#include "compiler/prove/verify/Fault.h"
#include "compiler/prove/verify/Value.h"

#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace dtc {

// Shares between programs the properties of values that they send or reduce together. Per program,
// channel and number of the operation: the axes on which the value differs, those along which it is
// a partial sum, those along which its samples have not been summed, those along which they were
// exchanged, and the ranks of a ring that it is of.
class Board {
public:
  // One end of a channel: a program, its group, and the way within the group.
  struct Key {
    uint32_t program, group, way; // way: stream of a collective; 256 + shift of a send
    bool operator==(const Key &) const = default;
    bool operator<(const Key &other) const {
      return std::tie(program, group, way) < std::tie(other.program, other.group, other.way);
    }
  };
  // The properties of a value that a program sends or reduces.
  struct Sent {
    AxisSet axes = 0, partial = 0, samples = 0, exchanged = 0;
    RingTokens ring = {};
    bool operator==(const Sent &) const = default;
    // Returns what other programs need to know of a value.
    static Sent of(const Value &value) {
      return {value.axes, value.partial, value.samples, value.exchanged, value.ring};
    }
  };
  // The number of operations of each channel.
  using Counts = std::map<Key, size_t>;
  // Records the next operation of a channel.
  void post(const Key &key, Sent sent) { posted[key].push_back(sent); }
  // Returns operation `number`, from 0; null if the program has not reached it.
  const Sent *find(const Key &key, size_t number) const {
    auto found = posted.find(key);
    return found == posted.end() || number >= found->second.size() ? nullptr
                                                                   : &found->second[number];
  }

  // Returns the number of operations so far for each way of a program.
  Counts counts(uint32_t program) const;
  // Repeats the operations posted between counts `from` and `to`, `times` more times.
  void repeat(const Counts &from, const Counts &to, uint32_t times);
  // Communications [from + length, from + length + count) are taken to be as those `length`
  // before them.
  void expect(const Key &key, size_t from, size_t length, size_t count) {
    expected.push_back({key, from, length, count});
  }
  // Returns true if every assumption made by expect() holds.
  bool isAsExpected() const;

  // A program went on before it knew what it meets, which is no part of a sum; else that is a
  // fault.
  void guess(const Key &key, size_t number, Fault fault) {
    guesses.push_back({key, number, std::move(fault)});
  }
  // Returns the fault of the first guess that turned out wrong.
  std::optional<Fault> findWrongGuess() const;

private:
  struct Expected {
    Key key;
    size_t from, length, count;
  };
  struct Guess {
    Key key;
    size_t number;
    Fault fault;
  };
  std::map<Key, std::vector<Sent>> posted;
  std::vector<Expected> expected;
  std::vector<Guess> guesses;
};

} // namespace dtc
