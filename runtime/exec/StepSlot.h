// The host's buffers of a step that is under way: its inputs, results and times.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Step.h"
#include "runtime/format/dte_generated.h"

#include <cstddef>
#include <span>
#include <vector>

namespace dtc::rt {

// One of several slots that steps use in turn, so that the host may prepare a step while another
// runs. Everything that the device reads or writes is in memory that it allocated for that.
class StepSlot {
public:
  // Allocates a slot for steps of `program`, whose entries have at most `issues` instructions.
  Status create(const format::Program &program, Device &device, size_t issues);

  // Sets the scalars of the next step that uses this slot, and not of later ones.
  void setScalars(const StepScalars &scalars);
  // Sets one scalar of that step, if the program reads it.
  void setScalar(format::ScalarRole role, float value);
  // Sets the bytes of one input of that step.
  void writeInput(uint32_t input, std::span<const std::byte> values);

  // Enqueues copies on stream 0 of all that was set and written since the last time, into the
  // arena.
  Status enqueueIn(Device &device, const Mark &mark);
  // Enqueues copies on stream 0 of all that `entry` reports, out of the arena.
  Status enqueueOut(format::EntryKind entry, Device &device, const Mark &mark);
  // Reads the results that enqueueOut has copied, once the step is done.
  void readOutputs(format::EntryKind entry, StepResult &result) const;

  // The step that uses the slot.
  format::EntryKind entry = format::EntryKind::train;
  uint64_t deviceStep = 0;   // the device's number of the step
  uint32_t trainingStep = 0; // its number, from 1; for an evaluation the number of the step before
  Status enqueued;           // the reason if not all of it was enqueued
  uint64_t enqueueTag = 0;   // tag of what could not be enqueued
  uint64_t firstEvent = 0, lastEvent = 0; // numbers in the flight recorder; 0 without one
  TimeRange begin, end;                   // the step's first and last moments on stream 0
  std::vector<TimeRange> times;           // times of its instructions, by BoundEntry.issues

private:
  // A buffer of the host and its place in the arena.
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
