// Resumes from a checkpoint, whatever plan wrote it.
#include "runtime/base/Fill.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Elements.h"
#include "runtime/comm/Agree.h"
#include "runtime/format/Counted.h"
#include "runtime/format/Operands.h"
#include "runtime/format/RankMesh.h"
#include "runtime/format/RestTensor.h"
#include "tools/dtrun/Checkpoints.h"
#include "tools/dtrun/LoadProgram.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace dtc::rt {

using format::text;

static std::string shapeText(const std::vector<uint64_t> &shape) {
  std::string out;
  for (uint64_t size : shape)
    out += text(out.empty() ? "" : ", ", size);
  return text("[", out, "]");
}

// Returns true if a checkpoint of another number of ranks has a tensor of the ranks' own parts.
static bool isOfOtherRanks(const CheckpointTensor &tensor, const TensorSpec &spec) {
  return spec.name.ends_with(format::kRestSuffix) && tensor.shape != spec.globalShape &&
         tensor.shape.size() == spec.globalShape.size() && tensor.shape.size() > 1 &&
         std::equal(tensor.shape.begin() + 1, tensor.shape.end(), spec.globalShape.begin() + 1);
}

// Lists the steps of the checkpoints that rank 0 sees.
Status Checkpoints::listSteps(std::vector<uint64_t> &steps) {
  Status listed;
  if (world->rank() == 0)
    listed = CheckpointFolder::steps(options->checkpointDir, steps);
  DTC_RETURN_IF_ERROR(agree(*world, listed));
  auto count = static_cast<int64_t>(steps.size());
  DTC_RETURN_IF_ERROR(world->broadcast(&count, 1, DataType::I64, 0));
  steps.resize(static_cast<size_t>(count));
  return world->broadcast(steps.data(), steps.size(), DataType::I64, 0);
}

Status Checkpoints::checkIsSame(const CheckpointReader &reader) {
  std::string mineFirst = reader.identity();
  DTC_RETURN_IF_ERROR(world->broadcast(mineFirst.data(), mineFirst.size(), DataType::U8, 0));
  return agree(*world, mineFirst == reader.identity()
                           ? Status()
                           : Status::dataLoss(text("'", reader.folder(),
                                                   "' is another checkpoint than rank 0 sees")));
}

// Returns the tensor of the checkpoint from which `wanted` is filled. That is the one of its name.
// If the plan keeps a copy in f32 of a parameter in f32 and the checkpoint has no such copy, as
// after offloading, it is that parameter. A start has no optimizer state: copies are made from its
// parameters, whatever their dtype, and other state gets null.
const CheckpointTensor *Checkpoints::sourceOf(const CheckpointManifest &from,
                                              const CheckpointSource &wanted) const {
  const CheckpointTensor *found = from.find(wanted.spec.name);
  if (found || wanted.copyOf.empty())
    return found;
  found = from.find(wanted.copyOf);
  return found && (from.isStart() || found->dtype == wanted.spec.dtype) ? found : nullptr;
}

// Refuses a complete checkpoint of something else. Trying an older one would hide the mistake.
Status Checkpoints::checkFits(const CheckpointReader &reader) const {
  const CheckpointManifest &from = reader.manifest();
  const CheckpointRun &run = from.run;
  const format::Manifest &manifest = executable->manifest();
  auto refuse = [&](const std::string &what) {
    return Status::invalidArgument(text("'", reader.folder(), "' ", what));
  };
  bool isStart = from.isStart();
  if (run.step > options->steps)
    return refuse(
        text("is of step ", run.step, ", and --steps is ", options->steps, "; raise --steps"));
  if (!isStart && run.globalBatch != manifest.global_batch())
    return refuse(text("is of a run that read ", format::counted(run.globalBatch, "sample"),
                       " a step, and ", executable->name(), " reads ", manifest.global_batch(),
                       "; recompile with --global-batch ", run.globalBatch));
  if (!isStart && run.sequenceLength != manifest.sequence_length())
    return refuse(text("is of samples of ", format::counted(run.sequenceLength, "token"), ", and ",
                       executable->name(), " reads ", manifest.sequence_length(),
                       "; recompile with --seq-len ", run.sequenceLength));
  std::set<std::string_view> used;
  for (const CheckpointSource &source : sources) {
    const TensorSpec &spec = source.spec;
    const CheckpointTensor *tensor = sourceOf(from, source);
    if (!tensor && !source.isParameter && (isStart || format::isOfCompression(spec.name)))
      continue;
    if (!tensor)
      return refuse(text("has no tensor '", spec.name, "', which ", executable->name(),
                         " wants; is it of another model, optimizer or precision?"));
    used.insert(tensor->name);
    if ((!isStart && tensor->dtype != spec.dtype) ||
        (tensor->shape != spec.globalShape && !isOfOtherRanks(*tensor, spec)))
      return refuse(text("has tensor '", tensor->name, "' as ", tensor->dtype, " ",
                         shapeText(tensor->shape), ", ", executable->name(), " wants ", spec.dtype,
                         " ", shapeText(spec.globalShape),
                         "; is it of another model, optimizer or precision?"));
  }
  for (const CheckpointTensor &tensor : from.tensors) {
    // A copy of a parameter in f32 is the same as the parameter.
    const CheckpointTensor *original = tensor.copyOf.empty() ? nullptr : from.find(tensor.copyOf);
    if (!used.count(tensor.name) && !(original && original->dtype == tensor.dtype))
      return refuse(text("has tensor '", tensor.name, "', which ", executable->name(),
                         " does not have; is it of another model, optimizer or precision?"));
  }
  return {};
}

