// The loss of --eval-data: measured between steps, without a trace in the training.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Agree.h"
#include "runtime/comm/Control.h"
#include "runtime/exec/Executor.h"
#include "runtime/monitor/Progress.h"
#include "tools/dtrun/Batches.h"
#include "tools/dtrun/Options.h"
#include "tools/dtrun/Report.h"

#include <vector>

namespace dtc::rt {

// Of random data, which have no end, evaluation reads as many batches.
inline constexpr uint64_t kRandomEvaluationBatches = 8;

class Evaluation {
public:
  // Opens --eval-data, looks at all of it and makes sure that all ranks have the same; nothing where
  // there is none. Collective over `world`: all ranks get an error of any.
  Status open(const Options &options, const Executable &executable, const Executor &executor,
              Control &world);

  // The data for people, on a rank that reads any; only where there is data.
  DataSummary summarise() const { return batches.summarise(0); }
  bool hasData() const { return isOn; }

  // Whether to evaluate after `step`: every --eval-every steps, and after the last one; after step 0
  // where there are no others.
  bool isDue(uint64_t step) const;

  // The loss of all samples, as if they were one batch; in f32 and in the order of the data. A loss
  // is a mean or a sum over samples, or divided by a weight that the program reports
  // (passes/graph/LossForm.h), so that those of batches add up; of a sum it is the mean over
  // batches. Samples at the end that fill no batch are filled up with the first sample, whose part
  // a batch of nothing else says. Fills the inputs of the program and sets its scalars. Collective.
  // `isOwn` becomes true for an error of this rank in the middle of a batch, of which the others do
  // not know. `progress` hears when this rank reads, which may take longer than a step; it may be null.
  Status run(uint64_t afterStep, Executor &executor, Control &world, Progress *progress,
             EvaluationReport &report, bool &isOwn);

private:
  // Losses of samples, added up, and what they are divided by; and terms that are means of batches.
  struct Sum {
    double loss = 0, weight = 0, beside = 0, batches = 0;
    void add(const Sum &other, double times) {
      beside += times * other.beside;
      batches += times * other.batches;
      loss += times * other.loss;
      weight += times * other.weight;
    }
  };

  Status openData(const Options &options, const Executable &executable, const Executor &executor,
                  std::vector<Trait> &traits);
  Status load(uint64_t batch, Executor &executor, Progress *progress);
  Status runBatch(uint64_t batch, Executor &executor, Control &world, Progress *progress, Sum &sum,
                  bool &isOwn);
  // The last of which may be filled up.
  uint64_t numBatches() const { return (samples + globalBatch - 1) / globalBatch; }

  const format::Manifest *manifest = nullptr;
  bool isOn = false;
  uint64_t every = 0, steps = 0, seed = 0;
  uint64_t globalBatch = 1, sequenceLength = 0;
  uint64_t samples = 0;
  bool isWeighted = false;    // the loss, by what the program reports
  bool countsTargets = false; // the weights are how many targets are not ignored
  Batches batches{Batches::Use::Evaluation};
};

} // namespace dtc::rt
