#include "tools/dtrun/Options.h"

#include "runtime/base/Env.h"
#include "runtime/format/Printable.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/Completion.h"
#include "tools/cli/ManualPage.h"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <map>

namespace dtc::rt {
namespace {

std::string footer() {
  return "Examples:\n"
         "  dtrun model.dte -n 4 --data train.bin --steps 50\n"
         "  dtrun model.dte --data bytes:input.txt --steps 50 --dry-run\n"
         "  mpirun -n 4 dtrun model.dte --data tokens/ --format json\n"
         "  dtrun digits.dte --data images=images.npy,labels=labels.npy\n"
         "  dtrun model.dte --data train.bin --eval-data val.bin --eval-every 100\n\n"
         "Exit codes: 0 done, 1 wrong input, 2 bad usage, 3 a rank died or a collective timed "
         "out,\n  4 the loss is not finite, 70 an internal error, 143 ended by SIGTERM.\n\n"
         "Environment:\n" +
         describeEnv();
}

// Checks for a whole number, because CLI11 would accept -3 and 2^64 for an unsigned one.
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
                     "save parameters, optimizer state and the position of the run to DIR/step-N "
                     "after the last step, and after SIGTERM; all hosts must share DIR")
          ->check(notEmpty())
          ->type_name("DIR");
  CLI::Option *every =
      app.add_option("--checkpoint-every", options.checkpointEvery, "save after every K steps, too")
          ->needs(folder)
          ->check(wholeNumber)
          ->type_name("K");
  app.add_option("--keep", options.keep, "remove all but the last K checkpoints")
      ->needs(folder)
      ->capture_default_str()
      ->check(wholeNumber)
      ->type_name("K");
  app.add_option("--keep-every", options.keepEvery, "also keep the checkpoint of every Nth step")
      ->needs(folder)
      ->check(wholeNumber)
      ->type_name("N");
  app.add_option("--spike-factor", options.spikeFactor,
                 "if a step's loss is more than X times the mean of the losses before, or not "
                 "finite, return to the last good checkpoint and skip the data since then")
      ->needs(folder)
      ->type_name("X");
  app.add_option("--restarts", options.restarts,
                 "with -n: restart the ranks from the last good checkpoint if one of them dies or "
                 "hangs, up to N times in a row without a new checkpoint")
      ->needs(folder)
      ->needs(every)
      ->check(wholeNumber)
      ->type_name("N");
  app.add_flag("--resume", options.resume,
               "continue from the last good checkpoint of DIR, which may be of any plan, or from "
               "the first step if there is none")
      ->needs(folder);
}

void declareTrust(CLI::App &app, Options &options) {
  app.add_option("--trust", options.trust,
                 "load only programs and checkpoints that a key of this file has signed ('dtc "
                 "sign'); lines of several keys are several keys")
      ->check(notEmpty())
      ->type_name("KEYS");
  app.add_option("--sign-key", options.signKey,
                 "sign the checkpoints of this run by this secret key, which has no password")
      ->needs(app.get_option("--checkpoint-dir"))
      ->check(notEmpty())
      ->type_name("FILE");
}

const std::map<std::string, ProgressView> kViews = {
    {"auto", ProgressView::Auto}, {"on", ProgressView::On}, {"off", ProgressView::Off}};

void declareWatching(CLI::App &app, Options &options) {
  const CLI::Validator wholeNumber(notWhole, "");
  CLI::Option *port = app.add_option("--metrics-port", options.metricsPort,
                                     "serve metrics of the job to Prometheus at "
                                     "http://HOST:PORT/metrics of rank 0; 0: any free port")
                          ->check(dtc::wholeNumber(0, 65535))
                          ->type_name("PORT");
  app.add_option(
         "--metrics-host", options.metricsHost,
         "the address that --metrics-port listens at; 0.0.0.0: all addresses of this machine")
      ->needs(port)
      ->capture_default_str()
      ->type_name("HOST");
  app.add_option_function<std::string>(
         "--progress", [&](const std::string &view) { options.progress = kViews.at(view); },
         "show a live view instead of one line per step: auto (if stdout is a terminal), on or off")
      ->check(oneOf({"auto", "on", "off"}))
      ->type_name("WHEN");
  app.add_option("--norms-every", options.normsEvery,
                 "measure the norm of each block's parameters after every K steps; 0: never; "
                 "default: as often as takes 0.25 % of the time, if a log or a program reads it")
      ->check(wholeNumber)
      ->type_name("K");
  app.add_option("--check-replicas", options.checkReplicas,
                 "compare the parameters and optimizer state of replicas after every K steps, and "
                 "stop if one differs; 0: never")
      ->capture_default_str()
      ->check(wholeNumber)
      ->type_name("K");
}

