// All that tells people and programs how a run fares: stdout or a view of it, logs, TensorBoard's
// events, Prometheus.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Control.h"
#include "runtime/exec/Loader.h"
#include "tools/dtrun/MetricsPage.h"
#include "tools/dtrun/Options.h"
#include "tools/dtrun/Report.h"
#include "tools/dtrun/StepEvents.h"
#include "tools/dtrun/TerminalView.h"

#include <string>
#include <vector>

namespace dtc::rt {

// Each rank has a log; the rest is rank 0's.
class RunRecord {
public:
  RunRecord(const Options &options, const Executable &executable, const Control &world)
      : options(options), executable(executable), world(world) {}

  // Opens the files and the port: nothing that a run makes is lost for want of a place to put it.
  Status open();
  // The line of what is about to run, and the view where there is one; `lastStep` ran before.
  Status announce(int threads, uint64_t lastStep);
  // Prints on rank 0 the line of what the run reads.
  Status announceData(const std::string &line);
  // Prints on rank 0 that nothing was trained and what was found good; `lastStep` is that of the
  // checkpoint that would be gone on from, 0 for none.
  Status announceDryRun(const std::vector<std::string> &checked, uint64_t lastStep);
  // Logs go on behind the lines of `step`.
  void goOnAfter(uint64_t step) { log.goOnAfter(step); }

  // What stdout does not take is an error, what logs and events do not take is told once: hours of
  // training are worth more than their log.
  Status write(const StepReport &report);
  Status write(const EvaluationReport &report);
  // The view is over; the last step stays to be seen.
  Status close();
  // Prints the summary of a run on rank 0, after close(); nothing with --format json.
  Status conclude(const RunSummary &summary);

private:
  std::string describeJob() const;
  // On stdout, or above the view.
  Status say(const std::string &line);
  Status show(const StepReport &report);
  void checkLog(const Status &status, uint64_t step);

  const Options &options;
  const Executable &executable;
  const Control &world;
  RankLog log;
  StepEvents events;
  MetricsPage metrics;
  TerminalView view;
  std::string lastLine; // of the step that the view shows
  bool hasToldOfLog = false;
};

} // namespace dtc::rt
