// The instruction that a program is at, in the order in which the host enqueues an entry.
#pragma once

#include "compiler/prove/verify/Steps.h"

#include <vector>

namespace dtc {

// Goes through the runs of an entry, and through the instructions of each.
class Execution {
public:
  explicit Execution(const Steps &steps);

  // Returns true if the whole order has been followed.
  bool isDone() const { return run == steps.entry.order()->size(); }
  // Returns true if no instruction of the run has been looked at yet.
  bool isAtBeginOfRun() const { return step == 0; }
  // Begins the next run, or goes on with one that had to wait.
  void beginRun();
  // Goes on to the next run.
  void endRun();
  // Returns true if the run has a further instruction.
  bool hasInstruction() const { return step < steps.executed(current->task()).size(); }
  // Looks at the next instruction. Returns false if this run leaves it out.
  bool beginInstruction();
  // Goes on to the next instruction of the run.
  void endInstruction() { ++step; }
  // Leaves out `periods` repetitions of the runs [first, last), the last ones that were followed.
  void skip(uint32_t first, uint32_t last, uint32_t periods);

  // Returns the micro-batch of the run.
  int32_t microBatch() const { return static_cast<int32_t>(current->micro_batch()); }
  // Returns true if the instruction adds to what it writes, rather than beginning the sum.
  bool adds() const { return source->accumulates && !(source->source->starts_sum() && isFirstRun); }
  // Returns the buffer of a touch.
  const format::Buffer &bufferOf(const Touch &touch) const {
    return *steps.program.buffers()->Get(touch.buffer);
  }
  // Returns the elements of the first piece of a touch.
  uint64_t elementsOf(const Touch &touch) const {
    return static_cast<uint64_t>(touch.pieces[0].bytes) / format::bytesOf(bufferOf(touch).dtype());
  }
  // Returns the content of a buffer, as Steps::storageOf.
  uint64_t storageOf(uint32_t buffer) const { return steps.storageOf(buffer, *current, layer); }
  // Returns the address range of a piece of a touch.
  Steps::Range rangeOf(const Touch &touch, const Piece &piece) const {
    return steps.rangeOf(touch, piece, *current, layer);
  }
  // Returns a fault at the instruction; `check` is as in Fault::check.
  Fault fail(const char *check, std::string message, std::string note = "") const;

  const Steps &steps;
  // The position of the instruction: its run in the order, and its position in the task of the run.
  uint32_t run = 0, step = 0;
  const format::Run *current = nullptr;
  const Accesses *source = nullptr; // the instruction
  uint32_t layer = 0;
  uint8_t stream = 0;
  bool isFirstRun = false; // of the task
  bool isOfStep = false;   // runs once a step, not once a micro-batch

private:
  bool isLastRun = false;                   // of the task
  std::vector<uint32_t> runsLeft, runsDone; // per task
};

} // namespace dtc