// Flags that print something in place of a run.
void declareAboutItself(CLI::App &app) {
  app.set_version_flag("--version", kVersion);
  app.add_option_function<std::string>(
         "--completion",
         [&app](const std::string &shell) {
           std::cout << completionScript(commandInfo(app), shell);
           throw CLI::Success();
         },
         "print the script by which a shell completes dtrun's flags, and exit")
      ->trigger_on_parse()
      ->check(oneOf(completionShells()))
      ->type_name("SHELL");
  app.add_flag_callback(
         "--manual",
         [&app] {
           std::cout << manualPages(commandInfo(app), kVersion).front().text;
           throw CLI::Success();
         },
         "print the manual page of dtrun, and exit")
      ->trigger_on_parse();
}

void declare(CLI::App &app, Options &options, std::string &format) {
  const CLI::Validator wholeNumber(notWhole, "");
  app.add_option("model", options.model, "the .dte file that 'dtc compile' wrote")->required();
  app.add_option("-n", options.ranks, "start this many local ranks")
      ->check(dtc::wholeNumber(1, 1 << 20))
      ->type_name("RANKS");
  app.add_option(
         "--data", options.data,
         "what to train on: a source of tokens (.bin files of llm.c, nanoGPT or Megatron, a "
         "directory of them, or 'synthetic'; u16:FILE, u32:FILE or u64:FILE for ids without a "
         "header, bytes:FILE for the bytes of any file), or NAME=FILE.npy for each input "
         "of the model, separated by commas, with a sample along dim 0")
      ->required()
      ->check(notEmpty())
      ->type_name("PATH");
  app.add_option("--document-end", options.documentEnd,
                 "the token that ends each document, for a model compiled with --documents; "
                 "default: as Megatron's index says")
      ->check(dtc::wholeNumber(0, std::numeric_limits<int32_t>::max()))
      ->type_name("TOKEN");
  app.add_option("--long-documents", options.longDocuments,
                 "what to do with documents that are longer than a sample: split them into several "
                 "documents, cut off what is too much, or refuse them")
      ->capture_default_str()
      ->check(oneOf({"split", "cut", "refuse"}));
  CLI::Option *evalData =
      app.add_option("--eval-data", options.evalData,
                     "print the mean loss over all of this after the last step, without "
                     "dropout; takes what --data takes")
          ->check(notEmpty())
          ->type_name("PATH");
  app.add_option("--eval-every", options.evalEvery, "evaluate after every K steps, too")
      ->needs(evalData)
      ->check(wholeNumber)
      ->type_name("K");
  app.add_option("--steps", options.steps, "steps to run")
      ->capture_default_str()
      ->check(wholeNumber)
      ->type_name("N");
  app.add_option("--seed", options.seed,
                 "seed of initial parameters, the order of samples and dropout")
      ->capture_default_str()
      ->check(wholeNumber)
      ->type_name("S");
  app.add_option("--lr", options.learningRate, "base learning rate; default: the program's")
      ->check(numberBetween(0))
      ->type_name("X");
  app.add_option("--format", format, "what to print per step")
      ->capture_default_str()
      ->check(oneOf({"text", "json"}));
  app.add_option("--threads", options.threads,
                 "compute threads of each rank; default: a share of the machine's cores")
      ->check(dtc::wholeNumber(1, 1024))
      ->type_name("N");
  app.add_option("--timeout", options.timeoutSeconds,
                 "longest time of a collective; default: DTC_TIMEOUT")
      ->check(numberBetween(1e-3, 1e9))
      ->type_name("SECONDS");
  app.add_option("--profile", options.profile,
                 "write a Chrome trace of rank 0 here; rank R's goes to FILE with .rankR before "
                 "the ending")
      ->check(notEmpty())
      ->type_name("FILE");
  app.add_option("--dump-params", options.dumpParams,
                 "write the whole parameters after the last step (safetensors)")
      ->check(notEmpty())
      ->type_name("FILE");
  CLI::Option *dumpGrads =
      app.add_option("--dump-grads", options.dumpGrads,
                     "write the whole gradients of the last step, before clipping (safetensors)")
          ->check(notEmpty())
          ->type_name("FILE");
  app.add_option("--dump-grads-at", options.dumpGradsAt,
                 "write the gradients of steps K,K,... instead, those of step K to FILE with "
                 ".stepK before the ending")
      ->needs(dumpGrads)
      ->delimiter(',')
      ->check(dtc::wholeNumber(1))
      ->type_name("K");
  app.add_option("--init", options.init,
                 "start from these parameters (a safetensors file, or a Hugging Face folder)")
      ->check(notEmpty())
      ->type_name("PATH");
  app.add_option("--log-dir", options.logDir,
                 "write metrics of each rank to DIR/rank-R.jsonl, one line per step (for rank 0 "
                 "also one per evaluation), and those of the job for TensorBoard")
      ->check(notEmpty())
      ->type_name("DIR");
  app.add_flag("--dry-run", options.dryRun,
               "check the program, devices, data, weights, outputs and the checkpoint of --resume "
               "as a run would, print what was checked, and train nothing");
  declareCheckpoints(app, options);
  declareTrust(app, options);
  declareWatching(app, options);
  declareAboutItself(app);
}

