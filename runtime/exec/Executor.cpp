#include "runtime/exec/Executor.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Agree.h"
#include "runtime/exec/Binding.h"
#include "runtime/exec/Trace.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace dtc::rt {
namespace {

using format::text;
using Clock = std::chrono::steady_clock;

double secondsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

class ExecutorImpl : public Executor {
public:
  ExecutorImpl(const Executable &executable, Comm &world, Device &device,
               const ExecutorOptions &options)
      : executable(executable), world(world), device(device), options(options), rank(world.rank()),
        step(executable.program(world.rank())) {}

  Status prepare();

  const format::Program &program() const override { return step; }
  const std::vector<uint32_t> &coordinates() const override { return place; }
  char *address(uint32_t index) const override {
    return device.arena() + step.buffers()->Get(index)->offset();
  }
  const format::Input *findInput(std::string_view name) const override;
  const format::StepScalar *findScalar(format::ScalarRole role) const override;
  Status setScalars(const StepScalars &scalars) override;
  Status writeInput(std::string_view name, std::span<const std::byte> values) override;
  Status run(format::EntryKind entry, StepResult &result) override;
  Status writeTrace(AtomicFile &file) const override;

private:
  Status prepareHere();
  Status loadCode();
  Status setScalar(format::ScalarRole role, float value);
  Status issue(const BoundRun &run, const BoundInstruction &instruction);
  Status issueCollective(const BoundInstruction &instruction);
  Status issueTransfer(const BoundInstruction &instruction);
  bool usesStream(size_t stream) const;
  void runStream(size_t stream);
  void runAllStreams();
  bool runAndTime(const BoundRun &run, BoundInstruction &instruction);
  void stop(const BoundRun &run, const BoundInstruction &instruction, const Status &status);
  Status readOutputs(format::EntryKind entry, StepResult &result);

  const Executable &executable;
  Comm &world;
  Device &device;
  ExecutorOptions options;
  int rank;
  const format::Program &step;
  std::vector<uint32_t> place;
  std::vector<int> codeSegments; // per segment of the file: the device's number, -1 where not code
  Groups groups;
  BoundProgram bound;

  // Of the step that runs.
  const std::vector<BoundRun> *order = nullptr;
  std::atomic<bool> stopped{false};
  std::mutex failureLock;
  Status failure;
  std::array<double, numTimeClasses> computeSeconds = {}; // of stream 0

