// Simulates passes over a vocabulary that is divided over the stages, one by one, and compares them
// with the estimate: all stages stop for the passes as if the pipeline were that of the layers
// alone, and each barrier keeps one more micro-batch alive.
#include "compiler/decide/decisions/Decisions.h"
#include "test/unit/planner/EventSimulation.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

namespace dtc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The seconds of forward, backward, S and T of one micro-batch on one stage.
struct PassSeconds {
  double forward, backward, logits, gradients;
};

// Simulates 1F1B with passes S and T, in which each stage takes the task that is ready first, and
// the first in `order` of several. S of a micro-batch waits for its forward on the last stage, and
// T for S on all stages: the first barrier. Its backward on the last stage waits for the gradients
// of the output layer's input, which algorithm 2 makes in S, and 1 in T: the second barrier. T
// comes before S of the next one (forward and backward in one call: sail-sg/VocabularyParallelism,
// lm_head_step_helper). Stage s keeps p - s + `more` alive.
class PassSimulation {
public:
  PassSimulation(int stages, int microBatches, PassSeconds seconds, int64_t algorithm, int64_t more,
                 std::array<char, 4> order)
      : stages(stages), microBatches(microBatches), algorithm(algorithm), more(more),
        order(order), seconds{{'F', seconds.forward},
                              {'B', seconds.backward},
                              {'S', seconds.logits},
                              {'T', seconds.gradients}},
        free(static_cast<size_t>(stages), 0) {}

  double run() {
    for (int left = 4 * stages * microBatches; left > 0; --left) {
      double least = kInfinity;
      int stage = 0;
      char kind = 0;
      for (int s = 0; s < stages; ++s)
        for (char each : order)
          if (double start = std::max(free[static_cast<size_t>(s)], readyOf(s, each));
              start < least - 1e-9) {
            least = start;
            stage = s;
            kind = each;
          }
      if (kind == 0)
        return kInfinity; // nothing is ready
      double end = least + seconds.at(kind);
      free[static_cast<size_t>(stage)] = ends[{kind, stage, next[{kind, stage}]++}] = end;
    }
    return *std::max_element(free.begin(), free.end());
  }

private:
  double endOf(char kind, int stage, int microBatch) const {
    auto it = ends.find({kind, stage, microBatch});
    return it == ends.end() ? kInfinity : it->second;
  }

  double endOnAll(char kind, int microBatch) const {
    double last = 0;
    for (int stage = 0; stage < stages; ++stage)
      last = std::max(last, endOf(kind, stage, microBatch));
    return last;
  }

  double readyOf(int stage, char kind) {
    int m = next[{kind, stage}];
    if (m == microBatches)
      return kInfinity;
    switch (kind) {
    case 'F': {
      int64_t alive = m - next[{'B', stage}];
      return alive >= stages - stage + more ? kInfinity : stage == 0 ? 0 : endOf('F', stage - 1, m);
    }
    case 'S':
      return m > 0 && endOf('T', stage, m - 1) == kInfinity ? kInfinity : endOf('F', stages - 1, m);
    case 'T':
      return endOnAll('S', m);
    default:
      return endOf('F', stage, m) == kInfinity ? kInfinity
             : stage + 1 < stages              ? endOf('B', stage + 1, m)
                                               : endOnAll(algorithm == 1 ? 'T' : 'S', m);
    }
  }

  int stages, microBatches;
  int64_t algorithm, more;
  std::array<char, 4> order;
  std::map<char, double> seconds;
  std::vector<double> free;
  std::map<std::tuple<char, int, int>, double> ends;
  std::map<std::pair<char, int>, int> next; // micro-batch of each kind and stage
};

// Returns the seconds of the best order.
double withPasses(int stages, int microBatches, PassSeconds seconds, int64_t algorithm,
                  int64_t more) {
  double best = kInfinity;
  std::array<char, 4> order{'B', 'F', 'S', 'T'};
  do
    best =
        std::min(best, PassSimulation(stages, microBatches, seconds, algorithm, more, order).run());
  while (std::next_permutation(order.begin(), order.end()));
  return best;
}

double ofLayersAlone(int stages, int microBatches, PassSeconds seconds) {
  PipelineProblem problem;
  problem.stages = stages;
  problem.microBatches = microBatches;
  ChunkTimes times;
  times.forward = seconds.forward;
  times.backwardInput = seconds.backward;
  problem.chunks.assign(static_cast<size_t>(stages), times);
  return simulatedSeconds(problem);
}

struct PassCase {
  int stages, microBatches;
  PassSeconds seconds;
};
constexpr PassCase kCases[] = {{2, 2, {1, 1.5, 0.5, 1}},    {2, 32, {1, 2.2, 0.05, 0.075}},
                               {4, 4, {1, 2, 0.2, 0.4}},    {4, 16, {1, 2.2, 0.2, 0.2}},
                               {8, 8, {1, 1.5, 0.5, 0.75}}, {8, 32, {1, 2, 0.3, 0.4}},
                               {8, 64, {1, 2.2, 0.5, 0.5}}};

TEST(VocabularyPasses, TakeAsLongAsAllStagesStoppingForThem) {
  for (const PassCase &each : kCases)
    for (int64_t algorithm : {1, 2}) {
      SCOPED_TRACE(testing::Message() << each.stages << " stages, " << each.microBatches
                                      << " micro-batches, algorithm " << algorithm);
      Decisions d;
      d.vocabOverPp = algorithm;
      const PassSeconds &s = each.seconds;
      double stopping = ofLayersAlone(each.stages, each.microBatches, s) +
                        each.microBatches * (s.logits + s.gradients);
      double found = withPasses(each.stages, each.microBatches, s, algorithm, d.vocabBarriers());
      EXPECT_LE(found, stopping + 1e-9);
      // The T of algorithm 2 after the last backward delays nothing.
      EXPECT_GE(found, stopping - (algorithm == 2 ? s.gradients : 0) - 1e-9);
    }
}

TEST(VocabularyPasses, WantAMicroBatchMoreForEachBarrier) {
  for (int stages : {4, 8})
    for (int64_t algorithm : {1, 2}) {
      SCOPED_TRACE(testing::Message() << stages << " stages, algorithm " << algorithm);
      Decisions d;
      d.vocabOverPp = algorithm;
      PassSeconds seconds{1, 2, 0.3, 0.4};
      auto of = [&](int64_t more) {
        return withPasses(stages, 8 * stages, seconds, algorithm, more);
      };
      EXPECT_GT(of(d.vocabBarriers() - 1), of(d.vocabBarriers()) + 0.1);
      EXPECT_NEAR(of(d.vocabBarriers() + 1), of(d.vocabBarriers()), 1e-9);
    }
}

TEST(VocabularyPasses, AreNoneWithoutAnAlgorithm) {
  Decisions d;
  EXPECT_EQ(d.vocabBarriers(), 0);
  d.vocabOverPp = 1;
  EXPECT_EQ(d.vocabBarriers(), 2);
  d.vocabOverPp = 2;
  EXPECT_EQ(d.vocabBarriers(), 1);
}

} // namespace
} // namespace dtc
