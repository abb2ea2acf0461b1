// Runs the step of a .dte file on this rank: binds it to a rank, a device and communicators once,
// then runs it many times.
//
// Example (one rank; see test/unit/exec):
//   std::unique_ptr<Executor> executor;
//   DTC_RETURN_IF_ERROR(Executor::create(*executable, world, device, {}, executor));
//   ... fill tensors through device.copyIn(executor->address(tensor->buffer()), ...) ...
//   DTC_RETURN_IF_ERROR(executor->setScalars({.step = 1, .totalSteps = 10, .baseLr = 1e-3f}));
//   DTC_RETURN_IF_ERROR(executor->writeInput("tokens", std::as_bytes(std::span(tokens))));
//   StepResult result;
//   DTC_RETURN_IF_ERROR(executor->runStep(result));
#pragma once

#include "runtime/base/File.h"
#include "runtime/base/Status.h"
#include "runtime/comm/Comm.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Loader.h"
#include "runtime/format/InstructionKinds.h"

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

// What time is counted under; of stream 0 but for collectives, which count on any stream.
using format::TimeClass;
inline constexpr size_t numTimeClasses = 7;
const char *nameOf(TimeClass timeClass);

struct StepScalars {
  uint64_t step = 1; // from 1
  uint64_t totalSteps = 1;
  float baseLr = 0;
  uint64_t seed = 0;
};

struct StepResult {
  float loss = 0, gradNorm = 0, learningRate = 0;
  bool hasLoss = false, hasGradNorm = false,
       hasLearningRate = false; // whether the program reports it
  double seconds = 0;
  // Seconds in which stream 0 ran or waited for a collective and computed nothing.
  double exposedCommSeconds = 0;
  std::array<double, numTimeClasses> classSeconds = {};
};

struct ExecutorOptions {
  bool trace = false; // whether to keep a time line of all steps for writeTrace()
};

class Executor {
public:
  virtual ~Executor() = default;

  // Loads code, makes the arena and one communicator for each set of mesh axes and stream.
  // Collective over `world`, whose size must be executable.ranks(). All arguments must outlive the
  // executor.
  static Status create(const Executable &executable, Comm &world, Device &device,
                       const ExecutorOptions &options, std::unique_ptr<Executor> &executor);

  virtual const format::Program &program() const = 0;
  virtual const std::vector<uint32_t> &coordinates() const = 0;
  // Device address of buffer `index` of program().
  virtual char *address(uint32_t index) const = 0;
  // The input of that name, or null where the program has none.
  virtual const format::Input *findInput(std::string_view name) const = 0;
  // The scalar of that role, or null where the program does not read it.
  virtual const format::StepScalar *findScalar(format::ScalarRole role) const = 0;

  // Sets those of step, base_lr, total_steps and seed that the program reads.
  virtual Status setScalars(const StepScalars &scalars) = 0;
  // Fills an input: the bytes of its shape, row-major, in its dtype. InvalidArgument where it is no
  // input or has another size.
  virtual Status writeInput(std::string_view name, std::span<const std::byte> values) = 0;

  // Runs an entry of the program once; `evaluate` sets scalar `step` to 0 for it and reports the loss
  // alone. NotFound where the program has no such entry. An error names rank, task, instruction and
  // source location, and stops all streams.
  virtual Status run(format::EntryKind entry, StepResult &result) = 0;
  Status runStep(StepResult &result) { return run(format::EntryKind::train, result); }
  // Writes a Chrome trace of all training steps so far, of none without ExecutorOptions::trace, into `file`,
  // which is open, and commits it.
  virtual Status writeTrace(AtomicFile &file) const = 0;
};

} // namespace dtc::rt
