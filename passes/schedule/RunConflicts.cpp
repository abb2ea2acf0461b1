// Checks that accesses on several streams keep their order in all runs of all entries.
#include "passes/schedule/RunConflicts.h"

#include "passes/schedule/Dependences.h"
#include "passes/schedule/RunPeriod.h"
#include "passes/schedule/UnrollLayers.h"

#include <map>
#include <numeric>

using namespace mlir;
using namespace dtc;

namespace {
// Most states that are compared before the rest of an entry is followed to its end. States may
// differ until all slots are filled, which takes as many periods.
constexpr int kMostCompared = 64;
// Slots and events that return to their first state only after more micro-batches are followed to
// the end.
constexpr int64_t kMostShift = 4096;

// first address of host memory, after all device memory
constexpr int64_t kHostMemory = int64_t(1) << 60;

struct Bytes {
  int64_t begin, end; // a range of the arena
  bool overlaps(const Bytes &other) const { return begin < other.end && other.begin < end; }
};

// One buffer that an instruction reads or writes.
struct Use {
  exec::BufferOp root;
  Bytes bytes; // the bytes in micro-batch 0
  bool write;
  bool startsSum; // starts a sum, so that it writes in the first run of its task alone
  int64_t slots, slotStride, microBatchStride;

  Bytes inMicroBatch(int64_t microBatch) const {
    int64_t m = std::max<int64_t>(microBatch, 0);
    int64_t moved = m % slots * slotStride + m * microBatchStride;
    return {bytes.begin + moved, bytes.end + moved};
  }
};

std::vector<Use> usesOf(exec::InstructionOpInterface op) {
  std::vector<Use> uses;
  auto add = [&](Value buffer, std::optional<std::pair<int64_t, int64_t>> written) {
    exec::BufferRange range = exec::getRange(buffer);
    exec::BufferOp root = getRootOp(buffer);
    auto [offset, bytes] = written.value_or(std::pair(int64_t(0), range.bytes));
    int64_t begin = static_cast<int64_t>(*root.getOffset()) + range.offset + offset +
                    (root.getHost() ? kHostMemory : 0);
    bool startsSum =
        !written && op.startsSum() && llvm::is_contained(op.getWrittenBuffers(), buffer);
    uses.push_back({root,
                    {begin, begin + bytes},
                    written.has_value(),
                    startsSum,
                    static_cast<int64_t>(root.getSlots().value_or(1)),
                    root.getSlotStride(),
                    range.microBatchStride});
  };
  for (Value buffer : op.getReadBuffers())
    add(buffer, std::nullopt);
  for (auto [index, buffer] : llvm::enumerate(op.getWrittenBuffers()))
    add(buffer, op.getWrittenRange(index));
  return uses;
}

struct Instruction {
  exec::InstructionOpInterface op;
  std::vector<Use> uses; // uses of bytes that streams other than 0 use too
  bool isEvent;
};

class RunChecker {
public:
  RunChecker(exec::ProgramOp program, const RunOrder &order, bool followsAll)
      : program(program), order(order), followsAll(followsAll), numStreams(program.getStreams()),
        numMicroBatches(static_cast<int64_t>(program.getMicroBatches())) {
    findShared();
    findInstructions();
  }

  LogicalResult run() {
    for (auto [entry, runs] :
         llvm::zip(program.getBody().getOps<exec::EntryOp>(), order.getEntries()))
      if (failed(play(entry.getKind(), runs)))
        return failure();
    return success();
  }

private:
  using Clock = SmallVector<int64_t, 8>;

  // An access to a cell: its instruction, its micro-batch and its time.
  struct Access {
    int64_t time = -1;
    int64_t microBatch = -1;
    Operation *op = nullptr;
  };
  struct Cell {
    std::vector<Access> reads, writes; // the last of each stream
    exec::BufferOp holds;
    Access writer;
  };

  template <typename Visit> void visitUses(Visit &&visit) {
    for (auto task : program.getBody().getOps<exec::TaskOp>())
      for (auto op : task.getBody().getOps<exec::InstructionOpInterface>())
        for (const Use &use : usesOf(op))
          visit(task, op, use);
  }

