// The memory of a program: every segment's content, and how reads and writes change it.
#pragma once

#include "compiler/prove/verify/Communications.h"
#include "compiler/prove/verify/InitialTensors.h"
#include "compiler/prove/verify/MemoryRules.h"
#include "compiler/prove/verify/ValueRanges.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace dtc {

// Follows the reads and writes of the instruction that an execution is at.
class Memory {
public:
  // `initial` is what the memory holds before the step.
  Memory(const Execution &at, const Clocks &clocks, const InitialTensors &initial);
  Memory(const Memory &) = delete;

  // Begins an instruction, which has read nothing yet; `brings`: it brings values from other ranks.
  void beginInstruction(bool brings);
  // Checks and notes a read of all of a touch, and collects its values. `adds`: reads what the
  // instruction adds to.
  std::optional<Fault> read(size_t touch, bool adds = false);
  // Checks and notes that a touch is written: each segment of it becomes `valueOf(segment)`. Where
  // the touch leaves bytes of it as they are, or adds to them, their value stays part of it.
  std::optional<Fault> write(const Touch &touch, llvm::function_ref<Value(uint32_t)> valueOf);

  // Returns the values that the instruction has read of a touch.
  const ValueRanges &operand(size_t touch) const { return operands[touch]; }
  // Returns the content of a segment.
  const Content &content(uint32_t segment) const { return contents[segment]; }
  // Returns the content of the first segment of a range that was read.
  const Content &contentOf(const ValueRange &range) const {
    return contents[at.steps.segments.find(range.begin, range.end).first];
  }
  // Returns the instruction that wrote a range, as a note of a fault.
  std::string writerOf(const ValueRange &range) const {
    return describeWriter(at.steps, contentOf(range).origin);
  }
  // Returns the persistent tensor whose memory a segment is; null if it is none's.
  const InitialTensor *tensorAt(uint32_t segment) const {
    uint32_t tensor = contents[segment].tensor;
    return tensor > 0 ? &initial.all()[tensor - 1] : nullptr;
  }
  // The content of a segment is read from outside of the program.
  void markReported(uint32_t segment) {
    communications.markRead(contents[segment].origin.communication);
  }
  // Returns the collectives and receives so far.
  const Communications &brought() const { return communications; }
  // Returns the fault that nothing reads what was written to a segment.
  Fault unread(uint32_t segment) const;

  // The state of memory, as PeriodSkipper compares and changes it.
  std::vector<Content> contents;   // per segment
  std::vector<uint32_t> readTimes; // per segment and stream

private:
  // The properties of the write of a touch that all of its segments share.
  struct Write {
    bool isGradient; // a gradient, or packed for other ranks
    bool isPartial;  // some bytes of the touch may stay as they are
  };

  void fill(const InitialTensor &tensor, uint32_t number);
  std::optional<Fault> writeSegment(const Access &access, const Write &write, Value value);
  std::optional<Fault> checkWrite(const Access &access) const;
  std::optional<Fault> checkReplicas(const Access &access, const Value &value) const;
  Addends addendsAfter(const Access &access, const Content &before) const;
  ColumnSets::Set columnsAfter(const Access &access, const Provenance &before);
  Provenance originAfter(const Access &access, ColumnSets::Set columns) const;

  const Execution &at;
  const Clocks &clocks;
  const InitialTensors &initial;
  ColumnSets columnSets;
  MemoryRules rules;
  Communications communications;
  std::vector<ValueRanges> operands; // per touch of the instruction
};

} // namespace dtc
