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
#include "runtime/format/InstructionKinds.h"

#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

// The class that time counts under; only on stream 0, but for collectives, which count on any
// stream.
using format::TimeClass;
inline constexpr size_t numTimeClasses = 7;
// Returns the name of a time class, for reports.
const char *nameOf(TimeClass timeClass);

// The numbers that change from step to step.
struct StepScalars {
  uint64_t step = 1; // from 1
  uint64_t totalSteps = 1;
  float baseLr = 0;
  uint64_t seed = 0;
};

// The results and times of one step.
struct StepResult {
  float loss = 0, gradNorm = 0, learningRate = 0, skippedSteps = 0, lossScale = 0;
  float lossWeight = 0;    // number that the loss, but for lossBeside, was divided by
  float lossBeside = 0;    // terms of the loss that are not divided by it
  float gradientScale = 1; // factor from the program's gradients to those of the loss
  bool hasLoss = false, hasGradNorm = false, hasLearningRate = false, hasSkippedSteps = false,
       hasLossScale = false, hasGradientScale = false, hasLossWeight = false,
       hasLossBeside = false; // true if the program reports the value
  double seconds = 0;
  // The seconds in which stream 0 ran or waited for a collective and computed nothing.
  double exposedCommSeconds = 0;
  std::array<double, numTimeClasses> classSeconds = {};
};

// The field of a result for each role of an output.
struct StepOutput {
  format::OutputRole role;
  float StepResult::*value;
  bool StepResult::*isThere;
};
inline constexpr StepOutput stepOutputs[] = {
    {format::OutputRole::loss, &StepResult::loss, &StepResult::hasLoss},
    {format::OutputRole::grad_norm, &StepResult::gradNorm, &StepResult::hasGradNorm},
    {format::OutputRole::learning_rate, &StepResult::learningRate, &StepResult::hasLearningRate},
    {format::OutputRole::gradient_scale, &StepResult::gradientScale, &StepResult::hasGradientScale},
    {format::OutputRole::skipped_steps, &StepResult::skippedSteps, &StepResult::hasSkippedSteps},
    {format::OutputRole::loss_scale, &StepResult::lossScale, &StepResult::hasLossScale},
    {format::OutputRole::loss_weight, &StepResult::lossWeight, &StepResult::hasLossWeight},
    {format::OutputRole::loss_beside, &StepResult::lossBeside, &StepResult::hasLossBeside}};
static_assert(std::size(stepOutputs) == static_cast<size_t>(format::OutputRole::MAX) + 1);

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