  Clock::time_point firstStep;
  uint32_t steps = 0; // of training
  bool training = true;
  std::vector<std::vector<TraceEvent>> trace; // per stream
};

Status ExecutorImpl::loadCode() {
  const format::Manifest &manifest = executable.manifest();
  std::vector<std::string> features;
  for (uint32_t i = 0; i < format::sizeOf(manifest.cpu_features()); ++i)
    features.push_back(manifest.cpu_features()->Get(i)->str());
  DTC_RETURN_IF_ERROR(device.checkFeatures(features));
  int loaded = 0;
  for (uint32_t i = 0; i < format::sizeOf(manifest.segments()); ++i) {
    codeSegments.push_back(-1);
    if (manifest.segments()->Get(i)->kind() != format::SegmentKind::code)
      continue;
    DTC_RETURN_IF_ERROR(device.loadCode(executable.segment(i)));
    codeSegments.back() = loaded++;
  }
  return {};
}

// What concerns this rank alone, and can fail on it alone.
Status ExecutorImpl::prepareHere() {
  DTC_RETURN_IF_ERROR(loadCode());
  DTC_RETURN_IF_ERROR(device.allocateArena(step.arena_bytes()));
  return device.createStreams(static_cast<int>(step.num_streams()),
                              static_cast<int>(step.num_events()));
}

Status ExecutorImpl::prepare() {
  const format::Manifest &manifest = executable.manifest();
  place = meshCoordinates(meshSizes(manifest), static_cast<uint32_t>(rank));
  trace.resize(step.num_streams());
  DTC_RETURN_IF_ERROR(agree(world, prepareHere()));
  DTC_RETURN_IF_ERROR(groups.create(manifest, world));
  return agree(world, bindProgram(manifest, step, place, groups, codeSegments, device, bound));
}

const format::Input *ExecutorImpl::findInput(std::string_view name) const {
  for (const format::Input *input : *step.inputs())
    if (input->name()->string_view() == name)
      return input;
  return nullptr;
}

const format::StepScalar *ExecutorImpl::findScalar(format::ScalarRole role) const {
  for (uint32_t i = 0; i < format::sizeOf(step.scalars()); ++i)
    if (step.scalars()->Get(i)->role() == role)
      return step.scalars()->Get(i);
  return nullptr;
}

Status ExecutorImpl::setScalar(format::ScalarRole role, float value) {
  const format::StepScalar *scalar = findScalar(role);
  return scalar ? device.copyIn(address(scalar->buffer()), &value, sizeof(value)) : Status();
}

Status ExecutorImpl::setScalars(const StepScalars &scalars) {
  DTC_RETURN_IF_ERROR(setScalar(format::ScalarRole::step, static_cast<float>(scalars.step)));
  DTC_RETURN_IF_ERROR(setScalar(format::ScalarRole::base_lr, scalars.baseLr));
  DTC_RETURN_IF_ERROR(
      setScalar(format::ScalarRole::total_steps, static_cast<float>(scalars.totalSteps)));
  const format::StepScalar *seed = findScalar(format::ScalarRole::seed);
  return seed ? device.copyIn(address(seed->buffer()), &scalars.seed, sizeof(scalars.seed))
              : Status();
}

Status ExecutorImpl::writeInput(std::string_view name, std::span<const std::byte> values) {
  const format::Input *input = findInput(name);
  if (!input)
    return Status::invalidArgument(text("the program has no input '", name, "'"));
  uint64_t wanted = format::bytesOf(input->dtype());
  for (uint64_t size : *input->shape())
    wanted *= size;
  if (values.size() != wanted)
    return Status::invalidArgument(
        text("input '", name, "' was given ", values.size(), " bytes, wanted ", wanted));
  return device.copyIn(address(input->buffer()), values.data(), values.size());
}

Status ExecutorImpl::issueCollective(const BoundInstruction &instruction) {
  const format::Collective &op = *instruction.command.source->op_as_Collective();
  const void *src = instruction.command.buffers[0];
  void *dst = instruction.command.buffers[1];
  DataType type = dataType(op.dtype());
  Reduction reduction = op.reduce() == format::ReduceKind::max ? Reduction::Max : Reduction::Sum;
  switch (op.kind()) {
  case format::CollectiveKind::all_reduce:
    return instruction.comm->allReduce(src, dst, op.count(), type, reduction);
  case format::CollectiveKind::all_gather:
    return instruction.comm->allGather(src, dst, op.count(), type);
  case format::CollectiveKind::reduce_scatter:
    return instruction.comm->reduceScatter(src, dst, op.count(), type, reduction);
  case format::CollectiveKind::all_to_all:
    return instruction.comm->allToAll(src, dst, op.count(), type);
  }
  return Status::internal("a collective of unknown kind passed the verifier");
}

Status ExecutorImpl::issueTransfer(const BoundInstruction &instruction) {
  const format::Transfer &op = *instruction.command.source->op_as_Transfer();
  Comm &list = *instruction.comm;
  int peer = (list.rank() + static_cast<int>(op.shift())) % list.size();
  char *buffer = instruction.command.buffers[0];
  DataType type = dataType(op.dtype());
  return op.kind() == format::TransferKind::send ? list.send(buffer, op.count(), type, peer)
                                                 : list.receive(buffer, op.count(), type, peer);
}

Status ExecutorImpl::issue(const BoundRun &run, const BoundInstruction &instruction) {
  switch (instruction.command.source->op_type()) {
  case format::Op::Collective:
    return issueCollective(instruction);
  case format::Op::Transfer:
    return issueTransfer(instruction);
  case format::Op::Record:
    return device.record(instruction.stream, instruction.event);
  case format::Op::Wait:
    return device.wait(instruction.stream, instruction.event,
                       run.ordinals[static_cast<size_t>(instruction.waitIndex)]);
  default:
    return device.issue(instruction.stream, instruction.command);
  }
}

// Keeps the first error, which is the cause of those that follow, and ends what the other streams
// and ranks wait for.
void ExecutorImpl::stop(const BoundRun &run, const BoundInstruction &instruction,
                        const Status &status) {
  {
    std::lock_guard lock(failureLock);
    if (failure.ok())
      failure =
          Status(status.statusCode(),
                 text("rank ", rank, training ? ", step " : ", evaluation after step ", steps,
                      ", task '", step.tasks()->Get(run.task)->name()->string_view(),
                      "', micro-batch ", run.microBatch, ", instruction ", instruction.index, ", ",
                      format::describe(executable.manifest(), *instruction.command.source), ": ",
                      status.message()));
  }
  stopped.store(true);
  device.abort();
  world.abandon(status.message());
}

// False when the step has stopped.
bool ExecutorImpl::runAndTime(const BoundRun &run, BoundInstruction &instruction) {
  if (stopped.load(std::memory_order_relaxed))
    return false;
  if (!moveTo(run, device.arena(), instruction))
    return true;
  Clock::time_point begin = Clock::now();
  Status status = issue(run, instruction);
  if (!status.ok()) {
    stop(run, instruction, status);
    return false;
  }
  Clock::time_point end = Clock::now();
  if (instruction.stream == 0)
    computeSeconds[static_cast<size_t>(instruction.timeClass)] += secondsBetween(begin, end);
  if (options.trace && training && instruction.command.source->op_type() != format::Op::Record)
    trace[static_cast<size_t>(instruction.stream)].push_back(
        {run.task, instruction.index, run.microBatch, steps, secondsBetween(firstStep, begin),
         secondsBetween(firstStep, end)});
  return true;
}

// Whether the order that runs has anything on the stream: evaluation has nothing beside compute.
bool ExecutorImpl::usesStream(size_t stream) const {
  return std::any_of(order->begin(), order->end(), [&](const BoundRun &run) {
    return !bound.tasks[run.task].streams[stream].empty();
  });
}

void ExecutorImpl::runStream(size_t stream) {
  for (const BoundRun &run : *order) {
    BoundTask &task = bound.tasks[run.task];
    for (uint32_t index : task.streams[stream])
      if (!runAndTime(run, task.instructions[index]))
        return;
  }
}

// For devices that only enqueue: one thread, program order, then wait for all of it.
void ExecutorImpl::runAllStreams() {
  for (const BoundRun &run : *order)
    for (BoundInstruction &instruction : bound.tasks[run.task].instructions)
      if (!runAndTime(run, instruction))
        return;
  for (size_t stream = 0; stream < step.num_streams(); ++stream) {
    Status status = device.synchronize(static_cast<int>(stream));
    const BoundRun &last = order->back();
    const BoundTask &task = bound.tasks[last.task];
    if (!status.ok() && !task.instructions.empty())
      return stop(last, task.instructions.back(), status);
  }
}

Status ExecutorImpl::readOutputs(format::EntryKind entry, StepResult &result) {
  for (const format::Output *output : *step.outputs()) {
    bool isLoss = output->role() == format::OutputRole::loss;
    if (entry == format::EntryKind::evaluate && !isLoss)
      continue;
    bool isNorm = output->role() == format::OutputRole::grad_norm;
    float &value = isLoss ? result.loss : isNorm ? result.gradNorm : result.learningRate;
    (isLoss ? result.hasLoss : isNorm ? result.hasGradNorm : result.hasLearningRate) = true;
    DTC_RETURN_IF_ERROR(device.copyOut(&value, address(output->buffer()), sizeof(value)));
  }
  return {};
}

Status ExecutorImpl::run(format::EntryKind entry, StepResult &result) {
  result = {};
  auto found = bound.entries.find(entry);
  if (found == bound.entries.end())
    return Status::notFound(text("the program has no entry '", EnumNameEntryKind(entry),
                                 "'; recompile with dtc a model that reports a loss"));
  order = &found->second;
  if (entry == format::EntryKind::evaluate)
    DTC_RETURN_IF_ERROR(setScalar(format::ScalarRole::step, 0));
  computeSeconds = {};
  stopped.store(false);
  failure = {};
  device.beginStep();
  Clock::time_point begin = Clock::now();
  training = entry == format::EntryKind::train;
  if (training && steps++ == 0)
    firstStep = begin;
  if (device.runsInCaller()) {
    std::vector<std::thread> threads;
    for (size_t stream = 1; stream < step.num_streams(); ++stream)
      if (usesStream(stream))
        threads.emplace_back([this, stream] { runStream(stream); });
    runStream(0);
    for (std::thread &thread : threads)
      thread.join();
  } else {
    runAllStreams();
  }
  if (!failure.ok())
    return failure;
  result.seconds = secondsBetween(begin, Clock::now());
  result.classSeconds = computeSeconds;
  result.exposedCommSeconds = computeSeconds[static_cast<size_t>(TimeClass::Collective)] +
                              computeSeconds[static_cast<size_t>(TimeClass::Wait)];
  return readOutputs(entry, result);
}

Status ExecutorImpl::writeTrace(AtomicFile &file) const {
  return writeChromeTrace(file, rank, executable.manifest(), bound, trace);
}

} // namespace

const char *nameOf(TimeClass timeClass) {
  constexpr const char *names[numTimeClasses] = {"kernel", "gemm",       "attention", "embedding",
                                                 "copy",   "collective", "wait"};
  return names[static_cast<size_t>(timeClass)];
}

Status Executor::create(const Executable &executable, Comm &world, Device &device,
                        const ExecutorOptions &options, std::unique_ptr<Executor> &executor) {
  if (static_cast<size_t>(world.size()) != executable.ranks())
    return Status::invalidArgument(
        text(executable.name(), " is compiled for ", executable.ranks(), " ranks and the job has ",
             world.size(), "; start as many ranks or compile for ", world.size(), " devices"));
  auto made = std::make_unique<ExecutorImpl>(executable, world, device, options);
  DTC_RETURN_IF_ERROR(made->prepare());
  executor = std::move(made);
  return {};
}

} // namespace dtc::rt
