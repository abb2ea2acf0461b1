// What a run measures of itself beside its steps, so that people see how it fares.
#pragma once

#include "runtime/comm/Control.h"
#include "tools/dtrun/BlockNorms.h"
#include "tools/dtrun/Goodput.h"
#include "tools/dtrun/Options.h"
#include "tools/dtrun/RankLoads.h"
#include "tools/dtrun/Replicas.h"
#include "tools/dtrun/Report.h"

namespace dtc::rt {

class Watch {
public:
  // Collective. Arguments must outlive this; `progress` is null in a job of one rank. What costs time is measured where rank 0 has somebody to
  // tell.
  Status open(const Options &options, const Executable &executable, Control &world,
              const Executor &executor, Device &device, const Progress *progress);

  // The time of the job before this process: what the checkpoint that it goes on from has of it, and
  // what the launcher knows where it started a job again that failed. All ranks count what rank 0
  // counts from here on. Collective, before the first step.
  Status goOn(const SpentSeconds &kept, Control &world);
  // The first step begins.
  void beginSteps();
  // Of the job so far.
  SpentSeconds spent() const { return goodput.seconds(clockSeconds()); }

  // What the run does from now on.
  Spent enter(Spent what);
  // Of the step that is under way: data was waited for.
  void waitedForInput(double seconds) { inputWait += seconds; }
  // The host began to enqueue a step `hostSeconds` ago, and has read the next batch since: what that
  // took longer than the step itself, nothing else ran.
  void readInput(double hostSeconds) { readSeconds = hostSeconds; }

  // The run stands again where a checkpoint has `kept` of the job: the training since then is lost.
  void tookBack(const SpentSeconds &kept) { goodput.takeBack(kept, clockSeconds()); }

  // Adds what it has measured to the report of a step.
  void afterStep(StepReport &report);
  // Where they are due, norms of parameters, which are no part of a step. Collective.
  bool measuresNorms(uint64_t step) const { return norms.isDue(step); }
  Status measureNorms(StepReport &report);
  // Where it is due, that replicas are alike. Collective.
  bool comparesReplicas(uint64_t step) const { return replicas.areDue(step); }
  Status checkReplicas(uint64_t step) const;

private:
  void tellLauncher();

  Control *world = nullptr;
  Goodput goodput{processBegan(), clockSeconds()};
  const Progress *progress = nullptr;
  BlockNorms norms;
  Replicas replicas;
  double inputWait = 0, readSeconds = 0;
  bool hasLauncher = false; // that may start the job again
  bool isStepping = false;  // the first step has begun
  double lastTold = 0;      // to it
};

// Bytes of this process that are in memory; 0 where the system does not say.
uint64_t residentBytes();

} // namespace dtc::rt
