// How a run fares, on a terminal: some lines that are drawn over each other.
#pragma once

#include "tools/dtrun/Options.h"
#include "tools/dtrun/Report.h"

#include <optional>
#include <string>
#include <vector>

namespace dtc::rt {

struct ViewOfRun {
  std::string job;        // "gpt2, 4 ranks"
  uint64_t firstStep = 0; // that ran before this process
  uint64_t steps = 0;     // of the run
  StepReport report;      // of the last step
  double sinceStart = 0;  // seconds since the first step began
  std::optional<EvaluationReport> evaluation;
};

// What is shown, in lines of at most `width` columns of printable ASCII.
std::vector<std::string> viewLines(const ViewOfRun &run, size_t width);

// "1:02:03", "12:34", "0:07"; days come first: "2 d 1:02:03".
std::string humanTime(double seconds);

// The cursor rests at the beginning of an empty line above the view, so that what others write stays
// above it, too. Nothing of the terminal's state is changed that a signal could leave changed.
class TerminalView {
public:
  TerminalView() = default;
  ~TerminalView();
  TerminalView(const TerminalView &) = delete;
  TerminalView &operator=(const TerminalView &) = delete;

  // Whether rank 0 of a job shows a view, by --progress and by what stdout is. `isAlone`: the job has
  // one rank, and so nobody between this process and its terminal.
  static bool isWanted(const Options &options, bool isAlone);
  // Where stdout is a terminal that a view may be shown on, its name for DTRUN_TERMINAL; else empty.
  static std::string terminalOf(const Options &options);

  void open(std::string job, uint64_t firstStep, uint64_t steps);
  bool isOpen() const { return descriptor >= 0; }
  // A few times a second, and after the last step.
  void show(const StepReport &report);
  void show(const EvaluationReport &report) { run.evaluation = report; }
  // Above the view.
  void print(const std::string &line);
  // Leaves nothing of it.
  void close();

private:
  void draw();
  void write(const std::string &bytes) const;
  size_t columns() const;

  ViewOfRun run;
  int descriptor = -1;
  bool isOwn = false; // descriptor
  double firstStepBegan = 0, lastDrawn = 0;
};

} // namespace dtc::rt
