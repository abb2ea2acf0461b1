// Geometry shared by scheduling and timing: arrivals of inputs, over transfers that share a
// channel, and the memory of stages.
#pragma once

#include "compiler/search/pipeline/Schedule.h"

namespace dtc {

// The direction of a transfer or computation through the pipeline.
enum class PipelinePass { Forward, Backward };

// When each input of each chunk and micro-batch arrives. Times are in seconds; an input that no one
// has sent yet arrives at `never`.
class PipelineInputs {
public:
  static constexpr double never = 1e300;

  explicit PipelineInputs(const PipelineProblem &problem);

  // Returns the stage that holds a chunk.
  int stageOf(int chunk) const { return stageOfChunks[chunk]; }
  // Returns the number of chunks of all stages.
  int numChunks() const { return static_cast<int>(stageOfChunks.size()); }

  // When all that the task needs from other tasks is there. W needs its own B only.
  double arrival(const PipelineTask &task) const {
    switch (task.kind) {
    case PipelineTaskKind::Forward:
      return forward[index(task)];
    case PipelineTaskKind::BackwardWeight:
      return weight[index(task)];
    default:
      return backward[index(task)];
    }
  }

  // Notes that the task ends at `end` and sends its result on. Tasks of one stage are finished in
  // the order of their ends. Returns the task that waits for the result, but for W (which is on
  // the same stage): its stage has to be woken at its arrival.
  std::optional<PipelineTask> finish(const PipelineTask &task, double end);

private:
  size_t index(const PipelineTask &task) const {
    return static_cast<size_t>(task.chunk) * microBatches + task.microBatch;
  }
  double send(PipelinePass pass, int fromChunk, int toChunk, double end);

  const PipelineProblem &problem;
  int microBatches;
  std::vector<int> stageOfChunks;
  std::vector<double> forward, backward, weight; // arrivals, chunk by chunk
  std::vector<double> channelFree;               // per pass, source stage and side
};

// Seconds of a task on its stage.
double secondsOf(const PipelineTask &task, const PipelineProblem &problem);

// Sizes, signs and counts of a problem.
Status checkProblem(const PipelineProblem &problem);

// Bytes and counts that a stage keeps, task by task.
class StageMemory {
public:
  explicit StageMemory(const PipelineProblem &problem) : problem(problem) {}
  // Adds the memory of a task that starts.
  void start(const PipelineTask &task);
  // Releases the memory of a task that ends.
  void finish(const PipelineTask &task);

  int64_t activations = 0, pending = 0, bytes = 0;

private:
  const PipelineProblem &problem;
};

} // namespace dtc
