// What is known to happen before what in a program with several streams.
#pragma once

#include "dialects/exec/Exec.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace dtc {

// Instructions of one stream run in program order; a wait runs after the record of its event. Between what every run of a
// task has, only events that every run has order anything: the last run has more of both.
class Ordering {
public:
  // Fails after a diagnostic when an event is recorded on two streams, never, or after its wait.
  static llvm::FailureOr<Ordering> create(exec::ProgramOp program);

  unsigned size() const { return instructions.size(); }
  exec::InstructionOpInterface getInstruction(unsigned index) const { return instructions[index]; }

  // Whether instruction `a` is over before `b` starts, whatever the timing, in every run of either.
  bool isBefore(unsigned a, unsigned b) const;
  // The last instruction of stream 0 that is over, for certain, when `index` starts (itself on
  // stream 0), or -1.
  int64_t getStart(unsigned index) const;
  // The first instruction of stream 0 before which `index` is over, for certain (itself on stream
  // 0), or size(); the last of a task that other micro-batches run without that wait.
  int64_t getEnd(unsigned index) const { return ends[index]; }

  // Of an instruction that every run of its task has: whether it starts after something that stream 0 does in that run, and
  // is over before something that stream 0 does in it. Then runs follow each other whatever streams they use.
  bool isForked(unsigned index) const;
  bool isJoined(unsigned index) const;

private:
  using Clock = llvm::SmallVector<int64_t, 2>;

  unsigned streamOf(unsigned index) const { return streams[index]; }
  // Of a record or wait, for the last micro-batch.
  int64_t eventOf(unsigned index) const;
  bool isInEveryRun(unsigned index) const { return runsOf[index].everyRun; }
  bool areInOneRun(unsigned a, unsigned b) const {
    return isInEveryRun(a) && isInEveryRun(b) && runsOf[a].task == runsOf[b].task;
  }
  llvm::LogicalResult findClocks();
  void findClocksOfRuns();
  void findEnds();
  void findInterleaved(exec::ProgramOp program);

  std::vector<exec::InstructionOpInterface> instructions;
  size_t numStreams = 1;
  int64_t lastMicroBatch = 0;
  std::vector<unsigned> streams;
  struct Runs {
    mlir::Operation *task;
    bool everyRun; // whether every run of a task that a step runs several times has it
  };
  std::vector<Runs> runsOf;
  // clocks[i][s]: the last instruction of stream s that is over when i starts, i itself on its own
  // stream; -1: none.
  std::vector<Clock> clocks;
  // The same of what every run has, by what every run has, in its run; empty for all else.
  std::vector<Clock> clocksOfRun;
  std::vector<int64_t> ends;
  struct Task {
    int64_t begin, end; // of its instructions
    int64_t before;     // the last instruction of stream 0 before them, or -1
  };
  // Where several micro-batches are under way at once, their tasks: with backward 2, backward 3,
  // weights 2, weights 3 the run before the last of `weights` starts after the last of `backward`,
  // and does not stop where the last one waits for what `backward` left to another stream.
  std::vector<Task> interleaved;
  std::vector<int> interleavedOf; // of each instruction, an index in that, or -1
};

// The instructions of a program's tasks, in the order in which the only micro-batch of a step goes
// through them. Where a step has several, the last one does so, while the tasks of the others have
// run, or run in between.
std::vector<exec::InstructionOpInterface> getInstructions(exec::ProgramOp program);

// Those that are `Op`.
template <typename Op> llvm::SmallVector<Op> getInstructionsOf(exec::ProgramOp program) {
  llvm::SmallVector<Op> found;
  for (auto task : program.getBody().getOps<exec::TaskOp>())
    llvm::append_range(found, task.getBody().getOps<Op>());
  return found;
}

// Whether instruction `a` stands before `b` in that order.
bool comesBefore(mlir::Operation *a, mlir::Operation *b);

// Whether a step runs the instruction several times.
bool isRepeated(mlir::Operation *instruction);

} // namespace dtc