  // Visits the bytes of a use in all micro-batches.
  template <typename Visit> void visitBytes(exec::TaskOp task, const Use &use, Visit &&visit) {
    int64_t copies = use.microBatchStride != 0 ? numMicroBatches : use.slots;
    for (int64_t m = 0; m < (task.isRepeated() ? std::min(copies, numMicroBatches) : 1); ++m)
      visit(use.inMicroBatch(m));
  }

  // Finds the bytes that streams other than 0 use, as ascending disjoint ranges.
  void findShared() {
    std::vector<Bytes> all;
    visitUses([&](exec::TaskOp task, exec::InstructionOpInterface op, const Use &use) {
      if (op.getInstructionStream() != 0)
        visitBytes(task, use, [&](Bytes bytes) { all.push_back(bytes); });
    });
    llvm::sort(all, [](const Bytes &a, const Bytes &b) { return a.begin < b.begin; });
    for (const Bytes &bytes : all)
      if (!shared.empty() && bytes.begin <= shared.back().end)
        shared.back().end = std::max(shared.back().end, bytes.end);
      else
        shared.push_back(bytes);
  }

  bool isShared(const Bytes &bytes) const {
    auto found =
        llvm::partition_point(shared, [&](const Bytes &each) { return each.end <= bytes.begin; });
    return found != shared.end() && found->overlaps(bytes);
  }

  // Collects the instructions of every task that are relevant to the check, and the borders of the
  // memory cells that they access.
  void findInstructions() {
    for (auto task : program.getBody().getOps<exec::TaskOp>())
      for (auto op : task.getBody().getOps<exec::InstructionOpInterface>()) {
        Instruction instruction{op, {}, isa<exec::RecordOp, exec::WaitOp>(op.getOperation())};
        for (const Use &use : usesOf(op)) {
          bool any = false;
          visitBytes(task, use, [&](Bytes bytes) { any |= isShared(bytes); });
          if (!any)
            continue;
          instruction.uses.push_back(use);
          visitBytes(task, use, [&](Bytes bytes) {
            borders.push_back(bytes.begin);
            borders.push_back(bytes.end);
          });
        }
        if (instruction.isEvent || !instruction.uses.empty())
          instructions[task].push_back(std::move(instruction));
      }
    llvm::sort(borders);
    borders.erase(llvm::unique(borders), borders.end());
  }

  LogicalResult play(exec::EntryKind kind, const std::vector<RunOrder::Run> &runs) {
    clocks.assign(numStreams, Clock(numStreams, -1));
    records.clear();
    cells.assign(borders.size(), {});
    for (Cell &cell : cells) {
      cell.reads.resize(numStreams);
      cell.writes.resize(numStreams);
    }
    entry = kind;
    now = 0;
    llvm::DenseMap<Operation *, size_t> left, done;
    for (const RunOrder::Run &run : runs)
      ++left[run.task];
    int64_t cycle = followsAll ? 0 : slotCycle();
    std::optional<RunPeriod> period = cycle > 0 ? findRunPeriod(runs, cycle) : std::nullopt;
    size_t boundary = period ? period->begin : runs.size();
    std::vector<int64_t> before; // the state a period ago
    int64_t since = 0;           // the time of that state
    int compared = 0;
    for (size_t i = 0; i < runs.size(); ++i) {
      if (i == boundary) {
        std::vector<int64_t> state = stateAt(runs, i);
        size_t periods = (period->end - i) / period->length;
        if (state == before && periods > 0) {
          // No task runs for the first or last time in these periods.
          for (size_t of = i - period->length; of < i; ++of)
            left[runs[of].task] -= periods;
          moveOn(since, static_cast<int64_t>(periods) * period->shift);
          i += periods * period->length;
          boundary = runs.size();
        } else {
          before = std::move(state);
          since = now;
          boundary = ++compared < kMostCompared && periods > 1 ? i + period->length : runs.size();
        }
      }
      const RunOrder::Run &run = runs[i];
      bool isFirst = done[run.task]++ == 0, isLast = --left[run.task] == 0;
      for (Instruction &instruction : instructions[run.task])
        if (isLast || !instruction.op.runsLastOnly())
          if (failed(step(instruction, run.microBatch, isFirst)))
            return failure();
    }
    return success();
  }

