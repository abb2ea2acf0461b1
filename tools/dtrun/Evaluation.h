// The loss of --eval-data: measured between steps, without a trace in the training.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Agree.h"
#include "runtime/comm/Control.h"
#include "runtime/exec/Executor.h"
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

  // Whether to evaluate after `step`: every --eval-every steps, and after the last one; after step 0
  // where there are no others.
  bool isDue(uint64_t step) const;
  // How many samples at the end of the data fill no batch.
  uint64_t leftOut() const { return partialBatch; }

  // The mean loss over all batches, in the order of the data; a batch counts by its targets that
  // are not ignored. Fills the inputs of the program and sets its scalars. Collective. `isOwn`
  // becomes true for an error of this rank in the middle of a batch, of which the others do not
  // know.
  Status run(uint64_t afterStep, Executor &executor, Control &world, EvaluationReport &report,
             bool &isOwn);

private:
  Status openData(const Options &options, const Executable &executable, const Executor &executor,
                  std::vector<Trait> &traits, std::vector<int64_t> &counts);
  // Adds up the counts of all ranks.
  Status weighBatches(std::vector<int64_t> counts, Control &world);

  const format::Manifest *manifest = nullptr;
  bool isOn = false;
  uint64_t every = 0, steps = 0, seed = 0;
  uint64_t globalBatch = 1, sequenceLength = 0;
  uint64_t numBatches = 0, partialBatch = 0;
  Batches batches{Batches::Use::Evaluation};
  std::vector<int64_t> weights; // of batches; empty: all count alike
};

} // namespace dtc::rt
