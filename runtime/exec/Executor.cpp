#include "runtime/exec/Executor.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Agree.h"
#include "runtime/exec/Binding.h"
#include "runtime/exec/ExpertRows.h"
#include "runtime/exec/Notes.h"
#include "runtime/exec/StepSlot.h"
#include "runtime/exec/Trace.h"
#include "runtime/format/Counted.h"
#include "runtime/format/Description.h"
#include "runtime/format/InstructionText.h"
#include "runtime/format/Instructions.h"
#include "runtime/format/RankMesh.h"
#include "runtime/format/Target.h"
#include "runtime/monitor/Progress.h"

#include <algorithm>

namespace dtc::rt {
namespace {

using format::text;

// Tags of enqueued work: the number of the step in the upper half; in the lower half the index into
// BoundEntry.issues, or this value for the copies and waits around the instructions.
constexpr uint32_t kAround = 0xffffffff;

uint64_t tagOf(uint64_t step, uint32_t issue) { return step << 32 | issue; }

class ExecutorImpl : public Executor {
public:
  ExecutorImpl(const Executable &executable, Control &control, Device &device,
               const ExecutorOptions &options)
      : executable(executable), control(control), device(device), options(options),
        rank(control.rank()), step(executable.program(control.rank())) {}
  ~ExecutorImpl() override;

  Status prepare();

  const format::Program &program() const override { return step; }
  ExpertCounts expertSizes() const override { return expertRows.sizes(); }
  const std::vector<uint32_t> &coordinates() const override { return coordinate; }
  char *address(uint32_t index) const override {
    const format::Buffer &buffer = *step.buffers()->Get(index);
    return device.arena(buffer.space()) + buffer.offset();
  }
  const format::Input *findInput(std::string_view name) const override;
  const format::StepScalar *findScalar(format::ScalarRole role) const override;
  Status setScalars(const StepScalars &scalars) override;
  Status writeInput(std::string_view name, std::span<const std::byte> values) override;
  Status enqueue(format::EntryKind entry) override;
  Status collect(StepResult &result) override;
  Status writeTrace(AtomicFile &file) const override;

private:
  Status named(Status status) const;
  Status loadCode();
  StreamSpec streamSpec() const;
  Status prepareHere();
  Status bindSlots();
  void forEachCommand(const std::function<void(const Command &)> &visit);
  // Finds the slot of the step that is enqueued next.
  Status nextSlot(StepSlot *&slot);
  int forkEvent() const { return static_cast<int>(step.num_events()); }
  int joinEvent(size_t stream) const { return forkEvent() + static_cast<int>(stream); }
  Status enqueueStep(BoundEntry &entry, StepSlot &at, uint64_t &tag);
  // Returns the flight recorder's number of an instruction with other ranks, 0 for others.
  uint64_t schedule(const BoundInstruction &instruction, StepSlot &at, uint64_t tag);
  Status fork(const BoundEntry &entry, StepSlot &at, uint64_t tag);
  Status join(const BoundEntry &entry, StepSlot &at, uint64_t tag);
  Status enqueueInstruction(const BoundInstruction &instruction, uint32_t layer,
                            uint32_t microBatch, const Mark &mark);
  Status named(const Status &status, uint64_t tag) const;
  void addTimes(const StepSlot &at, StepResult &result) const;
  void addTrace(const StepSlot &at);

  const Executable &executable;
  Control &control;
  Device &device;
  ExecutorOptions options;
  int rank;
  const format::Program &step;
  std::vector<uint32_t> coordinate;
  std::vector<int> codeSegments; // per segment of the file: the device's number, -1 if it has none
  Groups groups;
  BoundProgram bound;

  std::vector<StepSlot> slots; // used in turns
  ExpertRows expertRows;       // of the step that was enqueued last
  uint64_t numEnqueued = 0, numCollected = 0;
  uint32_t trainingSteps = 0; // enqueued
  Status failure;             // the error after which nothing runs

