// The commands of dtc. Each function adds its command to the command line. The command runs when it
// was given, and sets `exitCode`.
#pragma once

#include "tools/cli/CommandLine.h"

#include <string>

namespace dtc {

// Exit code of an error in dtc itself.
inline constexpr int kInternalError = 70;

// Adds the commands that this program has: all in dtc, those of planning in dtc-plan-only.
void addCommands(CLI::App &app, int &exitCode);

// Adds `dtc import`: makes graph IR from a Hugging Face config.json.
void addImport(CLI::App &app, int &exitCode);
// Adds `dtc fmt`: prints graph IR in its usual style.
void addFmt(CLI::App &app, int &exitCode);
// Adds `dtc plan`: chooses how to spread a model over a cluster.
void addPlan(CLI::App &app, int &exitCode);
// Adds `dtc compile`: writes the executable that dtrun runs.
void addCompile(CLI::App &app, int &exitCode);
// Adds `dtc inspect`: shows the content of an executable or a plan.
void addInspect(CLI::App &app, int &exitCode);
// Adds `dtc topology`: shows the hardware that plans are made for.
void addTopology(CLI::App &app, int &exitCode);
// Adds `dtc stack`: shows the software that plans are made for.
void addStack(CLI::App &app, int &exitCode);
// Adds `dtc validate`: runs a small model under a plan and compares it with one process.
void addValidate(CLI::App &app, int &exitCode);
// Adds `dtc verify`: proves that an executable computes what it should.
void addVerify(CLI::App &app, int &exitCode);
// Adds `dtc simulate`: runs a step event by event.
void addSimulate(CLI::App &app, int &exitCode);
// Adds `dtc explain`: shows what a stage, an op or a tensor of a plan does and costs.
void addExplain(CLI::App &app, int &exitCode);
// Adds `dtc diff`: compares two plans.
void addDiff(CLI::App &app, int &exitCode);
// Adds `dtc export`: writes a plan as the flags or the configuration of other software.
void addExport(CLI::App &app, int &exitCode);
// Adds `dtc checkpoint`: shows, checks and converts what dtrun saves.
void addCheckpoint(CLI::App &app, int &exitCode);
void addCheckpointExport(CLI::App &group, int &exitCode); // part of `dtc checkpoint`
// Adds `dtc checkpoint import`: makes a checkpoint from a folder of Hugging Face's.
void addCheckpointImport(CLI::App &group, int &exitCode);
// Adds `dtc sign`: makes keys, and signs programs and checkpoints.
void addSign(CLI::App &app, int &exitCode);
// Adds `dtc launch`: writes the files that start a job.
void addLaunch(CLI::App &app, int &exitCode);
// Adds `dtc report`: writes how a run went as one HTML page.
void addReport(CLI::App &app, int &exitCode);
// Adds `dtc data`: makes token files of text.
void addData(CLI::App &app, int &exitCode);
// Adds `dtc calibrate`: measures this machine for a topology file.
void addCalibrate(CLI::App &app, int &exitCode);
// Adds `dtc completion`: prints the script by which a shell completes words of dtc's command line.
void addCompletion(CLI::App &app, int &exitCode);
// Adds `dtc manual`: writes the manual pages of all commands.
void addManual(CLI::App &app, int &exitCode);

} // namespace dtc
