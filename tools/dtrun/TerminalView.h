// Shows the progress of a run on a terminal, in some lines that are drawn over each other.
#pragma once

#include "tools/dtrun/Options.h"
#include "tools/dtrun/Report.h"

#include <optional>
#include <string>
#include <vector>

namespace dtc::rt {

// The values that the view shows.
struct ViewOfRun {
  std::string job;        // "gpt2, 4 ranks"
  uint64_t firstStep = 0; // the step before this process's first
  uint64_t steps = 0;     // of the whole run
  StepReport report;      // of the last step
  double sinceStart = 0;  // seconds since the first step began
  std::optional<EvaluationReport> evaluation;
};

// Returns the lines of the view, of at most `width` columns of printable ASCII.
std::vector<std::string> viewLines(const ViewOfRun &run, size_t width);

// Returns "1:02:03", "12:34" or "0:07". Days come first: "2 d 1:02:03".
std::string humanTime(double seconds);

// The view on a terminal. The cursor rests at the beginning of an empty line above the view, so
// that output of others stays above it, too. It changes nothing in the terminal's state that would
// remain after a signal.
class TerminalView {
public:
  TerminalView() = default;
  ~TerminalView();
  TerminalView(const TerminalView &) = delete;
  TerminalView &operator=(const TerminalView &) = delete;

  // Returns true if rank 0 of a job shows a view, as --progress and the kind of stdout decide.
  // `isAlone` means that the job has one rank, and so nothing between this process and its
  // terminal.
  static bool isWanted(const Options &options, bool isAlone);
  // Returns the name of the terminal of stdout for DTRUN_TERMINAL, if a view may be shown on it, or
  // an empty string.
  static std::string terminalOf(const Options &options);

  // Begins the view of a run from `firstStep` to `steps`.
  void open(std::string job, uint64_t firstStep, uint64_t steps);
  // Returns true between open and close.
  bool isOpen() const { return descriptor >= 0; }
  // Shows a step: a few times per second, and after the last step.
  void show(const StepReport &report);
  // Keeps an evaluation, which the next step shows.
  void show(const EvaluationReport &report) { run.evaluation = report; }
  // Prints a line above the view.
  void print(const std::string &line);
  // Removes the view.
  void close();

private:
  void draw();
  void write(const std::string &bytes) const;
  size_t columns() const;

  ViewOfRun run;
  int descriptor = -1;
  bool isOwn = false; // the descriptor was opened here
  double firstStepBegan = 0, lastDrawn = 0;
};

} // namespace dtc::rt
