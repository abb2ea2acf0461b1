// Goes through a program's step in the order in which the host enqueues it, and follows what every
// byte means.
#pragma once

#include "compiler/prove/verify/Columns.h"
#include "compiler/prove/verify/GroupAxes.h"
#include "compiler/prove/verify/Steps.h"

#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace dtc {

// Shares between programs the properties of values that they send or reduce together. Per program,
// channel and number of the operation: the axes on which the value differs, those along which it is
// a partial sum, and those along which its samples have not been summed.
class Board {
public:
  // One end of a channel: a program, its group, and the way within the group.
  struct Key {
    uint32_t program, group, way; // way: stream of a collective; 256 + shift of a send
    bool operator<(const Key &other) const {
      return std::tie(program, group, way) < std::tie(other.program, other.group, other.way);
    }
  };
  // The properties of a value that a program sends or reduces.
  struct Sent {
    AxisSet axes = 0, partial = 0, samples = 0;
    bool operator==(const Sent &) const = default;
  };
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

class PeriodSkipper;

// One program in one entry.
class Values {
public:
  Values(const Steps &steps, const GroupAxes &groups, Board &board);

  // Goes on until the end, a fault, or a meeting at which another program is not yet. `force`: then
  // goes on all the same, as if what is to come differed along all axes.
  std::optional<Fault> advance(bool force);
  // Returns true if the whole order has been followed.
  bool isDone() const { return run == steps.entry.order()->size(); }
  // Skips, from now on, the periods that `skipper` (made for these values) can predict.
  void skipWith(PeriodSkipper &which) { skipper = &which; }
  // Executed so far; of these, those that were not skipped.
  uint64_t count() const { return executedSoFar; }
  // Returns the number of executed instructions that were not skipped.
  uint64_t followed() const { return executedSoFar - skipped; }

private:
  friend class PeriodSkipper;
  struct Byte { // common to all bytes of a segment
    uint64_t storage = 0;
    uint32_t writer = 0, writerStep = 0; // run and place in its task
    uint32_t writeTime = 0;
    // The collective or receive that wrote it; 0: none, or one that counts as read.
    uint32_t communication = 0;
    uint32_t adds = 0;  // addends of a sum
    uint32_t begun = 0; // run that wrote the first of them
    int32_t microBatch = kStep;
    uint32_t tensor = 0;   // 1 + that of `tensors`, where it is one's memory
    uint32_t together = 0; // 1 + group of several programs that it was reduced over
    AxisSet axes = 0;      // on which it may differ
    AxisSet reduced = 0;   // axes along which it was summed, or needs no sum
    AxisSet partial = 0;   // axes along which it is a partial sum
    AxisSet samples = 0; // axes along which it depends on different samples and has not been summed
    uint8_t writeStream = 0;
    bool isWritten = false, isMixed = false, isZero = false, isRead = false, isGradient = false;
    // The bytes of it that were written through its storage and are current.
    ColumnSets::Set columns = ColumnSets::kAll;
  };
  // The value in a byte range of the arena.
  struct Held {
    int64_t begin = 0, end = 0;
    AxisSet axes = 0, reduced = 0, partial = 0, samples = 0;
    uint32_t together = 0;
    bool isZero = false;
    bool isLike(const Held &other) const { // but for where it is
      return axes == other.axes && reduced == other.reduced && partial == other.partial &&
             samples == other.samples && together == other.together && isZero == other.isZero;
    }
  };
  struct Kept {
    std::string name;
    AxisSet shards = 0;
    uint64_t elements = 0;
    bool isShared = false; // other programs have it, too
    const format::Tensor *tensor = nullptr;
  };
  static constexpr int32_t kStep = -1;
  static constexpr AxisSet kComplete = 0xffff; // for tensors that persist between steps

  void fill();
  void keep(uint32_t buffer, const std::string &name, AxisSet shards,
            const format::Tensor *tensor = nullptr, bool isShared = false, bool isInput = false);
  SegmentSpan spanOf(const format::Buffer &buffer) const { // for a buffer whose address is fixed
    auto begin = static_cast<int64_t>(format::addressOf(buffer));
    return steps.segments.find(begin, begin + static_cast<int64_t>(buffer.bytes()));
  }
  AxisSet
  shardsOf(const flatbuffers::Vector<flatbuffers::Offset<format::ShardedDim>> *shards) const;

  std::optional<Fault> execute();
  std::optional<Fault> runFunction();
  std::optional<Fault> runCopy();
  std::optional<Fault> runCollective();
  std::optional<Fault> runTransfer();
  // Returns the value that a program contributes to an operation; nullopt if not known yet.
  std::optional<Board::Sent> sentBy(const Board::Key &key, size_t number);
  static Board::Sent sentOf(const Held &held) { return {held.axes, held.partial, held.samples}; }
  void runRecord();
  void runWait();

