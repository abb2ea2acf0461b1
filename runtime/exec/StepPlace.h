// What the host keeps of a step that is under way: what it reads, what it gives, and when it ran.
#pragma once

#include "runtime/exec/Executor.h"

#include <vector>

namespace dtc::rt {

// Made once and used by every so many steps, so that the host may prepare a step while another runs.
// Everything that the device reads or writes is in memory that it gave for that.
class StepPlace {
public:
  // For steps of `program`, whose entries have at most `issues` instructions.
  Status create(const format::Program &program, Device &device, size_t issues);

  // For the step that is enqueued next from here, and not for later ones.
  void setScalars(const StepScalars &scalars);
  void setScalar(format::ScalarRole role, float value);
  void writeInput(uint32_t input, std::span<const std::byte> values);

  // Enqueues on stream 0 what was set and written since the last time, into the arena.
  Status enqueueIn(Device &device, const Mark &mark);
  // The same for what `entry` reports, out of the arena.
  Status enqueueOut(format::EntryKind entry, Device &device, const Mark &mark);
  // What enqueueOut has brought, once the step is done.
  void readOutputs(format::EntryKind entry, StepResult &result) const;

  // The step that uses the place.
  format::EntryKind entry = format::EntryKind::train;
  uint64_t deviceStep = 0;   // the device's number of it
  uint32_t trainingStep = 0; // its number, from 1; for an evaluation that of the step before
  Status enqueued;           // why not all of it was
  uint64_t enqueueTag = 0;   // what could not be
  uint64_t firstEvent = 0, lastEvent = 0; // of the flight recorder; 0 where it has none
  TimeRange begin, end;                   // its first and last moments on stream 0
  std::vector<TimeRange> times;           // of its instructions, by BoundEntry.issues

private:
  // A piece of memory and where it goes to or comes from.
  struct Piece {
    char *host = nullptr;
    uint64_t offset = 0, bytes = 0; // in the arena
    bool isSet = false;
  };

  char *arena = nullptr;
  const format::Program *program = nullptr;
  std::vector<Piece> inputs, scalars, outputs; // in the order of the program
};

} // namespace dtc::rt
