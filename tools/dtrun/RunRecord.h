// Writes how a run progresses, for people and programs: stdout or a view of it, logs, TensorBoard's
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

// The record of a run. Each rank has a log. Rank 0 writes the rest.
class RunRecord {
public:
  RunRecord(const Options &options, const Executable &executable, const Control &world)
      : options(options), executable(executable), world(world) {}

  // Opens the files and the port before the first step, so that a run does not lose its results
  // because they cannot be written.
  Status open();
  // Lets every rank know whether one of them has made the folder of logs, so that whichever ends
  // last removes it from a run that ends before its first line. Collective, behind open().
  Status shareFolder(Control &control);
  // Prints the line about what is going to run, and opens the view if there is one. `lastStep` ran
  // before.
  Status announce(int threads, uint64_t lastStep);
  // Prints the line about the data of the run, on rank 0.
  Status announceData(const std::string &line);
  // Prints on rank 0 that nothing was trained, and what was checked. `lastStep` is the step of the
  // checkpoint from which the run would resume, or 0.
  Status announceDryRun(const std::vector<std::string> &checked, uint64_t lastStep);
  // Keeps the log lines up to `step` and continues behind them.
  void goOnAfter(uint64_t step) { log.goOnAfter(step); }

  // Writes a step everywhere. A failure of stdout is an error. A failure of logs or events is only
  // printed, once, so that training does not end because of its log.
  Status write(const StepReport &report);
  // Writes an evaluation everywhere, as above.
  Status write(const EvaluationReport &report);
  // Closes the view. The last step stays visible.
  Status close();
  // Prints the summary of a run on rank 0, after close(). Prints nothing with --format json.
  Status conclude(const RunSummary &summary);

private:
  std::string describeJob() const;
  // Writes a line on stdout, or above the view.
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
  std::string lastLine; // line of the step that the view shows
  bool hasReportedLog = false;
};

} // namespace dtc::rt
