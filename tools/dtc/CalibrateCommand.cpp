// dtc calibrate: measures this CPU machine, or adopts the measurements of another machine.
#include "tools/dtc/Commands.h"

#include "compiler/measure/calibrate/Calibrate.h"

#include "llvm/Support/FileSystem.h"

namespace dtc {
namespace {

struct CalibrateFlags {
  CalibrateOptions options;
  RankJob job;
  std::string output;
  double seconds = 0; // 0 for the default
};

int run(CalibrateFlags &flags) {
  if (!flags.job.resultsFile.empty()) {
    flags.job.quick = flags.options.quick;
    flags.job.seconds = flags.seconds;
    return runCalibrationRank(flags.job, llvm::errs());
  }
  flags.options.seconds = flags.seconds > 0 ? flags.seconds : flags.options.quick ? 10 : 60;
  flags.options.program = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  return runCalibrate(flags.options, flags.output, llvm::outs(), llvm::errs());
}

} // namespace

void addCalibrate(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "calibrate", "Measures this CPU machine and writes the curves into a topology file\n\n"
                   "Example:\n  dtc calibrate -o here.toml\n  dtc plan gpt2/config.json --topology "
                   "here.toml --devices 2 --global-batch 8\n"
                   "  dtc calibrate --curves gpu-curves.toml --topology dgx-h100 -o measured.toml");
  auto flags = std::make_shared<CalibrateFlags>();
  CLI::Option *topology = command->add_option(
      "--topology", flags->options.topology,
      "a system of class cpu: 'cpu', or a TOML file of this machine; with --curves any");
  command->add_option("-o,--output", flags->output, "the topology file to write");
  CLI::Option *curves = command->add_option(
      "--curves", flags->options.curvesFile,
      "take the curves of this file, which tools/calibrate-gpu wrote, instead of measuring");
  CLI::Option *quick = command->add_flag("--quick", flags->options.quick,
                                         "few shapes in about 10 s, instead of 60 s");
  CLI::Option *seconds =
      command->add_option("--seconds", flags->seconds, "spend about this many seconds")
          ->check(numberBetween(1, 86400));
  curves->needs(topology)->excludes(quick)->excludes(seconds);
  // Flags for the processes that this command starts.
  command->add_option("--rank-results", flags->job.resultsFile)->group("");
  command->add_option("--rank-units", flags->job.units)->group("")->check(wholeNumber(1, 1 << 20));
  command->callback([flags, &exitCode] { exitCode = run(*flags); });
}

} // namespace dtc
