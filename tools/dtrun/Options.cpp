#include "tools/dtrun/Options.h"

#include "runtime/base/Env.h"
#include "runtime/format/Printable.h"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string_view>

namespace dtc::rt {
namespace {

// Flags of the interface that this release does not have yet. They are refused rather than ignored:
// a run that nobody can watch is worse than no run.
constexpr std::string_view missingFlags[] = {"--metrics-port"};

bool refuseMissingFlags(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    for (std::string_view flag : missingFlags)
      if (argument == flag || argument.substr(0, argument.find('=')) == flag) {
        std::fprintf(stderr, "dtrun: %.*s is not available in this release; leave it out\n",
                     static_cast<int>(flag.size()), flag.data());
        return true;
      }
  }
  return false;
}

std::string footer() {
  return "Examples:\n"
         "  dtrun model.dte -n 4 --data input.txt --steps 50\n"
         "  mpirun -n 4 dtrun model.dte --data tokens/ --format json\n"
         "  dtrun digits.dte --data images=images.npy,labels=labels.npy\n"
         "  dtrun model.dte --data train.bin --eval-data val.bin --eval-every 100\n\n"
         "Exit codes: 0 done, 1 wrong input, 2 bad usage, 3 a rank died or a collective timed "
         "out,\n  4 the loss is not finite, 70 an internal error, 143 ended by SIGTERM.\n\n"
         "Environment:\n" +
         describeEnv();
}

// CLI11 would read -3 and 2^64 into an unsigned number without complaint.
std::string notWhole(std::string &value) {
  bool digits = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  errno = 0;
  if (digits && (std::strtoull(value.c_str(), nullptr, 10), errno == 0))
    return "";
  return "wanted a whole number from 0 to 2^64 - 1, found '" + value + "'";
}

void declareCheckpoints(CLI::App &app, Options &options) {
  const CLI::Validator wholeNumber(notWhole, "");
  CLI::Option *folder =
      app.add_option("--checkpoint-dir", options.checkpointDir,
                     "save parameters, optimizer state and where the run stands to DIR/step-N "
                     "after the last step, and after SIGTERM; all hosts must share DIR")
          ->type_name("DIR");
  app.add_option("--checkpoint-every", options.checkpointEvery, "save after every K steps, too")
      ->needs(folder)
      ->check(wholeNumber)
      ->type_name("K");
  app.add_option("--keep", options.keep, "remove all but the last K checkpoints")
      ->needs(folder)
      ->capture_default_str()
      ->check(wholeNumber)
      ->type_name("K");
  app.add_flag("--resume", options.resume,
               "go on after the last good checkpoint of DIR, which may be of any plan; start at "
               "the first step where there is none")
      ->needs(folder);
}

void declare(CLI::App &app, Options &options, std::string &format) {
  const CLI::Validator wholeNumber(notWhole, "");
  app.add_option("model", options.model, "the .dte file that 'dtc compile' wrote")->required();
  app.add_option("-n", options.ranks, "start this many local ranks")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("RANKS");
  app.add_option(
         "--data", options.data,
         "what to train on: a source of tokens (.bin files of llm.c, nanoGPT or Megatron, a "
         "text file, a directory of them, or 'synthetic'), or NAME=FILE.npy for each input "
         "of the model, separated by commas, with a sample along dim 0")
      ->required()
      ->type_name("PATH");
  CLI::Option *evalData =
      app.add_option("--eval-data", options.evalData,
                     "print the mean loss over all whole batches of this after the last step, "
                     "without dropout; takes what --data takes")
          ->type_name("PATH");
  app.add_option("--eval-every", options.evalEvery, "evaluate after every K steps, too")
      ->needs(evalData)
      ->check(wholeNumber)
      ->type_name("K");
  app.add_option("--steps", options.steps, "steps to run")
      ->capture_default_str()
      ->check(wholeNumber)
      ->type_name("N");
  app.add_option("--seed", options.seed, "of initial parameters, order of samples and dropout")
      ->capture_default_str()
      ->check(wholeNumber)
      ->type_name("S");
  app.add_option("--lr", options.learningRate, "base learning rate; default: the program's")
      ->type_name("X");
  app.add_option("--format", format, "what to print per step")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "json"}));
  app.add_option("--threads", options.threads,
                 "compute threads of each rank; default: a share of the machine's cores")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  app.add_option("--timeout", options.timeoutSeconds,
                 "the longest that a collective may take; default: DTC_TIMEOUT")
      ->type_name("SECONDS");
  app.add_option("--profile", options.profile,
                 "write a Chrome trace of rank 0 here; rank R's goes to FILE with .rankR before "
                 "the ending")
      ->type_name("FILE");
  app.add_option("--dump-params", options.dumpParams,
                 "write the whole parameters after the last step (safetensors)")
      ->type_name("FILE");
  app.add_option("--dump-grads", options.dumpGrads,
                 "write the whole gradients of the last step, before clipping (safetensors)")
      ->type_name("FILE");
  app.add_option("--init", options.init, "start from these parameters (safetensors)")
      ->type_name("FILE");
  app.add_option("--log-dir", options.logDir,
                 "write metrics of each rank to DIR/rank-R.jsonl, a line a step, and those of "
                 "the job there for TensorBoard")
      ->type_name("DIR");
  declareCheckpoints(app, options);
  app.set_version_flag("--version", kVersion);
}

