// Micro-batches alike are followed until nothing new comes of them, and then skipped.
#pragma once

#include "compiler/verify/Periods.h"
#include "compiler/verify/Values.h"

namespace dtc {

// Why what is skipped holds. S(k) is what is known before period k of an order that repeats itself (Periods.h). S(k)
// and S(k+1) are *alike* if they are the same but for
// - buffers and events with slots: slot s in S(k) is as slot s + shift in S(k+1);
// - who wrote bytes, and for which micro-batch: of what a period writes both are a period later. What no period writes has
//   both unchanged, and its micro-batch, if it is of one, is one that no later run is of;
// - times, of which only the order matters: of each stream, which of those are past that others have seen of it;
// - addends of sums that no period begins, of which each period adds as many.
// A period asks of what is known nothing in which alike states differ: it compares micro-batches with its own and times
// with what was seen, and counts addends only in runs of the whole step, of which it has none. So if S(k) and S(k+1) are
// alike, period k+1 does what period k did, with the same outcome, and leaves S(k+2) alike to S(k+1); and so on to the end of
// the repetition. What its last period leaves is S(k+1) with all that moves on moved on.
//
// Inputs lie elsewhere for each micro-batch. No period may write such memory, and that of every micro-batch that is skipped
// is looked at. What other programs send in a period is taken to be what they sent in the one before; Board compares it with
// what they do send, in the end. Were one of these wrong, then of all that are wrong one would be the first to meet, as
// Meetings proves that meetings can be put in an order, and what it brings was made of what is right.
//
// What is looked at only at the end, as meetings whose result nobody has read yet, is in S(k+1) as it will be there; what
// nobody can read any more has an equal in period k, which is found.
class PeriodSkipper {
public:
  explicit PeriodSkipper(Values &values);
  // Before each run: skips what is known already, so that `values` goes on behind it.
  void beforeRun();
  // What other programs sent was guessed: the periods so far say nothing of those to come.
  void forget() { last.reset(); }

private:
  using Order =
      std::vector<uint32_t>; // of each segment or event: which one is as it a period later
  struct Snapshot {
    uint32_t run = 0;
    std::vector<Values::Byte> bytes;
    std::vector<bool>
        awaited; // of bytes: a meeting brought them, and nobody has read what it brought
    std::vector<uint32_t> readTimes;
    std::vector<std::vector<uint32_t>> clocks, eventClocks;
    std::vector<std::vector<uint32_t>> seen; // per stream: all times of it that others have seen
    std::map<Board::Key, size_t> met, posted;
    uint64_t executed = 0;
    uint32_t rankOf(size_t stream, uint32_t time) const;
  };
  struct Use {
    const Touch *touch;
    uint32_t layer, task;
  };

  void collectUses();
  bool findSlots();
  bool findOrders();
  bool addSlots(const Use &use, std::vector<bool> &isSet);
  bool addCycle(const std::vector<uint32_t> &cycle, Order &order, std::vector<bool> &isSet) const;
  bool staysApart();

  Snapshot take() const;
  bool isAlike(const Snapshot &now) const;
  bool isAlike(const Snapshot &now, uint32_t segment) const;
  bool isPast(const Values::Byte &byte) const;
  bool areTimesAlike(const Snapshot &now) const;
  bool readsAlike(uint32_t periods);
  bool readsAlike(const Use &use, const format::Run &run, uint32_t periods, bool marks);
  void moveOn(const Snapshot &now, uint32_t periods);
  uint64_t storageAfter(uint64_t storage, uint32_t periods) const;
  static Order power(Order order, uint32_t times);

  Values &values;
  const Steps &steps;
  std::optional<Period> period;
  std::vector<uint32_t> lastRuns;       // per micro-batch
  std::vector<Use> uses, moving;        // of tasks of a period
  std::map<uint64_t, uint32_t> slotsOf; // of storages
  Order segmentAfter, eventAfter;
  std::vector<bool> isElsewhere; // of segments: memory of one micro-batch's inputs
  std::optional<Snapshot> last;
  uint32_t boundary = 0, tries = 0;
};

} // namespace dtc
