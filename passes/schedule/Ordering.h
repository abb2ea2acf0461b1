// What is known to happen before what in a program with several streams.
#pragma once

#include "dialects/exec/Exec.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace dtc {

// Instructions of one stream run in program order; a wait runs after the record of its event.
class Ordering {
public:
  // Fails after a diagnostic when an event is recorded twice, never, or after its wait.
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

private:
  unsigned streamOf(unsigned index) const { return streams[index]; }
  void findInterleaved(exec::ProgramOp program);

  std::vector<exec::InstructionOpInterface> instructions;
  std::vector<unsigned> streams;
  // clocks[i][s]: the last instruction of stream s that is over when i starts, i itself on its own
  // stream; -1: none.
  std::vector<llvm::SmallVector<int64_t, 2>> clocks;
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