  // Returns the number of micro-batches after which slots and events repeat; 0 if they never do, or
  // too late.
  int64_t slotCycle() {
    int64_t cycle = 1;
    auto add = [&](int64_t slots) {
      cycle = cycle == 0 || std::lcm(cycle, slots) > kMostShift ? 0 : std::lcm(cycle, slots);
    };
    for (const auto &[task, ofTask] : instructions)
      for (const Instruction &instruction : ofTask) {
        for (const Use &use : instruction.uses)
          add(use.microBatchStride == 0 ? use.slots : kMostShift + 1);
        if (auto record = dyn_cast<exec::RecordOp>(*instruction.op))
          add(static_cast<int64_t>(record.getSlots()));
        else if (auto wait = dyn_cast<exec::WaitOp>(*instruction.op))
          add(static_cast<int64_t>(wait.getSlots()));
      }
    return cycle;
  }

  // Returns the least micro-batch of this run and the following ones: data written for lower ones
  // will not be read by their own micro-batch again.
  static int64_t leastFrom(const std::vector<RunOrder::Run> &runs, size_t index) {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (size_t i = index; i < runs.size(); ++i)
      if (runs[i].microBatch >= 0)
        least = std::min(least, runs[i].microBatch);
    return least;
  }

  // Returns a state of everything that later checks depend on, so that equal periods leave equal
  // states: for times, the number of earlier times that streams and records have seen of a stream;
  // for micro-batches, their distance from the least micro-batch that is still to come.
  //
  // Skipping periods is valid for these reasons. Checks compare a time only with the times that a
  // stream has seen (`look`), and it sees times seen before or those of later instructions; they
  // compare a micro-batch only with that of a later run. Two states that are equal here are equal
  // in all such comparisons, if the following runs are the same except for `shift`, none is the
  // first or last of its task, and slots and events are in the same places, because `shift` is a
  // multiple of all their numbers. So if a period leaves the state that the one before left, all
  // following periods do, each with the same result.
  std::vector<int64_t> stateAt(const std::vector<RunOrder::Run> &runs, size_t index) const {
    int64_t least = leastFrom(runs, index);
    std::vector<std::vector<int64_t>> seen(numStreams);
    auto addSeen = [&](const Clock &clock) {
      for (auto [times, time] : llvm::zip(seen, clock))
        times.push_back(time);
    };
    llvm::for_each(clocks, addSeen);
    for (const auto &[event, clock] : records)
      addSeen(clock);
    for (std::vector<int64_t> &times : seen) {
      llvm::sort(times);
      times.erase(llvm::unique(times), times.end());
    }
    // Includes the least micro-batch, which advances with the period.
    std::vector<int64_t> state{least - runs[index].microBatch};
    auto addTime = [&](size_t stream, int64_t time) {
      state.push_back(llvm::lower_bound(seen[stream], time) - seen[stream].begin());
    };
    auto addClock = [&](const Clock &clock) {
      for (auto [stream, time] : llvm::enumerate(clock))
        addTime(stream, time);
    };
    llvm::for_each(clocks, addClock);
    for (const auto &[event, clock] : records) {
      state.push_back(event);
      addClock(clock);
    }
    for (const Cell &cell : cells) {
      for (size_t stream = 0; stream < numStreams; ++stream) {
        addTime(stream, cell.reads[stream].time);
        addTime(stream, cell.writes[stream].time);
      }
      state.push_back(reinterpret_cast<intptr_t>(cell.holds.getAsOpaquePointer()));
      int64_t of = cell.writer.microBatch;
      state.push_back(of < 0 ? -1 : of < least ? -2 : of - least);
    }
    return state;
  }

  // Advances a periodic state by `by` micro-batches. The last complete period starts at `since`.
  void moveOn(int64_t since, int64_t by) {
    auto move = [&](Access &access) {
      if (access.time >= since && access.microBatch >= 0)
        access.microBatch += by;
    };
    for (Cell &cell : cells) {
      llvm::for_each(cell.reads, move);
      llvm::for_each(cell.writes, move);
      move(cell.writer);
    }
  }

  LogicalResult step(Instruction &instruction, int64_t microBatch, bool isFirst) {
    int64_t stream = instruction.op.getInstructionStream(), time = now++;
    Clock &clock = clocks[stream];
    clock[stream] = time;
    if (instruction.isEvent) {
      int64_t event = getEvent(instruction.op, /*layer=*/0, microBatch);
      if (isa<exec::RecordOp>(*instruction.op)) {
        records[event] = clock;
        return success();
      }
      auto record = records.find(event);
      if (record == records.end())
        return fail(instruction, microBatch)
               << "waits for event " << event << ", which nothing before it records";
      for (auto [mine, other] : llvm::zip(clock, record->second))
        mine = std::max(mine, other);
      return success();
    }
    for (const Use &use : instruction.uses)
      if (failed(look(instruction, use, microBatch, isFirst)))
        return failure();
    for (const Use &use : instruction.uses)
      note(use, {time, microBatch, instruction.op}, stream);
    return success();
  }