  double firstBegin = -1;                     // begin of the first training step, in seconds
  std::vector<std::vector<TraceEvent>> trace; // per stream
};

ExecutorImpl::~ExecutorImpl() {
  if (numCollected == numEnqueued || !failure.ok())
    return;
  // The device still writes to the slots.
  device.abort();
  uint64_t tag = 0;
  (void)device.synchronize(slots[(numEnqueued - 1) % slots.size()].deviceStep, tag);
}

// Prefixes an error about the file's content with the file's name.
Status ExecutorImpl::named(Status status) const {
  if (status.ok() || status.message().starts_with(executable.name()))
    return status;
  return {status.statusCode(), text(executable.name(), ": ", status.message())};
}

Status ExecutorImpl::loadCode() {
  const format::Manifest &manifest = executable.manifest();
  Target target{.device = std::string(format::deviceOf(manifest)),
                .gpuArch = manifest.gpu_arch() ? manifest.gpu_arch()->str() : "",
                .cpuFeatures = {}};
  for (uint32_t i = 0; i < format::sizeOf(manifest.cpu_features()); ++i)
    target.cpuFeatures.push_back(manifest.cpu_features()->Get(i)->str());
  DTC_RETURN_IF_ERROR(device.checkTarget(target));
  int loaded = 0;
  uint32_t segments = format::sizeOf(manifest.segments());
  auto isOf = [&](uint32_t i, format::SegmentKind kind) {
    return i < segments && manifest.segments()->Get(i)->kind() == kind;
  };
  for (uint32_t i = 0; i < segments; ++i) {
    codeSegments.push_back(-1);
    if (isOf(i, format::SegmentKind::constants) || isOf(i, format::SegmentKind::cubin))
      continue;
    CodeObject object{.kind = manifest.segments()->Get(i)->kind(), .bytes = executable.segment(i)};
    if (isOf(i + 1, format::SegmentKind::cubin))
      object.cubin = executable.segment(i + 1);
    DTC_RETURN_IF_ERROR(named(device.loadCode(object)));
    codeSegments.back() = loaded++;
  }
  return {};
}

// Returns the streams and events: those of the program, one that begins a step, and one that ends
// it for each stream but 0.
StreamSpec ExecutorImpl::streamSpec() const {
  StreamSpec spec;
  spec.used.resize(step.num_streams());
  spec.used[0] = true;
  spec.events = joinEvent(step.num_streams());
  spec.times = options.trace;
  spec.progress = options.progress;
  format::Description description;
  for (const format::Task *task : *step.tasks())
    for (const format::Instruction *instruction : *task->instructions()) {
      spec.used[instruction->stream()] = true;
      format::describe(*instruction, description);
      spec.maxBuffers = std::max(spec.maxBuffers, description.operands.size());
      spec.maxScalars = std::max(spec.maxScalars, description.scalars.size());
    }
  return spec;
}

// Prepares everything that concerns this rank alone and can fail on it alone.
Status ExecutorImpl::prepareHere() {
  DTC_RETURN_IF_ERROR(loadCode());
  DTC_RETURN_IF_ERROR(device.allocateArena(format::MemorySpace::device, step.arena_bytes()));
  if (step.host_bytes() > 0)
    DTC_RETURN_IF_ERROR(device.allocateArena(format::MemorySpace::host, step.host_bytes()));
  return device.createStreams(streamSpec());
}

Status ExecutorImpl::bindSlots() {
  DTC_RETURN_IF_ERROR(named(
      bindProgram(executable.manifest(), step, coordinate, groups, codeSegments, device, bound)));
  size_t issues = 0;
  for (const auto &[kind, entry] : bound.entries)
    issues = std::max(issues, entry.issues.size());
  slots.resize(std::max<size_t>(options.stepsAhead, 1));
  for (StepSlot &each : slots)
    DTC_RETURN_IF_ERROR(each.create(step, device, issues));
  return expertRows.create(bound, device);
}

Status ExecutorImpl::prepare() {
  const format::Manifest &manifest = executable.manifest();
  coordinate = format::RankMesh(manifest).coordinatesOf(static_cast<uint32_t>(rank));
  trace.resize(step.num_streams());
  DTC_RETURN_IF_ERROR(agree(control, prepareHere()));
  DTC_RETURN_IF_ERROR(groups.create(manifest, control, device));
  DTC_RETURN_IF_ERROR(agree(control, bindSlots()));
  if (options.progress)
    options.progress->describe(noteProgram(manifest, static_cast<uint32_t>(rank), groups, bound));
  return device.tune(control, [this](const auto &visit) { forEachCommand(visit); });
}

// Visits the instructions of all runs and layers, whose buffers may be aligned otherwise. A device
// passes over those that it runs in one way only.
void ExecutorImpl::forEachCommand(const std::function<void(const Command &)> &visit) {
  for (const auto &[kind, entry] : bound.entries)
    for (const Issue &issue : entry.issues) {
      const BoundRun &run = entry.runs[issue.run];
      BoundInstruction &instruction = bound.tasks[run.task].instructions[issue.instruction];
      moveTo(run, issue.layer, instruction);
      visit(instruction.command);
    }
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

Status ExecutorImpl::nextSlot(StepSlot *&next) {
  if (numEnqueued - numCollected == slots.size())
    return Status::invalidArgument(
        text(slots.size(), " steps are enqueued; collect one before the next is prepared"));
  next = &slots[numEnqueued % slots.size()];
  return {};
}

Status ExecutorImpl::setScalars(const StepScalars &scalars) {
  StepSlot *next = nullptr;
  DTC_RETURN_IF_ERROR(nextSlot(next));
  next->setScalars(scalars);
  return {};
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
  StepSlot *next = nullptr;
  DTC_RETURN_IF_ERROR(nextSlot(next));
  uint32_t index = 0;
  while (step.inputs()->Get(index) != input)
    ++index;
  next->writeInput(index, values);
  return {};
}

// Keeps all streams behind stream 0's reads of the step's inputs.
Status ExecutorImpl::fork(const BoundEntry &entry, StepSlot &at, uint64_t tag) {
  DTC_RETURN_IF_ERROR(at.enqueueIn(device, {tag, nullptr}));
  DTC_RETURN_IF_ERROR(device.enqueueRecord(0, forkEvent(), {tag, &at.begin}));
  for (size_t stream = 1; stream < entry.streams.size(); ++stream)
    if (entry.streams[stream])
      DTC_RETURN_IF_ERROR(
          device.enqueueWait(static_cast<int>(stream), forkEvent(), {tag, nullptr}));
  return {};
}

// Ends the step on stream 0, after all other streams.
Status ExecutorImpl::join(const BoundEntry &entry, StepSlot &at, uint64_t tag) {
  for (size_t stream = 1; stream < entry.streams.size(); ++stream)
    if (entry.streams[stream]) {
      DTC_RETURN_IF_ERROR(
          device.enqueueRecord(static_cast<int>(stream), joinEvent(stream), {tag, nullptr}));
      DTC_RETURN_IF_ERROR(device.enqueueWait(0, joinEvent(stream), {tag, nullptr}));
    }
  DTC_RETURN_IF_ERROR(at.enqueueOut(at.entry, device, {tag, nullptr}));
  return device.endStep({tag, &at.end}, at.deviceStep);
}

Status ExecutorImpl::enqueueInstruction(const BoundInstruction &instruction, uint32_t layer,
                                        uint32_t microBatch, const Mark &mark) {
  switch (instruction.command.source->op_type()) {
  case format::Op::Record:
    return device.enqueueRecord(instruction.stream, instruction.eventIn(layer, microBatch), mark);
  case format::Op::Wait:
    return device.enqueueWait(instruction.stream, instruction.eventIn(layer, microBatch), mark);
  default:
    return device.enqueue(instruction.stream, instruction.command, mark);
  }
}

uint64_t ExecutorImpl::schedule(const BoundInstruction &instruction, StepSlot &at, uint64_t tag) {
  if (!options.progress || instruction.command.group < 0)
    return 0;
  at.lastEvent = options.progress->schedule(tag, static_cast<uint32_t>(instruction.command.group),
                                            meetsOf(*instruction.command.source));
  if (at.firstEvent == 0)
    at.firstEvent = at.lastEvent;
  return at.lastEvent;
}

// Enqueues all instructions of a step. `tag` becomes that of the last enqueued work.
Status ExecutorImpl::enqueueStep(BoundEntry &entry, StepSlot &at, uint64_t &tag) {
  tag = tagOf(numEnqueued, kAround);
  DTC_RETURN_IF_ERROR(device.beginStep(static_cast<uint32_t>(at.entry)));
  DTC_RETURN_IF_ERROR(fork(entry, at, tag));
  for (uint32_t i = 0; i < entry.issues.size(); ++i) {
    const Issue &issue = entry.issues[i];
    const BoundRun &run = entry.runs[issue.run];
    BoundInstruction &instruction = bound.tasks[run.task].instructions[issue.instruction];
    moveTo(run, issue.layer, instruction);
    tag = tagOf(numEnqueued, i);
    Mark mark{tag, &at.times[i], schedule(instruction, at, tag)};
    DTC_RETURN_IF_ERROR(enqueueInstruction(instruction, issue.layer, run.microBatch, mark));
    if (at.entry == format::EntryKind::train)
      DTC_RETURN_IF_ERROR(expertRows.enqueue(i, instruction, device, mark));
  }
  tag = tagOf(numEnqueued, kAround);
  return join(entry, at, tag);
}

Status ExecutorImpl::enqueue(format::EntryKind entry) {
  auto found = bound.entries.find(entry);
  if (found == bound.entries.end())
    return Status::notFound(text("the program has no entry '", EnumNameEntryKind(entry),
                                 entry == format::EntryKind::evaluate
                                     ? "'; recompile with dtc a model that reports a loss"
                                     : "'; recompile the model with dtc"));
  StepSlot *at = nullptr;
  DTC_RETURN_IF_ERROR(nextSlot(at));
  at->entry = entry;
  if (entry == format::EntryKind::evaluate)
    at->setScalar(format::ScalarRole::step, 0);
  else if (entry == format::EntryKind::train)
    ++trainingSteps;
  at->trainingStep = trainingSteps;
  at->firstEvent = at->lastEvent = 0;
  if (options.progress)
    options.progress->enterStep(numEnqueued, static_cast<uint32_t>(entry), trainingSteps);
  at->enqueued = failure.ok() ? enqueueStep(found->second, *at, at->enqueueTag) : failure;
  ++numEnqueued;
  return {};
}

Status ExecutorImpl::named(const Status &status, uint64_t tag) const {
  const StepSlot &at = slots[(tag >> 32) % slots.size()];
  std::string where = text("rank ", rank,
                           at.entry == format::EntryKind::train      ? ", step "
                           : at.entry == format::EntryKind::evaluate ? ", evaluation after step "
                                                                     : ", gradients after step ",
                           at.trainingStep);
  auto issue = static_cast<uint32_t>(tag);
  if (issue == kAround)
    return Status(status.statusCode(), text(where, ", around its tasks: ", status.message()));
  const BoundEntry &entry = bound.entries.at(at.entry);
  const BoundRun &run = entry.runs[entry.issues[issue].run];
  const BoundInstruction &instruction =
      bound.tasks[run.task].instructions[entry.issues[issue].instruction];
  return Status(status.statusCode(),
                text(where, ", task '", step.tasks()->Get(run.task)->name()->string_view(),
                     "', micro-batch ", run.microBatch, ", instruction ", instruction.index,
                     instruction.layers > 1
                         ? text(" in layer ", entry.issues[issue].layer, " of ", instruction.layers)
                         : "",
                     ", ", format::describe(executable.manifest(), *instruction.command.source),
                     ": ", status.message()));
}

Status ExecutorImpl::collect(StepResult &result) {
  std::vector<int64_t> rows = std::move(result.experts.rows); // keeps the memory
  rows.clear();
  result = {};
  result.experts.rows = std::move(rows);
  if (!failure.ok())
    return failure;
  if (numCollected == numEnqueued)
    return Status::invalidArgument("no step is enqueued that could be collected");
  StepSlot &at = slots[numCollected % slots.size()];
  if (!at.enqueued.ok())
    device.abort();
  uint64_t tag = 0;
  Status status = device.synchronize(at.deviceStep, tag);
  if (!status.ok() || !at.enqueued.ok()) {
    // The cause of the stop, unless the device only refused further work.
    bool refused = !at.enqueued.ok() && at.enqueued.statusCode() != StatusCode::Aborted;
    failure = refused ? named(at.enqueued, at.enqueueTag) : named(status, tag);
    control.abandon(failure.message());
    return failure;
  }
  ++numCollected;
  if (options.progress && !options.progress->isDeviceReporting())
    options.progress->complete(at.firstEvent, at.lastEvent);
  addTimes(at, result);
  if (options.trace && at.entry == format::EntryKind::train)
    addTrace(at);
  at.readOutputs(at.entry, result);
  if (at.entry == format::EntryKind::train && numEnqueued == numCollected)
    expertRows.read(result.experts);
  return {};
}

void ExecutorImpl::addTimes(const StepSlot &at, StepResult &result) const {
  const BoundEntry &entry = bound.entries.at(at.entry);
  for (size_t i = 0; i < entry.issues.size(); ++i) {
    const BoundRun &run = entry.runs[entry.issues[i].run];
    const BoundInstruction &instruction =
        bound.tasks[run.task].instructions[entry.issues[i].instruction];
    if (instruction.stream == 0)
      result.classSeconds[static_cast<size_t>(instruction.timeClass)] +=
          at.times[i].end - at.times[i].begin;
  }
  result.seconds = at.end.end - at.begin.begin;
  result.exposedCommSeconds = result.classSeconds[static_cast<size_t>(TimeClass::Collective)] +
                              result.classSeconds[static_cast<size_t>(TimeClass::Wait)];
}

void ExecutorImpl::addTrace(const StepSlot &at) {
  if (firstBegin < 0)
    firstBegin = at.begin.begin;
  const BoundEntry &entry = bound.entries.at(at.entry);
  for (size_t i = 0; i < entry.issues.size(); ++i) {
    const BoundRun &run = entry.runs[entry.issues[i].run];
    const BoundInstruction &instruction =
        bound.tasks[run.task].instructions[entry.issues[i].instruction];
    if (instruction.command.source->op_type() != format::Op::Record)
      trace[static_cast<size_t>(instruction.stream)].push_back(
          {run.task, instruction.index, run.microBatch, entry.issues[i].layer, at.trainingStep,
           at.times[i].begin - firstBegin, at.times[i].end - firstBegin});
  }
}

Status ExecutorImpl::writeTrace(AtomicFile &file) const {
  return writeChromeTrace(file, rank, executable.manifest(), bound, trace);
}

} // namespace

Status Executor::create(const Executable &executable, Control &control, Device &device,
                        const ExecutorOptions &options, std::unique_ptr<Executor> &executor) {
  if (static_cast<size_t>(control.size()) != executable.ranks())
    return Status::invalidArgument(text(executable.name(), " is compiled for ", executable.ranks(),
                                        " ranks and the job has ", control.size(),
                                        "; start as many ranks or compile for ",
                                        format::counted(control.size(), "device")));
  auto made = std::make_unique<ExecutorImpl>(executable, control, device, options);
  DTC_RETURN_IF_ERROR(made->prepare());
  executor = std::move(made);
  return {};
}

} // namespace dtc::rt
