// Measures the loss of --eval-data between steps, without an effect on training.
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

// Number of batches that evaluation reads of random data, which have no end.
inline constexpr uint64_t kRandomEvaluationBatches = 8;

// The data of --eval-data and the times at which to evaluate.
class Evaluation {
public:
  // Opens --eval-data, checks all of it and makes sure that all ranks have the same. Does nothing
  // without --eval-data. Collective over `world`: all ranks get the error of any rank.
  Status open(const Options &options, const Executable &executable, const Executor &executor,
              Control &world);

  // Summarises the data for people, on a rank that reads some. Only if there is data.
  DataSummary summarise() const { return batches.summarise(0); }
  bool hasData() const { return isOn; }

  // Returns true if the run evaluates after `step`: every --eval-every steps and after the last
  // one. It evaluates after step 0 only in a run without steps.
  bool isDue(uint64_t step) const;

  // Computes the loss of all samples as if they were one batch, in f32 and in the order of the
  // data. A loss is a mean or a sum over samples, or is divided by a weight that the program
  // reports (passes/graph/LossForm.h), so that the losses of batches can be added. For a sum the
  // result is the mean over batches. If the last batch is not full, it is filled with the first
  // sample, whose part is measured by a batch of nothing else. Fills the inputs of the program and
  // sets its scalars. Collective.|`isOwn` becomes true for an error of this rank in the middle of a
  // batch, which the other ranks do not know of. `progress` is told when this rank reads, which may
  // take longer than a step; it may be null.
  Status run(uint64_t afterStep, Executor &executor, Control &world, Progress *progress,
             EvaluationReport &report, bool &isOwn);

private:
  // Sums over samples: the losses, their weights, and the terms that are means over batches.
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
  // The last batch may be filled up.
  uint64_t numBatches() const { return (samples + globalBatch - 1) / globalBatch; }

  const format::Manifest *manifest = nullptr;
  bool isOn = false;
  uint64_t every = 0, steps = 0, seed = 0;
  uint64_t globalBatch = 1, sequenceLength = 0;
  uint64_t samples = 0;
  bool isWeighted = false;    // the program reports a weight by which the loss is divided
  bool countsTargets = false; // the weights are the numbers of targets that are not ignored
  Batches batches{Batches::Use::Evaluation};
};

} // namespace dtc::rt