// What CLI11 cannot say of a value; null when all is well.
const char *findMistake(const Options &options) {
  if (options.hasLearningRate &&
      !(std::isfinite(options.learningRate) && options.learningRate >= 0))
    return "--lr wants a finite number of at least 0";
  if (!options.dumpGrads.empty() && options.steps == 0)
    return "--dump-grads wants at least 1 of --steps";
  if (options.hasEvalEvery && options.evalEvery == 0)
    return "--eval-every wants at least 1 step";
  if (options.hasCheckpointEvery && options.checkpointEvery == 0)
    return "--checkpoint-every wants at least 1 step";
  if (options.keep == 0)
    return "--keep wants at least 1 checkpoint";
  if (options.resume && options.checkpointDir.empty())
    return "--checkpoint-dir wants the name of a folder";
  if (!(std::isfinite(options.timeoutSeconds) && options.timeoutSeconds >= 0))
    return "--timeout wants a positive number of seconds";
  return nullptr;
}

} // namespace

bool parseOptions(int argc, char **argv, Options &options, int &exitCode) {
  exitCode = kExitBadUsage;
  if (refuseMissingFlags(argc, argv))
    return false;
  CLI::App app("Trains a model that dtc has compiled.", "dtrun");
  app.footer(footer());
  std::string format = "text";
  declare(app, options, format);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &asked) { // --help, --version
    exitCode = app.exit(asked) == 0 ? kExitDone : kExitBadUsage;
    errno = 0;
    if (!std::cout.flush()) {
      std::fprintf(stderr, "dtrun: writing to stdout: %s\n", std::strerror(errno ? errno : EIO));
      exitCode = kExitUserError;
    }
    return false;
  } catch (const CLI::ParseError &error) {
    std::fprintf(stderr, "dtrun: %s; see dtrun --help\n", format::printable(error.what()).c_str());
    return false;
  }
  options.json = format == "json";
  options.hasEvalEvery = app.count("--eval-every") > 0;
  options.hasCheckpointEvery = app.count("--checkpoint-every") > 0;
  options.hasLearningRate = app.count("--lr") > 0;
  if (app.count("--timeout") > 0 && options.timeoutSeconds == 0)
    options.timeoutSeconds = -1;
  if (const char *mistake = findMistake(options)) {
    std::fprintf(stderr, "dtrun: %s; see dtrun --help\n", mistake);
    return false;
  }
  return true;
}

} // namespace dtc::rt
