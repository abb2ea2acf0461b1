// The instructions that a program executes in an entry, and the memory that each one touches.
#pragma once

#include "compiler/prove/verify/Accesses.h"
#include "compiler/prove/verify/Fault.h"
#include "compiler/prove/verify/Segments.h"

#include <map>

namespace dtc {

// An instruction of a task, in one of its layers.
struct Executed {
  uint32_t instruction = 0, layer = 0;
};

// Tasks as they are executed: looked at once, however often they run.
class Steps {
public:
  Steps(const format::Manifest &manifest, uint32_t program, format::EntryKind entry);

  // A piece of a touch in memory, of a run and layer, by format::addressOf.
  struct Range {
    int64_t begin = 0, end = 0;
  };
  // Returns the address range of a piece in a run and layer.
  Range rangeOf(const Touch &touch, const Piece &piece, const format::Run &run,
                uint32_t layer) const;
  // Returns the segments of a piece in a run and layer.
  SegmentSpan spanOf(const Touch &touch, size_t piece, const format::Run &run,
                     uint32_t layer) const {
    if (touch.noted != Touch::kNotNoted)
      return noted[touch.noted +
                   (size_t(layer) * touch.slots + run.micro_batch() % touch.slots) *
                       touch.pieces.size() +
                   piece];
    Range range = rangeOf(touch, touch.pieces[piece], run, layer);
    return segments.find(range.begin, range.end);
  }
  // Calls visit(span) for the pieces of a touch, in order.
  template <typename Visit>
  void visit(const Touch &touch, const format::Run &run, uint32_t layer, Visit &&visit) const {
    for (size_t piece = 0; piece < touch.pieces.size(); ++piece)
      visit(spanOf(touch, piece, run, layer));
  }

  // Returns true if the address depends on the micro-batch by more than slots.
  bool movesOn(const Touch &touch) const;

  // Returns the instructions of a task in the order of execution.
  const std::vector<Executed> &executed(uint32_t task) const { return orders[task]; }
  // Returns the accesses of an instruction of a task.
  const Accesses &accesses(uint32_t task, uint32_t instruction) const {
    return instructions[task][instruction];
  }
  // Returns true if the instruction runs once per step rather than once per micro-batch.
  bool isOfStep(uint32_t task, const format::Instruction &instruction) const {
    return manifest.num_micro_batches() == 1 || runs[task] == 1 ||
           instruction.runs() == format::Runs::last;
  }
  // Returns an identifier of the content of a buffer; slots of a slotted storage have different
  // ones.
  uint64_t storageOf(uint32_t buffer, const format::Run &run, uint32_t layer) const;
  // A buffer that lacks the storage of a layer it is used in; the first one.
  bool lacksStorage(const format::Buffer &buffer, uint32_t layer) const {
    return format::sizeOf(buffer.layer_storages()) > 0 && layer >= buffer.layer_storages()->size();
  }

  // Returns a fault at an instruction of a run; `check` is as in Fault::check.
  Fault fault(const format::Run &run, const Executed &executed, const char *check,
              std::string message, std::string note = "") const;
  // Describes an instruction with its rank, task, micro-batch and layer, for messages.
  std::string describe(const format::Run &run, const Executed &executed) const;
  // Returns the name of a buffer for messages.
  std::string bufferName(uint32_t buffer) const;

  const format::Manifest &manifest;
  const uint32_t index;
  const format::Program &program;
  const format::Entry &entry;
  uint32_t rank = 0;          // the first that runs the program
  std::vector<uint32_t> runs; // per task
  Segments segments;

private:
  void collectSegments();
  void noteSpans();

  std::vector<std::vector<Accesses>> instructions; // per task
  std::vector<std::vector<Executed>> orders;
  std::vector<SegmentSpan> noted; // per touch; shared by runs that touch the same segments
};

} // namespace dtc
