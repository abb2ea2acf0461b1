// The commands of dtc; each adds itself to the command line and runs when it was given.
#pragma once

#include "tools/cli/CommandLine.h"

#include <string>

namespace dtc {

// Exit code where dtc itself is wrong.
inline constexpr int kInternalError = 70;

// Flags that more than one command takes.
struct PlanningFlags {
  std::string model, topology = "cpu", optimizer = "adamw", gradDtype = "f32", maxMemory,
                     memoryMargin;
  std::string precision; // empty: Topology::usualPrecision
  std::string fix, stack = "dtc";
  int64_t sequence = 0, nodes = 0, devices = 0, globalBatch = 0;
  bool executable = false;
  std::optional<double> risk;
  double searchSeconds = 0;

  CLI::App *command = nullptr;

  // `planGiven`: the flags may be left out because a plan file may stand for them.
  void add(CLI::App &command, bool planGiven);
  // Returns whether the user wrote `flag`, which has a default otherwise.
  bool given(const char *flag) const { return command->count(flag) > 0; }
};

// The exit code of the command that ran.
void addImport(CLI::App &app, int &exitCode);
void addFmt(CLI::App &app, int &exitCode);
void addPlan(CLI::App &app, int &exitCode);
void addCompile(CLI::App &app, int &exitCode);
void addInspect(CLI::App &app, int &exitCode);
void addTopology(CLI::App &app, int &exitCode);
void addStack(CLI::App &app, int &exitCode);
void addValidate(CLI::App &app, int &exitCode);
void addVerify(CLI::App &app, int &exitCode);
void addSimulate(CLI::App &app, int &exitCode);
void addExplain(CLI::App &app, int &exitCode);
void addDiff(CLI::App &app, int &exitCode);
void addExport(CLI::App &app, int &exitCode);
void addCheckpoint(CLI::App &app, int &exitCode);
void addCheckpointExport(CLI::App &group, int &exitCode); // into `dtc checkpoint`
void addCheckpointImport(CLI::App &group, int &exitCode);
void addCalibrate(CLI::App &app, int &exitCode);

} // namespace dtc
