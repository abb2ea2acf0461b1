// A lower bound of the makespan that holds for every order of a pipeline's tasks.
#include "compiler/search/pipeline/LowerBound.h"

#include "compiler/search/pipeline/Geometry.h"

#include <algorithm>

using namespace dtc;

namespace {

// Seconds of the chain that one micro-batch runs through, transfers included.
class Chain {
public:
  explicit Chain(const PipelineProblem &problem)
      : split(splitsBackward(problem.kind)), forwardAt(problem.chunks.size()),
        backwardAt(problem.chunks.size()), left(problem.chunks.size()) {
    auto chunks = static_cast<int>(problem.chunks.size());
    auto crosses = [&](int chunk) { // to the chunk after
      return stageOfChunk(problem.kind, problem.stages, chunk) !=
             stageOfChunk(problem.kind, problem.stages, chunk + 1);
    };
    double time = 0;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      forwardAt[chunk] = time;
      time += problem.chunks[chunk].forward;
      if (chunk + 1 < chunks && crosses(chunk))
        time += problem.chunks[chunk].sendForward;
    }
    for (int chunk = chunks - 1; chunk >= 0; --chunk) {
      backwardAt[chunk] = time;
      time += backward(problem.chunks[chunk]);
      if (chunk > 0 && crosses(chunk - 1))
        time += problem.chunks[chunk].sendBackward;
    }
    // The gradient of the first chunk's weights is all that follows its last B.
    double rest = split ? problem.chunks.front().backwardWeight : 0;
    all = time + rest;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      left[chunk] = rest;
      rest += backward(problem.chunks[chunk]);
      if (chunk + 1 < chunks && crosses(chunk))
        rest += problem.chunks[chunk + 1].sendBackward;
    }
  }

  double backward(const ChunkTimes &chunk) const {
    return chunk.backwardInput + (split ? 0 : chunk.backwardWeight);
  }

  bool split;                                // B and W are tasks of their own
  double all = 0;                            // seconds from its first task to its last
  std::vector<double> forwardAt, backwardAt; // when each chunk's first task of a kind can start
  std::vector<double> left;                  // after the end of a chunk's last B
};

// The most seconds of forwards that fit in `count` of them, `microBatches` of each chunk.
double mostForward(std::vector<double> forwards, int64_t count, int64_t microBatches) {
  std::sort(forwards.begin(), forwards.end(), std::greater<double>());
  double seconds = 0;
  for (double forward : forwards) {
    int64_t taken = std::min(count, microBatches);
    seconds += forward * static_cast<double>(taken);
    count -= taken;
  }
  return seconds;
}

} // namespace

double dtc::makespanLowerBound(const PipelineProblem &problem) {
  Chain chain(problem);
  double most = chain.all, m = problem.microBatches;
  for (int stage = 0; stage < problem.stages; ++stage) {
    std::vector<double> forwards;
    double firstPass = 0, weights = 0;
    int first = -1, last = -1;
    for (int turn = 0; turn < problem.virtualStages; ++turn) {
      int chunk = chunkOfStage(problem.kind, problem.stages, stage, turn);
      const ChunkTimes &times = problem.chunks[chunk];
      first = first < 0 ? chunk : first;
      last = chunk;
      forwards.push_back(times.forward);
      firstPass += times.forward + chain.backward(times);
      weights += chain.split ? times.backwardWeight : 0;
    }
    // All its work, and before it the way down, after its last B the way up.
    double tail = chain.left[first], own = m * (firstPass + weights);
    most = std::max(most, chain.forwardAt[first] + m * firstPass + tail);
    most = std::max(most, chain.forwardAt[first] + own + (chain.split ? 0 : tail));
    // Before its first B it has no more than some forwards to do.
    InFlight alive =
        inFlight(problem.kind, problem.stages, problem.virtualStages, problem.microBatches, stage);
    double early = mostForward(forwards, alive.activations, problem.microBatches);
    most = std::max(most, chain.backwardAt[last] + own - early + (chain.split ? 0 : tail));
    most = std::max(most, chain.backwardAt[last] + m * firstPass - early + tail);
  }
  return most;
}