// Checks what CLI11 cannot check. Returns the mistake, or null.
const char *findMistake(const Options &options) {
  if (!options.dumpGrads.empty() && options.steps == 0)
    return "--dump-grads wants at least 1 of --steps";
  for (uint64_t step : options.dumpGradsAt)
    if (step > options.steps)
      return "--dump-grads-at wants steps up to --steps";
  if (options.hasEvalEvery && options.evalEvery == 0)
    return "--eval-every wants at least 1 step";
  if (options.hasCheckpointEvery && options.checkpointEvery == 0)
    return "--checkpoint-every wants at least 1 step";
  if (options.hasSpikeFactor && !(std::isfinite(options.spikeFactor) && options.spikeFactor > 1))
    return "--spike-factor wants a number above 1";
  if (options.hasKeepEvery && options.keepEvery == 0)
    return "--keep-every wants at least 1 step";
  if (options.progress == ProgressView::On && options.json)
    return "--progress on wants --format text";
  if (!options.trust.empty() && options.signKey.empty() &&
      (options.restarts > 0 || options.hasSpikeFactor))
    return "--restarts and --spike-factor go back to checkpoints of this run, which --trust would "
           "refuse unsigned; add --sign-key";
  if (options.keep == 0)
    return "--keep wants at least 1 checkpoint";
  return nullptr;
}

} // namespace

bool parseOptions(int argc, char **argv, Options &options, int &exitCode) {
  exitCode = kExitBadUsage;
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
    std::fprintf(stderr, "dtrun: %s; see dtrun --help\n", usageMistake(&app, error).c_str());
    return false;
  }
  options.json = format == "json";
  options.hasDocumentEnd = app.count("--document-end") > 0;
  options.hasEvalEvery = app.count("--eval-every") > 0;
  options.hasCheckpointEvery = app.count("--checkpoint-every") > 0;
  options.hasSpikeFactor = app.count("--spike-factor") > 0;
  options.hasKeepEvery = app.count("--keep-every") > 0;
  options.hasLearningRate = app.count("--lr") > 0;
  options.hasMetricsPort = app.count("--metrics-port") > 0;
  options.hasNormsEvery = app.count("--norms-every") > 0;
  if (const char *mistake = findMistake(options)) {
    std::fprintf(stderr, "dtrun: %s; see dtrun --help\n", mistake);
    return false;
  }
  if (Status status = checkEnv(); !status.ok()) {
    std::fprintf(stderr, "dtrun: %s\n", format::printable(status.message()).c_str());
    exitCode = kExitUserError;
    return false;
  }
  return true;
}

} // namespace dtc::rt
