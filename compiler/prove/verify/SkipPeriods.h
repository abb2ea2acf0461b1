// Follows equal micro-batches until nothing new comes of them, and skips the rest.
#pragma once

#include "compiler/prove/verify/Periods.h"
#include "compiler/prove/verify/ProgramState.h"

namespace dtc {

// Correctness of skipping. S(k) is the state before period k of a repeating order (Periods.h). S(k)
// and S(k+1) are *equivalent* if they differ only in
// - buffers and events with slots: slot s of S(k) corresponds to slot s + shift of S(k+1);
// - the writer and micro-batch of bytes: both are one period later if a period writes the bytes.
//   Otherwise both are unchanged, and no later run has that micro-batch;
// - times, of which only the order matters: per stream, the set of observed times that are past;
// - addends of sums that no period begins: each period adds the same number.
// Columns written of a segment's rows are counted from the begin of the segment. Segments of slots
// that correspond have one length and the same position in each piece that a period touches, so
// that a period writes and reads the same columns of both: columns are equal in equivalent states.
// A period reads nothing of the state in which equivalent states differ: it compares micro-batches
// with its own and times with observed ones. It counts addends only in runs of the whole step, and
// a period has none. So if S(k) and S(k+1) are equivalent, period k+1 does the same as period k,
// with the same result, and leaves a state S(k+2) that is equivalent to S(k+1). By induction this
// holds to the end of the repetition, and the state there is S(k+1) moved on by the periods
// between. Inputs of each micro-batch have memory of their own. No period may write such memory,
// and the inputs of every skipped micro-batch are checked. A period assumes that other programs
// send the same as in the period before; Board compares this with what they do send at the end. If
// any assumption were wrong, there would be a first wrong one, as CommunicationProof proves that
// matched operations can be ordered, and its value would have been computed from right ones: a
// contradiction. Facts that are checked only at the end, such as collectives whose result is still
// unread, are in S(k+1) as they will be there. A result that can no longer be read has an equal in
// period k, which is found.
class PeriodSkipper {
public:
  explicit PeriodSkipper(ProgramState &state);
  // Before each run: skips what is known already, so that `state` is behind it.
  void beforeRun();
  // Forgets the snapshots: a guess about other programs invalidates the periods seen so far.
  void forget() { last.reset(); }

private:
  using Order = std::vector<uint32_t>; // per segment or event: its counterpart one period later
  struct Snapshot {
    uint32_t run = 0;
    std::vector<Content> contents;
    std::vector<bool> awaited; // per segment: written by a collective and not read yet
    std::vector<uint32_t> readTimes;
    Clocks clocks;
    std::vector<std::vector<uint32_t>> seen; // per stream: all times of it that others have seen
    Board::Counts met, posted;
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
  bool isEqual(const Snapshot &now) const;
  bool isEqual(const Snapshot &now, uint32_t segment) const;
  bool isSameMeaning(const Content &a, const Content &b) const;
  bool isSameWriter(const Content &a, const Content &b, bool changesSegment) const;
  bool isPast(const Provenance &origin) const;
  bool areTimesEqual(const Snapshot &now) const;
  bool readsEqually(uint32_t periods);
  bool readsEqually(const Use &use, const format::Run &run, uint32_t periods, bool marks);
  void moveOn(const Snapshot &now, uint32_t periods);
  uint64_t storageAfter(uint64_t storage, uint32_t periods) const;
  static Order power(Order order, uint32_t times);

  void moveSegment(const Snapshot &now, uint32_t before, uint32_t next, uint32_t periods);

  ProgramState &state;
  const Steps &steps;
  const uint32_t numStreams;
  std::optional<Period> period;
  std::vector<uint32_t> lastRuns;       // per micro-batch
  std::vector<Use> uses, moving;        // by tasks of a period
  std::map<uint64_t, uint32_t> slotsOf; // key: storage
  Order segmentAfter, eventAfter;
  std::vector<bool> isElsewhere; // per segment: holds the inputs of one micro-batch
  std::optional<Snapshot> last;
  uint32_t boundary = 0, tries = 0;
};

} // namespace dtc
