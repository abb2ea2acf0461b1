// Runs the step of a .dte file on this rank: binds it to a rank, a device and its groups once, then
// enqueues it many times.
//
// Example (one rank; see test/unit/exec):
//   std::unique_ptr<Executor> executor;
//   DTC_RETURN_IF_ERROR(Executor::create(*executable, control, device, {}, executor));
//   ... fill tensors through device.copyIn(executor->address(tensor->buffer()), ...) ...
//   DTC_RETURN_IF_ERROR(executor->setScalars({.step = 1, .totalSteps = 10, .baseLr = 1e-3f}));
//   DTC_RETURN_IF_ERROR(executor->writeInput("tokens", std::as_bytes(std::span(tokens))));
//   StepResult result;
//   DTC_RETURN_IF_ERROR(executor->enqueue(format::EntryKind::train));
//   ... read the next batch, writeInput() ...
//   DTC_RETURN_IF_ERROR(executor->collect(result));
#pragma once

#include "runtime/base/File.h"
#include "runtime/base/Status.h"
#include "runtime/comm/Control.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Loader.h"
#include "runtime/exec/Step.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

// Options of an executor.
struct ExecutorOptions {
  bool trace = false;    // keep a time line of all steps for writeTrace()
  size_t stepsAhead = 2; // the most steps that are enqueued and not collected
  // Receives the position of each stream; outlives the executor; may be null.
  Progress *progress = nullptr;
};

// Runs the program of one rank on its device.
class Executor {
public:
  virtual ~Executor() = default;

  // Loads code, makes the arena, the streams and one group of the device for each group of the file
  // and stream. Collective over `control`, whose size must be executable.ranks(). All arguments
  // must outlive the executor.
  static Status create(const Executable &executable, Control &control, Device &device,
                       const ExecutorOptions &options, std::unique_ptr<Executor> &executor);

  // Returns the program of this rank.
  virtual const format::Program &program() const = 0;
  // Returns the sizes of StepResult::experts of a training step.
  virtual ExpertCounts expertSizes() const = 0;
  // Returns the rank's mesh coordinates, one per axis.
  virtual const std::vector<uint32_t> &coordinates() const = 0;
  // Returns the device address of buffer `index` of program(), to be read and written while no step
  // is under way.
  virtual char *address(uint32_t index) const = 0;
  // Returns the input of that name, or null if the program has none.
  virtual const format::Input *findInput(std::string_view name) const = 0;
  // Returns the scalar of that role, or null if the program does not read it.
  virtual const format::StepScalar *findScalar(format::ScalarRole role) const = 0;

  // Sets those of step, base_lr, total_steps and seed that the program reads, from the next
  // enqueued step on.
  virtual Status setScalars(const StepScalars &scalars) = 0;
  // Fills an input from the next enqueued step on: `values` are the bytes of its shape, row-major,
  // in its dtype. They are copied; steps that are under way keep theirs. InvalidArgument if there
  // is no such input, if it has another size, or if stepsAhead steps wait to be collected.
  virtual Status writeInput(std::string_view name, std::span<const std::byte> values) = 0;

  // Enqueues an entry of the program once, behind earlier steps. `evaluate` sets scalar `step` to 0
  // for it and reports the loss alone. NotFound if the program has no such entry, InvalidArgument
  // if stepsAhead steps wait to be collected; collect() returns all other errors.
  virtual Status enqueue(format::EntryKind entry) = 0;
  // Waits for the oldest step that was enqueued and not collected. An error names rank, task,
  // instruction and source location; it has stopped the device, and is returned for later steps,
  // too.
  virtual Status collect(StepResult &result) = 0;
  // Enqueues a step and collects it. No step may wait to be collected.
  Status run(format::EntryKind entry, StepResult &result) {
    DTC_RETURN_IF_ERROR(enqueue(entry));
    return collect(result);
  }
  // Runs a training step.
  Status runStep(StepResult &result) { return run(format::EntryKind::train, result); }
  // Writes a Chrome trace of all training steps collected so far into `file`, which is open, and
  // commits it. The trace is empty without ExecutorOptions::trace.
  virtual Status writeTrace(AtomicFile &file) const = 0;
};

} // namespace dtc::rt