// Prints which options of the run have changed, for those that may.
void Checkpoints::noteDifferences(const CheckpointRun &run) const {
  auto note = [](const std::string &line) { std::fprintf(stderr, "dtrun: %s\n", line.c_str()); };
  if (run.seed != options->seed)
    note(text("--seed was ", run.seed, " and is ", options->seed,
              ": order of samples and dropout are others from here on"));
  if (run.totalSteps != options->steps)
    note(text("--steps was ", run.totalSteps, " and is ", options->steps,
              ": the learning rate goes on as at this step of a run of ", options->steps));
  if (run.baseLearningRate != rate)
    note(text("--lr was ", run.baseLearningRate, " and is ", rate));
  if (run.samples != samples)
    note(text("--data had ", format::counted(run.samples, "sample"), " and has ", samples,
              ": which are read is another order from here on"));
}

// Initialises a tensor that a start does not have, as in a run from its first step.
Status Checkpoints::initialise(size_t source) {
  const TensorSpec &spec = sources[source].spec;
  const format::RankMesh mesh(executable->manifest());
  std::vector<float> values(elementCount(spec.localShape));
  DTC_RETURN_IF_ERROR(
      initialiseTensor(spec, options->seed, mesh.sizes(), executor->coordinates(), values));
  std::vector<std::byte> bytes = encode(held[source]->dtype(), values);
  return device->copyIn(executor->address(held[source]->buffer()), bytes.data(), bytes.size());
}

// Gives each rank an equal part of what the ranks of the checkpoint have together.
Status Checkpoints::loadSum(CheckpointReader &reader, size_t source) {
  const TensorSpec &spec = sources[source].spec;
  const CheckpointTensor &tensor = *sourceOf(reader.manifest(), sources[source]);
  const format::DType type = *format::storedType(tensor.dtype);
  ShardBox box{std::vector<uint64_t>(tensor.shape.size()),
               std::vector<uint64_t>(tensor.shape.size()), tensor.shape};
  box.extent[0] = 1;
  std::vector<float> sum(elementCount(spec.localShape)), values(sum.size());
  std::vector<std::byte> local(sum.size() * tensor.width());
  for (box.begin[0] = 0; box.begin[0] < tensor.shape[0]; ++box.begin[0]) {
    DTC_RETURN_IF_ERROR(reader.read(tensor, {&box, 1}, spec.localShape, local));
    decode(type, local, values);
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += values[i] / static_cast<float>(spec.globalShape[0]);
  }
  std::vector<std::byte> bytes = encode(*format::storedType(spec.dtype), sum);
  return device->copyIn(executor->address(held[source]->buffer()), bytes.data(), bytes.size());
}

Status Checkpoints::loadTensor(CheckpointReader &reader, size_t source) {
  const TensorSpec &spec = sources[source].spec;
  const CheckpointTensor &tensor = *sourceOf(reader.manifest(), sources[source]);
  if (isOfOtherRanks(tensor, spec))
    return loadSum(reader, source);
  const format::RankMesh mesh(executable->manifest());
  std::vector<ShardBox> boxes;
  DTC_RETURN_IF_ERROR(shardBoxes(spec, mesh.sizes(), executor->coordinates(), boxes));
  std::erase_if(boxes, [](const ShardBox &box) { return elementCount(box.extent) == 0; });
  uint64_t elements = elementCount(spec.localShape);
  std::vector<std::byte> local(elements * tensor.width());
  DTC_RETURN_IF_ERROR(reader.read(tensor, boxes, spec.localShape, local));
  if (tensor.dtype != spec.dtype) {
    std::vector<float> values(elements);
    decode(*format::storedType(tensor.dtype), local, values); // the manifest's reader knows it
    local = encode(*format::storedType(spec.dtype), values);
  }
  return device->copyIn(executor->address(held[source]->buffer()), local.data(), local.size());
}

