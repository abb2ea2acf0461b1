// Arrivals of inputs, and the checks of a pipeline problem.
#include "compiler/search/pipeline/Geometry.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cmath>

using namespace dtc;

double dtc::secondsOf(const PipelineTask &task, const PipelineProblem &problem) {
  const ChunkTimes &chunk = problem.chunks[task.chunk];
  switch (task.kind) {
  case PipelineTaskKind::Forward:
    return chunk.forward;
  case PipelineTaskKind::Backward:
    return chunk.backwardInput + chunk.backwardWeight;
  case PipelineTaskKind::BackwardInput:
    return chunk.backwardInput;
  case PipelineTaskKind::BackwardWeight:
    return chunk.backwardWeight;
  }
  return 0;
}

PipelineInputs::PipelineInputs(const PipelineProblem &problem)
    : problem(problem), microBatches(problem.microBatches), stageOfChunks(problem.chunks.size()) {
  for (size_t chunk = 0; chunk < stageOfChunks.size(); ++chunk)
    stageOfChunks[chunk] = stageOfChunk(problem.kind, problem.stages, static_cast<int>(chunk));
  size_t size = problem.chunks.size() * microBatches;
  forward.assign(size, never);
  backward.assign(size, never);
  if (splitsBackward(problem.kind))
    weight.assign(size, never);
  std::fill_n(forward.begin(), microBatches, 0.0); // the data
  channelFree.assign(static_cast<size_t>(problem.stages) * 4, 0.0);
}

double PipelineInputs::send(PipelinePass pass, int fromChunk, int toChunk, double end) {
  int from = stageOfChunks[fromChunk], to = stageOfChunks[toChunk];
  if (from == to)
    return end;
  const ChunkTimes &times = problem.chunks[fromChunk];
  double seconds = pass == PipelinePass::Forward ? times.sendForward : times.sendBackward;
  double &free = channelFree[from * 4 + (pass == PipelinePass::Backward) * 2 + (to > from)];
  free = std::max(free, end) + seconds;
  return free;
}

std::optional<PipelineTask> PipelineInputs::finish(const PipelineTask &task, double end) {
  PipelineTask next = task;
  switch (task.kind) {
  case PipelineTaskKind::Forward:
    if (task.chunk + 1 == numChunks()) { // the loss
      next.kind = splitsBackward(problem.kind) ? PipelineTaskKind::BackwardInput
                                               : PipelineTaskKind::Backward;
      backward[index(next)] = end;
      return next;
    }
    next.chunk = task.chunk + 1;
    forward[index(next)] = send(PipelinePass::Forward, task.chunk, next.chunk, end);
    return next;
  case PipelineTaskKind::BackwardWeight:
    return std::nullopt;
  case PipelineTaskKind::BackwardInput:
    weight[index(task)] = end;
    [[fallthrough]];
  case PipelineTaskKind::Backward:
    if (task.chunk == 0)
      return std::nullopt;
    next.chunk = task.chunk - 1;
    backward[index(next)] = send(PipelinePass::Backward, task.chunk, next.chunk, end);
    return next;
  }
  return std::nullopt;
}

void StageMemory::start(const PipelineTask &task) {
  if (task.kind != PipelineTaskKind::Forward)
    return;
  ++activations;
  ++pending;
  bytes += problem.chunks[task.chunk].activationBytes;
}

void StageMemory::finish(const PipelineTask &task) {
  const ChunkTimes &chunk = problem.chunks[task.chunk];
  switch (task.kind) {
  case PipelineTaskKind::Forward:
    return;
  case PipelineTaskKind::Backward:
    --activations;
    --pending;
    bytes -= chunk.activationBytes;
    return;
  case PipelineTaskKind::BackwardInput:
    --activations;
    bytes += chunk.weightStashBytes - chunk.activationBytes;
    return;
  case PipelineTaskKind::BackwardWeight:
    --pending;
    bytes -= chunk.weightStashBytes;
    return;
  }
}

// Far above any cluster, and such that counts of tasks stay below 2^31.
static constexpr int64_t maxTasks = int64_t(1) << 30;

static Status checkCounts(const PipelineProblem &problem) {
  std::string what = ("scheduling a '" + toString(problem.kind) + "' pipeline: ").str();
  if (problem.stages < 1 || problem.virtualStages < 1 || problem.microBatches < 1)
    return UserError((what + llvm::Twine(problem.stages) + " stages, " +
                      llvm::Twine(problem.virtualStages) + " virtual stages and " +
                      llvm::Twine(problem.microBatches) +
                      " micro-batches, wanted 1 or more of each")
                         .str());
  if (int wanted = virtualStagesOf(problem.kind).value_or(problem.virtualStages);
      problem.virtualStages != wanted)
    return UserError((what + "there are " + llvm::Twine(problem.virtualStages) +
                      " virtual stages per stage, wanted " + llvm::Twine(wanted))
                         .str(),
                     wanted > 1 ? ""
                                : "the schedules with several are 'interleaved', 'zb-v', 'v-half' "
                                  "and 'v-min'");
  int64_t chunks = int64_t(problem.stages) * problem.virtualStages;
  if (static_cast<int64_t>(problem.chunks.size()) != chunks)
    return UserError((what + "there are the times of " + llvm::Twine(problem.chunks.size()) +
                      " chunks, wanted " + llvm::Twine(chunks) + ", stages times virtual stages")
                         .str());
  if (chunks * problem.microBatches > maxTasks / 3)
    return UserError((what + llvm::Twine(chunks) + " chunks of " +
                      llvm::Twine(problem.microBatches) + " micro-batches are too many, at most " +
                      llvm::Twine(maxTasks / 3) + " pairs")
                         .str());
  if (!problem.memoryCap.empty() &&
      static_cast<int64_t>(problem.memoryCap.size()) != problem.stages)
    return UserError((what + "there are " + llvm::Twine(problem.memoryCap.size()) +
                      " memory caps, wanted one for each of the " + llvm::Twine(problem.stages) +
                      " stages, or none")
                         .str());
  return {};
}

Status dtc::checkProblem(const PipelineProblem &problem) {
  if (Status counts = checkCounts(problem); !counts)
    return counts;
  for (size_t index = 0; index < problem.chunks.size(); ++index) {
    const ChunkTimes &chunk = problem.chunks[index];
    for (double seconds : {chunk.forward, chunk.backwardInput, chunk.backwardWeight,
                           chunk.sendForward, chunk.sendBackward})
      if (!std::isfinite(seconds) || seconds < 0)
        return UserError(("scheduling a pipeline: chunk " + llvm::Twine(index) +
                          " has a duration of " + std::to_string(seconds) +
                          " s, wanted a finite number, 0 or more")
                             .str());
    if (chunk.activationBytes < 0 || chunk.weightStashBytes < 0)
      return UserError(("scheduling a pipeline: chunk " + llvm::Twine(index) + " keeps " +
                        llvm::Twine(std::min(chunk.activationBytes, chunk.weightStashBytes)) +
                        " bytes, wanted 0 or more")
                           .str());
  }
  return {};
}
