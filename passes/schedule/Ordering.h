// The happens-before relation of a program with several streams.
#pragma once

#include "dialects/exec/Exec.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace dtc {

// The happens-before relation. Instructions of one stream run in program order; a wait completes
// after the record of its event. Between instructions that every run of a task has, only events
// that every run has order anything, because only the last run has the others.
class Ordering {
public:
  // Fails after a diagnostic if an event is recorded on two streams, never, or after its wait.
  static llvm::FailureOr<Ordering> create(exec::ProgramOp program);

  unsigned size() const { return instructions.size(); }
  // Returns an instruction by its number in program order.
  exec::InstructionOpInterface getInstruction(unsigned index) const { return instructions[index]; }

  // True if instruction `a` is complete before `b` starts, whatever the timing, in every run of
  // either.
  bool isBefore(unsigned a, unsigned b) const;
  // Returns the last instruction of stream 0 that is certain to be complete when `index` starts
  // (itself on stream 0), or -1.
  int64_t getStart(unsigned index) const;
  // Returns the first instruction of stream 0 before which `index` is certain to be complete
  // (itself on stream 0), or size(). In a task that other micro-batches run without that wait,
  // returns the last instruction of the task.
  int64_t getEnd(unsigned index) const { return ends[index]; }

  // True if an instruction that every run of its task has starts after some instruction of stream 0
  // in that run. If all are forked and joined, runs follow each other, whatever streams they use.
  bool isForked(unsigned index) const;
  // True if such an instruction is complete before some instruction of stream 0 in that run.
  bool isJoined(unsigned index) const;

private:
  using Clock = llvm::SmallVector<int64_t, 2>;

  unsigned streamOf(unsigned index) const { return streams[index]; }
  // Returns the event of a record or wait in the last micro-batch.
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
    bool everyRun; // every run of a task that a step runs several times has the instruction
  };
  std::vector<Runs> runsOf;
  // clocks[i][s] is the last instruction of stream s that is complete when i starts, i itself on
  // its own stream; -1 if there is none.
  std::vector<Clock> clocks;
  // The clocks within one run of a task, computed only from the instructions that every run has;
  // empty for all other instructions.
  std::vector<Clock> clocksOfRun;
  std::vector<int64_t> ends;
  struct Task {
    int64_t begin, end; // the range of its instructions
    int64_t before;     // the last instruction of stream 0 before the range, or -1
  };
  // The tasks, if several micro-batches are interleaved. Example: in "backward 2, backward 3,
  // weights 2, weights 3" the run before the last of `weights` starts after the last of `backward`,
  // and does not wait as the last one does for work that `backward` left to another stream.
  std::vector<Task> interleaved;
  std::vector<int> interleavedOf; // per instruction an index in `interleaved`, or -1
};

// Returns the instructions of a program's tasks, in the order in which the only micro-batch of a
// step runs them. If a step has several, the last one runs in this order, while the tasks of the
// others have run before or run in between.
std::vector<exec::InstructionOpInterface> getInstructions(exec::ProgramOp program);

// Returns the instructions of type `Op`, in that order.
template <typename Op> llvm::SmallVector<Op> getInstructionsOf(exec::ProgramOp program) {
  llvm::SmallVector<Op> found;
  for (auto task : program.getBody().getOps<exec::TaskOp>())
    llvm::append_range(found, task.getBody().getOps<Op>());
  return found;
}

// True if instruction `a` precedes `b` in the order of getInstructions.
bool comesBefore(mlir::Operation *a, mlir::Operation *b);

// True if a step runs the instruction several times.
bool isRepeated(mlir::Operation *instruction);

} // namespace dtc