Status Checkpoints::load(CheckpointReader &reader) {
  // Loads in the order in which tensors lie in shards, so that a block with several of them is read
  // once.
  std::vector<std::pair<uint64_t, size_t>> order;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!held[i])
      continue;
    const CheckpointTensor *tensor = sourceOf(reader.manifest(), sources[i]);
    if (tensor)
      order.emplace_back(tensor->pieces.empty() ? 0 : tensor->pieces.front().offset, i);
    else
      DTC_RETURN_IF_ERROR(initialise(i));
  }
  std::sort(order.begin(), order.end());
  for (const auto &[offset, source] : order)
    DTC_RETURN_IF_ERROR(loadTensor(reader, source));
  return {};
}

// Counts causes that this dtrun does not know as Other.
static SpentSeconds spentOf(const CheckpointRun &run) {
  SpentSeconds spent = {};
  for (const auto &[cause, seconds] : run.spent) {
    size_t at = 0;
    while (at < numSpent && cause != nameOf(static_cast<Spent>(at)))
      ++at;
    spent[at < numSpent ? at : static_cast<size_t>(Spent::Other)] += seconds;
  }
  return spent;
}

// Resumes from the first of `steps` that is good. A line tells what is wrong with those before it.
Status Checkpoints::goOn(const std::vector<uint64_t> &steps, std::optional<Progress> &progress,
                         bool &isChanged) {
  auto say = [&](const std::string &line) {
    if (world->rank() == 0)
      std::fprintf(stderr, "dtrun: %s\n", line.c_str());
  };
  for (uint64_t step : steps) {
    CheckpointReader reader;
    std::string path = CheckpointFolder::stepPath(options->checkpointDir, step);
    Status status = agree(*world, reader.open(path, keysOf(*options, trusted)));
    if (status.ok())
      status = checkIsSame(reader);
    if (status.ok() && reader.manifest().run.step != step)
      status = Status::dataLoss(text("it is of step ", reader.manifest().run.step));
    if (status.ok()) {
      DTC_RETURN_IF_ERROR(agree(*world, checkFits(reader)));
      isChanged = true;
      status = agree(*world, load(reader));
    }
    if (status.statusCode() == StatusCode::Aborted)
      return status;
    if (!status.ok()) {
      say(text("step-", step, " is not good: ", status.message()));
      continue;
    }
    const CheckpointRun &run = reader.manifest().run;
    progress = {.step = run.step,
                .skippedSteps = run.skippedSteps,
                .skippedRow = run.skippedRow,
                .lossScale = run.lossScale,
                .skippedBatches = run.skippedBatches,
                .meanLoss = {run.meanLoss, run.meanLossSteps},
                .spent = spentOf(run)};
    bool isStart = reader.manifest().isStart();
    say(text(isStart ? "starting with the parameters" : text("going on after step ", step), " of '",
             path, "'; rank 0 read ", reader.bytesRead(), " of its ", reader.manifest().bytes(),
             " bytes"));
    if (world->rank() == 0 && !isStart)
      noteDifferences(run);
    return {};
  }
  return {};
}

Status Checkpoints::resume(std::optional<Progress> &progress) {
  if (!isOn() || !options->resume)
    return {};
  std::vector<uint64_t> steps;
  DTC_RETURN_IF_ERROR(listSteps(steps));
  bool isChanged = false; // not needed here: without a good checkpoint the run ends
  DTC_RETURN_IF_ERROR(goOn(steps, progress, isChanged));
  if (progress)
    return {};
  if (steps.empty()) {
    if (world->rank() == 0)
      std::fprintf(stderr, "dtrun: '%s' has no checkpoints: starting at step 1\n",
                   options->checkpointDir.c_str());
    return {};
  }
  return Status::dataLoss(
      text(steps.size() == 1 ? std::string("the only checkpoint")
                             : text("none of the ", steps.size(), " checkpoints"),
           " of '", options->checkpointDir,
           steps.size() == 1 ? "' is not good; remove it, or name another folder"
                             : "' is good; remove them, or name another folder"));
}

Status Checkpoints::rollBack(std::optional<Progress> &progress, bool &isChanged) {
  DTC_RETURN_IF_ERROR(waitForWriters(true));
  std::vector<uint64_t> steps;
  DTC_RETURN_IF_ERROR(listSteps(steps));
  DTC_RETURN_IF_ERROR(goOn(steps, progress, isChanged));
  if (!progress)
    return {};
  return agree(*world, world->rank() == 0 ? folder.removeAfter(progress->step) : Status());
}

} // namespace dtc::rt