  // Checks and notes a read of all of a touch; `held` (may be null) becomes what it holds.
  std::optional<Fault> read(const Touch &touch, std::vector<Held> *held, bool adds = false);
  std::optional<Fault> checkRead(const Touch &touch, const Byte &byte, uint32_t segment,
                                 uint64_t storage, bool adds) const;
  std::optional<Fault> checkAddends(const Touch &touch, const Byte &byte, bool adds) const;
  // Checks that all that a touch reads of a segment was written; its piece begins at `place`.
  std::optional<Fault> checkColumns(const Touch &touch, const Byte &byte, uint32_t segment,
                                    int64_t place) const;
  // Returns the set of bytes that are current once a touch has written a segment.
  ColumnSets::Set columnsAfter(const Touch &touch, const Byte &byte, uint32_t segment,
                               int64_t place, uint64_t storage, bool adds);
  // Writes a touch: `valueOf(begin, end)` is what bytes [begin, end) of it become.
  template <typename ValueOf> std::optional<Fault> write(const Touch &touch, ValueOf &&valueOf);
  std::optional<Fault> checkWrite(const Touch &touch, const Byte &byte, uint32_t segment) const;
  std::optional<Fault> checkTensor(const Touch &touch, const Kept &tensor, const Held &value) const;
  // Axes on which what the instruction reads of a buffer may differ.
  AxisSet axesOf(uint32_t buffer) const;
  // Axes along which what an instruction of the runtime writes to a buffer are sums to be finished.
  AxisSet unfinishedOf(uint32_t buffer) const;
  // The same of a result of a kernel, which says so.
  AxisSet shareOf(const format::Launch *launch, uint32_t result) const;
  std::optional<Fault> checkFinished(const Touch &touch, const std::vector<Held> &held,
                                     const char *why, AxisSet allowed) const;
  std::optional<Fault> checkParts() const;
  std::optional<Fault> checkLookup() const;
  std::optional<Fault> checkUpdate();
  std::optional<Fault> checkGroup(const format::Collective &op) const;
  std::optional<Fault> checkWhole(const Touch &touch) const;
  std::optional<Fault> checkReduced(const format::Collective &op, const Held &held) const;
  std::optional<Fault> checkGradients() const;
  std::optional<Fault> checkKept() const;
  // Returns true if the write is known to replace bytes of the segment that were written before.
  // `place` is where its piece begins.
  bool replaces(const Touch &touch, const Byte &byte, uint32_t segment, int64_t place) const;
  Fault unread(uint32_t segment) const;
  // Assumes that the peers of a channel send the same again: see Board::expect.
  void expect(const Board::Key &way, size_t from, size_t length, size_t count);
  std::optional<Fault> checkEnd();
  bool isBefore(uint8_t stream, uint32_t time) const { return clocks[now][stream] >= time; }
  uint64_t elementsOf(const Touch &touch) const { // in its first piece
    return static_cast<uint64_t>(touch.pieces[0].bytes) /
           format::bytesOf(steps.program.buffers()->Get(touch.buffer)->dtype());
  }
  bool trains() const { return steps.entry.kind() == format::EntryKind::train; }
  bool startsSum() const { return source->source->starts_sum() && isFirstRun; }
  static void merge(Held &all, const Held &part);
  Held mergedOf(const std::vector<Held> &held) const;
  static Held at(const std::vector<Held> &held, int64_t begin, int64_t end);

  Fault fail(const char *check, std::string message, std::string note = "") const {
    return steps.fault(*current, steps.executed(current->task())[step], check, std::move(message),
                       std::move(note));
  }
  std::string writerOf(const Byte &byte) const;
  bool isMadeByCollective(const Byte &byte) const;
  std::string bytesOf(uint32_t segment) const;

  const Steps &steps;
  const GroupAxes &groups;
  Board &board;
  uint32_t numStreams;
  AxisSet batchAxes = 0;           // axes that split samples, in any program
  std::vector<Byte> bytes;         // per segment
  std::vector<uint32_t> readTimes; // per segment and stream
  ColumnSets columnSets;
  std::vector<Kept> tensors;
  std::vector<std::vector<uint32_t>> clocks;      // per stream: how far each is known to be
  std::vector<std::vector<uint32_t>> eventClocks; // per event
  std::map<Board::Key, size_t> met;               // communications so far
  std::vector<bool> communicationRead;
  std::vector<std::pair<uint32_t, uint32_t>> communications; // run and place in its task

  uint32_t run = 0, step = 0; // next
  const format::Run *current = nullptr;
  const Accesses *source = nullptr;
  uint32_t layer = 0;
  uint8_t now = 0; // stream
  bool isFirstRun = false, isOfStep = false, isBlocked = false, isForced = false;
  uint32_t communication = 0; // the one that is executed; 0: none
  std::vector<uint32_t> runsLeft, runsDone;
  std::vector<std::vector<Held>> read_; // per touch of the instruction
  std::vector<Held> pending;            // values of a collective that waits for other programs
  uint64_t executedSoFar = 0, skipped = 0;
  PeriodSkipper *skipper = nullptr;
};

} // namespace dtc
