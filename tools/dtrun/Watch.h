// Measures how a run progresses, beside its steps.
#pragma once

#include "runtime/comm/Control.h"
#include "tools/dtrun/BlockNorms.h"
#include "tools/dtrun/Goodput.h"
#include "tools/dtrun/Options.h"
#include "tools/dtrun/RankLoads.h"
#include "tools/dtrun/Replicas.h"
#include "tools/dtrun/Report.h"

namespace dtc::rt {

// The measurements of a run: time by cause, norms of parameters, replicas.
class Watch {
public:
  // Prepares the measurements. Those that cost time are made only if rank 0 has an output for them.
  // Arguments must outlive this; `progress` is null in a job of one rank. Collective.
  Status open(const Options &options, const Executable &executable, Control &world,
              const Executor &executor, Device &device, const Progress *progress);

  // Adds the time of the job before this process: what the checkpoint holds, and what the launcher
  // knows if it started a failed job again. From here on all ranks use rank 0's counts. Collective,
  // before the first step.
  Status goOn(const SpentSeconds &kept, Control &world);
  // The first step begins.
  void beginSteps();
  // Returns the time of the job so far, by cause.
  SpentSeconds spent() const { return goodput.seconds(clockSeconds()); }

  // Counts the time from now on as `what`. Returns the cause before.
  Spent enter(Spent what);
  // Adds time in which the current step waited for data.
  void waitedForInput(double seconds) { inputWait += seconds; }
  // The host started to enqueue a step `hostSeconds` ago and has read the next batch since. If that
  // is longer than the step itself, the rest was spent waiting for data.
  void readInput(double hostSeconds) { readSeconds = hostSeconds; }

  // The run went back to a checkpoint, at which the job had spent `kept`. Training since then is
  // lost.
  void tookBack(const SpentSeconds &kept) { goodput.takeBack(kept, clockSeconds()); }

  // Adds the measurements to the report of a step.
  void afterStep(StepReport &report);
  // Returns true if norms of parameters are due after `step`.
  bool measuresNorms(uint64_t step) const { return norms.isDue(step); }
  // Measures the norms of parameters, between steps, and adds them to the report. Collective.
  Status measureNorms(StepReport &report);
  // Returns true if replicas are to be compared after `step`.
  bool comparesReplicas(uint64_t step) const { return replicas.areDue(step); }
  // Compares replicas. Collective. Errors: DataLoss if they differ.
  Status checkReplicas(uint64_t step) const;

private:
  void sendToLauncher();

  Control *world = nullptr;
  Goodput goodput{processBegan(), clockSeconds()};
  const Progress *progress = nullptr;
  BlockNorms norms;
  Replicas replicas;
  double inputWait = 0, readSeconds = 0;
  bool hasLauncher = false; // a launcher that may start the job again
  bool isStepping = false;  // the first step has begun
  double lastReported = 0;  // time of the last note to it
};

// Returns the bytes of this process that are in memory, or 0 if the system does not tell.
uint64_t residentBytes();

} // namespace dtc::rt