  template <typename Visit>
  LogicalResult visitCells(const Use &use, int64_t microBatch, Visit &&visit) {
    Bytes bytes = use.inMicroBatch(microBatch);
    for (size_t i = llvm::lower_bound(borders, bytes.begin) - borders.begin();
         i < borders.size() && borders[i] < bytes.end; ++i)
      // Ignores the rest of a use that is shared in part.
      if (isShared({borders[i], borders[i + 1]}) && failed(visit(cells[i])))
        return failure();
    return success();
  }

  LogicalResult look(Instruction &instruction, const Use &use, int64_t microBatch, bool isFirst) {
    const Clock &clock = clocks[instruction.op.getInstructionStream()];
    return visitCells(use, microBatch, [&](Cell &cell) -> LogicalResult {
      for (size_t other = 0; other < numStreams; ++other) {
        const Access *open = cell.writes[other].time > clock[other] ? &cell.writes[other] : nullptr;
        if (!open && use.write && cell.reads[other].time > clock[other])
          open = &cell.reads[other];
        if (!open)
          continue;
        InFlightDiagnostic diagnostic = fail(instruction, microBatch)
                                        << "uses '" << exec::BufferOp(use.root).getName()
                                        << "' at the same time as an instruction of another stream";
        return noteOther(diagnostic, *open);
      }
      if (use.write || exec::BufferOp(use.root).getPersistent() || (use.startsSum && isFirst))
        return success();
      bool isOwn = cell.holds == use.root &&
                   (microBatch < 0 || cell.writer.microBatch < 0 ||
                    exec::BufferOp(use.root).getCarried() || cell.writer.microBatch == microBatch);
      if (isOwn)
        return success();
      InFlightDiagnostic diagnostic = fail(instruction, microBatch)
                                      << "reads '" << exec::BufferOp(use.root).getName() << "', ";
      if (!cell.holds) {
        diagnostic << "which nothing has written";
        return diagnostic;
      }
      diagnostic << "which holds '" << cell.holds.getName() << "'";
      return noteOther(diagnostic, cell.writer);
    });
  }

  void note(const Use &use, const Access &access, int64_t stream) {
    (void)visitCells(use, access.microBatch, [&](Cell &cell) {
      (use.write ? cell.writes : cell.reads)[stream] = access;
      if (use.write) {
        cell.holds = use.root;
        cell.writer = access;
      }
      return success();
    });
  }

  InFlightDiagnostic fail(Instruction &instruction, int64_t microBatch) {
    InFlightDiagnostic diagnostic = instruction.op->emitOpError();
    if (microBatch >= 0)
      diagnostic << "of micro-batch " << microBatch << " ";
    diagnostic << "in entry '" << exec::stringifyEntryKind(entry) << "' ";
    return diagnostic;
  }

  static LogicalResult noteOther(InFlightDiagnostic &diagnostic, const Access &other) {
    if (other.microBatch >= 0)
      diagnostic << " of micro-batch " << other.microBatch;
    diagnostic.attachNote(other.op->getLoc()) << "the other instruction";
    return diagnostic;
  }

  exec::ProgramOp program;
  const RunOrder &order;
  bool followsAll;
  size_t numStreams;
  int64_t numMicroBatches;
  std::vector<Bytes> shared;
  llvm::DenseMap<Operation *, std::vector<Instruction>> instructions; // per task
  std::vector<int64_t> borders;                                       // borders of cells, ascending

  exec::EntryKind entry = exec::EntryKind::Train;
  // per stream, the time of the last instruction of each other stream that is complete
  std::vector<Clock> clocks;
  std::map<int64_t, Clock> records; // keyed by event: the clock at its last record
  std::vector<Cell> cells;          // each from a border to the next
  int64_t now = 0;
};
} // namespace

LogicalResult dtc::checkRuns(exec::ProgramOp program, const RunOrder &order, bool followsAll) {
  return RunChecker(program, order, followsAll).run();
}
